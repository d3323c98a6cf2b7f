//! Prints the cost of a channel's model in nanoseconds of this machine per edge of the shell's clock: `cargo run
//! --release -p tombolo-timing --example cost`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::{f1_with, mixed, random_rows, stream, AXI};
use std::time::Instant;
use tombolo_timing::dram::{Access, MemoryChannel};
use units::Picoseconds;

fn main() {
    let cases: [(&str, Vec<Access>); 4] = [
        ("sequential reads", stream(0, 40_000, 16, false)),
        (
            "half and half",
            mixed(
                stream(0, 40_000, 16, false),
                stream(1 << 21, 40_000, 16, true),
            ),
        ),
        ("random reads", random_rows(1, 200_000, 1 << 34, false)),
        ("random writes", random_rows(1, 200_000, 1 << 34, true)),
    ];
    for (name, accesses) in cases {
        let start = Instant::now();
        let seen = AXI.run(&mut f1_with(|_| {}), &accesses);
        let edges = seen.finished.get() / AXI.period.get();
        println!(
            "{name:20} {:4} ns an edge",
            start.elapsed().as_nanos() as u64 / edges
        );
    }
    let mut channel = f1_with(|_| {});
    let start = Instant::now();
    let edges = 10_000_000u64;
    let mut popped = 0;
    for edge in 0..edges {
        let now = Picoseconds::new(edge * 4000);
        popped += usize::from(channel.pop_read(now).is_some() || channel.pop_write(now).is_some());
    }
    let cost = start.elapsed().as_nanos() as f64 / edges as f64;
    println!("{:20} {cost:4.1} ns an edge ({popped} pops)", "idle");
}
