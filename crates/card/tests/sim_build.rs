//! Is a model built once, whole, and only when something that matters changed?

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use tombolo_card::sim::build::{Builder, Design, FileSet, Progress, Toolchain};

fn design(folder: &Path, text: &str) -> Design {
    std::fs::write(folder.join("tiny.sv"), text).unwrap();
    Design {
        name: "tiny".into(),
        top: "tiny".into(),
        clock: "ap_clk".into(),
        file_sets: vec![FileSet::new(folder, vec!["tiny.sv".into()])],
        generated: None,
    }
}

fn counter(folder: &Path, constant: u32) -> Design {
    let text = format!(
        "module tiny (input logic ap_clk, output logic [31:0] q);\n\
         always_ff @(posedge ap_clk) q <= q + {constant};\nendmodule\n"
    );
    design(folder, &text)
}

/// Builds, and tells whether Verilator had to run.
fn built(builder: &Builder, design: &Design) -> bool {
    let mut verilated = false;
    let mut progress = |progress| verilated |= matches!(progress, Progress::Verilating { .. });
    builder.build(design, &|_| Ok(()), &mut progress).unwrap();
    verilated
}

/// Names of the folders in a cache.
fn folders(cache: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(cache.join("models")).unwrap();
    entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

// One test, so that Verilator's runtime is compiled into one cache only once.
#[test]
fn models_are_built_once_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());

    let broken = design(folder.path(), "module tiny (input logic ap_clk; endmodule");
    let refused = builder.build(&broken, &|_| Ok(()), &mut |_| {});
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("tiny.sv:1"), "{message}");
    assert_eq!(
        folders(cache.path()),
        [""; 0],
        "a refused design leaves nothing behind"
    );

    let four = counter(folder.path(), 4);
    let builds = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| builds.fetch_add(built(&builder, &four).into(), Ordering::Relaxed));
        }
    });
    assert_eq!(builds.into_inner(), 1, "concurrent builders take turns");

    assert!(built(&builder, &counter(folder.path(), 5)));
    assert!(!built(&builder, &counter(folder.path(), 4)));
    assert!(!built(&builder, &counter(folder.path(), 5)));
    let names = folders(cache.path());
    assert!(names.iter().all(|name| !name.contains("tmp")), "{names:?}");
    assert_eq!(names.len(), 3, "two models and the runtime: {names:?}");
}
