//! Tests of the models of memory and of the host link, one file a question. One program, because each
//! program of tests is compiled and linked by itself.

#[path = "../common/mod.rs"]
mod common;
mod dram_order;
mod dram_protocol;
mod dram_timing;
mod f1_mig;
mod host;
mod pcie;
mod platforms;
