//! `fabric.lanes.*`: 32 engines through 1 to 32 address lanes to 32 channels, at 128 bits (FlexiMem's figure 6).

use crate::bars::Failure;
use crate::experiment::fleximem::lanes::{LaneFigure, LaneRates, ENGINES};
use crate::row::{Row, Target};

/// Names of [`measure`].
pub const NAMES: &[&str] = &[
    "fabric.lanes.long.reads",
    "fabric.lanes.long.writes",
    "fabric.lanes.long.both",
    "fabric.lanes.single.reads",
    "fabric.lanes.single.writes",
    "fabric.lanes.enough",
    "fabric.lanes.contended.reads",
    "fabric.lanes.contended.writes",
    "fabric.lanes.contended.single",
];

/// Long bursts relative to the channels' capacity, with the worst number of lanes; single rows relative to the memory's
/// rate of random accesses.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let figure = LaneFigure::measure(&mut |progress| eprintln!("{progress}"))?;
    eprint!("{}", figure.table());
    let full = f64::from(ENGINES);
    let worst = |of: &dyn Fn(&LaneRates) -> f64| {
        let rates = figure.lanes.iter().map(|lanes| of(lanes.long()));
        rates.fold(full, f64::min) / full
    };
    let most = figure.lanes.last().ok_or("no lanes were measured")?;
    let single = most.single();
    let row =
        |name: &str, value, target| Row::new(&format!("fabric.lanes.{name}"), value, "", target);
    let whole = Target::AtLeast(0.98);
    // The memory model's rate, minus a little for channels whose queue runs empty.
    let memory = Target::AtLeast(0.95);
    let both = |rates: &LaneRates| rates.both[0].min(rates.both[1]);
    Ok(vec![
        row("long.reads", worst(&|rates| rates.reads), whole),
        row("long.writes", worst(&|rates| rates.writes), whole),
        row("long.both", worst(&both), whole),
        row("single.reads", single.reads / figure.memory, memory),
        row("single.writes", single.writes / figure.memory, memory),
        row("enough", f64::from(figure.enough()), Target::Beside(8.0)),
        row(
            "contended.reads",
            most.long().contended_reads / full,
            Target::Shown,
        ),
        row(
            "contended.writes",
            most.long().contended_writes / full,
            Target::Shown,
        ),
        row(
            "contended.single",
            single.contended_reads / figure.memory,
            Target::Shown,
        ),
    ])
}
