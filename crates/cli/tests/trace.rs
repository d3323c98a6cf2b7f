//! Does a timeline show what happened, and does writing it change nothing?

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use timeline::read::{events, Event};

const BYTES: u64 = 300_000;

fn run(folder: &Path, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder)
        .args([
            "run",
            "copy",
            "--map",
            "input=in",
            "--set",
            "bytes=size(input)",
        ])
        .args(words)
        .output()
        .unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    String::from_utf8(output.stdout).unwrap()
}

fn sum(events: &[Event], track: &str) -> u64 {
    let of_track = events.iter().filter(|event| event.track == track);
    of_track
        .map(|event| event.values["bytes"].parse::<u64>().unwrap())
        .sum()
}

#[test]
fn a_timeline_has_every_transaction_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), vec![7; BYTES as usize]).unwrap();
    let plain = run(
        folder.path(),
        &["--map", "output=a:new", "--json", "a.json"],
    );
    let traced = run(
        folder.path(),
        &[
            "--map",
            "output=b:new",
            "--json",
            "b.json",
            "--trace",
            "t.pftrace",
        ],
    );
    // The report names the files.
    assert_eq!(plain, traced.replace("paged: b, in:", "paged: a, in:"));

    let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
    let events = events(&read("t.pftrace")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&read("b.json")).unwrap();
    let statistics = &report["statistics"];
    for (port, requester) in [
        ("port 0 reads (copy.m_axi_gmem0)", 0),
        ("port 1 writes (copy.m_axi_gmem1)", 3),
    ] {
        let track = format!("slot 0/{port}");
        let requester = &statistics["requesters"][requester];
        assert_eq!(
            sum(&events, &track),
            requester["bytes"].as_u64().unwrap(),
            "{track}"
        );
        let bursts = events.iter().filter(|event| event.track == track).count() as u64;
        assert_eq!(bursts, requester["bursts"].as_u64().unwrap(), "{track}");
    }
    let rows: u64 = (0..2)
        .map(|channel| {
            statistics["channels"][channel]["rows_read"]
                .as_u64()
                .unwrap()
        })
        .sum();
    let memory: u64 = (0..2)
        .map(|channel| sum(&events, &format!("card memory/channel {channel} reads")))
        .sum();
    assert_eq!(memory, rows * 64);
    let faults = report["paging"]["faults"].as_u64().unwrap() as usize;
    let shown = events
        .iter()
        .filter(|event| event.track.ends_with("/faults"))
        .count();
    assert!(faults > 0 && shown == faults, "{shown} of {faults}");
    let tracks: BTreeSet<&str> = events.iter().map(|event| event.track.as_str()).collect();
    for track in [
        "slot 0/runs",
        "commands/DMA to the card",
        "commands/DMA to the host",
        "commands/page table",
        "host/page-cache copies",
        "host/fault service",
        "host/interrupts",
        "PCIe/host memory reads",
    ] {
        assert!(tracks.contains(track), "{track}: {tracks:?}");
    }
    let run = events
        .iter()
        .find(|event| event.track == "slot 0/runs")
        .unwrap();
    assert_eq!(run.name, "copy");
    // Both ends are cut to nanoseconds.
    let time = report["runs"][0]["time"].as_u64().unwrap() / 1000;
    assert!((run.to - run.from).abs_diff(time) <= 1);
    flows(&events);
    counters(&events);
}

/// Arrows lead from faults over the read of their page from the file, its transfer and its table entry to the replies.
fn flows(events: &[Event]) {
    let all: BTreeSet<u64> = events
        .iter()
        .flat_map(|event| &event.flows)
        .copied()
        .collect();
    let mut complete = 0;
    for flow in all {
        let of = |track: &str, name: &str| {
            let mut on = events.iter().filter(|event| event.flows.contains(&flow));
            on.find(|event| event.track.ends_with(track) && event.name.starts_with(name))
        };
        let copy = of("/DMA to the card", "copy in").expect("a flow is of a transfer");
        let read = of("host/page-cache copies", "copy").expect("what is transferred was read");
        assert!(read.to <= copy.from, "{flow}");
        let (fault, entry) = (of("/faults", ""), of("/page table", "install"));
        let reply = of("/fault replies", "reply");
        assert_eq!(fault.is_some(), reply.is_some(), "{flow}");
        if let (Some(fault), Some(entry), Some(reply)) = (fault, entry, reply) {
            // The page may be on its way when the fault comes.
            assert!(fault.from <= copy.from && copy.from <= entry.from, "{flow}");
            assert!(entry.from <= reply.from && fault.to == reply.from, "{flow}");
            complete += 1;
        }
    }
    assert!(complete > 0);
}

/// Values of a counter, in order.
fn values(events: &[Event], track: &str) -> Vec<(u64, i64)> {
    let of_track = events.iter().filter(|event| event.track == track);
    of_track
        .map(|event| (event.from, event.values["value"].parse().unwrap()))
        .collect()
}

fn counters(events: &[Event]) {
    let waiting = values(events, "space 0/faults under way");
    assert_eq!(waiting.last().unwrap().1, 0, "{waiting:?}");
    assert!(waiting.iter().all(|(_, count)| *count >= 0));
    assert!(waiting.windows(2).all(|two| two[0].0 <= two[1].0));
    let faults = events
        .iter()
        .filter(|event| event.track == "space 0/faults");
    assert_eq!(waiting.len(), 2 * faults.count());
    let resident = values(events, "space 0/resident (KiB)");
    let most = resident.iter().map(|(_, kib)| *kib).max().unwrap();
    assert!(most as u64 >= (2 * BYTES) >> 10, "{resident:?}");
    assert_eq!(resident.last().unwrap().1, 0, "{resident:?}");
    // The area below the rate is what was read, but for the last window.
    let rate = values(events, "slot 0/bandwidth of port 0 reads (MB/s)");
    let area: u64 = rate
        .windows(2)
        .map(|two| (two[1].0 - two[0].0) * two[0].1 as u64 / 1000)
        .sum();
    assert!(
        (BYTES / 2..=BYTES + 4096).contains(&area),
        "{area}: {rate:?}"
    );
}
