//! Do several kernels on one card get their own bytes? Tests run on the functional card, of several
//! shapes, and on a simulated one of four slots (other simulated shapes: `make bench ONLY=slots`).

use simcard::SimCard;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, Picoseconds, ShellConfig, SimOptions, Slot, SlotId,
};

/// Slots, ports of each, channels.
#[derive(Clone, Copy)]
struct Shape(u8, u8, u8);

fn simulated(shape: Shape) -> Card {
    simulated_on("f1", shape)
}

fn simulated_on(platform: &str, shape: Shape) -> Card {
    simulated_in_lanes(platform, shape, 1)
}

fn simulated_in_lanes(platform: &str, shape: Shape, lanes: u8) -> Card {
    let mut options = SimOptions::named(platform).unwrap();
    options.shell = ShellConfig {
        slots: shape.0,
        ports_per_slot: shape.1,
        channels: shape.2,
        spaces: shape.0.max(4),
        queues: shape.0 + 1,
        lanes,
        ..ShellConfig::default()
    };
    let card = Box::new(SimCard::open(options, |_| {}).unwrap());
    Card::new(card, OwnerOptions::default()).unwrap()
}

fn functional(shape: Shape) -> Card {
    let config = FunctionalConfig {
        slots: shape.0,
        ports_per_slot: shape.1,
        channels: shape.2,
        spaces: shape.0.max(4),
        queues: shape.0 + 1,
        // 32 of them fill the card's address space.
        channel_bytes_log2: 32,
        channel_bytes: 1 << 32,
        ..FunctionalConfig::default()
    };
    Card::functional(FunctionalCard::new(config)).unwrap()
}

fn on_each_card(shape: Shape, test: impl Fn(&Card, &Path)) {
    for card in [functional(shape), simulated(shape)] {
        let folder = TempDir::new().unwrap();
        test(&card, folder.path());
    }
}

fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

/// Bytes that differ everywhere, and from those of another seed.
fn bytes(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Files of one copy, mapped.
struct Job {
    input: Mapping,
    output: Mapping,
    from: PathBuf,
    to: PathBuf,
}

impl Job {
    fn new(space: &AddressSpace, folder: &Path, name: &str, content: &[u8]) -> Self {
        let from = folder.join(format!("{name}.in"));
        let to = folder.join(format!("{name}.out"));
        fs::write(&from, content).unwrap();
        let input = space.map_file(&from, MapOptions::read_only()).unwrap();
        let output = MapOptions::create(input.bytes());
        let output = space.map_file(&to, output).unwrap();
        Self {
            input,
            output,
            from,
            to,
        }
    }

    fn start(&self, slot: &mut Slot) {
        slot.set_pointer("input", self.input.address()).unwrap();
        slot.set_pointer("output", self.output.address()).unwrap();
        slot.set("bytes", self.input.bytes()).unwrap();
        slot.start().unwrap();
    }

    fn check(self) {
        self.output.unmap().unwrap();
        assert!(
            fs::read(&self.from).unwrap() == fs::read(&self.to).unwrap(),
            "{} differs",
            self.to.display()
        );
    }
}

/// Every slot copies its own file in its own space, all at once; then the slots do it again with
/// what another slot had.
fn all_slots_copy(card: &Card, folder: &Path, slots: u8, length: usize) {
    let kernel = kernel("copy");
    for round in 0..2 {
        let mut jobs = Vec::new();
        for number in 0..slots {
            let space = card.create_space().unwrap();
            let name = format!("{round}.{number}");
            let seed = u32::from(round * slots + number);
            let content = bytes(length + usize::from(number), seed);
            let job = Job::new(&space, folder, &name, &content);
            let slot = (number + round) % slots;
            let slot = card.load(SlotId(slot), &kernel, &space).unwrap();
            jobs.push((slot, job, space));
        }
        for (slot, job, _) in &mut jobs {
            job.start(slot);
        }
        for (slot, job, space) in jobs {
            slot.wait(None, |_| Continue::Yes).unwrap();
            job.check();
            drop(space);
        }
    }
}

#[test]
fn four_slots_of_two_ports_on_four_channels() {
    on_each_card(Shape(4, 2, 4), |card, folder| {
        all_slots_copy(card, folder, 4, 100_000);
        let runs = card.report().unwrap().runs;
        assert_eq!(runs.len(), 8);
    });
}

/// A slot in each address lane; faults and replies find their way back to theirs.
#[test]
fn two_address_lanes() {
    let folder = TempDir::new().unwrap();
    let card = simulated_in_lanes("f1", Shape(2, 2, 2), 2);
    all_slots_copy(&card, folder.path(), 2, 30_000);
}

#[test]
fn other_shapes_work_on_the_functional_card() {
    for shape in [Shape(2, 8, 4), Shape(16, 2, 32)] {
        let folder = TempDir::new().unwrap();
        all_slots_copy(&functional(shape), folder.path(), shape.0, 5_000);
    }
}

#[test]
fn a_kernel_of_more_ports_than_a_slot_has_is_refused() {
    let card = functional(Shape(16, 1, 2));
    let space = card.create_space().unwrap();
    let refused = card.load(SlotId(15), kernel("copy"), &space);
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("copy"), "{refused}");
}

/// Two slots of one application: one reads what the other has written, in the space that they share.
#[test]
fn slots_share_a_space() {
    on_each_card(Shape(4, 2, 4), |card, folder| {
        let space = card.create_space().unwrap();
        let content = bytes(70_000, 7);
        let first = Job::new(&space, folder, "first", &content);
        let last = folder.join("last");
        let result = MapOptions::create(first.input.bytes());
        let result = space.map_file(&last, result).unwrap();

        let mut one = card.load(SlotId(1), kernel("copy"), &space).unwrap();
        let three = card.load(SlotId(3), kernel("copy"), &space).unwrap();
        first.start(&mut one);
        one.wait(None, |_| Continue::Yes).unwrap();
        let pointers = [("input", &first.output), ("output", &result)];
        for (argument, mapping) in pointers {
            three.set_pointer(argument, mapping.address()).unwrap();
        }
        three.set("bytes", result.bytes()).unwrap();
        three.start().unwrap();
        three.wait(None, |_| Continue::Yes).unwrap();
        result.unmap().unwrap();
        assert!(fs::read(&last).unwrap() == content);
        first.check();
    });
}

/// One slot gets another kernel while its neighbour works. On the U280 that takes 22 ms, in which the
/// neighbour finishes.
#[test]
fn a_slot_is_reconfigured_while_another_works() {
    let shape = Shape(4, 2, 4);
    for (card, shortest) in [
        (functional(shape), Picoseconds::ZERO),
        (simulated_on("u280", shape), Picoseconds::from_millis(22)),
    ] {
        let folder = TempDir::new().unwrap();
        let (here, there) = (card.create_space().unwrap(), card.create_space().unwrap());
        let content = bytes(300_000, 3);
        let neighbour = Job::new(&there, folder.path(), "neighbour", &content);
        let mut working = card.load(SlotId(1), kernel("copy"), &there).unwrap();
        let job = Job::new(&here, folder.path(), "job", &content);
        let mut slot = card.load(SlotId(0), kernel("copy"), &here).unwrap();
        job.start(&mut slot);
        slot.wait(None, |_| Continue::Yes).unwrap();

        neighbour.start(&mut working);
        let (_, before) = card.describe().unwrap();
        let slot = card.load(SlotId(0), kernel("vadd"), &here).unwrap();
        let (_, after) = card.describe().unwrap();
        assert!(after - before >= shortest, "{}", after - before);
        working.wait(None, |_| Continue::Yes).unwrap();
        let runs = card.report().unwrap().runs;
        assert!(
            runs[1].time < Picoseconds::from_millis(2),
            "{}",
            runs[1].time
        );
        neighbour.check();

        // 32-bit sums of the file and itself.
        let sums = folder.path().join("sums");
        let sums = here
            .map_file(&sums, MapOptions::create(job.input.bytes()))
            .unwrap();
        slot.set_pointer("a", job.input.address()).unwrap();
        slot.set_pointer("b", job.input.address()).unwrap();
        slot.set_pointer("c", sums.address()).unwrap();
        slot.set("length", job.input.bytes() / 4).unwrap();
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
        sums.unmap().unwrap();
        let result = fs::read(folder.path().join("sums")).unwrap();
        for (sum, word) in result.chunks_exact(4).zip(content.chunks_exact(4)) {
            let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
            assert_eq!(number(sum), number(word).wrapping_mul(2));
        }
        job.check();
    }
}
