//! The link as two wires with packets.

use super::{Link, Transfer};
use crate::platform::PcieFigures;
use crate::wire::Wire;
use std::collections::VecDeque;
use units::Picoseconds;

/// Bytes of a register, and of an interrupt message.
const WORD: u64 = 4;

/// A full-duplex link. Each direction sends one packet after another.
///
/// | direction | carries | bounded by |
/// |---|---|---|
/// | card to host | read requests, posted writes, interrupts, answers to register reads | credits of posted writes |
/// | host to card | completions of reads, register writes and read requests | tags of read requests |
///
/// Requests are taken to be aligned to their packet sizes. Nothing of the card overtakes its posted
/// writes. Completions come in the order of the requests; register traffic goes between them.
///
/// ```
/// use tombolo_timing::pcie::{Link, PcieLink};
/// use tombolo_timing::platform::Platform;
/// use units::Picoseconds;
///
/// let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
/// let mut link = PcieLink::new(Platform::named("f1", &[directory])?.pcie());
/// let read = link.read_host(Picoseconds::ZERO, 64);
/// assert!(read.last < Picoseconds::from_micros(1));
/// # Ok::<(), tombolo_timing::platform::PlatformError>(())
/// ```
#[derive(Clone, Debug)]
pub struct PcieLink {
    figures: PcieFigures,
    to_host: Wire,
    to_card: Wire,
    /// Times at which the tags in use return, in order.
    tags: VecDeque<Picoseconds>,
    /// Times at which the credits in use return, in order.
    credits: VecDeque<Picoseconds>,
    /// Time at which the last posted write of the card is visible.
    last_visible: Picoseconds,
    /// Time at which the last register access has reached the BAR.
    last_register: Picoseconds,
    /// Time at which the processor can start another register access.
    processor_free: Picoseconds,
    spans: Spans,
}

/// Precomputed times on the wire.
#[derive(Clone, Copy, Debug)]
struct Spans {
    bare_packet: Picoseconds,
    word_packet: Picoseconds,
    full_payload: Picoseconds,
    full_completion: Picoseconds,
    /// All completions of the largest read request.
    full_request: Picoseconds,
}

impl PcieLink {
    /// A link that has always been idle.
    pub fn new(figures: &PcieFigures) -> Self {
        let full_request = data_span(figures, figures.max_read_request, figures.completion_bytes);
        Self {
            figures: *figures,
            to_host: Wire::default(),
            to_card: Wire::default(),
            tags: VecDeque::with_capacity(figures.read_tags as usize),
            credits: VecDeque::with_capacity(figures.posted_credits as usize),
            last_visible: Picoseconds::ZERO,
            last_register: Picoseconds::ZERO,
            processor_free: Picoseconds::ZERO,
            spans: Spans {
                bare_packet: packet_span(figures, 0),
                word_packet: packet_span(figures, WORD),
                full_payload: packet_span(figures, figures.max_payload),
                full_completion: packet_span(figures, figures.completion_bytes),
                full_request,
            },
        }
    }

    /// Sends one read request; returns (arrival of its first completion, of its last).
    fn request(&mut self, now: Picoseconds, bytes: u64) -> (Picoseconds, Picoseconds) {
        let span = self.spans.bare_packet;
        let mut departure = self.to_host.send(now, span, false) + span;
        let tag = take_one(&mut self.tags, self.figures.read_tags);
        departure = departure.max(tag);
        let data_ready = departure + self.figures.to_host_ps + self.figures.host_read_ps;
        let (first_span, span) = if bytes == self.figures.max_read_request {
            (self.spans.full_completion, self.spans.full_request)
        } else {
            let first = bytes.min(self.figures.completion_bytes);
            (
                packet_span(&self.figures, first),
                data_span(&self.figures, bytes, self.figures.completion_bytes),
            )
        };
        let start = self.to_card.send(data_ready, span, true);
        let last = start + span + self.figures.to_card_ps;
        self.tags.push_back(last);
        (start + first_span + self.figures.to_card_ps, last)
    }

    /// Sends one posted packet; returns its departure.
    fn post(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds {
        let credit = take_one(&mut self.credits, self.figures.posted_credits);
        let span = if bytes == self.figures.max_payload {
            self.spans.full_payload
        } else {
            packet_span(&self.figures, bytes)
        };
        let departure = self.to_host.send(now.max(credit), span, true) + span;
        self.credits
            .push_back(departure + self.figures.credit_return_ps);
        departure
    }

    /// A register access of the host; returns the arrival of its packet at the BAR.
    fn access_register(&mut self, now: Picoseconds, payload: bool) -> Picoseconds {
        let issued = now.max(self.processor_free) + self.figures.register_ps;
        self.processor_free = issued;
        let span = if payload {
            self.spans.word_packet
        } else {
            self.spans.bare_packet
        };
        let longest = self.spans.full_completion;
        let departure = self.to_card.interleave(issued, span, longest, payload);
        self.last_register = self.last_register.max(departure + self.figures.to_card_ps);
        self.last_register
    }
}

impl Link for PcieLink {
    fn read_host(&mut self, now: Picoseconds, bytes: u64) -> Transfer {
        let mut left = bytes.max(1);
        let mut transfer: Option<Transfer> = None;
        while left > 0 {
            let part = left.min(self.figures.max_read_request);
            let (first, last) = self.request(now, part);
            let first = transfer.map_or(first, |transfer| transfer.first);
            transfer = Some(Transfer { first, last });
            left -= part;
        }
        transfer.unwrap_or(Transfer {
            first: now,
            last: now,
        })
    }

    fn write_host(&mut self, now: Picoseconds, bytes: u64) -> Transfer {
        let mut left = bytes.max(1);
        let mut departure = now;
        while left > 0 {
            let part = left.min(self.figures.max_payload);
            departure = self.post(now, part);
            left -= part;
        }
        let visible = departure + self.figures.to_host_ps + self.figures.host_write_ps;
        self.last_visible = self.last_visible.max(visible);
        Transfer {
            first: departure,
            last: self.last_visible,
        }
    }

    fn interrupt(&mut self, now: Picoseconds) -> Picoseconds {
        self.write_host(now, WORD).last
    }

    fn register_write(&mut self, now: Picoseconds) -> Picoseconds {
        self.access_register(now, true)
    }

    fn register_read_request(&mut self, now: Picoseconds) -> Picoseconds {
        self.access_register(now, false)
    }

    fn register_read_response(&mut self, now: Picoseconds) -> Picoseconds {
        let span = self.spans.word_packet;
        let departure = self.to_host.send(now, span, true) + span;
        let arrival = (departure + self.figures.to_host_ps).max(self.last_visible);
        self.processor_free = self.processor_free.max(arrival);
        arrival
    }

    fn busy(&self) -> (Picoseconds, Picoseconds) {
        (self.to_card.busy(), self.to_host.busy())
    }
}

/// Takes one of `limit` resources that return at the times in `in_use`; returns the time at which one is free.
fn take_one(in_use: &mut VecDeque<Picoseconds>, limit: u32) -> Picoseconds {
    if in_use.len() < limit as usize {
        return Picoseconds::ZERO;
    }
    in_use.pop_front().unwrap_or(Picoseconds::ZERO)
}

/// Time of one packet on the wire.
fn packet_span(figures: &PcieFigures, payload: u64) -> Picoseconds {
    let bytes = payload + figures.tlp_overhead + figures.link_overhead;
    Picoseconds::for_bytes(bytes, figures.wire_bytes_per_second)
}

/// Time of `bytes` in packets of `size`.
fn data_span(figures: &PcieFigures, bytes: u64, size: u64) -> Picoseconds {
    let packets = bytes.div_ceil(size);
    let overhead = packets * (figures.tlp_overhead + figures.link_overhead);
    Picoseconds::for_bytes(bytes + overhead, figures.wire_bytes_per_second)
}
