//! When others have the file too: do two cards or two processes undo each other's writes, and does a file that was
//! truncated while it was mapped stay as short as it is? Bytes are compared with a model.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    PageSize, SlotId,
};

fn functional(channel_bytes: u64) -> Card {
    let config = FunctionalConfig {
        channel_bytes,
        host_channel: true,
        ..FunctionalConfig::default()
    };
    Card::functional(FunctionalCard::new(config)).unwrap()
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn bytes(&mut self, count: u64) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// Copies bytes of one mapping into another, at offsets that are multiples of 64.
fn copy(
    card: &Card,
    space: &AddressSpace,
    (from, at): (&Mapping, u64),
    (to, place): (&Mapping, u64),
    bytes: u64,
) -> Result<(), Error> {
    let slot = card.load(SlotId(0), simcard::home().join("kernels/copy"), space)?;
    slot.set("input", from.address().get() + at)?;
    slot.set("output", to.address().get() + place)?;
    slot.set("bytes", bytes)?;
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)
}

const PAGES: [Option<PageSize>; 4] = [
    None,
    Some(PageSize::KIB_4),
    PageSize::from_class(4),
    Some(PageSize::MIB_2),
];

fn options(page: Option<PageSize>, direct: bool) -> MapOptions {
    let options = MapOptions::read_write();
    let options = page.map_or(options, |page| options.page_size(page));
    match direct {
        true => options.direct(),
        false => options,
    }
}

/// Two cards, two ranges of a file that are equal, overlap or abut: the second is refused, or nothing is lost.
#[test]
fn two_cards_do_not_undo_each_others_writes() {
    let folder = TempDir::new().unwrap();
    let (file, source) = (folder.path().join("file"), folder.path().join("source"));
    let mut random = Random(88_172_645_463_325_252);
    let (mut refused, mut apart) = (0, 0);
    for round in 0..150 {
        let size = 20_000 + random.below(60_000);
        let (mut model, bytes) = (random.bytes(size), random.bytes(size));
        fs::write(&file, &model).unwrap();
        fs::write(&source, &bytes).unwrap();
        let first = 64 * random.below(size / 64 / 2);
        let end = first + 64 * (1 + random.below((size - first) / 64));
        let second = match random.below(4) {
            0 => first..end,
            1 if end < size => end..size,
            2 if first > 0 => 0..first,
            _ => 64 * random.below(end / 64)..size,
        };
        let ranges = [first..end, second];
        let overlap = ranges[0].start < ranges[1].end && ranges[1].start < ranges[0].end;
        let direct = random.below(3) == 0;
        let cards = [functional(16 << 20), functional(16 << 20)];
        let spaces = [
            cards[0].create_space().unwrap(),
            cards[1].create_space().unwrap(),
        ];
        let mut maps = Vec::new();
        for (space, range) in spaces.iter().zip(&ranges) {
            let options = options(PAGES[random.below(4) as usize], direct);
            let options = options.offset(range.start).bytes(range.end - range.start);
            maps.push(space.map_file(&file, options));
        }
        let seconds = maps.pop().unwrap();
        let firsts = maps.pop().unwrap().unwrap();
        if overlap {
            let told = seconds.unwrap_err().to_string();
            assert!(
                told.contains("/file: its bytes")
                    && told.contains("on another card of this process"),
                "{told}"
            );
            refused += 1;
            continue;
        }
        apart += 1;
        let maps = [firsts, seconds.unwrap()];
        let read = MapOptions::read_only();
        let sources = [0, 1].map(|n| spaces[n].map_file(&source, read).unwrap());
        for _ in 0..1 + random.below(5) {
            let n = random.below(2) as usize;
            let bytes_of = maps[n].bytes();
            let place = 64 * random.below(bytes_of.div_ceil(64));
            let count = 1 + random.below(bytes_of - place);
            let at = 64 * random.below((size - count) / 64 + 1);
            copy(
                &cards[n],
                &spaces[n],
                (&sources[n], at),
                (&maps[n], place),
                count,
            )
            .unwrap();
            let to = (ranges[n].start + place) as usize;
            let from = at as usize..(at + count) as usize;
            model[to..to + count as usize].copy_from_slice(&bytes[from]);
            if random.below(4) == 0 {
                maps[n].sync().unwrap();
            }
        }
        let order = random.below(2) as usize;
        maps[order].unmap().unwrap();
        maps[1 - order].unmap().unwrap();
        assert!(
            fs::read(&file).unwrap() == model,
            "round {round}: {ranges:?}"
        );
    }
    assert!(
        refused > 20 && apart > 20,
        "{refused} refused, {apart} apart"
    );
}

fn is_refused(space: &AddressSpace, file: &Path, offset: u64, bytes: u64) -> bool {
    let options = MapOptions::read_write().offset(offset).bytes(bytes);
    match space.map_file(file, options) {
        Ok(mapping) => {
            mapping.unmap().unwrap();
            false
        }
        Err(Error::Unmappable { .. }) => true,
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn a_range_is_taken_exactly_as_long_as_it_is_mapped_for_writing() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    let bytes = 8 * 4096 + 100;
    fs::write(&file, vec![7; bytes as usize]).unwrap();
    let cards = [functional(16 << 20), functional(16 << 20)];
    let [one, other] = [0, 1].map(|n| cards[n].create_space().unwrap());
    let small = MapOptions::read_write().page_size(PageSize::KIB_4);

    // Readers are free, on either side, before and after.
    let reader = other.map_file(&file, MapOptions::read_only()).unwrap();
    let written = one.map_file(&file, small.offset(100)).unwrap();
    let late = other.map_file(&file, MapOptions::read_only()).unwrap();
    late.unmap().unwrap();
    reader.unmap().unwrap();
    assert!(is_refused(&other, &file, 0, 101) && !is_refused(&other, &file, 0, 100));

    // A part that is unmapped is free, to the byte.
    let first = written.address().get();
    let page = 4096 - first % 4096;
    let parts = written.unmap_part(page, 2 * 4096).unwrap();
    let hole = 100 + page;
    assert!(!is_refused(&other, &file, hole, 2 * 4096));
    assert!(
        is_refused(&other, &file, hole - 1, 1) && is_refused(&other, &file, hole + 2 * 4096, 1)
    );
    // Whoever maps all of it again has it again, and a refusal takes nothing away.
    let taker = other.map_file(&file, MapOptions::read_write().offset(hole).bytes(10));
    assert!(one.map_file(&file, small.offset(100)).is_err());
    assert!(!is_refused(&other, &file, hole + 10, 4096));
    drop(taker);
    let again = one.map_file(&file, small.offset(100)).unwrap();
    assert!(is_refused(&other, &file, hole, 1));
    again.unmap().unwrap();
    assert!(!is_refused(&other, &file, hole, 2 * 4096) && is_refused(&other, &file, hole - 1, 1));
    drop(parts);
    assert!(!is_refused(&other, &file, 0, bytes));

    // A mapping that is refused for another reason, or fails to begin, takes nothing.
    let address = tombolo::VirtAddr::new(1).unwrap();
    assert!(one
        .map_file(&file, MapOptions::read_write().address(address))
        .is_err());
    assert!(!is_refused(&other, &file, 0, bytes));

    // The ends of a space and of a card are ends of their mappings.
    let _kept = one.map_file(&file, MapOptions::read_write()).unwrap();
    assert!(is_refused(&other, &file, 0, 1));
    one.close().unwrap();
    assert!(!is_refused(&other, &file, 0, bytes));
    let [card, _] = cards;
    let space = card.create_space().unwrap();
    let _kept = space
        .map_file(&file, MapOptions::read_write().direct())
        .unwrap();
    assert!(is_refused(&other, &file, 0, 1));
    card.close().unwrap();
    assert!(!is_refused(&other, &file, 0, bytes));
}

/// Whether another open description of a file could lock a range for writing.
fn could_lock(path: &Path, start: i64, bytes: i64) -> bool {
    let file = File::options().read(true).write(true).open(path).unwrap();
    // SAFETY: a plain record of integers, for which zeroes are values.
    let mut record: libc::flock = unsafe { std::mem::zeroed() };
    record.l_type = libc::F_WRLCK as libc::c_short;
    record.l_start = start;
    record.l_len = bytes;
    // SAFETY: the descriptor is open, and the record is there for the length of the call.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut record) };
    assert_eq!(asked, 0);
    record.l_type == libc::F_UNLCK as libc::c_short
}

#[test]
fn the_lock_is_the_librarys_own_whatever_the_program_does_with_its_descriptor() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, vec![1; 10_000]).unwrap();
    let card = functional(16 << 20);
    let space = card.create_space().unwrap();
    let mine = File::options().read(true).write(true).open(&path).unwrap();
    let options = MapOptions::read_write().offset(1000).bytes(500);
    let mapping = space
        .map_open_file(mine.try_clone().unwrap(), &path, options)
        .unwrap();
    // SAFETY: a plain record of integers, for which zeroes are values.
    let mut record: libc::flock = unsafe { std::mem::zeroed() };
    record.l_type = libc::F_UNLCK as libc::c_short;
    // SAFETY: the descriptor is open, and the record is there for the length of the call.
    let unlocked = unsafe { libc::fcntl(mine.as_raw_fd(), libc::F_OFD_SETLK, &raw mut record) };
    assert_eq!(unlocked, 0);
    drop(mine);
    assert!(!could_lock(&path, 1000, 1) && !could_lock(&path, 1499, 1));
    assert!(could_lock(&path, 0, 1000) && could_lock(&path, 1500, 0));
    // Deleted, and without rights: it is locked as ever.
    let second = space.map_open_file(
        File::options().read(true).write(true).open(&path).unwrap(),
        &path,
        MapOptions::read_write().offset(5000).bytes(5000),
    );
    assert!(!could_lock(&path, 9999, 1));
    second.unwrap().unmap().unwrap();
    assert!(could_lock(&path, 5000, 5000));
    mapping.unmap().unwrap();
    assert!(could_lock(&path, 0, 0));
}

const CHILD: &str = "TOMBOLO_TEST_WRITER";

/// The child: maps a range, reports, and waits for the end of its input.
fn map_and_wait(file: &Path) {
    let card = functional(16 << 20);
    let space = card.create_space().unwrap();
    let mapping = space
        .map_file(file, MapOptions::read_write().offset(4096))
        .unwrap();
    println!("mapped");
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().lines().count();
    mapping.unmap().unwrap();
}

fn child(name: &str, file: &Path) -> (Child, impl Sized) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, file)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut told = lines.by_ref().map_while(Result::ok);
    assert!(
        told.any(|line| line.ends_with("mapped")),
        "the child ended early"
    );
    (child, lines)
}

#[test]
fn processes_do_not_undo_each_others_writes() {
    if let Some(file) = std::env::var_os(CHILD) {
        return map_and_wait(Path::new(&file));
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, vec![3; 3 * 4096]).unwrap();
    let card = functional(16 << 20);
    let space = card.create_space().unwrap();
    for killed in [false, true] {
        let (mut child, _lines) = child("processes_do_not_undo_each_others_writes", &file);
        let told = space.map_file(&file, MapOptions::read_write()).unwrap_err();
        let told = told.to_string();
        assert!(
            told.contains("/file: its bytes 4096 to 12287 are locked by another process"),
            "{told}"
        );
        assert!(!is_refused(&space, &file, 0, 4096));
        space
            .map_file(&file, MapOptions::read_only())
            .unwrap()
            .unmap()
            .unwrap();
        match killed {
            true => child.kill().unwrap(),
            false => drop(child.stdin.take()),
        }
        child.wait().unwrap();
        assert!(!is_refused(&space, &file, 0, 3 * 4096));
    }
}

/// How a mapping ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Sync,
    Unmap,
    UnmapPart,
    Space,
    Card,
    Drop,
}

/// Bytes written beyond the end of a truncated file are an error with its name and both sizes, and the file stays
/// short.
#[test]
fn a_truncated_file_stays_short_and_whoever_saves_it_is_told() {
    let folder = TempDir::new().unwrap();
    let (source, file) = (folder.path().join("source"), folder.path().join("file"));
    let size = 200_000;
    let mut random = Random(7);
    let (new, old) = (random.bytes(size), random.bytes(size));
    fs::write(&source, &new).unwrap();
    let (offset, bytes) = (64, size - 200);
    for page in [None, Some(PageSize::KIB_4)] {
        for (direct, length) in [
            (false, 100_000),
            (true, 100_000),
            (false, 0),
            (true, 199_863),
        ] {
            for ending in [
                Ending::Sync,
                Ending::Unmap,
                Ending::UnmapPart,
                Ending::Space,
                Ending::Card,
                Ending::Drop,
            ] {
                let case = format!("{page:?}, direct {direct}, {length} bytes, {ending:?}");
                fs::write(&file, &old).unwrap();
                let card = functional(16 << 20);
                let space = card.create_space().unwrap();
                let map = options(page, direct).offset(offset).bytes(bytes);
                let output = space.map_file(&file, map).unwrap();
                let input = space.map_file(&source, MapOptions::read_only()).unwrap();
                copy(&card, &space, (&input, 0), (&output, 0), bytes).unwrap();
                let handle = File::options().write(true).open(&file).unwrap();
                handle.set_len(length).unwrap();
                let result = match ending {
                    Ending::Sync => output.sync(),
                    Ending::Unmap => output.unmap(),
                    Ending::UnmapPart => output.unmap_part(0, bytes).map(drop),
                    Ending::Space => space.close(),
                    Ending::Card => card.close().map(drop),
                    Ending::Drop => {
                        drop(output);
                        Err(Error::Interrupted)
                    }
                };
                let told = result.expect_err(&case).to_string();
                if ending != Ending::Drop {
                    let now = format!("{length} bytes now");
                    let named = told.contains("/file:") && told.contains(&now);
                    assert!(named && told.contains("truncated"), "{case}: {told}");
                }
                drop((space, card));
                let left = fs::read(&file).unwrap();
                assert_eq!(left.len() as u64, length, "{case}");
                // A page that does not fit is not written; one that does is, whole.
                for (at, byte) in left.iter().enumerate() {
                    let is_mapped = at as u64 >= offset;
                    let page = page.map_or(PageSize::MIB_2.bytes(), PageSize::bytes) as usize;
                    let end = ((at / page + 1) * page).min((offset + bytes) as usize);
                    let wanted = match is_mapped && end as u64 <= length {
                        true => new[at - offset as usize],
                        false => old[at],
                    };
                    // Pages of which several are written at once are there or not.
                    let held = !is_mapped || wanted == old[at] || *byte == old[at];
                    assert!(*byte == wanted || (is_mapped && held), "{case}: byte {at}");
                }
            }
        }
    }
}

/// A file that was truncated and has its size again was written by others, with zeroes: what a kernel wrote goes over
/// them; pages that it only read are as they were until they are read again.
#[test]
fn a_file_that_was_truncated_and_grown_again_gets_what_was_written() {
    let folder = TempDir::new().unwrap();
    let (source, file) = (folder.path().join("source"), folder.path().join("file"));
    let size = 200_000;
    let mut random = Random(9);
    let (new, old) = (random.bytes(size), random.bytes(size));
    fs::write(&source, &new).unwrap();
    for (page, direct) in [(None, false), (Some(PageSize::KIB_4), false), (None, true)] {
        fs::write(&file, &old).unwrap();
        let card = functional(16 << 20);
        let space = card.create_space().unwrap();
        let output = space.map_file(&file, options(page, direct)).unwrap();
        let input = space.map_file(&source, MapOptions::read_only()).unwrap();
        copy(&card, &space, (&input, 0), (&output, 0), size).unwrap();
        let handle = File::options().write(true).open(&file).unwrap();
        handle.set_len(100_000).unwrap();
        output.sync().unwrap_err();
        handle.set_len(size).unwrap();
        // What failed stayed on the card.
        output.sync().unwrap();
        assert!(fs::read(&file).unwrap() == new);
        handle.set_len(0).unwrap();
        handle.set_len(size).unwrap();
        output.unmap().unwrap();
        // Nothing was written since: the file is as others left it.
        assert!(fs::read(&file).unwrap() == vec![0; size as usize]);
    }
}
