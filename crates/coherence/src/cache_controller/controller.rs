//! The cache controller with its pins driven: accesses in, answers out, messages on the link.

use std::collections::VecDeque;

use protocol::spec::Spec;

use super::model::{ControllerModel, Inputs, Outputs};
use crate::line::{Data, PlainLine, WORDS};
use crate::link::Link;
use crate::message::Message;
use crate::model::{ModelError, Row};
use crate::random::Random;

/// Words of a row.
pub const ROW_WORDS: usize = WORDS / 2;

/// Data of a row.
pub type RowData = [u64; ROW_WORDS];

/// Operations of the application, with their codes at the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Read a row.
    Load = 0,
    /// Write bytes of a row.
    Store = 1,
    /// Make the line exclusive and hold it.
    Acquire = 2,
    /// End a hold.
    Release = 3,
    /// Evict the line.
    Evict = 4,
}

/// One access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Kind of operation.
    pub kind: AccessKind,
    /// The hold that covers it: for loads, stores and releases.
    pub hold: Option<u8>,
    /// Identifier, unused by other outstanding accesses; 0 to 31.
    pub tag: u8,
    /// The line's address.
    pub line: PlainLine,
    /// False: first row of the line; true: second.
    pub second: bool,
    /// Data of a store.
    pub row: RowData,
    /// Byte enables of a store.
    pub strobe: u64,
}

/// Result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The access took place.
    Ok,
    /// The hold was broken; nothing was done.
    Lost,
    /// No hold was free, or the hold does not exist.
    Refused,
}

/// The answer to an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Tag of the access.
    pub tag: u8,
    /// Result of the access.
    pub status: Status,
    /// The hold, of an acquire.
    pub hold: u8,
    /// The row, of a load or an acquire.
    pub row: RowData,
}

/// The controller stopped or reported an error.
#[derive(Debug, thiserror::Error)]
pub enum ControllerError {
    /// Failure of the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The protocol table lacks the event in the line's state.
    #[error(
        "the cache controller met event {event} in state {state}, which the protocol does not know"
    )]
    Unexpected {
        /// Number of the state.
        state: u16,
        /// Number of the event.
        event: u16,
    },
    /// An access exceeded its time limit.
    #[error("the cache controller reports that access {tag} takes too long")]
    Late {
        /// Tag of the access.
        tag: u16,
    },
    /// It sent a message unknown to the protocol.
    #[error("the cache controller sent message {0}, which the protocol does not have")]
    Message(u8),
    /// It answered with an unknown status.
    #[error("the cache controller answered with status {0}")]
    Status(u8),
}

/// Counters of the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads and stores that needed no message.
    pub hits: u64,
    /// Requests sent.
    pub requests: u64,
    /// Forwards answered.
    pub forwards: u64,
    /// Lines evicted.
    pub evictions: u64,
    /// Holds broken.
    pub broken: u64,
}

/// Lanes of the link, one a class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControllerLanes {
    pub(crate) request: usize,
    pub(crate) forward: usize,
    pub(crate) response: usize,
    pub(crate) response_data: usize,
}

impl ControllerLanes {
    pub(crate) fn of(spec: &Spec) -> Self {
        let class = |name: &str| {
            let place = spec.classes.iter().position(|class| class.name == name);
            place.unwrap_or(0)
        };
        Self {
            request: class("request"),
            forward: class("forward"),
            response: class("response"),
            response_data: class("response_data"),
        }
    }
}

/// The controller with its pins.
pub struct Controller {
    model: ControllerModel,
    lanes: ControllerLanes,
    messages: usize,
    inputs: Inputs,
    outputs: Outputs,
    /// Stall every channel at random, this often in 16 cycles.
    stalls: u64,
    random: Random,
    /// Row of the message that arrives.
    row_in: usize,
    /// First row of the message that leaves.
    first_row: Option<Row>,
    cycle: u64,
    /// Accesses to issue.
    pub accesses: VecDeque<Access>,
    /// Answers received, each with its cycle.
    pub answers: Vec<(u64, Answer)>,
    /// Cycle in which the last access was accepted.
    pub taken: u64,
    /// Event counters.
    pub counts: Counts,
}

fn row_of(data: &Data, half: usize) -> Row {
    std::array::from_fn(|i| (data[half * ROW_WORDS + i / 2] >> (32 * (i % 2))) as u32)
}

fn words_of(row: &Row) -> RowData {
    std::array::from_fn(|i| u64::from(row[2 * i]) | u64::from(row[2 * i + 1]) << 32)
}

impl Controller {
    /// Resets a model, whatever it is doing; `sets` is that of its geometry.
    ///
    /// # Errors
    /// [`ControllerError`].
    pub(super) fn new(
        model: ControllerModel,
        sets: usize,
        spec: &Spec,
        stalls: u64,
        seed: u64,
    ) -> Result<Self, ControllerError> {
        let mut controller = Self {
            model,
            lanes: ControllerLanes::of(spec),
            messages: spec.messages.len(),
            inputs: Inputs::default(),
            outputs: Outputs::default(),
            stalls,
            random: Random::new(seed),
            row_in: 0,
            first_row: None,
            cycle: 0,
            accesses: VecDeque::new(),
            answers: Vec::new(),
            taken: 0,
            counts: Counts::default(),
        };
        for _ in 0..4 {
            controller.tick()?;
        }
        controller.inputs.reset_n = 1;
        for _ in 0..sets + 4 {
            controller.tick()?;
        }
        controller.cycle = 0;
        Ok(controller)
    }

    /// The model, in its present state.
    pub(super) fn into_model(self) -> ControllerModel {
        self.model
    }

    /// Reports accesses that take longer than this; 0: off, as at first.
    pub fn set_timeout(&mut self, cycles: u32) {
        self.inputs.timeout_period = cycles;
    }

    fn tick(&mut self) -> Result<(), ControllerError> {
        self.model.cycle(&self.inputs, &mut self.outputs)?;
        self.cycle += 1;
        Ok(())
    }

    /// Cycles since reset.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    fn stall(&mut self) -> bool {
        self.stalls > 0 && self.random.chance(self.stalls, 16)
    }

    /// One clock: takes messages from `down`, sends on `up`.
    ///
    /// # Errors
    /// [`ControllerError`].
    pub fn cycle(
        &mut self,
        now: u64,
        up: &mut Link,
        down: &mut Link,
    ) -> Result<(), ControllerError> {
        self.drive(now, up, down);
        self.tick()?;
        self.sample(now, up, down)
    }

    fn drive(&mut self, now: u64, up: &Link, down: &Link) {
        let lanes = self.lanes;
        let stalls: [bool; 5] = std::array::from_fn(|_| self.stall());
        let pins = &mut self.inputs;
        pins.access_valid = 0;
        if let Some(access) = self.accesses.front().filter(|_| !stalls[0]) {
            pins.access_valid = 1;
            pins.access_kind = access.kind as u8;
            pins.access_held = u8::from(access.hold.is_some());
            pins.access_hold = access.hold.unwrap_or(0);
            pins.access_tag = access.tag;
            pins.access_line = access.line.0;
            pins.access_second = u8::from(access.second);
            pins.access_strobe = access.strobe;
            pins.access_row = std::array::from_fn(|i| (access.row[i / 2] >> (32 * (i % 2))) as u32);
        }
        pins.answer_ready = u8::from(!stalls[1]);
        pins.request_ready = u8::from(!stalls[2] && up.can_send(lanes.request, now));
        pins.response_ready = u8::from(!stalls[3] && up.can_send(lanes.response, now));
        let second_row = self.first_row.is_some();
        pins.response_data_ready =
            u8::from(second_row || (!stalls[4] && up.can_send(lanes.response_data, now)));
        let forward = down.head(lanes.forward, now);
        pins.forward_valid = u8::from(forward.is_some());
        pins.forward = forward.map_or(0, Message::header);
        let response = down.head(lanes.response, now);
        pins.response_valid = u8::from(response.is_some());
        pins.response = response.map_or(0, Message::header);
        pins.response_data_valid = 0;
        if let Some(message) = down.head(lanes.response_data, now) {
            pins.response_data_valid = 1;
            pins.response_data_header = message.header();
            pins.response_data_last = self.row_in as u8;
            let data = message.data.as_ref();
            pins.response_data_row = data.map_or([0; 16], |data| row_of(data, self.row_in));
        }
    }

    fn sample(&mut self, now: u64, up: &mut Link, down: &mut Link) -> Result<(), ControllerError> {
        let lanes = self.lanes;
        let cycle = self.cycle - 1;
        let (pins, out) = (self.inputs, self.outputs);
        if out.error_valid == 1 {
            let info = out.error_info;
            return Err(if out.error_cause == 1 {
                ControllerError::Late { tag: info }
            } else {
                let (state, event) = (info >> 5, info & 0x1f);
                ControllerError::Unexpected { state, event }
            });
        }
        let counts = &mut self.counts;
        for (bit, count) in [
            (4, &mut counts.hits),
            (3, &mut counts.requests),
            (2, &mut counts.forwards),
            (1, &mut counts.evictions),
            (0, &mut counts.broken),
        ] {
            *count += u64::from(out.events >> bit & 1);
        }
        if pins.access_valid & out.access_ready == 1 {
            self.accesses.pop_front();
            self.taken = cycle;
        }
        if out.answer_valid & pins.answer_ready == 1 {
            let status = match out.answer_status {
                0 => Status::Ok,
                1 => Status::Lost,
                2 => Status::Refused,
                other => return Err(ControllerError::Status(other)),
            };
            let answer = Answer {
                tag: out.answer_tag,
                status,
                hold: out.answer_hold,
                row: words_of(&out.answer_row),
            };
            self.answers.push((cycle, answer));
        }
        let messages = self.messages;
        let known = |header: u64| {
            let message = Message::from_header(header);
            if message.id.index() < messages {
                Ok(message)
            } else {
                Err(ControllerError::Message(message.id.0))
            }
        };
        if out.request_valid & pins.request_ready == 1 {
            up.send(lanes.request, now, known(out.request)?);
        }
        // Both may have asked for the same moment of the wire; it is a little ahead then.
        if out.response_valid & pins.response_ready == 1 {
            up.send(lanes.response, now, known(out.response)?);
        }
        if out.response_data_valid & pins.response_data_ready == 1 {
            match self.first_row.take() {
                None => self.first_row = Some(out.response_data_row),
                Some(first) => {
                    let mut message = known(out.response_data_header)?;
                    let rows = [words_of(&first), words_of(&out.response_data_row)];
                    message.data = Some(Box::new(std::array::from_fn(|i| {
                        rows[i / ROW_WORDS][i % ROW_WORDS]
                    })));
                    up.send(lanes.response_data, now, message);
                }
            }
        }
        if pins.forward_valid & out.forward_ready == 1 {
            down.take(lanes.forward, now);
        }
        if pins.response_valid & out.response_ready == 1 {
            down.take(lanes.response, now);
        }
        if pins.response_data_valid & out.response_data_ready == 1 {
            self.row_in ^= 1;
            if self.row_in == 0 {
                down.take(lanes.response_data, now);
            }
        }
        Ok(())
    }
}
