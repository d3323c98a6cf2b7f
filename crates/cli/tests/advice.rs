//! Does a run say what bounds it, everywhere the same, and are two reports compared?

use std::path::Path;
use std::process::{Command, Output};

fn tombolo(folder: &Path, words: &[&str]) -> Output {
    let command = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder)
        .args(words)
        .env_remove("TOMBOLO_CARD")
        .output();
    command.unwrap()
}

fn out(output: &Output) -> String {
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{wrong}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// `tombolo run sum` of 1 MiB, and its report.
fn sum(folder: &Path, mapping: &str, words: &[&str]) -> (String, serde_json::Value) {
    std::fs::write(folder.join("in"), vec![3; 1 << 20]).unwrap();
    let map = format!("input=in{mapping}");
    let mut all = vec!["run", "sum", "--map", &map, "--map", "output=out:new=64"];
    all.extend(["--set", "bytes=size(input)", "--json", "run.json"]);
    all.extend(words);
    let text = out(&tombolo(folder, &all));
    let json = std::fs::read(folder.join("run.json")).unwrap();
    (text, serde_json::from_slice(&json).unwrap())
}

#[test]
fn text_json_and_page_name_the_same_bound() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // The truth is known: with storage free this run is four times as fast (make bench ONLY=advice).
    let (text, json) = sum(folder, ":cold", &["--html", "run.html"]);
    let bound = &json["bound"];
    assert_eq!(bound["by"], "storage", "{bound}");
    let gain = bound["gain"].as_f64().unwrap();
    assert!(gain > 2.0 && gain < 10.0, "{bound}");
    assert_eq!(bound["advice"][0]["mapping"], ":warm");
    assert!(text.contains("bound by storage: "), "{text}");
    assert!(text.contains("\n  try: `--map …:warm`: "), "{text}");
    let page = std::fs::read_to_string(folder.join("run.html")).unwrap();
    let section = page.split_once("<section id=bound>").unwrap().1;
    let section = section.split_once("</section>").unwrap().0;
    assert!(section.contains("Bound by storage"), "{section}");
    assert!(section.contains("<code>--map …:warm</code>"), "{section}");

    // The recommended change is faster, and the comparison confirms it.
    std::fs::rename(folder.join("run.json"), folder.join("cold.json")).unwrap();
    let (_, warm) = sum(folder, ":warm", &[]);
    assert_ne!(warm["bound"]["by"], "storage");
    let time = |report: &serde_json::Value| report["runs"][0]["time"].as_u64().unwrap();
    assert!(time(&warm) < time(&json));
    let compared = out(&tombolo(folder, &["diff", "cold.json", "run.json"]));
    assert!(
        compared.starts_with("bound by storage, then by "),
        "{compared}"
    );
    let line = compared
        .lines()
        .find(|line| line.starts_with("runs.0.time "));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(
        words[1..3],
        [time(&json).to_string(), time(&warm).to_string()]
    );
    let same = out(&tombolo(folder, &["diff", "cold.json", "cold.json"]));
    assert!(same.contains("\n0 figures differ, "), "{same}");
}

#[test]
fn a_run_without_a_model_says_so_and_gets_no_advice() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("in"), vec![3; 1 << 20]).unwrap();
    let words = ["run", "copy", "--functional", "--json", "run.json"];
    let maps = ["--map", "input=in", "--map", "output=out:new"];
    let set = ["--set", "bytes=size(input)"];
    let text = out(&tombolo(folder.path(), &[&words[..], &maps, &set].concat()));
    let json = std::fs::read(folder.path().join("run.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let why = "the card has no time";
    assert_eq!(json["bound"]["unmodelled"], why);
    assert!(json["bound"]["advice"].is_null());
    assert!(text.contains(&format!("no model for this run ({why}), so no advice")));
    assert!(!text.contains("try:"));
}

#[test]
fn what_is_no_report_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("text"), "no json").unwrap();
    std::fs::write(folder.path().join("list.json"), "[1]").unwrap();
    for (words, wanted) in [
        (["text", "text"], "text: not JSON"),
        (["list.json", "text"], "list.json: not a report"),
        (["absent", "text"], "absent: No such file"),
    ] {
        let output = tombolo(folder.path(), &["diff", words[0], words[1]]);
        assert_eq!(output.status.code(), Some(1));
        let wrong = String::from_utf8(output.stderr).unwrap();
        assert!(wrong.contains(wanted), "{wrong}");
    }
}
