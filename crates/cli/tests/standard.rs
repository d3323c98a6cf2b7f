//! Standard streams that are closed, full or gone, and files that may not grow: is each byte where it belongs, or an
//! error, and is nothing left behind?

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// Runs a line of a shell in a folder; `$T` is the command, `$K` the kernels.
fn shell(folder: &Path, line: &str) -> Output {
    Command::new("sh")
        .args(["-c", line])
        .current_dir(folder)
        .env("T", env!("CARGO_BIN_EXE_tombolo"))
        .env(
            "K",
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels"),
        )
        .output()
        .unwrap()
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let bytes: Vec<u8> = (0..100_000_u32)
        .map(|n| (n.wrapping_mul(n) >> 7) as u8)
        .collect();
    fs::write(folder.path().join("in"), bytes).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const COPY: &str =
    "$T run $K/copy --functional --map input=in --map output=out:new --set 'bytes=size(input)'";

#[test]
fn what_would_go_into_a_closed_stream_is_refused_before_anything_begins() {
    let folder = folder();
    let closed = "the standard output is closed";
    for (line, told) in [
        ("$T run $K/loopback --connect in=file:in --connect out=- >&-", closed),
        ("$T run $K/loopback --quiet --connect in=file:in --connect out=- >&-", closed),
        ("$T run $K/loopback --connect in=- --connect out=file:out:new <&-", "the standard input is closed"),
        ("$T run $K/rpc --coherent --access - --set base=0 --set handler=0 --set calls=0 --set contexts=0 <&-", "the standard input is closed"),
        (&format!("{COPY} >&-"), "use --quiet"),
        (&format!("{COPY} --quiet --json /dev/stdout >&-"), "/dev/stdout: "),
        ("$T devices >&-", "standard output: it is closed"),
        ("$T devices >/dev/full", "standard output: "),
        ("$T protocol check $K/../protocols/msi.protocol >&-", "it is closed"),
    ] {
        let output = shell(folder.path(), line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains(told), "{line}: {said}");
        assert_eq!(names(folder.path()), ["in"], "{line}");
    }
}

/// Files that are opened get none of the numbers of streams that are closed, and messages go into none of them.
#[test]
fn closed_streams_change_no_byte_of_a_file() {
    for closed in [
        "<&-",
        ">&- --quiet",
        "2>&-",
        "<&- >&- 2>&- --quiet",
        "2>/dev/full",
        "<&- 2>&- ",
    ] {
        let folder = folder();
        let output = shell(folder.path(), &format!("{COPY} {closed}"));
        assert!(output.status.success(), "{closed}: {output:?}");
        let [made, wanted] = ["out", "in"].map(|name| fs::read(folder.path().join(name)).unwrap());
        assert!(made == wanted, "{closed}");
        // An error that cannot be printed has no other effect.
        let output = shell(folder.path(), &format!("{COPY} --set nothing=1 {closed}"));
        assert_eq!(output.status.code(), Some(1), "{closed}: {output:?}");
        assert_eq!(names(folder.path()), ["in", "out"]);
        assert!(
            fs::read(folder.path().join("out")).unwrap() == wanted,
            "{closed}"
        );
    }
}

#[test]
fn a_reader_that_has_gone_ends_a_stream_with_an_error() {
    let folder = folder();
    let line = "$T run $K/copy --quiet --functional --map input=in --map output=out:new --set 'bytes=size(input)' \
                --json /dev/stdout >/dev/full";
    let output = shell(folder.path(), line);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("/dev/stdout"), "{said}");
    assert_eq!(names(folder.path()), ["in"]);
}

/// `ulimit -f` counts in blocks of 512 bytes.
#[test]
fn files_that_may_not_grow_are_an_error_and_leave_nothing_behind() {
    for (limit, more) in [
        (0, ""),
        (8, ""),
        (8, "--quiet --json report"),
        (100, "--html page"),
    ] {
        let folder = folder();
        let line = format!("{COPY} {more}");
        let output = shell(folder.path(), &format!("ulimit -f {limit}; {line}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), None, "{line}: {said}");
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert_eq!(names(folder.path()), ["in"], "{line}: {said}");
    }
}

/// Sizes beyond a limit on memory: an error that names the limit, or a run that works.
#[test]
fn sizes_that_no_memory_is_left_for_are_errors() {
    for (kib, options) in [
        (400_000, "--card-memory 64GiB"),
        (400_000, "--card-memory 8GiB"),
        (100_000, ""),
        (50_000, ""),
        (60_000, "--card-memory 16MiB"),
        // The program itself takes 40 MB.
        (43_000, ""),
    ] {
        let folder = folder();
        let line = format!("ulimit -v {kib}; {COPY} {options}");
        let output = shell(folder.path(), &line);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), None, "{line}: {said}");
        let code = output.status.code().unwrap();
        assert!(code < 2, "{line}: {code}: {said}");
        let wanted: &[&str] = if code == 0 { &["in", "out"] } else { &["in"] };
        assert_eq!(names(folder.path()), wanted, "{line}: {said}");
    }
}
