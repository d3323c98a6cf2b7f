//! Figures of this crate's bars, by name and value.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::check::{check, Setting, Verdict};
use crate::cli::{load, CliError};
use crate::generate::Protocol;
use crate::mutate::{self, Campaign};
use crate::rumur::{self, RumurError};

/// A measured figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name, as `protocol.mesi3.check_s`.
    pub name: &'static str,
    /// Measured value.
    pub value: f64,
    /// Unit, for display.
    pub unit: &'static str,
}

/// Cause of a failed measurement.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A specification could not be used, or a model could not be explored.
    #[error(transparent)]
    Protocol(#[from] CliError),
    /// A protocol that must hold is broken.
    #[error("{protocol}: {headline}")]
    Broken {
        /// Name of the protocol.
        protocol: String,
        /// Broken property.
        headline: String,
    },
    /// The independent checker could not be run.
    #[error(transparent)]
    Rumur(#[from] RumurError),
}

impl Figure {
    /// A figure, with its value in `unit`.
    #[must_use]
    pub fn new(name: &'static str, value: f64, unit: &'static str) -> Self {
        Self { name, value, unit }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, value, unit } = self;
        write!(f, "{name:<36} {value:>14.3} {unit}")
    }
}

/// All figures. `folder` holds the specifications; `mutants` per protocol are tried, 0 for all.
///
/// # Errors
///
/// [`BenchError`] if something cannot be measured at all.
pub fn all(
    folder: &Path,
    mutants: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Figure>, BenchError> {
    let mut figures = Vec::new();
    progress("sizes of the directory");
    figures.extend(sizes(folder)?);
    progress("three caches, one line");
    figures.extend(three_caches(folder)?);
    progress("two lines, one way");
    figures.push(shared_way(folder)?);
    progress("pages");
    figures.push(pages(folder)?);
    progress("rumur");
    figures.push(rumur_agrees(folder)?);
    figures.extend(mutants_survived(folder, mutants, progress)?);
    Ok(figures)
}

/// The figures of `moesi.protocol`, where an owner needs a second cache to meet: three caches on one line, mutants of
/// the tables for two, and `rumur` with two. `mutants` are tried, 0 for all.
///
/// # Errors
///
/// [`BenchError`] if something cannot be measured at all.
pub fn owners(
    folder: &Path,
    mutants: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Figure>, BenchError> {
    progress("moesi: three caches, one line");
    let start = Instant::now();
    let protocol = load(&file(folder, "moesi"), 3)?;
    holds(&protocol, &Setting::default())?;
    let seconds = start.elapsed().as_secs_f64();
    let mut figures = vec![Figure::new("protocol.moesi3.check_s", seconds, "s")];
    let protocol = load(&file(folder, "moesi"), 2)?;
    let campaign = campaign(&protocol, mutants, progress)?;
    figures.extend([
        Figure::new(
            "protocol.moesi.mutants_survived",
            campaign.survivors.len() as f64,
            "",
        ),
        Figure::new("protocol.moesi.mutants_killed", campaign.killed as f64, ""),
    ]);
    progress("moesi: rumur with two caches, which takes a minute or two");
    let agrees = rumur::agrees(&protocol)?;
    figures.push(Figure::new(
        "protocol.moesi.rumur_agrees",
        f64::from(u8::from(agrees)),
        "",
    ));
    Ok(figures)
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.protocol"))
}

/// States, transitions and messages of the generated directory in the paper's configuration, one CPU.
///
/// # Errors
///
/// Those of [`load`].
pub fn sizes(folder: &Path) -> Result<Vec<Figure>, BenchError> {
    let protocol = load(&file(folder, "mesi"), 1)?;
    let directory = &protocol.directory;
    let messages = protocol.spec.messages.len();
    Ok(vec![
        Figure::new(
            "protocol.mesi.directory_states",
            directory.states.len() as f64,
            "states",
        ),
        Figure::new(
            "protocol.mesi.directory_transitions",
            directory.transitions() as f64,
            "",
        ),
        Figure::new("protocol.mesi.messages", messages as f64, ""),
    ])
}

/// Three caches, one line, all properties: time and speed.
///
/// # Errors
///
/// [`BenchError::Broken`] if a property breaks.
pub fn three_caches(folder: &Path) -> Result<Vec<Figure>, BenchError> {
    // The machine may be shared: the best of three is the tool's own speed, and the processor time shows the effect of
    // other load.
    let mut best: Option<(f64, Verdict)> = None;
    let mut least_processor = f64::INFINITY;
    for _ in 0..3 {
        let start = Instant::now();
        let processor = processor_seconds();
        let protocol = load(&file(folder, "mesi"), 3)?;
        let verdict = holds(&protocol, &Setting::default())?;
        let seconds = start.elapsed().as_secs_f64();
        if let (Some(from), Some(to)) = (processor, processor_seconds()) {
            least_processor = least_processor.min(to - from);
        }
        if best.as_ref().is_none_or(|(other, _)| seconds < *other) {
            best = Some((seconds, verdict));
        }
    }
    let (seconds, speed) = best.map_or((f64::INFINITY, 0.0), |(seconds, v)| {
        (seconds, v.states_per_second())
    });
    Ok(vec![
        Figure::new("protocol.mesi3.check_s", seconds, "s"),
        // The same bar in processor time: five seconds of two cores.
        Figure::new("protocol.mesi3.processor_s", least_processor, "s"),
        Figure::new("protocol.states_per_s", speed, "states/s"),
    ])
}

/// Processor time of this process so far, if the system provides it (Linux; in its 100 Hz ticks).
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is the name in brackets; user and system time are fields 14 and 15.
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / 100.0)
}

/// Two lines that share a way, a unit and buffers of one message, with one cache and with two; and two lines of a unit
/// whose application waits for one before it answers the other.
///
/// # Errors
///
/// [`BenchError::Broken`] if a property breaks.
pub fn shared_way(folder: &Path) -> Result<Figure, BenchError> {
    let start = Instant::now();
    let protocol = load(&file(folder, "mesi"), 1)?;
    holds(&protocol, &Setting::shared_way())?;
    holds(&protocol, &Setting::application_waits())?;
    let protocol = load(&file(folder, "mesi"), 2)?;
    holds(&protocol, &Setting::shared_way())?;
    let seconds = start.elapsed().as_secs_f64();
    Ok(Figure::new(
        "protocol.mesi_shared_way.check_s",
        seconds,
        "s",
    ))
}

/// FlexiMem's page protocol for one to three cards.
///
/// # Errors
///
/// [`BenchError::Broken`] if a property breaks.
pub fn pages(folder: &Path) -> Result<Figure, BenchError> {
    let start = Instant::now();
    for cards in 1..=3 {
        holds(&load(&file(folder, "esi"), cards)?, &Setting::default())?;
    }
    let seconds = start.elapsed().as_secs_f64();
    Ok(Figure::new("protocol.esi.check_s", seconds, "s"))
}

/// 1 if `rumur` reports the same verdict and number of states for every exported model.
///
/// # Errors
///
/// [`BenchError::Rumur`] if `rumur` or the C compiler cannot be run.
pub fn rumur_agrees(folder: &Path) -> Result<Figure, BenchError> {
    let mut agree = true;
    for (name, caches) in [("esi", 1), ("msi", 1), ("mesi", 1), ("esi", 2), ("msi", 2)] {
        let protocol = load(&file(folder, name), caches)?;
        agree &= rumur::agrees(&protocol)?;
    }
    let value = f64::from(u8::from(agree));
    Ok(Figure::new("protocol.rumur_agrees", value, ""))
}

/// Number of mutants that the checker accepts and cannot prove equivalent, over all protocols.
///
/// # Errors
///
/// Those of [`load`].
pub fn mutants_survived(
    folder: &Path,
    mutants: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Figure>, BenchError> {
    let (mut survived, mut fewest) = (0, usize::MAX);
    for name in ["esi", "msi", "mesi"] {
        let campaign = campaign(&load(&file(folder, name), 1)?, mutants, progress)?;
        survived += campaign.survivors.len();
        fewest = fewest.min(campaign.killed);
    }
    Ok(vec![
        Figure::new("protocol.mutants_survived", survived as f64, ""),
        Figure::new("protocol.mutants_killed_fewest", fewest as f64, ""),
    ])
}

/// Runs the mutants of a protocol; `mutants` are tried, 0 for all.
fn campaign(
    protocol: &Protocol,
    mutants: usize,
    progress: &mut dyn FnMut(&str),
) -> Result<Campaign, BenchError> {
    let wanted = if mutants == 0 { usize::MAX } else { mutants };
    let name = &protocol.spec.name;
    let campaign = mutate::campaign(protocol, wanted, &mut |done, all| {
        progress(&format!("{name}: mutant {done} of {all}"));
    });
    Ok(campaign.map_err(CliError::from)?)
}

fn holds(protocol: &Protocol, setting: &Setting) -> Result<Verdict, BenchError> {
    let verdict = check(protocol, setting, &mut |_| {}).map_err(CliError::from)?;
    match &verdict.failure {
        None => Ok(verdict),
        Some(trace) => Err(BenchError::Broken {
            protocol: protocol.spec.name.clone(),
            headline: trace.headline.clone(),
        }),
    }
}
