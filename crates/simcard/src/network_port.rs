// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! A network interface seen from the shell: two streams, and the host's transfers between them and the memory of a
//! peer. The model of the network gives the time, this port the data.
//!
//! A packet is sent when all its bytes are available, and kept until it is acknowledged; reads are requested as far as
//! there is room. So neither side of the network ever waits for a kernel. While the link is down nothing arrives; after
//! the time in the network's figures without an answer the peer is given up, and the transfer ends with an error.
//!
//! When the host resets the shell, an interface sends nothing more, and reports when all its packets are acknowledged
//! or given up. Then it is reset, too: it drops transfers and connections, as the next program has its own peers.

mod receive;
mod send;

use super::bus::Finder;
use super::model::{Instance, Pin, Row};
use super::surrounding::{peripheral_reset, HostPath, Surrounding};
use card::network::{Peer, PeerError};
use card::CardError;
use receive::Receiver;
use send::Sender;
use timing::network::{NetworkFigures, NetworkLink};
use units::Picoseconds;
use verilated::BuildError;

/// Pins of a stream.
struct StreamPins {
    data: Pin<Row>,
    keep: Pin<u64>,
    last: Pin<u8>,
    valid: Pin<u8>,
    ready: Pin<u8>,
}

/// Pins for the transfers of one direction.
struct ControlPins {
    start: Pin<u8>,
    address: Pin<u64>,
    bytes: Pin<u64>,
    last: Pin<u8>,
    stop: Pin<u8>,
    busy: Pin<u8>,
    moved: Pin<u64>,
    done_valid: Pin<u8>,
    done_ready: Pin<u8>,
    done_bytes: Pin<u64>,
    done_last: Pin<u8>,
    done_status: Pin<u8>,
}

impl ControlPins {
    fn find(find: &Finder<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            start: find.pin("start_o")?,
            address: find.pin("address_o")?,
            bytes: find.pin("bytes_o")?,
            last: find.pin("last_o")?,
            stop: find.pin("stop_o")?,
            busy: find.pin("busy_i")?,
            moved: find.pin("moved_i")?,
            done_valid: find.pin("done_valid_i")?,
            done_ready: find.pin("done_ready_o")?,
            done_bytes: find.pin("done_bytes_i")?,
            done_last: find.pin("done_last_i")?,
            done_status: find.pin("done_status_i")?,
        })
    }

    /// Drives the status of a direction. Returns whether it changed.
    fn drive(&self, common: &Common) -> bool {
        let busy = common.running.is_some() || common.done.is_some();
        let mut changed = self.busy.set(u8::from(busy));
        changed |= self.moved.set(common.moved);
        changed |= self.done_valid.set(u8::from(common.done.is_some()));
        if let Some(done) = common.done {
            changed |= self.done_bytes.set(done.bytes);
            changed |= self.done_last.set(u8::from(done.last));
            changed |= self.done_status.set(done.status);
        }
        changed
    }
}

/// `mover_status_e` of `tmb_stream_pkg`.
mod status {
    pub(super) const OK: u8 = 0;
    pub(super) const KEEP: u8 = 2;
    pub(super) const NETWORK: u8 = 3;
}

/// A transfer that the host has begun.
#[derive(Clone, Copy)]
struct Running {
    address: u64,
    bytes: u64,
    last: bool,
}

/// A completed transfer, until the shell has accepted its status.
#[derive(Clone, Copy)]
struct Done {
    bytes: u64,
    last: bool,
    status: u8,
}

/// State common to both directions.
#[derive(Default)]
struct Common {
    peer: Option<Box<dyn Peer>>,
    running: Option<Running>,
    /// Number of bytes of the transfer that have crossed the stream.
    moved: u64,
    done: Option<Done>,
    /// Time at which the transfer under way fails, and whether the peer is given up permanently.
    fails_at: Option<Picoseconds>,
    /// Reason of the failure; kept until a peer is connected anew.
    failure: Option<String>,
    /// Time at which the peer is given up, if a packet was lost since the link went down.
    gives_up: Option<Picoseconds>,
    /// The shell is about to be reset: nothing more is sent or requested.
    drains: bool,
}

impl Common {
    /// Handles a peer that has refused or not answered.
    fn peer_failed(&mut self, at: Picoseconds, figures: &NetworkFigures, error: &PeerError) {
        if self.failure.is_some() {
            return;
        }
        let name = self
            .peer
            .as_ref()
            .map_or_else(|| "nobody".to_owned(), |peer| peer.name());
        let (after, reason) = match error {
            PeerError::Refused(why) => {
                let trip = figures.to_peer_ps + figures.to_card_ps;
                (trip, format!("{name} refuses: {why}"))
            }
            PeerError::Gone(why) => (figures.retry_ps, format!("{name} does not answer: {why}")),
        };
        self.failure = Some(reason);
        self.fails_at = Some(at + after);
    }

    /// Records the loss of a packet of this direction.
    fn loses(&mut self, at: Picoseconds, figures: &NetworkFigures) {
        self.gives_up.get_or_insert(at + figures.retry_ps);
    }

    /// Whether the time to give up the peer has come.
    fn is_given_up(&mut self, at: Picoseconds) -> bool {
        if self.gives_up.is_some_and(|time| time <= at) {
            let name = self.peer.as_ref().map_or_else(String::new, |p| p.name());
            self.failure.get_or_insert_with(|| {
                format!("the link is down, and {name} was given up after all tries")
            });
            self.fails_at = Some(at);
            self.gives_up = None;
        }
        self.fails_at.is_some_and(|time| time <= at)
    }

    fn next_event(&self) -> Option<Picoseconds> {
        [self.fails_at, self.gives_up].into_iter().flatten().min()
    }

    /// Ends the transfer with this status.
    fn end(&mut self, bytes: u64, last: bool, status: u8) {
        self.running = None;
        self.fails_at = None;
        self.gives_up = None;
        self.done = Some(Done {
            bytes,
            last,
            status,
        });
    }

    fn begin(&mut self, control: &ControlPins, at: Picoseconds) -> bool {
        if !control.start.high() || self.running.is_some() || self.done.is_some() {
            return false;
        }
        self.running = Some(Running {
            address: control.address.get(),
            bytes: control.bytes.get(),
            last: control.last.high(),
        });
        self.moved = 0;
        if self.peer.is_none() {
            self.failure = Some("nobody is connected".to_owned());
        }
        if self.failure.is_some() {
            self.fails_at = Some(at);
        }
        true
    }

    fn connect(&mut self, peer: Box<dyn Peer>) {
        self.peer = Some(peer);
        self.failure = None;
    }
}

/// One interface.
pub(crate) struct NetworkPort {
    out: StreamPins,
    into: StreamPins,
    control: [ControlPins; 2],
    drain: Pin<u8>,
    quiet: Pin<u8>,
    /// Active low: the host resets the shell.
    reset: Pin<u8>,
    link: NetworkLink,
    is_up: bool,
    sender: Sender,
    receiver: Receiver,
}

impl NetworkPort {
    pub(crate) fn new(
        shell: &Instance,
        interface: u32,
        figures: &NetworkFigures,
    ) -> Result<Self, BuildError> {
        let find = |element| Finder {
            shell,
            prefix: "net",
            element,
        };
        let stream = |group: &str, manager: &str, subordinate: &str| {
            let find = find(interface);
            Ok::<_, BuildError>(StreamPins {
                data: find.pin(&format!("{group}_tdata_{manager}"))?,
                keep: find.pin(&format!("{group}_tkeep_{manager}"))?,
                last: find.pin(&format!("{group}_tlast_{manager}"))?,
                valid: find.pin(&format!("{group}_tvalid_{manager}"))?,
                ready: find.pin(&format!("{group}_tready_{subordinate}"))?,
            })
        };
        Ok(Self {
            out: stream("send", "o", "i")?,
            into: stream("receive", "i", "o")?,
            control: [
                ControlPins::find(&find(2 * interface))?,
                ControlPins::find(&find(2 * interface + 1))?,
            ],
            drain: find(interface).pin("drain_o")?,
            quiet: find(interface).pin("quiet_i")?,
            reset: peripheral_reset(shell)?,
            link: NetworkLink::new(figures),
            is_up: true,
            sender: Sender::default(),
            receiver: Receiver::default(),
        })
    }

    fn common(&mut self, received: bool) -> &mut Common {
        match received {
            true => &mut self.receiver.common,
            false => &mut self.sender.common,
        }
    }

    /// Connects a direction to a peer. Earlier failures are cleared.
    pub(crate) fn connect(&mut self, received: bool, peer: Box<dyn Peer>) {
        self.common(received).connect(peer);
    }

    /// Why a direction has failed.
    pub(crate) fn failure(&self, received: bool) -> Option<&str> {
        let common = match received {
            true => &self.receiver.common,
            false => &self.sender.common,
        };
        common.failure.as_deref()
    }

    /// Disconnects or reconnects the cable.
    pub(crate) fn set_link(&mut self, at: Picoseconds, up: bool) {
        if up == self.is_up {
            return;
        }
        self.is_up = up;
        match up {
            true => {
                self.sender.send_again(at, &mut self.link);
                self.receiver.ask_again(at, &mut self.link);
            }
            false => {
                let figures = *self.link.figures();
                self.sender.lose(at, &figures);
                self.receiver.lose(at, &figures);
            }
        }
    }
}

impl Surrounding for NetworkPort {
    fn sample(&mut self, at: Picoseconds, _: &mut HostPath<'_>) -> Result<bool, CardError> {
        if !self.reset.high() {
            self.sender = Sender::default();
            self.receiver = Receiver::default();
            return Ok(false);
        }
        for received in [false, true] {
            self.common(received).drains = self.drain.high();
        }
        let active = self.out.valid.high()
            || self.into.valid.high()
            || self
                .control
                .iter()
                .any(|pins| pins.start.high() || pins.done_valid.high());
        for (number, control) in self.control.iter().enumerate() {
            let common = match number {
                0 => &mut self.sender.common,
                _ => &mut self.receiver.common,
            };
            if control.done_valid.high() && control.done_ready.high() {
                common.done = None;
            }
        }
        self.sender
            .sample(at, &self.out, &self.control[0], &mut self.link, self.is_up);
        self.receiver
            .sample(at, &self.into, &self.control[1], &mut self.link, self.is_up);
        Ok(active)
    }

    fn drive(&mut self, at: Picoseconds) -> bool {
        let drains = self.drain.high();
        let ready = !drains && self.sender.is_ready(&self.link);
        let mut changed = self.out.ready.set(u8::from(ready));
        let quiet = drains && self.sender.is_quiet();
        changed |= self.quiet.set(u8::from(quiet));
        changed |= self.receiver.drive(at, &self.into);
        changed |= self.control[0].drive(&self.sender.common);
        changed |= self.control[1].drive(&self.receiver.common);
        changed
    }

    fn next_event(&self, now: Picoseconds) -> Option<Picoseconds> {
        let events = [self.sender.next_event(), self.receiver.next_event()];
        events.into_iter().flatten().min().map(|time| time.max(now))
    }
}
