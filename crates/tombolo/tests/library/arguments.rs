//! Is a slot whose run failed as good as new? Its arguments are those that were set last, whatever
//! became of the run in between.

use simcard::SimCard;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tombolo::{
    Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions, Picoseconds,
    SimOptions, Slot, SlotId, VirtAddr,
};

fn simulated() -> Card {
    let card = SimCard::open(SimOptions::named("f1").unwrap(), |_| {}).unwrap();
    Card::new(Box::new(card), OwnerOptions::default()).unwrap()
}

fn functional() -> Card {
    Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap()
}

fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

fn attacker() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/attacker")
}

fn run(slot: &mut Slot, deadline: Picoseconds) -> Result<(), Error> {
    slot.start()?;
    slot.wait(Some(deadline), |_| Continue::Yes)
}

const LONG: Picoseconds = Picoseconds::from_millis(100);

#[test]
fn arguments_outlive_a_run_that_failed() {
    let content: Vec<u8> = (0..300_001u32).map(|n| (n % 251) as u8).collect();
    for card in [functional(), simulated()] {
        let folder = TempDir::new().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, &content).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let output = MapOptions::create(input.bytes());
        let output = space.map_file(&to, output).unwrap();
        let mut slot = card.load(SlotId(0), kernel("copy"), &space).unwrap();
        let set_all = |slot: &mut Slot| {
            slot.set_pointer("input", input.address()).unwrap();
            slot.set_pointer("output", output.address()).unwrap();
            slot.set("bytes", input.bytes()).unwrap();
        };
        let check = |when: &str| {
            output.sync().unwrap();
            assert!(fs::read(&to).unwrap() == content, "{when}");
            fs::write(&to, vec![0; content.len()]).unwrap();
        };

        // Not done in time. What is set while the slot is in reset counts, and so does what was set
        // before.
        set_all(&mut slot);
        let error = run(&mut slot, Picoseconds::from_micros(2)).unwrap_err();
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
        set_all(&mut slot);
        run(&mut slot, LONG).unwrap();
        check("set again after a deadline");
        run(&mut slot, Picoseconds::from_micros(2)).unwrap_err();
        run(&mut slot, LONG).unwrap();
        check("not set again after a deadline");

        // An access that fails; one argument is put right.
        slot.set_pointer("output", VirtAddr::new(0x7000_0000_0000).unwrap())
            .unwrap();
        let error = run(&mut slot, LONG).unwrap_err();
        assert!(matches!(error, Error::Access(_)), "{error}");
        let lost = slot.write_register(0x20, 1).unwrap_err().to_string();
        assert!(lost.contains("in reset"), "{lost}");
        slot.set_pointer("output", output.address()).unwrap();
        run(&mut slot, LONG).unwrap();
        check("after a failed access");
    }
}

/// After a violation, and after a kernel that has ended itself and is made anew.
#[test]
fn arguments_outlive_a_closed_slot() {
    const CROSSES_4_KIB: u64 = 5;
    const ENDS_ITSELF: u64 = 69;
    const HONEST: u64 = 9;
    let card = simulated();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, vec![7; 1 << 20]).unwrap();
    let space = card.create_space().unwrap();
    let mapping = space.map_file(&file, MapOptions::read_write()).unwrap();
    let mut slot = card.load(SlotId(0), attacker(), &space).unwrap();
    slot.set_pointer("address", mapping.address()).unwrap();
    for (mode, told) in [(CROSSES_4_KIB, "4 KiB"), (ENDS_ITSELF, "failed")] {
        slot.set("mode", mode).unwrap();
        for attempt in 0..2 {
            let error = run(&mut slot, LONG).unwrap_err().to_string();
            assert!(error.contains(told), "attempt {attempt}: {error}");
        }
        slot.set("mode", HONEST).unwrap();
        run(&mut slot, LONG).unwrap();
    }
}
