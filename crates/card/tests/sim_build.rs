//! Is a model built once, whole, and only when something that matters changed?

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use tombolo_card::sim::build::{Builder, Design, FileSet, Progress, Toolchain};

fn design(folder: &Path, constant: u32) -> Design {
    let text = format!(
        "module tiny (input logic ap_clk, output logic [31:0] q);\n\
         always_ff @(posedge ap_clk) q <= q + {constant};\nendmodule\n"
    );
    std::fs::write(folder.join("tiny.sv"), text).unwrap();
    Design {
        name: "tiny".into(),
        top: "tiny".into(),
        clock: "ap_clk".into(),
        file_sets: vec![FileSet::new(folder, vec!["tiny.sv".into()])],
        generated: None,
    }
}

/// Builds, and tells whether a compiler had to run.
fn built(builder: &Builder, design: &Design) -> bool {
    let mut compiled = false;
    builder
        .build(design, &|_| Ok(()), &mut |progress| {
            compiled |= matches!(progress, Progress::Verilating { .. });
        })
        .unwrap();
    compiled
}

#[test]
fn the_cache_knows_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    assert!(built(&builder, &design(folder.path(), 1)));
    assert!(!built(&builder, &design(folder.path(), 1)));
    assert!(built(&builder, &design(folder.path(), 2)));
    assert!(!built(&builder, &design(folder.path(), 1)));
}

#[test]
fn concurrent_builders_build_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    let design = design(folder.path(), 3);
    let builds = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| builds.fetch_add(built(&builder, &design).into(), Ordering::Relaxed));
        }
    });
    assert_eq!(builds.into_inner(), 1);
    let left: Vec<_> = std::fs::read_dir(cache.path().join("models"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_refused_design_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    let design = design(folder.path(), 4);
    std::fs::write(folder.path().join("tiny.sv"), "module tiny (input logic ap_clk; endmodule")
        .unwrap();
    let error = builder.build(&design, &|_| Ok(()), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("tiny.sv:1"), "{error}");
    let folders = std::fs::read_dir(cache.path().join("models"))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().is_dir())
        .count();
    assert_eq!(folders, 0);
}
