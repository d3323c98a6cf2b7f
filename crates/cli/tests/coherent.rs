//! `tombolo run --coherent` with what people get wrong, and what comes of the files.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const CALL: &str = "load-exclusive 0x10000000\nstore 0x10000000 0x2a\nload-exclusive 0x10000080\n";

fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.current_dir(folder).args(words).stdin(Stdio::null());
    command
}

/// `tombolo run rpc` with accesses from a file, and words behind it; a word `NAME=VALUE` replaces the argument's.
fn rpc(folder: &Path, accesses: &str, sets: &[&str], words: &[&str]) -> Output {
    fs::write(folder.join("accesses"), accesses).unwrap();
    let mut all = vec![
        "run",
        "rpc",
        "--coherent",
        "--access",
        "accesses",
        "--quiet",
    ];
    for set in ["base=0x10000000", "handler=1", "calls=0", "contexts=0"] {
        let name = set.split('=').next().unwrap();
        let other = sets.iter().find(|set| set.split('=').next() == Some(name));
        all.extend(["--set", other.unwrap_or(&set)]);
    }
    all.extend(words);
    command(folder, &all).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_built() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let refused = |output: Output, expected: &str| {
        let said = said(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(expected), "{expected}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(output.stdout.is_empty(), "{said}");
    };
    for (accesses, expected) in [
        (
            "done\n# again\ndone\n",
            "accesses:3: `done` waits for the kernel's end, which it has once; line 1 has",
        ),
        (
            "load 0x10000000\n\nadd 0x10000000 1\n",
            "accesses:3: `add` is for lines of the CPU's own memory",
        ),
        ("5: wait\n", "accesses:1: `wait` is of no core"),
        ("load 0\u{7}\n", "accesses:1: `0\\u{7}` is not an address"),
    ] {
        refused(rpc(path, accesses, &[], &[]), expected);
    }
    for (set, expected) in [
        (
            "base=0x10000001",
            "argument `base` cannot be 268435457 (0x10000001); it takes multiples of 8192",
        ),
        (
            "handler=9",
            "argument `handler` cannot be 9 (0x9); it takes 0 to 3",
        ),
        (
            "contexts=33",
            "argument `contexts` cannot be 33 (0x21); it takes 0 to 32",
        ),
    ] {
        refused(rpc(path, CALL, &[set], &[]), expected);
    }
    refused(
        rpc(path, CALL, &[], &["--platform", "f1"]),
        "f1 is not coherent: it needs a platform with [link]",
    );
    // The file of accesses is no output.
    for option in ["--json", "--trace", "--html"] {
        let clash = format!(
            "accesses: is the input of --access and the output of {option}, which would replace it"
        );
        refused(rpc(path, CALL, &[], &[option, "accesses"]), &clash);
        assert_eq!(fs::read_to_string(path.join("accesses")).unwrap(), CALL);
    }
}

#[test]
fn an_access_that_fails_is_named_by_its_line() {
    let folder = TempDir::new().unwrap();
    let output = rpc(
        folder.path(),
        "load 0x10000100\n\nload 0x20000000 &\nwait\n",
        &[],
        &[],
    );
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("accesses:3: kernel `rpc` in slot 0 answered the read of line 0x20000000"),
        "{said}"
    );
}

/// A disk that is full fails the command; a reader that has seen enough does not.
#[test]
fn the_standard_output_may_end() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("accesses"), CALL).unwrap();
    let words = "run rpc --coherent --access accesses --quiet --set base=0x10000000 --set handler=1 --set calls=0 \
                 --set contexts=0";
    let words: Vec<&str> = words.split_whitespace().collect();
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = command(folder.path(), &words)
        .stdout(full)
        .output()
        .unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = "tombolo: error: standard output: No space left on device (os error 28)\n";
    assert!(said.ends_with(expected), "{said}");

    let mut child = command(folder.path(), &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", self::said(&output));
}

/// Stores that no core flushed are written back when the command ends, or it reports an error.
#[test]
fn what_cores_stored_is_in_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    fs::write(
        path.join("accesses"),
        "store 0x10000000 0x414243\nstore 0x10001f80 0x44\n",
    )
    .unwrap();
    fs::write(path.join("old"), vec![7; 8192]).unwrap();
    let run = |map: &str, units: &str| {
        let mut words = "run prefetcher --coherent --access accesses --quiet --set base=0x10000000 --set bytes=8192"
            .split_whitespace()
            .collect::<Vec<&str>>();
        words.extend(["--map", map, "--set", units]);
        command(path, &words).output().unwrap()
    };
    let expected = |byte: u8| {
        let mut bytes = vec![byte; 8192];
        bytes[..3].copy_from_slice(b"ABC");
        bytes[0x1f80] = b'D';
        bytes
    };
    for (map, file, before) in [("data=old:rw", "old", 7), ("data=new:new=8192", "new", 0)] {
        let output = run(map, "units=8");
        assert!(output.status.success(), "{map}: {}", said(&output));
        assert!(
            fs::read(path.join(file)).unwrap() == expected(before),
            "{map}"
        );
    }
    fs::write(path.join("old"), vec![7; 8192]).unwrap();
    let output = run("data=old:ro", "units=8");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the mapping does not allow writes"), "{said}");
    // A size is known when the file is mapped.
    let output = run("data=old:rw", "units=size(data)");
    let said = self::said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let expected = "kernel prefetcher: argument `units` cannot be 8192 (0x2000); it takes 0 to 8";
    assert!(said.contains(expected), "{said}");
    assert!(fs::read(path.join("old")).unwrap() == vec![7; 8192]);
}

#[test]
fn a_new_kernel_has_a_name_that_a_module_can_have() {
    let folder = TempDir::new().unwrap();
    for (name, expected) in [
        (
            "module",
            "`module` cannot be a kernel's name: it is a word of SystemVerilog",
        ),
        ("kernel_line_memory", "a part of the kernel has it"),
    ] {
        let output = command(folder.path(), &["kernel", "new", name, "--coherent"])
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(said(&output).contains(expected), "{}", said(&output));
        assert!(!folder.path().join(name).exists());
    }
}
