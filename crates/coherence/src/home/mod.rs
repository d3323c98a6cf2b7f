//! The home agent of the card's lines: the Verilated directory, memory behind it, and the application next to it.

mod memory;
mod pins;

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;

use protocol::spec::Spec;

use memory::SliceMemory;
use pins::{SliceLanes, SlicePins};

use crate::line::{Data, FoldedLine, PlainLine, WORDS};
use crate::link::Link;
use crate::model::{
    build, DirectoryGeometry, DirectoryModel, ModelError, Registers, SliceInputs, SliceOutputs,
};
use crate::random::Random;
use crate::registers;

/// Operations of the application at the directory.
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
    /// Kind of operation.
    pub kind: OperationKind,
    /// Identifier, unused by other outstanding operations of the line's slice; 0 to 63.
    pub tag: u8,
    /// The line's address.
    pub line: PlainLine,
    /// Parts to write.
    pub parts: u8,
    /// Data of a write.
    pub data: Box<Data>,
}

/// The acknowledgement of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledge {
    /// The slice it came from.
    pub slice: usize,
    /// Tag of the operation.
    pub tag: u8,
    /// The line, of a read.
    pub data: Option<Box<Data>>,
}

/// The directory reported an error, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// Failure of the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The interrupt rose.
    #[error("the directory reports an error: slice {slice}, cause {cause}, info {info:#x}")]
    Reported {
        /// Number of the slice.
        slice: u32,
        /// 0 unexpected event (info: state and event), 1 timeout, 2 memory.
        cause: u32,
        /// Details; their meaning depends on the cause.
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

/// The directory with memory and application.
pub struct Directory {
    model: DirectoryModel,
    geometry: DirectoryGeometry,
    spec: Spec,
    lanes: SliceLanes,
    inputs: Vec<SliceInputs>,
    outputs: Vec<SliceOutputs>,
    registers: Registers,
    state: Vec<SlicePins>,
    memories: Vec<SliceMemory>,
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

impl Directory {
    /// Builds (or finds) the model and resets it.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn new(
        geometry: DirectoryGeometry,
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
        geometry: DirectoryGeometry,
        spec: &Spec,
        surroundings: Surroundings,
        seed: u64,
    ) -> Result<Self, HomeError> {
        let model = DirectoryModel::load(library, geometry.slices)?;
        Self::from_model(model, geometry, spec, surroundings, seed)
    }

    /// The same with a model that may be in the middle of anything.
    ///
    /// # Errors
    /// [`HomeError`].
    pub(crate) fn from_model(
        model: DirectoryModel,
        geometry: DirectoryGeometry,
        spec: &Spec,
        surroundings: Surroundings,
        seed: u64,
    ) -> Result<Self, HomeError> {
        let slices = geometry.slices;
        let mut directory = Self {
            model,
            geometry,
            spec: spec.clone(),
            lanes: SliceLanes::of(spec),
            inputs: vec![SliceInputs::default(); slices],
            outputs: vec![SliceOutputs::default(); slices],
            registers: Registers::default(),
            state: (0..slices).map(|_| SlicePins::default()).collect(),
            memories: (0..slices).map(|_| SliceMemory::default()).collect(),
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

    /// The model, in its present state.
    pub(crate) fn into_model(self) -> DirectoryModel {
        self.model
    }

    /// Size of the directory.
    #[must_use]
    pub fn geometry(&self) -> DirectoryGeometry {
        self.geometry
    }

    /// The protocol's rules.
    #[must_use]
    pub fn rules(&self) -> &Spec {
        &self.spec
    }

    /// Contents of a line in memory.
    #[must_use]
    pub fn memory(&self, line: PlainLine) -> Data {
        self.memory.get(&line.0).map_or([0; WORDS], |data| **data)
    }

    /// Cycles since the start.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Whether memory has no outstanding request.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.operations.iter().all(VecDeque::is_empty)
            && self.memories.iter().all(SliceMemory::is_quiet)
    }

    /// Writes a register.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn write_register(&mut self, address: u32, value: u32) -> Result<(), HomeError> {
        self.idle();
        self.registers.write = 1;
        self.registers.write_addr = address as u8;
        self.registers.write_data = value;
        self.tick()?;
        self.registers.write = 0;
        // The block registers the access before it takes place.
        self.tick()?;
        self.tick()
    }

    /// Reads a register.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn read_register(&mut self, address: u32) -> Result<u32, HomeError> {
        self.idle();
        self.registers.read = 1;
        self.registers.read_addr = address as u8;
        self.tick()?;
        self.registers.read = 0;
        while self.registers.read_valid == 0 {
            self.tick()?;
        }
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
            let word = self.read_register(registers::ERROR)?;
            return Err(HomeError::Reported {
                slice: registers::error::SLICE.get(word),
                cause: registers::error::CAUSE.get(word),
                info: registers::error::INFO.get(word),
            });
        }
        Ok(())
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
