//! Does everything that a kernel has sent when a run ends reach its file, or the message name the port?

use std::fs;
use std::path::Path;
use std::process::Command;

/// How a run ended: well or not, what it said, and the file `o`, if there is one.
struct Ended {
    well: bool,
    told: String,
    out: Option<Vec<u8>>,
}

fn run(folder: &Path, kernel: &str, connections: &[&str]) -> Ended {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/kernels");
    let kernel = match own.join(kernel) {
        own if own.is_dir() => own,
        _ => kernel.into(),
    };
    let _ = fs::remove_file(folder.join("o"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.current_dir(folder).arg("run").arg(kernel);
    command.args(["--quiet", "--deadline", "1ms"]);
    for connection in connections {
        command.args(["--connect", connection]);
    }
    let output = command.output().unwrap();
    // A long build prints progress.
    let told = String::from_utf8_lossy(&output.stderr);
    let building = |line: &&str| !line.contains(" s)");
    let told: Vec<&str> = told.lines().filter(building).collect();
    let ended = Ended {
        well: output.status.success(),
        told: told.join("\n"),
        out: fs::read(folder.join("o")).ok().or_else(|| {
            let standard =
                connections.contains(&"out=-") || connections.contains(&"out=-:packets=all");
            standard.then_some(output.stdout)
        }),
    };
    println!("{connections:?}: {}", ended.told);
    ended
}

fn data(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// The kernel ends a packet every 64 bytes. Packets after the first must not be lost with exit code 0, and the error
/// must not blame the input.
#[test]
fn packets_that_nobody_takes_are_an_error_that_names_their_port() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for bytes in [300, 1000] {
        fs::write(folder.join("i"), data(bytes)).unwrap();
        for to in ["out=file:o:new=4096", "out=-", "out=file:o:new"] {
            let ended = run(folder, "often", &["in=file:i", to]);
            let named = ended.told.contains("port out") && ended.told.contains("packets=all");
            assert!(!ended.well && named, "{to}, {bytes}: {}", ended.told);
            assert!(!ended.told.contains("port in:"), "{}", ended.told);
        }
        for to in ["out=file:o:new=4096:packets=all", "out=-:packets=all"] {
            let ended = run(folder, "often", &["in=file:i", to]);
            assert!(
                ended.well && ended.told.is_empty(),
                "{to}, {bytes}: {}",
                ended.told
            );
            assert!(
                ended.out == Some(data(bytes)),
                "{to}, {bytes}: {:?}",
                ended.out
            );
        }
    }
    // One packet by default; N packets on request, and no more; errors for a file that is too small and for missing
    // packets.
    fs::write(folder.join("i"), data(60)).unwrap();
    let ended = run(folder, "often", &["in=file:i", "out=file:o:new=4096"]);
    assert!(ended.well && ended.out == Some(data(60)), "{}", ended.told);
    fs::write(folder.join("i"), data(300)).unwrap();
    for (packets, wanted) in [("1", 64), ("2", 128), ("any", 64), ("5", 300)] {
        let to = format!("out=file:o:new=4096:packets={packets}");
        let ended = run(folder, "often", &["in=file:i", &to]);
        assert!(ended.well, "{to}: {}", ended.told);
        assert!(ended.out == Some(data(300)[..wanted].to_vec()), "{to}");
    }
    for (to, rule) in [
        ("out=file:o:new=100:packets=all", "its memory is full"),
        ("out=file:o:new=100", "packets=all"),
        ("out=file:o:new=30", "its memory is full"),
        ("out=file:o:new=100:packets=4", "4 packets are wanted"),
    ] {
        let ended = run(folder, "often", &["in=file:i", to]);
        assert!(
            !ended.well && ended.told.contains(rule),
            "{to}: {}",
            ended.told
        );
        assert!(
            ended.told.contains("port out") && ended.out.is_none(),
            "{to}"
        );
    }
    let ended = run(
        folder,
        "often",
        &["in=file:i", "out=file:o:new=30:packets=any"],
    );
    assert!(ended.well && ended.out == Some(data(30)), "{}", ended.told);
    let ended = run(folder, "often", &["in=file:i:packets=2", "out=file:o:new"]);
    assert!(
        !ended.well && ended.told.contains("omit it"),
        "{}",
        ended.told
    );
}

/// Bytes that fill no row of 64 stayed in the slot for ever.
#[test]
fn a_port_without_tlast_delivers_what_it_has_when_its_sender_pauses() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = |count: u32, first: u32| -> Vec<u8> {
        (first..first + count).flat_map(u32::to_le_bytes).collect()
    };
    // A range that is full, one with room behind it, and a pipe.
    for to in [
        "out=file:o:new=12",
        "out=file:o:new=4096",
        "out=-",
        "out=file:o:new=4096:packets=all",
    ] {
        let ended = run(folder, "words", &[to]);
        assert!(ended.well && ended.told.is_empty(), "{to}: {}", ended.told);
        assert!(ended.out == Some(words(3, 1)), "{to}: {:?}", ended.out);
    }
    // Two of three words: the third is more than there is room for.
    let ended = run(folder, "words", &["out=file:o:new=8"]);
    assert!(
        !ended.well && ended.told.contains("port out"),
        "{}",
        ended.told
    );
    let ended = run(folder, "words", &["out=file:o:new=8:packets=any"]);
    assert!(
        ended.well && ended.out == Some(words(2, 1)),
        "{}",
        ended.told
    );
    // As many words as fill rows, and others.
    for count in [1, 15, 16, 17, 1000] {
        fs::write(folder.join("i"), words(count, 5)).unwrap();
        for to in ["out=file:o:new", "out=file:o:new=65536", "out=-"] {
            let ended = run(folder, "adder", &["in=file:i", to]);
            assert!(ended.well && ended.told.is_empty(), "{to}: {}", ended.told);
            assert!(
                ended.out == Some(words(count, 6)),
                "{to}, {count}: {:?}",
                ended.out
            );
        }
    }
}

/// The port has TLAST and never raises it: the message names this and the number of waiting bytes.
#[test]
fn bytes_that_wait_for_tlast_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    // A packet, and 30 bytes behind it that end nowhere.
    let ended = run(folder, "unended", &["out=file:o:new=4096"]);
    let counted = ended.told.contains("port out") && ended.told.contains("30 bytes");
    assert!(!ended.well && counted, "{}", ended.told);
    let ended = run(folder, "unended", &["out=file:o:new=4096:packets=1"]);
    let packet = [0u32.to_le_bytes(), 1u32.to_le_bytes()].concat();
    assert!(ended.well && ended.out == Some(packet), "{}", ended.told);
    for to in [
        "out=file:o:new=4096:packets=2",
        "out=file:o:new=4096:packets=all",
    ] {
        let ended = run(folder, "unended", &[to]);
        let counted = ended.told.contains("port out") && ended.told.contains("30 bytes");
        assert!(!ended.well && counted, "{to}: {}", ended.told);
    }
}
