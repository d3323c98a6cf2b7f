// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! What is read from the peer's memory goes into a kernel.

use super::{status, Common, ControlPins, Running, StreamPins};
use std::collections::VecDeque;
use timing::network::{NetworkFigures, NetworkLink};
use units::Picoseconds;

/// Bytes that come together.
struct Packet {
    bytes: Vec<u8>,
    /// Never, if it was lost.
    arrives: Picoseconds,
}

#[derive(Default)]
pub(super) struct Receiver {
    pub(super) common: Common,
    /// What was asked for and not yet taken, in order; of the first, so many bytes were.
    packets: VecDeque<Packet>,
    taken: usize,
    outstanding: u64,
    /// Bytes of the transfer that were asked for.
    asked: u64,
    /// Bytes of the beat that is offered; with TLAST.
    offered: Option<(usize, bool)>,
    /// A beat without a byte ends the packet of a transfer that has failed.
    cuts: bool,
    /// How that transfer ends.
    cut_status: u8,
    /// The host has said that the transfer is to end.
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
        // A beat that is offered stays; then the failure shows.
        if self.offered.is_none() && !self.cuts && self.common.is_given_up(at) {
            self.abandon(status::NETWORK);
        } else if self.common.fails_at.is_none() {
            self.ask(at, running, link, is_up);
        }
    }

    /// The shell has taken the beat.
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

    /// Asks for as much as there is room for.
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
                packets.push_back(Packet { bytes, arrives });
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

    /// No more of the transfer comes; a packet that has begun is cut short.
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

    /// The link is down: what has not arrived yet never will.
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

    /// The link is up.
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
        // What is offered waits for the kernel, whatever happens.
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
