//! Common code for tests of shared memory: cards, and the lists of `kernels/list_sum`.

use funcard::Registry;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, HostFile, OwnerOptions,
    PageSize, Picoseconds, Shareable, SharedMemory, ShellConfig, SimOptions, Slot, SlotId,
    TrapFigures,
};

/// A node as `kernels/list_sum` knows it.
#[repr(C, align(64))]
pub struct Node {
    pub next: AtomicU64,
    pub value: AtomicU64,
    pub rest: [AtomicU64; 6],
}

// SAFETY: made of atomics; 64 bytes.
unsafe impl Shareable for Node {}

pub fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

/// A functional card with this much memory besides the page tables, whose kernels run in the order that a seed selects.
pub fn functional(kernels: Registry, pages_of_4k: u64, seed: Option<u64>) -> Card {
    functional_on(None, kernels, pages_of_4k, seed)
}

/// The same, with what traps cost on its host.
pub fn functional_on(
    host: Option<HostFile>,
    kernels: Registry,
    pages_of_4k: u64,
    seed: Option<u64>,
) -> Card {
    let config = FunctionalConfig {
        slots: 2,
        channels: 1,
        queues: 3,
        channel_bytes: (128 << 10) + (pages_of_4k << 12),
        seed,
        kernels,
        ..FunctionalConfig::default()
    };
    let options = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        table_sets_log2: 10,
        clean_ahead_bytes: 0,
        host,
        ..OwnerOptions::default()
    };
    Card::new(Box::new(FunctionalCard::new(config)), options).unwrap()
}

/// A simulated card with two slots.
///
/// # Errors
/// The library's errors.
pub fn two_slots(options: OwnerOptions) -> Result<Card, Error> {
    let mut card = SimOptions::named("f1")?;
    card.shell = ShellConfig {
        slots: 2,
        queues: 3,
        ..ShellConfig::default()
    };
    Card::simulated(card, options, |_| {})
}

/// A host with these costs of a trap and of a protection change of 4096 bytes, in microseconds.
pub fn costs(trap: u64, change: u64) -> HostFile {
    let figures = TrapFigures {
        trap_ps: Picoseconds::from_micros(trap),
        protect_page_ps: Picoseconds::from_micros(change),
        open_page_ps: Picoseconds::from_micros(change),
        ..TrapFigures::default()
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = HostFile::text_of("test", "of a test", figures, None).unwrap();
    std::fs::write(file.path(), text).unwrap();
    HostFile::load(file.path()).unwrap()
}

pub fn wait(slot: &Slot) -> Result<(), tombolo::Error> {
    slot.wait(Some(Picoseconds::from_millis(10_000)), |_| Continue::Yes)
}

/// A list over the first nodes of the memory, one in each `stride`; the last node is for the result.
pub fn build(memory: &SharedMemory, count: usize, stride: usize) -> Vec<&Node> {
    let nodes: Vec<&Node> = memory.slice::<Node>().iter().step_by(stride).collect();
    let nodes = nodes[..count].to_vec();
    for (n, node) in nodes.iter().enumerate() {
        node.value.store(n as u64 * 3 + 1, Relaxed);
        let next = nodes.get(n + 1).map_or(0, |next| &raw const **next as u64);
        node.next.store(next, Relaxed);
    }
    nodes
}

pub fn start(
    card: &Card,
    slot: SlotId,
    space: &AddressSpace,
    head: &Node,
    output: &Node,
    add: u64,
    limit: u64,
) -> Slot {
    let slot = card.load(slot, kernel("list_sum"), space).unwrap();
    slot.set("head", &raw const *head as u64).unwrap();
    slot.set("output", &raw const *output as u64).unwrap();
    slot.set("add", add).unwrap();
    slot.set("limit", limit).unwrap();
    slot.start().unwrap();
    slot
}
