//! Is a protocol that does not hold refused for a shell, with the way to what is wrong?

use std::path::Path;
use std::process::{Command, Output};

fn generate(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.current_dir(folder);
    command.args(["protocol", "generate", "own.protocol", "--out", "made"]);
    command.args(words).output().unwrap()
}

#[test]
fn a_protocol_that_does_not_hold_is_refused_with_its_trace() {
    let folder = tempfile::tempdir().unwrap();
    let good = simcard::home().join("protocols/mesi.protocol");
    let good = std::fs::read_to_string(good).unwrap();
    let rule = "operation clean            : at most S";
    assert_eq!(good.matches(rule).count(), 1);
    // Nothing calls back what is exclusive already.
    let bad = good.replace(rule, "operation clean            : at most E");
    let file = folder.path().join("own.protocol");
    let made = folder.path().join("made");
    std::fs::write(&file, bad).unwrap();
    let refused = generate(folder.path(), &[]);
    assert_eq!(refused.status.code(), Some(1));
    let trace = String::from_utf8(refused.stdout).unwrap();
    for step in [
        "1 x cache, one line",
        "BROKEN",
        "1. cache: Prefetch_to_E, sends ReadExclusive",
        "4. directory: operation clean",
        "still outstanding: operation clean is not acknowledged",
    ] {
        assert!(trace.contains(step), "{step}: {trace}");
    }
    let error = String::from_utf8(refused.stderr).unwrap();
    let says =
        "own.protocol: progress: something is outstanding, and deliveries alone never complete it";
    assert!(error.contains(says), "{error}");
    assert!(!made.exists(), "nothing is made of it");

    std::fs::write(&file, good).unwrap();
    assert!(generate(folder.path(), &[]).status.success());
    assert!(made.join("tmb_mesi_home_rom.sv").exists());
}
