//! Are streams at addresses what came, in order, no more and no less? And is every bad end an error? On the functional card.

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{spawn, JoinHandle};
use std::time::Duration;
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, Device, DeviceError, Error, FunctionalCard, FunctionalConfig,
    MapOptions, Mapping, PageSize, SlotId, Unsaved,
};

/// No whole page.
const BYTES: usize = 30_001;

fn card() -> Card {
    Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap()
}

fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    let byte = |n: u32| (n.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13) as u8;
    (0..bytes as u32).map(byte).collect()
}

fn device(kind: &str, path: &Path, options: &str) -> Device {
    let mut text = OsString::from(kind);
    text.push(path);
    text.push(options);
    Device::parse(&text).unwrap()
}

fn fifo(folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    path
}

/// Writes to a path in odd pieces.
fn writer(path: PathBuf, bytes: Vec<u8>) -> JoinHandle<()> {
    spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(path).unwrap();
        for piece in bytes.chunks(1_777) {
            pipe.write_all(piece).unwrap();
        }
    })
}

fn copy(card: &Card, space: &AddressSpace, maps: [&Mapping; 2], bytes: usize) -> Result<(), Error> {
    let slot = card.load(SlotId(0), simcard::home().join("kernels/copy"), space)?;
    slot.set_pointer("input", maps[0].address())?;
    slot.set_pointer("output", maps[1].address())?;
    slot.set("bytes", bytes as u64)?;
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    Ok(())
}

#[test]
fn a_kernel_reads_a_pipe_and_writes_a_socket() {
    let folder = TempDir::new().unwrap();
    let (path, socket) = (fifo(&folder, "in"), folder.path().join("out"));
    let listener = UnixListener::bind(&socket).unwrap();
    let reader = spawn(move || {
        let mut all = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut all).unwrap();
        all
    });
    let writes = writer(path.clone(), pattern(1, BYTES));
    let card = card();
    let space = card.create_space().unwrap();
    let (bytes, plain) = (BYTES as u64, MapOptions::read_only());
    let input = space.map_stream(device("pipe:", &path, ""), bytes, plain);
    let output = MapOptions::read_write();
    let output = space.map_stream(device("unix:", &socket, ""), bytes, output);
    let (input, output) = (input.unwrap(), output.unwrap());
    copy(&card, &space, [&input, &output], BYTES).unwrap();
    writes.join().unwrap();
    // The pages come again, from what was kept.
    input.refresh(Unsaved::Save).unwrap();
    copy(&card, &space, [&input, &output], BYTES).unwrap();
    output.unmap().unwrap();
    assert!(reader.join().unwrap() == pattern(1, BYTES));
}

#[test]
fn no_more_is_read_than_kernels_want() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("in");
    let listener = UnixListener::bind(&path).unwrap();
    let card = card();
    let space = card.create_space().unwrap();
    let plain = MapOptions::read_only();
    let input = space.map_stream(device("unix:", &path, ""), 1 << 20, plain);
    let input = input.unwrap();
    let output = MapOptions::create(8192);
    let output = space.map_file(folder.path().join("out"), output).unwrap();
    let peer = spawn(move || {
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(&pattern(2, 8192)).unwrap();
        peer
    });
    // A kernel that wanted more would wait for ever.
    copy(&card, &space, [&input, &output], 8192).unwrap();
    let mut peer: UnixStream = peer.join().unwrap();
    peer.write_all(b"and so on").unwrap();
    output.unmap().unwrap();
    assert!(fs::read(folder.path().join("out")).unwrap() == pattern(2, 8192));
}

#[test]
fn streams_that_end_early_or_are_late_fail_the_kernel() {
    let folder = TempDir::new().unwrap();
    for (text, expected) in [
        (Some(5_000), "has ended after 5000 bytes"),
        (None, "nothing came within 200ms, after 0 bytes"),
    ] {
        let path = fifo(&folder, &format!("in{}", text.is_some()));
        let writes = text.map(|bytes| writer(path.clone(), pattern(3, bytes)));
        // Somebody has it open and says nothing.
        let how = fs::OpenOptions::new().read(true).write(true).open(&path);
        let silent = how.ok().filter(|_| text.is_none());
        let card = card();
        let space = card.create_space().unwrap();
        let plain = MapOptions::read_only();
        let named = device("pipe:", &path, ":timeout=200ms");
        let input = space.map_stream(named, BYTES as u64, plain).unwrap();
        let output = MapOptions::create(BYTES as u64);
        let output = space.map_file(folder.path().join("out"), output).unwrap();
        let error = copy(&card, &space, [&input, &output], BYTES).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        if let Some(writes) = writes {
            writes.join().unwrap();
        }
        drop(silent);
    }
}

#[test]
fn what_cannot_go_out_in_order_is_an_error() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("in"), pattern(4, BYTES)).unwrap();
    let path = fifo(&folder, "out");
    let reads = spawn({
        let path = path.clone();
        move || fs::read(path).unwrap()
    });
    let card = card();
    let space = card.create_space().unwrap();
    let input = folder.path().join("in");
    let input = space.map_file(&input, MapOptions::read_only()).unwrap();
    let (both, bytes) = (MapOptions::read_write(), 2 * BYTES as u64);
    let output = space.map_stream(device("pipe:", &path, ""), bytes, both);
    let output = output.unwrap();
    copy(&card, &space, [&input, &output], 4096).unwrap();
    output.sync().unwrap();
    // A gap behind what is out.
    let slot = card
        .load(SlotId(0), simcard::home().join("kernels/copy"), &space)
        .unwrap();
    slot.set_pointer("input", input.address()).unwrap();
    slot.set("output", output.address().get() + 12_288).unwrap();
    slot.set("bytes", 4096u64).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    let error = output.sync().unwrap_err().to_string();
    assert!(error.contains("without gaps"), "{error}");
    // Other bytes where some are out.
    copy(&card, &space, [&input, &output], 4096).unwrap();
    slot_writes_other(&card, &space, [&input, &output]);
    let error = output.sync().unwrap_err().to_string();
    assert!(error.contains("gone out already"), "{error}");
    assert!(output.unmap().is_err());
    assert!(reads.join().unwrap() == pattern(4, 4096));
}

/// A mebibyte from a file to a FIFO at addresses.
fn fill(path: &Path, options: &str) -> (TempDir, Card, AddressSpace, [Mapping; 2]) {
    let folder = TempDir::new().unwrap();
    let input = folder.path().join("in");
    fs::write(&input, pattern(5, 1 << 20)).unwrap();
    let card = card();
    let space = card.create_space().unwrap();
    let input = space.map_file(&input, MapOptions::read_only()).unwrap();
    let named = device("pipe:", path, options);
    let output = space.map_stream(named, 1 << 20, MapOptions::read_write());
    let output = output.unwrap();
    (folder, card, space, [input, output])
}

#[test]
fn a_kernel_waits_for_a_reader_that_is_slow() {
    let folder = TempDir::new().unwrap();
    let path = fifo(&folder, "out");
    let taken = Arc::new(AtomicUsize::new(0));
    let reads = spawn({
        let (path, taken) = (path.clone(), taken.clone());
        move || {
            let (mut pipe, mut all) = (fs::File::open(path).unwrap(), Vec::<u8>::new());
            let mut piece = [0; 10_001];
            loop {
                let read = pipe.read(&mut piece).unwrap();
                if read == 0 {
                    return all;
                }
                all.extend(&piece[..read]);
                taken.store(all.len(), Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    });
    let (_folder, card, space, [input, output]) = fill(&path, "");
    copy(&card, &space, [&input, &output], 1 << 20).unwrap();
    // What is on the card, in the host and in the FIFO is bounded.
    let left = (1 << 20) - taken.load(Ordering::SeqCst);
    assert!(left <= 32 * 4096 + 65_536 + 10_001, "{left}");
    output.unmap().unwrap();
    assert!(reads.join().unwrap() == pattern(5, 1 << 20));
}

#[test]
fn a_reader_that_takes_nothing_or_closes_fails_the_kernel() {
    for (takes, expected) in [(0, "took nothing within 200ms"), (100_000, "closed")] {
        let folder = TempDir::new().unwrap();
        let path = fifo(&folder, "out");
        let reads = spawn({
            let path = path.clone();
            move || {
                let mut pipe = fs::File::open(path).unwrap();
                pipe.read_exact(&mut vec![0; takes]).unwrap();
                (takes == 0).then_some(pipe)
            }
        });
        let (_folder, card, space, [input, output]) = fill(&path, ":timeout=200ms");
        let error = copy(&card, &space, [&input, &output], 1 << 20).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        // Others go on, and the mapping says it, too.
        let other = MapOptions::create(4096);
        let other = space.map_file(folder.path().join("other"), other).unwrap();
        copy(&card, &space, [&input, &other], 4096).unwrap();
        let error = output.unmap().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        drop(reads.join().unwrap());
    }
}

/// Writes other bytes to the first page.
fn slot_writes_other(card: &Card, space: &AddressSpace, [input, output]: [&Mapping; 2]) {
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, space).unwrap();
    slot.set("input", input.address().get() + 64).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", 4096u64).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
}

#[test]
fn what_is_no_stream_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), [1]).unwrap();
    let pipe = fifo(&folder, "pipe");
    let card = card();
    let space = card.create_space().unwrap();
    let plain = MapOptions::read_only();
    let map = |device, bytes| space.map_stream(device, bytes, plain).unwrap_err();
    let error = map(device("pipe:", &folder.path().join("file"), ""), 5);
    let unfit = matches!(error, Error::Device(DeviceError::Unfit { .. }));
    assert!(unfit, "{error}");
    let error = map(device("pipe:", &pipe, ":live"), 5).to_string();
    assert!(error.contains("leave :live away"), "{error}");
    let error = map(device("pipe:", &pipe, ""), 0).to_string();
    assert!(error.contains("how many bytes"), "{error}");
    let mut name = OsString::from("pipe:");
    name.push(&pipe);
    // By name, with the number of bytes in the options.
    let named = space.map_file(&name, plain.bytes(9)).unwrap();
    named.unmap().unwrap();
    let large = plain.page_size(PageSize::MIB_2);
    let large = space.map_stream(device("pipe:", &pipe, ""), 5 << 20, large);
    large.unwrap().unmap().unwrap();
}
