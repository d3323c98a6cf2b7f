//! The bars that have a figure's rows, measured beside each other.

use super::super::Failure;
use super::{Cckit, Figure};
use crate::bar::Bar;
use crate::row::Row;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What was measured.
#[derive(Debug, Default)]
pub struct Measurements {
    rows: Vec<Row>,
    /// What could not be measured, and why.
    pub failures: Vec<String>,
}

/// A measurement that is over.
#[derive(Debug)]
pub struct Ended<'a> {
    /// The rows that it gives, by the first of their names.
    pub name: &'a str,
    /// How long it took.
    pub took: Duration,
    /// How many are over.
    pub done: usize,
    /// Of so many.
    pub of: usize,
    /// Why it failed.
    pub failure: Option<String>,
}

impl Measurements {
    /// These rows.
    #[cfg(test)]
    pub(super) fn of(rows: Vec<Row>) -> Self {
        let failures = Vec::new();
        Self { rows, failures }
    }

    /// The row of that name.
    pub(super) fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.name == name)
    }

    fn add(&mut self, name: &str, measured: Result<Vec<Row>, Failure>) -> Option<String> {
        match measured {
            Ok(rows) => {
                self.rows.extend(rows);
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
    /// Measures what these figures show, one measurement a core of this machine at a time. A measurement that fails
    /// leaves its points out.
    pub fn run(&self, figures: &[&Figure], told: impl Fn(Ended<'_>) + Sync) -> Measurements {
        let mut bars: Vec<&Bar> = Vec::new();
        let points = figures.iter().flat_map(|figure| &figure.points);
        for found in points.filter_map(|point| self.bar(&point.row)) {
            if !bars.iter().any(|known| known.names == found.names) {
                bars.push(found);
            }
        }
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
                        let failure = all.0.add(name, measured);
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
