//! Are the command queues of several spaces independent? The queue of one space is clogged: the card
//! takes its commands and does none of them. Meanwhile a slot of another space faults, runs, is reset and
//! runs again; when the queue flows again, its space has lost nothing.

use crate::common::{Between, Watched};
use card::command::{Command, QueueId};
use card::event::Event;
use card::CardError;
use simcard::SimCard;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, Picoseconds, ShellConfig, SimOptions, Slot, SlotId,
};
use units::{Asid, Operation};

/// State shared by the test and the card.
#[derive(Default)]
struct Valve {
    closed: Option<QueueId>,
    held: Vec<Command>,
    /// Where the installs of each space went.
    queues: BTreeMap<Asid, QueueId>,
}

/// A valve in one of a card's queues.
struct Clog(Arc<Mutex<Valve>>);

impl Between for Clog {
    fn submit(&mut self, card: &mut dyn card::Card, command: Command) -> Result<(), CardError> {
        let mut valve = self.0.lock().unwrap();
        if let Operation::Install { asid, .. } = command.operation {
            valve.queues.insert(asid, command.queue);
        }
        if valve.closed == Some(command.queue) {
            valve.held.push(command);
            return Ok(());
        }
        card.submit(command)
    }

    fn wait(
        &mut self,
        card: &mut dyn card::Card,
        deadline: Option<Picoseconds>,
    ) -> Result<Vec<Event>, CardError> {
        let mut valve = self.0.lock().unwrap();
        if valve.closed.is_none() {
            for command in std::mem::take(&mut valve.held) {
                card.submit(command)?;
            }
        }
        drop(valve);
        card.wait(deadline)
    }
}

/// Both cards, with two slots and a queue for each.
fn cards() -> [Box<dyn card::Card>; 2] {
    let functional = FunctionalConfig {
        slots: 2,
        queues: 3,
        ..FunctionalConfig::default()
    };
    let mut simulated = SimOptions::named("f1").unwrap();
    simulated.shell = ShellConfig {
        slots: 2,
        queues: 3,
        ..ShellConfig::default()
    };
    [
        Box::new(FunctionalCard::new(functional)),
        Box::new(SimCard::open(simulated, |_| {}).unwrap()),
    ]
}

/// A file that the copy kernel copies.
struct Job {
    input: Mapping,
    output: Mapping,
    content: Vec<u8>,
}

impl Job {
    fn new(space: &AddressSpace, folder: &Path, name: &str) -> Self {
        let content: Vec<u8> = name.bytes().cycle().take(50_000).collect();
        let path = folder.join(name);
        fs::write(&path, &content).unwrap();
        let input = space.map_file(&path, MapOptions::read_only()).unwrap();
        let output = MapOptions::create(input.bytes());
        let output = space.map_file(path.with_extension("out"), output).unwrap();
        Self {
            input,
            output,
            content,
        }
    }

    fn start(&self, slot: &mut Slot) {
        slot.set_pointer("input", self.input.address()).unwrap();
        slot.set_pointer("output", self.output.address()).unwrap();
        slot.set("bytes", self.input.bytes()).unwrap();
        slot.start().unwrap();
    }

    fn finish(self, slot: &mut Slot, folder: &Path, name: &str) {
        slot.wait(None, |_| Continue::Yes).unwrap();
        self.output.unmap().unwrap();
        let copied = fs::read(folder.join(name).with_extension("out")).unwrap();
        assert!(copied == self.content, "{name}");
    }
}

#[test]
fn a_clogged_queue_holds_no_other_space() {
    for card in cards() {
        let valve = Arc::new(Mutex::new(Valve::default()));
        let clogged = Watched {
            card,
            between: Clog(valve.clone()),
        };
        let card = Card::new(Box::new(clogged), OwnerOptions::default()).unwrap();
        let folder = TempDir::new().unwrap();
        let folder = folder.path();
        let kernel = simcard::home().join("kernels/copy");
        let spaces = [card.create_space().unwrap(), card.create_space().unwrap()];
        let mut slots = [0, 1].map(|number| {
            let space = &spaces[usize::from(number)];
            card.load(SlotId(number), &kernel, space).unwrap()
        });
        for (number, name) in ["warm0", "warm1"].into_iter().enumerate() {
            let job = Job::new(&spaces[number], folder, name);
            job.start(&mut slots[number]);
            job.finish(&mut slots[number], folder, name);
        }
        let report = card.report().unwrap();
        for (space, run) in report.spaces.iter().zip(&report.runs) {
            let moved = (space.bytes_read, space.bytes_written, space.run_time);
            assert_eq!(moved, (50_000, 50_000, run.time), "{report}");
        }
        let queue = |space: &AddressSpace| valve.lock().unwrap().queues[&space.asid()];
        let (mine, clogged) = (queue(&spaces[0]), queue(&spaces[1]));
        assert!(mine != clogged && ![mine, clogged].contains(&QueueId(0)));

        let stuck = Job::new(&spaces[1], folder, "stuck");
        valve.lock().unwrap().closed = Some(clogged);
        let [mut free, mut waits] = slots;
        stuck.start(&mut waits);
        let job = Job::new(&spaces[0], folder, "first");
        job.start(&mut free);
        job.finish(&mut free, folder, "first");
        assert!(!valve.lock().unwrap().held.is_empty());
        // A reset in the middle of a run.
        let aborted = Job::new(&spaces[0], folder, "aborted");
        aborted.start(&mut free);
        free.close().unwrap();
        let mut free = card.load(SlotId(0), &kernel, &spaces[0]).unwrap();
        let job = Job::new(&spaces[0], folder, "second");
        job.start(&mut free);
        job.finish(&mut free, folder, "second");

        valve.lock().unwrap().closed = None;
        stuck.finish(&mut waits, folder, "stuck");
        let next = Job::new(&spaces[1], folder, "next");
        next.start(&mut waits);
        next.finish(&mut waits, folder, "next");
    }
}
