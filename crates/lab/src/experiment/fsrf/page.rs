//! The evaluation as a page: plots, tables, and one verdict per figure.

use super::scaling::{COUNTS, SYSTEMS as SCALED, WORKLOADS};
use super::{mix, FsrfFigures, Rates};
use crate::experiment::table::digits;
use crate::experiment::{claims, Cell, Experiment, Outcome, Size, Temperature};
use html::{Section, Study, Verdict};
use picture::{Chart, Series};

/// Maximum relative deviation that counts as equal.
const NEAR: f64 = 0.25;
/// Speedup of further applications below which they bring no gain: a tenth.
const NOTHING: f64 = 1.1;
/// Share of linear speedup that counts as almost linear.
const LINEAR: f64 = 0.9;

/// Share of standalone throughput from which applications get "similar performance" when run concurrently.
const ISOLATED: f64 = 0.9;

type Outcomes<'a> = [(Cell<'a>, Option<Outcome>)];

fn words<T: ToString>(words: impl IntoIterator<Item = T>) -> Vec<String> {
    words.into_iter().map(|word| word.to_string()).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), digits)
}

fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"))
}

/// Geometric mean; `None` of nothing.
pub(crate) fn geometric(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0), |(sum, count), value| {
        (sum + value.ln(), count + 1)
    });
    (count > 0).then(|| (sum / f64::from(count)).exp())
}

/// The page of the measured parts.
pub fn study(experiment: &Experiment, measured: &FsrfFigures<'_>) -> Study {
    let mut sections = Vec::new();
    if measured.table.is_empty() {
        sections.push(missing(
            "table2",
            "Table 2: system throughput of four applications",
            "table2",
        ));
    } else {
        sections.push(table2(experiment, &measured.table));
        sections.extend(claims::section(experiment, &measured.table));
        sections.push(figure5(experiment, &measured.table));
    }
    if measured.scaling.is_empty() {
        sections.push(missing(
            "figure6",
            "Figure 6: one to four applications",
            "figure6",
        ));
    } else {
        sections.extend([
            figure6(&measured.scaling),
            fairness(experiment, &measured.scaling),
        ]);
    }
    sections.push(match measured.mixes.is_empty() {
        true => missing("figure7", "Figure 7: different applications", "figure7"),
        false => figure7(experiment, measured),
    });
    sections.push(match measured.reads.is_empty() {
        true => missing("figure8", "Figure 8: reads by their size", "figure8"),
        false => figure8(&measured.reads),
    });
    sections.push(match measured.transfers.is_empty() {
        true => missing("figure9", "Figure 9: transfers by their size", "figure9"),
        false => figure9(measured),
    });
    Study {
        title: "FSRF’s evaluation on Tombolo".to_owned(),
        command: "tombolo lab fsrf --html FILE".to_owned(),
        known_differences: experiment.known_differences.clone(),
        sections,
    }
}

fn missing(id: &'static str, title: &str, part: &str) -> Section {
    Section {
        id: id.into(),
        title: title.to_owned(),
        verdict: Verdict::NotMeasured,
        because: format!("left out; `--part {part}` measures it"),
        pictures: Vec::new(),
        head: Vec::new(),
        rows: Vec::new(),
        notes: Vec::new(),
    }
}

/// Columns of the table with at least one cell.
fn columns(outcomes: &Outcomes<'_>) -> Vec<(Temperature, Size)> {
    let all = Temperature::ALL.map(|t| Size::ALL.map(|s| (t, s)));
    let has = |at: &(Temperature, Size)| {
        let mut cells = outcomes.iter().map(|(cell, _)| cell);
        cells.any(|cell| (cell.temperature, cell.size) == *at)
    };
    all.into_iter().flatten().filter(has).collect()
}

fn named((temperature, size): (Temperature, Size)) -> String {
    format!("{} {}", temperature.name(), size.short())
}

fn table2(experiment: &Experiment, outcomes: &Outcomes<'_>) -> Section {
    let columns = columns(outcomes);
    let mut rows = Vec::new();
    for workload in &experiment.workloads {
        for system in &experiment.systems {
            let of = |at: &(Temperature, Size)| {
                outcomes.iter().find(|(cell, _)| {
                    cell.workload.name == workload.name
                        && cell.system.name == system.name
                        && (cell.temperature, cell.size) == *at
                })
            };
            let cell = |at: &(Temperature, Size)| {
                let Some((cell, outcome)) = of(at) else {
                    return String::new();
                };
                let paper = cell
                    .published()
                    .map_or("–".to_owned(), |paper| paper.to_string());
                format!("{} ({paper})", shown(outcome.as_ref().map(|o| o.mib_per_s)))
            };
            if columns.iter().any(|at| of(at).is_some()) {
                let name = format!("{} on {}", workload.name, system.name);
                rows.push([name].into_iter().chain(columns.iter().map(cell)).collect());
            }
        }
    }
    let head = ["MiB/s, ours (the paper’s)".to_owned()];
    Section {
        id: "table2".into(),
        title: "Table 2: system throughput of four applications".to_owned(),
        verdict: Verdict::Shown,
        because: "by workload; the paper prints one mean of all streams, and the verdict is that of its printed values, below"
            .to_owned(),
        pictures: Vec::new(),
        head: head
            .into_iter()
            .chain(columns.iter().map(|at| named(*at)))
            .collect(),
        rows,
        notes: Vec::new(),
    }
}

fn figure5(experiment: &Experiment, outcomes: &Outcomes<'_>) -> Section {
    let columns = columns(outcomes);
    let names = ["tombolo", "fsrf", "amorphos", "physical"];
    let means = |name: &str| -> Vec<Option<(f64, Option<f64>)>> {
        columns
            .iter()
            .map(|at| experiment.normalised(outcomes, name, *at))
            .collect()
    };
    let mut chart = Chart::bars(
        "throughput over the better Coyote’s, geometric means",
        "temperature and size",
    )
    .at(columns.iter().map(|at| named(*at)))
    .logarithmic();
    let mut rows = Vec::new();
    // Equal ranking: which system is faster than the better Coyote, and by what ratio.
    let (mut same, mut all) = (0, 0);
    for name in names {
        let means = means(name);
        if means.iter().all(Option::is_none) {
            continue;
        }
        chart = chart.with(Series::ours(
            name,
            means.iter().map(|mean| Some(mean.as_ref()?.0)),
        ));
        if name == "fsrf" {
            let paper = means.iter().map(|mean| mean.as_ref()?.1);
            chart = chart.with(Series::paper("fsrf, the paper", paper));
        }
        let cell = |mean: &Option<(f64, Option<f64>)>| {
            mean.map_or(String::new(), |(ours, paper)| {
                format!("{ours:.2} ({})", ratio(paper))
            })
        };
        rows.push(
            [name.to_owned()]
                .into_iter()
                .chain(means.iter().map(cell))
                .collect(),
        );
        for (ours, paper) in means.into_iter().flatten() {
            if let Some(paper) = paper {
                all += 1;
                // Within a tenth counts as equal.
                let side = |value: f64| i32::from(value > 1.1) - i32::from(value < 0.9);
                same += usize::from(side(ours) == side(paper));
            }
        }
    }
    let head = ["over the better Coyote, ours (the paper’s)".to_owned()];
    Section {
        id: "figure5".into(),
        title: "Figure 5: table 2 over the better of Coyote’s page sizes".to_owned(),
        verdict: Verdict::of(same, all),
        because: format!(
            "{same} of {all} means on the same side of the better Coyote as the paper’s (faster, slower, or within a tenth)"
        ),
        pictures: vec![chart.to_string()],
        head: head.into_iter().chain(columns.iter().map(|at| named(*at))).collect(),
        rows,
        notes: vec!["Means are over the workloads that were run on all three systems, the paper’s over the same ones.".to_owned()],
    }
}

/// A line of figure 6: throughput of one to four applications over that of one.
fn scale(
    outcomes: &Outcomes<'_>,
    system: &str,
    workload: &str,
    at: Temperature,
) -> [Option<f64>; 4] {
    let of = |applications: u8| {
        let found = outcomes.iter().find(|(cell, _)| {
            (cell.system.name.as_str(), cell.workload.name.as_str()) == (system, workload)
                && (cell.temperature, cell.applications) == (at, applications)
        });
        Some(found?.1.as_ref()?.mib_per_s)
    };
    COUNTS.map(|applications| Some(of(applications)? / of(1)?))
}

fn figure6(outcomes: &Outcomes<'_>) -> Section {
    let mut rows = Vec::new();
    let mut pictures = Vec::new();
    let (mut holds, mut all) = (0, 0);
    for temperature in Temperature::ALL {
        let mut chart = Chart::lines(
            format!(
                "{}: throughput over that of one application",
                temperature.name()
            ),
            "applications",
        )
        .at(words(COUNTS));
        for (system, workload) in SCALED.iter().flat_map(|s| WORKLOADS.map(|w| (*s, w))) {
            let line = scale(outcomes, system, workload, temperature);
            if line.iter().all(Option::is_none) {
                continue;
            }
            // Statement of the text about its own system.
            let statement = match (temperature, line) {
                _ if system != "fsrf" => None,
                (Temperature::Cold, [_, Some(two), _, Some(four)]) => {
                    Some(two <= NOTHING && four <= NOTHING)
                }
                (Temperature::Warm, [_, _, Some(three), Some(four)]) => {
                    Some(three >= LINEAR * 3.0 && four <= NOTHING * three)
                }
                (Temperature::Hot, [_, _, _, Some(four)]) => Some(four >= LINEAR * 4.0),
                _ => None,
            };
            all += usize::from(statement.is_some());
            holds += usize::from(statement == Some(true));
            let name = format!("{workload} on {system}");
            chart = chart.with(Series::ours(&name, line));
            let said = match (temperature, statement) {
                (_, None) => "",
                (Temperature::Cold, Some(true)) => "one saturates: as the text says",
                (Temperature::Cold, Some(false)) => "one does not saturate; the text says it does",
                (Temperature::Warm, Some(true)) => "linear to 3, then limited: as the text says",
                (Temperature::Warm, Some(false)) => "the text says linear to 3, then limited",
                (Temperature::Hot, Some(true)) => "almost linear: as the text says",
                (Temperature::Hot, Some(false)) => "the text says almost linear",
            };
            let values = line.map(ratio);
            let row = [format!("{} {name}", temperature.name())].into_iter();
            rows.push(row.chain(values).chain([said.to_owned()]).collect());
        }
        pictures.push(chart.to_string());
    }
    Section {
        id: "figure6".into(),
        title: "Figure 6: one to four applications, large sets".to_owned(),
        verdict: Verdict::of(holds, all),
        because: format!(
            "{holds} of {all} lines of FSRF’s system as the text has them: hot almost linear, warm to three \
             applications, cold saturated by one"
        ),
        pictures,
        head: words(["over one application", "1", "2", "3", "4", ""]),
        rows,
        notes: vec!["The figure is a picture; only what its text says is known.".to_owned()],
    }
}

/// Geometric mean of the deviations of cells.
fn deviation(outcomes: &Outcomes<'_>, system: &str, of: impl Fn(&Cell<'_>) -> bool) -> Option<f64> {
    let cells = outcomes
        .iter()
        .filter(|(cell, _)| cell.system.name == system && cell.applications > 1 && of(cell));
    // A zero deviation would make the mean 0; values are clamped to a hundredth of a percent.
    geometric(cells.filter_map(|(_, outcome)| Some(outcome.as_ref()?.deviation.max(1e-4))))
}

/// Whether a cell belongs to a row of the fairness table.
fn is_of(row: &str, cell: &Cell<'_>) -> bool {
    match row.split_once(' ') {
        Some((count, "applications")) => count == cell.applications.to_string(),
        _ => row == "all" || row == cell.workload.name || row == cell.temperature.name(),
    }
}

fn fairness(experiment: &Experiment, outcomes: &Outcomes<'_>) -> Section {
    let papers = experiment
        .fairness
        .as_ref()
        .map_or(&[][..], |one| &one.paper);
    let mut rows = Vec::new();
    let (mut holds, mut all) = (0, 0);
    let mut columns: [Vec<Option<f64>>; 2] = [Vec::new(), Vec::new()];
    for (name, paper) in papers {
        let found = SCALED.map(|system| deviation(outcomes, system, |cell| is_of(name, cell)));
        for (column, value) in columns.iter_mut().zip(found) {
            column.push(value.map(|value| value * 100.0));
        }
        if let Some(ours) = found[0] {
            all += 1;
            holds += usize::from(ours * 100.0 <= *paper);
        }
        let shown = found.map(|value| value.map_or("–".to_owned(), percent));
        rows.push(
            [name.clone()]
                .into_iter()
                .chain(shown)
                .chain([format!("{paper} %")])
                .collect(),
        );
    }
    let [fsrf, tombolo] = columns;
    let chart = Chart::bars("standard deviation of runtimes in % of their mean", "cells")
        .at(papers.iter().map(|(name, _)| name.as_str()))
        .with(Series::ours("fsrf", fsrf))
        .with(Series::ours("tombolo", tombolo))
        .with(Series::paper(
            "the paper",
            papers.iter().map(|(_, paper)| Some(*paper)),
        ));
    Section {
        id: "fairness".into(),
        title: "Section 6.4: how equally applications share".to_owned(),
        verdict: Verdict::of(holds, all),
        because: format!("{holds} of {all} deviations of FSRF’s system no larger than the paper’s"),
        pictures: vec![chart.to_string()],
        head: words(["geometric mean over", "fsrf", "tombolo", "paper"]),
        rows,
        notes: vec![
            "Cells of figure 6 with two applications and more. The paper’s machine has a DIMM that is 6 % slower than \
             the others; ours are alike."
                .to_owned(),
        ],
    }
}

fn figure7(experiment: &Experiment, measured: &FsrfFigures<'_>) -> Section {
    let papers = experiment.mixed.as_ref().map_or(&[][..], |one| &one.paper);
    let alone = |system: &str, application: &str| {
        let found = measured
            .mixes
            .iter()
            .find(|(mix, _)| mix.system.name == system && mix.alone() == Some(application));
        found?.1.as_ref()?.each.first().copied()
    };
    let together = |system: &str, place: usize| {
        let found = measured
            .mixes
            .iter()
            .find(|(mix, _)| mix.system.name == system && mix.is_whole());
        found?.1.as_ref()?.each.get(place).copied()
    };
    let share = |system: &str, place: usize| {
        Some(together(system, place)? / alone(system, mix::APPLICATIONS[place])?)
    };
    let mut chart =
        Chart::bars("throughput beside the others over that alone", "system").at(mix::SYSTEMS);
    for (place, application) in mix::APPLICATIONS.iter().enumerate() {
        let shares = mix::SYSTEMS.map(|system| share(system, place));
        chart = chart.with(Series::ours(*application, shares));
    }
    let place_of = |name: &str| mix::APPLICATIONS.iter().position(|one| *one == name);
    let paper = |system: &str, application: &str| {
        let found = papers
            .iter()
            .find(|(s, a, _)| (s.as_str(), a.as_str()) == (system, application));
        found.map(|(_, _, share)| *share)
    };
    let mut rows = Vec::new();
    for system in mix::SYSTEMS {
        let cells = (0..mix::APPLICATIONS.len()).map(|place| {
            let paper = paper(system, mix::APPLICATIONS[place]);
            let paper = paper.map_or(String::new(), |paper| format!(" ({paper})"));
            format!("{}{paper}", ratio(share(system, place)))
        });
        rows.push([system.to_owned()].into_iter().chain(cells).collect());
    }
    // Three shares, and two systems that isolate applications.
    let near = papers.iter().map(|(system, application, paper)| {
        let ours = place_of(application).and_then(|place| share(system, place));
        ours.map(|ours| (ours / paper - 1.0).abs() <= NEAR)
    });
    let apart = ["fsrf", "physical"].map(|system| {
        let shares: Vec<f64> = (0..mix::APPLICATIONS.len())
            .filter_map(|place| share(system, place))
            .collect();
        (!shares.is_empty()).then(|| shares.iter().all(|share| *share >= ISOLATED))
    });
    let statements: Vec<bool> = near.chain(apart).flatten().collect();
    let holds = statements.iter().filter(|holds| **holds).count();
    let head = ["share of its throughput alone (the paper’s)"];
    Section {
        id: "figure7".into(),
        title: "Figure 7: different applications beside each other, data on the card".to_owned(),
        verdict: Verdict::of(holds, statements.len()),
        because: format!(
            "{holds} of {} of the text’s statements: three shares within {:.0} %, and FSRF’s and physical \
             applications keep {:.0} % of what they get alone",
            statements.len(),
            NEAR * 100.0,
            ISOLATED * 100.0
        ),
        pictures: vec![chart.to_string()],
        head: words(head.into_iter().chain(mix::APPLICATIONS)),
        rows,
        notes: vec![
            "gups is run for PGRNK, so shares of the others beside it are not the paper’s. sha is \
             the one in Verilog. Each runs again and again until all have run; the first run of each is not counted. \
             All run on one card, FSRF’s with DRAM TLBs."
                .to_owned(),
        ],
    }
}

fn figure8(outcomes: &Outcomes<'_>) -> Section {
    let mut names: Vec<&str> = Vec::new();
    let mut lines: Vec<(&str, Size)> = Vec::new();
    for (cell, _) in outcomes {
        if !names.contains(&cell.workload.name.as_str()) {
            names.push(&cell.workload.name);
        }
        if !lines.contains(&(&cell.system.name, cell.size)) {
            lines.push((&cell.system.name, cell.size));
        }
    }
    let value = |name: &str, (system, size): (&str, Size)| {
        let found = outcomes.iter().find(|(cell, _)| {
            (cell.workload.name.as_str(), cell.system.name.as_str()) == (name, system)
                && cell.size == size
        });
        Some(found?.1.as_ref()?.mib_per_s)
    };
    let bytes = |name: &str| name.trim_start_matches("read_").to_owned();
    let mut chart = Chart::lines("MiB/s of four applications", "bytes of a read")
        .at(names.iter().map(|name| bytes(name)))
        .logarithmic();
    for line in &lines {
        let values = names.iter().map(|name| value(name, *line));
        chart = chart.with(Series::ours(
            format!("{}, {}", line.0, line.1.name()),
            values,
        ));
    }
    let row = |name: &&str| {
        let values = lines.iter().map(|line| shown(value(name, *line)));
        [bytes(name)].into_iter().chain(values).collect()
    };
    // "Limited by memory performance for smaller accesses": they are slower than large ones, on both systems.
    let limited = lines.iter().map(|line| {
        let of = |name: Option<&&str>| value(name?, *line);
        Some(of(names.first())? < of(names.last())?)
    });
    let statements: Vec<bool> = limited.flatten().collect();
    let holds = statements.iter().filter(|holds| **holds).count();
    let head = ["bytes".to_owned()];
    let columns = lines
        .iter()
        .map(|(system, size)| format!("{system}, {}", size.name()));
    Section {
        id: "figure8".into(),
        title: "Figure 8: random reads by their size, DRAM TLB, data on the card".to_owned(),
        verdict: Verdict::of(holds, statements.len()),
        because: format!(
            "small reads are limited by memory, as the text says, in {holds} of {} lines",
            statements.len()
        ),
        pictures: vec![chart.to_string()],
        head: head.into_iter().chain(columns).collect(),
        rows: names.iter().map(row).collect(),
        notes: vec!["The figure is a picture; only what its text says is known.".to_owned()],
    }
}

fn figure9(measured: &FsrfFigures<'_>) -> Section {
    let rates: Vec<_> = measured
        .transfers
        .iter()
        .map(|(transfer, outcome)| (transfer, outcome.as_ref().and_then(Rates::of)))
        .collect();
    let names = || {
        rates.iter().map(|(transfer, _)| match transfer.bytes() {
            bytes if bytes < 1 << 20 => format!("{} KiB", bytes >> 10),
            bytes => format!("{} MiB", bytes >> 20),
        })
    };
    type Of = fn(&Rates) -> f64;
    let lines: [(&str, Of); 5] = [
        ("ours, warm", |rates| rates.through[0]),
        ("ours, cold", |rates| rates.through[1]),
        ("DMA alone", |rates| rates.link[0]),
        ("page cache alone", |rates| rates.page_cache[0]),
        ("storage alone", |rates| rates.storage[0]),
    ];
    let mut chart = Chart::lines("MB/s of one application", "bytes of a transfer")
        .at(names())
        .logarithmic();
    for (name, of) in lines {
        let values = rates.iter().map(|(_, rates)| rates.as_ref().map(of));
        chart = chart.with(Series::ours(name, values));
    }
    let shares = |one| {
        let found = rates.iter().filter_map(|(_, rates)| rates.as_ref());
        found
            .flat_map(move |rates| rates.shares(one))
            .collect::<Vec<f64>>()
    };
    let within = |shares: &[f64]| shares.iter().filter(|share| **share >= 0.5).count();
    let (at_once, one) = (shares(false), shares(true));
    let row = |((_, rates), name): (&(_, Option<Rates>), String)| {
        let values = lines.map(|(_, of)| {
            rates
                .as_ref()
                .map_or("–".to_owned(), |r| format!("{:.0}", of(r)))
        });
        let share = |one| {
            rates
                .as_ref()
                .map_or(["–".to_owned(), "–".to_owned()], |rates| {
                    rates.shares(one).map(|share| format!("{share:.2}"))
                })
        };
        [name]
            .into_iter()
            .chain(values)
            .chain(share(false))
            .chain(share(true))
            .collect()
    };
    let head = [
        "of a transfer",
        "warm",
        "cold",
        "DMA",
        "page cache",
        "storage",
        "share warm",
        "share cold",
        "share warm, one at a time",
        "share cold, one at a time",
    ];
    Section {
        id: "figure9".into(),
        title: "Figure 9: random reads by the size of a transfer, one application, MB/s".to_owned(),
        verdict: Verdict::of(within(&at_once), at_once.len()),
        because: format!(
            "half of the slower part alone, as the text says, in {} of {} points with everything under way at once, in {} \
             with one thing at a time",
            within(&at_once),
            at_once.len(),
            within(&one)
        ),
        pictures: vec![chart.to_string()],
        head: words(head),
        rows: rates.iter().zip(names()).map(row).collect(),
        notes: vec![
            "The paper does not say how many reads and copies its parts alone had under way: the bars and the picture \
             let them have all at once."
                .to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Part, READS, TABLE};
    use super::*;
    use crate::experiment::Work;

    fn read(name: &str) -> Experiment {
        Experiment::read(&simcard::home().join("experiments"), name).unwrap()
    }

    fn outcome(mib_per_s: f64, each: Vec<f64>) -> Outcome {
        Outcome {
            mib_per_s,
            deviation: 0.005,
            each,
            processor_seconds: 1.0,
            cycles: 0,
            deviations: Vec::new(),
        }
    }

    /// Outcomes with the paper's values, and plausible ones where it publishes none.
    fn value(work: &Work<'_>) -> Outcome {
        match work {
            Work::Cell(cell) => {
                let most = match cell.temperature {
                    Temperature::Cold => 1.0,
                    Temperature::Warm => 3.0,
                    Temperature::Hot => 4.0,
                };
                let all = cell.published().unwrap_or(100.0);
                let grown = f64::from(cell.applications).min(most) / most;
                let bytes = cell
                    .workload
                    .name
                    .trim_start_matches("read_")
                    .parse()
                    .unwrap_or(1.0);
                outcome(all * grown * bytes, Vec::new())
            }
            Work::Mix(mix) if mix.is_whole() => {
                let of = |application: &str| {
                    let papers = read(TABLE).mixed.unwrap().paper;
                    let found = papers
                        .iter()
                        .find(|(s, a, _)| (s, a.as_str()) == (&mix.system.name, application));
                    found.map_or(1.0, |(_, _, share)| *share)
                };
                outcome(1.0, mix::APPLICATIONS.map(of).to_vec())
            }
            Work::Mix(_) => outcome(1.0, vec![1.0]),
            Work::Transfer(_) => outcome(1.0, vec![0.5, 0.5, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0]),
        }
    }

    fn verdict(study: &Study, id: &str) -> Verdict {
        let section = study.sections.iter().find(|section| section.id == id);
        section.unwrap().verdict
    }

    #[test]
    fn what_the_paper_says_is_as_published() {
        let (table, reads) = (read(TABLE), read(READS));
        let mut measured = FsrfFigures::default();
        for part in Part::ALL {
            let of = if part == Part::Figure8 {
                &reads
            } else {
                &table
            };
            let work = part.work(of).into_iter();
            measured.add(
                part,
                work.map(|work| {
                    let value = value(&work);
                    (work, Some(value))
                }),
            );
        }
        let study = study(&table, &measured);
        for section in &study.sections {
            let wanted = match section.id.as_str() {
                "table2" => Verdict::Shown,
                // Two values of AmorphOS have one simulation here, and are too far apart for one result.
                "claims" => Verdict::PartlyAsPublished,
                _ => Verdict::AsPublished,
            };
            assert_eq!(
                section.verdict, wanted,
                "{}: {}",
                section.id, section.because
            );
            let columns = section.head.len();
            assert!(
                section.rows.iter().all(|row| row.len() == columns),
                "{}",
                section.id
            );
            assert!(
                ["table2", "claims"].contains(&section.id.as_str()) || !section.pictures.is_empty(),
                "{}",
                section.id
            );
        }
        assert_eq!(study.sections.len(), 8);
        assert!(study.to_string().contains("0.66"));
    }

    #[test]
    fn one_value_that_is_off_is_seen() {
        let table = read(TABLE);
        let mut measured = FsrfFigures::default();
        for part in [Part::Table2, Part::Figure6, Part::Figure7, Part::Figure9] {
            let work = part.work(&table).into_iter();
            measured.add(
                part,
                work.map(|work| {
                    let mut value = value(&work);
                    let name = work.name();
                    if name == "rng_read.fsrf.hot_large"
                        || name == "aes.fsrf.hot_large.3_applications"
                    {
                        value.mib_per_s /= 2.0;
                        value.deviation = 1.0;
                    }
                    if name.starts_with("mix.fsrf.aes+") || name == "transfer.65536" {
                        value.each[0] /= 2.0;
                    }
                    (work, Some(value))
                }),
            );
        }
        let study = study(&table, &measured);
        for id in ["claims", "figure6", "fairness", "figure7", "figure9"] {
            assert_eq!(verdict(&study, id), Verdict::PartlyAsPublished, "{id}");
        }
        assert_eq!(verdict(&study, "figure8"), Verdict::NotMeasured);
        assert!(study.to_string().contains("--part figure8"));
        let values = &study.sections[1];
        assert_eq!(values.id, "claims");
        let is_off = |row: &&Vec<String>| row[0] == "rng read, hot large" && row[1] == "fsrf";
        let off = values.rows.iter().find(is_off).unwrap();
        assert_eq!(off[4..], ["0.50", "not reproduced", "not known why"]);
    }

    /// The name passed to a worker identifies exactly one piece of work.
    #[test]
    fn names_of_work_are_unique() {
        let table = read(TABLE);
        let mut names: Vec<String> = Part::ALL
            .into_iter()
            .filter(|part| *part != Part::Figure8)
            .flat_map(|part| part.work(&table))
            .map(|work| work.name())
            .collect();
        names.sort();
        let all = names.len();
        names.dedup();
        // Figure 6 shares the cells of four applications with the table.
        assert_eq!(all - names.len(), 2 * 2 * 3);
        for name in [
            "mix.fsrf.gups",
            "transfer.4096",
            "aes.tombolo.warm_large.2_applications",
            "aes.tombolo.hot_small.3_applications.5_runs",
            "aes.physical.hot_small.shift_24",
            "rng_read.coyote-2m.hot_small.2_applications.first_places",
        ] {
            assert_eq!(
                super::super::find(&table, name)
                    .map(|work| work.name())
                    .as_deref(),
                Some(name)
            );
        }
        for name in [
            "aes",
            "aes.tombolo.hot_smaller",
            "aes.tombolo.hot_small.fast",
        ] {
            assert!(super::super::find(&table, name).is_none(), "{name}");
        }
    }
}
