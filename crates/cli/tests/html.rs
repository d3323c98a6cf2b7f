//! Is the page of a run whole, true, and fit to be looked at?
//!
//! The browser is Chromium, driven by `tools/look-at-page`; without it these tests say so and judge only the text.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

const BYTES: u64 = 300_000;

fn run(folder: &Path, kernel: &str, words: &[&str]) -> Output {
    std::fs::write(folder.join("in <b>&\"x.bin"), vec![7; BYTES as usize]).unwrap();
    Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder)
        .args(["run", kernel, "--map", "input=in <b>&\"x.bin"])
        .args(["--map", "output=out:new", "--html", "run.html", "-q"])
        .args(words)
        .output()
        .unwrap()
}

fn succeeded(output: &Output) {
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
}

fn page(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("run.html")).unwrap()
}

/// The page as a browser renders it; `None` without one.
fn look(test: &str, folder: &Path) -> Option<serde_json::Value> {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/look-at-page");
    let looked = Command::new(tool)
        .arg(folder.join("run.html"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&looked.stderr);
    if looked.status.code() == Some(3) {
        // Not by `eprintln!`: of tests that pass, that is not shown.
        let line = format!("skipped: {test}: {said}");
        std::io::stderr().write_all(line.as_bytes()).unwrap();
        return None;
    }
    assert!(looked.status.success(), "{said}");
    Some(serde_json::from_slice(&looked.stdout).unwrap())
}

/// Nothing that a page must not have, at any width, in any scheme.
fn fits(seen: &serde_json::Value) {
    let looks = seen["looks"].as_array().unwrap();
    assert_eq!(looks.len(), 4);
    for look in looks {
        for wrong in ["errors", "fetched", "wide", "small"] {
            let found = look[wrong].as_array().unwrap();
            assert!(found.is_empty(), "{}: {wrong}: {found:?}", look["name"]);
        }
        assert_eq!(look["scrolls"], false, "{}", look["name"]);
    }
    assert_ne!(looks[0]["colours"], looks[1]["colours"]);
}

#[test]
fn a_page_says_what_happened_and_fits_every_screen() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--set", "bytes=size(input)", "--trace", "t race.pftrace"];
    let more = ["--json", "run.json"];
    succeeded(&run(
        folder.path(),
        "copy",
        &[&words[..], &more[..]].concat(),
    ));
    let page = page(folder.path());
    let json = std::fs::read(folder.path().join("run.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json).unwrap();

    // Busy resources were not idle, and no name occurs twice.
    let between = |from: &str, to: &str| -> Vec<&str> {
        let parts = page.split(from).skip(1);
        parts.map(|part| part.split(to).next().unwrap()).collect()
    };
    let lines = between("<div class=line><span class=name>", "<");
    assert!(lines.contains(&"m_axi_gmem0 reads"), "{lines:?}");
    for idle in between("<p class=idle>idle: ", "<") {
        let names: Vec<&str> = idle.split(", ").collect();
        let twice = |name: &&str| names.iter().filter(|other| *other == name).count() > 1;
        assert!(
            !names.iter().any(|name| twice(name) || lines.contains(name)),
            "{idle}"
        );
    }

    // The JSON inside is the same report.
    let inside = page.split_once("id=report>").unwrap().1;
    let inside = inside.split_once("</script>").unwrap().0;
    let inside: serde_json::Value = serde_json::from_str(inside).unwrap();
    for part in ["runs", "paging", "statistics", "bytes_hash"] {
        assert_eq!(inside[part], report[part], "{part}");
    }
    let expected = [
        "copy on sim:f1",
        "in &lt;b&gt;&amp;&quot;x.bin",
        "m_axi_gmem0 reads",
        "m_axi_gmem1 writes",
        "channel 1",
        "href=\"./t%20race.pftrace\"",
        // The smallest that hold them.
        "pages of 512.0 KiB",
        // Every byte of both mappings, once.
        "read 293.0 KiB, written 0 B · 1 fault ·",
        "read 0 B, written 293.0 KiB · 1 fault ·",
    ];
    for text in expected {
        assert!(page.contains(text), "no {text}");
    }
    assert!(!page.contains("in <b>"), "names are text, not HTML");

    let Some(seen) = look(
        "a_page_says_what_happened_and_fits_every_screen",
        folder.path(),
    ) else {
        return;
    };
    fits(&seen);
    for look in seen["looks"].as_array().unwrap() {
        let tip = |selector: &str| look["tips"][selector].as_str().unwrap();
        assert!(tip(".strip").ends_with(" %"), "{look}");
        assert!(tip(".cells").starts_with("0x"), "{look}");
        assert!(tip(".cells").contains("read 4.0 KiB"), "{look}");
    }
}

#[test]
fn a_card_without_time_has_a_page_too() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--set", "bytes=size(input)", "--functional"];
    succeeded(&run(folder.path(), "copy", &words));
    let page = page(folder.path());
    assert!(page.contains("This card has no time"));
    assert!(page.contains("run it without --functional"));
    assert!(page.contains("<b>1</b><span>runs</span>"));
    assert!(!page.contains("GB/s</small>"), "a rate without time");
    if let Some(seen) = look("a_card_without_time_has_a_page_too", folder.path()) {
        fits(&seen);
    }
}

#[test]
fn a_run_that_fails_has_a_page_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.html"), "old").unwrap();
    let refused = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder.path())
        .args(["run", "copy", "--html", "run.html"])
        .output()
        .unwrap();
    assert!(!refused.status.success());
    assert_eq!(page(folder.path()), "old", "a run that did not begin");
    let words = ["--set", "bytes=size(input)", "--deadline", "20us"];
    let failed = run(folder.path(), "copy", &words);
    assert!(!failed.status.success());
    let page = page(folder.path());
    assert!(
        page.contains("class=failure role=alert>slot 0 (kernel copy) was not done"),
        "{page}"
    );
    assert!(page.contains("copy on sim:f1"));
}
