//! Back-pressure of streams at addresses: a kernel that writes faster than the device takes waits (FSRF §4.8).
//!
//! A write far behind the bytes that have gone out is kept from the pager until what lies before it has gone out: written
//! back from the card and taken by the device. Not its data is held up but its fault, so the clock goes on and the card can
//! write back.

use super::files::Files;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use units::{Asid, Fault, VirtAddr};

/// Pages that may be on the card and have not gone out.
const AHEAD: u64 = 32;
/// Pages before the one that a kernel wants which it may still be writing: bursts under way, and what the shell looks ahead.
const UNFINISHED: u64 = 16;

/// A writable mapping of a stream, by where it begins.
pub(crate) type Place = (Asid, VirtAddr);

/// What is held back.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    streams: BTreeMap<Place, Stream>,
    begun: Vec<Flush>,
}

#[derive(Debug, Default)]
struct Stream {
    /// Bytes that were asked to go out.
    out: u64,
    /// They are on their way.
    busy: bool,
    faults: Vec<Fault>,
}

/// What is to go out: a part of a mapping.
#[derive(Debug)]
pub(crate) struct Flush {
    pub(crate) place: Place,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Pressure {
    /// Nothing waits for a device.
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

    /// A stream has accepted its data, or has failed: the faults that it held back. After a failure, a kernel that
    /// continues to write gets an error.
    pub(super) fn flushed(&mut self, place: Place) -> Vec<Fault> {
        let Some(stream) = self.streams.get_mut(&place) else {
            return Vec::new();
        };
        stream.busy = false;
        std::mem::take(&mut stream.faults)
    }

    /// Keeps a fault until a device has taken more. False if the pager is to have it now.
    pub(super) fn holds_back(&mut self, files: &Files, fault: &Fault) -> bool {
        let Some((start, page)) = files.written_stream(fault.asid, fault.address) else {
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

    fn end(&mut self, gone: impl Fn(&Place) -> bool) -> Vec<Fault> {
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
