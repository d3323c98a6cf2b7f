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
}
