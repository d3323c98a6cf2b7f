//! The process with a kernel's model.

use super::super::model::{Instance, Model};
use super::area::{Area, Poller};
use super::layout::{self, word, Layout, Shared, LOADED};
use super::{command, confine, outcome};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::exit;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use units::Picoseconds;
use verilated::{restrict_files, BuiltModel, ModelInfo};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();

/// The model to load.
#[derive(Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) folder: PathBuf,
    pub(super) rtl_folders: Vec<PathBuf>,
    pub(super) info: ModelInfo,
}

/// Evaluates the model of a kernel for the process that started this one, with shared memory as standard input.
/// Does not return.
pub fn serve_kernel() -> ! {
    confine::close_descriptors();
    let served = Area::open(io::stdin().as_fd()).and_then(|area| {
        let host = Host::load(&area);
        if let Err(error) = &host {
            fail(&area, &error.to_string());
        }
        host?.serve()
    });
    exit(i32::from(served.is_err()))
}

/// Answers with an error that the model is not loaded.
fn fail(area: &Area, reason: &str) {
    put_text(area, reason);
    area[word::OUTCOME].store(outcome::FAILED, Relaxed);
    area.post(word::REPLY, LOADED);
}

fn put_text(area: &Area, text: &str) {
    let space = layout::text();
    let bytes = text.len().min(space.len() * size_of::<u64>());
    area.put(space, &text.as_bytes()[..bytes]);
    area[word::TEXT_BYTES].store(bytes as u64, Relaxed);
}

struct Host<'a> {
    area: &'a Area,
    instance: Instance,
    layout: Layout,
    shared: Shared,
    /// Values of all ports, as they were last exchanged.
    values: Vec<u8>,
    snapshot: Vec<u8>,
    /// The port of the clock, which the model's interface drives.
    clock: Option<usize>,
}

impl<'a> Host<'a> {
    fn load(area: &'a Area) -> io::Result<Self> {
        let invalid = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        let bytes = area[word::SPEC_BYTES].load(Relaxed) as usize;
        let spec = area.take(layout::spec(bytes), bytes);
        let spec = String::from_utf8_lossy(&spec);
        let spec: Spec = toml::from_str(&spec).map_err(|error| invalid(&error))?;
        let mut readable = spec.rtl_folders.clone();
        readable.push(spec.folder.clone());
        restrict_files(&readable)?;
        let built = BuiltModel {
            folder: spec.folder,
            info: spec.info,
            rtl_folders: spec.rtl_folders,
        };
        let model = Model::load(&built).map_err(|error| invalid(&error))?;
        let mut instance = Instance::new(&model).map_err(|error| invalid(&error))?;
        instance.keep_output();
        let layout = Layout::of(&built.info);
        area[word::STATE].store(instance.state_bytes() as u64, Relaxed);
        confine::restrict_calls()?;
        Ok(Self {
            area,
            instance,
            shared: layout.shared(bytes),
            values: vec![0; layout.words() * WORD],
            clock: (built.info.ports.iter())
                .position(|port| port.member == built.info.clock_member),
            layout,
            snapshot: Vec::new(),
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut done = LOADED;
        let mut poller = Poller::default();
        self.area[word::OUTCOME].store(outcome::DONE, Relaxed);
        loop {
            self.area.post(word::REPLY, done);
            loop {
                let asked = self.area[word::REQUEST].load(Acquire);
                if asked != done {
                    done = asked;
                    break;
                }
                if !poller.poll(&self.area[word::REQUEST], |asked| asked != done) {
                    self.area.sleep(word::REQUEST, asked, None);
                }
            }
            self.evaluate();
        }
    }

    fn evaluate(&mut self) {
        let result = self.evaluate_parts();
        self.give_outputs();
        let output = self.instance.take_output();
        let (code, text) = match result {
            Ok(()) if output.is_empty() => (outcome::DONE, output),
            Ok(()) => (outcome::TEXT, output),
            Err(failure) => (outcome::FAILED, output + &failure.reason),
        };
        if code != outcome::DONE {
            put_text(self.area, &text);
        }
        self.area[word::OUTCOME].store(code, Relaxed);
    }

    fn evaluate_parts(&mut self) -> Result<(), crate::ModelFailure> {
        let command = self.area[word::COMMAND].load(Relaxed);
        let time = |index: usize| Picoseconds::new(self.area[index].load(Relaxed));
        let (edge, settle) = (time(word::EDGE_TIME), time(word::SETTLE_TIME));
        if command & command::EDGE != 0 {
            self.take_inputs(self.shared.edge.start);
            match command & command::COMPARE {
                0 => self.instance.edge(edge)?,
                _ => {
                    let equal = self.instance.edge_compared(edge, &mut self.snapshot)?;
                    self.area[word::EQUAL].store(equal.into(), Relaxed);
                }
            }
        }
        if command & (command::START | command::SETTLE) != 0 {
            self.take_inputs(self.shared.settled.start);
            match command & command::START {
                0 => self.instance.settle(settle)?,
                _ => self.instance.start()?,
            }
        }
        Ok(())
    }

    /// Copies changed inputs into the model.
    fn take_inputs(&mut self, from: usize) {
        let inputs = self.layout.inputs();
        let given = &self.area[from..from + inputs.len()];
        let mut changed = false;
        for (word, given) in self.values.chunks_exact_mut(WORD).zip(given) {
            let value = given.load(Relaxed).to_le_bytes();
            changed |= *word != value;
            word.copy_from_slice(&value);
        }
        if changed {
            let inputs = self.layout.of_direction(false);
            for (index, place) in inputs.filter(|(index, _)| Some(*index) != self.clock) {
                let value = &self.values[place.offset..place.offset + place.bytes];
                self.instance.set_bytes(index, value);
            }
        }
    }

    fn give_outputs(&mut self) {
        for (index, place) in self.layout.of_direction(true) {
            let value = self.instance.bytes_of(index);
            self.values[place.offset..place.offset + place.bytes].copy_from_slice(value);
        }
        let outputs = &self.values[self.layout.outputs().start * WORD..];
        self.area.put(self.shared.outputs.clone(), outputs);
    }
}
