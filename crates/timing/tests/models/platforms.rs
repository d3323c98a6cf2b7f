//! Checks that the repository's files are valid, and that invalid ones are refused with file, key and rule.

use crate::common::platform;
use std::path::Path;
use tombolo_timing::platform::{MemoryKind, Platform, PlatformError};
use tombolo_timing::MODELS;
use units::Picoseconds;

const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");

fn f1_text() -> String {
    std::fs::read_to_string(Path::new(DIRECTORY).join("f1.toml")).expect("f1.toml")
}

fn load(text: &str) -> Result<Platform, PlatformError> {
    Platform::from_bytes(text.as_bytes(), "some/f1.toml")
}

#[test]
fn every_file_of_the_repository_loads_under_its_name() {
    let mut seen = 0;
    for entry in std::fs::read_dir(DIRECTORY).expect("platforms/") {
        let path = entry.expect("readable").path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            let platform = Platform::load(&path).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(
                path.file_stem().and_then(|stem| stem.to_str()),
                Some(platform.name())
            );
            assert!(platform.memories().iter().all(|memory| memory.channels > 0));
            seen += 1;
        }
    }
    assert!(seen > 0);
}

#[test]
fn f1_is_what_fsrf_ran_on() {
    let f1 = platform("f1");
    assert_eq!(f1.clock().period_ps, Picoseconds::new(4000));
    let memory = f1.memory();
    assert_eq!(memory.kind, MemoryKind::Ddr4);
    assert_eq!((memory.channels, memory.channel_bytes), (4, 16 << 30));
    assert_eq!(memory.channel_bits(), 34);
    let pins = memory.pin_bytes_per_second();
    assert!((pins / 17.066e9 - 1.0).abs() < 0.001, "{pins}");
}

#[test]
fn channels_are_dealt_to_the_kinds_of_memory_in_turn() {
    let both = platform("u280-both");
    let kinds: Vec<_> = both.memories().iter().map(|memory| memory.kind).collect();
    assert_eq!(kinds, [MemoryKind::Hbm2, MemoryKind::Ddr4]);
    for (channels, dealt) in [
        (1, [1, 0]),
        (2, [1, 1]),
        (4, [2, 2]),
        (8, [6, 2]),
        (34, [32, 2]),
    ] {
        assert_eq!(both.deal(channels), Some(dealt.to_vec()));
    }
    assert_eq!(both.deal(35), None);
    assert_eq!(platform("f1").deal(4), Some(vec![4]));
    // 38 GB/s in the card's data sheet, and the HBM is that of the other file.
    let ddr = &both.memories()[1];
    assert!((2.0 * ddr.pin_bytes_per_second() / 38.4e9 - 1.0).abs() < 0.001);
    assert_eq!(&both.memories()[0], platform("u280").memory());
}

/// Published DDR4-2400 figures (clocks of 0.833 ns), scaled to the clock of the file.
#[test]
fn f1_is_scaled_from_ddr4_2400() {
    let timing = platform("f1").memory().timing;
    let clock = timing.clock_ps.get() as f64;
    for (name, at_2400, here) in [
        ("cl", 17.0, timing.cl),
        ("rcd", 17.0, timing.rcd),
        ("rp", 17.0, timing.rp),
        ("ras", 39.0, timing.ras),
        ("faw", 26.0, timing.faw),
        ("ccd_l", 6.0, timing.ccd_l),
        ("rrd_l", 6.0, timing.rrd_l),
        ("wtr_s", 3.0, timing.wtr_s),
        ("wtr_l", 9.0, timing.wtr_l),
        ("wr", 18.0, timing.wr),
        ("rfc", 420.0, timing.rfc),
    ] {
        let exact: f64 = at_2400 * 833.0 / clock;
        assert!(
            (here as f64) >= exact && (here as f64) < exact + 1.0,
            "{name}: {here}, {exact}"
        );
    }
    assert_eq!(timing.refi, (9360.0 * 833.0 / clock) as u64);
}

#[test]
fn the_hash_is_that_of_the_bytes_and_the_models() {
    let text = f1_text();
    let one = load(&text).expect("good");
    assert_eq!(one.hash(), platform("f1").hash());
    assert_eq!(one.hash().len(), 64);
    let other = load(&format!("{text}\n")).expect("good");
    assert_ne!(one.hash(), other.hash());
    // SHA-256 by another program.
    let script = format!(
        "(cat {}; printf 'models {MODELS}') | sha256sum",
        one_path().display()
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &script])
        .output();
    let output = output.expect("a shell");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with(one.hash()));
}

fn one_path() -> std::path::PathBuf {
    Path::new(DIRECTORY).join("f1.toml")
}

#[test]
fn broken_figures_are_named() {
    let text = f1_text();
    for (from, to, key) in [
        ("format = 1", "format = 2", "format"),
        ("name = \"f1\"", "name = \"\"", "name"),
        ("period_ps = 4000", "period_ps = 0", "clock.period_ps"),
        ("phase_ps = 0", "phase_ps = 4000", "clock.phase_ps"),
        ("channels = 4 ", "channels = 0 ", "memory[0].channels"),
        (
            "channel_bytes = 17179869184",
            "channel_bytes = 17179869185",
            "memory[0].channel_bytes",
        ),
        (
            "bank_groups = 4",
            "bank_groups = 3",
            "memory[0].address.bank_groups",
        ),
        (
            "banks_per_group = 4",
            "banks_per_group = 8",
            "memory[0].address.banks_per_group",
        ),
        (
            "page_bytes = 8192",
            "page_bytes = 100",
            "memory[0].address.page_bytes",
        ),
        ("rcd = 16 ", "rcd = 0 ", "memory[0].timing.rcd"),
        ("ccd_s = 4 ", "ccd_s = 3 ", "memory[0].timing.ccd_s"),
        ("ccd_l = 6 ", "ccd_l = 3 ", "memory[0].timing.ccd_l"),
        ("cwl = 11 ", "cwl = 40 ", "memory[0].timing.cwl"),
        ("refi = 8312", "refi = 500", "memory[0].timing.refi"),
        (
            "write_queue = 64",
            "write_queue = 65",
            "memory[0].controller.write_queue",
        ),
        (
            "drain_start = 32",
            "drain_start = 65",
            "memory[0].controller.drain_start",
        ),
        (
            "drain_batch = 32",
            "drain_batch = 15",
            "memory[0].controller.drain_batch",
        ),
        ("max_payload = 256", "max_payload = 300", "pcie.max_payload"),
        (
            "completion_bytes = 64",
            "completion_bytes = 512",
            "pcie.completion_bytes",
        ),
        ("read_tags = 64", "read_tags = 0", "pcie.read_tags"),
        (
            "to_host_ps = 275000",
            "to_host_ps = 2000000000000",
            "pcie.to_host_ps",
        ),
        ("copy_threads = 4", "copy_threads = 0", "host.copy_threads"),
        (
            "copy_bytes_per_second = 10000000000",
            "copy_bytes_per_second = 1",
            "host.copy_bytes_per_second",
        ),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is not in the file");
        match load(&changed) {
            Err(PlatformError::Figure {
                key: named, rule, ..
            }) => {
                assert_eq!(named, key);
                assert!(rule.len() > 10);
            }
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn messages_name_file_key_and_rule() {
    let text = f1_text();
    let error = load(&text.replacen("copy_threads = 4", "copy_threads = 0", 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "platform file some/f1.toml: host.copy_threads = 0: must be from 1 to 1024"
    );
    for (changed, word) in [
        (text.replacen("refi =", "refy =", 1), "refy"),
        (text.replacen("wake_ps", "# wake_ps", 1), "wake_ps"),
        (
            text.replacen("read_tags = 64", "read_tags = \"many\"", 1),
            "read_tags",
        ),
        (
            text.replacen("read_tags = 64", "read_tags = -1", 1),
            "read_tags",
        ),
        (text.replacen("[pcie]", "[pcie", 1), "[pcie"),
    ] {
        let message = load(&changed).unwrap_err().to_string();
        assert!(
            message.contains("some/f1.toml") && message.contains(word),
            "{message}"
        );
    }
    assert!(matches!(
        Platform::from_bytes(&[0xff, 0xfe], "x.toml"),
        Err(PlatformError::Parse { .. })
    ));
}

#[test]
fn unknown_names_list_what_there_is() {
    let error = Platform::named("f2", &["/nonexistent", DIRECTORY]).unwrap_err();
    let message = error.to_string();
    assert!(
        message.contains("f2.toml") && message.contains("f1"),
        "{message}"
    );
    for bad in ["", "../platforms/f1", "/etc/passwd", "f1.toml"] {
        assert!(matches!(
            Platform::named(bad, &[DIRECTORY]),
            Err(PlatformError::Unknown { .. })
        ));
    }
    assert!(matches!(
        Platform::load("/nonexistent/f1.toml"),
        Err(PlatformError::Read { .. })
    ));
}
