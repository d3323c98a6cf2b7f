//! Does a file that is to be made anew keep its bytes until nothing can be refused any more?

use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tombolo::{AddressSpace, Card, Error, FunctionalCard, FunctionalConfig, MapOptions, VirtAddr};

const OLD: &[u8] = b"somebody's only copy";

fn space() -> AddressSpace {
    let card = FunctionalCard::new(FunctionalConfig::default());
    Card::functional(card).unwrap().create_space().unwrap()
}

/// Maps a file for reading, and is refused to make it anew under another name.
fn refused(other_name: impl Fn(&Path, &Path)) {
    let folder = TempDir::new().unwrap();
    let (file, other) = (folder.path().join("file"), folder.path().join("other"));
    fs::write(&file, OLD).unwrap();
    other_name(&file, &other);
    let space = space();
    for options in [MapOptions::read_only(), MapOptions::read_write()] {
        let _mapped = space.map_file(&file, options).unwrap();
        for size in [OLD.len() as u64, 5000] {
            let error = space.map_file(&other, MapOptions::create(size));
            let said = error.unwrap_err().to_string();
            assert!(
                said.contains("other") && said.contains("unmap it first"),
                "{said}"
            );
            assert_eq!(fs::read(&file).unwrap(), OLD);
        }
    }
}

#[test]
fn what_is_mapped_is_not_emptied_by_any_name() {
    refused(|file, other| fs::hard_link(file, other).unwrap());
    refused(|file, other| std::os::unix::fs::symlink(file, other).unwrap());
}

#[test]
fn a_mapping_that_is_refused_changes_no_file_and_leaves_none() {
    let folder = TempDir::new().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    let link = folder.path().join("link");
    fs::write(&old, OLD).unwrap();
    std::os::unix::fs::symlink(&new, &link).unwrap();
    let space = space();
    let taken = folder.path().join("taken");
    let taken = space.map_file(&taken, MapOptions::create(1)).unwrap();
    let create = MapOptions::create;
    for options in [
        create(0),
        create(10).offset(10),
        create(10).bytes(11),
        create(5000).address(taken.address()),
        create(5000).address(VirtAddr::new(1).unwrap()),
        // No file system has that much, and no address space.
        create(u64::MAX),
        create(i64::MAX as u64),
        create(1 << 60),
    ] {
        for path in [&old, &new, &link] {
            assert!(space.map_file(path, options).is_err(), "{options:?}");
        }
        assert_eq!(fs::read(&old).unwrap(), OLD, "{options:?}");
        assert!(!new.exists(), "{options:?}");
    }
}

#[test]
fn a_file_that_is_accepted_is_empty_and_large() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, vec![7; 10_000]).unwrap();
    let space = space();
    let mapping = space.map_file(&path, MapOptions::create(5000)).unwrap();
    assert_eq!(mapping.bytes(), 5000);
    assert_eq!(fs::read(&path).unwrap(), vec![0; 5000]);
    mapping.unmap().unwrap();
    assert_eq!(fs::read(&path).unwrap(), vec![0; 5000]);
}

#[test]
fn a_pipe_is_refused_rather_than_waited_for() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let space = space();
    for options in [
        MapOptions::read_only(),
        MapOptions::read_write(),
        MapOptions::create(1),
    ] {
        let error = space.map_file(&pipe, options).unwrap_err();
        assert!(matches!(error, Error::Unmappable { .. }), "{error}");
    }
}
