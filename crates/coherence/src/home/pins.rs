//! Pin activity of the directory in a cycle: link and local operations.

use protocol::spec::Spec;

use super::{Acknowledge, Directory, HomeError, OperationKind};
use crate::line::{Data, WORDS};
use crate::link::Link;
use crate::message::Message;
use crate::model::Row;

/// Rows of messages on their way through the pins of a slice.
#[derive(Debug, Default)]
pub(super) struct SlicePins {
    request_row: usize,
    writeback_row: usize,
    operation_row: usize,
    data_rows: Vec<Row>,
    answer_rows: Vec<Row>,
}

/// Lane of each class in a slice.
#[derive(Clone, Copy, Debug)]
pub(super) struct SliceLanes {
    count: usize,
    request: usize,
    request_data: usize,
    forward: usize,
    response: usize,
    response_data: usize,
}

impl SliceLanes {
    pub(super) fn of(spec: &Spec) -> Self {
        let class = |name: &str| {
            spec.classes
                .iter()
                .position(|c| c.name == name)
                .unwrap_or(0)
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

/// Half of a line.
pub(super) fn row(data: &Data, half: usize) -> Row {
    std::array::from_fn(|i| {
        let word = data[half * WORDS / 2 + i / 2];
        (word >> (32 * (i % 2))) as u32
    })
}

/// The words of two rows.
pub(super) fn words(rows: &[Row]) -> Box<Data> {
    let half = WORDS / 2;
    Box::new(std::array::from_fn(|i| {
        let row = &rows[i / half];
        let low = 2 * (i % half);
        u64::from(row[low]) | u64::from(row[low + 1]) << 32
    }))
}

impl Directory {
    fn stalls(&mut self) -> bool {
        let often = self.surroundings.stalls;
        often > 0 && self.random.chance(often, 16)
    }

    pub(super) fn drive(&mut self, slice: usize, now: u64, up: &Link, down: &Link) {
        let base = slice * self.lanes.count;
        let lanes = self.lanes;
        self.drive_memory(slice);
        let stalls: [bool; 4] = std::array::from_fn(|_| self.stalls());
        let state = &mut self.state[slice];
        let pins = &mut self.inputs[slice];

        let request = up.head(base + lanes.request, now);
        pins.request_valid = u8::from(request.is_some());
        pins.request = request.map_or(0, Message::header);
        let response = up.head(base + lanes.response, now);
        pins.response_valid = u8::from(response.is_some());
        pins.response = response.map_or(0, Message::header);
        pins.request_data_valid = 0;
        if let Some(message) = up.head(base + lanes.request_data, now) {
            pins.request_data_valid = 1;
            pins.request_data_header = message.header();
            pins.request_data_last = state.request_row as u8;
            pins.request_data_row = message
                .data
                .as_ref()
                .map_or([0; 16], |data| row(data, state.request_row));
        }
        pins.response_data_valid = 0;
        if let Some(message) = up.head(base + lanes.response_data, now) {
            pins.response_data_valid = 1;
            pins.response_data_header = message.header();
            pins.response_data_last = state.writeback_row as u8;
            pins.response_data_row = message
                .data
                .as_ref()
                .map_or([0; 16], |data| row(data, state.writeback_row));
        }
        pins.forward_ready = u8::from(down.can_send(base + lanes.forward, now));
        pins.response_ready = u8::from(down.can_send(base + lanes.response, now));
        let data_room = down.can_send(base + lanes.response_data, now);
        pins.response_data_ready = u8::from(data_room || !state.data_rows.is_empty());

        pins.operation_valid = 0;
        if let Some(operation) = self.operations[slice].front() {
            let last = operation.kind != OperationKind::Write || state.operation_row == 1;
            pins.operation_valid = 1;
            pins.operation_kind = operation.kind as u8;
            pins.operation_tag = operation.tag;
            pins.operation_line = operation.line.0;
            pins.operation_dmask = operation.parts;
            pins.operation_last = u8::from(last);
            pins.operation_row = row(&operation.data, state.operation_row);
        }
        pins.operation_ready = u8::from(!stalls[0]);

        pins.ar_ready = u8::from(!stalls[1]);
        pins.aw_ready = u8::from(!stalls[2]);
        pins.w_ready = u8::from(!stalls[3]);
    }

    pub(super) fn sample(
        &mut self,
        slice: usize,
        now: u64,
        up: &mut Link,
        down: &mut Link,
    ) -> Result<(), HomeError> {
        let base = slice * self.lanes.count;
        let lanes = self.lanes;
        // The tick has advanced the count: the pins are those of the cycle before.
        let cycle = self.cycle - 1;
        let spec = &self.spec;
        let known = |header: u64| {
            let message = Message::from_header(header);
            if message.id.index() < spec.messages.len() {
                Ok(message)
            } else {
                Err(HomeError::Message(message.id.0))
            }
        };
        let state = &mut self.state[slice];
        let (pins, out) = (&self.inputs[slice], &self.outputs[slice]);

        if pins.request_valid & out.request_ready == 1 {
            up.take(base + lanes.request, now);
            self.moments.message_in = cycle;
        }
        if pins.response_valid & out.response_ready == 1 {
            up.take(base + lanes.response, now);
            self.moments.message_in = cycle;
        }
        if pins.request_data_valid & out.request_data_ready == 1 {
            state.request_row ^= 1;
            if state.request_row == 0 {
                up.take(base + lanes.request_data, now);
            }
        }
        if pins.response_data_valid & out.response_data_ready == 1 {
            state.writeback_row ^= 1;
            if state.writeback_row == 0 {
                up.take(base + lanes.response_data, now);
            }
        }
        if out.forward_valid == 1 {
            self.moments.message_out = cycle;
            if pins.forward_ready == 1 {
                down.send(base + lanes.forward, now, known(out.forward)?);
            }
        }
        if out.response_valid == 1 {
            self.moments.message_out = cycle;
            if pins.response_ready == 1 {
                down.send(base + lanes.response, now, known(out.response)?);
            }
        }
        if out.response_data_valid == 1 {
            if state.data_rows.is_empty() {
                self.moments.data_out = cycle;
            }
            if pins.response_data_ready == 1 {
                state.data_rows.push(out.response_data_row);
                if out.response_data_last == 1 {
                    let mut message = known(out.response_data_header)?;
                    message.data = Some(words(&state.data_rows));
                    state.data_rows.clear();
                    down.send(base + lanes.response_data, now, message);
                }
            }
        }
        if pins.operation_valid & out.operation_ready == 1 {
            self.moments.operation_in = cycle;
            state.operation_row ^= 1;
            if pins.operation_last == 1 {
                state.operation_row = 0;
                self.operations[slice].pop_front();
            }
        }
        if out.operation_valid == 1 {
            self.moments.acknowledge_out = cycle;
            if pins.operation_ready == 1 {
                state.answer_rows.push(out.operation_row);
                if out.operation_last == 1 {
                    let rows = std::mem::take(&mut state.answer_rows);
                    let data = (rows.len() == 2).then(|| words(&rows));
                    self.acknowledged.push(Acknowledge {
                        slice,
                        tag: out.operation_tag,
                        data,
                    });
                }
            }
        }
        self.serve_memory(slice, cycle);
        Ok(())
    }
}
