//! Results of a sweep: a table, comma-separated values, and a page with its Pareto front.

use super::job::SweepJob;
use super::{PointFigures, PointOutcome, Sweep};
use crate::csv;
use crate::experiment::workers::KeptWork;
use crate::experiment::{Failure, Workers};
use html::{Section, Study, Verdict};
use picture::{pareto, Scatter};
use std::collections::HashMap;

/// Selection of a sweep's work.
#[derive(Clone, Copy, Debug)]
pub struct SweepWork {
    /// With the shell's area.
    pub area: bool,
    /// Only work with a kept result, so that nothing runs.
    pub kept: bool,
}

/// Figures of a point; missing ones were not measured.
#[derive(Clone, Debug, Default)]
struct PointResult {
    mib_per_s: Option<f64>,
    area: Option<[f64; 3]>,
    failures: Vec<String>,
}

/// Results of a sweep.
#[derive(Clone, Debug)]
pub struct SweepResults<'a> {
    sweep: &'a Sweep,
    area: bool,
    points: Vec<PointResult>,
}

/// Column headings after the fields.
const COLUMNS: [&str; 6] = ["MiB/s", "LUT", "FF", "BRAM36", "on-chip KiB", "state"];

/// A cost, and each point's value of it.
type Cost = (&'static str, fn(&PointResult, f64) -> Option<f64>);

const LUT: Cost = ("LUT of the shell", |one, _| Some(one.area?[0]));
const BRAM: Cost = ("BRAM36 of the shell", |one, _| Some(one.area?[2]));
const ON_CHIP: Cost = ("on-chip memory of the shell in KiB, estimated", |_, kib| {
    Some(kib)
});

impl Sweep {
    /// Names of the work with its expected processor seconds, as [`Workers::expected`].
    ///
    /// # Errors
    /// Sources that cannot be read.
    pub fn expected(
        &self,
        workers: &Workers,
        selected: SweepWork,
    ) -> Result<Vec<(String, Option<f64>)>, Failure> {
        let jobs = self.chosen(workers, selected)?;
        let names = jobs.iter().map(KeptWork::name);
        Ok(names.zip(workers.expected_of(&jobs)).collect())
    }

    /// The work; with `kept` only that with a result.
    fn chosen(&self, workers: &Workers, selected: SweepWork) -> Result<Vec<SweepJob<'_>>, Failure> {
        let mut jobs = Vec::new();
        for job in self.jobs(selected.area) {
            if !selected.kept || workers.has(&job)? {
                jobs.push(job);
            }
        }
        Ok(jobs)
    }

    /// Runs all points; `ended` is called with the name of each piece of work and its result.
    ///
    /// # Errors
    /// Sources that cannot be read. A point that fails is a result.
    pub fn run(
        &self,
        workers: &Workers,
        selected: SweepWork,
        mut ended: impl FnMut(&str, Result<String, String>),
    ) -> Result<SweepResults<'_>, Failure> {
        let jobs = self.chosen(workers, selected)?;
        let outcomes = workers.execute(&jobs, |job, outcome| {
            let text = match outcome {
                Ok(outcome) => Ok(match outcome.figures {
                    PointFigures::Throughput(mib_per_s) => format!("{mib_per_s:.1} MiB/s"),
                    PointFigures::Area([lut, _, bram]) => format!("{lut} LUT, {bram} BRAM36"),
                }),
                Err(error) => Err(error.to_string()),
            };
            ended(&job.name(), text);
        });
        let names = jobs.iter().map(|job| job.point().to_owned());
        Ok(SweepResults::new(self, selected.area, names.zip(outcomes)))
    }
}

impl<'a> SweepResults<'a> {
    pub(super) fn new(
        sweep: &'a Sweep,
        area: bool,
        done: impl IntoIterator<Item = (String, Result<PointOutcome, Failure>)>,
    ) -> Self {
        let mut by_name: HashMap<String, PointResult> = HashMap::new();
        for (name, outcome) in done {
            let one = by_name.entry(name).or_default();
            match outcome.map(|outcome| outcome.figures) {
                Ok(PointFigures::Throughput(mib_per_s)) => one.mib_per_s = Some(mib_per_s),
                Ok(PointFigures::Area(area)) => one.area = Some(area),
                Err(error) => one.failures.push(error.to_string()),
            }
        }
        let points = sweep.points.iter();
        let points = points.map(|point| by_name.remove(&point.name).unwrap_or_default());
        Self {
            sweep,
            area,
            points: points.collect(),
        }
    }

    /// Number of points with work that failed; refused ones are not among them.
    pub fn failed(&self) -> usize {
        self.points
            .iter()
            .filter(|one| !one.failures.is_empty())
            .count()
    }

    /// The state of a point in words.
    fn state(&self, place: usize) -> String {
        let one = &self.points[place];
        match (&self.sweep.points[place].setup, one.failures.first()) {
            (Err(rule), _) => format!("refused: {rule}"),
            (Ok(_), Some(failure)) => format!("failed: {failure}"),
            (Ok(_), None) if one.mib_per_s.is_none() => "not measured".to_owned(),
            (Ok(_), None) => "measured".to_owned(),
        }
    }

    fn on_chip(&self, place: usize) -> Option<f64> {
        let setup = self.sweep.points[place].setup.as_ref();
        setup.ok().map(super::Setup::on_chip_kib)
    }

    /// The points over a cost: place, cost, throughput.
    fn over(&self, (_, of): Cost) -> Vec<(usize, f64, f64)> {
        let points = self.points.iter().enumerate();
        let points = points.filter_map(|(place, one)| {
            Some((place, of(one, self.on_chip(place)?)?, one.mib_per_s?))
        });
        points.collect()
    }

    fn costs(&self) -> Vec<Cost> {
        match self.area {
            true => vec![LUT, BRAM],
            false => vec![ON_CHIP],
        }
    }

    /// Cells of a row: fields, [`COLUMNS`].
    fn row(&self, place: usize) -> Vec<String> {
        let one = &self.points[place];
        let figure = |value: Option<f64>, digits: usize| {
            value.map_or_else(String::new, |value| format!("{value:.digits$}"))
        };
        let mut row = self.sweep.points[place].values.clone();
        row.push(figure(one.mib_per_s, 1));
        row.extend((0..3).map(|kind| match one.area {
            Some(area) => area[kind].to_string(),
            None => String::new(),
        }));
        row.push(figure(self.on_chip(place), 1));
        row.push(self.state(place));
        row
    }

    fn head(&self) -> Vec<String> {
        let fields = self.sweep.fields.iter().map(String::as_str);
        fields.chain(COLUMNS).map(str::to_owned).collect()
    }

    /// One line per point.
    pub fn comma_separated(&self) -> String {
        let rows = (0..self.points.len()).map(|place| self.row(place));
        std::iter::once(self.head())
            .chain(rows)
            .map(csv::line)
            .collect()
    }

    /// The page: throughput over each cost, with the Pareto front, and all points.
    pub fn study(&self) -> Study {
        let refused = self
            .sweep
            .points
            .iter()
            .filter(|point| point.setup.is_err());
        let refused = refused.count();
        let measured = self.points.iter().filter(|one| one.mib_per_s.is_some());
        let because = format!(
            "{} points: {} measured, {refused} refused, {} failed",
            self.points.len(),
            measured.count(),
            self.failed()
        );
        let mut sections = Vec::new();
        for (number, cost) in self.costs().into_iter().enumerate() {
            let over = self.over(cost);
            let pairs: Vec<(f64, f64)> = over
                .iter()
                .map(|(_, cost, value)| (*cost, *value))
                .collect();
            let best = pareto(&pairs);
            let mut scatter = Scatter::new("throughput in MiB/s", cost.0);
            let mut rows = Vec::new();
            for ((place, at, value), best) in over.into_iter().zip(best) {
                let name = &self.sweep.points[place].name;
                scatter = scatter.with(name, at, value);
                if best {
                    rows.push((
                        at,
                        vec![name.clone(), format!("{at:.1}"), format!("{value:.1}")],
                    ));
                }
            }
            rows.sort_by(|one, other| one.0.total_cmp(&other.0));
            sections.push(Section {
                id: format!("pareto{}", number + 1),
                title: format!("Pareto front: throughput over {}", cost.0),
                verdict: match rows.is_empty() {
                    true => Verdict::NotMeasured,
                    false => Verdict::Shown,
                },
                because: format!(
                    "{} of {} points: no other has more at no more cost",
                    rows.len(),
                    pairs.len()
                ),
                pictures: vec![scatter.to_string()],
                head: ["point", cost.0, "MiB/s"].map(str::to_owned).to_vec(),
                rows: rows.into_iter().map(|(_, row)| row).collect(),
                notes: Vec::new(),
            });
        }
        sections.push(Section {
            id: "points".to_owned(),
            title: "Points".to_owned(),
            verdict: Verdict::Shown,
            because,
            pictures: Vec::new(),
            head: self.head(),
            rows: (0..self.points.len()).map(|place| self.row(place)).collect(),
            notes: vec![
                "Area: the shell alone, by Yosys for an UltraScale+ device, not placed. On-chip KiB, an estimate: the ports’ \
                 buffers, and 8 bytes per entry of an L1 TLB. Refused: the shell’s own rules."
                    .to_owned(),
            ],
        });
        let file = self.sweep.path.file_name().unwrap_or_default();
        Study {
            title: self.sweep.title.clone(),
            command: format!(
                "tombolo lab sweep {}{} --html PAGE",
                file.to_string_lossy(),
                if self.area { "" } else { " --no-area" }
            ),
            known_differences: Vec::new(),
            sections,
        }
    }
}
