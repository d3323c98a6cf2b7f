//! The evaluation as a page: plots, tables, and one verdict per figure.

use super::area::Area;
use super::components::{Component, Cost};
use super::features::{SYSTEMS, TABLE1};
use super::lanes::{LaneFigure, LaneRates, ENGINES, LENGTHS};
use super::{FlexiMem, PageTimes, Pages};
use crate::claim::State;
use html::{Section, Study, Verdict};
use picture::{Chart, Series};

/// Maximum relative deviation that counts as equal; the same as for FSRF's and CCKit's experiments.
const NEAR: f64 = 0.25;
/// Share of the maximum rows of 32 engines that counts as saturated.
const ALL_ROWS: f64 = 0.98;

/// Parts of the evaluation; omitted parts are `None`.
#[derive(Clone, Debug, Default)]
pub struct FleximemFigures {
    /// Figures 7 and 8.
    pub pages: Option<Pages>,
    /// Figure 6.
    pub lanes: Option<LaneFigure>,
    /// Table II.
    pub area: Option<Vec<Area>>,
    /// Table III.
    pub components: Option<Vec<Option<Cost>>>,
}

fn near(ours: f64, paper: f64) -> bool {
    (ours / paper - 1.0).abs() <= NEAR
}

fn words<T: ToString>(words: impl IntoIterator<Item = T>) -> Vec<String> {
    words.into_iter().map(|word| word.to_string()).collect()
}

fn left(ours: f64, paper: f64) -> String {
    format!("{:+.1} %", (ours / paper - 1.0) * 100.0)
}

/// Verdict over some comparisons, with a description.
fn judged(pairs: &[(f64, f64)]) -> (Verdict, String) {
    let holds = pairs.iter().filter(|(ours, paper)| near(*ours, *paper));
    let (holds, of) = (holds.count(), pairs.len());
    let apart = pairs.iter().map(|(ours, paper)| (ours / paper - 1.0).abs());
    let most = apart.fold(0.0, f64::max) * 100.0;
    let because = format!(
        "{holds} of {of} values within {:.0} % of the paper's, {most:.1} % at most",
        NEAR * 100.0
    );
    (Verdict::of(holds, of), because)
}

/// The page of the measured parts.
pub fn study(experiment: &FlexiMem, measured: &FleximemFigures) -> Study {
    let mut sections = vec![table1()];
    sections.push(measured.lanes.as_ref().map_or_else(
        || missing("figure6", "Figure 6: rows a cycle", "lanes"),
        |figure| figure6(experiment, figure),
    ));
    sections.push(measured.area.as_ref().map_or_else(
        || missing("table2", "Table II: what the interconnect costs", "area"),
        |areas| table2(experiment, areas),
    ));
    match &measured.pages {
        Some(pages) => sections.extend([figure7(experiment, pages), figure8(experiment, pages)]),
        None => sections.extend([
            missing("figure7", "Figure 7: shared pointers by page size", "pages"),
            missing("figure8", "Figure 8: what traps add", "pages"),
        ]),
    }
    sections.push(measured.components.as_ref().map_or_else(
        || missing("table3", "Table III: what components cost", "components"),
        |costs| table3(&experiment.component, costs),
    ));
    Study {
        title: "FlexiMem’s evaluation on Tombolo".to_owned(),
        command: "tombolo lab fleximem --html FILE".to_owned(),
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

fn table1() -> Section {
    let row = |feature: &super::features::Feature| {
        words(
            [feature.name]
                .into_iter()
                .chain(feature.paper)
                .chain([feature.ours]),
        )
    };
    Section {
        id: "table1".into(),
        title: "Table I: what systems offer".to_owned(),
        verdict: Verdict::Shown,
        because: "words, and none that could be measured".to_owned(),
        pictures: Vec::new(),
        head: words(["feature"].into_iter().chain(SYSTEMS).chain(["Tombolo"])),
        rows: TABLE1.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn figure6(experiment: &FlexiMem, figure: &LaneFigure) -> Section {
    type Of = fn(&LaneRates) -> f64;
    let lines = |title: &str, of: Of| {
        let mut chart = Chart::lines(title, "rows of a burst").at(words(LENGTHS));
        for lanes in &figure.lanes {
            let rates = lanes.rates.iter().map(|rates| Some(of(rates)));
            chart = chart.with(Series::ours(format!("{} Ax/c", lanes.lanes), rates));
        }
        // The paper states only the end point: as many rows as engines.
        let mut engines = [None; LENGTHS.len()];
        engines[LENGTHS.len() - 1] = Some(f64::from(ENGINES));
        chart
            .with(Series::paper("the paper’s text", engines))
            .to_string()
    };
    let full = ALL_ROWS * f64::from(ENGINES);
    let whole = figure.lanes.iter().all(|lanes| lanes.long().reads >= full);
    let enough = figure.enough();
    // Number of address lanes that always saturate, according to the paper.
    let papers = experiment
        .rows
        .published("fabric.lanes.enough")
        .unwrap_or(0.0) as u32;
    let holds = usize::from(whole) + usize::from(enough <= papers);
    let rows = LENGTHS.iter().enumerate().map(|(place, length)| {
        let rates = figure.lanes.iter().map(|lanes| lanes.rates[place].reads);
        words(
            [length.to_string()]
                .into_iter()
                .chain(rates.map(|rate| format!("{rate:.2}"))),
        )
    });
    let columns = figure
        .lanes
        .iter()
        .map(|lanes| format!("{} Ax/c", lanes.lanes));
    Section {
        id: "figure6".into(),
        title: "Figure 6: rows a cycle by address lanes and length of bursts".to_owned(),
        verdict: Verdict::of(holds, 2),
        because: format!(
            "long bursts reach all {ENGINES} rows a cycle with any number of lanes: {}; {papers} addresses a cycle are \
             enough always: {}",
            if whole { "so here" } else { "not so here" },
            if enough <= papers {
                "so here".to_owned()
            } else {
                format!("here {enough} are")
            }
        ),
        pictures: vec![
            lines("reads: rows a cycle, a channel for each engine", |rates| rates.reads),
            lines("writes: rows a cycle, a channel for each engine", |rates| rates.writes),
            lines("reads: rows a cycle, random channels", |rates| rates.contended_reads),
        ],
        head: words(["rows of a burst".to_owned()].into_iter().chain(columns)),
        rows: rows.collect(),
        notes: vec![format!(
            "The table has the reads of the first picture. The memory of ours serves {:.2} accesses a cycle at random \
             places, which bounds single rows; how fast the paper’s is it does not say, and it prints no values.",
            figure.memory
        )],
    }
}

fn table2(experiment: &FlexiMem, areas: &[Area]) -> Section {
    let pair = |area: &Area| Some((area.lut(), experiment.interconnect(area.lanes)?[0]));
    let pairs: Vec<(f64, f64)> = areas.iter().filter_map(pair).collect();
    let (verdict, because) = judged(&pairs);
    let growth = |of: fn(&(f64, f64)) -> f64| match (pairs.first(), pairs.last()) {
        (Some(first), Some(last)) => (of(last) / of(first) - 1.0) * 100.0,
        _ => 0.0,
    };
    let row = |area: &Area| {
        let [lut, ff] = experiment.interconnect(area.lanes).unwrap_or_default();
        let parts = area
            .parts
            .iter()
            .map(|part| part.lut * f64::from(part.count));
        let figures = [area.lut(), lut, area.ff(), ff];
        let figures = figures
            .into_iter()
            .chain(parts)
            .map(|figure| format!("{figure:.0}"));
        words([area.lanes.to_string()].into_iter().chain(figures))
    };
    let parts = areas.first().map_or(&[][..], |area| &area.parts);
    let parts = parts.iter().map(|part| part.name.as_str());
    let some = |values: Vec<f64>| values.into_iter().map(Some).collect::<Vec<_>>();
    let chart = Chart::bars("LUT", "addresses a cycle")
        .at(areas.iter().map(|area| area.lanes.to_string()))
        .with(Series::ours(
            "ours",
            some(pairs.iter().map(|pair| pair.0).collect()),
        ))
        .with(Series::paper(
            "the paper",
            some(pairs.iter().map(|pair| pair.1).collect()),
        ));
    Section {
        id: "table2".into(),
        title: "Table II: what the interconnect costs by address lanes".to_owned(),
        verdict,
        because: format!(
            "LUT: {because}; from the fewest lanes to the most they grow by {:.0} % (the paper’s by {:.0} %)",
            growth(|pair| pair.0),
            growth(|pair| pair.1)
        ),
        pictures: vec![chart.to_string()],
        head: words(["Ax/c", "LUT", "paper", "FF", "paper"].into_iter().chain(parts)),
        rows: areas.iter().map(row).collect(),
        notes: vec![
            "Ours is a sum of parts that Yosys maps one by one, because it cannot hold the whole, with parks (which hold \
             bursts that miss or fault) and a TLB of 8 entries a lane; the paper’s is one netlist of Vivado’s, with 32-bit \
             addresses and without parks. Block RAM: none in both. The columns on the right are LUT of ours."
                .to_owned(),
        ],
    }
}

/// A table of figures by page size, ours and the paper's.
fn by_page(experiment: &FlexiMem, title: &str, columns: [(&str, bool, Vec<f64>); 3]) -> String {
    let names = experiment.page.iter().map(|page| page.name.as_str());
    let mut chart = Chart::bars(title, "pages").at(names);
    for (name, paper, values) in columns {
        let values = values.into_iter().map(Some);
        chart = chart.with(match paper {
            true => Series::paper(name, values),
            false => Series::ours(name, values),
        });
    }
    chart.to_string()
}

fn figure7(experiment: &FlexiMem, pages: &Pages) -> Section {
    let (compared, ours) = (pages.compared(), &pages.ours);
    let over = |outcome: &PageTimes| outcome.over_ready(compared.ready);
    let pairs = experiment.page.iter().zip(&compared.pages);
    let pairs: Vec<(f64, f64)> = pairs
        .map(|(page, at)| (over(at), page.over_ready))
        .collect();
    let (verdict, because) = judged(&pairs);
    let sizes = pages
        .reproduced
        .iter()
        .map(|of_size| format!("{} MiB", of_size.bytes >> 20));
    let mut times = Chart::lines("time in ms, reproduced", "bytes of the array")
        .at(sizes)
        .logarithmic();
    for (place, page) in experiment.page.iter().enumerate() {
        let time = pages
            .reproduced
            .iter()
            .map(|of_size| of_size.pages[place].trapped);
        let time = time.map(|time| Some(time.as_seconds() * 1e3));
        times = times.with(Series::ours(format!("pages of {}", page.name), time));
    }
    let ready = pages
        .reproduced
        .iter()
        .map(|of_size| Some(of_size.ready.as_seconds() * 1e3));
    times = times.with(Series::ours("data there", ready));
    let column = |values: &dyn Fn(usize) -> f64| (0..pairs.len()).map(values).collect::<Vec<_>>();
    let of_ours = |place: usize| ours.pages[place].over_ready(ours.ready);
    let ratios = by_page(
        experiment,
        "time over that with the data there",
        [
            ("reproduced", false, column(&|place| pairs[place].0)),
            ("ours", false, column(&of_ours)),
            ("the paper", true, column(&|place| pairs[place].1)),
        ],
    );
    let row = |(place, (at, paper)): (usize, &(f64, f64))| {
        words([
            experiment.page[place].name.clone(),
            format!("{at:.2}"),
            paper.to_string(),
            left(*at, *paper),
            format!("{:.2}", of_ours(place)),
        ])
    };
    Section {
        id: "figure7".into(),
        title: "Figure 7: shared pointers by page size, over data that is there".to_owned(),
        verdict,
        because: format!("{because}; rate and service time are fitted"),
        pictures: vec![times.to_string(), ratios],
        head: words(["pages", "reproduced", "paper", "left", "ours"]),
        rows: pairs.iter().enumerate().map(row).collect(),
        notes: vec![format!(
            "Ratios are of {} KiB. Reproduced: {} cycles for 64 bytes, host `{}`; ours: {} and `{}`, with pages fetched \
             ahead. The paper plots time over sizes that it does not print.",
            experiment.bytes >> 10,
            experiment.paper.pace,
            experiment.paper.host,
            experiment.ours.pace,
            experiment.ours.host
        )],
    }
}

fn figure8(experiment: &FlexiMem, pages: &Pages) -> Section {
    let (compared, ours) = (pages.compared(), &pages.ours);
    let pairs = experiment.page.iter().zip(&compared.pages);
    let pairs: Vec<(f64, f64)> = pairs.map(|(page, at)| (at.traps(), page.traps)).collect();
    let (verdict, because) = judged(&pairs);
    let percent = |of: &dyn Fn(usize) -> f64| {
        (0..pairs.len())
            .map(|place| of(place) * 100.0)
            .collect::<Vec<_>>()
    };
    let shares = by_page(
        experiment,
        "what traps add to the time, in %",
        [
            ("reproduced", false, percent(&|place| pairs[place].0)),
            ("ours", false, percent(&|place| ours.pages[place].traps())),
            ("the paper", true, percent(&|place| pairs[place].1)),
        ],
    );
    let time = |of: fn(&PageTimes) -> units::Picoseconds| {
        compared
            .pages
            .iter()
            .map(|at| of(at).as_seconds() * 1e3)
            .collect::<Vec<_>>()
    };
    let names = experiment.page.iter().map(|page| page.name.as_str());
    let some = |values: Vec<f64>| values.into_iter().map(Some);
    let times = Chart::bars("time in ms, reproduced", "pages")
        .at(names)
        .with(Series::ours("with traps", some(time(|at| at.trapped))))
        .with(Series::ours("basic client", some(time(|at| at.basic))));
    let row = |(place, (at, paper)): (usize, &(f64, f64))| {
        words([
            experiment.page[place].name.clone(),
            format!("{:.1} %", at * 100.0),
            format!("{:.1} %", paper * 100.0),
            left(1.0 + at, 1.0 + paper),
            format!("{:.1} %", ours.pages[place].traps() * 100.0),
        ])
    };
    Section {
        id: "figure8".into(),
        title: "Figure 8: what traps of the program add, over a client without".to_owned(),
        verdict,
        because: format!("{because}; the paper’s figures 7 and 8 contradict each other at 2 MiB"),
        pictures: vec![times.to_string(), shares],
        head: words(["pages", "reproduced", "paper", "left, of the time", "ours"]),
        rows: pairs.iter().enumerate().map(row).collect(),
        notes: vec![format!(
            "The same fit as of figure 7; ours with the cost of traps of one machine (`hosts/{}.toml`).",
            experiment.ours.host
        )],
    }
}

fn table3(components: &[Component], costs: &[Option<Cost>]) -> Section {
    let mut pairs = Vec::new();
    let mut rows = Vec::new();
    for (component, cost) in components.iter().zip(costs) {
        let ours = cost.map(|cost| [cost.lut, cost.ff, cost.bram36]);
        let mut row = words([&component.name]);
        for (place, paper) in component.paper.into_iter().enumerate() {
            row.push(ours.map_or("–".to_owned(), |ours| format!("{}", ours[place])));
            row.push(paper.to_string());
        }
        row.push(component.ours.clone());
        rows.push(row);
        // Only these rows are directly comparable.
        if let (State::Predicted, Some([lut, ff, _])) = (component.state, ours) {
            let [paper_lut, paper_ff, _] = component.paper.map(f64::from);
            pairs.extend([(lut, paper_lut), (ff, paper_ff)]);
        }
    }
    let (verdict, because) = judged(&pairs);
    let tlbs = || pairs.chunks(2).map(|pair| pair[0]);
    let names = components
        .iter()
        .filter(|component| component.state == State::Predicted);
    let chart = Chart::bars("LUT of a TLB of 8 entries", "")
        .at(names.map(|component| component.name.as_str()))
        .with(Series::ours("ours", tlbs().map(|pair| Some(pair.0))))
        .with(Series::paper("the paper", tlbs().map(|pair| Some(pair.1))));
    Section {
        id: "table3".into(),
        title: "Table III: what components cost".to_owned(),
        verdict,
        because: format!("LUT and FF of the TLBs, the components that both have: {because}"),
        pictures: vec![chart.to_string()],
        head: words([
            "", "LUT", "paper", "FF", "paper", "BRAM", "paper", "ours is",
        ]),
        rows,
        notes: vec![
            "The paper’s by Vivado for a U55C, ours by Yosys for the same family.".to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::area::InterconnectPart;
    use super::super::lanes::Lanes;
    use super::super::table;
    use super::*;

    fn experiment() -> FlexiMem {
        FlexiMem::read(&simcard::home().join("experiments")).unwrap()
    }

    fn figure6_with(enough: u32, long: f64) -> LaneFigure {
        let of = |lanes: u32| {
            let single = f64::from(lanes.min(enough));
            let rates = LENGTHS.map(|length| LaneRates {
                length,
                reads: if length == 1 { single } else { long },
                writes: long,
                contended_reads: long,
                contended_writes: long,
                both: [long; 2],
            });
            Lanes {
                lanes,
                rates: rates.to_vec(),
            }
        };
        LaneFigure {
            memory: 17.0,
            lanes: super::super::lanes::LANES.map(of).to_vec(),
        }
    }

    fn all() -> FleximemFigures {
        let part = InterconnectPart {
            name: "channels".to_owned(),
            count: 32,
            lut: 4000.0,
            ff: 1.0,
        };
        let cost = Cost {
            lut: 1400.0,
            ff: 1050.0,
            bram36: 0.0,
        };
        FleximemFigures {
            pages: Some(table::tests::pages(&experiment())),
            lanes: Some(figure6_with(8, 32.0)),
            area: Some(vec![Area {
                lanes: 1,
                parts: vec![part],
            }]),
            components: Some(vec![Some(cost); 6]),
        }
    }

    fn verdict(study: &Study, id: &str) -> Verdict {
        let section = study.sections.iter().find(|section| section.id == id);
        section.unwrap().verdict
    }

    #[test]
    fn every_figure_has_its_verdict_plot_and_values() {
        let study = study(&experiment(), &all());
        let page = study.to_string();
        for section in &study.sections {
            assert!(!section.rows.is_empty(), "{}", section.id);
            let columns = section.head.len();
            assert!(
                section.rows.iter().all(|row| row.len() == columns),
                "{}",
                section.id
            );
            assert!(
                section.id == "table1" || !section.pictures.is_empty(),
                "{}",
                section.id
            );
        }
        assert_eq!(study.sections.len(), 6);
        assert_eq!(verdict(&study, "figure6"), Verdict::AsPublished);
        assert_eq!(verdict(&study, "table2"), Verdict::AsPublished);
        assert_eq!(verdict(&study, "table3"), Verdict::AsPublished);
        // With equal times at all page sizes, one ratio is right.
        assert_eq!(verdict(&study, "figure7"), Verdict::PartlyAsPublished);
        assert_eq!(verdict(&study, "figure8"), Verdict::Otherwise);
        assert!(page.contains("13.30") && page.contains("+20.0 %"), "{page}");
    }

    #[test]
    fn verdicts_follow_what_was_measured() {
        let of = |enough, long| figure6(&experiment(), &figure6_with(enough, long)).verdict;
        assert_eq!(of(16, 32.0), Verdict::PartlyAsPublished);
        assert_eq!(of(16, 30.0), Verdict::Otherwise);
        let none = study(&experiment(), &FleximemFigures::default());
        assert_eq!(verdict(&none, "figure7"), Verdict::NotMeasured);
        assert!(none.to_string().contains("--part pages"));
    }
}
