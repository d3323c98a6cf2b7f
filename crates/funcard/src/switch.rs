//! The stream switch: ports of kernels connected with each other instead of with their movers.
//!
//! As in the RTL (`rtl/stream/tmb_stream_switch.sv`): a change waits until both sides are between packets.

use super::slot::Slot;
use card::stream::{StreamSource, SwitchState};
use card::SlotId;

/// Current source of a port's beats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Mover,
    /// From the outgoing port of this pair, counted over all slots.
    Port(usize),
    Closed,
}

/// An incoming port.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// The requested source: an outgoing port, or the mover.
    wanted: Option<usize>,
    route: Route,
    /// A packet has passed in part.
    open: bool,
    /// The rest of that packet is discarded.
    swallow: bool,
    broken: bool,
}

/// All incoming ports, by pair, counted over all slots.
#[derive(Debug)]
pub(super) struct Switch {
    crossings: Vec<Crossing>,
    pairs_per_slot: usize,
}

impl Switch {
    pub(super) fn new(slots: usize, pairs_per_slot: usize) -> Self {
        let crossing = Crossing {
            wanted: None,
            route: Route::Mover,
            open: false,
            swallow: false,
            broken: false,
        };
        Self {
            crossings: vec![crossing; slots * pairs_per_slot],
            pairs_per_slot,
        }
    }

    fn slot_of(&self, pair: usize) -> usize {
        pair / self.pairs_per_slot
    }

    /// The slot, and the index among its movers, of the stream into the kernel of a pair.
    fn place(&self, pair: usize) -> (usize, usize) {
        (self.slot_of(pair), 2 * (pair % self.pairs_per_slot))
    }

    pub(super) fn connect(&mut self, slots: &mut [Slot], pair: usize, source: StreamSource) {
        let wanted = match source {
            StreamSource::Mover => None,
            StreamSource::Port { slot, pair } => {
                Some(usize::from(slot.0) * self.pairs_per_slot + usize::from(pair))
            }
        };
        let crossing = &mut self.crossings[pair];
        crossing.wanted = wanted;
        crossing.broken = false;
        self.settle(slots);
    }

    pub(super) fn state(&self, slots: &[Slot], pair: usize) -> SwitchState {
        let crossing = &self.crossings[pair];
        let source = match crossing.route {
            Route::Port(from) => StreamSource::Port {
                slot: SlotId(self.slot_of(from) as u8),
                pair: (from % self.pairs_per_slot) as u8,
            },
            _ => StreamSource::Mover,
        };
        let (slot, index) = self.place(pair);
        let state = slots[slot].movers[index].state();
        SwitchState {
            source,
            pending: Self::is_pending(crossing),
            broken: crossing.broken,
            valid: state.valid,
            ready: state.ready,
        }
    }

    fn is_pending(crossing: &Crossing) -> bool {
        match crossing.route {
            Route::Mover => crossing.wanted.is_some(),
            Route::Port(from) => crossing.wanted != Some(from),
            Route::Closed => true,
        }
    }

    /// Applies the changes whose ports are between packets.
    pub(super) fn settle(&mut self, slots: &mut [Slot]) {
        while (0..self.crossings.len()).any(|pair| self.change(slots, pair)) {}
    }

    fn change(&mut self, slots: &mut [Slot], pair: usize) -> bool {
        let crossing = self.crossings[pair];
        if !Self::is_pending(&crossing) {
            return false;
        }
        let (slot, index) = self.place(pair);
        let route = match (crossing.route, crossing.wanted) {
            (Route::Mover, _) if !slots[slot].movers[index].is_in_packet() => Route::Closed,
            (Route::Port(from), _)
                if !crossing.open && !slots[slot].movers[index].is_in_packet() =>
            {
                let (slot, index) = self.place(from);
                slots[slot].movers[index + 1].linked = false;
                Route::Closed
            }
            (Route::Closed, None) => Route::Mover,
            (Route::Closed, Some(from)) => {
                let (slot, index) = self.place(from);
                let mover = &mut slots[slot].movers[index + 1];
                if mover.linked || mover.is_in_packet() {
                    return false;
                }
                mover.linked = true;
                Route::Port(from)
            }
            _ => return false,
        };
        slots[slot].movers[index].linked = route != Route::Mover;
        self.crossings[pair].route = route;
        true
    }

    /// Incoming ports that can receive bytes.
    pub(super) fn runnable<'a>(&'a self, slots: &'a [Slot]) -> impl Iterator<Item = usize> + 'a {
        let pairs = self.crossings.iter().enumerate();
        pairs
            .filter(|(pair, crossing)| {
                let Route::Port(from) = crossing.route else {
                    return false;
                };
                let (from_slot, from_index) = self.place(from);
                let (slot, index) = self.place(*pair);
                let receives = slots[slot].may_move() && slots[slot].movers[index].has_room();
                let begins = crossing.open || crossing.wanted == Some(from);
                slots[from_slot].movers[from_index + 1].has_chunk()
                    && begins
                    && (crossing.swallow || receives)
            })
            .map(|(pair, _)| pair)
    }

    /// Passes one chunk.
    pub(super) fn step(&mut self, slots: &mut [Slot], pair: usize) {
        let Route::Port(from) = self.crossings[pair].route else {
            return;
        };
        let (from_slot, from_index) = self.place(from);
        let Some((bytes, last)) = slots[from_slot].movers[from_index + 1].take_chunk() else {
            return;
        };
        slots[from_slot].blocked = false;
        let crossing = &mut self.crossings[pair];
        crossing.open = !last;
        if crossing.swallow {
            crossing.swallow = !last;
        } else {
            let (slot, index) = self.place(pair);
            slots[slot].movers[index].put_chunk(bytes, last);
            slots[slot].blocked = false;
        }
        self.settle(slots);
    }

    /// Resets a slot: its movers are empty.
    pub(super) fn reset(&mut self, slots: &mut [Slot], number: usize) {
        for pair in 0..self.crossings.len() {
            let Route::Port(from) = self.crossings[pair].route else {
                continue;
            };
            let (slot, index) = self.place(pair);
            let sends = self.slot_of(from) == number;
            let crossing = &mut self.crossings[pair];
            let cut = crossing.open && !crossing.swallow;
            if slot == number {
                crossing.broken |= cut;
                crossing.open &= !sends;
                crossing.swallow = crossing.open;
            } else if sends && crossing.open {
                crossing.open = false;
                crossing.broken = true;
                if !std::mem::take(&mut crossing.swallow) {
                    slots[slot].movers[index].put_chunk(Vec::new(), true);
                    slots[slot].blocked = false;
                }
            }
        }
        self.settle(slots);
    }
}
