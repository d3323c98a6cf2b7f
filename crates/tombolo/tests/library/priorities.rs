//! Does the priority of a slot hold for the service of its page faults? Two kernels copy files in small pages, each in its
//! own space, bound by the host's thread.

use std::fs;
use std::path::Path;
use tempfile::TempDir;
use tombolo::{
    Card, Continue, Fetch, MapOptions, OwnerOptions, PageSize, Picoseconds, Priority, ShellConfig,
    SimOptions, SlotId,
};

const BYTES: usize = 400_000;

/// Virtual times of two concurrent copies, in slots with these priorities; checks the copies.
fn times(folder: &Path, priorities: [Priority; 2]) -> [Picoseconds; 2] {
    let mut options = SimOptions::named("f1").unwrap();
    options.shell = ShellConfig {
        slots: 2,
        queues: 3,
        ..ShellConfig::default()
    };
    let owner = OwnerOptions {
        fetch: Fetch::OnDemand,
        page_size: Some(PageSize::KIB_4),
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {}).unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let mut open = Vec::new();
    for (number, priority) in (0..).zip(priorities) {
        let name = |kind| folder.join(format!("{kind}{number}"));
        let content: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8 + number).collect();
        fs::write(name("in"), &content).unwrap();
        let space = card.create_space().unwrap();
        let input = space.map_file(name("in"), MapOptions::read_only()).unwrap();
        let options = MapOptions::create(input.bytes());
        let output = space.map_file(name("out"), options).unwrap();
        let slot = card.load(SlotId(number), &kernel, &space).unwrap();
        slot.set_pointer("input", input.address()).unwrap();
        slot.set_pointer("output", output.address()).unwrap();
        slot.set("bytes", input.bytes()).unwrap();
        slot.set_priority(priority).unwrap();
        open.push((slot, input, output, space, content, name("out")));
    }
    for (slot, ..) in &open {
        slot.start().unwrap();
    }
    for (slot, ..) in &open {
        slot.wait(None, |_| Continue::Yes).unwrap();
    }
    let runs = card.report().unwrap().runs;
    for (_slot, input, output, _space, content, path) in open {
        output.unmap().unwrap();
        input.unmap().unwrap();
        assert!(fs::read(&path).unwrap() == content, "{}", path.display());
    }
    [0, 1].map(|slot| runs.iter().find(|run| run.slot == slot).unwrap().time)
}

#[test]
fn a_priority_holds_for_page_faults_and_the_other_goes_on() {
    let folder = TempDir::new().unwrap();
    let equal = times(folder.path(), [Priority::Normal; 2]);
    let first = times(folder.path(), [Priority::High, Priority::Normal]);
    let gain = equal[0].as_seconds() / first[0].as_seconds();
    assert!(gain > 1.2, "{equal:?}, {first:?}");
    // The other makes progress meanwhile.
    let alone = first[0].as_seconds();
    assert!(first[1].as_seconds() < 2.5 * alone, "{equal:?}, {first:?}");
    // A lower priority than the default counts as well.
    let second = times(folder.path(), [Priority::Low, Priority::Normal]);
    assert!(second[1] < second[0], "{second:?}");
}
