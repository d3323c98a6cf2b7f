//! Does `tombolo run --connect` carry files through streams, and say what is wrong?

#[path = "../../tombolo/tests/common/liar.rs"]
mod liar;
#[path = "../../tombolo/tests/common/odd_kernel.rs"]
mod odd_kernel;

use liar::{liar, GOOD, WRONG_KEY};
use odd_kernel::odd_kernel;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn run(folder: &Path, words: &[&str]) -> Output {
    let first = ["run", "loopback", "--functional", "--quiet"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    let command = command.current_dir(folder).args(first).args(words);
    command.output().unwrap()
}

fn data(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn a_file_goes_through_the_streams_of_a_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = data(1_000_003);
    fs::write(folder.path().join("a"), &wanted).unwrap();
    let good: [(&str, &str, &[u8]); 3] = [
        ("in=file:a", "out=file:b:new", &wanted),
        ("in=file:a@3+77", "out=file:b:new", &wanted[3..80]),
        (
            "in=file:a@5+100",
            "out=file:b:page=64KiB:new",
            &wanted[5..105],
        ),
    ];
    for (from, to, wanted) in good {
        let output = run(folder.path(), &["--connect", to, "--connect", from]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{told}");
        assert!(
            fs::read(folder.path().join("b")).unwrap() == wanted,
            "{from}"
        );
    }
    // A size of its own is room: the file ends where the packet ends. With :rw it stays as long as it is, and
    // what is there stays where nothing was written.
    let to = "out=file:b@7:new=500";
    let output = run(
        folder.path(),
        &["--connect", "in=file:a@9+10", "--connect", to],
    );
    assert!(output.status.success());
    let mut kept = [&[0; 7], &wanted[9..19]].concat();
    assert!(fs::read(folder.path().join("b")).unwrap() == kept);
    kept.resize(500, 0);
    fs::write(folder.path().join("b"), &kept).unwrap();
    let over = "out=file:b@100+20:rw";
    let output = run(
        folder.path(),
        &["--connect", "in=file:a@0+5", "--connect", over],
    );
    assert!(output.status.success());
    kept[100..105].copy_from_slice(&wanted[..5]);
    assert!(fs::read(folder.path().join("b")).unwrap() == kept);
}

#[test]
fn what_is_wrong_is_named_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), data(5000)).unwrap();
    fs::write(folder.path().join("b"), b"kept").unwrap();
    let cases: [(&[&str], &str); 9] = [
        (
            &["in=file:a"],
            "port `out` of kernel loopback is not connected",
        ),
        (&["in=file:a", "out=tape:b"], "there is no device `tape`"),
        (
            &["in=file:a", "out=slot:1"],
            "no device `slot`; ports of kernels are joined by a program",
        ),
        (&["in=file:a", "out=file:b"], "write :new to create it"),
        (&["in=file:a", "out=file:b:ro"], "cannot be :ro"),
        (&["in=file:a:new", "out=file:b:new"], "cannot be :new"),
        (
            &["in=file:a", "in=file:a", "out=file:b:new"],
            "connected twice",
        ),
        (
            &["data=file:a", "out=file:b:new"],
            "no stream port `data`; it has in, out",
        ),
        (&["in=file:none", "out=file:b:new"], "none"),
    ];
    for (connections, rule) in cases {
        let words: Vec<&str> = connections.iter().flat_map(|c| ["--connect", c]).collect();
        let output = run(folder.path(), &words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && told.contains(rule),
            "{connections:?}: {told}"
        );
        assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"kept");
    }
}

#[test]
fn a_peer_that_lies_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), data(100)).unwrap();
    let key = "the key is of another connection";
    for (status, bytes, told) in [
        (GOOD, 101, "a reply of 101 bytes came, not of 100"),
        (WRONG_KEY, 0, key),
    ] {
        let from = format!("in=remote:{}", liar(Some((status, bytes))));
        let output = run(
            folder.path(),
            &["--connect", &from, "--connect", "out=file:b:new=100"],
        );
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
        assert!(said.contains("peer 127.0.0.1"), "{said}");
    }
}

/// Ranges beyond a file or peer, and schedules out of range, are reported before anything is written.
#[test]
fn ranges_and_priorities_that_cannot_be_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), data(5000)).unwrap();
    let told = |from: &str, priorities: &[&str]| {
        let mut words = vec!["--connect", from, "--connect", "out=file:b:new=6000"];
        words.extend(priorities.iter().flat_map(|text| ["--priority", text]));
        let output = run(folder.path(), &words);
        assert!(!output.status.success() && !folder.path().join("b").exists());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let peer = format!("in=remote:{}@50+51", liar(Some((GOOD, 0))));
    let ranges = [
        ("in=file:a@3+99999", "99999 bytes from offset 3"),
        ("in=file:a@5000+1", "past the end of the file"),
        ("in=file:a@0+0", "0 bytes from offset 0"),
        (&peer, "51 bytes from offset 50: it has 100 bytes"),
    ];
    for (from, rule) in ranges {
        let said = told(from, &[]);
        assert!(said.contains(rule), "{from}: {said}");
    }
    let priorities: [(&[&str], &str); 6] = [
        (&["0=highest"], "low|normal|high|urgent"),
        (&["7=high"], "no other slot has one"),
        (&["0=high,weight=16"], "weight 16: 1 to 15 is possible"),
        (&["0=high,floor=91"], "floor 91: 0 to 90 is possible"),
        (&["0=high,limit=-1"], "is not a number of bytes"),
        (&["0=high", "0=low"], "given twice"),
    ];
    for (given, rule) in priorities {
        let said = told("in=file:a", given);
        assert!(said.contains(rule), "{given:?}: {said}");
    }
}

/// A width that the manifest does not declare, ports without one, buffers that are not aligned as the kernel wants
/// them, and what cannot be mapped.
#[test]
fn kernels_and_mappings_that_cannot_be_are_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), data(5000)).unwrap();
    let copy = |from: &str| {
        let first = ["run", "copy", "--functional", "--quiet", "--map", from];
        let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        let command = command.current_dir(folder.path()).args(first);
        let rest = ["--map", "output=b:new", "--set", "bytes=100"];
        let output = command.args(rest).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), told)
    };
    let (done, told) = copy("input=a@3+100");
    assert!(
        !done && told.contains("`input`") && told.contains("64"),
        "{told}"
    );
    for name in ["net:127.0.0.1:7", "net-node:a"] {
        let (done, told) = copy(&format!("input={name}"));
        assert!(
            !done && told.contains("serves stream ports; `remote:`"),
            "{told}"
        );
    }
    // A file of such a name.
    fs::write(folder.path().join("net:127.0.0.1:7"), data(100)).unwrap();
    let (done, told) = copy("input=./net:127.0.0.1:7");
    assert!(done, "{told}");
    assert!(fs::read(folder.path().join("b")).unwrap()[..100] == data(100));

    // Streams begin and end at any byte; their widths are the manifest's.
    let odd = [
        (None, "has `data_width`"),
        (Some(12), "12 bits: a stream's data width"),
        (Some(8192), "8192 bits: a stream's data width"),
    ];
    for (width, rule) in odd {
        odd_kernel(&folder.path().join("odd"), width);
        let words = [
            "run",
            "./odd",
            "--functional",
            "--quiet",
            "--connect",
            "in=file:a",
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        let output = command.current_dir(folder.path()).args(words).output();
        let output = output.unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && told.contains(rule),
            "{width:?}: {told}"
        );
    }
}

/// The output is too small for the packet: its port is named, not the input that never ends.
#[test]
fn a_file_that_is_too_small_is_told() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), data(500_000)).unwrap();
    let words = ["--connect", "in=file:a", "--connect", "out=file:b:new=1000"];
    let output = run(folder.path(), &words);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{told}");
    assert!(
        told.contains("port out: a beat of the kernel waits") && told.contains("memory is full"),
        "{told}"
    );

    // A kernel that sends more than that of itself: a little more, for which it is done, and much.
    let random = |bytes: &str, packets: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        let words = ["run", "rng_stream", "--functional", "--quiet"];
        let state = format!("state=0x{}", "07".repeat(32));
        let to = format!("out=file:c:new=64{packets}");
        let rest = ["--connect", &to, "--set", &state, "--set", bytes];
        let command = command.current_dir(folder.path()).args(words).args(rest);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), told)
    };
    for bytes in ["bytes=100", "bytes=100000"] {
        let (done, told) = random(bytes, "");
        assert!(
            !done && told.contains("port out: a beat of the kernel waits"),
            "{told}"
        );
        assert!(!folder.path().join("c").exists());
    }
    // A program may want no more of it.
    let (done, told) = random("bytes=100", ":packets=any");
    assert!(done && told.is_empty(), "{told}");
    assert_eq!(fs::metadata(folder.path().join("c")).unwrap().len(), 64);
    let (done, told) = random("bytes=64", "");
    assert!(done && told.is_empty(), "{told}");
}

/// A kernel that takes its packet and never produces: the port that waits is named, nothing is written, and a run at the
/// same time does not notice.
#[test]
fn a_kernel_that_never_sends_is_told_by_its_port() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a"), data(5001)).unwrap();
    fs::write(folder.path().join("b"), b"kept").unwrap();
    let mute = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/mute");
    let command = |kernel: &str, to: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        command.current_dir(folder.path());
        command.args(["run", kernel, "--quiet", "--connect", "in=file:a"]);
        command.args(["--connect", to]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let stuck = ["out=file:b:new", "out=-"].map(|to| command(mute, to));
    let other = command("loopback", "out=file:c:new");
    for child in stuck {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let said = told.contains("port out") && told.contains("the kernel sends nothing");
        assert!(!output.status.success() && said, "{told}");
        // The time that it took to be sure.
        assert!(!told.contains("after 1 ps"), "{told}");
        assert!(output.stdout.is_empty());
    }
    assert_eq!(fs::read(folder.path().join("b")).unwrap(), b"kept");
    let output = other.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(fs::read(folder.path().join("c")).unwrap() == data(5001));
}

#[test]
fn a_kernel_is_a_part_of_a_pipeline_of_commands() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = data(700_001);
    fs::write(folder.path().join("a"), &wanted).unwrap();
    let script =
        "cat a | tombolo run loopback --functional --connect in=- --connect out=- >b 2>report";
    let command = Path::new(env!("CARGO_BIN_EXE_tombolo"));
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", command.parent().unwrap().display());
    let status = Command::new("bash")
        .args(["-eu", "-o", "pipefail", "-c", script])
        .current_dir(folder.path())
        .env("PATH", path)
        .status();
    assert!(status.unwrap().success());
    assert!(fs::read(folder.path().join("b")).unwrap() == wanted);
    let report = fs::read_to_string(folder.path().join("report")).unwrap();
    assert!(report.contains("no time; files through"), "{report}");
    // From a file to the standard output, and what cannot be.
    let output = run(
        folder.path(),
        &["--connect", "in=file:a@1+9", "--connect", "out=-"],
    );
    assert_eq!(output.stdout, wanted[1..10]);
    for (to, told) in [
        ("out=tape:x", "there is no device `tape`"),
        ("out=pipe:nowhere", "mkfifo makes one"),
        ("out=tcp:x", "write tcp:HOST:PORT"),
    ] {
        let output = run(folder.path(), &["--connect", "in=file:a", "--connect", to]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(told), "{said}");
    }
}

/// The other ends are a simulated machine, and a process of its own; the host moves no byte.
#[test]
fn a_stream_goes_over_the_cards_own_network_interface() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = data(100_003);
    fs::write(folder.path().join("a"), &wanted).unwrap();
    fs::write(folder.path().join("b"), vec![0; 200_000]).unwrap();
    let mut server = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder.path())
        .args(["serve", "b", "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut told = BufReader::new(server.stdout.take().unwrap());
    told.read_line(&mut line).unwrap();
    let address = line.trim().rsplit_once("remote:").unwrap().1.to_owned();
    let simulated = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        let first = ["run", "loopback", "--platform", "u280", "--quiet"];
        let command = command.current_dir(folder.path()).args(first).args(words);
        command.output().unwrap()
    };
    for (to, at) in [
        ("out=net-node:b@101".to_owned(), 101),
        (format!("out=net:{address}@7"), 7),
    ] {
        let output = simulated(&["--connect", &to, "--connect", "in=net-node:a"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{to}: {told}");
        let got = fs::read(folder.path().join("b")).unwrap();
        assert_eq!(got.len(), 200_000);
        assert!(got[at..at + wanted.len()] == wanted, "{to}");
    }
    server.kill().unwrap();
    server.wait().unwrap();
    for (to, rule) in [
        ("out=net-node:b+1", "opening its file"),
        ("out=net-node:b@200000", "200000 bytes"),
        ("out=net-node:b@5+100", "has more than its 100 bytes"),
        (&*format!("out=net:{address}"), "connecting to it"),
        ("out=net:nowhere", "net:HOST:PORT"),
    ] {
        let output = simulated(&["--connect", to, "--connect", "in=net-node:a"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            !output.status.success() && told.contains(rule),
            "{to}: {told}"
        );
    }
    let functional = ["--connect", "out=net-node:b", "--connect", "in=net-node:a"];
    let output = run(folder.path(), &functional);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && told.contains("network interface"),
        "{told}"
    );
}

/// A stream at addresses: who writes far ahead of its reader waits, and fails with the words of the device.
#[test]
fn a_kernel_that_writes_while_nobody_reads_fails_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("p");
    assert!(Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap()
        .success());
    let copy = |bytes: usize| {
        fs::write(folder.path().join("a"), data(bytes)).unwrap();
        let first = ["run", "copy", "--functional", "--quiet", "--map", "input=a"];
        let to = format!("output=pipe:p:timeout=200ms@0+{bytes}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
        let command = command.current_dir(folder.path()).args(first);
        let output = command.args(["--map", &to, "--set", "bytes=size(input)"]);
        let output = output.output().unwrap();
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let kernel = "kernel copy), port m_axi_gmem1: a write at";
    let sending = "pipe:p: sending what was written: pipe:p: ";
    let late = "nobody has opened it for reading within 200ms, after 0 bytes";
    let told = copy(1 << 20);
    let waited = told.contains(kernel) && told.contains(&format!("fetched: pipe:p: {late}"));
    assert!(
        waited && told.contains(&(sending.to_owned() + late)),
        "{told}"
    );
    // Data that fits into the FIFO needs no wait, so only the end of the mapping reports the missing reader.
    let told = copy(5000);
    assert!(!told.contains(kernel) && told.contains(sending), "{told}");
    // The FIFO is open, but never read: the bytes that it holds count as sent.
    let held = fs::OpenOptions::new().read(true).write(true).open(&pipe);
    let told = copy(1 << 20);
    let late = "the other end took nothing within 200ms, after 65536 bytes";
    assert!(told.contains(kernel) && told.contains(late), "{told}");
    drop(held.unwrap());
}
