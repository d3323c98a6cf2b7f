// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Receive direction: data read from the peer's memory go into a kernel.

use super::{status, Common, ControlPins, Running, StreamPins};
use std::collections::VecDeque;
use timing::network::{NetworkFigures, NetworkLink};
use units::Picoseconds;

/// Bytes that arrive together.
struct ReceivedPacket {
    bytes: Vec<u8>,
    /// Arrival time; never, if it was lost.
    arrives: Picoseconds,
}

#[derive(Default)]
pub(super) struct Receiver {
    pub(super) common: Common,
    /// Requested and not yet accepted packets, in order, and the number of bytes
    /// accepted of the first.
    packets: VecDeque<ReceivedPacket>,
    taken: usize,
    outstanding: u64,
    /// Number of bytes of the transfer that were requested.
    asked: u64,
    /// Number of bytes of the offered beat, and its TLAST.
    offered: Option<(usize, bool)>,
    /// A beat without data ends the packet of a failed transfer.
    cuts: bool,
    /// Status of the failed transfer.
    cut_status: u8,
    /// The host has requested the end of the transfer.
    stops: bool,
}

impl Receiver {
    pub(super) fn sample(
        &mut self,
        at: Picoseconds,
        pins: &StreamPins,
        control: &ControlPins,
        link: &mut NetworkLink,
        is_up: bool,
    ) {
        if pins.valid.high() && pins.ready.high() {
            self.crossed();
        }
        if self.common.begin(control, at) {
            self.asked = 0;
            if self
                .common
                .running
                .is_some_and(|running| running.bytes == 0)
            {
                self.common.end(0, false, status::OK);
            }
        }
        let Some(running) = self.common.running else {
            return;
        };
        if control.stop.high() && !self.cuts {
            self.stops = true;
        }
        if self.offered.is_none() && self.stops {
            self.stops = false;
            self.abandon(status::OK);
            return;
        }
        // An offered beat stays; the failure is reported after it.
        if self.offered.is_none() && !self.cuts && self.common.is_given_up(at) {
            self.abandon(status::NETWORK);
        } else if self.common.fails_at.is_none() {
            self.ask(at, running, link, is_up);
        }
    }

    /// Handles the acceptance of the beat by the shell.
    fn crossed(&mut self) {
        if std::mem::take(&mut self.cuts) {
            self.common.end(self.common.moved, true, self.cut_status);
            return;
        }
        let Some((bytes, last)) = self.offered.take() else {
            return;
        };
        self.taken += bytes;
        self.outstanding -= bytes as u64;
        self.common.moved += bytes as u64;
        let front = self.packets.front().map_or(0, |packet| packet.bytes.len());
        if self.taken >= front {
            self.packets.pop_front();
            self.taken = 0;
        }
        if self
            .common
            .running
            .is_some_and(|running| running.bytes == self.common.moved)
        {
            self.common.end(self.common.moved, last, status::OK);
        }
    }

    /// Requests data as far as there is room.
    fn ask(&mut self, at: Picoseconds, running: Running, link: &mut NetworkLink, is_up: bool) {
        let figures = *link.figures();
        if self.common.drains {
            return;
        }
        while self.asked < running.bytes && self.common.failure.is_none() && !self.cuts {
            let bytes = (running.bytes - self.asked).min(figures.read_request);
            if self.outstanding + bytes > figures.buffer {
                return;
            }
            let mut data = vec![0; bytes as usize];
            let from = running.address + self.asked;
            if let Some(peer) = &mut self.common.peer {
                if let Err(error) = peer.read(from, &mut data) {
                    self.common.peer_failed(at, &figures, &error);
                    return;
                }
            }
            self.asked += bytes;
            self.outstanding += bytes;
            let packets = &mut self.packets;
            let mut rest = &data[..];
            let mut push = |bytes: u64, arrives| {
                let (now, later) = rest.split_at(bytes as usize);
                rest = later;
                let bytes = now.to_vec();
                packets.push_back(ReceivedPacket { bytes, arrives });
            };
            match is_up {
                true => link.read(at, bytes, push),
                false => {
                    push(bytes, Picoseconds::MAX);
                    self.common.loses(at, &figures);
                }
            }
        }
    }

    pub(super) fn drive(&mut self, at: Picoseconds, pins: &StreamPins) -> bool {
        if self.offered.is_none() {
            self.offered = self.next_beat(at);
        }
        let valid = self.cuts || self.offered.is_some();
        let mut changed = pins.valid.set(u8::from(valid));
        if let Some((bytes, last)) = self.offered {
            if let Some(packet) = self.packets.front() {
                let mut row = [0; 64];
                row[..bytes].copy_from_slice(&packet.bytes[self.taken..self.taken + bytes]);
                changed |= pins.data.set(row);
            }
            changed |= pins.keep.set(u64::MAX >> (64 - bytes));
            changed |= pins.last.set(u8::from(last));
        } else if self.cuts {
            changed |= pins.keep.set(0);
            changed |= pins.last.set(1);
        }
        changed
    }

    fn next_beat(&self, at: Picoseconds) -> Option<(usize, bool)> {
        let running = self.common.running.filter(|_| !self.cuts)?;
        let packet = self.packets.front().filter(|packet| packet.arrives <= at)?;
        let bytes = (packet.bytes.len() - self.taken).min(64);
        let ends = self.common.moved + bytes as u64 == running.bytes;
        Some((bytes, ends && running.last))
    }

    /// Abandons the rest of the transfer; a packet that has begun is truncated.
    fn abandon(&mut self, status: u8) {
        self.packets.clear();
        self.taken = 0;
        self.outstanding = 0;
        self.common.fails_at = None;
        self.common.gives_up = None;
        self.cut_status = status;
        match self.common.moved > 0 {
            true => self.cuts = true,
            false => self.common.end(0, false, status),
        }
    }

    /// Handles a link that went down: packets in flight are lost.
    pub(super) fn lose(&mut self, at: Picoseconds, figures: &NetworkFigures) {
        let mut lost = false;
        for packet in &mut self.packets {
            if packet.arrives > at {
                packet.arrives = Picoseconds::MAX;
                lost = true;
            }
        }
        if lost {
            self.common.loses(at, figures);
        }
    }

    /// Handles a link that came up: requests lost data again.
    pub(super) fn ask_again(&mut self, at: Picoseconds, link: &mut NetworkLink) {
        self.common.gives_up = None;
        for packet in &mut self.packets {
            if packet.arrives == Picoseconds::MAX {
                let arrives = &mut packet.arrives;
                link.read(at, packet.bytes.len() as u64, |_, time| *arrives = time);
            }
        }
    }

    pub(super) fn next_event(&self) -> Option<Picoseconds> {
        // An offered beat waits for the kernel, whatever happens.
        if self.offered.is_some() {
            return None;
        }
        let arrives = self.packets.front().map(|packet| packet.arrives);
        let arrives = arrives.filter(|time| *time != Picoseconds::MAX);
        [arrives, self.common.next_event()]
            .into_iter()
            .flatten()
            .min()
    }
}
