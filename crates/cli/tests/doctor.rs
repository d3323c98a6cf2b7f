//! `tombolo doctor`: does it find what is there, and what is not?

use std::path::Path;
use std::process::{Command, Output};

const NAMES: [&str; 10] = [
    "C++ compiler",
    "Verilator",
    "prebuilt models",
    "cache of models",
    "kernels",
    "io_uring",
    "userfaultfd",
    "huge pages",
    "configuration file",
    "sandbox of a daemon's builds",
];

fn doctor(change: impl FnOnce(&mut Command) -> &mut Command) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    change(command.arg("doctor")).output().unwrap()
}

fn checks(output: &Output) -> Vec<serde_json::Value> {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_machine_that_builds_models_lacks_nothing() {
    let output = doctor(|command| command.arg("--json"));
    let checks = checks(&output);
    let names: Vec<_> = checks.iter().map(|check| &check["name"]).collect();
    assert_eq!(names, NAMES);
    for check in &checks {
        assert_ne!(check["verdict"], "missing", "{check}");
        assert_eq!(check["verdict"] == "ok", check["remedy"] == "", "{check}");
    }
    assert!(output.status.success());
}

#[test]
fn what_is_missing_has_an_effect_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = folder.path().join("nowhere");
    let output = doctor(|command| {
        command
            .env_clear()
            .env("PATH", &nowhere)
            .env("TOMBOLO_CACHE", Path::new("/proc/nothing"))
            .env("TOMBOLO_HOME", &nowhere)
    });
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    for name in ["C++ compiler", "Verilator", "cache of models", "kernels"] {
        assert!(text.contains(&format!("MISSING {name}: ")), "{text}");
    }
    let count = |word| text.matches(word).count();
    assert_eq!(count("  effect: "), count("  remedy: "), "{text}");
    assert!(count("  effect: ") >= 4, "{text}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("C++ compiler, Verilator, cache of models, kernels missing"),
        "{said}"
    );
}
