//! When page tables move to larger ones while kernels run: does every byte stay right, is every accessed
//! and dirty bit there afterwards, and is the old table's memory used again? On the functional card and
//! on the simulated one.
//!
//! All pages are of one set of the smallest table, so the ninth lets it grow, and after that the
//! seventeenth. A page is written only before the growth that follows it: what is in its file in the end,
//! and the bits that its removal reports, have gone through that growth, or through both.

#[path = "../common/mod.rs"]
mod common;
mod player;

use card::command::Command;
use card::event::Event;
use card::{CardError, SpaceControl};
use common::{Between, Watched};
use funcard::Registry;
use player::{Burst, ROW};
use simcard::SimCard;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, Picoseconds, ShellConfig, SimOptions, Slot, SlotId, VirtAddr,
};
use units::{
    Asid, CardAddr, CommandId, CommandStatus, FaultToken, Operation, PageNumber, PageSize,
    TableGeometry,
};

const PAGES: u64 = 18;
/// Files that the pages show, so each is mapped many times: it is the table that has to work.
const FILES: u64 = 3;
/// Bytes of each: the first half is written, the second read.
const BYTES: usize = 8192;
/// Bursts from one new page to the next.
const BURSTS: u64 = 40;

/// Operations of the card as logged by the test.
#[derive(Clone, Default)]
struct Log {
    /// Table commands that have no completion yet.
    pending: BTreeMap<CommandId, Operation>,
    grown: Vec<TableGrowth>,
    faults: BTreeMap<FaultToken, (Asid, VirtAddr)>,
    /// Pages that the host knows to be dirty: it said so itself, as the answer to a write.
    answered: BTreeSet<(Asid, VirtAddr)>,
    /// Pages that were dirty when they were protected.
    protected: BTreeSet<(Asid, VirtAddr)>,
    /// Accessed and dirty as the entries' removal reported them.
    removed: BTreeMap<(Asid, VirtAddr), (bool, bool)>,
    /// Table commands that did not find what they looked for.
    failed: Vec<(Operation, CommandStatus)>,
    /// Where the table of each space began.
    first_tables: BTreeMap<Asid, CardAddr>,
}

#[derive(Clone)]
struct TableGrowth {
    asid: Asid,
    to: TableGeometry,
    submitted: Picoseconds,
    completed: Picoseconds,
}

#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Log>>);

impl Between for Watch {
    fn submit(&mut self, card: &mut dyn card::Card, command: Command) -> Result<(), CardError> {
        let mut log = self.0.lock().unwrap();
        match command.operation {
            Operation::Grow { asid, table } => log.grown.push(TableGrowth {
                asid,
                to: table,
                submitted: card.now(),
                completed: Picoseconds::ZERO,
            }),
            Operation::Invalidate { .. } | Operation::Protect { .. } => {}
            Operation::FaultReply {
                token,
                entry: Some(entry),
            } => {
                let page = log.faults[&token];
                if entry.dirty {
                    log.answered.insert(page);
                }
                return card.submit(command);
            }
            _ => return card.submit(command),
        }
        log.pending.insert(command.id, command.operation);
        card.submit(command)
    }

    fn wait(
        &mut self,
        card: &mut dyn card::Card,
        deadline: Option<Picoseconds>,
    ) -> Result<Vec<Event>, CardError> {
        let events = card.wait(deadline)?;
        let mut log = self.0.lock().unwrap();
        for event in &events {
            if let Event::Fault(fault) = event {
                let page = PageNumber::containing(fault.address, PageSize::MIB_2).base();
                log.faults.insert(fault.token, (fault.asid, page));
            }
            let Event::Completed {
                id,
                status,
                accessed,
                dirty,
            } = *event
            else {
                continue;
            };
            let Some(operation) = log.pending.remove(&id) else {
                continue;
            };
            if status != CommandStatus::Ok {
                log.failed.push((operation, status));
            }
            match operation {
                Operation::Grow { table, .. } => {
                    let mut grown = log.grown.iter_mut().rev();
                    grown.find(|grown| grown.to == table).unwrap().completed = card.now();
                }
                // Before a write-back; it clears the bit.
                Operation::Protect { asid, address, .. } if dirty => {
                    log.protected.insert((asid, address));
                }
                Operation::Invalidate { asid, address, .. } => {
                    log.removed.insert((asid, address), (accessed, dirty));
                }
                _ => {}
            }
        }
        Ok(events)
    }

    fn control_space(&mut self, asid: Asid, control: SpaceControl) {
        if let SpaceControl::On(table) = control {
            self.0
                .lock()
                .unwrap()
                .first_tables
                .insert(asid, table.geometry.base());
        }
    }
}

/// Both cards, with this many slots.
fn cards(slots: u8) -> [Box<dyn card::Card>; 2] {
    let mut kernels = Registry::default();
    kernels.register(player::MODEL);
    let functional = FunctionalConfig {
        slots,
        queues: slots + 1,
        seed: Some(1),
        kernels,
        ..FunctionalConfig::default()
    };
    let mut simulated = SimOptions::named("f1").unwrap();
    if slots > 1 {
        simulated.shell = ShellConfig {
            slots,
            channels: 4,
            queues: slots + 1,
            ..ShellConfig::default()
        };
    }
    [
        Box::new(FunctionalCard::new(functional)),
        Box::new(SimCard::open(simulated, |_| {}).unwrap()),
    ]
}

/// A card whose tables begin as small as they can.
fn open(card: Box<dyn card::Card>, table_grow_percent: u8) -> (Card, Watch) {
    let watch = Watch::default();
    let watched = Watched {
        card,
        between: watch.clone(),
    };
    let options = OwnerOptions {
        // Small files have small pages otherwise, of which several belong to one of the test's.
        page_size: Some(PageSize::MIB_2),
        table_sets_log2: TableGeometry::MIN_SETS_LOG2,
        table_grow_percent,
        ..OwnerOptions::default()
    };
    (Card::new(Box::new(watched), options).unwrap(), watch)
}

fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

/// The pages of one set: of the smallest table all of them, of twice its size 16, of four times 8.
fn page(number: u64) -> VirtAddr {
    let largest = TableGeometry::new(CardAddr::default(), TableGeometry::MIN_SETS_LOG2 + 2);
    let set = 5 + ((number % 4) << TableGeometry::MIN_SETS_LOG2);
    let page = largest.unwrap().page(set, 1 + number / 4, PageSize::MIB_2);
    page.base()
}

/// Every fourth page is only read.
fn is_writable(number: u64) -> bool {
    number % 4 != 3
}

/// Whether a page is still touched at a table size of `pages`: a page is written, and every second one read, only until
/// the table grows next.
fn is_touched(number: u64, pages: u64, write: bool) -> bool {
    let grows = [8, 16, PAGES].into_iter().find(|&grows| number < grows);
    grows.is_some_and(|grows| pages < grows) || !write && number % 2 == 0
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

/// Bursts, and the page of each: the first of each page is a read, and no write is for the page that came last, so that
/// writes find an entry. The write port is ahead of the read port by what it parks.
fn draw(random: &mut Random) -> Vec<(u64, Burst)> {
    let mut bursts = Vec::new();
    for newest in 0..PAGES {
        for count in 0..BURSTS {
            let any = random.below(newest.max(1));
            let wish = is_writable(any) && random.below(2) == 0;
            let (number, write) = match count > 0 && is_touched(any, newest, wish) {
                true => (any, wish && any + 1 < newest),
                false => (newest, false),
            };
            let rows = 1 + random.below(8);
            let row = random.below(65 - rows) + if write { 0 } else { 64 };
            let burst = Burst {
                address: page(number).get() + row * ROW as u64,
                rows,
                write,
                seed: random.below(1 << 30),
            };
            bursts.push((number, burst));
        }
    }
    bursts
}

/// A kernel that reads page after page for the first time, and between them reads and writes at random
/// in those that it has read.
struct Play {
    folder: PathBuf,
    pages: Vec<Mapping>,
    /// The list, mapped as long as it is played.
    program: Mapping,
    results: Mapping,
    slot: Slot,
    /// Expected contents of the files at the end.
    content: Vec<Vec<u8>>,
    /// Numbers of the written pages.
    written: BTreeSet<u64>,
    /// Expected hashes of the bursts.
    hashes: Vec<u64>,
}

impl Play {
    fn start(card: &Card, slot: u8, space: &AddressSpace, folder: &Path, seed: u64) -> Self {
        let folder = folder.join(seed.to_string());
        fs::create_dir(&folder).unwrap();
        let mut random = Random(seed);
        let mut content: Vec<Vec<u8>> = (0..FILES)
            .map(|_| (0..BYTES).map(|_| random.below(256) as u8).collect())
            .collect();
        let file = |number: u64| folder.join(format!("file{}", number % FILES));
        for (number, content) in content.iter().enumerate() {
            fs::write(file(number as u64), content).unwrap();
        }
        let options = |number| MapOptions::read_write().address(page(number));
        let pages = (0..PAGES)
            .map(|number| space.map_file(file(number), options(number)).unwrap())
            .collect();
        let (mut list, mut hashes, mut written) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (number, burst) in draw(&mut random) {
            let at = (burst.address % BYTES as u64) as usize;
            let content = &mut content[(number % FILES) as usize];
            let bytes = &mut content[at..at + burst.rows as usize * ROW];
            if burst.write {
                written.insert(number);
                bytes.copy_from_slice(&burst.data());
                hashes.push(burst.seed);
            } else {
                hashes.push(burst.hash(bytes));
            }
            list.extend(burst.encode());
        }
        let program = folder.join("program");
        fs::write(&program, &list).unwrap();
        let program = space.map_file(&program, MapOptions::read_only()).unwrap();
        let results = MapOptions::create(program.bytes());
        let results = space.map_file(folder.join("results"), results).unwrap();
        let slot = card
            .load(SlotId(slot), kernel("burst_player"), space)
            .unwrap();
        slot.set_pointer("program", program.address()).unwrap();
        slot.set_pointer("results", results.address()).unwrap();
        slot.set("bursts", hashes.len() as u64).unwrap();
        slot.start().unwrap();
        Self {
            folder,
            pages,
            program,
            results,
            slot,
            content,
            hashes,
            written,
        }
    }

    fn wait(&mut self) {
        self.slot.wait(None, |_| Continue::Yes).unwrap();
    }

    /// Takes the pages back and looks at everything.
    fn check(self, asid: Asid, watch: &Watch) {
        self.program.unmap().unwrap();
        self.results.unmap().unwrap();
        let word = |row: &[u8], at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&row[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let mut seen = vec![false; self.hashes.len()];
        for row in fs::read(self.folder.join("results")).unwrap().chunks(ROW) {
            let burst = word(row, 0) as usize;
            assert!(!std::mem::replace(&mut seen[burst], true), "burst {burst}");
            assert_eq!(word(row, 8), self.hashes[burst], "burst {burst}");
            assert_eq!(word(row, 16), 0, "burst {burst}");
        }
        for mapping in self.pages {
            mapping.unmap().unwrap();
        }
        let log = watch.0.lock().unwrap().clone();
        assert_eq!(log.failed, []);
        let mut marked = 0;
        for (number, content) in self.content.iter().enumerate() {
            let file = self.folder.join(format!("file{number}"));
            assert!(fs::read(&file).unwrap() == *content, "file {number}");
        }
        for number in 0..PAGES {
            let page = (asid, page(number));
            let (accessed, dirty) = log.removed[&page];
            assert!(accessed, "page {number}");
            let dirty = dirty || log.protected.contains(&page);
            let answered = log.answered.contains(&page);
            let written = self.written.contains(&number);
            assert_eq!(dirty || answered, written, "page {number}");
            marked += u64::from(dirty && !answered);
        }
        assert!(marked >= PAGES / 2, "the shell marked {marked} pages");
    }
}

#[test]
fn a_table_grows_twice_while_a_kernel_works() {
    for raw in cards(1) {
        let timed = raw.description().clock_period > Picoseconds::ZERO;
        let folder = TempDir::new().unwrap();
        let (card, watch) = open(raw, 0);
        let space = card.create_space().unwrap();
        let asid = space.asid();
        let mut play = Play::start(&card, 0, &space, folder.path(), 1);
        play.wait();
        let (_, done) = card.describe().unwrap();
        {
            let log = watch.0.lock().unwrap();
            let sizes: Vec<u8> = log.grown.iter().map(|grown| grown.to.sets_log2()).collect();
            assert_eq!(sizes, [11, 12]);
            for grown in &log.grown {
                // A card without time reports none.
                assert!(!timed || grown.submitted < grown.completed && grown.completed < done);
                assert!(grown.submitted <= grown.completed);
            }
        }
        let paging = card.report().unwrap().paging;
        assert_eq!(paging.set_conflicts, 0);
        // A page's first access faults, and some of its second ones in the other stream.
        assert!(paging.faults <= 3 * PAGES, "{paging:?}");
        // The next table of the smallest size lies where the first one lay.
        let next = card.create_space().unwrap();
        {
            let log = watch.0.lock().unwrap();
            assert_eq!(log.first_tables[&next.asid()], log.first_tables[&asid]);
        }
        let before = paging.pages_written;
        play.check(asid, &watch);
        let written = card.report().unwrap().paging.pages_written - before;
        // Each file is of one frame.
        assert_eq!(written, FILES + 1);
    }
}

/// Three tables grow at the same time, in three spaces; a slot of a fourth space copies meanwhile.
#[test]
fn tables_of_several_spaces_grow_side_by_side() {
    for raw in cards(4) {
        let folder = TempDir::new().unwrap();
        let (card, watch) = open(raw, 0);
        let spaces: Vec<_> = (0..4).map(|_| card.create_space().unwrap()).collect();
        let from = folder.path().join("from");
        let content: Vec<u8> = (0..300_000u32).map(|n| (n >> 8 ^ n) as u8).collect();
        fs::write(&from, &content).unwrap();
        let input = spaces[3].map_file(&from, MapOptions::read_only()).unwrap();
        let to = folder.path().join("to");
        let output = MapOptions::create(input.bytes());
        let output = spaces[3].map_file(&to, output).unwrap();
        let copy = card.load(SlotId(3), kernel("copy"), &spaces[3]).unwrap();
        copy.set_pointer("input", input.address()).unwrap();
        copy.set_pointer("output", output.address()).unwrap();
        copy.set("bytes", input.bytes()).unwrap();

        let mut plays: Vec<_> = (0..3u8)
            .map(|slot| {
                let space = &spaces[usize::from(slot)];
                Play::start(&card, slot, space, folder.path(), 10 + u64::from(slot))
            })
            .collect();
        copy.start().unwrap();
        copy.wait(None, |_| Continue::Yes).unwrap();
        plays.iter_mut().for_each(Play::wait);
        let mut growths = BTreeMap::new();
        for grown in &watch.0.lock().unwrap().grown {
            *growths.entry(grown.asid).or_insert(0) += 1;
        }
        assert_eq!(growths.len(), 3, "{growths:?}");
        assert!(growths.values().all(|&times| times == 2), "{growths:?}");
        for (play, space) in plays.into_iter().zip(&spaces) {
            play.check(space.asid(), &watch);
        }
        output.unmap().unwrap();
        assert!(fs::read(&to).unwrap() == content);
    }
}

/// A set that is full in a table that is nearly empty gives up an entry; the same set in one that is
/// fuller lets it grow.
#[test]
fn a_table_grows_when_it_is_full_enough() {
    let [functional, _] = cards(1);
    let folder = TempDir::new().unwrap();
    let (card, watch) = open(functional, 1);
    let space = card.create_space().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, [7; 64]).unwrap();
    let output = MapOptions::create(64);
    let output = space.map_file(folder.path().join("to"), output).unwrap();
    let slot = card.load(SlotId(0), kernel("copy"), &space).unwrap();
    slot.set_pointer("output", output.address()).unwrap();
    slot.set("bytes", 64).unwrap();
    let mut mappings = Vec::new();
    let mut touch = |address: VirtAddr| {
        let options = MapOptions::read_only().address(address);
        mappings.push(space.map_file(&file, options).unwrap());
        slot.set_pointer("input", address).unwrap();
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
    };
    let conflicts = || card.report().unwrap().paging.set_conflicts;
    let grown = || watch.0.lock().unwrap().grown.len();
    (0..8).for_each(|number| touch(page(number)));
    assert_eq!((conflicts(), grown()), (0, 0));
    touch(page(8));
    assert_eq!((conflicts(), grown()), (1, 0));
    // One percent of 8192 entries: with the output's there are 81 then, which is one too few.
    let free = |number: u64| VirtAddr::new((1 << 40) + number * PageSize::MIB_2.bytes()).unwrap();
    (0..72).for_each(|number| touch(free(number)));
    touch(page(9));
    assert_eq!((conflicts(), grown()), (2, 0));
    touch(free(72));
    touch(page(10));
    assert_eq!((conflicts(), grown()), (2, 1));
    touch(page(11));
    assert_eq!((conflicts(), grown()), (2, 1));
}
