//! One direction of a link (PCIe, network): packets sent one after another.

use units::Picoseconds;

/// One direction of the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wire {
    /// Departure of the last booked packet.
    free_at: Picoseconds,
    /// Time since when it is booked without a gap.
    booked_from: Picoseconds,
    /// Total time with packets that carry payload.
    busy: Picoseconds,
}

impl Wire {
    /// Sends packets that take `span` together, behind everything booked. Returns the start of the first.
    pub fn send(&mut self, ready: Picoseconds, span: Picoseconds, payload: bool) -> Picoseconds {
        let start = ready.max(self.free_at);
        if start > self.free_at {
            self.booked_from = start;
        }
        self.book(start + span, span, payload);
        start
    }

    /// Sends a small packet of the other kind of traffic: it goes between booked packets, so it waits for at most one
    /// of them (`longest`), and booked packets are delayed by its span, unless there is a gap before. Returns its
    /// departure.
    pub fn interleave(
        &mut self,
        now: Picoseconds,
        span: Picoseconds,
        longest: Picoseconds,
        payload: bool,
    ) -> Picoseconds {
        let occupied = self.booked_from <= now && now < self.free_at;
        let start = if occupied {
            now + longest.min(self.free_at - now)
        } else {
            now
        };
        let end = start + span;
        if self.free_at <= now {
            self.booked_from = start;
            self.book(end, span, payload);
        } else if end <= self.booked_from {
            self.book(self.free_at, span, payload);
        } else {
            self.book(self.free_at + span, span, payload);
        }
        end
    }

    /// Total time with packets that carry payload.
    pub fn busy(&self) -> Picoseconds {
        self.busy
    }

    fn book(&mut self, until: Picoseconds, span: Picoseconds, payload: bool) {
        self.free_at = until;
        if payload {
            self.busy += span;
        }
    }
}
