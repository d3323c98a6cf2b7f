//! Back-pressure of streams at addresses: a kernel that writes faster than the device accepts data stalls (FSRF §4.8).
//!
//! A write far ahead of the bytes that have gone out is withheld from the pager until the preceding bytes have gone
//! out: written back from the card and accepted by the device. The fault is held back, not its data, so the clock
//! continues and the card can write back.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use units::{Asid, Fault, VirtAddr};

/// Maximum number of pages on the card that have not gone out.
const AHEAD: u64 = 32;
/// Pages before the requested one that a kernel may still be writing: bursts under way, and the shell's look-ahead.
const UNFINISHED: u64 = 16;

/// A writable mapping of a stream, by its first address.
pub(crate) type StreamPlace = (Asid, VirtAddr);

/// Faults that are held back.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    streams: BTreeMap<StreamPlace, Stream>,
    begun: Vec<Flush>,
}

#[derive(Debug, Default)]
struct Stream {
    /// Number of bytes that were requested to go out.
    out: u64,
    /// They are in flight.
    busy: bool,
    faults: Vec<Fault>,
}

/// A part of a mapping that is to go out.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) place: StreamPlace,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Pressure {
    /// Whether no fault waits for a device.
    pub(super) fn is_idle(&self) -> bool {
        self.streams.values().all(|stream| !stream.busy)
    }

    pub(super) fn take_begun(&mut self) -> Vec<Flush> {
        std::mem::take(&mut self.begun)
    }

    /// Drops the faults of requesters whose slot is in reset.
    pub(super) fn forget(&mut self, requesters: &RangeInclusive<u8>) {
        for stream in self.streams.values_mut() {
            let gone = |fault: &Fault| requesters.contains(&fault.token.requester);
            stream.faults.retain(|fault| !gone(fault));
        }
    }

    /// Handles a stream that has accepted its data or has failed; returns the faults that it held back. After a
    /// failure, a kernel that continues to write gets an error.
    pub(super) fn flushed(&mut self, place: StreamPlace) -> Vec<Fault> {
        let Some(stream) = self.streams.get_mut(&place) else {
            return Vec::new();
        };
        stream.busy = false;
        std::mem::take(&mut stream.faults)
    }

    /// Holds back a fault until a device has accepted more. Returns false if the fault goes to the pager now.
    /// `written` is the mapping of a stream that kernels write at its address: its start, and its page size in bytes.
    pub(super) fn holds_back(&mut self, written: Option<(VirtAddr, u64)>, fault: &Fault) -> bool {
        let Some((start, page)) = written else {
            return false;
        };
        let offset = fault.address.get() - start.get();
        let place = (fault.asid, start);
        let stream = self.streams.entry(place).or_default();
        if !fault.write || offset < stream.out.saturating_add(AHEAD * page) {
            return false;
        }
        stream.faults.push(*fault);
        if !stream.busy {
            stream.busy = true;
            let end = (offset / page - UNFINISHED) * page;
            let start = std::mem::replace(&mut stream.out, end);
            self.begun.push(Flush { place, start, end });
        }
        true
    }

    /// Ends the mappings of a space, or those that begin in a range of it. Returns the faults that waited for them, for the
    /// pager.
    pub(super) fn end_in(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<Fault> {
        self.end(|&(asid, start)| {
            asid == space && range.is_none_or(|(from, to)| (from..to).contains(&start.get()))
        })
    }

    fn end(&mut self, gone: impl Fn(&StreamPlace) -> bool) -> Vec<Fault> {
        let mut faults = Vec::new();
        self.streams.retain(|place, stream| {
            let ends = gone(place);
            if ends {
                faults.append(&mut stream.faults);
            }
            !ends
        });
        faults
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{FaultCause, FaultToken};

    const PAGE: u64 = 4096;
    /// The first page that waits after the first flush.
    const NEXT: u64 = AHEAD - UNFINISHED + AHEAD;

    fn space(number: u8) -> Asid {
        Asid::new(number).unwrap()
    }

    fn start() -> VirtAddr {
        VirtAddr::new(1 << 20).unwrap()
    }

    fn fault(requester: u8, page: u64, write: bool) -> Fault {
        Fault {
            token: FaultToken {
                index: 0,
                requester,
            },
            asid: space(1),
            address: VirtAddr::new(start().get() + page * PAGE).unwrap(),
            write,
            ahead: false,
            cause: FaultCause::Absent,
        }
    }

    fn holds(pressure: &mut Pressure, fault: &Fault) -> bool {
        pressure.holds_back(Some((start(), PAGE)), fault)
    }

    #[test]
    fn a_write_far_ahead_waits_until_what_lies_before_it_has_gone_out() {
        let mut pressure = Pressure::default();
        assert!(!pressure.holds_back(None, &fault(0, 1000, true)), "a file");
        assert!(!holds(&mut pressure, &fault(0, AHEAD - 1, true)), "near");
        assert!(!holds(&mut pressure, &fault(0, AHEAD, false)), "a read");
        assert!(pressure.is_idle() && pressure.take_begun().is_empty());
        let (first, second) = (fault(0, AHEAD, true), fault(2, NEXT, true));
        assert!(holds(&mut pressure, &first) && holds(&mut pressure, &second));
        assert!(!pressure.is_idle());
        // One flush for both, up to the pages that may not be finished.
        let begun = pressure.take_begun();
        let flushed: Vec<(u64, u64)> = begun.iter().map(|f| (f.start, f.end)).collect();
        assert_eq!(flushed, [(0, (AHEAD - UNFINISHED) * PAGE)]);
        assert_eq!(pressure.flushed((space(1), start())), [first, second]);
        assert!(pressure.is_idle());
        // What has gone out makes room for as much, and the next flush continues there.
        assert!(!holds(&mut pressure, &fault(0, NEXT - 1, true)));
        assert!(holds(&mut pressure, &second));
        assert_eq!(pressure.take_begun()[0].start, (AHEAD - UNFINISHED) * PAGE);
    }

    #[test]
    fn the_end_of_a_mapping_or_of_a_slot_holds_nothing_back() {
        let mut pressure = Pressure::default();
        let (first, second) = (fault(0, AHEAD, true), fault(2, NEXT, true));
        holds(&mut pressure, &first);
        holds(&mut pressure, &second);
        pressure.forget(&(0..=1));
        assert!(pressure.end_in(space(2), None).is_empty());
        let behind = Some((start().get() + 1, u64::MAX));
        assert!(pressure.end_in(space(1), behind).is_empty());
        assert_eq!(pressure.end_in(space(1), None), [second]);
        assert!(pressure.is_idle());
    }
}
