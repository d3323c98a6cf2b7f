//! Calls through two coherent lines (CCKit, section 5.7): kernel `rpc` behind the directory of a shell on platform
//! `enzian`, called by one core.

use super::Failure;
use crate::row::Row;
use std::collections::VecDeque;
use std::time::Instant;
use tombolo::{
    AddressSpace, Card, CoherentMemory, PendingLine, Picoseconds, Rpc, ShellConfig, SimOptions,
    Slot, SlotId, WriteBuffer,
};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
const LINES: u64 = 64;
const CALLS: u64 = 10_000;
/// Register offset of the kernel's argument `contexts`.
const CONTEXTS: u32 = 0x20;

fn nanoseconds(time: Picoseconds) -> f64 {
    time.get() as f64 / 1000.0
}

/// Mean latency of single loads of unused lines; the first is excluded, since it also waits until the card has its
/// registers.
pub(super) fn load_ns(
    memory: &CoherentMemory,
    mut lines: impl Iterator<Item = u64>,
) -> Result<f64, Failure> {
    if let Some(first) = lines.next() {
        memory.load(first * LINE)?;
    }
    let (mut time, mut loads) = (Picoseconds::ZERO, 0_u32);
    for line in lines {
        let began = memory.now()?;
        memory.load(line * LINE)?;
        time += memory.now()? - began;
        loads += 1;
    }
    Ok(nanoseconds(time) / f64::from(loads))
}

/// A card with kernel `rpc` behind the directory, and the memory of its lines.
pub(super) fn card() -> Result<(Card, AddressSpace, Slot, CoherentMemory), Failure> {
    card_of(SimOptions::named("enzian")?)
}

/// As [`card`], on the given platform.
pub(super) fn card_of(
    mut options: SimOptions,
) -> Result<(Card, AddressSpace, Slot, CoherentMemory), Failure> {
    options.shell = ShellConfig::coherent();
    let kernel = options.home.join("kernels/rpc");
    let card = Card::simulated(options, Default::default(), |_| {})?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set("handler", 0)?;
    slot.set("calls", 0)?;
    slot.start()?;
    let memory = card.coherent_memory(BASE, LINES * LINE)?;
    Ok((card, space, slot, memory))
}

/// Median latency of null calls.
pub(super) fn call_ns(memory: &CoherentMemory) -> Result<f64, Failure> {
    let (took, _) = calls(&mut Rpc::connect(memory.clone())?)?;
    Ok(nanoseconds(took[took.len() / 2]))
}

/// Sorted latencies of many calls, and the number of wrong answers.
fn calls(rpc: &mut Rpc) -> Result<(Vec<Picoseconds>, u64), Failure> {
    let mut took = Vec::with_capacity(CALLS as usize);
    let mut wrong = 0;
    for call in 0..CALLS {
        let arguments = [call.to_le_bytes(), (!call).to_le_bytes()].concat();
        let began = rpc.memory().now()?;
        let answer = rpc.call(&arguments)?;
        took.push(rpc.memory().now()? - began);
        wrong += u64::from(answer[..16] != arguments[..]);
    }
    took.sort();
    Ok((took, wrong))
}

/// Millions of calls per second of one core with `contexts` contexts, and the number of wrong answers.
fn contexts(memory: &CoherentMemory, contexts: u64) -> Result<(f64, u64), Failure> {
    let calls = 100 * contexts;
    let mut open = VecDeque::new();
    for context in 0..contexts {
        let rpc = Rpc::connect(memory.part(2 * context * LINE, 2 * LINE)?)?;
        open.push_back((rpc, None::<(u64, PendingLine)>));
    }
    let mut wrong = 0;
    let began = memory.now()?;
    for call in 0..calls + contexts {
        let Some((mut rpc, under_way)) = open.pop_front() else {
            break;
        };
        if let Some((argument, line)) = under_way {
            wrong += u64::from(line.wait()?[..8] != argument.to_le_bytes());
        }
        let next = match call < calls {
            true => Some((call, rpc.begin_call(&call.to_le_bytes())?)),
            false => None,
        };
        open.push_back((rpc, next));
    }
    let took = memory.now()? - began;
    Ok((calls as f64 / took.as_seconds() / 1e6, wrong))
}

/// Stores of a core to lines that it does not hold, one at a time and through its write buffer: nanoseconds each.
pub fn stores() -> Result<Vec<Row>, Failure> {
    let (_card, _space, _slot, memory) = card()?;
    memory.load(0)?;
    let half = LINES / 2;
    let began = memory.now()?;
    for line in 1..half {
        memory.store(line * LINE, &[1])?;
    }
    let each = nanoseconds(memory.now()? - began) / (half - 1) as f64;
    let began = memory.now()?;
    let mut buffer = memory.write_buffer();
    for line in half..LINES {
        buffer.store(line * LINE, &[1])?;
    }
    buffer.fence()?;
    let buffered = nanoseconds(memory.now()? - began) / half as f64;
    let [merged, alone] = [words(true)?, words(false)?];
    let without = "coherent.word_store_ns.without_merging";
    Ok(vec![
        Row::new("coherent.store_ns", each, "ns"),
        Row::new("coherent.buffered_store_ns", buffered, "ns"),
        Row::new("coherent.word_store_ns", merged, "ns"),
        Row::new(without, alone, "ns"),
    ])
}

/// Nanoseconds per sequential store of 8 bytes to lines that the core does not hold: through its write buffer, or
/// unmerged with as many outstanding stores as the buffer has lines.
fn words(merge: bool) -> Result<f64, Failure> {
    let (_card, _space, _slot, memory) = card()?;
    memory.load(0)?;
    let stores = (LINES - 1) * LINE / 8;
    let began = memory.now()?;
    let mut buffer = memory.write_buffer();
    let mut alone: VecDeque<PendingLine> = VecDeque::new();
    for word in 0..stores {
        let at = LINE + 8 * word;
        if merge {
            buffer.store(at, &word.to_le_bytes())?;
            continue;
        }
        if alone.len() == WriteBuffer::LINES {
            alone.pop_front().map(PendingLine::wait).transpose()?;
        }
        alone.push_back(memory.begin_store(at, &word.to_le_bytes())?);
    }
    buffer.fence()?;
    for store in alone {
        store.wait()?;
    }
    Ok(nanoseconds(memory.now()? - began) / stores as f64)
}

/// Several contexts of one core.
pub fn several_contexts() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let mut wrong = 0;
    for count in [1, 2, 4, 8, 16, 32] {
        // A kernel that has not yet answered in any of them.
        let (_card, _space, slot, memory) = card()?;
        slot.write_register(CONTEXTS, count as u32)?;
        let (rate, bad) = contexts(&memory, count)?;
        wrong += bad;
        let name = format!("app.rpc_contexts.mcalls_s.{count}");
        rows.push(Row::new(&name, rate, "M calls/s"));
    }
    let name = "app.rpc_contexts.wrong";
    rows.push(Row::new(name, wrong as f64, "calls"));
    Ok(rows)
}

/// The same exchange without coherence, over the card's PCIe-like side link: by registers alone, and by DMA.
pub fn baselines() -> Result<Vec<Row>, Failure> {
    let (_card, _space, slot, memory) = card()?;
    let words = LINE as u32 / 4;
    // The first access also waits until the card has its registers.
    slot.read_register(CONTEXTS)?;
    let mut took = Vec::new();
    for words in [1, words] {
        let began = memory.now()?;
        for word in 0..words {
            slot.write_register(CONTEXTS, word % 2)?;
        }
        for _ in 0..words {
            slot.read_register(CONTEXTS)?;
        }
        took.push(nanoseconds(memory.now()? - began));
    }
    let call = call_ns(&memory)?;
    // A register write notifies the card, which reads the arguments from host memory and writes the answer there.
    let platform = SimOptions::named("enzian")?.platform;
    let way = platform.pcie();
    let least = way.to_card_ps
        + way.register_ps
        + way.to_host_ps
        + way.host_read_ps
        + way.to_card_ps
        + way.to_host_ps
        + way.host_write_ps;
    let least = nanoseconds(least);
    let row =
        |name: &str, value, unit: &str| Row::new(&format!("app.rpc_baseline.{name}"), value, unit);
    Ok(vec![
        row("pio_word_ns", took[0], "ns"),
        row("pio_line_ns", took[1], "ns"),
        row("dma_least_ns", least, "ns"),
        row("faster_than_pio", took[0] / call, "x"),
        row("faster_than_dma", least / call, "x"),
    ])
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let (card, _space, _slot, memory) = card()?;
    let read = load_ns(&memory, 2..LINES)?;

    let mut rpc = Rpc::connect(memory.clone())?;
    let first_cycle = card.report()?.statistics.cycles;
    let wall = Instant::now();
    let (took, mut wrong) = calls(&mut rpc)?;
    let wall = wall.elapsed().as_secs_f64();
    let cycles = card.report()?.statistics.cycles - first_cycle;
    let (pushed, wrong_pushed) = calls(&mut rpc.pushing())?;
    wrong += wrong_pushed;
    let at = |share: f64| nanoseconds(took[((took.len() - 1) as f64 * share) as usize]);
    let median = at(0.5);
    let pushed = nanoseconds(pushed[pushed.len() / 2]);
    Ok(vec![
        Row::new("app.rpc.pushed_ns", pushed, "ns"),
        Row::new("app.rpc.ns", median, "ns"),
        Row::new("app.rpc.ns_p1", at(0.01), "ns"),
        Row::new("app.rpc.ns_p99", at(0.99), "ns"),
        Row::new("app.rpc.read_ns", read, "ns"),
        Row::new("app.rpc.reads", median / read, "reads"),
        Row::new("app.rpc.wrong", wrong as f64, "calls"),
        Row::new("coherent.sim_khz", cycles as f64 / wall / 1000.0, "kHz"),
    ])
}
