//! Builds of hostile RTL: an error names the limit, nothing outside the build is read or written, and nothing is left.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::time::{Duration, Instant};
use verilated::{sandbox_state, BuildError, Builder, Design, FileSet, Limits, Progress, Toolchain};

fn design(folder: &Path, text: &str) -> Design {
    std::fs::write(folder.join("tiny.sv"), text).unwrap();
    Design {
        name: "tiny".into(),
        top: "tiny".into(),
        clock: "ap_clk".into(),
        file_sets: vec![FileSet::new(folder, vec!["tiny.sv".into()])],
        defines: Vec::new(),
        parameters: Vec::new(),
        sleeping: Vec::new(),
        generated: None,
    }
}

/// A module with these items.
fn module(items: &str) -> String {
    format!(
        "module tiny (input logic ap_clk, output logic [31:0] q);\n{items}\n\
         always_ff @(posedge ap_clk) q <= q + 1;\nendmodule\n"
    )
}

/// The error of a build with these limits; checks that it leaves nothing.
fn refused(folder: &Path, text: &str, limits: Limits) -> BuildError {
    let cache = tempfile::tempdir().unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path()).confined(limits);
    let built = builder.model(&design(folder, text), &|_| Ok(()), &mut |_| {});
    let left = std::fs::read_dir(cache.path().join("models"));
    let folders = left.into_iter().flatten().flatten();
    let folders: Vec<_> = folders
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name())
        .filter(|name| !name.to_string_lossy().starts_with("runtime-"))
        .collect();
    assert!(folders.is_empty(), "{folders:?}");
    built.unwrap_err()
}

#[test]
fn ordinary_rtl_is_built() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    let builder = builder.confined(Limits::default());
    let design = design(folder.path(), &module(""));
    let built = builder.model(&design, &|_| Ok(()), &mut |_| {}).unwrap();
    assert!(built.library().is_file());
}

#[test]
fn a_file_outside_is_not_read() {
    if let Err(why) = &sandbox_state().files {
        eprintln!("skipped: a_file_outside_is_not_read: {why}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.svh");
    std::fs::write(&secret, "xyzzy plugh\n").unwrap();
    let kernel = folder.path().join("kernel");
    std::fs::create_dir(&kernel).unwrap();
    let paths = ["/etc/passwd", secret.to_str().unwrap(), "../secret.svh"];
    for path in paths {
        let text = module(&format!("`include \"{path}\""));
        let error = refused(&kernel, &text, Limits::default()).to_string();
        assert!(
            !error.contains("xyzzy") && !error.contains("root:"),
            "{error}"
        );
        assert!(error.contains("tiny.sv:2"), "{path}: {error}");
    }
    // A source, or a file beside it, that is a link.
    let text = module("");
    for (name, is_named) in [("linked.sv", true), ("link.svh", false)] {
        let mut linked = design(&kernel, &text);
        std::os::unix::fs::symlink(&secret, kernel.join(name)).unwrap();
        if is_named {
            linked.file_sets[0].files.push(name.into());
        }
        let cache = tempfile::tempdir().unwrap();
        let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
        let builder = builder.confined(Limits::default());
        let error = builder.inspect(&linked).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("a link"), "{error}");
        std::fs::remove_file(kernel.join(name)).unwrap();
    }
}

#[test]
fn a_kernel_that_changes_during_its_build_is_not_kept() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    let builder = builder.confined(Limits::default());
    let design = design(folder.path(), &module("// one"));
    let changed = module("// two");
    // After the model was looked for in the cache.
    let mut progress = |_| std::fs::write(folder.path().join("tiny.sv"), &changed).unwrap();
    let error = builder
        .model(&design, &|_| Ok(()), &mut progress)
        .unwrap_err();
    assert!(
        error.to_string().contains("changed during the build"),
        "{error}"
    );
}

/// A million registers, each of its own expression.
fn exploding() -> String {
    module(
        "for (genvar i = 0; i < 1000; i++) for (genvar j = 0; j < 1000; j++) begin : b\n\
         logic [31:0] r; always_ff @(posedge ap_clk) r <= (r * 32'(i)) ^ (q + 32'(j)); end",
    )
}

#[test]
fn a_build_that_nobody_waits_for_ends_and_another_takes_its_place() {
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let design = design(folder.path(), &exploding());
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    let builder = builder.confined(Limits::default());
    // Compiles Verilator's own files for all models; then no tool of the model is started.
    let flag = Arc::new(AtomicBool::new(false));
    let mut give_up = |_| flag.store(true, Ordering::Release);
    let abandoned = builder.clone().unless(flag.clone());
    let error = abandoned.model(&design, &|_| Ok(()), &mut give_up);
    let error = error.unwrap_err();
    assert!(matches!(error, BuildError::Abandoned { .. }), "{error}");
    let began = Instant::now();
    let (building, is_building) = channel();
    let abandoned = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let first = builder.clone().unless(abandoned.clone());
        let design = &design;
        let first = scope.spawn(move || {
            let mut progress = |step| {
                if matches!(step, Progress::Verilating { .. }) {
                    building.send(()).unwrap();
                }
            };
            let ended = first.model(design, &|_| Ok(()), &mut progress);
            (ended.unwrap_err(), Instant::now())
        });
        is_building.recv().unwrap();
        // One that waits for the first, and is given up.
        let flag = Arc::new(AtomicBool::new(false));
        let mut give_up = |step| {
            assert!(matches!(step, Progress::Waiting { .. }), "{step}");
            flag.store(true, Ordering::Release);
        };
        let waiting = builder.clone().unless(flag.clone());
        let error = waiting.model(design, &|_| Ok(()), &mut give_up);
        let error = error.unwrap_err();
        assert!(matches!(error, BuildError::Abandoned { .. }), "{error}");
        // One that waits, and then builds the model: it ends at its own limit.
        let mut gave_up = None;
        let mut give_up_the_first = |step| {
            if matches!(step, Progress::Waiting { .. }) {
                // Verilator runs.
                std::thread::sleep(Duration::from_millis(300));
                assert!(!first.is_finished());
                abandoned.store(true, Ordering::Release);
                gave_up = Some(Instant::now());
            }
        };
        let next = builder.clone().within(Duration::from_millis(500));
        let error = next.model(design, &|_| Ok(()), &mut give_up_the_first);
        let error = error.unwrap_err();
        assert!(error.to_string().contains("0.5 seconds"), "{error}");
        let (error, ended) = first.join().unwrap();
        assert!(matches!(error, BuildError::Abandoned { .. }), "{error}");
        assert!(ended - gave_up.unwrap() < Duration::from_secs(5));
    });
    assert!(began.elapsed() < Duration::from_secs(60));
}

#[test]
fn limits_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let names = |text: &str, limits, words: &str| {
        let error = refused(folder.path(), text, limits);
        assert!(matches!(error, BuildError::Limit { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    };
    let explodes = exploding();
    let limits = Limits::default();
    let time = Duration::from_millis(1500);
    names(&explodes, Limits { time, ..limits }, "1.5 seconds");
    let memory = 256 << 20;
    names(&explodes, Limits { memory, ..limits }, "bytes of memory");
    // Less than the files of Verilator.
    let storage = 4_000;
    names(
        &module(""),
        Limits { storage, ..limits },
        "bytes of written files",
    );
    let sources = "// long\n".repeat(10_000) + &module("");
    names(&sources, Limits { storage, ..limits }, "bytes of sources");
}
