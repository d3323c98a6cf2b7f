//! Parts of the evaluations of FlexiMem, vFPIO and CCKit: the units that run in processes and whose results are kept.

use super::cache::{Cached, Kept};
use super::fleximem::{self, area, components, FlexiMem, LaneFigure, Pages};
use super::vfpio::priorities::Figure6;
use super::vfpio::resources::{self, Mapped, Resource};
use super::vfpio::{self, Application, ApplicationOutcome, Device, Vfpio};
use super::workers::KeptWork;
use super::Failure;
use crate::bar::Bar;
use crate::processor;
use crate::row::Row;
use serde::{Deserialize, Serialize};
use std::path::Path;
use tombolo::{Card, OwnerOptions};

/// A part of an evaluation; its result is independent of when and where it runs.
#[derive(Clone, Copy, Debug)]
pub enum PaperPart<'a> {
    /// FlexiMem, figures 7 and 8.
    Pages(&'a FlexiMem),
    /// FlexiMem, figure 6.
    Lanes,
    /// FlexiMem, table II.
    Area,
    /// FlexiMem, table III.
    Components(&'a FlexiMem),
    /// vFPIO, figure 5 and table 5: a row.
    Application(&'a Vfpio, &'a Application),
    /// vFPIO, figure 6.
    Priorities,
    /// vFPIO, figure 7.
    Latency(&'a Vfpio),
    /// vFPIO, table 6: a row with a block.
    Resource(&'a Resource),
    /// CCKit: a bar.
    Bar(&'static Bar),
}

/// Figures of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartFigures {
    /// Of [`PaperPart::Pages`].
    Pages(Pages),
    /// Of [`PaperPart::Lanes`].
    Lanes(LaneFigure),
    /// Of [`PaperPart::Area`].
    Area(Vec<area::Area>),
    /// Of [`PaperPart::Components`].
    Components(Vec<Option<components::Cost>>),
    /// Of [`PaperPart::Application`].
    Application(ApplicationOutcome),
    /// Of [`PaperPart::Priorities`].
    Priorities(Figure6),
    /// Of [`PaperPart::Latency`].
    Latency([Vec<f64>; 2]),
    /// Of [`PaperPart::Resource`]: LUT, FF, BRAM36.
    Resource([f64; 3]),
    /// Of [`PaperPart::Bar`].
    Rows(Vec<Row>),
}

/// Figures of a part, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartOutcome {
    /// Processor time in seconds, with child processes.
    pub processor_seconds: f64,
    /// Measured values, of the variant of the part.
    pub figures: PartFigures,
}

impl PaperPart<'_> {
    /// Name, unique among the parts of all evaluations.
    pub fn name(&self) -> String {
        match self {
            Self::Pages(_) => "fleximem.pages".to_owned(),
            Self::Lanes => "fleximem.lanes".to_owned(),
            Self::Area => "fleximem.area".to_owned(),
            Self::Components(_) => "fleximem.components".to_owned(),
            Self::Application(_, one) => format!("vfpio.applications.{}", one.name),
            Self::Priorities => "vfpio.priorities".to_owned(),
            Self::Latency(_) => "vfpio.latency".to_owned(),
            // Lines may have the same name.
            Self::Resource(line) => match &line.block {
                Some(block) => format!("vfpio.resources.{block}"),
                None => format!("vfpio.resources.{}", line.name),
            },
            Self::Bar(bar) => format!("cckit.{}", bar.names.first().unwrap_or(&"none")),
        }
    }

    /// The subcommand of `tombolo lab` that has this part.
    fn paper(&self) -> &'static str {
        match self {
            Self::Pages(_) | Self::Lanes | Self::Area | Self::Components(_) => "fleximem",
            Self::Bar(_) => "cckit",
            _ => "vfpio",
        }
    }

    /// Whether the cache has its result.
    ///
    /// # Errors
    /// Unreadable sources.
    pub fn is_kept(&self) -> Result<bool, Failure> {
        Ok(matches!(self.kept(&super::cache::root())?, Kept::Whole(_)))
    }

    /// Runs it, or returns the kept result of an earlier run.
    ///
    /// # Errors
    /// Any error that prevents its execution.
    pub fn run(&self) -> Result<PartOutcome, Failure> {
        self.perform()
    }

    fn measure(&self) -> Result<PartFigures, Failure> {
        let tell = |step: &str| eprintln!("{}: {step}", self.name());
        Ok(match self {
            Self::Pages(of) => PartFigures::Pages(of.pages(&mut { tell })?),
            Self::Lanes => PartFigures::Lanes(LaneFigure::measure(&mut |step| {
                eprintln!("fleximem.lanes: {step}");
            })?),
            Self::Area => PartFigures::Area(area::measure(tell)?),
            Self::Components(of) => {
                PartFigures::Components(components::measure(&of.component, tell)?)
            }
            Self::Application(of, one) => {
                PartFigures::Application(of.run(&streams_card(of)?, one)?)
            }
            Self::Priorities => PartFigures::Priorities(Figure6::measure()?),
            Self::Latency(of) => PartFigures::Latency([
                of.latency(&streams_card(of)?, Device::Host)?,
                of.latency(&streams_card(of)?, Device::Card)?,
            ]),
            Self::Resource(line) => {
                let mapped = resources::measure(std::slice::from_ref(*line), tell);
                match mapped.into_iter().next() {
                    Some(Mapped::Cost(cost)) => PartFigures::Resource(cost),
                    Some(Mapped::Failed(why)) => return Err(why.into()),
                    Some(Mapped::Absent) | None => return Err("nothing to map".into()),
                }
            }
            Self::Bar(bar) => PartFigures::Rows((bar.measure)()?),
        })
    }
}

/// The card of vFPIO's experiments.
fn streams_card(experiment: &Vfpio) -> Result<Card, Failure> {
    let options = experiment.options()?;
    Ok(Card::simulated(options, OwnerOptions::default(), |_| {})?)
}

impl KeptWork for PaperPart<'_> {
    type Done = PartOutcome;

    fn name(&self) -> String {
        PaperPart::name(self)
    }

    fn arguments(&self) -> Vec<String> {
        ["lab", self.paper(), "--worker"]
            .map(str::to_owned)
            .to_vec()
    }

    fn cached(&self, root: &Path) -> Result<Cached, Failure> {
        let experiment = format!("experiments/{}.toml", self.paper());
        Cached::of_part(
            root,
            &PaperPart::name(self),
            &[&experiment, "tools/synthesis"],
            "",
        )
    }

    fn perform(&self) -> Result<PartOutcome, Failure> {
        self.cached(&super::cache::root())?.or_compute(|| {
            let (figures, processor_seconds) = processor::seconds_of(|| self.measure())?;
            Ok(PartOutcome {
                processor_seconds,
                figures,
            })
        })
    }
}

/// The parts of FlexiMem's evaluation that are computed.
pub fn fleximem_parts(experiment: &FlexiMem) -> [PaperPart<'_>; 4] {
    [
        PaperPart::Pages(experiment),
        PaperPart::Lanes,
        PaperPart::Area,
        PaperPart::Components(experiment),
    ]
}

impl fleximem::FleximemFigures {
    /// Adds the figures of a part.
    pub fn add(&mut self, figures: PartFigures) {
        match figures {
            PartFigures::Pages(pages) => self.pages = Some(pages),
            PartFigures::Lanes(lanes) => self.lanes = Some(lanes),
            PartFigures::Area(area) => self.area = Some(area),
            PartFigures::Components(costs) => self.components = Some(costs),
            _ => {}
        }
    }
}

/// The parts of vFPIO's evaluation that are computed.
pub fn vfpio_parts(experiment: &Vfpio) -> Vec<PaperPart<'_>> {
    let applications = experiment.application.iter();
    let applications = applications.map(|one| PaperPart::Application(experiment, one));
    let resources = experiment.resource.iter();
    let resources = resources.filter(|line| line.block.is_some());
    applications
        .chain([PaperPart::Priorities, PaperPart::Latency(experiment)])
        .chain(resources.map(PaperPart::Resource))
        .collect()
}

impl<'a> vfpio::VfpioFigures<'a> {
    /// The figures of parts, and what failed. A row of table 6 that failed is shown with its reason; without any of its
    /// rows the table is not measured.
    pub fn collect(
        experiment: &'a Vfpio,
        parts: impl IntoIterator<Item = (PaperPart<'a>, Result<PartOutcome, Failure>)>,
    ) -> (Self, Vec<String>) {
        let (mut measured, mut failures) = (Self::default(), Vec::new());
        let mut mapped = vec![Mapped::Absent; experiment.resource.len()];
        for (part, outcome) in parts {
            if let Err(error) = &outcome {
                failures.push(format!("{}: {error}", part.name()));
            }
            if let PaperPart::Resource(line) = part {
                let mut lines = experiment.resource.iter();
                let place = lines.position(|one| std::ptr::eq(one, line));
                if let Some(place) = place.and_then(|place| mapped.get_mut(place)) {
                    *place = match outcome {
                        Ok(PartOutcome {
                            figures: PartFigures::Resource(cost),
                            ..
                        }) => Mapped::Cost(cost),
                        Ok(_) => Mapped::Absent,
                        Err(error) => Mapped::Failed(error.to_string()),
                    };
                }
                continue;
            }
            match (part, outcome.map(|outcome| outcome.figures)) {
                (PaperPart::Application(_, one), Ok(PartFigures::Application(ours))) => {
                    measured
                        .applications
                        .get_or_insert_default()
                        .push((one, ours));
                }
                (_, Ok(PartFigures::Priorities(figure))) => measured.priorities = Some(figure),
                (_, Ok(PartFigures::Latency(cycles))) => measured.latency = Some(cycles),
                _ => {}
            }
        }
        if mapped.iter().any(|line| *line != Mapped::Absent) {
            measured.resources = Some(mapped);
        }
        (measured, failures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;
    use crate::experiment::cckit::Cckit;
    use std::collections::BTreeSet;

    fn outcome() -> PartOutcome {
        let rows = vec![Row::new("a.b", 0.1 + 0.2, "ns")];
        PartOutcome {
            processor_seconds: 1.5,
            figures: PartFigures::Rows(rows),
        }
    }

    /// A name identifies a result, and is the last argument of a worker.
    #[test]
    fn names_are_unique_and_their_commands_exist() {
        let folder = simcard::home().join("experiments");
        let fleximem = FlexiMem::read(&folder).unwrap();
        let vfpio = Vfpio::read(&folder).unwrap();
        let cckit = Cckit::read(&folder, bars::ALL).unwrap();
        let of_cckit = cckit.parts(&cckit.figures(false));
        let parts = [
            fleximem_parts(&fleximem).to_vec(),
            vfpio_parts(&vfpio),
            of_cckit,
        ]
        .concat();
        let names: BTreeSet<String> = parts.iter().map(PaperPart::name).collect();
        assert_eq!(names.len(), parts.len());
        for part in &parts {
            assert!(part.name().starts_with(part.paper()), "{}", part.name());
            assert_eq!(part.arguments()[1], part.paper());
        }
    }

    #[test]
    fn a_result_is_kept_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let cached = PaperPart::Priorities.cached(folder.path()).unwrap();
        let kept = || PaperPart::Priorities.kept(folder.path()).unwrap();
        assert_eq!(kept(), Kept::Nothing);
        cached.write(&outcome()).unwrap();
        assert_eq!(kept(), Kept::Whole(outcome()));
        // Another part has another entry.
        let other = PaperPart::Lanes.kept(folder.path()).unwrap();
        assert_eq!(other, Kept::Nothing);
        let text = std::fs::read_to_string(cached.path()).unwrap();
        std::fs::write(cached.path(), text.replace("1.5", "2.5")).unwrap();
        let Kept::Spoilt(why) = kept() else {
            panic!("a changed figure is a result");
        };
        assert!(why.starts_with("vfpio.priorities: "), "{why}");
        std::fs::write(cached.path(), &text[..text.len() / 2]).unwrap();
        assert!(matches!(kept(), Kept::Spoilt(_)));
    }

    #[test]
    fn a_row_that_fails_leaves_the_others() {
        let experiment = Vfpio::read(&simcard::home().join("experiments")).unwrap();
        let mut cost = 0.0;
        let done = vfpio_parts(&experiment).into_iter().map(|part| {
            cost += 1.0;
            let outcome = match part {
                PaperPart::Resource(_) => Ok(PartOutcome {
                    processor_seconds: 0.0,
                    figures: PartFigures::Resource([cost; 3]),
                }),
                _ => Err("killed".into()),
            };
            (part, outcome)
        });
        let mut done: Vec<_> = done.collect();
        if let Some((_, outcome)) = done.last_mut() {
            *outcome = Err("no Yosys".into());
        }
        let (measured, failures) = vfpio::VfpioFigures::collect(&experiment, done);
        let mapped = measured.resources.unwrap();
        assert_eq!(mapped.len(), experiment.resource.len());
        assert_eq!(resources::failures(&mapped), 1);
        assert!(measured.applications.is_none() && measured.latency.is_none());
        assert!(failures
            .iter()
            .any(|failure| failure.ends_with(": no Yosys")));
    }
}
