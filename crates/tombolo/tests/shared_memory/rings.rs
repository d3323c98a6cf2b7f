//! Two kernels that change every node of rings through the same pages, and threads that write and read other words of
//! the same nodes: for cards with the real kernel, simulated ones among them.

use super::common::{kernel, Node};
use super::random::Random;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use tombolo::{
    AddressSpace, Card, Continue, Error, PageSize, SharedMemory, Slot, SlotId, SpaceOptions,
};

const KERNELS: usize = 2;
/// The amount that a kernel adds to a node at each visit: above the number of the node.
const STEP: u64 = 1 << 20;

/// Who goes round where.
#[derive(Clone, Copy, Debug)]
pub struct Rings {
    /// Pages of 4 KiB.
    pub pages: usize,
    /// So many of them fit into the space's part of card memory, and one more.
    pub frames: u64,
    /// Nodes of a page, of both kernels together.
    pub nodes: usize,
    /// Times that each kernel goes round its ring.
    pub rounds: u64,
    /// Threads of the program, at most six.
    pub threads: usize,
    /// Pause of a thread after each few accesses.
    pub rest: Duration,
    /// Picks the order of the rings, and what the threads do.
    pub seed: u64,
}

/// Result of a run.
#[derive(Clone, Copy, Debug)]
pub struct Gone {
    /// Words read with an impossible value, and words lost in the end.
    pub wrong: u64,
    /// Accesses of kernels.
    pub card_accesses: u64,
    /// Accesses of threads.
    pub host_accesses: u64,
    /// Pages that got to the card to be written, were shared again, or went back.
    pub moves: u64,
}

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
    number: usize,
    space: &AddressSpace,
    (memory, head): (&SharedMemory, &Node),
    output: (&SharedMemory, &Node),
    visits: u64,
) -> Result<Slot, Error> {
    let slot = card.load(SlotId(number as u8), kernel("list_sum"), space)?;
    slot.set_pointer("head", memory.address_of(head)?)?;
    slot.set_pointer("output", output.0.address_of(output.1)?)?;
    slot.set("add", STEP)?;
    slot.set("limit", visits)?;
    slot.start()?;
    Ok(slot)
}

impl Rings {
    /// Goes round on a card with two slots.
    ///
    /// # Errors
    /// The library's errors.
    pub fn run(&self, card: &Card) -> Result<Gone, Error> {
        let limit = (self.frames + 1) * PageSize::KIB_4.bytes();
        let space = card.create_space_with(SpaceOptions::new().limit(limit))?;
        let memory = space.alloc_with_pages(self.pages * 4096, PageSize::KIB_4)?;
        let results = space.alloc_with_pages(4096, PageSize::KIB_4)?;
        let mut random = Random(self.seed);
        let all = memory.slice::<Node>().iter().step_by(64 / self.nodes);
        let all: Vec<&Node> = all.collect();
        let rings: Vec<Vec<&Node>> = (0..KERNELS)
            .map(|me| all.iter().skip(me).step_by(KERNELS).copied().collect())
            .collect();
        let visits = rings[0].len() as u64 * self.rounds;
        let heads: Vec<&Node> = rings.iter().map(|nodes| ring(nodes, &mut random)).collect();
        let outputs = results.slice::<Node>();
        let end = AtomicBool::new(false);
        let (wrong, host_accesses) = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads)
                .map(|me| {
                    let (all, end) = (&all, &end);
                    scope.spawn(move || self.disturb(me, all, end))
                })
                .collect();
            let run = || {
                let slots = (0..KERNELS).map(|number| {
                    let head = (&memory, heads[number]);
                    let output = (&results, &outputs[number]);
                    start(card, number, &space, head, output, visits)
                });
                let slots = slots.collect::<Result<Vec<_>, Error>>()?;
                slots
                    .iter()
                    .try_for_each(|slot| slot.wait(None, |_| Continue::Yes))
            };
            let ran = run();
            end.store(true, Relaxed);
            let mut sums = (0, 0);
            for thread in threads {
                match thread.join() {
                    Ok((wrong, accesses)) => sums = (sums.0 + wrong, sums.1 + accesses),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            ran.map(|()| sums)
        })?;
        let lost = |(place, node): (usize, &&Node)| {
            node.value.load(Relaxed) != place as u64 + self.rounds * STEP
        };
        let lost: usize = rings
            .iter()
            .map(|nodes| nodes.iter().enumerate().filter(|one| lost(*one)).count())
            .sum();
        let sharing = card.report()?.paging.sharing;
        Ok(Gone {
            wrong: wrong + lost as u64,
            // A read and a write for each visit.
            card_accesses: 2 * KERNELS as u64 * visits,
            host_accesses,
            moves: sharing.upgraded + sharing.shared + sharing.returned,
        })
    }

    /// One thread: its own word of each node counts up, the kernels' values only ever grow. Wrong words, and
    /// accesses.
    fn disturb(&self, me: usize, all: &[&Node], end: &AtomicBool) -> (u64, u64) {
        let mut random = Random(self.seed + 63 + me as u64);
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
                    let number = (place / KERNELS) as u64;
                    let known = value >= least[place] && value % STEP == number;
                    wrong += u64::from(!known);
                    least[place] = value;
                    accesses += 1;
                }
            }
            std::thread::sleep(self.rest);
        }
        let lost = all
            .iter()
            .zip(&mine)
            .filter(|(node, mine)| node.rest[me].load(Relaxed) != **mine);
        (wrong + lost.count() as u64, accesses)
    }
}
