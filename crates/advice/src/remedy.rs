//! Remedies against a bound.

use crate::{Bound, Resource};
use serde::Serialize;
use std::fmt;
use tombolo::report::bytes;
use tombolo::Report;

/// Something to try.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// Mapping options, as `tombolo run --map` takes them after the file; empty if none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mapping: String,
    /// Further arguments of `tombolo run`; empty if none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub words: String,
    /// Reason why it helps.
    pub why: String,
}

impl Remedy {
    fn map(options: &str, why: impl Into<String>) -> Self {
        Self {
            mapping: options.to_owned(),
            words: String::new(),
            why: why.into(),
        }
    }

    fn words(words: &str, why: impl Into<String>) -> Self {
        Self {
            mapping: String::new(),
            words: words.to_owned(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.mapping.as_str(), self.words.as_str()) {
            ("", "") => f.write_str(&self.why),
            ("", words) => write!(f, "`{words}`: {}", self.why),
            (mapping, _) => write!(f, "`--map …{mapping}`: {}", self.why),
        }
    }
}

/// Mean bytes of the pages that came from files; 0 if none did.
fn page(report: &Report) -> u64 {
    let paging = &report.paging;
    paging
        .bytes_read
        .checked_div(paging.pages_read)
        .unwrap_or(0)
}

/// Whether some file has more than one page: only then do larger pages change anything.
fn has_pages_to_join(report: &Report) -> bool {
    report.paging.pages_read > report.policies.len() as u64
}

/// Mean beats of the kernel's bursts.
fn beats(report: &Report) -> f64 {
    let requesters = &report.statistics.requesters;
    let sum = requesters.iter().fold((0, 0), |(rows, bursts), one| {
        (rows + one.rows, bursts + one.bursts)
    });
    sum.0 as f64 / sum.1.max(1) as f64
}

/// Page size in bytes from which on smaller pages let the kernel start much sooner.
const LARGE: u64 = 512 << 10;
/// Minimum gain for which an option is suggested.
const WORTH: f64 = 1.15;

/// Remedies against the bound of a run.
pub(crate) fn of(bound: &Bound, report: &Report) -> Vec<Remedy> {
    let page = page(report);
    let (read, written) = report.kernel_bytes();
    let (moved, came) = (read + written, report.statistics.link.bytes_to_card);
    // A small part of the loaded bytes was used: larger pages would load even more unused bytes.
    let sparse = moved < came / 2;
    let fewer = |options: &str| {
        let why = format!(
            "the kernel moved {} and {} came over PCIe: less comes in vain",
            bytes(moved),
            bytes(came)
        );
        Remedy::map(options, why)
    };
    let hot = || {
        let why =
            "shows the run with its data on the card already, as in a program that keeps it there";
        Remedy::map(":hot", why)
    };
    let larger =
        |why: &str| Remedy::map(":page=2MiB", format!("pages have {}: {why}", bytes(page)));
    let striped = || {
        let why = "all four channels, and frames striped over them: more rows at a time";
        Remedy::words("--preset tombolo", why)
    };
    let is_shell_default = report.setup.preset.is_empty();
    let memory = |least: f64| {
        let gain = bound.gain_of(Resource::CardMemory);
        is_shell_default && gain >= least && beats(report) > 2.0
    };
    match bound.by {
        Resource::FaultService if !has_pages_to_join(report) => vec![hot()],
        Resource::FaultService if page < LARGE => vec![larger("larger ones need fewer faults")],
        Resource::FaultService => {
            let why = "the whole file follows the first access, without a fault for each page";
            vec![Remedy::map(":advice=preload", why)]
        }
        Resource::Storage => {
            let why = "a file that was read lately is in the page cache (`cat FILE >/dev/null`)";
            let mut all = vec![Remedy::map(":warm", why)];
            if page < LARGE && !sparse && has_pages_to_join(report) {
                all.push(larger("larger ones are read with fewer requests"));
            }
            all
        }
        Resource::Copies | Resource::Link | Resource::Paging if sparse => {
            vec![fewer(":direct"), hot()]
        }
        Resource::Copies | Resource::Link => vec![hot()],
        Resource::Paging if page > LARGE => {
            let why = format!(
                "pages have {}: the first of smaller ones is there sooner, and the kernel works while others come",
                bytes(page)
            );
            vec![Remedy::map(":page=256KiB", why), hot()]
        }
        Resource::Paging if memory(WORTH) => vec![striped(), hot()],
        Resource::Paging => vec![hot()],
        Resource::CardMemory if memory(WORTH) => vec![striped()],
        Resource::CardMemory => {
            let why = format!(
                "bursts have {:.1} beats on average: longer ones, or more of them outstanding, hide latency",
                beats(report)
            );
            vec![Remedy::words("", why)]
        }
        Resource::Compute => {
            let why = "the ports waited for the kernel: `What waited for what` (--html) has the cycles, --wave the signals";
            vec![Remedy::words("", why)]
        }
        Resource::Port => {
            let why = "its busiest port moves rows in nearly every cycle: divide the data among two ports";
            vec![Remedy::words("", why)]
        }
    }
}
