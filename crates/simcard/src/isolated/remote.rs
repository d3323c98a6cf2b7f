//! The side of the program that uses a model in another process.

use super::super::model::ModelFailure;
use super::area::{Area, Poller};
use super::host::Spec;
use super::layout::{self, word, Layout, Shared, LOADED};
use super::{command, confine, outcome, KernelHost};
use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};
use units::Picoseconds;
use verilated::{BuildError, BuiltModel};

/// Interval in which a process that does not answer is examined.
const INTERVAL: Duration = Duration::from_millis(100);
/// Processor time for loading the model.
const LOADING: Duration = Duration::from_secs(60);
/// Real time of an evaluation: a process that gets no processor, or is stopped, is ended too.
const LONGEST: Duration = Duration::from_secs(120);

/// A model in another process.
pub(crate) struct Remote {
    process: Process,
    area: Area,
    poller: Poller,
    layout: Layout,
    shared: Shared,
    limit: Duration,
    /// Number of messages.
    sent: u64,
    state_bytes: usize,
    /// An edge that is not yet sent; its inputs are in shared memory.
    deferred: Option<Picoseconds>,
    text: Option<String>,
}

/// A process, ended with this.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Only an error of a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Remote {
    /// Starts the process, and loads the model there.
    pub(crate) fn start(built: &BuiltModel, host: &KernelHost) -> Result<Self, BuildError> {
        let failed = BuildError::io(&host.program);
        let spec = Spec {
            folder: built.folder.clone(),
            rtl_folders: built.rtl_folders.clone(),
            info: built.info.clone(),
        };
        let layout = Layout::of(&built.info);
        let spec = toml::to_string(&spec).map_err(io::Error::other);
        let begun = spec.and_then(|spec| {
            let shared = layout.shared(spec.len());
            let (area, file) = Area::create(shared.outputs.end)?;
            area[word::REQUEST].store(LOADED, Relaxed);
            area[word::SPEC_BYTES].store(spec.len() as u64, Relaxed);
            area.put(layout::spec(spec.len()), spec.as_bytes());
            let mut command = Command::new(&host.program);
            command.args(&host.arguments).stdin(Stdio::from(file));
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let libraries = std::env::var_os("LD_LIBRARY_PATH");
            command.env_clear();
            command.envs(libraries.map(|paths| ("LD_LIBRARY_PATH", paths)));
            let process = confine::limit(threads::child(&mut command), host).spawn()?;
            Ok((shared, area, Process(process)))
        });
        let (shared, area, process) = begun.map_err(failed)?;
        let mut remote = Self {
            process,
            area,
            poller: Poller::default(),
            layout,
            shared,
            limit: LOADING,
            sent: LOADED,
            state_bytes: 0,
            deferred: None,
            text: None,
        };
        remote
            .await_reply()
            .map_err(|failure| BuildError::Damaged {
                path: built.folder.clone(),
                reason: failure.reason,
            })?;
        remote.limit = host.time;
        remote.state_bytes = remote.area[word::STATE].load(Relaxed) as usize;
        Ok(remote)
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Size of the model's state, in bytes.
    pub(crate) fn state_bytes(&self) -> usize {
        self.state_bytes
    }

    /// Output of the last evaluation, if it had any.
    pub(crate) fn take_text(&mut self) -> Option<String> {
        self.text.take()
    }

    /// Evaluates for the first time. `words` has the values of the ports, here and below.
    pub(crate) fn start_model(&mut self, words: &mut [u64]) -> Result<(), ModelFailure> {
        self.put_inputs(words, self.shared.settled.start);
        self.evaluate(words, command::START)
    }

    /// Evaluates a rising edge, at the next call of another function.
    pub(crate) fn edge(&mut self, words: &mut [u64], now: Picoseconds) -> Result<(), ModelFailure> {
        self.complete(words)?;
        self.put_inputs(words, self.shared.edge.start);
        self.deferred = Some(now);
        Ok(())
    }

    /// Evaluates the deferred edge.
    pub(crate) fn complete(&mut self, words: &mut [u64]) -> Result<(), ModelFailure> {
        match self.deferred {
            Some(_) => self.evaluate(words, 0),
            None => Ok(()),
        }
    }

    /// Evaluates a rising edge; returns whether it left the state as it was.
    pub(crate) fn edge_compared(
        &mut self,
        words: &mut [u64],
        now: Picoseconds,
    ) -> Result<bool, ModelFailure> {
        self.edge(words, now)?;
        self.evaluate(words, command::COMPARE)?;
        Ok(self.area[word::EQUAL].load(Relaxed) == 1)
    }

    /// Propagates the inputs.
    pub(crate) fn settle(
        &mut self,
        words: &mut [u64],
        now: Picoseconds,
    ) -> Result<(), ModelFailure> {
        self.put_inputs(words, self.shared.settled.start);
        self.area[word::SETTLE_TIME].store(now.get(), Relaxed);
        self.evaluate(words, command::SETTLE)
    }

    fn put_inputs(&self, words: &[u64], to: usize) {
        let inputs = &words[self.layout.inputs()];
        let shared = &self.area[to..to + inputs.len()];
        for (shared, word) in shared.iter().zip(inputs) {
            shared.store(*word, Relaxed);
        }
    }

    /// Sends a message, with the deferred edge, and waits for the reply.
    fn evaluate(&mut self, words: &mut [u64], parts: u64) -> Result<(), ModelFailure> {
        let edge = self.deferred.take();
        if let Some(time) = edge {
            self.area[word::EDGE_TIME].store(time.get(), Relaxed);
        }
        let parts = parts | edge.map_or(0, |_| command::EDGE);
        self.area[word::COMMAND].store(parts, Relaxed);
        self.sent += 1;
        self.area.post(word::REQUEST, self.sent);
        self.await_reply()?;
        let outputs = &mut words[self.layout.outputs()];
        let given = &self.area[self.shared.outputs.clone()];
        for ((word, given), mask) in outputs
            .iter_mut()
            .zip(given)
            .zip(self.layout.output_masks())
        {
            *word = given.load(Relaxed) & mask;
        }
        Ok(())
    }

    #[inline]
    fn await_reply(&mut self) -> Result<(), ModelFailure> {
        let reply = &self.area[word::REPLY];
        if !self.poller.poll(reply, |replied| replied == self.sent) {
            self.sleep_until_reply()?;
        }
        match self.area[word::OUTCOME].load(Relaxed) {
            outcome::DONE => Ok(()),
            outcome::TEXT => {
                self.text = Some(self.read_text());
                Ok(())
            }
            _ => Err(ModelFailure {
                reason: self.read_text(),
            }),
        }
    }

    fn read_text(&self) -> String {
        let bytes = self.area[word::TEXT_BYTES].load(Relaxed);
        let text = self.area.take(layout::text(), bytes as usize);
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    #[cold]
    fn sleep_until_reply(&mut self) -> Result<(), ModelFailure> {
        let begun = Instant::now();
        let mut next = begun + INTERVAL;
        let mut at_first = None;
        loop {
            let replied = self.area[word::REPLY].load(Acquire);
            if replied == self.sent {
                return Ok(());
            }
            self.area.sleep(word::REPLY, replied, Some(INTERVAL));
            // The process may wake this thread as often as it likes.
            if Instant::now() < next {
                continue;
            }
            next += INTERVAL;
            let ended = self.process.0.try_wait();
            if let Some(status) = ended.ok().flatten() {
                return Err(failure(format!("its process has ended: {}", name(status))));
            }
            let used = self.processor_time();
            let at_first = *at_first.get_or_insert(used);
            let most = self.limit;
            if used.saturating_sub(at_first) > most || begun.elapsed() > LONGEST {
                // Nothing of it is read any more.
                let _ = self.process.0.kill();
                let seconds = most.as_secs_f64();
                return Err(failure(format!(
                    "one evaluation took more than {seconds} s, the limit: its process was ended"
                )));
            }
        }
    }

    /// Processor time of the process.
    fn processor_time(&self) -> Duration {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        let mut clock = 0;
        // SAFETY: both calls fill locals in; zero is a valid value. The process has not been waited for, so that its
        // number is its own.
        let time = unsafe {
            let found = libc::clock_getcpuclockid(self.process.0.id() as c_int, &mut clock) == 0;
            if found {
                libc::clock_gettime(clock, time.as_mut_ptr());
            }
            time.assume_init()
        };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

fn failure(reason: String) -> ModelFailure {
    ModelFailure { reason }
}

fn name(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("signal {signal}"),
        (None, code) => format!("status {}", code.unwrap_or_default()),
    }
}
