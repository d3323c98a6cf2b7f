// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Send direction: data from a kernel go to the peer's memory.

use super::{status, Common, ControlPins, StreamPins};
use std::collections::VecDeque;
use timing::network::{NetworkFigures, NetworkLink};
use units::Picoseconds;

/// A packet that is not acknowledged yet.
struct UnacknowledgedPacket {
    bytes: u64,
    first: bool,
    /// Time of the acknowledgement; never, if the packet was lost.
    acknowledged: Picoseconds,
}

#[derive(Default)]
pub(super) struct Sender {
    pub(super) common: Common,
    /// Bytes of the next packet.
    gathered: Vec<u8>,
    /// Their address in the peer's memory.
    next: u64,
    flight: VecDeque<UnacknowledgedPacket>,
    /// Number of bytes in `flight`, and number of bytes acknowledged.
    unacknowledged: u64,
    acknowledged: u64,
    /// Set when no more data are accepted for this transfer: whether it ended with TLAST, and its status.
    ending: Option<(bool, u8)>,
    /// Bytes of a beat beyond the end of a full range, for the next transfer, and whether they end a packet.
    rest: Vec<u8>,
    rest_is_last: bool,
    /// A packet has begun and not ended.
    in_packet: bool,
    /// The rest of a packet of a failed transfer is accepted and dropped.
    swallows: bool,
}

impl Sender {
    /// Whether the next beat would be accepted.
    pub(super) fn is_ready(&self, link: &NetworkLink) -> bool {
        let room = self.unacknowledged + self.gathered.len() as u64 + 64 <= link.figures().buffer;
        let takes = self.common.running.is_some()
            && self.common.fails_at.is_none()
            && self.ending.is_none()
            && self.rest.is_empty();
        self.swallows || (takes && room)
    }

    /// Whether all packets are acknowledged or given up.
    pub(super) fn is_quiet(&self) -> bool {
        self.flight.is_empty()
    }

    pub(super) fn sample(
        &mut self,
        at: Picoseconds,
        pins: &StreamPins,
        control: &ControlPins,
        link: &mut NetworkLink,
        is_up: bool,
    ) {
        let crosses = pins.valid.high() && pins.ready.high();
        if crosses && self.swallows {
            self.swallows = !pins.last.high();
            self.in_packet = self.swallows;
        } else if crosses {
            let kept = pins.keep.get();
            let bytes = kept.trailing_ones() as usize;
            let hole = kept.count_ones() as usize != bytes;
            self.in_packet = !pins.last.high();
            match hole {
                true => self.ending = Some((false, status::KEEP)),
                false => self.take(&pins.data.get()[..bytes], pins.last.high()),
            }
            self.pack(at, link, is_up);
        }
        if self.common.begin(control, at) {
            self.begin(at, link, is_up);
        }
        if control.stop.high() && self.common.running.is_some() && self.ending.is_none() {
            self.ending = Some((false, status::OK));
            self.pack(at, link, is_up);
        }
        while let Some(packet) = self.flight.front().filter(|p| p.acknowledged <= at) {
            self.unacknowledged -= packet.bytes;
            self.acknowledged += packet.bytes;
            self.flight.pop_front();
        }
        if self.common.running.is_none() {
            return;
        }
        if self.common.is_given_up(at) {
            self.fail();
        } else if let (Some((last, status)), true) = (self.ending, self.flight.is_empty()) {
            if self.common.fails_at.is_none() {
                self.common.end(self.acknowledged, last, status);
            }
        }
    }

    fn begin(&mut self, at: Picoseconds, link: &mut NetworkLink, is_up: bool) {
        let Some(running) = self.common.running else {
            return;
        };
        self.next = running.address;
        self.acknowledged = 0;
        self.ending = (running.bytes == 0).then_some((false, status::OK));
        let rest = std::mem::take(&mut self.rest);
        if !rest.is_empty() {
            self.take(&rest, self.rest_is_last);
            self.pack(at, link, is_up);
        }
    }

    /// Accepts the bytes of a beat.
    fn take(&mut self, bytes: &[u8], last: bool) {
        let Some(running) = self.common.running else {
            return;
        };
        let room = (running.bytes - self.common.moved).min(bytes.len() as u64) as usize;
        let (now, later) = bytes.split_at(room);
        self.gathered.extend_from_slice(now);
        self.common.moved += room as u64;
        self.rest = later.to_vec();
        self.rest_is_last = last;
        let whole = later.is_empty();
        if (last && whole) || self.common.moved == running.bytes {
            self.ending = Some((last && whole, status::OK));
        }
    }

    /// Sends full packets, or all data if nothing more comes.
    fn pack(&mut self, at: Picoseconds, link: &mut NetworkLink, is_up: bool) {
        let figures = *link.figures();
        let mtu = figures.mtu as usize;
        if self.common.drains {
            return;
        }
        while self.gathered.len() >= mtu || (self.ending.is_some() && !self.gathered.is_empty()) {
            let bytes = self.gathered.len().min(mtu);
            let first = self.acknowledged == 0 && self.flight.is_empty();
            if self.common.failure.is_none() {
                let result = match &mut self.common.peer {
                    Some(peer) => peer.write(self.next, &self.gathered[..bytes]),
                    None => Ok(()),
                };
                if let Err(error) = result {
                    self.common.peer_failed(at, &figures, &error);
                }
            }
            self.gathered.drain(..bytes);
            self.next += bytes as u64;
            let bytes = bytes as u64;
            let acknowledged = match is_up {
                true => link.write(at, bytes, first).acknowledged,
                false => {
                    self.common.loses(at, &figures);
                    Picoseconds::MAX
                }
            };
            self.unacknowledged += bytes;
            self.flight.push_back(UnacknowledgedPacket {
                bytes,
                first,
                acknowledged,
            });
        }
    }

    /// Fails the transfer: the rest of the kernel's packet will be dropped.
    fn fail(&mut self) {
        self.gathered.clear();
        self.flight.clear();
        self.rest.clear();
        self.unacknowledged = 0;
        self.swallows = self.in_packet;
        self.common.end(self.acknowledged, false, status::NETWORK);
    }

    /// Handles a link that went down: unacknowledged packets are lost.
    pub(super) fn lose(&mut self, at: Picoseconds, figures: &NetworkFigures) {
        for packet in &mut self.flight {
            packet.acknowledged = Picoseconds::MAX;
        }
        if !self.flight.is_empty() {
            self.common.loses(at, figures);
        }
    }

    /// Handles a link that came up: sends lost packets again.
    pub(super) fn send_again(&mut self, at: Picoseconds, link: &mut NetworkLink) {
        self.common.gives_up = None;
        for packet in &mut self.flight {
            if packet.acknowledged == Picoseconds::MAX {
                packet.acknowledged = link.write(at, packet.bytes, packet.first).acknowledged;
            }
        }
    }

    pub(super) fn next_event(&self) -> Option<Picoseconds> {
        let acknowledged = self.flight.front().map(|packet| packet.acknowledged);
        let acknowledged = acknowledged.filter(|time| *time != Picoseconds::MAX);
        [acknowledged, self.common.next_event()]
            .into_iter()
            .flatten()
            .min()
    }
}
