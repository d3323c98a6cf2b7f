//! The states owned by one thread, and their lookup.

use super::explore::StateId;
use super::model::{Model, State};
use super::Violation;

/// Number of recently sent states that a thread remembers, to send fewer of them twice. They fit its own cache.
pub(super) const REMEMBERED: usize = 1 << 12;

/// A state in transit to its shard.
#[derive(Clone, Copy)]
pub(super) struct Letter<const W: usize> {
    pub state: State<W>,
    pub hash: u64,
    pub from: StateId,
    /// The first delivery among the steps of `from`.
    pub first_delivery: bool,
}

/// The states that one thread owns.
pub(super) struct Shard<const W: usize> {
    pub states: Vec<State<W>>,
    /// By state: the state it was first reached from.
    pub parents: Vec<StateId>,
    /// First deliveries: from which state to which own state.
    pub deliveries: Vec<(StateId, u32)>,
    /// Open addressing: the upper half of the hash, and place + 1 in the lower half.
    pub slots: Vec<u64>,
    pub steps: usize,
    /// States sent lately, by hash. All ones is no state: bit 63 of a
    /// cache's word is never set.
    pub sent: Vec<State<W>>,
    pub home_used: Vec<bool>,
    pub cache_used: Vec<bool>,
    pub broken: Option<(StateId, Violation)>,
}

impl<const W: usize> Shard<W> {
    /// A shard without states, for tables of these numbers of cells.
    pub fn new(home_cells: usize, cache_cells: usize) -> Self {
        Self {
            states: Vec::new(),
            parents: Vec::new(),
            deliveries: Vec::new(),
            slots: vec![0; 1 << 12],
            steps: 0,
            sent: vec![[u64::MAX; W]; REMEMBERED],
            home_used: vec![false; home_cells],
            cache_used: vec![false; cache_cells],
            broken: None,
        }
    }
}

pub(super) fn shard_of(hash: u64, count: usize) -> usize {
    (((hash & !TAG) * count as u64) >> 32) as usize
}

/// A mixing hash of a state: multiply and fold, word by word.
pub(super) fn hash<const W: usize>(state: &State<W>) -> u64 {
    let mut h: u64 = 0x9e37_79b9_7f4a_7c15;
    for &word in state {
        let product = u128::from(h ^ word) * 0xd6e8_feb8_6659_fd93_u128;
        h = (product >> 64) as u64 ^ product as u64;
        h = h.rotate_left(23).wrapping_add(0xa076_1d64_78bd_642f);
    }
    h ^ h >> 29
}

/// Files letters: new states get an index, known ones only their delivery.
pub(super) fn file<const W: usize>(shard: &mut Shard<W>, model: &Model<W>, letters: &[Letter<W>]) {
    let mut ready = [0u64; LOOK_AHEAD];
    for group in letters.chunks(LOOK_AHEAD) {
        grow(shard, group.len());
        let shift = shift(&shard.slots);
        // Independent loads first: the memory system overlaps them.
        for (first, letter) in ready.iter_mut().zip(group) {
            *first = shard.slots[(letter.hash >> shift) as usize];
        }
        for first in &mut ready {
            let place = (*first as u32).wrapping_sub(1) as usize;
            *first = shard.states.get(place).map_or(0, |state| state[W - 1]);
        }
        std::hint::black_box(&ready);
        for letter in group {
            let place = match look_up(shard, &letter.state, letter.hash) {
                Ok(place) => place,
                Err(slot) => insert(shard, model, letter, slot),
            };
            if letter.first_delivery {
                shard.deliveries.push((letter.from, place));
            }
        }
    }
}

const LOOK_AHEAD: usize = 16;
const TAG: u64 = 0xffff_ffff_0000_0000;

/// The index of a state, or the slot that it would take.
pub(super) fn look_up<const W: usize>(
    shard: &Shard<W>,
    state: &State<W>,
    hash: u64,
) -> Result<u32, usize> {
    let mask = shard.slots.len() - 1;
    let tag = hash & TAG;
    let mut slot = (hash >> shift(&shard.slots)) as usize;
    loop {
        let entry = shard.slots[slot];
        if entry == 0 {
            return Err(slot);
        }
        let place = (entry as u32) - 1;
        if entry & TAG == tag && shard.states[place as usize] == *state {
            return Ok(place);
        }
        slot = (slot + 1) & mask;
    }
}

/// Gives a new state the next index, and a slot.
fn insert<const W: usize>(
    shard: &mut Shard<W>,
    model: &Model<W>,
    letter: &Letter<W>,
    slot: usize,
) -> u32 {
    let place = shard.states.len() as u32;
    shard.slots[slot] = letter.hash & TAG | u64::from(place + 1);
    shard.states.push(letter.state);
    shard.parents.push(letter.from);
    if shard.broken.is_none() {
        // The state itself may be wrong; the violation is attributed to the step from its parent.
        shard.broken = model
            .inspect(&letter.state)
            .map(|violation| (letter.from, violation));
    }
    place
}

/// Keeps the table at most half full. The tags determine the new slots of the entries, in unchanged order.
fn grow<const W: usize>(shard: &mut Shard<W>, more: usize) {
    if (shard.states.len() + more) * 2 <= shard.slots.len() {
        return;
    }
    let mut slots = vec![0; shard.slots.len() * 2];
    let (shift, mask) = (shift(&slots), slots.len() - 1);
    for &entry in shard.slots.iter().filter(|&&entry| entry != 0) {
        let mut slot = (entry >> shift) as usize;
        while slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        slots[slot] = entry;
    }
    shard.slots = slots;
}

/// Shift of a hash to its slot: the upper bits are used.
fn shift(slots: &[u64]) -> u32 {
    u64::BITS - slots.len().trailing_zeros()
}
