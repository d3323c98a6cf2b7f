//! Is a mapping exact to the byte? Bytes around it are neither visible nor changed, whichever other client maps the
//! same page, and an attempt to write there is an error.

use simcard::SimCard;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions,
    OwnerOptions, PageSize, Picoseconds, SimOptions, SlotId, VirtAddr,
};

/// Runs a test on every kind of card, with pages of 2 MiB: what is mapped here is less than a page.
fn on_each_card(test: impl Fn(Card, &Path)) {
    let page_size = Some(PageSize::MIB_2);
    let owner = OwnerOptions {
        page_size,
        ..OwnerOptions::default()
    };
    on_each_card_with(&owner, test);
}

/// Runs a test on every kind of card.
pub(super) fn on_each_card_with(owner: &OwnerOptions, test: impl Fn(Card, &Path)) {
    let cards: [Box<dyn card::Card>; 2] = [
        Box::new(FunctionalCard::new(FunctionalConfig::default())),
        Box::new(SimCard::open(SimOptions::named("f1").unwrap(), |_| {}).unwrap()),
    ];
    for raw in cards {
        let folder = TempDir::new().unwrap();
        eprintln!("on {}", raw.description().name);
        let card = Card::new(raw, owner.clone()).unwrap();
        test(card, folder.path());
    }
}

pub(super) fn bytes(count: usize, seed: u8) -> Vec<u8> {
    (0..count).map(|n| (n % 251) as u8 ^ seed | 1).collect()
}

pub(super) fn copy(
    card: &Card,
    space: &AddressSpace,
    from: VirtAddr,
    to: VirtAddr,
    bytes: u64,
) -> Result<(), Error> {
    let kernel: PathBuf = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, space)?;
    slot.set_pointer("input", from)?;
    slot.set_pointer("output", to)?;
    slot.set("bytes", bytes)?;
    slot.start()?;
    slot.wait(Some(Picoseconds::from_millis(100)), |_| Continue::Yes)
}

/// Two spaces write into ranges of one page of one file, a third range of it is only read; all that
/// changes is what was mapped writable and written.
#[test]
fn ranges_of_one_page_are_apart() {
    on_each_card(|card, folder| {
        let old = bytes(70_000, 0x80);
        let (file, source) = (folder.join("file"), folder.join("source"));
        fs::write(&file, &old).unwrap();
        let new = bytes(8000, 0);
        fs::write(&source, &new).unwrap();
        let spaces = [card.create_space().unwrap(), card.create_space().unwrap()];
        let ranges = [(128, 100), (4096, 1001), (65_536, 64)];
        let outputs: Vec<_> = ranges
            .iter()
            .zip([&spaces[0], &spaces[1], &spaces[0]])
            .map(|(&(offset, bytes), space)| {
                let options = MapOptions::read_write().offset(offset).bytes(bytes);
                (space, space.map_file(&file, options).unwrap())
            })
            .collect();
        // Reads of a range between them, at an address that shows nothing else of the file.
        let between = MapOptions::read_only().offset(1024).bytes(2000);
        let between = spaces[0].map_file(&file, between).unwrap();
        let mut expected = old.clone();
        for (number, ((offset, length), (space, output))) in ranges.iter().zip(&outputs).enumerate()
        {
            let input = MapOptions::read_only().offset(64 * number as u64);
            let input = space.map_file(&source, input).unwrap();
            copy(&card, space, input.address(), output.address(), *length).unwrap();
            let (at, length) = (*offset as usize, *length as usize);
            let from = 64 * number;
            expected[at..at + length].copy_from_slice(&new[from..from + length]);
        }
        let seen = folder.join("seen");
        let output = spaces[0].map_file(&seen, MapOptions::create(8192)).unwrap();
        copy(&card, &spaces[0], between.address(), output.address(), 4096).unwrap();
        output.unmap().unwrap();
        let seen = fs::read(&seen).unwrap();
        assert!(seen[..2000] == old[1024..3024]);
        assert!(
            seen[2000..].iter().all(|&byte| byte == 0),
            "another part of the file"
        );
        for (_, output) in outputs {
            output.unmap().unwrap();
        }
        assert!(fs::read(&file).unwrap() == expected);
    });
}

#[test]
fn a_write_around_a_range_changes_nothing_and_is_told() {
    on_each_card(|card, folder| {
        let old = bytes(70_000, 0x80);
        let (file, source) = (folder.join("file"), folder.join("source"));
        let new = bytes(8000, 0);
        fs::write(&source, &new).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&source, MapOptions::read_only()).unwrap();
        // Offset and length of the range; where the kernel writes, from the range's start; what is said.
        let behind = "1 bytes behind its last byte";
        for (offset, length, from, count, told) in [
            (4096, 100, 0, 101, behind),
            (4096, 100, 0, 4000, behind),
            (4096, 4096, 4096, 64, behind),
            (4096, 64, 0, 65, behind),
            (4096, 100, -64, 164, "64 bytes before its first byte"),
            (69_952, 48, 0, 49, behind),
        ] {
            fs::write(&file, &old).unwrap();
            let options = MapOptions::read_write().offset(offset).bytes(length);
            let output = space.map_file(&file, options).unwrap();
            let at = output.address().get().wrapping_add_signed(from);
            let at = VirtAddr::new(at).unwrap();
            copy(&card, &space, input.address(), at, count).unwrap();
            let first = match from {
                ..0 => at.get(),
                _ => output.address().get() + length,
            };
            let error = output.unmap().unwrap_err();
            let said = error.to_string();
            assert!(
                matches!(&error, Error::Outside { address, .. } if address.get() == first),
                "{said}"
            );
            assert!(said.contains("file: ") && said.contains(told), "{said}");
            let mut expected = old.clone();
            for number in 0..count as i64 {
                let place = offset as i64 + from + number;
                if (offset as i64..(offset + length) as i64).contains(&place) {
                    expected[place as usize] = new[number as usize];
                }
            }
            assert!(
                fs::read(&file).unwrap() == expected,
                "{offset} {length} {from}"
            );
        }
        // A sync tells it too, and so does every later one that writes the page, until the page has left.
        let output = MapOptions::read_write().bytes(100);
        let output = space.map_file(&file, output).unwrap();
        copy(&card, &space, input.address(), output.address(), 101).unwrap();
        assert!(matches!(output.sync(), Err(Error::Outside { .. })));
        copy(&card, &space, input.address(), output.address(), 100).unwrap();
        assert!(matches!(output.unmap(), Err(Error::Outside { .. })));
        let output = MapOptions::read_write().bytes(100);
        let output = space.map_file(&file, output).unwrap();
        copy(&card, &space, input.address(), output.address(), 100).unwrap();
        output.unmap().unwrap();
        assert!(fs::read(&file).unwrap()[..100] == new[..100]);
    });
}

#[test]
fn ranges_that_would_differ_are_refused() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, bytes(10_000, 0)).unwrap();
    let spaces = [card.create_space().unwrap(), card.create_space().unwrap()];
    let map = |space: usize, options: MapOptions, offset: u64, bytes: u64| {
        spaces[space].map_file(&file, options.offset(offset).bytes(bytes))
    };
    let (reads, writes) = (MapOptions::read_only(), MapOptions::read_write());
    let first = map(0, writes, 1000, 1000).unwrap();
    for (offset, bytes) in [(0, 10_000), (1999, 1), (1500, 1), (0, 1001)] {
        for options in [reads, writes] {
            let refused = map(1, options, offset, bytes).unwrap_err().to_string();
            assert!(
                refused.contains("1000 to 1999") && refused.contains("file"),
                "{refused}"
            );
        }
    }
    // The same range is shared; ranges apart are free; readers may overlap.
    let _same = map(1, writes, 1000, 1000).unwrap();
    let _apart = (
        map(0, writes, 0, 1000).unwrap(),
        map(1, reads, 2000, 8000).unwrap(),
    );
    let _readers = (
        map(0, reads, 3000, 5000).unwrap(),
        map(1, reads, 3001, 1).unwrap(),
    );
    first.unmap().unwrap();
}

#[test]
fn a_pointer_that_the_kernel_would_round_is_refused() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, bytes(10_000, 0)).unwrap();
    let space = card.create_space().unwrap();
    let mapping = MapOptions::read_only().offset(1000).bytes(500);
    let mapping = space.map_file(&file, mapping).unwrap();
    let refused = copy(&card, &space, mapping.address(), mapping.address(), 500);
    let said = refused.unwrap_err().to_string();
    for word in ["copy", "`input`", "multiples of 64", "40 too high"] {
        assert!(said.contains(word), "{said}");
    }
}

/// The work for a page depends on the bytes behind it.
#[test]
fn huge_pages_for_a_small_file_are_no_work() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let content = bytes(100_000, 0);
    fs::write(&from, &content).unwrap();
    let space = card.create_space().unwrap();
    let huge = |options: MapOptions| options.page_size(PageSize::GIB_1);
    let input = space
        .map_file(&from, huge(MapOptions::read_only()))
        .unwrap();
    let output = huge(MapOptions::create(100_000));
    let output = space.map_file(&to, output).unwrap();
    copy(&card, &space, input.address(), output.address(), 100_000).unwrap();
    output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == content);
    let link = card.report().unwrap().statistics.link;
    let zeroed = link.rows_zeroed * 64;
    assert!(
        zeroed <= 8 << 20,
        "{zeroed} bytes were zeroed for a file of 100 kB"
    );
}

/// `munmap` of the middle of a mapping: its bytes are in the file, its addresses free, and both sides as before.
#[test]
fn a_part_of_a_mapping_ends_and_the_rest_stays() {
    on_each_card(|card, folder| {
        let page = PageSize::from_class(4).unwrap();
        let size = page.bytes();
        let path = |name: &str| folder.join(name);
        let content = bytes(5 * size as usize - 100, 3);
        fs::write(path("in"), &content).unwrap();
        let length = content.len() as u64;
        let space = card.create_space().unwrap();
        let plain = MapOptions::read_only().page_size(page);
        let input = space.map_file(path("in"), plain).unwrap();
        let created = MapOptions::create(length).page_size(page);
        let output = space.map_file(path("out"), created).unwrap();
        let (from, to) = (input.address(), output.address());
        copy(&card, &space, from, to, length).unwrap();

        // In the middle of a page, nothing, and more than there is.
        for (offset, bytes, told) in [
            (100, size, "begins at a page"),
            (size, 0, "mapped"),
            (size, length, "mapped"),
        ] {
            let error = output.unmap_part(offset, bytes).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
        // It grows to two whole pages.
        let mut left = output.unmap_part(size, size + 1).unwrap();
        let range = |mapping: &tombolo::Mapping| (mapping.address().get(), mapping.bytes());
        let sides = [(to.get(), size), (to.get() + 3 * size, length - 3 * size)];
        assert_eq!(left.iter().map(range).collect::<Vec<_>>(), sides);
        let gone = output.sync().unwrap_err();
        assert!(matches!(gone, Error::Gone { .. }), "{gone}");
        let file = fs::read(path("out")).unwrap();
        let middle = size as usize..3 * size as usize;
        assert!(file[middle.clone()] == content[middle]);
        let hole = VirtAddr::new(to.get() + size).unwrap();
        let failed = copy(&card, &space, from, hole, 64).unwrap_err();
        assert!(matches!(failed, Error::Access(_)), "{failed}");

        // What is left shows the same bytes, and another file may be mapped between.
        fs::write(path("other"), bytes(2 * size as usize, 9)).unwrap();
        let other = MapOptions::read_write().page_size(page).address(hole);
        let other = space.map_file(path("other"), other).unwrap();
        copy(&card, &space, left[1].address(), hole, size).unwrap();
        let (back, front) = (left.pop().unwrap(), left.pop().unwrap());
        assert!(front.unmap_part(0, size).unwrap().is_empty());
        back.unmap().unwrap();
        assert!(fs::read(path("out")).unwrap() == content);
        // Nobody took it along.
        copy(&card, &space, hole, hole, 64).unwrap();
        other.unmap().unwrap();
        let other = fs::read(path("other")).unwrap();
        let third = 3 * size as usize;
        assert!(other[..size as usize] == content[third..third + size as usize]);
        assert!(other[size as usize..] == bytes(2 * size as usize, 9)[size as usize..]);
    });
}
