//! The report page of the demo's run: its size, and errors that a browser reports.

use super::{the_command, Failure};
use crate::random::Random;
use crate::row::Row;
use std::process::Command;

/// The demo's input: a file of 64 MiB, which it encrypts.
const BYTES: usize = 64 << 20;
const KEY: &str = "0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const IV: &str = "0xf0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";

pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    let tombolo = the_command()?;
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("run.html");
    let mut random = Random(1);
    let plain: Vec<u8> = (0..BYTES / 8)
        .flat_map(|_| random.next().to_le_bytes())
        .collect();
    std::fs::write(folder.path().join("plain"), plain)?;
    let ran = Command::new(tombolo)
        .current_dir(folder.path())
        .args(["run", "aes256ctr", "--quiet", "--html", "run.html"])
        .args(["--map", "input=plain", "--map", "output=cipher:new"])
        .args(["--set", "bytes=size(input)"])
        .args(["--set", &format!("key={KEY}"), "--set", &format!("iv={IV}")])
        .output()?;
    if !ran.status.success() {
        return Err(String::from_utf8_lossy(&ran.stderr).into());
    }
    let bytes = std::fs::metadata(&page)?.len();
    let mut rows = vec![Row::new("html.page_bytes", bytes as f64, "B")];
    let looked = Command::new(home.join("tools/look-at-page"))
        .arg(&page)
        .output()?;
    if !looked.status.success() {
        // The verdict lists the bars that were not measured.
        eprintln!("html: {}", String::from_utf8_lossy(&looked.stderr));
        return Ok(rows);
    }
    let seen: serde_json::Value = serde_json::from_slice(&looked.stdout)?;
    let looks = seen["looks"].as_array().ok_or("no looks")?;
    let count = |what: &[&str]| -> usize {
        let lists = looks
            .iter()
            .flat_map(|look| what.iter().map(|what| &look[*what]));
        lists.filter_map(|list| list.as_array()).map(Vec::len).sum()
    };
    for (name, what) in [
        ("html.console_errors", &["errors"][..]),
        ("html.fetched", &["fetched"][..]),
        ("html.too_wide", &["wide"][..]),
    ] {
        rows.push(Row::new(name, count(what) as f64, ""));
    }
    Ok(rows)
}
