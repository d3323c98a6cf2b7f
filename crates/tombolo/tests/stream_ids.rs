//! Do TID and TDEST pass from kernel to kernel, and is a loss of them refused?

#[path = "common/stream_card.rs"]
mod stream_card;

use std::fs;
use std::path::{Path, PathBuf};
use tombolo::{Card, Continue, Error, MapOptions, OwnerOptions, SlotId, StreamError};

fn kernel(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/kernels")
        .join(name)
}

/// A card of three slots that carries TID of 5 bits and TDEST of 9: one shell for all tests, since compiling it takes a
/// minute.
fn open() -> Card {
    let mut options = stream_card::simulated();
    options.shell.slots = 3;
    options.shell.queues = 4;
    options.shell.tid_width = 5;
    options.shell.tdest_width = 9;
    Card::simulated(options, OwnerOptions::default(), |_| ()).unwrap()
}

/// Words whose IDs (bits 12..0) stay for some words, and change in mid-packet.
fn words() -> Vec<u32> {
    let mut state = 1u64;
    let mut next = |bound: u64| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) % bound
    };
    let mut words = Vec::new();
    while words.len() < 3000 {
        let id = next(1 << 13) as u32;
        for _ in 0..=next(40) {
            words.push((words.len() as u32) << 13 | id);
        }
    }
    words
}

#[test]
fn each_word_arrives_with_the_tid_and_tdest_that_it_was_sent_with() {
    let folder = tempfile::tempdir().unwrap();
    let (source, result) = (folder.path().join("in"), folder.path().join("out"));
    let words = words();
    let sent: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    fs::write(&source, &sent).unwrap();

    let card = open();
    let space = card.create_space().unwrap();
    let load = |slot, name| card.load(SlotId(slot), kernel(name), &space).unwrap();
    let first = load(0, "id_source");
    let middle = load(1, "id_middle");
    let last = load(2, "id_sink");
    let _joined = card.connect(&first, "out", &middle, "in").unwrap();
    let _joined = card.connect(&middle, "out", &last, "in").unwrap();
    let from = space.map_file(&source, MapOptions::read_only()).unwrap();
    let bytes = 2 * sent.len() as u64;
    let to = space.map_file(&result, MapOptions::create(bytes)).unwrap();
    let input = first.open_stream("in").unwrap();
    let output = last.open_stream("out").unwrap();
    // Packets of any length in words.
    let (mut at, mut length) = (0, 4);
    while at < sent.len() as u64 {
        length = (3 * length + 4).min(sent.len() as u64 - at);
        output.write(to.slice(2 * at, 2 * length).unwrap()).unwrap();
        input.read(from.slice(at, length).unwrap()).unwrap();
        let moved = output.wait(None, |_| Continue::Yes).unwrap();
        assert_eq!((moved.bytes, moved.last), (2 * length, true));
        input.wait(None, |_| Continue::Yes).unwrap();
        at += length;
    }
    to.unmap().unwrap();
    let received = fs::read(&result).unwrap();
    let wanted: Vec<u8> = words
        .iter()
        .flat_map(|&word| {
            let ids = u64::from(word >> 4 & 0x1ff) << 48 | u64::from(word & 0xf) << 32;
            (ids | u64::from(word)).to_le_bytes()
        })
        .collect();
    let differs = received.iter().zip(&wanted).position(|(a, b)| a != b);
    assert_eq!(differs, None, "of {} bytes", wanted.len());
    assert_eq!(received.len(), wanted.len());
}

#[test]
fn a_loss_of_tid_or_tdest_is_refused() {
    let refusal = |result: Result<_, Error>| match result {
        Err(Error::Stream(error @ StreamError::Ids { .. })) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(()) => panic!("not refused"),
    };
    let card = open();
    let space = card.create_space().unwrap();
    let load = |slot, name| card.load(SlotId(slot), kernel(name), &space).unwrap();
    // The card carries less of TDEST than both kernels have, the host nothing.
    let folder = tempfile::tempdir().unwrap();
    let wide = ["id_source", "id_sink"].map(|name| {
        let texts = [
            ("tdest_width = 9", "tdest_width = 10"),
            ("[8:0]  out_tdest", "[9:0]  out_tdest"),
            ("[8:0]  in_tdest", "[9:0]  in_tdest"),
            ("in_tdata[12:0]", "in_tdata[13:0]"),
        ];
        changed(folder.path(), name, &texts)
    });
    let wide = [1, 2].map(|slot| {
        let kernel = &wide[usize::from(slot) - 1];
        card.load(SlotId(slot), kernel, &space).unwrap()
    });
    let told = refusal(card.connect(&wide[0], "out", &wide[1], "in").map(drop));
    for words in ["TDEST of 10 bits", "carries 9 bits", "tdest_width = 10"] {
        assert!(told.contains(words), "{told}");
    }
    drop(wide);
    let first = load(0, "id_source");
    let middle = load(1, "id_middle");
    let told = refusal(middle.open_stream("out").map(drop));
    for words in ["TID of 4 bits", "the host", "`drops`"] {
        assert!(told.contains(words), "{told}");
    }
    // The receiver has fewer bits, or none.
    for (key, words) in [
        (
            "tdest_width = 8\n",
            ["the receiver has 8 bits", "tdest_width = 9"],
        ),
        ("", ["the receiver has none", "tdest_width = 9"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let narrow = changed(
            folder.path(),
            "id_sink",
            &[
                ("tdest_width = 9\n", key),
                ("[8:0]  in_tdest", "[7:0]  in_tdest"),
            ],
        );
        let narrow = card.load(SlotId(2), narrow, &space).unwrap();
        let told = refusal(card.connect(&first, "out", &narrow, "in").map(drop));
        assert!(words.iter().all(|words| told.contains(words)), "{told}");
    }
}

/// A kernel with these texts replaced.
fn changed(folder: &Path, name: &str, texts: &[(&str, &str)]) -> PathBuf {
    let into = folder.join(name);
    fs::create_dir(&into).unwrap();
    for file in [&format!("{name}.sv"), "kernel.toml"] {
        let mut text = fs::read_to_string(kernel(name).join(file)).unwrap();
        for (old, new) in texts {
            text = text.replace(old, new);
        }
        fs::write(into.join(file), text).unwrap();
    }
    into
}
