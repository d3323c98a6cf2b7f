//! The pins of one slice's link.

use crate::bus::Finder;
use crate::model::{Instance, Pin, Row};
use cpu::link::Link;
use cpu::message::Message;
use protocol::spec::Spec;
use units::line::{Data, WORDS};
use verilated::BuildError;

/// A channel without data, into or out of the shell.
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

/// Channels by name, each with its lane.
type Named<'a> = &'a [(&'a str, usize)];

/// The shell sent a message that the protocol does not have.
#[derive(Debug, thiserror::Error)]
#[error("the card sent message {0}, which the protocol does not have")]
pub(super) struct UnknownMessage(u8);

/// See the module: channels by their lanes, each with the lane in its slice.
pub(super) struct SlicePins {
    headers_in: Vec<(usize, Headers)>,
    /// With the number of rows transferred of the first message.
    lines_in: Vec<(usize, Lines, usize)>,
    headers_out: Vec<(usize, Headers)>,
    data_out: Lines,
    data_lane: usize,
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
    /// The link of a slice of the directory.
    pub(super) fn of_directory(
        shell: &Instance,
        slice: u32,
        spec: &Spec,
    ) -> Result<Self, BuildError> {
        let lanes = Lanes::of(spec);
        let base = slice as usize * lanes.count;
        let headers = [("request", lanes.request), ("response", lanes.response)];
        let lines = [
            ("request_data", lanes.request_data),
            ("response_data", lanes.response_data),
        ];
        let out = [("forward", lanes.forward), ("response", lanes.response)];
        Self::new(
            shell,
            ("link", slice),
            base,
            (&headers, &lines, &out),
            lanes.response_data,
        )
    }

    /// The link of a slice of the cache of the CPU's lines; its lanes follow the directory's.
    pub(super) fn of_cache(
        shell: &Instance,
        slice: u32,
        slices: u32,
        spec: &Spec,
    ) -> Result<Self, BuildError> {
        let lanes = Lanes::of(spec);
        let base = (slices + slice) as usize * lanes.count;
        let headers = [("forward", lanes.forward), ("response", lanes.response)];
        let lines = [("response_data", lanes.response_data)];
        let out = [("request", lanes.request), ("response", lanes.response)];
        Self::new(
            shell,
            ("cache", slice),
            base,
            (&headers, &lines, &out),
            lanes.response_data,
        )
    }

    fn new(
        shell: &Instance,
        (prefix, element): (&'static str, u32),
        base: usize,
        (headers_in, lines_in, headers_out): (Named<'_>, Named<'_>, Named<'_>),
        data_lane: usize,
    ) -> Result<Self, BuildError> {
        let find = Finder {
            shell,
            prefix,
            element,
        };
        // `own`: driven by the shell.
        let ends = |own: bool| if own { ("o", "i") } else { ("i", "o") };
        let headers = |name: &str, own: bool| {
            let (out, back) = ends(own);
            Ok::<_, BuildError>(Headers {
                valid: find.pin(&format!("{name}_valid_{out}"))?,
                ready: find.pin(&format!("{name}_ready_{back}"))?,
                header: find.pin(&format!("{name}_{out}"))?,
            })
        };
        let lines = |name: &str, own: bool| {
            let (out, back) = ends(own);
            Ok::<_, BuildError>(Lines {
                valid: find.pin(&format!("{name}_valid_{out}"))?,
                ready: find.pin(&format!("{name}_ready_{back}"))?,
                header: find.pin(&format!("{name}_header_{out}"))?,
                row: find.pin(&format!("{name}_row_{out}"))?,
                last: find.pin(&format!("{name}_last_{out}"))?,
            })
        };
        let all = |channels: Named<'_>, own: bool| {
            let channels = channels.iter();
            channels
                .map(|&(name, lane)| Ok((base + lane, headers(name, own)?)))
                .collect::<Result<Vec<_>, BuildError>>()
        };
        Ok(Self {
            headers_in: all(headers_in, false)?,
            lines_in: lines_in
                .iter()
                .map(|&(name, lane)| Ok((base + lane, lines(name, false)?, 0)))
                .collect::<Result<_, BuildError>>()?,
            headers_out: all(headers_out, true)?,
            data_out: lines("response_data", true)?,
            data_lane: base + data_lane,
            rows_out: Vec::with_capacity(2),
        })
    }

    /// Whether a transfer is offered.
    pub(super) fn is_active(&self) -> bool {
        let headers = self.headers_in.iter().chain(&self.headers_out);
        let lines = self.lines_in.iter().map(|(_, channel, _)| channel);
        headers.map(|(_, channel)| &channel.valid).any(Pin::high)
            || lines
                .chain([&self.data_out])
                .any(|channel| channel.valid.high())
    }

    /// Whether no message is partly transferred.
    pub(super) fn is_quiet(&self) -> bool {
        self.rows_out.is_empty() && self.lines_in.iter().all(|(_, _, crossed)| *crossed == 0)
    }

    /// Handles a reset of the link: a partly transferred message is lost.
    pub(super) fn forget(&mut self) {
        self.rows_out.clear();
        for (_, _, crossed) in &mut self.lines_in {
            *crossed = 0;
        }
    }

    /// Samples the messages that the shell accepts at this edge.
    pub(super) fn sample_up(&mut self, up: &mut Link, now: u64) {
        for (lane, channel) in &self.headers_in {
            if channel.valid.high() && channel.ready.high() {
                up.take(*lane, now);
            }
        }
        for (lane, channel, crossed) in &mut self.lines_in {
            if channel.valid.high() && channel.ready.high() {
                *crossed ^= 1;
                if *crossed == 0 {
                    up.take(*lane, now);
                }
            }
        }
    }

    /// Samples the messages that the shell sends at this edge, with their lanes.
    pub(super) fn sample_down(
        &mut self,
        spec: &Spec,
    ) -> Result<Vec<(usize, Message)>, UnknownMessage> {
        let known = |header: u64| {
            let message = Message::from_header(header);
            match message.id.index() < spec.messages.len() {
                true => Ok(message),
                false => Err(UnknownMessage(message.id.0)),
            }
        };
        let mut sent = Vec::new();
        for (lane, channel) in &self.headers_out {
            if channel.valid.high() && channel.ready.high() {
                sent.push((*lane, known(channel.header.get())?));
            }
        }
        if self.data_out.valid.high() && self.data_out.ready.high() {
            self.rows_out.push(self.data_out.row.get());
            if self.data_out.last.high() && self.rows_out.len() == 2 {
                let mut message = known(self.data_out.header.get())?;
                message.data = Some(words(&self.rows_out));
                self.rows_out.clear();
                sent.push((self.data_lane, message));
            }
        }
        Ok(sent)
    }

    /// Sets the pins for the edge at `next`. Returns whether any changed.
    pub(super) fn drive(&self, up: &Link, down: &Link, next: u64) -> bool {
        let mut changed = false;
        for (lane, channel) in &self.headers_in {
            let head = up.head(*lane, next);
            changed |= channel.valid.set(head.is_some().into());
            if let Some(message) = head {
                changed |= channel.header.set(message.header());
            }
        }
        for (lane, channel, crossed) in &self.lines_in {
            let head = up.head(*lane, next);
            changed |= channel.valid.set(head.is_some().into());
            if let Some(message) = head {
                changed |= channel.header.set(message.header());
                changed |= channel.last.set(*crossed as u8);
                let data = message.data.as_ref();
                changed |= channel
                    .row
                    .set(data.map_or([0; 64], |data| row(data, *crossed)));
            }
        }
        for (lane, channel) in &self.headers_out {
            changed |= channel.ready.set(down.can_send(*lane, next).into());
        }
        let lines = down.can_send(self.data_lane, next) || !self.rows_out.is_empty();
        changed |= self.data_out.ready.set(lines.into());
        changed
    }
}
