//! Is every file as it was after a command that was refused or failed, and whole after one that was not?

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Every file below a folder, with its mode, and what links lead to.
fn everything(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let metadata = path.symlink_metadata().unwrap();
        let content = if metadata.is_symlink() {
            path.read_link().unwrap().as_os_str().as_bytes().to_vec()
        } else if metadata.is_file() {
            fs::read(&path).unwrap()
        } else {
            Vec::new()
        };
        found.insert(name, (metadata.mode(), content));
    }
    found
}

/// A folder with files under many names.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in"), vec![5; 10_000]).unwrap();
    fs::write(at("old"), b"old").unwrap();
    fs::hard_link(at("in"), at("hard")).unwrap();
    symlink("in", at("soft")).unwrap();
    symlink("not there yet", at("dangling")).unwrap();
    fs::create_dir(at("folder")).unwrap();
    let pipe = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(pipe.success());
    fs::write(at("broken.toml"), b"").unwrap();
    folder
}

fn run(folder: &Path, kernel: &str, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder)
        .args(["run", kernel, "--functional", "--quiet"])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

const BYTES: [&str; 2] = ["--set", "bytes=size(input)"];

#[test]
fn what_is_refused_changes_nothing() {
    let folder = folder();
    let before = everything(folder.path());
    let new = ["--map", "input=in", "--map", "output=old:new"];
    let cases: &[(&[&str], &str)] = &[
        // The same file by any name, in any order.
        (
            &["--map", "input=in", "--map", "output=in:new"],
            "mapped for `input`",
        ),
        (
            &["--map", "output=in:new", "--map", "input=in"],
            "mapped for `input`",
        ),
        (
            &["--map", "input=in", "--map", "output=hard:new"],
            "mapped for `input`",
        ),
        (
            &["--map", "input=in", "--map", "output=soft:new=1"],
            "mapped for `input`",
        ),
        (
            &["--map", "input=soft", "--map", "output=./in:new"],
            "mapped for `input`",
        ),
        (
            &[
                "--map",
                "input=x:new=5",
                "--map",
                "output=folder/../x:new=5",
            ],
            "mapped for `input`",
        ),
        (
            &[
                "--map",
                "input=dangling:new=5",
                "--map",
                "output=not there yet:new=5",
            ],
            "mapped for `input`",
        ),
        // Outputs that are no mapped files.
        (
            &[&new[..], &["--json", "in"]].concat(),
            "mapped for `input`",
        ),
        (
            &[&new[..], &["--json", "hard"]].concat(),
            "mapped for `input`",
        ),
        (
            &[&new[..], &["--json", "./old"]].concat(),
            "mapped for `output`",
        ),
        (
            &[&new[..], &["--json", "folder"]].concat(),
            "folder: is a directory",
        ),
        (
            &[&new[..], &["--json", "nowhere/x"]].concat(),
            "nowhere/x: No such file",
        ),
        // Kinds of files that cannot be mapped.
        (
            &["--map", "input=pipe", "--map", "output=old:new"],
            "this is a pipe",
        ),
        (
            &["--map", "input=in", "--map", "output=pipe:new"],
            "this is a pipe",
        ),
        (
            &["--map", "input=in", "--map", "output=folder:new"],
            "this is a folder",
        ),
        (
            &["--map", "input=in", "--map", "output=/dev/stdout:new"],
            "regular files",
        ),
        (
            &["--map", "input=in", "--map", "output=/proc/new:new"],
            "/proc/new: creating it",
        ),
        (
            &["--map", "input=in", "--map", "output=old:new=0"],
            "is empty",
        ),
        (
            &["--map", "input=in", "--map", "output=old@5:new=5"],
            "past the end",
        ),
        (
            &["--map", "input=in", "--map", "output=old:new=size(output)"],
            "size(output)",
        ),
        // 2^63 bytes and more.
        (
            &[
                "--map",
                "input=in",
                "--map",
                "output=old:new=0xffffffffffffffff",
            ],
            "old",
        ),
        (
            &["--map", "input=in", "--map", "output=old:new=8589934592G"],
            "old",
        ),
        (
            &["--map", "input=in", "--map", "output=old:new=4000000G"],
            "old",
        ),
        (
            &[&new[..], &["--card-memory", "5"]].concat(),
            "--card-memory 5",
        ),
    ];
    for (words, expected) in cases {
        let words = [&BYTES[..], words].concat();
        let output = run(folder.path(), "copy", &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(
            said.to_lowercase().contains(&expected.to_lowercase()),
            "{words:?}: {said}"
        );
        assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
        assert!(everything(folder.path()) == before, "{words:?}: {said}");
    }
    // Values that do not fit, and a kernel that is none.
    let words = [&new[..], &["--set", "bytes=0x000102030405060708090a"]].concat();
    let said = String::from_utf8(run(folder.path(), "copy", &words).stderr).unwrap();
    assert!(
        said.contains("takes 8 bytes, not 11") || said.contains("takes 4 bytes"),
        "{said}"
    );
    assert!(everything(folder.path()) == before);
}

#[test]
fn a_run_that_fails_leaves_outputs_as_they_were() {
    let folder = folder();
    let before = everything(folder.path());
    // The kernel writes behind the end of its output, by pages.
    let words = ["--map", "input=in", "--map", "output=old:new=5:page=4KiB"];
    let words = [&words[..], &["--set", "bytes=10000", "--json", "report"]].concat();
    let output = run(folder.path(), "copy", &words);
    assert_eq!(output.status.code(), Some(1));
    assert!(everything(folder.path()) == before);
}

#[test]
fn outputs_keep_modes_and_links_and_any_order_will_do() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    fs::set_permissions(at("old"), fs::Permissions::from_mode(0o604)).unwrap();
    symlink("old", at("link")).unwrap();
    for first in ["link", "dangling"] {
        let map = format!("output={first}:new=size(input)");
        let words = [&["--map", &map, "--map", "input=in"], &BYTES[..]].concat();
        let output = run(folder.path(), "copy", &words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert!(at(first).is_symlink());
        assert!(fs::read(at(first)).unwrap() == vec![5; 10_000]);
    }
    let mode = fs::metadata(at("old")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o604);
    // In place, whichever comes first.
    for words in [["input=in", "output=hard"], ["output=hard", "input=in"]] {
        let words = [&["--map", words[0], "--map", words[1]], &BYTES[..]].concat();
        assert!(run(folder.path(), "copy", &words).status.success());
    }
    assert!(fs::read(at("in")).unwrap() == vec![5; 10_000]);
    assert!(!everything(folder.path())
        .keys()
        .any(|name| name.contains("tombolo")));
}

#[test]
fn the_report_goes_to_pipes_and_to_the_standard_output() {
    let folder = folder();
    let words = [
        "--map",
        "input=in",
        "--map",
        "output=o:new",
        "--json",
        "/dev/stdout",
    ];
    let words = [&words[..], &BYTES[..]].concat();
    let output = run(folder.path(), "copy", &words);
    assert!(output.status.success());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["runs"][0]["kernel"], "copy");

    // Whatever the standard output is; but nothing else may go there.
    for (words, good) in [
        (&words[..], true),
        (
            &[
                &BYTES[..],
                &["--map", "input=in", "--map", "output=report:new"],
            ]
            .concat(),
            false,
        ),
    ] {
        let file = fs::File::create(folder.path().join("report")).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tombolo"))
            .current_dir(folder.path())
            .args(["run", "copy", "--functional", "--quiet"])
            .args(words)
            .stdout(file)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.success(), good, "{said}");
        match good {
            true => assert!(fs::read(folder.path().join("report"))
                .unwrap()
                .starts_with(b"{")),
            false => assert!(
                said.contains("the standard output of this command"),
                "{said}"
            ),
        }
    }
}

#[test]
fn names_of_files_may_be_any_bytes() {
    let folder = folder();
    let input = OsStr::from_bytes(b"input=\xff\xfe");
    fs::write(folder.path().join(OsStr::from_bytes(b"\xff\xfe")), [9; 100]).unwrap();
    let command = |name: &OsStr| {
        Command::new(env!("CARGO_BIN_EXE_tombolo"))
            .current_dir(folder.path())
            .args(["run", "copy", "--functional", "--quiet", "--map"])
            .arg(name)
            .args(["--map", "output=o:new"])
            .args(BYTES)
            .output()
            .unwrap()
    };
    assert!(command(input).status.success());
    assert_eq!(fs::read(folder.path().join("o")).unwrap(), [9; 100]);
    let output = command(OsStr::from_bytes(b"in\xffput=in"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("--map") && said.contains("argument's name is not UTF-8"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
}

/// Files may have 4096 bytes, as on a disk that is nearly full; the page has more.
#[test]
fn a_page_that_does_not_fit_leaves_the_one_that_is_there() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("in"), [5; 1000]).unwrap();
    fs::write(at("run.html"), "the last page").unwrap();
    let before = everything(folder.path());
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let words = ["--map", "input=in", "--map", "output=out:new", "--html"];
    let output = Command::new("sh")
        .current_dir(folder.path())
        .args(["-c", limited, "sh", env!("CARGO_BIN_EXE_tombolo")])
        .args(["run", "copy", "--functional", "--quiet"])
        .args(words)
        .args([&["run.html"], &BYTES[..]].concat())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        told.contains("run.html: ") && !output.status.success(),
        "{told}"
    );
    assert_eq!(everything(folder.path()), before);
}
