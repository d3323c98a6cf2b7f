//! Do waveforms show the kernel's signals, edge for edge, and change nothing?

use fst_reader::{FstFilter, FstHierarchyEntry, FstReader, FstSignalHandle, FstSignalValue};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

/// `tombolo run copy` of the file `in`.
fn copy(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.current_dir(folder).args([
        "run",
        "copy",
        "--map",
        "input=in",
        "--set",
        "bytes=size(input)",
    ]);
    command
}

fn run(folder: &Path, words: &[&str]) -> serde_json::Value {
    let output = copy(folder)
        .args(["--quiet", "--json", "report.json"])
        .args(words)
        .output()
        .unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap()
}

/// Changes of some signals of the top module, in the order of time.
fn changes(path: &Path, names: &[&'static str]) -> BTreeMap<u64, Vec<(&'static str, bool)>> {
    let file = BufReader::new(File::open(path).unwrap());
    let mut reader = FstReader::open(file).unwrap();
    let mut found: Vec<(FstSignalHandle, &'static str)> = Vec::new();
    reader
        .read_hierarchy(|entry| {
            if let FstHierarchyEntry::Var { name, handle, .. } = entry {
                if let Some(wanted) = names.iter().find(|wanted| **wanted == name) {
                    if !found.iter().any(|(_, known)| known == wanted) {
                        found.push((handle, wanted));
                    }
                }
            }
        })
        .unwrap();
    assert_eq!(found.len(), names.len(), "{names:?} are in the file");
    let handles = found
        .iter()
        .map(|(handle, _)| FstSignalHandle::from_index(handle.get_index()))
        .collect();
    let mut changes: BTreeMap<u64, Vec<(&'static str, bool)>> = BTreeMap::new();
    reader
        .read_signals(
            &FstFilter::filter_signals(handles),
            |time, handle, value| {
                let FstSignalValue::String(value) = value else {
                    return Ok::<(), std::convert::Infallible>(());
                };
                for (_, name) in found.iter().filter(|(known, _)| *known == handle) {
                    changes.entry(time).or_default().push((name, value == b"1"));
                }
                Ok(())
            },
        )
        .unwrap();
    changes
}

/// Edges of the clock after which all of the others are high, and the time of the first and the last
/// of them.
fn edges_with(path: &Path, names: &[&'static str]) -> (u64, u64, u64) {
    let mut values: BTreeMap<&str, bool> = BTreeMap::new();
    let (mut count, mut first, mut last) = (0, u64::MAX, 0);
    for (time, changes) in changes(path, names) {
        let rises = changes.contains(&("ap_clk", true));
        values.extend(changes);
        if rises && names.iter().all(|name| values.get(name) == Some(&true)) {
            first = first.min(time);
            last = time;
            count += 1;
        }
    }
    (count, first, last)
}

const READS: [&str; 3] = ["ap_clk", "m_axi_gmem0_arvalid", "m_axi_gmem0_arready"];
const ROWS: [&str; 3] = ["ap_clk", "m_axi_gmem1_wvalid", "m_axi_gmem1_wready"];

#[test]
fn waveforms_have_every_handshake_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), vec![7; 50_000]).unwrap();
    let plain = run(folder.path(), &["--map", "output=a:new"]);
    let words = [
        "--map",
        "output=b:new",
        "--wave",
        "w.fst",
        "--wave-for",
        "1s",
    ];
    let waved = run(folder.path(), &words);
    assert_eq!(
        plain["statistics"]["requesters"],
        waved["statistics"]["requesters"]
    );
    assert_eq!(plain["runs"], waved["runs"]);

    let path = folder.path().join("w.kernel-0.fst");
    let requesters = &waved["statistics"]["requesters"];
    let (bursts, ..) = edges_with(&path, &READS);
    assert_eq!(
        bursts,
        requesters[0]["bytes"].as_u64().unwrap().div_ceil(4096)
    );
    assert_eq!(bursts, requesters[0]["bursts"].as_u64().unwrap());
    let (rows, first, _) = edges_with(&path, &ROWS);
    assert_eq!(rows, requesters[3]["rows"].as_u64().unwrap());

    // A window of it, and one after the end.
    let window = |name: &str, from_ns: u64| {
        let from = format!("{from_ns}ns");
        let (output, file) = (format!("output={name}:new"), format!("{name}.fst"));
        let begin = ["--map", &output, "--wave", &file, "--wave-from", &from];
        run(
            folder.path(),
            &[&begin[..], &["--wave-for", "400ns"]].concat(),
        );
        edges_with(&folder.path().join(format!("{name}.kernel-0.fst")), &ROWS)
    };
    let from_ns = first / 1000 + 8;
    let (there, first, last) = window("window", from_ns);
    assert!(there > 0 && there < rows, "{there} of {rows} rows");
    let times = from_ns * 1000..(from_ns + 400) * 1000;
    assert!(times.contains(&first) && times.contains(&last));
    assert_eq!(window("late", 1_000_000_000).0, 0);
}

#[test]
fn waveforms_begin_with_the_first_row_or_a_flat_stretch_is_told() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), vec![7; 50_000]).unwrap();
    let run = |words: &[&str]| {
        let output = copy(folder.path())
            .args(["--quiet", "--map", "output=out:new", "--wave", "w.fst"])
            .args(["--wave-for", "400ns", "--wave-from"])
            .args(words)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{said}");
        said
    };
    let path = folder.path().join("w.kernel-0.fst");
    const FIRST: [&str; 3] = ["ap_clk", "m_axi_gmem0_rvalid", "m_axi_gmem0_rready"];
    assert_eq!(run(&["first-activity"]), "");
    let (rows, first, last) = edges_with(&path, &FIRST);
    assert!(rows > 10 && last - first <= 400_000, "{rows} rows");
    // The values before the first edge at which a row crosses are in the file, so the row is.
    let begins = *changes(&path, &FIRST).keys().next().unwrap();
    assert!(first - begins <= 8_000, "{begins} to {first}");

    // Before that the kernel waits for its first page.
    let before = format!("{}ns", (first - 2_000_000) / 1000);
    let said = run(&[&before]);
    assert!(said.contains("warning: w.kernel-0.fst is flat"), "{said}");
    assert!(said.contains("--wave-from first-activity"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_place_without_room_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), vec![7; 5000]).unwrap();
    let output = copy(folder.path())
        .args(["--map", "output=a:new", "--wave", "nowhere/w.fst"])
        .output()
        .unwrap();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(wrong.contains("nowhere/w.kernel-0.fst"), "{wrong}");
}
