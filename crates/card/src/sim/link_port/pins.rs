//! The pins of one slice's link.

use crate::sim::bus::Finder;
use crate::sim::model::{Instance, Pin, Row};
use cpu::line::{Data, WORDS};
use cpu::link::Link;
use cpu::message::Message;
use protocol::spec::Spec;
use verilated::BuildError;

/// A channel without data into or out of the shell.
struct Headers {
    valid: Pin<u8>,
    ready: Pin<u8>,
    header: Pin<u64>,
}

/// A channel with data.
struct Lines {
    valid: Pin<u8>,
    ready: Pin<u8>,
    header: Pin<u64>,
    row: Pin<Row>,
    last: Pin<u8>,
}

/// Lane of each class in a slice.
#[derive(Clone, Copy)]
struct Lanes {
    count: usize,
    request: usize,
    request_data: usize,
    forward: usize,
    response: usize,
    response_data: usize,
}

impl Lanes {
    fn of(spec: &Spec) -> Self {
        let class = |name: &str| {
            let found = spec.classes.iter().position(|class| class.name == name);
            found.unwrap_or(0)
        };
        Self {
            count: spec.classes.len(),
            request: class("request"),
            request_data: class("request_data"),
            forward: class("forward"),
            response: class("response"),
            response_data: class("response_data"),
        }
    }
}

/// The shell sent a message that the protocol does not have.
#[derive(Debug, thiserror::Error)]
#[error("the directory sent message {0}, which the protocol does not have")]
pub(super) struct UnknownMessage(u8);

/// See the module.
pub(super) struct SlicePins {
    lanes: Lanes,
    request: Headers,
    request_data: Lines,
    response: Headers,
    response_data: Lines,
    forward_out: Headers,
    response_out: Headers,
    data_out: Lines,
    /// Rows that have crossed of the message at the head.
    request_row: usize,
    response_row: usize,
    rows_out: Vec<Row>,
}

fn row(data: &Data, half: usize) -> Row {
    let mut row = [0; 64];
    let words = &data[half * WORDS / 2..(half + 1) * WORDS / 2];
    for (place, word) in row.chunks_exact_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    row
}

fn words(rows: &[Row]) -> Box<Data> {
    Box::new(std::array::from_fn(|word| {
        let row = &rows[word / (WORDS / 2)];
        let start = 8 * (word % (WORDS / 2));
        u64::from_le_bytes(std::array::from_fn(|byte| row[start + byte]))
    }))
}

impl SlicePins {
    pub(super) fn new(shell: &Instance, slice: u32, spec: &Spec) -> Result<Self, BuildError> {
        let find = Finder {
            shell,
            prefix: "link",
            element: slice,
        };
        // `own`: driven by the shell.
        let headers = |name: &str, own: bool| {
            let (out, back) = if own { ("o", "i") } else { ("i", "o") };
            Ok::<_, BuildError>(Headers {
                valid: find.pin(&format!("{name}_valid_{out}"))?,
                ready: find.pin(&format!("{name}_ready_{back}"))?,
                header: find.pin(&format!("{name}_{out}"))?,
            })
        };
        let lines = |name: &str, own: bool| {
            let (out, back) = if own { ("o", "i") } else { ("i", "o") };
            Ok::<_, BuildError>(Lines {
                valid: find.pin(&format!("{name}_valid_{out}"))?,
                ready: find.pin(&format!("{name}_ready_{back}"))?,
                header: find.pin(&format!("{name}_header_{out}"))?,
                row: find.pin(&format!("{name}_row_{out}"))?,
                last: find.pin(&format!("{name}_last_{out}"))?,
            })
        };
        Ok(Self {
            lanes: Lanes::of(spec),
            request: headers("request", false)?,
            request_data: lines("request_data", false)?,
            response: headers("response", false)?,
            response_data: lines("response_data", false)?,
            forward_out: headers("forward", true)?,
            response_out: headers("response", true)?,
            data_out: lines("response_data", true)?,
            request_row: 0,
            response_row: 0,
            rows_out: Vec::with_capacity(2),
        })
    }

    /// Whether anything is offered.
    pub(super) fn is_active(&self) -> bool {
        let valid = |pin: &Pin<u8>| pin.high();
        valid(&self.request.valid)
            || valid(&self.request_data.valid)
            || valid(&self.response.valid)
            || valid(&self.response_data.valid)
            || valid(&self.forward_out.valid)
            || valid(&self.response_out.valid)
            || valid(&self.data_out.valid)
    }

    /// No message is half-way through the pins.
    pub(super) fn is_quiet(&self) -> bool {
        self.request_row == 0 && self.response_row == 0 && self.rows_out.is_empty()
    }

    /// What the shell takes at this edge.
    pub(super) fn sample_up(&mut self, up: &mut Link, now: u64, slice: usize) {
        let base = slice * self.lanes.count;
        for (channel, lane) in [
            (&self.request, self.lanes.request),
            (&self.response, self.lanes.response),
        ] {
            if channel.valid.high() && channel.ready.high() {
                up.take(base + lane, now);
            }
        }
        for (channel, lane, crossed) in [
            (
                &self.request_data,
                self.lanes.request_data,
                &mut self.request_row,
            ),
            (
                &self.response_data,
                self.lanes.response_data,
                &mut self.response_row,
            ),
        ] {
            if channel.valid.high() && channel.ready.high() {
                *crossed ^= 1;
                if *crossed == 0 {
                    up.take(base + lane, now);
                }
            }
        }
    }

    /// What the shell sends at this edge, with its lanes.
    pub(super) fn sample_down(
        &mut self,
        spec: &Spec,
        slice: usize,
    ) -> Result<Vec<(usize, Message)>, UnknownMessage> {
        let base = slice * self.lanes.count;
        let known = |header: u64| {
            let message = Message::from_header(header);
            match message.id.index() < spec.messages.len() {
                true => Ok(message),
                false => Err(UnknownMessage(message.id.0)),
            }
        };
        let mut sent = Vec::new();
        for (channel, lane) in [
            (&self.forward_out, self.lanes.forward),
            (&self.response_out, self.lanes.response),
        ] {
            if channel.valid.high() && channel.ready.high() {
                sent.push((base + lane, known(channel.header.get())?));
            }
        }
        if self.data_out.valid.high() && self.data_out.ready.high() {
            self.rows_out.push(self.data_out.row.get());
            if self.data_out.last.high() && self.rows_out.len() == 2 {
                let mut message = known(self.data_out.header.get())?;
                message.data = Some(words(&self.rows_out));
                self.rows_out.clear();
                sent.push((base + self.lanes.response_data, message));
            }
        }
        Ok(sent)
    }

    /// Sets the pins for the edge at `next`. Returns whether any changed.
    pub(super) fn drive(&self, up: &Link, down: &Link, next: u64, slice: usize) -> bool {
        let base = slice * self.lanes.count;
        let mut changed = false;
        for (channel, lane) in [
            (&self.request, self.lanes.request),
            (&self.response, self.lanes.response),
        ] {
            let head = up.head(base + lane, next);
            changed |= channel.valid.set(head.is_some().into());
            if let Some(message) = head {
                changed |= channel.header.set(message.header());
            }
        }
        for (channel, lane, crossed) in [
            (
                &self.request_data,
                self.lanes.request_data,
                self.request_row,
            ),
            (
                &self.response_data,
                self.lanes.response_data,
                self.response_row,
            ),
        ] {
            let head = up.head(base + lane, next);
            changed |= channel.valid.set(head.is_some().into());
            if let Some(message) = head {
                changed |= channel.header.set(message.header());
                changed |= channel.last.set(crossed as u8);
                let data = message.data.as_ref();
                changed |= channel
                    .row
                    .set(data.map_or([0; 64], |data| row(data, crossed)));
            }
        }
        let room = |lane: usize| down.can_send(base + lane, next);
        changed |= self.forward_out.ready.set(room(self.lanes.forward).into());
        changed |= self
            .response_out
            .ready
            .set(room(self.lanes.response).into());
        let lines = room(self.lanes.response_data) || !self.rows_out.is_empty();
        changed |= self.data_out.ready.set(lines.into());
        changed
    }
}
