//! Memory shared by programs and kernels: lost data, data moved by an upgrade, latency of pointers, and cost of traps.

mod chase;
mod lanes;
mod lost;
mod trap_gain;
mod uffd;
mod upgrade;
mod vs_ready;

pub use chase::{measure as chase, measure_rtl as chase_rtl, NAMES_RTL as CHASE_RTL};
pub use lanes::{measure as lanes, NAMES as LANES};
pub use lost::{functional_card as lost_functional, rtl as lost_rtl, schedules as lost_schedules};
pub use trap_gain::measure as trap_gain;
pub use upgrade::measure as upgrade;
pub use vs_ready::{measure as vs_ready, NAMES as VS_READY};

#[path = "../../../../tombolo/tests/shared_memory/rings.rs"]
mod rings;
#[path = "../../../../tombolo/tests/shared_memory/schedules.rs"]
mod schedules;
#[allow(dead_code, reason = "tests use more of it")]
#[path = "../../../../tombolo/tests/shared_memory/shaker.rs"]
mod shaker;

use super::{owner::common, Failure};
use crate::experiment::fleximem::FlexiMem;
use crate::random;
use crate::row::Row;

/// Figures 7 and 8 of FlexiMem, with residuals, and ours.
pub const FLEXIMEM: &[&str] = &[
    "shared.repro.fig7.32k",
    "shared.repro.fig7.256k",
    "shared.repro.fig7.2m",
    "shared.repro.fig8.32k",
    "shared.repro.fig8.256k",
    "shared.repro.fig8.2m",
    "shared.host_faults.share.32k",
    "shared.host_faults.share.256k",
    "shared.host_faults.share.2m",
    "shared.transform.over_ready.32k",
    "shared.transform.over_ready.256k",
    "shared.transform.over_ready.2m",
];

/// Runs the experiment.
pub fn fleximem() -> Result<Vec<Row>, Failure> {
    let experiment = FlexiMem::read(&simcard::home().join("experiments"))?;
    let (paper, ours) = (&experiment.paper, &experiment.ours);
    let ready = experiment.ready(paper, paper.pace)?;
    let our_ready = experiment.ready(ours, ours.pace)?;
    let mut rows = Vec::new();
    for page in &experiment.page {
        let named = |what: &str| format!("shared.{what}.{}", page.name);
        let outcome = experiment.run(paper, page)?;
        let (over, traps) = (outcome.over_ready(ready), outcome.traps());
        let name = named("repro.fig7");
        rows.push(Row::new(&name, over, "x"));
        let name = named("repro.fig8");
        rows.push(Row::new(&name, traps, ""));
        let outcome = experiment.run(ours, page)?;
        let name = named("host_faults.share");
        rows.push(Row::new(&name, outcome.traps(), ""));
        let over = outcome.over_ready(our_ready);
        let name = named("transform.over_ready");
        rows.push(Row::new(&name, over, "x"));
    }
    Ok(rows)
}
