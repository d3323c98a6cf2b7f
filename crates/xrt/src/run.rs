//! Runs of kernels: arguments, start, wait.

use crate::buffer::Buffer;
use crate::command_state::{CommandState, Repeat};
use crate::design::{Argument, ArgumentKind};
use crate::dispatch::{Dispatched, LOOK};
use crate::error::XrtError;
use crate::kernel::{Kernel, KernelInner};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tombolo::{Picoseconds, Slot};

/// Virtual time that a mailbox waits for the results of new values, at most.
const SETTLE: Picoseconds = Picoseconds::from_micros(1000);

/// A run of a kernel. Clones refer to the same run.
#[derive(Clone, Debug)]
pub struct Run {
    inner: Arc<RunInner>,
}

#[derive(Debug)]
pub(crate) struct RunInner {
    kernel: Arc<KernelInner>,
    state: AtomicU32,
    arguments: Mutex<Arguments>,
}

#[derive(Clone, Debug, Default)]
struct Arguments {
    /// By position in the kernel's list of arguments.
    values: BTreeMap<usize, Value>,
    /// The values at the last start.
    frozen: BTreeMap<usize, Value>,
    /// Remaining runs, including the present one.
    repeat: Repeat,
    /// New values take effect at the next repetition.
    renewed: bool,
    /// Starts of the kernel so far.
    begun: u64,
    /// The number of starts after which the results of the last new values are there.
    settled: u64,
    /// The compute unit of the last start.
    unit: Option<usize>,
}

#[derive(Clone, Debug)]
struct Value {
    bytes: Vec<u8>,
    /// Keeps the memory alive while the run may use it.
    _buffer: Option<Buffer>,
}

impl RunInner {
    fn arguments(&self) -> MutexGuard<'_, Arguments> {
        self.arguments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Dispatched for RunInner {
    fn state(&self) -> CommandState {
        CommandState::from_number(self.state.load(Ordering::Acquire))
    }

    fn set_state(&self, state: CommandState) {
        self.state.store(state as u32, Ordering::Release);
    }

    fn kernel_name(&self) -> String {
        self.kernel.name().to_owned()
    }

    fn candidates(&self) -> &[usize] {
        self.kernel.units()
    }

    fn freeze(&self) {
        let mut arguments = self.arguments();
        arguments.frozen = arguments.values.clone();
        arguments.begun += 1;
        arguments.settled = 0;
    }

    fn set_repeat(&self, repeat: Repeat) {
        self.arguments().repeat = repeat;
    }

    fn repeats(&self) -> bool {
        !matches!(self.arguments().repeat, Repeat::Times(0 | 1))
    }

    fn begins_anew(&self) -> bool {
        let mut arguments = self.arguments();
        match &mut arguments.repeat {
            Repeat::Times(0 | 1) => return false,
            Repeat::Times(left) => *left -= 1,
            Repeat::Endless => {}
        }
        if std::mem::take(&mut arguments.renewed) {
            arguments.frozen = arguments.values.clone();
        }
        arguments.begun += 1;
        true
    }

    fn apply(&self, unit: usize, slot: &Slot) -> Result<(), XrtError> {
        let mut arguments = self.arguments();
        arguments.unit = Some(unit);
        for (place, argument) in self.kernel.image().arguments.iter().enumerate() {
            if argument.kind == ArgumentKind::Stream {
                continue;
            }
            match arguments.frozen.get(&place) {
                Some(value) => slot.set_bytes(&argument.name, &value.bytes)?,
                None => slot.set_bytes(&argument.name, &vec![0; argument.bytes as usize])?,
            }
        }
        Ok(())
    }
}

impl Run {
    /// A run that is not yet started.
    pub fn new(kernel: &Kernel) -> Self {
        Self {
            inner: Arc::new(RunInner {
                kernel: kernel.inner().clone(),
                state: AtomicU32::new(CommandState::New as u32),
                arguments: Mutex::default(),
            }),
        }
    }

    /// The kernel that it runs.
    pub fn kernel(&self) -> Kernel {
        Kernel::of(self.inner.kernel.clone())
    }

    fn dispatched(&self) -> Arc<dyn Dispatched> {
        self.inner.clone()
    }

    /// Whether both refer to the same run.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    fn argument(&self, index: u32) -> Result<(usize, &Argument), XrtError> {
        let arguments = &self.inner.kernel.image().arguments;
        let place = arguments.iter().position(|one| one.index == index);
        place
            .map(|place| (place, &arguments[place]))
            .ok_or_else(|| self.inner.kernel.no_such_argument(index.to_string()))
    }

    /// Index of the argument with this name.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`].
    pub fn index_of(&self, name: &str) -> Result<u32, XrtError> {
        let mut arguments = self.inner.kernel.image().arguments.iter();
        let found = arguments.find(|one| one.name == name);
        let missing = || self.inner.kernel.no_such_argument(format!("`{name}`"));
        found.map(|one| one.index).ok_or_else(missing)
    }

    /// Sets an argument to the bytes of a value, least significant first. Excess bytes are ignored; if the value is
    /// shorter, the remaining bytes keep their previous value. A stream accepts any value, without effect.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`].
    pub fn set_bytes(&self, index: u32, value: &[u8]) -> Result<(), XrtError> {
        let (place, argument) = self.argument(index)?;
        if argument.kind == ArgumentKind::Stream {
            return Ok(());
        }
        let mut arguments = self.inner.arguments();
        let entry = arguments.values.entry(place).or_insert_with(|| Value {
            bytes: vec![0; argument.bytes as usize],
            _buffer: None,
        });
        let host = (argument.host_bytes.min(argument.bytes)) as usize;
        let count = value.len().min(host);
        entry.bytes[..count].copy_from_slice(&value[..count]);
        entry._buffer = None;
        Ok(())
    }

    /// Sets a pointer argument to a buffer. If the argument's port does not reach the buffer's bank, the buffer is
    /// copied on the card to a bank that it reaches, as XRT does: what the kernel writes there does not reach the
    /// original. A warning reports this.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`]; [`XrtError::ArgumentKind`]: the argument is a number; [`XrtError::OtherDevice`];
    /// [`XrtError::OutOfReach`].
    pub fn set_buffer(&self, index: u32, buffer: &Buffer) -> Result<(), XrtError> {
        let (place, argument) = self.argument(index)?;
        let kernel = &self.inner.kernel;
        match argument.kind {
            ArgumentKind::Stream => return Ok(()),
            ArgumentKind::Scalar => {
                return Err(XrtError::ArgumentKind {
                    kernel: kernel.name().to_owned(),
                    argument: argument.name.clone(),
                    rule: "it is a number, not a buffer",
                })
            }
            ArgumentKind::Global => {}
        }
        if !buffer.is_of(kernel.session()) {
            return Err(XrtError::OtherDevice { what: "bo" });
        }
        if buffer.is_out_of_reach() {
            return Err(XrtError::OutOfReach {
                kernel: kernel.name().to_owned(),
                argument: argument.name.clone(),
            });
        }
        let reached = kernel.group_of(place).unwrap_or(buffer.group());
        let memories = &kernel.session().design().memories;
        let (port, own) = (
            memories.get(reached as usize),
            memories.get(buffer.group() as usize),
        );
        let fits = match (port, own) {
            (Some(port), Some(own)) => port.contains(own) || own.contains(port),
            _ => true,
        };
        let buffer = match fits {
            true => buffer.clone(),
            false => {
                let tag = |memory: Option<&crate::Memory>| {
                    memory.map_or_else(String::new, |one| one.tag.clone())
                };
                eprintln!(
                    "[XRT] WARNING: kernel `{}`: argument {}: its port reaches {}, the bo is in {}: the kernel gets a \
                     copy; allocate the bo with kernel.group_id({index})",
                    kernel.name(),
                    argument.name,
                    tag(port),
                    tag(own),
                );
                buffer.copied_to(reached)?
            }
        };
        let address = buffer.address();
        let last = address.saturating_add(buffer.len().max(1) as u64 - 1);
        let limit = kernel
            .session()
            .last_address(kernel.name(), argument.offset);
        let bytes = register_bytes(address, argument.bytes as usize).filter(|_| last <= limit);
        let bytes = bytes.ok_or_else(|| XrtError::AddressWidth {
            kernel: kernel.name().to_owned(),
            argument: argument.name.clone(),
            address,
            last,
            limit,
        })?;
        let value = Value {
            bytes,
            _buffer: Some(buffer),
        };
        self.inner.arguments().values.insert(place, value);
        Ok(())
    }

    /// Puts the run on a free compute unit, or in the queue for one. Never blocks.
    ///
    /// # Errors
    /// [`XrtError::RunBusy`]: the run is under way; the kernel rejects an argument.
    pub fn start(&self) -> Result<(), XrtError> {
        self.start_repeated(Repeat::default())
    }

    /// As [`start`](Self::start), with repetitions according to `repeat`; they advance only while the program waits for
    /// a run.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_repeated(&self, repeat: Repeat) -> Result<(), XrtError> {
        let dispatcher = self.inner.kernel.session().dispatcher();
        dispatcher.start(&self.dispatched(), repeat)
    }

    /// Waits for its end, and cancels further repetitions.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn stop(&self) -> Result<CommandState, XrtError> {
        self.inner.set_repeat(Repeat::default());
        self.wait(0)
    }

    /// Lets arguments set since the start take effect at the next repetition.
    pub fn renew(&self) {
        let mut arguments = self.inner.arguments();
        arguments.renewed = true;
        // One that begins with them, and the next, which begins at its end.
        arguments.settled = arguments.begun + 2;
    }

    /// Lets virtual time pass until the kernel has run with the values of the last [`renew`](Self::renew), at most
    /// [`SETTLE`] (a kernel that waits for a stream never does). Without new values, as a look at its state.
    pub fn settle(&self) {
        let dispatcher = self.inner.kernel.session().dispatcher();
        let mut left = SETTLE;
        let mut slice = LOOK;
        while left > Picoseconds::ZERO && self.inner.state().is_under_way() {
            let passed = dispatcher.advance(&self.dispatched(), slice.min(left));
            left = left - passed.max(LOOK).min(left);
            slice = SETTLE;
            let arguments = self.inner.arguments();
            if arguments.begun >= arguments.settled {
                return;
            }
        }
    }

    /// Reads the registers of an argument back from the kernel.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`]; [`XrtError::NotStarted`]; the kernel does not respond.
    pub fn read_argument(&self, index: u32) -> Result<Vec<u8>, XrtError> {
        let (_, argument) = self.argument(index)?;
        let unit = self.inner.arguments().unit;
        let unit = unit.ok_or_else(|| XrtError::NotStarted {
            kernel: self.inner.kernel_name(),
            call: "read",
        })?;
        let slot = self.inner.kernel.session().slot(unit);
        let mut bytes = Vec::new();
        for offset in (0..argument.bytes).step_by(4) {
            let word = slot.read_register(argument.offset + offset)?;
            bytes.extend(word.to_le_bytes());
        }
        Ok(bytes)
    }

    /// Description of an argument.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`].
    pub fn argument_of(&self, index: u32) -> Result<Argument, XrtError> {
        Ok(self.argument(index)?.1.clone())
    }

    /// Waits for the end of the run, for at most `milliseconds` of virtual time (0: no limit). Returns `Timeout` if the
    /// limit passed; the run continues.
    ///
    /// # Errors
    /// [`XrtError::NotStarted`].
    pub fn wait(&self, milliseconds: u64) -> Result<CommandState, XrtError> {
        let limit = Picoseconds::new(milliseconds.saturating_mul(1_000_000_000));
        self.wait_within((milliseconds > 0).then_some(limit))
    }

    /// As [`wait`](Self::wait), for at most about `patience` of real time, for callers that must check something else
    /// in between. Returns `None` and the remaining milliseconds if that passed first.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_for(
        &self,
        milliseconds: u64,
        timeout: Duration,
    ) -> Result<(Option<CommandState>, u64), XrtError> {
        let end = Instant::now() + timeout;
        let mut left = milliseconds;
        loop {
            // One millisecond of virtual time takes a millisecond or more of real time if the kernel is busy.
            match self.wait(1)? {
                CommandState::Timeout => {}
                state => return Ok((Some(state), left)),
            }
            if left == 1 {
                return Ok((Some(CommandState::Timeout), 0));
            }
            left = left.saturating_sub(1);
            if Instant::now() >= end {
                return Ok((None, left));
            }
        }
    }

    fn wait_within(&self, limit: Option<Picoseconds>) -> Result<CommandState, XrtError> {
        if self.inner.state() == CommandState::New {
            return Err(XrtError::NotStarted {
                kernel: self.inner.kernel_name(),
                call: "wait",
            });
        }
        let dispatcher = self.inner.kernel.session().dispatcher();
        let mut left = limit;
        loop {
            let state = self.inner.state();
            if !state.is_under_way() {
                return Ok(state);
            }
            if left == Some(Picoseconds::ZERO) {
                return Ok(CommandState::Timeout);
            }
            let passed = dispatcher.advance(&self.dispatched(), left.unwrap_or(Picoseconds::MAX));
            left = left.map(|left| left - passed.min(left));
        }
    }

    /// Its state. A query takes a microsecond of virtual time while it is under way, so that polling loops end.
    pub fn state(&self) -> CommandState {
        self.inner
            .kernel
            .session()
            .dispatcher()
            .advance(&self.dispatched(), LOOK);
        self.inner.state()
    }

    /// Stops the run and resets its compute unit. No effect if it is not under way.
    pub fn abort(&self) -> CommandState {
        self.inner
            .kernel
            .session()
            .dispatcher()
            .abort(&self.dispatched());
        self.inner.state()
    }
}

/// An address in a register of `bytes` bytes; `None` if it does not fit.
fn register_bytes(address: u64, bytes: usize) -> Option<Vec<u8>> {
    let mut held = address.to_le_bytes().to_vec();
    if held.iter().skip(bytes).any(|byte| *byte != 0) {
        return None;
    }
    held.resize(bytes, 0);
    Some(held)
}

#[cfg(test)]
mod tests {
    use super::register_bytes;

    #[test]
    fn an_address_that_does_not_fit_is_not_cut() {
        assert_eq!(register_bytes(0x1_0000_0000, 4), None);
        assert_eq!(
            register_bytes(0x89ab_cdef, 4),
            Some(vec![0xef, 0xcd, 0xab, 0x89])
        );
        let whole = register_bytes(0x2000_0000_0000, 8).unwrap();
        assert_eq!(whole, 0x2000_0000_0000_u64.to_le_bytes());
    }
}
