//! Prints the tables of docs/blocks/timing.md:
//! `cargo run --release -p tombolo-timing --example bandwidths`.

#[path = "../tests/common/mod.rs"]
mod common;

use common::checker::encode;
use common::{bandwidth, mixed, platform, random_rows, stream, Port, AXI, UNBOUNDED};
use std::collections::VecDeque;
use tombolo_timing::dram::{Access, Controller, MemoryChannel};
use tombolo_timing::pcie::{Link, PcieLink};
use tombolo_timing::platform::{Memory, Platform};
use units::Picoseconds;

fn main() {
    for name in ["f1", "u280"] {
        let platform = platform(name);
        println!("## {name} ({})\n", &platform.hash()[..12]);
        memory_bandwidths(platform.memory());
        drains(platform.memory());
        memory_latencies(platform.memory());
        link(&platform);
    }
}

fn memory_bandwidths(memory: &Memory) {
    let size = memory.channel_bytes;
    let other_bank = encode(memory, 0, 1, 1 << 8, 0);
    let same_bank = encode(memory, 0, 0, 1 << 8, 0);
    let reads = || stream(0, 20_000, 16, false);
    let streams = |distance| mixed(reads(), stream(distance, 20_000, 16, true));
    let pins = memory.pin_bytes_per_second();
    let one_bank: Vec<Access> = (0..8_000)
        .map(|row| Access {
            token: row,
            offset: encode(memory, 0, 0, row, 0),
            rows: 1,
            write: false,
        })
        .collect();
    let cases: [(&str, &Port, Vec<Access>); 10] = [
        ("sequential reads, port", &AXI, reads()),
        ("sequential reads, pins", &UNBOUNDED, reads()),
        ("sequential writes, port", &AXI, stream(0, 20_000, 16, true)),
        (
            "sequential writes, pins",
            &UNBOUNDED,
            stream(0, 20_000, 16, true),
        ),
        (
            "half and half, other banks, port",
            &AXI,
            streams(other_bank),
        ),
        ("half and half, same bank, port", &AXI, streams(same_bank)),
        (
            "sequential reads of one row, port",
            &AXI,
            stream(0, 100_000, 1, false),
        ),
        (
            "random reads of one row, port",
            &AXI,
            random_rows(1, 50_000, size, false),
        ),
        (
            "random writes of one row, port",
            &AXI,
            random_rows(1, 50_000, size, true),
        ),
        ("one bank, a new DRAM row each", &AXI, one_bank),
    ];
    println!("| channel | GB/s | of the pins | activations a row |\n|---|---|---|---|");
    for (name, port, accesses) in cases {
        let mut channel = Controller::new(memory);
        let seen = port.run(&mut channel, &accesses);
        let measured = bandwidth(&accesses, &seen);
        let rows: u64 = accesses.iter().map(|access| u64::from(access.rows)).sum();
        println!(
            "| {name} | {:.2} | {:.1} % | {:.3} |",
            measured / 1e9,
            measured / pins * 100.0,
            channel.activations() as f64 / rows as f64,
        );
    }
    println!();
}

fn drains(memory: &Memory) {
    println!("| half and half, other banks, drains of | GB/s |\n|---|---|");
    let distance = encode(memory, 0, 1, 1 << 8, 0);
    for batch in [16, 32, 64] {
        let mut memory = memory.clone();
        memory.controller.drain_batch = batch;
        memory.controller.drain_start = batch.min(memory.controller.write_queue / 2);
        let accesses = mixed(
            stream(0, 20_000, 16, false),
            stream(distance, 20_000, 16, true),
        );
        let seen = AXI.run(&mut Controller::new(&memory), &accesses);
        println!("| {batch} | {:.2} |", bandwidth(&accesses, &seen) / 1e9);
    }
    println!();
}

fn memory_latencies(memory: &Memory) {
    let mut channel = Controller::new(memory);
    let mut now = Picoseconds::from_nanos(100);
    println!("| idle read of one row | ns |\n|---|---|");
    for (name, row, column) in [
        ("bank closed", 5, 0),
        ("row open", 5, 1),
        ("other row open", 6, 0),
    ] {
        let access = Access {
            token: 0,
            offset: encode(memory, 0, 0, row, column),
            rows: 1,
            write: false,
        };
        channel.push(now, access);
        let done = channel
            .pop_read(now + Picoseconds::from_micros(1))
            .expect("within 1 us");
        println!("| {name} | {:.1} |", (done.at - now).as_seconds() * 1e9);
        now += Picoseconds::from_micros(1);
    }
    println!();
}

fn link(platform: &Platform) {
    println!("| link | |\n|---|---|");
    let new = || PcieLink::new(platform.pcie());
    let read = new().read_host(Picoseconds::ZERO, 64).last;
    println!("| 64-byte read of host memory | {read} |");
    let mut idle = new();
    let there = idle.register_read_request(Picoseconds::ZERO);
    println!(
        "| register read, without the card's own time | {} |",
        idle.register_read_response(there)
    );
    for depth in [1, 4, 16] {
        let mut link = new();
        let mut ends = VecDeque::from(vec![Picoseconds::ZERO; depth]);
        let mut last = Picoseconds::ZERO;
        for _ in 0..20_000 {
            let now = ends.pop_front().unwrap_or_default();
            last = link.read_host(now, 4096).last;
            ends.push_back(last);
        }
        let rate = 20_000.0 * 4096.0 / last.as_seconds() / 1e9;
        println!("| 4 KiB reads, {depth} at once | {rate:.2} GB/s |");
    }
    let mut link = new();
    let mut now = Picoseconds::ZERO;
    for _ in 0..20_000 {
        now = link.write_host(now, 4096).first;
    }
    let rate = 20_000.0 * 4096.0 / now.as_seconds() / 1e9;
    println!("| 4 KiB posted writes | {rate:.2} GB/s |\n");
}
