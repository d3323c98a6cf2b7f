//! Prints the tables of docs/blocks/timing.md: `cargo run --release -p tombolo-timing --example bandwidths`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{bandwidth, f1_with, mixed, random_rows, stream, Port, AXI, UNBOUNDED};
use tombolo_timing::dram::{Access, MemoryChannel};

fn main() {
    let size = 1 << 34;
    let cases: Vec<(&str, &Port, Vec<Access>)> = vec![
        ("sequential reads, AXI", &AXI, stream(0, 20_000, 16, false)),
        (
            "sequential reads, pins",
            &UNBOUNDED,
            stream(0, 20_000, 16, false),
        ),
        ("sequential writes, AXI", &AXI, stream(0, 20_000, 16, true)),
        (
            "sequential writes, pins",
            &UNBOUNDED,
            stream(0, 20_000, 16, true),
        ),
        (
            "half and half, AXI",
            &AXI,
            mixed(
                stream(0, 20_000, 16, false),
                stream(5 << 21, 20_000, 16, true),
            ),
        ),
        (
            "half and half, same bank, AXI",
            &AXI,
            mixed(
                stream(0, 20_000, 16, false),
                stream(5 << 22, 20_000, 16, true),
            ),
        ),
        (
            "random reads, AXI",
            &AXI,
            random_rows(1, 100_000, size, false),
        ),
        (
            "random writes, AXI",
            &AXI,
            random_rows(1, 100_000, size, true),
        ),
    ];
    for (name, port, accesses) in cases {
        let mut channel = f1_with(|_| {});
        let start = std::time::Instant::now();
        let seen = port.run(&mut channel, &accesses);
        let edges = seen.finished.get() / port.period.get();
        println!(
            "{name:32} {:6.2} GB/s   {} ACT  {} REF  {} ns/edge",
            bandwidth(&accesses, &seen) / 1e9,
            channel.activations(),
            channel.refreshes(),
            start.elapsed().as_nanos() as u64 / edges,
        );
    }
}
