//! Checks that a model is built once, completely, and only when an input changed.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use verilated::{Builder, Compiler, Design, FileSet, Progress, Toolchain};

fn design(folder: &Path, text: &str) -> Design {
    std::fs::write(folder.join("tiny.sv"), text).unwrap();
    Design {
        name: "tiny".into(),
        top: "tiny".into(),
        clock: "ap_clk".into(),
        file_sets: vec![FileSet::new(folder, vec!["tiny.sv".into()])],
        defines: Vec::new(),
        parameters: Vec::new(),
        sleeping: Vec::new(),
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

/// Builds, and returns the reported damage of the cache.
fn mended(builder: &Builder, design: &Design) -> Option<String> {
    let mut damaged = None;
    let mut progress = |progress| {
        if let Progress::Damaged { folder, reason, .. } = progress {
            damaged = Some(format!("{}: {reason}", folder.display()));
        }
    };
    let built = builder.model(design, &|_| Ok(()), &mut progress).unwrap();
    let library = std::fs::read(built.library()).unwrap();
    assert!(library.starts_with(b"\x7fELF") && library.len() > 100_000);
    damaged
}

/// Builds, and returns whether Verilator had to run.
fn built(builder: &Builder, design: &Design) -> bool {
    let mut verilated = false;
    let mut progress = |progress| verilated |= matches!(progress, Progress::Verilating { .. });
    builder.model(design, &|_| Ok(()), &mut progress).unwrap();
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
    let refused = builder.model(&broken, &|_| Ok(()), &mut |_| {});
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

    damaged_entries_are_built_again(&builder, &four);
    internal_errors_of_verilator_are_gone_around(folder.path(), cache.path());
}

/// Damage to an entry is detected when it is opened, reported, and repaired. (All kinds of damage: the tests of
/// `entry`.)
fn damaged_entries_are_built_again(builder: &Builder, design: &Design) {
    let model = builder.model(design, &|_| Ok(()), &mut |_| {}).unwrap();
    let library = std::fs::read(model.library()).unwrap();
    assert_eq!(mended(builder, design), None);
    std::fs::write(model.library(), &library[..library.len() / 2]).unwrap();
    // And Verilator's own files, which every build needs.
    let mut emptied = 0;
    for entry in std::fs::read_dir(model.folder.parent().unwrap()).unwrap() {
        let path = entry.unwrap().path().join("verilated.o");
        if path.exists() {
            std::fs::write(path, "").unwrap();
            emptied += 1;
        }
    }
    assert_eq!(emptied, 1);
    let said = mended(builder, design).unwrap();
    assert!(said.contains(model.folder.to_str().unwrap()), "{said}");
    assert!(said.contains("model.so"), "{said}");
    assert_eq!(mended(builder, design), None);
}

/// Internal errors of Verilator are not the author's: other flags are tried.
fn internal_errors_of_verilator_are_gone_around(folder: &Path, cache: &Path) {
    let mut tools = Toolchain::locate().unwrap();
    let real = tools.verilator_root.clone();
    let root = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(real.join("include"), root.path().join("include")).unwrap();
    let binary = root.path().join("bin/verilator_bin");
    std::fs::create_dir(binary.parent().unwrap()).unwrap();
    tools.verilator_root = root.path().to_owned();
    let builder = Builder::new(tools, cache);
    let fails = "echo '%Error: Internal Error: a.sv:1:1: V3Ast.cpp:1: CONCAT' >&2; exit 1";
    let cases = [
        ("[ $limit = 8 ]", fails, true),
        ("[ -z \"$no_dedup\" ]", "kill -SEGV $$", true),
        ("true", fails, false),
    ];
    for (number, (condition, fails, works)) in cases.into_iter().enumerate() {
        // If a flag is repeated the last one counts, as in the real one.
        let script = format!(
            "#!/bin/sh\nno_dedup= limit= was=\nfor word in \"$@\"; do\n\
             [ \"$was\" != --expand-limit ] || limit=$word\n\
             [ \"$word\" != -fno-dedup ] || no_dedup=yes\nwas=$word\ndone\n\
             [ \"$1\" = -E ] || if {condition}; then {fails}; fi\n\
             exec {real}/bin/verilator_bin \"$@\"\n",
            real = real.display()
        );
        std::fs::write(&binary, script).unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&binary, executable).unwrap();
        let design = counter(folder, 100 + number as u32);
        match (builder.inspect(&design), works) {
            (Ok(_), true) => {}
            (Err(error), false) => assert!(error.to_string().contains("V3Ast"), "{error}"),
            (other, _) => panic!("{condition}: {other:?}"),
        }
    }
}

/// A compiler that identifies as clang gets no unknown flags; a missing one is named.
#[test]
fn compilers_are_told_what_they_know() {
    let flags = ["-w", "-fno-gnu-unique", "-O1"];
    let tools = Toolchain::locate().unwrap();
    let known: Vec<&str> = tools.compiler.known(&flags).collect();
    let clang = tools.compiler.version().contains("clang");
    assert_eq!(known.len(), if clang { 2 } else { 3 });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine++");
    std::fs::write(&path, "#!/bin/sh\necho 'My clang version 1'\n").unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&path, executable).unwrap();
    let mine = Compiler::named(path.as_os_str()).unwrap();
    assert_eq!(mine.known(&flags).collect::<Vec<_>>(), ["-w", "-O1"]);
    assert_eq!(
        (&*mine.name(), mine.version()),
        ("mine++", "My clang version 1")
    );
    std::fs::write(&path, "#!/bin/sh\nexit 1\n").unwrap();
    let missing = Compiler::named(path.as_os_str()).unwrap_err().to_string();
    assert!(
        missing.contains("mine++") && missing.contains("install g++"),
        "{missing}"
    );
}

#[test]
fn a_cache_that_cannot_be_written_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    std::fs::write(&cache, "a file").unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), &cache);
    let refused = builder.model(&counter(folder.path(), 3), &|_| Ok(()), &mut |_| {});
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("cache/models") && message.contains("TOMBOLO_CACHE"),
        "{message}"
    );
}

/// Only blocks have state, and one of them has none: the rest of the design has no clock, and sleeps too.
#[test]
fn a_design_may_be_nothing_but_blocks() {
    let folder = tempfile::tempdir().unwrap();
    let cache = tempfile::tempdir().unwrap();
    let builder = Builder::new(Toolchain::locate().unwrap(), cache.path());
    let counter = "module tiny_counter #(\n  parameter bit Counts = 1'b1\n) (\n  input  logic clk_i,\n  \
                   input  logic step_i,\n  output logic [7:0] count_o\n);\n\n  \
                   if (Counts) begin : gen_counts\n    logic [7:0] count_q;\n    \
                   always_ff @(posedge clk_i) if (step_i) count_q <= count_q + 1'b1;\n    \
                   assign count_o = count_q;\n  end else begin : gen_none\n    assign count_o = {8{step_i}};\n  \
                   end\n\nendmodule\n";
    std::fs::write(folder.path().join("tiny_counter.sv"), counter).unwrap();
    let top = |last: &str| {
        format!(
            "module tiny (\n  input  logic clk_i,\n  input  logic step_i,\n  output logic [7:0] a_o,\n  \
             output logic [7:0] b_o,\n  output logic last_o\n);\n  \
             tiny_counter u_a (.clk_i, .step_i, .count_o(a_o));\n  \
             tiny_counter #(.Counts(1'b0)) u_b (.clk_i, .step_i, .count_o(b_o));\n  {last}\nendmodule\n"
        )
    };
    let inspected = |last: &str| {
        let files = vec!["tiny_counter.sv".into(), "tiny.sv".into()];
        let design = Design {
            clock: "clk_i".into(),
            file_sets: vec![FileSet::new(folder.path(), files)],
            sleeping: vec!["tiny_counter".into()],
            ..design(folder.path(), &top(last))
        };
        builder.inspect(&design).unwrap()
    };
    let blocks = inspected("assign last_o = a_o[0];");
    assert_eq!(blocks.clock_history, None, "nothing else is clocked");
    assert!(blocks.phases.is_some(), "{blocks:?}");
    let more = inspected("always_ff @(posedge clk_i) last_o <= a_o[0];");
    assert!(
        more.clock_history.is_some() && more.phases.is_some(),
        "{more:?}"
    );
    let falling = inspected("always_ff @(negedge clk_i) last_o <= a_o[0];");
    assert_eq!((falling.clock_history, falling.phases), (None, None));
}
