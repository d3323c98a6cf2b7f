//! Everybody reads and writes at once: is a write lost, or an old one seen?

use super::common::{functional, kernel, Node};
use super::shaker::{self, Load, MODEL};
use crate::bars::Failure;
use crate::random::Random;
use crate::row::{Row, Target};
use card::functional::Registry;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tombolo::{
    AddressSpace, Card, Continue, OwnerOptions, PageSize, SharedMemory, ShellConfig, SimOptions,
    Slot, SlotId, SpacePlacement,
};

/// Two kernels and three threads on the functional card, in frames for a quarter of the pages.
pub fn functional_card() -> Result<Vec<Row>, Failure> {
    let mut kernels = Registry::default();
    kernels.register(MODEL);
    let load = Load {
        page: PageSize::KIB_4,
        pages: 64,
        accesses: 2_100_000,
        near: 300,
        ahead: 4000,
    };
    let folder = shaker::folder();
    let card = functional(kernels, load.pages / 4, Some(14));
    let shaken = shaker::shake(&card, folder.path(), load)?;
    Ok(vec![
        Row::new(
            "shared.lost",
            shaken.wrong as f64,
            "words",
            Target::Exactly(0.0),
        ),
        Row::new(
            "shared.lost.accesses",
            shaken.accesses as f64,
            "accesses",
            Target::AtLeast(10e6),
        ),
        Row::new(
            "shared.lost.traps",
            shaken.traps as f64,
            "traps",
            Target::AtLeast(20_000.0),
        ),
    ])
}

const PAGES: usize = 64;
const THREADS: usize = 2;
/// Nodes of a page, of all kernels together.
const NODES: usize = 32;
/// Times that each kernel goes round its ring.
const ROUNDS: u64 = 250;

/// A kernel's ring of nodes, one in each page's turn: its first node.
fn ring<'a>(nodes: &[&'a Node], random: &mut Random) -> &'a Node {
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    // Shuffled near by, so that a page is used some times before it may be taken.
    for n in 1..order.len() {
        let other = n - random.below(8.min(n as u64 + 1)) as usize;
        order.swap(n, other);
    }
    for (n, &place) in order.iter().enumerate() {
        let next = nodes[order[(n + 1) % order.len()]];
        nodes[place].value.store(place as u64, Relaxed);
        nodes[place].next.store(&raw const *next as u64, Relaxed);
    }
    nodes[order[0]]
}

fn start(
    card: &Card,
    number: u8,
    space: &AddressSpace,
    (memory, head): (&SharedMemory, &Node),
    output: (&SharedMemory, &Node),
    visits: u64,
) -> Result<Slot, Failure> {
    let slot = card.load(SlotId(number), &kernel("list_sum"), space)?;
    slot.set_pointer("head", memory.address_of(head)?)?;
    slot.set_pointer("output", output.0.address_of(output.1)?)?;
    slot.set("add", 1 << 20)?;
    slot.set("limit", visits)?;
    slot.start()?;
    Ok(slot)
}

/// Two kernels that change every node of rings through the same pages, and threads that write and read other words
/// of the same nodes; card memory for a quarter of the pages.
pub fn rtl() -> Result<Vec<Row>, Failure> {
    let mut options = SimOptions::named("f1")?;
    options.shell = ShellConfig {
        slots: 2,
        queues: 3,
        ..ShellConfig::default()
    };
    let of_owner = OwnerOptions {
        page_size: PageSize::KIB_4,
        read_ahead_bytes: 0,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, of_owner, |_| {})?;
    let limit = (PAGES as u64 / 4 + 1) * 4096;
    let space = card.create_space_with(SpacePlacement::Anywhere, Some(limit))?;
    let memory = space.alloc_with_pages(PAGES * 4096, PageSize::KIB_4)?;
    let results = space.alloc_with_pages(4096, PageSize::KIB_4)?;
    let mut random = Random(14);
    let all: Vec<&Node> = memory.slice::<Node>().iter().step_by(64 / NODES).collect();
    let rings: Vec<Vec<&Node>> = (0..2)
        .map(|me| all.iter().skip(me).step_by(2).copied().collect())
        .collect();
    let visits = rings[0].len() as u64 * ROUNDS;
    let heads: Vec<&Node> = rings.iter().map(|nodes| ring(nodes, &mut random)).collect();
    let outputs = results.slice::<Node>();
    let end = AtomicBool::new(false);
    let (wrong, host_accesses) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|me| {
                let (all, end) = (&all, &end);
                scope.spawn(move || disturb(me, all, end))
            })
            .collect();
        let run = || {
            let slots = (0..2u8).map(|number| {
                let place = usize::from(number);
                let head = (&memory, heads[place]);
                let output = (&results, &outputs[place]);
                start(&card, number, &space, head, output, visits)
            });
            let slots = slots.collect::<Result<Vec<_>, Failure>>()?;
            slots
                .iter()
                .try_for_each(|slot| slot.wait(None, |_| Continue::Yes))?;
            Ok::<(), Failure>(())
        };
        let ran = run();
        end.store(true, Relaxed);
        let mut sums = (0, 0);
        for thread in threads {
            let (wrong, accesses) = thread.join().map_err(|_| "a thread panicked")?;
            sums = (sums.0 + wrong, sums.1 + accesses);
        }
        ran.map(|()| sums)
    })?;
    let lost =
        |(place, node): (usize, &&Node)| node.value.load(Relaxed) != place as u64 + (ROUNDS << 20);
    let lost: usize = rings
        .iter()
        .map(|nodes| nodes.iter().enumerate().filter(|one| lost(*one)).count())
        .sum();
    let sharing = card.report()?.paging.sharing;
    // A page that got to the card to be written, was shared again, or went back.
    let moves = sharing.upgraded + sharing.shared + sharing.returned;
    Ok(vec![
        Row::new(
            "shared.lost.rtl",
            (wrong + lost as u64) as f64,
            "words",
            Target::Exactly(0.0),
        ),
        // A read and a write for each visit.
        Row::new(
            "shared.lost.rtl.card_accesses",
            (4 * visits) as f64,
            "accesses",
            Target::AtLeast(1e6),
        ),
        Row::new(
            "shared.lost.rtl.host_accesses",
            host_accesses as f64,
            "accesses",
            Target::AtLeast(100_000.0),
        ),
        Row::new(
            "shared.lost.rtl.moves",
            moves as f64,
            "moves",
            Target::AtLeast(20_000.0),
        ),
    ])
}

/// One thread: its own word of each node counts up, the kernels' values only ever grow. Wrong words, and accesses.
fn disturb(me: usize, all: &[&Node], end: &AtomicBool) -> (u64, u64) {
    let mut random = Random(77 + me as u64);
    let mut mine = vec![0u64; all.len()];
    let mut least = vec![0u64; all.len()];
    let (mut wrong, mut accesses) = (0, 0);
    while !end.load(Relaxed) {
        let near = random.below(all.len() as u64) as usize;
        for _ in 0..16 {
            let place = (near + random.below(8) as usize) % all.len();
            let node = all[place];
            if random.below(2) == 0 {
                wrong += u64::from(node.rest[me].load(Relaxed) != mine[place]);
                mine[place] += 1;
                node.rest[me].store(mine[place], Relaxed);
                accesses += 2;
            } else {
                let value = node.value.load(Relaxed);
                let known = value >= least[place] && value & 0xf_ffff == place as u64 / 2;
                wrong += u64::from(!known);
                least[place] = value;
                accesses += 1;
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let lost = all
        .iter()
        .zip(&mine)
        .filter(|(node, mine)| node.rest[me].load(Relaxed) != **mine);
    (wrong + lost.count() as u64, accesses)
}
