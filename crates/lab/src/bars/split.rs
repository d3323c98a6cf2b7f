//! Shell and kernel as separate models and as one: equal cycle counts.

use super::Failure;
use crate::direct::Bench;
use crate::row::Row;
use card::kernel::KernelPackage;
use simcard::SimOptions;
use units::Picoseconds;

const BYTES: u64 = (1 << 20) + 777;

fn times(monolithic: bool) -> Result<[Picoseconds; 2], Failure> {
    let mut options = SimOptions::named("f1")?;
    if monolithic {
        options.monolithic = Some(KernelPackage::open(&simcard::home().join("kernels/copy"))?);
    }
    let mut bench = Bench::open(options, "copy", BYTES)?;
    Ok([bench.run()?, bench.run()?])
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let (split, one) = (times(false)?, times(true)?);
    eprintln!(
        "split: {} and {}; as one: {} and {}",
        split[0], split[1], one[0], one[1]
    );
    Ok(vec![Row::holds("split.cycles_equal", split == one)])
}
