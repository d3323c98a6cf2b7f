//! Does the report say which line of a program waits for pages that go to and fro?

use super::{functional, Node};
use crate::common::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use tombolo::report::TrapPlace;
use tombolo::{PageSize, SlotId, TrapWay};

/// A foreign library; the access is in its third line.
const SOURCE: &str = r#"extern "C" unsigned long look(volatile unsigned long *at)
{
    return *at;
}
"#;

/// The library, compiled with lines or without them. `None` if there is no g++.
fn compile(folder: &Path, lines: &str) -> Option<PathBuf> {
    std::fs::write(folder.join("touch.cpp"), SOURCE).unwrap();
    let library = folder.join("touch.so");
    let mut compiler = Command::new("g++");
    compiler.args([lines, "-O1", "-shared", "-fPIC", "touch.cpp", "-o"]);
    let done = compiler.arg(&library).current_dir(folder).status().ok()?;
    assert!(done.success());
    Some(library)
}

/// The source lines at which, by the report, a program waited that reads three times what a kernel changes.
fn places(library: &Path, way: TrapWay) -> Vec<TrapPlace> {
    // SAFETY: a library that does nothing when it is loaded, and a function of this type in it.
    let library = unsafe { libloading::Library::new(library) }.unwrap();
    let look: libloading::Symbol<'_, unsafe extern "C" fn(*const u64) -> u64> =
        // SAFETY: as above.
        unsafe { library.get(b"look") }.unwrap();
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let memory = space
        .alloc_with_traps(2 * 4096, PageSize::KIB_4, way)
        .unwrap();
    let result = space.alloc_with_pages(4096, PageSize::KIB_4).unwrap();
    let nodes = build(&memory, 2, 64);
    let output = &result.slice::<Node>()[0];
    for round in 1..=3 {
        wait(&start(&card, SlotId(0), &space, nodes[0], output, 1, 0)).unwrap();
        // SAFETY: a word of memory that is there.
        let value = unsafe { look(nodes[1].value.as_ptr()) };
        assert_eq!(value, 4 + round);
    }
    let report = card.report().unwrap();
    let places = report.paging.ping_pong[0].places.clone();
    let text = report.to_string();
    for at in &places {
        let line = format!("    {} times at {}\n", at.traps, at.place);
        assert!(text.contains(&line), "{text}");
    }
    places
}

#[test]
fn the_report_names_the_line_that_waits() {
    let folder = tempfile::tempdir().unwrap();
    let folder_without = tempfile::tempdir().unwrap();
    let both = compile(folder.path(), "-g").zip(compile(folder_without.path(), "-g0"));
    let Some((with, without)) = both else {
        let line = b"skipped: the_report_names_the_line_that_waits: no g++\n";
        return std::io::stderr().write_all(line).unwrap();
    };
    // What the system does not have is another way by itself.
    for way in [TrapWay::Protect, TrapWay::InThread, TrapWay::Userfault] {
        let named = places(&with, way);
        assert_eq!((named.len(), named[0].traps), (1, 2), "{way:?}: {named:?}");
        let place = &named[0].place;
        assert!(place.ends_with("/touch.cpp:3"), "{way:?}: {place}");
        let function = &places(&without, way)[0].place;
        assert_eq!(function, "look in touch.so", "{way:?}");
    }
}
