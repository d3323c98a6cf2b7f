//! `fabric.lanes.*`: 32 engines through 1 to 32 address lanes to 32 channels, at 128 bits (FlexiMem's figure 6).

use crate::bars::Failure;
use crate::experiment::fleximem::lanes::{LaneFigure, LaneRates, ENGINES};
use crate::row::Row;

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
    let row = |name: &str, value| Row::new(&format!("fabric.lanes.{name}"), value, "");
    let both = |rates: &LaneRates| rates.both[0].min(rates.both[1]);
    Ok(vec![
        row("long.reads", worst(&|rates| rates.reads)),
        row("long.writes", worst(&|rates| rates.writes)),
        row("long.both", worst(&both)),
        row("single.reads", single.reads / figure.memory),
        row("single.writes", single.writes / figure.memory),
        row("enough", f64::from(figure.enough())),
        row("contended.reads", most.long().contended_reads / full),
        row("contended.writes", most.long().contended_writes / full),
        row("contended.single", single.contended_reads / figure.memory),
    ])
}
