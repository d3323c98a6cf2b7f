//! Tests of the models of memory and of the host link, one file per question. They are one program, because each test
//! program is compiled and linked separately.

#[path = "../common/mod.rs"]
mod common;
mod dram_order;
mod dram_protocol;
mod dram_timing;
mod f1_mig;
mod host;
mod pcie;
mod platforms;
