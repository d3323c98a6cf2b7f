//! Compares the hash of a report with a committed one: normally, with the other core loaded, and with idle skipping
//! off; and the hashes of one run from copies of its input and through different interfaces.
//!
//! `bench/golden.json` holds the hash. A change of RTL, platform, model or policy changes it; then it is updated
//! (TOMBOLO_UPDATE_GOLDEN=1) as part of the change and reviewed. If a model changed, `timing::MODELS` is raised.

use super::{aes, languages, the_command, Failure};
use crate::input::write_input;
use crate::row::Row;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use tombolo::{Card, Continue, FileState, MapOptions, OwnerOptions, Report, SimOptions, SlotId};

pub const COPIES: &[&str] = &["determinism.copies", "determinism.copies.compared"];

const FILE_BYTES: u64 = (3 << 20) + 4321;

#[derive(Serialize, Deserialize)]
struct Golden {
    what: String,
    report_sha256: String,
}

fn hash(folder: &Path, idle_skipping: bool) -> Result<String, Failure> {
    let (input, output) = (folder.join("plain"), folder.join("cipher"));
    write_input(&input, FILE_BYTES)?;
    let mut options = SimOptions::named("f1")?;
    options.idle_skipping = idle_skipping;
    Ok(aes::encrypt(options, &input, &output)?.hash())
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let alone = hash(folder.path(), true)?;
    let stop = AtomicBool::new(false);
    let loaded = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut count = 0u64;
            while !stop.load(Ordering::Relaxed) {
                count = black_box(count.wrapping_add(1));
            }
        });
        let result = hash(folder.path(), true);
        stop.store(true, Ordering::Relaxed);
        result
    })?;
    let unskipped = hash(folder.path(), false)?;

    let path = simcard::home().join("bench/golden.json");
    if std::env::var_os("TOMBOLO_UPDATE_GOLDEN").is_some() {
        let what = format!("aes256ctr over {FILE_BYTES} bytes on platform f1");
        let golden = Golden {
            what,
            report_sha256: alone.clone(),
        };
        std::fs::write(&path, serde_json::to_string_pretty(&golden)? + "\n")?;
    }
    let golden: Golden = serde_json::from_slice(&std::fs::read(&path)?)?;
    let equal = [&alone, &loaded, &unskipped]
        .iter()
        .all(|hash| **hash == golden.report_sha256);
    if !equal {
        eprintln!(
            "determinism: golden {}, alone {alone}, loaded {loaded}, without skipping {unskipped}",
            golden.report_sha256
        );
    }
    Ok(vec![Row::holds("determinism.golden", equal)])
}

/// Bytes of the copied file; its middle is zero, so that a copy may have a hole there.
const COPIED: u64 = 2 << 20;
/// Beginning and end of the zeroes.
const ZEROES: [u64; 2] = [512 << 10, 1 << 20];

/// Python: the run of [`copy`] through the package; prints the report.
const BY_PYTHON: &str = "import json, sys, tombolo
plain, cipher = sys.argv[1:3]
with tombolo.Card.simulated(platform='f1') as card, card.create_space() as space:
    source = space.map_file(plain, file_state='cold')
    target = space.map_file(cipher, 'rw', create=source.nbytes)
    slot = card.load('copy', space)
    slot.set('input', source); slot.set('output', target); slot.set('bytes', source.nbytes)
    slot.start(); slot.wait()
    source.unmap(); target.unmap()
    print(json.dumps(card.report()))
";

/// Copies a file, cold, on the simulated card, in one thread or with every other step in a second one.
fn copy(input: &Path, output: &Path, two_threads: bool) -> Result<String, Failure> {
    let card = Card::simulated(SimOptions::named("f1")?, OwnerOptions::default(), |_| {})?;
    let space = card.create_space()?;
    let cold = MapOptions::read_only().file_state(FileState::Cold);
    let source = space.map_file(input, cold)?;
    let target = space.map_file(output, MapOptions::create(source.bytes()))?;
    let folder = simcard::home().join("kernels/copy");
    let load = || -> Result<_, Failure> {
        let slot = card.load(SlotId(0), &folder, &space)?;
        slot.set_pointer("input", source.address())?;
        slot.set_pointer("output", target.address())?;
        slot.set("bytes", source.bytes())?;
        slot.start()?;
        Ok(slot)
    };
    let slot = match two_threads {
        false => load()?,
        true => std::thread::scope(|scope| {
            let other = scope.spawn(load);
            other.join().unwrap_or_else(|_| Err("a panic".into()))
        })?,
    };
    slot.wait(None, |_| Continue::Yes)?;
    // In the order of the command.
    source.unmap()?;
    target.unmap()?;
    Ok(card.report()?.hash())
}

/// Writes the input into a folder, whole or without its zeroes, which leaves a hole; returns its path and that of the
/// output.
fn written(folder: &Path, content: &[u8], with_hole: bool) -> Result<[PathBuf; 2], Failure> {
    let [input, output] = ["plain", "made"].map(|name| folder.join(name));
    let file = File::create(&input)?;
    let [begin, end] = ZEROES.map(|at| at as usize);
    match with_hole {
        false => file.write_all_at(content, 0)?,
        true => {
            file.write_all_at(&content[..begin], 0)?;
            file.write_all_at(&content[end..], end as u64)?;
        }
    }
    file.sync_all()?;
    Ok([input, output])
}

/// `determinism.copies`: one file, written densely, with a hole, and on another file system; from two threads, from the
/// command line, and from Python. All reports have one hash, and all outputs are the input.
pub fn copies() -> Result<Vec<Row>, Failure> {
    let dense = tempfile::tempdir()?;
    let sparse = tempfile::tempdir()?;
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let threads = tempfile::tempdir()?;
    let (shell, python) = (tempfile::tempdir()?, tempfile::tempdir()?);
    write_input(&dense.path().join("plain"), COPIED)?;
    let mut content = std::fs::read(dense.path().join("plain"))?;
    content[ZEROES[0] as usize..ZEROES[1] as usize].fill(0);
    let mut hashes = Vec::new();
    let mut outputs = Vec::new();
    for (name, folder, with_hole, two_threads) in [
        ("dense", &dense, false, false),
        ("with a hole", &sparse, true, false),
        ("in memory", &memory, false, false),
        ("by two threads", &threads, false, true),
    ] {
        let [input, output] = written(folder.path(), &content, with_hole)?;
        hashes.push((name, copy(&input, &output, two_threads)?));
        outputs.push(output);
    }
    let hash_of = |json: &[u8]| -> Result<String, Failure> {
        Ok(serde_json::from_slice::<Report>(json)?.hash())
    };
    let [input, output] = written(shell.path(), &content, false)?;
    let command = languages::run(
        Command::new(the_command()?)
            .args(["run", "copy", "--platform", "f1", "--json", "-", "--set"])
            .arg("bytes=size(input)")
            .arg("--map")
            .arg(format!("input={}:cold", input.display()))
            .arg("--map")
            .arg(format!("output={}:new", output.display())),
    )?;
    hashes.push(("by the command", hash_of(&command.stdout)?));
    outputs.push(output);
    let [input, output] = written(python.path(), &content, false)?;
    let by_python = languages::run(
        languages::python()?
            .args(["-c", BY_PYTHON])
            .args([&input, &output]),
    )?;
    hashes.push(("by Python", hash_of(&by_python.stdout)?));
    outputs.push(output);
    for (name, hash) in &hashes {
        eprintln!("{hash} {name}");
    }
    let mut right = hashes.iter().all(|(_, hash)| *hash == hashes[0].1);
    for output in &outputs {
        right &= std::fs::read(output)? == content;
    }
    Ok(vec![
        Row::holds(COPIES[0], right),
        Row::new(COPIES[1], hashes.len() as f64, "runs"),
    ])
}
