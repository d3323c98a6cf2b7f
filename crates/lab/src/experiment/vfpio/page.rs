//! The evaluation as a page: plots, tables, and one verdict per figure.

use super::priorities::{Figure6, RATIOS};
use super::resources::{Mapped, Resource};
use super::{Application, ApplicationOutcome, Vfpio};
use html::{Section, Study, Verdict};
use picture::{Chart, Series};

/// Maximum relative deviation that counts as equal; the same as in the other experiments.
const NEAR: f64 = 0.25;

/// Parts of the evaluation; omitted parts are `None`.
#[derive(Debug, Default)]
pub struct VfpioFigures<'a> {
    /// Figure 5 and table 5.
    pub applications: Option<Vec<(&'a Application, ApplicationOutcome)>>,
    /// Figure 6.
    pub priorities: Option<Figure6>,
    /// Figure 7, cycles by size: perf-host, perf-fpga.
    pub latency: Option<[Vec<f64>; 2]>,
    /// Table 6.
    pub resources: Option<Vec<Mapped>>,
}

fn words<T: ToString>(words: impl IntoIterator<Item = T>) -> Vec<String> {
    words.into_iter().map(|word| word.to_string()).collect()
}

/// The page of the measured parts.
pub fn study(experiment: &Vfpio, measured: &VfpioFigures<'_>) -> Study {
    let figure5 = "Figure 5, table 5: eight kernels on each device";
    let figure7 = "Figure 7: latency of transfers";
    Study {
        title: "vFPIO’s evaluation on Tombolo".to_owned(),
        command: "tombolo lab vfpio --html FILE".to_owned(),
        known_differences: experiment.known_differences.clone(),
        sections: vec![
            match &measured.applications {
                Some(outcomes) => applications(experiment, figure5, outcomes),
                None => missing("figure5", figure5, "applications"),
            },
            match &measured.priorities {
                Some(figure) => priorities(experiment.priorities.paper, figure),
                None => missing("figure6", FIGURE6, "priorities"),
            },
            match &measured.latency {
                Some(cycles) => latency(figure7, &experiment.sizes, cycles),
                None => missing("figure7", figure7, "latency"),
            },
            match &measured.resources {
                Some(mapped) => resources(&experiment.resource, mapped),
                None => missing("table6", TABLE6, "resources"),
            },
        ],
    }
}

const FIGURE6: &str = "Figure 6: a kernel that goes first, beside two others";
const TABLE6: &str = "Table 6: what the shell’s parts cost";

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

fn applications(
    experiment: &Vfpio,
    title: &str,
    outcomes: &[(&Application, ApplicationOutcome)],
) -> Section {
    let column = |of: fn(&(&Application, ApplicationOutcome)) -> f64| -> Vec<Option<f64>> {
        outcomes.iter().map(|one| Some(of(one))).collect()
    };
    let chart = Chart::bars("MiB/s", "kernels")
        .at(outcomes.iter().map(|(one, _)| one.name.as_str()))
        .with(Series::ours("card (HBM)", column(|(_, ours)| ours.card)))
        .with(Series::ours("host memory", column(|(_, ours)| ours.host)))
        .with(Series::ours("network", column(|(_, ours)| ours.network)))
        .with(Series::paper(
            "paper, HBM",
            column(|(one, _)| one.paper.card),
        ))
        .logarithmic();
    // Rates of different kernels are not comparable; the loss through virtual I/O is.
    let shares = || {
        outcomes
            .iter()
            .filter_map(|(_, ours)| Some(ours.card / ours.wired?))
    };
    let least = shares().fold(f64::INFINITY, f64::min);
    let cheap = shares()
        .filter(|share| *share >= 1.0 - experiment.loss.paper)
        .count();
    let faster = |ours: &&(&Application, ApplicationOutcome)| ours.1.network >= 0.95 * ours.1.card;
    let network = outcomes.iter().filter(faster).count();
    let of = shares().count() + 1;
    let holds = cheap + usize::from(network == outcomes.len());
    let row = |(one, ours): &(&Application, ApplicationOutcome)| {
        let wired = ours.wired.map(|wired| 100.0 * ours.card / wired);
        let mut row = vec![one.name.clone()];
        for (ours, paper) in [(ours.card, one.paper.card), (ours.host, one.paper.host)] {
            row.extend([format!("{ours:.1}"), paper.to_string()]);
        }
        row.push(format!("{:.1}", ours.network));
        row.push(wired.map_or("–".to_owned(), |share| format!("{share:.1} %")));
        row.push(format!("{} %", one.paper.card_percent));
        row.push(format!("{:.1}", ours.processor));
        row
    };
    Section {
        id: "figure5".into(),
        title: title.to_owned(),
        verdict: Verdict::of(holds, of),
        because: format!(
            "virtual I/O takes no more than the paper’s {:.1} % of {cheap} of {} kernels that there are with ports of their \
             own ({:.1} % at most); over the network {network} of {} kernels are no slower than from card memory, as \
             all of the paper’s",
            100.0 * experiment.loss.paper,
            of - 1,
            100.0 * (1.0 - least).max(0.0),
            outcomes.len()
        ),
        pictures: vec![chart.to_string()],
        head: words([
            "MiB/s", "card", "paper", "host", "paper", "network", "of own ports", "of Coyote’s", "processor",
        ]),
        rows: outcomes.iter().map(row).collect(),
        notes: vec![
            "The paper’s rates are of its kernels, ours of ours; over the network they are only in its picture. `processor` \
             is the kernel’s model on this machine by the clock on the wall, a real run, in no ratio with the others."
                .to_owned(),
        ],
    }
}

fn priorities(papers: [f64; 3], figure: &Figure6) -> Section {
    let (link, channel) = (&figure.link, &figure.channel);
    let bars = Chart::bars("cycles a chunk of 16 KiB", "")
        .at(["HP", "LP-1", "LP-2", "RR"])
        .with(Series::ours(
            "ours",
            [link.high, link.low[0], link.low[1], link.turns].map(Some),
        ));
    // The text states only ratios for the paper's bars; our time in turn is their scale.
    let [_, over_turns, slower] = papers;
    let low = link.turns * slower;
    let bars = bars.with(Series::paper(
        "the paper’s ratios",
        [link.turns / over_turns, low, low, link.turns].map(Some),
    ));
    let [in_turn, first] = figure.switches;
    let switches = Chart::bars("changes of slot", "")
        .at(["one first (HP, LP)", "in turn (RR)"])
        .with(Series::ours(
            "ours",
            [first, in_turn].map(|count| Some(count as f64)),
        ));
    let pairs = || link.ratios().into_iter().zip(channel.ratios()).zip(papers);
    let near = pairs().filter(|((ours, _), paper)| (ours / paper - 1.0).abs() <= NEAR);
    let (near, fewer) = (near.count(), first < in_turn);
    let row = |(name, ((ours, calibrated), paper)): (&&str, ((f64, f64), f64))| {
        vec![
            (*name).to_owned(),
            format!("{ours:.3}"),
            paper.to_string(),
            format!("{:+.1} %", (ours / paper - 1.0) * 100.0),
            format!("{calibrated:.3}"),
        ]
    };
    Section {
        id: "figure6".into(),
        title: FIGURE6.to_owned(),
        verdict: Verdict::of(near + usize::from(fewer), RATIOS.len() + 1),
        because: format!(
            "{near} of {} ratios within {:.0} % of the paper’s; fewer changes of slot with one first than in turn: {}",
            RATIOS.len(),
            NEAR * 100.0,
            if fewer { "so here" } else { "not so here" }
        ),
        pictures: vec![bars.to_string(), switches.to_string()],
        head: words([
            "",
            "over the link, predicted",
            "paper",
            "off",
            "card memory, calibrated on 1.7",
        ]),
        rows: RATIOS.iter().zip(pairs()).map(row).collect(),
        notes: vec![format!(
            "1,000 chunks each, one at a time. Over the link they are pages of host memory, fetched on demand, and nothing is \
             tuned: one alone uses {:.0} % of it. On card memory a pause after each chunk gives one alone {:.0} % of the \
             channel, 1.7 / 3, so those ratios are no prediction; the changes of slot are counted there. The paper’s \
             numbers of cycles and of changes are a picture.",
            100.0 * link.share_alone(),
            100.0 * channel.share_alone()
        )],
    }
}

fn latency(title: &str, sizes: &[u64], cycles: &[Vec<f64>; 2]) -> Section {
    let [host, card] = cycles;
    let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    let chart = Chart::lines("cycles of a transfer", "bytes")
        .at(words(sizes))
        .with(Series::ours("perf-host", some(host)))
        .with(Series::ours("perf-fpga", some(card)))
        .logarithmic();
    let rows = sizes.iter().zip(host.iter().zip(card));
    Section {
        id: "figure7".into(),
        title: title.to_owned(),
        verdict: Verdict::Shown,
        because: "the paper’s are a picture, and say that it equals Coyote".to_owned(),
        pictures: vec![chart.to_string()],
        head: words(["bytes", "perf-host", "perf-fpga"]),
        rows: rows
            .map(|(size, (host, card))| {
                vec![size.to_string(), format!("{host:.0}"), format!("{card:.0}")]
            })
            .collect(),
        notes: Vec::new(),
    }
}

fn resources(lines: &[Resource], mapped: &[Mapped]) -> Section {
    let row = |(line, mapped): (&Resource, &Mapped)| {
        let mut row = vec![line.name.clone()];
        for (kind, paper) in line.paper.iter().enumerate() {
            row.push(match mapped {
                Mapped::Cost(cost) => cost[kind].to_string(),
                Mapped::Absent | Mapped::Failed(_) => "–".to_owned(),
            });
            row.push(paper.to_string());
        }
        row.push(match mapped {
            Mapped::Failed(why) => format!("not measured: {why}"),
            Mapped::Cost(_) | Mapped::Absent => line.ours.clone(),
        });
        row
    };
    let costs: Vec<(&Resource, f64)> = lines
        .iter()
        .zip(mapped)
        .filter_map(|(line, mapped)| match mapped {
            Mapped::Cost([lut, ..]) => Some((line, *lut)),
            Mapped::Absent | Mapped::Failed(_) => None,
        })
        .collect();
    let chart = Chart::bars("LUT", "")
        .at(costs.iter().map(|(line, _)| line.name.as_str()))
        .with(Series::ours(
            "ours",
            costs.iter().map(|(_, lut)| Some(*lut)),
        ))
        .with(Series::paper(
            "the paper",
            costs.iter().map(|(line, _)| Some(line.paper[0])),
        ))
        .logarithmic();
    Section {
        id: "table6".into(),
        title: TABLE6.to_owned(),
        verdict: Verdict::Shown,
        because: "parts of other function: each row says what ours is".to_owned(),
        pictures: vec![chart.to_string()],
        head: words([
            "", "LUT", "paper", "FF", "paper", "BRAM", "paper", "ours is",
        ]),
        rows: lines.iter().zip(mapped).map(row).collect(),
        notes: vec![
            "The paper’s by Vivado, placed; ours by Yosys for the same family, not placed."
                .to_owned(),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::super::priorities::Contention;
    use super::*;

    fn experiment() -> Vfpio {
        Vfpio::read(&simcard::home().join("experiments")).unwrap()
    }

    fn figure(high: f64, switches: [u64; 2]) -> Figure6 {
        let contention = Contention {
            alone: 450.0,
            turns: 850.0,
            high,
            low: [890.0, 910.0],
            full: 256.0,
        };
        Figure6 {
            link: contention,
            channel: contention,
            switches,
        }
    }

    fn outcome(network: f64, wired: Option<f64>) -> ApplicationOutcome {
        ApplicationOutcome {
            card: 1000.0,
            host: 500.0,
            network,
            wired,
            processor: 3.0,
        }
    }

    #[test]
    fn every_figure_has_its_verdict_plot_and_values() {
        let experiment = experiment();
        let sizes = experiment.sizes.len();
        let of = |one| (one, outcome(1000.0, Some(1005.0)));
        let measured = VfpioFigures {
            applications: Some(experiment.application.iter().map(of).collect()),
            priorities: Some(figure(500.0, [200, 100])),
            latency: Some([vec![2.0; sizes], vec![1.0; sizes]]),
            resources: Some(vec![Mapped::Cost([1.0; 3]); experiment.resource.len()]),
        };
        let study = study(&experiment, &measured);
        for section in &study.sections {
            assert!(!section.pictures.is_empty(), "{}", section.id);
            let columns = section.head.len();
            assert!(!section.rows.is_empty(), "{}", section.id);
            assert!(
                section.rows.iter().all(|row| row.len() == columns),
                "{}",
                section.id
            );
        }
        assert_eq!(study.sections.len(), 4);
        assert_eq!(study.sections[0].verdict, Verdict::AsPublished);
        assert_eq!(study.sections[1].verdict, Verdict::AsPublished);
        assert!(study.to_string().contains("1.800"), "{study}");
    }

    #[test]
    fn verdicts_follow_what_was_measured() {
        let of = |high, switches| priorities([1.8, 1.7, 1.063], &figure(high, switches)).verdict;
        assert_eq!(of(850.0, [200, 100]), Verdict::PartlyAsPublished);
        assert_eq!(of(500.0, [100, 200]), Verdict::PartlyAsPublished);
        let experiment = experiment();
        let one = |network, wired| {
            let of = |one| (one, outcome(network, Some(wired)));
            let outcomes: Vec<_> = experiment.application.iter().map(of).collect();
            applications(&experiment, "", &outcomes).verdict
        };
        assert_eq!(one(900.0, 1100.0), Verdict::Otherwise);
        assert_eq!(one(900.0, 1001.0), Verdict::PartlyAsPublished);
        let none = study(&experiment, &VfpioFigures::default());
        let missing = |section: &Section| section.verdict == Verdict::NotMeasured;
        assert!(none.sections.iter().all(missing));
        assert!(none.to_string().contains("--part priorities"));
    }
}
