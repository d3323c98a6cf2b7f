//! Measures the rows of figures, several bars concurrently.

use super::super::{Failure, PaperPart, PartFigures};
use super::{Cckit, Figure};
use crate::bar::Bar;
use crate::claim::{Claims, Judged};
use crate::row::Row;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Measured rows, and failures.
#[derive(Debug, Default)]
pub struct Measurements {
    rows: Vec<Judged>,
    /// Failed measurements, with the reason.
    pub failures: Vec<String>,
}

/// A completed measurement.
#[derive(Debug)]
pub struct Ended<'a> {
    /// Name of the first row that it produces.
    pub name: &'a str,
    /// Duration of the measurement.
    pub took: Duration,
    /// Number of completed measurements.
    pub done: usize,
    /// Total number of measurements.
    pub of: usize,
    /// Reason of the failure, if any.
    pub failure: Option<String>,
}

impl Measurements {
    /// Measurements that consist of these rows.
    #[cfg(test)]
    pub(super) fn of(rows: Vec<Judged>) -> Self {
        let failures = Vec::new();
        Self { rows, failures }
    }

    /// The row with this name.
    pub(in crate::experiment) fn row(&self, name: &str) -> Option<&Judged> {
        self.rows.iter().find(|judged| judged.row.name == name)
    }

    fn add(
        &mut self,
        name: &str,
        measured: Result<Vec<Row>, Failure>,
        claims: &Claims,
    ) -> Option<String> {
        match measured {
            Ok(rows) => {
                self.rows
                    .extend(rows.into_iter().map(|row| claims.judge(row)));
                None
            }
            Err(error) => {
                self.failures.push(format!("{name}: {error}"));
                Some(error.to_string())
            }
        }
    }
}

impl Cckit {
    /// Bars that measure the rows of these figures, each once.
    fn bars(&self, figures: &[&Figure]) -> Vec<&'static Bar> {
        let mut bars: Vec<&'static Bar> = Vec::new();
        let points = figures.iter().flat_map(|figure| &figure.points);
        for found in points.filter_map(|point| self.bar(&point.row)) {
            if !bars.iter().any(|known| known.names == found.names) {
                bars.push(found);
            }
        }
        bars
    }

    /// The parts that measure these figures.
    pub fn parts(&self, figures: &[&Figure]) -> Vec<PaperPart<'static>> {
        self.bars(figures).into_iter().map(PaperPart::Bar).collect()
    }

    /// The measurements of parts; those of other papers are ignored.
    pub fn measured(
        &self,
        parts: impl IntoIterator<Item = (String, Result<PartFigures, Failure>)>,
    ) -> Measurements {
        let mut all = Measurements::default();
        for (name, figures) in parts {
            match figures {
                Ok(PartFigures::Rows(rows)) => all.add(&name, Ok(rows), &self.rows),
                Ok(_) => None,
                Err(error) => all.add(&name, Err(error), &self.rows),
            };
        }
        all
    }

    /// Measures the rows of these figures, with one measurement per core of this machine at a time. The points of a
    /// failed measurement are omitted. `told` is called after each.
    pub fn run(&self, figures: &[&Figure], told: impl Fn(Ended<'_>) + Sync) -> Measurements {
        let bars = self.bars(figures);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let next = AtomicUsize::new(0);
        let all = Mutex::new((Measurements::default(), 0));
        std::thread::scope(|scope| {
            for _ in 0..cores.min(bars.len()) {
                scope.spawn(|| {
                    while let Some(bar) = bars.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let began = Instant::now();
                        let name = bar.names.first().copied().unwrap_or_default();
                        let measured = (bar.measure)();
                        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                        let failure = all.0.add(name, measured, &self.rows);
                        all.1 += 1;
                        told(Ended {
                            name,
                            took: began.elapsed(),
                            done: all.1,
                            of: bars.len(),
                            failure,
                        });
                    }
                });
            }
        });
        all.into_inner().unwrap_or_else(PoisonError::into_inner).0
    }
}
