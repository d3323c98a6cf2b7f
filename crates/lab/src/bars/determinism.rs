//! Compares the hash of a report with a committed one: normally, with the other core loaded, and with idle skipping
//! off.
//!
//! `bench/golden.json` holds the hash. A change of RTL, platform or policy changes it; then it is updated
//! (TOMBOLO_UPDATE_GOLDEN=1) as part of the change and reviewed.

use super::{aes, Failure};
use crate::input::write_input;
use crate::row::Row;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use tombolo::SimOptions;

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
