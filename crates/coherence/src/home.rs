//! The home of the card's lines: the Verilated directory, memory behind it, the application beside.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use protocol::spec::Spec;

use crate::line::{Data, FoldedLine, PlainLine, WORDS};
use crate::link::Link;
use crate::message::Message;
use crate::model::{build, Geometry, Model, ModelError, Registers, Row, SliceInputs, SliceOutputs};
use crate::random::Random;

/// What the application asks of the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationKind {
    /// The CPU keeps at most a shared copy.
    Clean = 0,
    /// The CPU keeps nothing.
    CleanInvalidate = 1,
    /// The same, and gets nothing until the unlock.
    Lock = 2,
    /// Ends a lock.
    Unlock = 3,
    /// Coherent read.
    Read = 4,
    /// Coherent write.
    Write = 5,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What.
    pub kind: OperationKind,
    /// Not in use by another operation of the line's slice; 0 to 63.
    pub tag: u8,
    /// The line.
    pub line: PlainLine,
    /// Parts to write.
    pub parts: u8,
    /// What to write.
    pub data: Box<Data>,
}

/// An acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledge {
    /// The slice it came from.
    pub slice: usize,
    /// Its operation.
    pub tag: u8,
    /// The line, of a read.
    pub data: Option<Box<Data>>,
}

/// The directory reported an error, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The interrupt rose.
    #[error("the directory reports an error: slice {slice}, cause {cause}, info {info:#x}")]
    Reported {
        /// Slice.
        slice: u32,
        /// 0 unexpected event (info: state and event), 1 timeout, 2 memory.
        cause: u32,
        /// What the cause says.
        info: u32,
    },
    /// A message arrived on the link that the protocol does not have.
    #[error("the directory sent message {0}, which the protocol does not have")]
    Message(u8),
}

/// Cycles in which things last happened, for latencies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// A request or a response of the CPU was accepted.
    pub message_in: u64,
    /// An operation was accepted.
    pub operation_in: u64,
    /// A read appeared at memory.
    pub read_out: u64,
    /// Memory's last row was accepted.
    pub row_in: u64,
    /// The first row of an answer appeared.
    pub data_out: u64,
    /// A message without data appeared.
    pub message_out: u64,
    /// An acknowledgement appeared.
    pub acknowledge_out: u64,
}

/// Behaviour of memory and application.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// From address to first row.
    pub memory_latency: u64,
    /// Stall every channel at random, this often in 16 cycles.
    pub stalls: u64,
    /// Answer reads in random order.
    pub disorder: bool,
}

#[derive(Debug, Default)]
struct SliceState {
    request_row: usize,
    writeback_row: usize,
    operation_row: usize,
    reads: VecDeque<(u64, u16, PlainLine)>,
    /// The read whose rows are being returned.
    returning: Option<(u16, PlainLine)>,
    return_row: usize,
    writes: VecDeque<(u16, PlainLine)>,
    rows: VecDeque<(u64, Row, bool)>,
    responses: VecDeque<(u64, u16)>,
    data_rows: Vec<Row>,
    answer_rows: Vec<Row>,
}

/// The home.
pub struct Directory {
    model: Model,
    geometry: Geometry,
    spec: Spec,
    lanes: Lanes,
    inputs: Vec<SliceInputs>,
    outputs: Vec<SliceOutputs>,
    registers: Registers,
    state: Vec<SliceState>,
    memory: HashMap<u64, Box<Data>>,
    surroundings: Surroundings,
    random: Random,
    cycle: u64,
    /// Lines whose reads the application does not answer for now.
    pub held: HashSet<PlainLine>,
    /// Operations to issue, by slice.
    pub operations: Vec<VecDeque<Operation>>,
    /// Acknowledgements that came.
    pub acknowledged: Vec<Acknowledge>,
    /// For latencies.
    pub moments: Moments,
}

/// Lane of each class in a slice.
#[derive(Clone, Copy, Debug)]
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

fn row(data: &Data, half: usize) -> Row {
    std::array::from_fn(|i| {
        let word = data[half * WORDS / 2 + i / 2];
        (word >> (32 * (i % 2))) as u32
    })
}

fn words(rows: &[Row]) -> Box<Data> {
    let half = WORDS / 2;
    Box::new(std::array::from_fn(|i| {
        let row = &rows[i / half];
        let low = 2 * (i % half);
        u64::from(row[low]) | u64::from(row[low + 1]) << 32
    }))
}

impl Directory {
    /// Builds (or finds) the model and resets it.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn new(
        geometry: Geometry,
        spec: &Spec,
        surroundings: Surroundings,
        seed: u64,
    ) -> Result<Self, HomeError> {
        Self::from_library(&build(geometry)?, geometry, spec, surroundings, seed)
    }

    /// The same with a model of this geometry that was built before.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn from_library(
        library: &Path,
        geometry: Geometry,
        spec: &Spec,
        surroundings: Surroundings,
        seed: u64,
    ) -> Result<Self, HomeError> {
        let model = Model::load(library)?;
        let slices = model.slices();
        let mut directory = Self {
            model,
            geometry,
            spec: spec.clone(),
            lanes: Lanes::of(spec),
            inputs: vec![SliceInputs::default(); slices],
            outputs: vec![SliceOutputs::default(); slices],
            registers: Registers::default(),
            state: (0..slices).map(|_| SliceState::default()).collect(),
            memory: HashMap::new(),
            surroundings,
            random: Random::new(seed),
            cycle: 0,
            held: HashSet::new(),
            operations: vec![VecDeque::new(); slices],
            acknowledged: Vec::new(),
            moments: Moments::default(),
        };
        for _ in 0..4 {
            directory.tick()?;
        }
        directory.registers.reset_n = 1;
        for _ in 0..geometry.sets + 4 {
            directory.tick()?;
        }
        Ok(directory)
    }

    /// Its size.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The protocol's rules.
    #[must_use]
    pub fn rules(&self) -> &Spec {
        &self.spec
    }

    /// What memory holds.
    #[must_use]
    pub fn memory(&self, line: PlainLine) -> Data {
        self.memory.get(&line.0).map_or([0; WORDS], |data| **data)
    }

    /// Cycles since the start.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Nothing waits at memory.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.operations.iter().all(VecDeque::is_empty)
            && self.state.iter().all(|s| {
                s.reads.is_empty()
                    && s.returning.is_none()
                    && s.writes.is_empty()
                    && s.responses.is_empty()
            })
    }

    /// Writes a register.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn write_register(&mut self, address: u8, value: u32) -> Result<(), HomeError> {
        self.idle();
        self.registers.write = 1;
        self.registers.write_addr = address;
        self.registers.write_data = value;
        self.tick()?;
        self.registers.write = 0;
        self.tick()
    }

    /// Reads a register.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn read_register(&mut self, address: u8) -> Result<u32, HomeError> {
        self.idle();
        self.registers.read = 1;
        self.registers.read_addr = address;
        self.tick()?;
        self.registers.read = 0;
        self.tick()?;
        Ok(self.registers.read_data)
    }

    /// No handshake can happen.
    fn idle(&mut self) {
        self.inputs.fill(SliceInputs::default());
    }

    fn tick(&mut self) -> Result<(), HomeError> {
        self.model
            .cycle(&self.inputs, &mut self.outputs, &mut self.registers)?;
        self.cycle += 1;
        Ok(())
    }

    /// One clock: takes messages from `up`, sends on `down`.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn cycle(&mut self, now: u64, up: &mut Link, down: &mut Link) -> Result<(), HomeError> {
        for slice in 0..self.state.len() {
            self.drive(slice, now, up, down);
        }
        self.tick()?;
        for slice in 0..self.state.len() {
            self.sample(slice, now, up, down)?;
        }
        if self.registers.interrupt == 1 {
            let word = self.read_register(0x0c)?;
            return Err(HomeError::Reported {
                slice: word >> 24,
                cause: word >> 16 & 3,
                info: word & 0xffff,
            });
        }
        Ok(())
    }

    fn stalls(&mut self) -> bool {
        let often = self.surroundings.stalls;
        often > 0 && self.random.chance(often, 16)
    }

    fn drive(&mut self, slice: usize, now: u64, up: &Link, down: &Link) {
        let base = slice * self.lanes.count;
        let lanes = self.lanes;
        let stalls: [bool; 5] = std::array::from_fn(|_| self.stalls());
        self.start_return(slice);
        let state = &mut self.state[slice];
        let memory = &self.memory;
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
        pins.r_valid = 0;
        if let Some((id, line)) = state.returning {
            pins.r_valid = 1;
            pins.r_id = id;
            pins.r_last = state.return_row as u8;
            let data = memory.get(&line.0);
            pins.r_row = data.map_or([0; 16], |data| row(data, state.return_row));
        }
        pins.b_valid = 0;
        if let Some(&(ready, id)) = state.responses.front() {
            pins.b_valid = u8::from(ready <= self.cycle);
            pins.b_id = id;
        }
    }

    /// Chooses the read whose rows are returned next.
    fn start_return(&mut self, slice: usize) {
        let cycle = self.cycle;
        let disorder = self.surroundings.disorder;
        let state = &mut self.state[slice];
        if state.returning.is_some() {
            return;
        }
        let held = &self.held;
        let free = |read: &(u64, u16, PlainLine)| read.0 <= cycle && !held.contains(&read.2);
        let ready = state
            .reads
            .iter()
            .take_while(|read| read.0 <= cycle)
            .count();
        let start = if disorder && ready > 1 {
            self.random.below(ready as u64) as usize
        } else {
            0
        };
        let chosen = (0..ready)
            .map(|i| (start + i) % ready)
            .find(|&i| free(&state.reads[i]));
        if let Some((_, id, line)) = chosen.and_then(|index| state.reads.remove(index)) {
            state.returning = Some((id, line));
            state.return_row = 0;
        }
    }

    fn sample(
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

    fn serve_memory(&mut self, slice: usize, cycle: u64) {
        let latency = self.surroundings.memory_latency;
        let state = &mut self.state[slice];
        let (pins, out) = (&self.inputs[slice], &self.outputs[slice]);
        let line = |address: u64| PlainLine(address >> 7);
        if out.ar_valid & pins.ar_ready == 1 {
            self.moments.read_out = cycle;
            state
                .reads
                .push_back((cycle + latency, out.ar_id, line(out.ar_addr)));
        }
        if pins.r_valid & out.r_ready == 1 {
            state.return_row += 1;
            if pins.r_last == 1 {
                state.returning = None;
                self.moments.row_in = cycle;
            }
        }
        if out.aw_valid & pins.aw_ready == 1 {
            state.writes.push_back((out.aw_id, line(out.aw_addr)));
        }
        if out.w_valid & pins.w_ready == 1 {
            state
                .rows
                .push_back((out.w_strb, out.w_row, out.w_last == 1));
        }
        if pins.b_valid & out.b_ready == 1 {
            state.responses.pop_front();
        }
        // A write takes place when address and both rows are there.
        while state.rows.len() >= 2 && !state.writes.is_empty() {
            let Some((id, line)) = state.writes.pop_front() else {
                break;
            };
            let rows: Vec<_> = state.rows.drain(..2).collect();
            let data = words(&[rows[0].1, rows[1].1]);
            let memory = self
                .memory
                .entry(line.0)
                .or_insert_with(|| Box::new([0; WORDS]));
            for (word, value) in data.iter().enumerate() {
                let strobes = rows[word / 8].0 >> (8 * (word % 8)) & 0xff;
                if strobes == 0xff {
                    memory[word] = *value;
                }
            }
            state.responses.push_back((cycle + latency, id));
        }
    }

    /// The slice of a line.
    #[must_use]
    pub fn slice_of(&self, line: PlainLine) -> usize {
        line.fold().slice(self.geometry.slices)
    }

    /// The unit of a line, within its slice.
    #[must_use]
    pub fn unit_of(&self, line: PlainLine) -> usize {
        let FoldedLine(folded) = line.fold();
        folded as usize / self.geometry.slices % self.geometry.units
    }
}
