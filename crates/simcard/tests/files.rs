//! Files of the host that a kernel may access: those next to its RTL, to read them; no others.

mod sim;

use card::event::Event;
use card::kernel::KernelPackage;
use card::registers::SLOT_CONTROL;
use card::{Card, CardError, Loader};
use sim::{open, options, rtl, Driver, SLOT, SPACE};
use std::path::Path;
use verilated::BuildError;

/// The kernel `reading` in a folder of its own, with the files that it opens.
fn reading(folder: &Path) -> KernelPackage {
    let kernel = folder.join("kernel");
    std::fs::create_dir_all(kernel.join("rtl")).unwrap();
    std::fs::create_dir_all(kernel.join("tables")).unwrap();
    for file in ["kernel.toml", "rtl/reading.sv"] {
        std::fs::copy(rtl("reading").join(file), kernel.join(file)).unwrap();
    }
    std::fs::write(kernel.join("rtl/near.hex"), "5 100\n").unwrap();
    std::fs::write(kernel.join("tables/far.bin"), "0 110000\n").unwrap();
    std::fs::write(folder.join("outside.hex"), "7\n").unwrap();
    std::os::unix::fs::symlink("../../outside.hex", kernel.join("rtl/link.hex")).unwrap();
    let fifo = std::process::Command::new("mkfifo")
        .arg(kernel.join("rtl/fifo"))
        .status();
    assert!(fifo.unwrap().success());
    KernelPackage::open(&kernel).unwrap()
}

/// The value of the register after `how` was written, or why the kernel ended.
fn answer(kernel: &KernelPackage, how: u32) -> Result<u32, String> {
    let mut driver = Driver::new(open(options()));
    driver.card.load(SLOT, kernel).unwrap();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    let register = SLOT_CONTROL.at(0) + 0x10;
    driver.card.write_register(register, how).unwrap();
    let Ok(value) = driver.card.read_register(register) else {
        // It ended itself; the event gives the reason.
        return match &driver.card.wait(None).unwrap()[..] {
            [Event::KernelFailed { reason, .. }] => Err(reason.clone()),
            events => panic!("{events:?}"),
        };
    };
    Ok(value)
}

#[test]
fn a_kernel_reads_the_files_beside_its_rtl_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = reading(folder.path());
    // 0x100 from a file next to the RTL, 0x30 from the kernel's folder.
    assert_eq!(answer(&kernel, 77), Ok(0x130 + 77));
    assert_eq!(answer(&kernel, 9), Ok(0x130 + 5));
    // The terminal is at its end.
    assert_eq!(answer(&kernel, 10), Ok(0x130 - 1));
    for (how, name, why) in [
        (1, "../outside.hex", "beside its RTL"),
        (2, "/etc/hostname", "beside its RTL"),
        (3, "link.hex", "beside its RTL"),
        (4, "fifo", "no regular file"),
        (5, "near.hex", "writes no files"),
        (6, "near.hex", "writes no files"),
        (7, "near.hex", "writes no files"),
        (8, "missing.hex", "no such file"),
    ] {
        let reason = answer(&kernel, how).unwrap_err();
        assert!(
            reason.contains(name) && reason.contains(why),
            "{how}: {reason}"
        );
    }
    let near = std::fs::read_to_string(folder.path().join("kernel/rtl/near.hex")).unwrap();
    assert_eq!(near, "5 100\n");
}

#[test]
fn a_kernel_that_always_writes_a_file_is_not_built() {
    let cases = [
        (
            "file = $fopen(name, mode);",
            "file = $fopen(name);",
            "$fopen without",
        ),
        ("8: $readmemh", "8: $writememh", "$writememh"),
        (
            "logic [31:0] how_q;",
            "`include \"../own.svh\"\n  logic [31:0] how_q;",
            "including",
        ),
        // No SystemVerilog: its lines are not quoted.
        (
            "logic [31:0] how_q;",
            "`include \"../secret\"\n  logic [31:0] how_q;",
            "including",
        ),
        (
            "logic [31:0] how_q;",
            "`include \"rtl/made.svh\"\n  logic [31:0] how_q;\n  initial `MADE(\"abort()\");",
            "inline C++",
        ),
    ];
    for (from, to, words) in cases {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("own.svh"), "// Mine.\n").unwrap();
        std::fs::write(folder.path().join("secret"), "root:x:0:hidden\n").unwrap();
        reading(folder.path());
        let rtl = folder.path().join("kernel/rtl");
        // Not in the source, and no `$c` before the preprocessor.
        std::fs::write(rtl.join("made.svh"), "`define MADE(x) $``c(x)\n").unwrap();
        let path = rtl.join("reading.sv");
        let source = std::fs::read_to_string(&path).unwrap();
        assert!(source.contains(from));
        std::fs::write(&path, source.replace(from, to)).unwrap();
        let kernel = KernelPackage::open(&folder.path().join("kernel")).unwrap();
        let refused = open(options()).load(SLOT, &kernel);
        let Err(CardError::Build(error)) = refused else {
            panic!("{refused:?}");
        };
        let refused = error.downcast_ref();
        assert!(matches!(refused, Some(BuildError::Refused { .. })));
        let text = error.to_string();
        assert!(
            text.contains(words) && text.contains("reading.sv:") && !text.contains("hidden"),
            "{text}"
        );
    }
}
