//! Slots, registers, and kernels that do not fit or misbehave.

use crate::bench::{asid, config, kernel_folder, Bench, SLOT};
use card::event::Event;
use card::guard::Rule;
use card::kernel::{KernelError, KernelPackage};
use card::registers::{self, SLOT_CONTROL};
use card::{Card, CardError, Loader, Simulation, SlotId, SpaceControl};
use funcard::{
    Arguments, FunctionalConfig, FunctionalKernel, KernelModel, Registry, Step, VirtualMemory,
};
use std::fs;
use units::{Asid, Picoseconds, TableGeometry};

/// Opens a manifest that names one source file, `k.sv`.
fn package(manifest: &str) -> KernelPackage {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("k.sv"), "").unwrap();
    fs::write(folder.path().join("kernel.toml"), manifest).unwrap();
    KernelPackage::open(folder.path()).unwrap()
}

fn bare(name: &str, rest: &str) -> KernelPackage {
    package(&format!(
        "[kernel]\nname = \"{name}\"\ntop = \"k\"\nsources = [\"k.sv\"]\n\
         control = \"ap_ctrl_hs\"\n{rest}"
    ))
}

#[test]
fn only_fitting_kernels_are_loaded() {
    let mut bench = Bench::with_kernel(config(None), "copy");
    let copy = KernelPackage::open(&kernel_folder("copy")).unwrap();
    let busy = bench.card.load(SLOT, &copy);
    assert!(matches!(busy, Err(CardError::SlotBusy { slot: SLOT })));
    let nowhere = bench.card.load(SlotId(2), &copy);
    assert!(matches!(
        nowhere,
        Err(CardError::NoSuchSlot { last: 1, .. })
    ));
    let unknown = bench
        .card
        .load(SlotId(1), &bare("fft", ""))
        .unwrap_err()
        .to_string();
    assert!(
        unknown.starts_with("kernel `fft` has no functional model"),
        "{unknown}"
    );
    // All that have one are named, in the order of the alphabet.
    let named: Vec<&str> = unknown.split('`').skip(3).step_by(2).collect();
    assert!(named.is_sorted(), "{unknown}");
    for name in ["aes256ctr", "copy", "loopback", "vadd"] {
        assert!(named.contains(&name), "{unknown}");
    }
    let other = bench.card.load(SlotId(1), &bare("copy", ""));
    assert!(matches!(
        other,
        Err(CardError::Kernel(KernelError::ModelMismatch { .. }))
    ));
    let port = |i| {
        format!("[[port]]\nname = \"p{i}\"\nkind = \"axi4\"\ndata_width = 512\naccess = \"read\"\n")
    };
    let mut wide = copy.clone();
    wide.manifest.ports = bare("copy", &(port(0) + &port(1) + &port(2)))
        .manifest
        .ports;
    let wide = bench.card.load(SlotId(1), &wide);
    assert!(matches!(
        wide,
        Err(CardError::Kernel(KernelError::DoesNotFit { ports: 3, .. }))
    ));
}

#[test]
fn spaces_and_slots_have_ends() {
    let mut bench = Bench::new(config(None));
    let four = Asid::new(4).unwrap();
    let no_space = |result| matches!(result, Err(CardError::NoSuchSpace { asid: 4, spaces: 4 }));
    assert!(no_space(bench.card.control_space(four, SpaceControl::Off)));
    assert!(no_space(bench.card.control_slot(SLOT, four, true)));
    assert!(bench.card.control_slot(SlotId(9), asid(), true).is_err());
    let beyond = TableGeometry::new(crate::bench::card_at(1 << 30), 10).unwrap();
    assert!(bench
        .card
        .control_space(asid(), SpaceControl::table(beyond, 1))
        .is_err());
}

#[test]
fn the_bar_answers_where_something_is() {
    let mut bench = Bench::with_kernel(config(None), "copy");
    let card = &mut bench.card;
    assert_eq!(
        card.read_register(registers::ID).unwrap(),
        registers::ID_MAGIC
    );
    assert_eq!(
        card.read_register(registers::GEOMETRY).unwrap(),
        0x0004_0202
    );
    assert_eq!(card.read_register(registers::MEMORY).unwrap(), 22 << 8 | 2);
    for address in [
        0x2,
        0x800,
        SLOT_CONTROL.at(1),
        SLOT_CONTROL.at(5),
        SLOT_CONTROL.at(16),
        !3,
    ] {
        assert!(card.read_register(address).is_err(), "0x{address:x}");
    }
    assert_eq!(card.read_register(SLOT_CONTROL.at(0)).unwrap(), 4);
    card.write_register(SLOT_CONTROL.at(0) + 0x10, 5).unwrap();
    assert_eq!(card.read_register(SLOT_CONTROL.at(0) + 0x10).unwrap(), 5);
    card.control_slot(SLOT, asid(), false).unwrap();
    assert!(
        card.read_register(SLOT_CONTROL.at(0)).is_err(),
        "held in reset"
    );
    card.control_slot(SLOT, asid(), true).unwrap();
    assert_eq!(
        card.read_register(SLOT_CONTROL.at(0) + 0x10).unwrap(),
        0,
        "reset clears"
    );
}

#[test]
fn every_run_interrupts_once() {
    let mut bench = Bench::with_kernel(config(None), "copy");
    for _ in 0..3 {
        bench.start();
        bench.finish(|_, fault| panic!("{fault:?}"));
    }
    assert_eq!(bench.card.statistics().unwrap().host.interrupts, 3);
}

/// Reads through a port that it does not have.
struct Trespasser;

impl FunctionalKernel for Trespasser {
    fn step(&mut self, _: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        memory.read(7, 0, &mut [0; 64]);
        Step::Working
    }
}

/// Reads across the end of a 4 KiB block.
struct Crosser;

impl FunctionalKernel for Crosser {
    fn step(&mut self, _: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        memory.read(1, 0xfc0, &mut [0; 128]);
        Step::Working
    }
}

/// Never ends.
struct Spinner;

impl FunctionalKernel for Spinner {
    fn step(&mut self, _: &Arguments<'_>, _: &mut dyn VirtualMemory) -> Step {
        Step::Working
    }
}

fn with_models() -> FunctionalConfig {
    let mut kernels = Registry::empty();
    kernels.register(KernelModel {
        name: "trespasser",
        arguments: &[],
        ports: 0,
        create: || Box::new(Trespasser),
    });
    kernels.register(KernelModel {
        name: "crosser",
        arguments: &[],
        ports: 0,
        create: || Box::new(Crosser),
    });
    kernels.register(KernelModel {
        name: "spinner",
        arguments: &[],
        ports: 0,
        create: || Box::new(Spinner),
    });
    FunctionalConfig {
        kernels,
        ..config(None)
    }
}

#[test]
fn a_kernel_that_breaks_a_rule_fails_alone() {
    let mut bench = Bench::new(with_models());
    bench.card.load(SLOT, &bare("trespasser", "")).unwrap();
    bench.card.control_slot(SLOT, asid(), true).unwrap();
    bench.card.write_register(SLOT_CONTROL.at(0), 1).unwrap();
    let events = bench.card.wait(None).unwrap();
    let [Event::KernelFailed { slot: SLOT, reason }] = &events[..] else {
        panic!("{events:?}")
    };
    assert_eq!(reason, "it has no port 7");
    assert!(bench.card.read_register(SLOT_CONTROL.at(0)).is_err());
    assert!(bench.card.is_quiescent());
}

#[test]
fn a_broken_rule_closes_the_slot_until_its_reset() {
    let mut bench = Bench::new(with_models());
    let card = &mut bench.card;
    card.load(SLOT, &bare("crosser", "")).unwrap();
    for _ in 0..2 {
        card.control_slot(SLOT, asid(), true).unwrap();
        assert_eq!(card.slot_status(SLOT).unwrap().violation(), None);
        card.write_register(SLOT_CONTROL.at(0), 1).unwrap();
        assert_eq!(card.wait(None).unwrap(), [Event::SlotClosed(SLOT)]);
        let status = card.slot_status(SLOT).unwrap();
        assert!(status.closed);
        let (port, violation) = status.violation().unwrap();
        assert_eq!((port, violation.rule), (1, Rule::Block));
        assert_eq!(
            violation.to_string(),
            "asked for a read burst of 2 beats of 64 bytes at 0xfc0, which crosses a 4 KiB boundary"
        );
        assert!(card.read_register(SLOT_CONTROL.at(0)).is_ok());
        card.control_slot(SLOT, asid(), false).unwrap();
        let status = card.slot_status(SLOT).unwrap();
        assert!(!status.closed && status.violation().is_some());
    }
}

#[test]
fn a_kernel_that_never_ends_meets_the_deadline() {
    let mut bench = Bench::new(with_models());
    bench.card.load(SLOT, &bare("spinner", "")).unwrap();
    bench.card.control_slot(SLOT, asid(), true).unwrap();
    bench.card.write_register(SLOT_CONTROL.at(0), 1).unwrap();
    let deadline = Picoseconds::from_millis(10);
    assert!(bench.card.wait(Some(deadline)).unwrap().is_empty());
    assert_eq!(bench.card.now(), deadline);
}
