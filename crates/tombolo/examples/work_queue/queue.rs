//! Kernel `work_queue` and the CPU's cores that take items from it. The bar `app.work_queue` measures with it, too.

use std::collections::VecDeque;
use tombolo::{
    AddressSpace, Card, CoherentMemory, Continue, Error, PendingLine, ShellConfig, SimOptions,
    Slot, SlotId,
};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
/// Of each consumer.
const LINES: u64 = 4;
/// Cores that may take.
pub const CONSUMERS: usize = 16;
/// Cycles after which a waiting load is answered that there is no item yet.
const WAIT: u64 = 100_000;

/// Answer to a load.
enum Taken {
    Item { number: u64, value: u64 },
    None,
    End,
}

impl Taken {
    fn read(line: &[u8]) -> Self {
        let word = |place: usize| {
            let bytes = line[8 * place..8 * place + 8].try_into();
            bytes.map_or(0, u64::from_le_bytes)
        };
        match word(0) {
            0 => Self::Item {
                number: word(1),
                value: word(2),
            },
            1 => Self::None,
            _ => Self::End,
        }
    }
}

/// Result of a run.
pub struct Run {
    /// Nanoseconds from the first load to the last answer, an item.
    pub ns: f64,
    /// Items that each consumer got.
    pub taken: Vec<u64>,
    /// Items received by no consumer or by several, or with another value.
    pub wrong: u64,
    /// Loads that were answered that there is no item yet.
    pub in_vain: u64,
}

/// The queue, on a card of its own.
pub struct Queue {
    card: Card,
    _space: AddressSpace,
    slot: Slot,
    memory: CoherentMemory,
    /// The line that each consumer takes next with.
    next: [u64; CONSUMERS],
}

/// The value of an item, as `work_source.sv` has it.
fn value_of(number: u64) -> u64 {
    let value = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    value ^ value >> 29
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Result<Self, Error> {
        let mut options = SimOptions::named("enzian")?;
        options.shell = ShellConfig::coherent();
        let kernel = options.home.join("kernels/work_queue");
        let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
        let space = card.create_space()?;
        let slot = card.load(SlotId(0), &kernel, &space)?;
        slot.set("base", BASE)?;
        slot.set("wait", WAIT)?;
        let memory = card.coherent_memory(BASE, CONSUMERS as u64 * LINES * LINE)?;
        Ok(Self {
            card,
            _space: space,
            slot,
            memory,
            next: [0; CONSUMERS],
        })
    }

    /// Nanoseconds of a cycle of the card.
    pub fn cycle_ns(&self) -> Result<f64, Error> {
        let (card, _) = self.card.describe()?;
        Ok(card.clock_period.get() as f64 / 1000.0)
    }

    /// A core begins to take.
    fn begin(&mut self, consumer: usize) -> Result<PendingLine, Error> {
        let place = self.next[consumer];
        self.next[consumer] = (place + 1) % LINES;
        let line = consumer as u64 * LINES + place;
        self.memory.on_core(consumer as u8).begin_load(line * LINE)
    }

    /// The first consumers take all items of a run. The next item is there `pace` cycles after one was taken.
    pub fn run(&mut self, consumers: usize, items: u64, pace: u64) -> Result<Run, Error> {
        self.slot.set("items", items)?;
        self.slot.set("pace", pace)?;
        self.slot.start()?;
        let mut seen = vec![0u64; items as usize];
        let mut run = Run {
            ns: 0.0,
            taken: vec![0; consumers],
            wrong: 0,
            in_vain: 0,
        };
        let began = self.memory.now()?;
        let mut under_way = VecDeque::new();
        for consumer in 0..consumers {
            under_way.push_back((consumer, self.begin(consumer)?));
        }
        while let Some((consumer, load)) = under_way.pop_front() {
            match Taken::read(&load.wait()?) {
                Taken::Item { number, value } => {
                    run.taken[consumer] += 1;
                    match seen.get_mut(number as usize) {
                        Some(times) if value == value_of(number) => *times += 1,
                        _ => run.wrong += 1,
                    }
                }
                Taken::None => run.in_vain += 1,
                Taken::End => continue,
            }
            under_way.push_back((consumer, self.begin(consumer)?));
        }
        run.ns = (self.memory.now()? - began).get() as f64 / 1000.0 / items.max(1) as f64;
        run.wrong += seen.iter().filter(|times| **times != 1).count() as u64;
        self.slot.wait(None, |_| Continue::Yes)?;
        Ok(run)
    }
}
