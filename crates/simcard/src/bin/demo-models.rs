//! `demo-models`: builds the models that `tools/demo` runs, or finds them in the cache.
//!
//! `tools/compile-demo` starts it while cargo compiles the rest of the `tombolo` command.

use card::kernel::KernelPackage;
use simcard::{build_kernel, home, SimCard, SimOptions};
use std::error::Error;
use verilated::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let mut report = |step: verilated::Progress| println!("{step}");
    SimCard::build_shell(&SimOptions::named("f1")?, &mut report)?;
    let home = home();
    let kernel = KernelPackage::open(&home.join("kernels/aes256ctr"))?;
    build_kernel(&Builder::locate()?, &kernel, &home, &mut report)?;
    Ok(())
}
