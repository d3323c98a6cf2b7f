//! Does a small file cost no more than its size? Its page is no larger than its contents; its bytes are its own, and
//! the bytes that a kernel reads behind them in the page are zero, whichever space had the frame before.

use super::ranges::{bytes, copy, on_each_card_with};
use std::fs;
use std::path::Path;
use tombolo::{
    AddressSpace, Card, Error, FunctionalCard, FunctionalConfig, MapOptions, Mapping, OwnerOptions,
    PageSize,
};

fn on_each_card(test: impl Fn(Card, &Path)) {
    on_each_card_with(&OwnerOptions::default(), test);
}

fn map(space: &AddressSpace, path: &Path, options: MapOptions) -> Mapping {
    space.map_file(path, options).unwrap()
}

#[test]
fn files_of_any_size_are_copied_in_pages_that_fit() {
    const MIB_2: u64 = 2 << 20;
    on_each_card(|card, folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let space = card.create_space().unwrap();
        for (length, page) in [
            (1, 4096),
            (63, 4096),
            (64, 4096),
            (65, 4096),
            (4095, 4096),
            (4096, 4096),
            (4097, 8192),
            (100_000, 128 << 10),
            (MIB_2 - 1, MIB_2),
            (MIB_2, MIB_2),
            (MIB_2 + 1, MIB_2),
        ] {
            let content = bytes(length as usize, length as u8);
            fs::write(&from, &content).unwrap();
            let input = map(&space, &from, MapOptions::read_only());
            let output = map(&space, &to, MapOptions::create(length));
            assert_eq!(input.page_size().bytes(), page, "{length}");
            assert_eq!(output.page_size().bytes(), page, "{length}");
            copy(&card, &space, input.address(), output.address(), length).unwrap();
            output.unmap().unwrap();
            input.unmap().unwrap();
            assert!(fs::read(&to).unwrap() == content, "{length}");
        }
    });
}

/// Frames that held another's data are used again: nothing of it is seen.
#[test]
fn behind_a_small_file_are_zeroes_and_then_nothing() {
    on_each_card(|card, folder| {
        let path = |name: &str| folder.join(name);
        let secret = vec![0xaa; 1 << 20];
        fs::write(path("secret"), &secret).unwrap();
        let other = card.create_space().unwrap();
        let held = map(&other, &path("secret"), MapOptions::read_only());
        let copied = map(&other, &path("copied"), MapOptions::create(1 << 20));
        copy(&card, &other, held.address(), copied.address(), 1 << 20).unwrap();
        copied.unmap().unwrap();
        held.unmap().unwrap();
        other.close().unwrap();
        assert!(fs::read(path("copied")).unwrap() == secret);

        let space = card.create_space().unwrap();
        // Where the range begins in its file, and its bytes.
        for (offset, length) in [
            (0, 1),
            (0, 63),
            (0, 64),
            (0, 65),
            (0, 4095),
            (0, 4097),
            (0, 100_000),
            (64, 100),
            (8192 + 128, 1000),
            (8192, 4097),
        ] {
            let content = bytes(150_000, length as u8);
            fs::write(path("file"), &content).unwrap();
            let mut range = MapOptions::read_write();
            match offset {
                0 => fs::write(path("file"), &content[..length as usize]).unwrap(),
                _ => range = range.offset(offset).bytes(length),
            }
            let input = map(&space, &path("file"), range);
            let page = input.page_size().bytes();
            let seen = (offset + length).next_multiple_of(page) - offset;
            let output = map(&space, &path("seen"), MapOptions::create(seen));
            copy(&card, &space, input.address(), output.address(), seen).unwrap();
            output.unmap().unwrap();
            let seen = fs::read(path("seen")).unwrap();
            let (start, count) = (offset as usize, length as usize);
            assert!(
                seen[..count] == content[start..start + count],
                "{offset} {length}"
            );
            let strange = seen[count..].iter().position(|&byte| byte != 0);
            assert_eq!(strange, None, "{offset} {length}: somebody's byte");

            // Beyond the page there is nothing.
            let output = map(&space, &path("seen"), MapOptions::create(4 << 20));
            let beyond = seen.len() as u64 + 64;
            let refused = copy(&card, &space, input.address(), output.address(), beyond);
            assert!(matches!(refused, Err(Error::Access(_))), "{refused:?}");
            output.unmap().unwrap();

            // What is written to the range changes nothing beside it.
            fs::write(path("new"), vec![0x55; count]).unwrap();
            let new = map(&space, &path("new"), MapOptions::read_only());
            copy(&card, &space, new.address(), input.address(), length).unwrap();
            input.unmap().unwrap();
            new.unmap().unwrap();
            let file = fs::read(path("file")).unwrap();
            assert!(file[..start] == content[..start], "{offset} {length}");
            assert!(file[start..start + count].iter().all(|&byte| byte == 0x55));
            let rest = start + count..file.len();
            assert!(file[rest.clone()] == content[rest], "{offset} {length}");
        }
    });
}

#[test]
fn a_size_that_was_named_stays_as_it_is() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, bytes(5000, 1)).unwrap();
    let functional = || FunctionalCard::new(FunctionalConfig::default());
    let card = Card::functional(functional()).unwrap();
    let space = card.create_space().unwrap();
    let named = MapOptions::read_only().page_size(PageSize::MIB_2);
    let mapping = map(&space, &path, named);
    assert_eq!(mapping.page_size(), PageSize::MIB_2);
    // Whoever names none shows the pages that are there.
    let other = map(&space, &path, MapOptions::read_only());
    assert_eq!(other.page_size(), PageSize::MIB_2);
    other.unmap().unwrap();
    mapping.unmap().unwrap();
    let mapping = map(&space, &path, MapOptions::read_only());
    assert_eq!(mapping.page_size().bytes(), 8192);
    let refused = space.map_file(&path, named).unwrap_err().to_string();
    assert!(refused.contains("pages of 8 KiB"), "{refused}");

    let owner = OwnerOptions {
        page_size: Some(PageSize::MIB_2),
        ..OwnerOptions::default()
    };
    let card = Card::new(Box::new(functional()), owner).unwrap();
    let space = card.create_space().unwrap();
    let mapping = map(&space, &path, MapOptions::read_only());
    assert_eq!(mapping.page_size(), PageSize::MIB_2, "the owner's");
}

/// The file grows while it is mapped: the mapping stays as it is, and the next one has pages for all of it.
#[test]
fn a_file_that_grows_is_mapped_anew_in_larger_pages() {
    on_each_card(|card, folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let content = bytes(70_000, 7);
        fs::write(&from, &content[..3000]).unwrap();
        let space = card.create_space().unwrap();
        let small = map(&space, &from, MapOptions::read_only());
        fs::write(&from, &content).unwrap();
        let larger = space.map_file(&from, MapOptions::read_only());
        let output = map(&space, &to, MapOptions::create(4096));
        copy(&card, &space, small.address(), output.address(), 4096).unwrap();
        output.unmap().unwrap();
        let seen = fs::read(&to).unwrap();
        assert!(seen[..3000] == content[..3000]);
        assert!(
            seen[3000..].iter().all(|&byte| byte == 0),
            "the mapping has not grown"
        );
        // The range that is mapped is another one: nobody writes, so both may be.
        let large = larger.unwrap();
        assert_eq!(large.page_size().bytes(), 128 << 10);
        let output = map(&space, &to, MapOptions::create(70_000));
        copy(&card, &space, large.address(), output.address(), 70_000).unwrap();
        output.unmap().unwrap();
        assert!(fs::read(&to).unwrap() == content);
    });
}

#[test]
fn direct_pages_are_no_larger_than_what_they_hold() {
    let folder = tempfile::TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let content = bytes(5000, 3);
    fs::write(&from, &content).unwrap();
    let config = FunctionalConfig {
        host_channel: true,
        ..FunctionalConfig::default()
    };
    let card = Card::functional(FunctionalCard::new(config)).unwrap();
    let space = card.create_space().unwrap();
    let input = map(&space, &from, MapOptions::read_only().direct());
    let output = map(&space, &to, MapOptions::create(8192).direct());
    assert_eq!(input.page_size().bytes(), 8192);
    copy(&card, &space, input.address(), output.address(), 8192).unwrap();
    output.unmap().unwrap();
    let seen = fs::read(&to).unwrap();
    assert!(seen[..5000] == content && seen[5000..].iter().all(|&byte| byte == 0));
}
