//! Every published value of an evaluation next to ours, with the verdict: the lines of the index page and of
//! `tombolo lab all --csv`.

use super::cckit::{Figure, Measurements};
use super::claims::{Count, Share, ValueState};
use super::fleximem::{FlexiMem, FleximemFigures};
use super::fsrf::FsrfFigures;
use super::vfpio::resources::Mapped;
use super::vfpio::{Vfpio, VfpioFigures};
use super::Experiment;
use crate::claim::State;
use crate::row::Row;

/// Maximum relative deviation that counts as equal, as on the papers' pages.
const NEAR: f64 = 0.25;

/// A published value next to ours.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedValue {
    /// Section of the paper's page.
    pub figure: String,
    /// Row and column, or name of the value.
    pub what: String,
    /// Our value.
    pub ours: f64,
    /// The published value; if one of ours is compared with several, the farthest.
    pub paper: f64,
    /// State of the value in words.
    pub state: &'static str,
    /// Whether it is reproduced; `None` if it is not counted.
    pub holds: Option<bool>,
    /// Reason for a state other than predicted, or for a miss.
    pub why: String,
}

impl ComparedValue {
    fn new(figure: &str, what: String, ours: f64, paper: f64, state: State, why: &str) -> Self {
        let holds = match state {
            State::Predicted => Some((ours / paper - 1.0).abs() <= NEAR),
            State::NotReproduced => Some(false),
            _ => None,
        };
        let why = match (holds, why) {
            (Some(false), "") => "not known why",
            (_, why) => why,
        };
        Self {
            figure: figure.to_owned(),
            what,
            ours,
            paper,
            state: state.name(),
            holds,
            why: why.to_owned(),
        }
    }
}

impl FsrfFigures<'_> {
    /// The values of table 2, each once.
    pub fn compared(&self, experiment: &Experiment) -> Vec<ComparedValue> {
        let Some(count) = Count::new(experiment, &self.table) else {
            return Vec::new();
        };
        let value = |value: &super::claims::Value<'_>| {
            let (ours, ratio) = (value.ours?, value.ratio()?);
            let columns = value.columns.iter();
            let columns: Vec<String> = columns
                .map(|(temperature, size)| format!("{} {}", temperature.name(), size.short()))
                .collect();
            let (state, why) = match value.state {
                ValueState::Predicted => (State::Predicted, value.reasons.join("; ")),
                ValueState::Calibrated(constant) => (State::Calibrated, constant.how.clone()),
                ValueState::NotComparable(why) => (State::NotComparable, why.to_owned()),
                ValueState::Identity(why) => (State::Identity, why.to_owned()),
                ValueState::NotRun(_) => return None,
            };
            let what = format!(
                "{} on {}, {}",
                value.row,
                value.system,
                columns.join(" and ")
            );
            let paper = ours / ratio;
            Some(ComparedValue::new("claims", what, ours, paper, state, &why))
        };
        count.values.iter().filter_map(value).collect()
    }
}

/// Rows and columns of FSRF's table with the systems in the paper's order.
pub fn rankings(experiment: &Experiment, measured: &FsrfFigures<'_>) -> Option<Share> {
    Some(Count::new(experiment, &measured.table)?.ranking)
}

impl FleximemFigures {
    /// The figures of the bench that the parts contain, by the section that shows them.
    fn rows(&self, experiment: &FlexiMem) -> Vec<(&'static str, Row)> {
        let mut rows = Vec::new();
        if let Some(figure) = &self.lanes {
            let enough = f64::from(figure.enough());
            rows.push(("figure6", Row::new("fabric.lanes.enough", enough, "lanes")));
        }
        for area in self.area.iter().flatten() {
            for (kind, value) in [("lut", area.lut()), ("ff", area.ff())] {
                let name = format!("synth.lanes.{}.{kind}", area.lanes);
                rows.push(("table2", Row::new(&name, value, kind)));
            }
        }
        if let Some(pages) = &self.pages {
            let compared = pages.compared();
            for (page, times) in experiment.page.iter().zip(&compared.pages) {
                let name = |figure: &str| format!("shared.repro.{figure}.{}", page.name);
                let ratio = times.over_ready(compared.ready);
                rows.push(("figure7", Row::new(&name("fig7"), ratio, "x")));
                rows.push(("figure8", Row::new(&name("fig8"), times.traps(), "share")));
            }
        }
        rows
    }

    /// Its published values.
    pub fn compared(&self, experiment: &FlexiMem) -> Vec<ComparedValue> {
        let rows = self.rows(experiment).into_iter();
        let mut all: Vec<ComparedValue> = rows
            .filter_map(|(figure, row)| of_row(figure, &experiment.rows.judge(row)))
            .collect();
        let costs = self.components.iter().flatten();
        for (component, cost) in experiment.component.iter().zip(costs) {
            let Some(cost) = cost else { continue };
            for (kind, ours, paper) in [
                ("LUT", cost.lut, component.paper[0]),
                ("FF", cost.ff, component.paper[1]),
            ] {
                all.push(ComparedValue::new(
                    "table3",
                    format!("{}, {kind}", component.name),
                    ours,
                    f64::from(paper),
                    component.state,
                    &component.ours,
                ));
            }
        }
        all
    }
}

/// The published value of a figure of the bench.
fn of_row(figure: &str, judged: &crate::claim::Judged) -> Option<ComparedValue> {
    let published = judged.published()?;
    let value = judged.row.value;
    let mut compared = ComparedValue::new(
        figure,
        judged.row.name.clone(),
        value,
        published.value,
        published.state,
        &published.why,
    );
    // A claim may state another bound than a quarter.
    compared.holds = published.is_met(value);
    Some(compared)
}

impl VfpioFigures<'_> {
    /// Its published values.
    pub fn compared(&self, experiment: &Vfpio) -> Vec<ComparedValue> {
        let mut all = Vec::new();
        let outcomes = self.applications.iter().flatten();
        for (one, ours) in outcomes.clone() {
            let (paper, columns) = (&one.paper, &experiment.columns);
            for (column, ours, paper) in [
                ("card", ours.card, paper.card),
                ("host", ours.host, paper.host),
            ] {
                let Some(claim) = columns.get(column) else {
                    continue;
                };
                let what = format!("{}, {column}, MiB/s", one.name);
                all.push(ComparedValue::new(
                    "figure5",
                    what,
                    ours,
                    paper,
                    claim.state,
                    &claim.why,
                ));
            }
        }
        let losses = outcomes.filter_map(|(_, ours)| Some(1.0 - ours.card / ours.wired?));
        if let Some(most) = losses.reduce(f64::max) {
            let claim = &experiment.loss;
            let what = "largest loss of a rate through virtual I/O".to_owned();
            let (ours, paper) = (most.max(0.0), claim.paper);
            let mut loss =
                ComparedValue::new("figure5", what, ours, paper, claim.state, &claim.why);
            // The paper states a maximum.
            loss.holds = loss.holds.map(|_| most <= claim.paper * (1.0 + NEAR));
            if loss.holds == Some(true) {
                loss.why.clone_from(&claim.why);
            }
            all.push(loss);
        }
        if let Some(figure) = &self.priorities {
            let claim = &experiment.priorities;
            let ratios = super::vfpio::priorities::RATIOS
                .iter()
                .zip(figure.link.ratios());
            for ((name, ours), paper) in ratios.zip(claim.paper) {
                let what = (*name).to_owned();
                all.push(ComparedValue::new(
                    "figure6",
                    what,
                    ours,
                    paper,
                    claim.state,
                    &claim.why,
                ));
            }
        }
        for (line, mapped) in experiment
            .resource
            .iter()
            .zip(self.resources.iter().flatten())
        {
            let Mapped::Cost(cost) = mapped else { continue };
            for (place, kind) in ["LUT", "FF"].into_iter().enumerate() {
                let what = format!("{}, {kind}", line.name);
                let (ours, paper) = (cost[place], line.paper[place]);
                all.push(ComparedValue::new(
                    "table6", what, ours, paper, line.state, &line.ours,
                ));
            }
        }
        all
    }
}

impl Measurements {
    /// The published values of these figures; a value that several figures show counts once, in the first.
    pub fn compared(&self, figures: &[&Figure]) -> Vec<ComparedValue> {
        let mut all: Vec<ComparedValue> = Vec::new();
        for figure in figures {
            for point in &figure.points {
                let found = self.row(&point.row);
                let Some(compared) = found.and_then(|judged| of_row(&figure.name, judged)) else {
                    continue;
                };
                if !all.iter().any(|one| one.what == compared.what) {
                    all.push(compared);
                }
            }
        }
        all
    }
}
