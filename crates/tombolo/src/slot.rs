//! Slots: kernel arguments, start, wait, registers.

use crate::link::Link;
use crate::sliced_wait::SlicedWait;
use crate::space::Mapping;
use card::kernel::{Argument, ControlProtocol, Manifest};
use error::Error;
use owner::message::{
    Await, CheckTaken, Expire, LoadId, Loaded, Poll, Progress, ReadRegister, RunState, Schedule,
    SetArgument, Signal, SignalState, SpaceId, Start, Stop, Unload, WriteRegisters,
};
use units::{Picoseconds, Priority, SlotId, SlotSchedule, VirtAddr};

/// A slot of the card with a kernel loaded.
///
/// Any thread may use it, also several concurrently. Dropping the handle changes nothing: the kernel stays loaded, and
/// keeps running if it runs, until the slot is loaded again or its address space ends. [`close`](Slot::close) ends it
/// at once.
#[derive(Debug)]
pub struct Slot {
    link: Link,
    slot: SlotId,
    load: LoadId,
    space: SpaceId,
    manifest: Manifest,
}

/// Decision of a progress callback, see [`Slot::wait`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Keep waiting.
    Yes,
    /// Stop the kernel; the call returns [`Error::Interrupted`].
    Stop,
}

impl Slot {
    pub(crate) fn new(link: Link, loaded: Loaded, space: SpaceId, manifest: Manifest) -> Self {
        Self {
            link,
            slot: loaded.slot,
            load: loaded.load,
            space,
            manifest,
        }
    }

    /// The slot's number on the card.
    pub fn id(&self) -> SlotId {
        self.slot
    }

    /// The kernel's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Sets an argument to bytes in memory order (numbers are little-endian). The value stays until it is set again or
    /// another kernel is loaded; a failed run keeps it.
    ///
    /// # Errors
    /// [`Error::NoSuchArgument`], [`Error::ArgumentSize`]; [`Error::ArgumentValue`] for a number that the kernel's
    /// manifest excludes; [`Error::MisalignedPointer`] for an address that the kernel would round to another one.
    pub fn set_bytes(&self, argument: &str, value: &[u8]) -> Result<(), Error> {
        let found = self.argument(argument)?;
        if value.len() != found.bytes as usize {
            return Err(Error::ArgumentSize {
                kernel: self.manifest.name.clone(),
                argument: argument.to_owned(),
                expected: found.bytes,
                given: value.len(),
            });
        }
        let low = value.iter().take(8).rev();
        let number = low.fold(0, |word, &byte| word << 8 | u64::from(byte));
        if !found.numbers.have(number) {
            return Err(Error::ArgumentValue {
                kernel: self.manifest.name.clone(),
                argument: argument.to_owned(),
                value: number,
                numbers: found.numbers,
            });
        }
        if number % u64::from(found.alignment.max(1)) != 0 {
            return Err(Error::MisalignedPointer {
                kernel: self.manifest.name.clone(),
                argument: argument.to_owned(),
                address: number,
                alignment: found.alignment,
            });
        }
        let words = value.chunks(4).map(|chunk| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_le_bytes(word)
        });
        let (offset, words) = (found.offset, words.collect());
        self.link.call(SetArgument {
            load: self.load,
            offset,
            words,
        })
    }

    /// Sets an argument of up to 8 bytes to a number.
    ///
    /// # Errors
    /// As [`set_bytes`](Slot::set_bytes), also if the number does not fit.
    pub fn set(&self, argument: &str, value: u64) -> Result<(), Error> {
        let found = self.argument(argument)?;
        let bytes = value.to_le_bytes();
        let size = (found.bytes as usize).min(8);
        if found.bytes > 8 || bytes[size..].iter().any(|byte| *byte != 0) {
            return Err(Error::ArgumentSize {
                kernel: self.manifest.name.clone(),
                argument: argument.to_owned(),
                expected: found.bytes,
                given: 8 - value.leading_zeros() as usize / 8,
            });
        }
        self.set_bytes(argument, &bytes[..size])
    }

    /// Whether the kernel can reach a mapping, that is, whether the mapping is in the space that the kernel was loaded
    /// with. Spaces use the same address range: in another space the address means other bytes, or is unmapped.
    pub fn reaches(&self, mapping: &Mapping) -> bool {
        self.link.is(mapping.link()) && self.space == mapping.space()
    }

    /// Sets a pointer argument to the first byte of a mapping.
    ///
    /// # Errors
    /// [`Error::OtherSpace`], [`Error::OtherCard`]: the kernel cannot [reach](Slot::reaches) it; else as
    /// [`set`](Slot::set).
    pub fn set_mapping(&self, argument: &str, mapping: &Mapping) -> Result<(), Error> {
        if !self.link.is(mapping.link()) {
            return Err(Error::OtherCard);
        }
        if !self.reaches(mapping) {
            return Err(Error::OtherSpace {
                kernel: self.manifest.name.clone(),
                argument: argument.to_owned(),
            });
        }
        self.set_pointer(argument, mapping.address())
    }

    /// Sets a pointer argument to an address in the kernel's space: shared memory, or the middle of a mapping. A plain
    /// address carries no space, so it is not checked; [`set_mapping`](Slot::set_mapping) refuses mappings that the
    /// kernel cannot reach.
    ///
    /// # Errors
    /// As [`set`](Slot::set).
    pub fn set_pointer(&self, argument: &str, address: VirtAddr) -> Result<(), Error> {
        self.set(argument, address.get())
    }

    /// Sets the slot's share of card memory under contention with other slots. Takes effect immediately, also while the
    /// kernel runs, and lasts as long as this kernel is loaded.
    ///
    /// # Errors
    /// A number is out of range ([`CardError::Schedule`](card::CardError::Schedule)).
    pub fn set_schedule(&self, schedule: SlotSchedule) -> Result<(), Error> {
        let load = self.load;
        self.link.call(Schedule { load, schedule })
    }

    /// As [`set_schedule`](Slot::set_schedule), with a priority alone: the slot's memory requests go before those of
    /// slots with lower priority.
    ///
    /// # Errors
    /// [`Error::Gone`]: the slot was closed, or holds another kernel.
    pub fn set_priority(&self, priority: Priority) -> Result<(), Error> {
        self.set_schedule(priority.into())
    }

    /// Starts the kernel with the current arguments. A kernel that manages its own registers (`user_managed`) has run
    /// since it was loaded; for it, this releases the reset that follows a failure and sets its arguments.
    ///
    /// # Errors
    /// The kernel is running, or has no registers (`ap_ctrl_none`).
    pub fn start(&self) -> Result<(), Error> {
        self.link.call(Start { load: self.load })
    }

    /// Starts the kernel with the current arguments and waits until it is done, without a timeout.
    ///
    /// # Errors
    /// As [`start`](Slot::start) and [`join`](Slot::join).
    pub fn run(&self) -> Result<(), Error> {
        self.start()?;
        self.join(None)
    }

    /// Waits until the kernel is done, at most for `deadline` of virtual time from now. For a `user_managed` kernel it
    /// waits for the interrupt, as [`wait_interrupt`](Slot::wait_interrupt) does.
    ///
    /// # Errors
    /// An access of the kernel failed ([`Error::Access`], even if the kernel reports that it is done); the kernel
    /// failed or broke a protocol rule ([`Error::Violation`]); or the deadline passed. The slot is then in reset, and
    /// may be started again with the same arguments or others.
    pub fn join(&self, deadline: Option<Picoseconds>) -> Result<(), Error> {
        self.wait(deadline, |_| Continue::Yes)
    }

    /// As [`join`](Slot::join), with a callback: `progress` is called now and then on the waiting thread and decides
    /// whether to go on. Virtual time stands still during the callback.
    ///
    /// # Errors
    /// As [`join`](Slot::join); [`Error::Interrupted`] if `progress` returned [`Continue::Stop`].
    pub fn wait(
        &self,
        deadline: Option<Picoseconds>,
        mut progress: impl FnMut(Progress) -> Continue,
    ) -> Result<(), Error> {
        let load = self.load;
        if self.manifest.control == ControlProtocol::UserManaged {
            if !self.manifest.has_interrupt() {
                let slot = self.slot;
                let rule =
                    "has a kernel with registers of its own and no interrupt: wait for a register";
                return Err(Error::SlotState {
                    slot,
                    rule: rule.into(),
                });
            }
            let waited = self.await_signal(Signal::Interrupt, deadline, progress);
            return waited.map(drop);
        }
        let mut wait = SlicedWait::new(&self.link, deadline);
        loop {
            let now = match self.poll(wait.next_slice())? {
                RunState::Done(now) => {
                    progress(now);
                    return Ok(());
                }
                RunState::Running(now) => now,
            };
            wait.slice_over();
            if progress(now) == Continue::Stop {
                self.link.call(Stop { load })?;
                return Err(Error::Interrupted);
            }
            if wait.is_over() {
                return self.link.call(Expire { load });
            }
        }
    }

    /// Advances virtual time by at most `slice` while the kernel runs, and returns whether it is done. A slice of zero
    /// only checks. The end of a run is reported once.
    ///
    /// # Errors
    /// As [`join`](Slot::join); [`Error::SlotState`] if the kernel is not running.
    pub fn poll(&self, slice: Picoseconds) -> Result<RunState, Error> {
        let load = self.load;
        self.link.call(Poll { load, slice })
    }

    /// Polls a kernel register until its bits in `mask` equal those of `value`, at most for `deadline` of virtual time
    /// from now; page faults of the kernel are served meanwhile. Returns the register's value. The register is read
    /// about every microsecond.
    ///
    /// For kernels that manage their own registers (`user_managed`): only their program knows what the bits mean.
    ///
    /// # Errors
    /// An access failed or the kernel broke a protocol rule, as for [`join`](Slot::join): the slot is then in reset,
    /// and [`start`](Slot::start) releases it. [`Error::Deadline`]: the deadline passed; the kernel keeps running.
    pub fn wait_register(
        &self,
        offset: u32,
        mask: u32,
        value: u32,
        deadline: Option<Picoseconds>,
    ) -> Result<u32, Error> {
        let signal = Signal::Register {
            offset,
            mask,
            value,
        };
        self.await_signal(signal, deadline, |_| Continue::Yes)
    }

    /// Waits for the interrupt of a `user_managed` kernel, serving its page faults meanwhile. Returns the number of
    /// interrupts since the last wait. Their meaning, and how the kernel is acknowledged, is up to its program.
    ///
    /// # Errors
    /// As [`wait_register`](Slot::wait_register); or the kernel has `ap_start`, and reports its end itself.
    pub fn wait_interrupt(&self, deadline: Option<Picoseconds>) -> Result<u32, Error> {
        self.await_signal(Signal::Interrupt, deadline, |_| Continue::Yes)
    }

    fn await_signal(
        &self,
        signal: Signal,
        deadline: Option<Picoseconds>,
        mut progress: impl FnMut(Progress) -> Continue,
    ) -> Result<u32, Error> {
        let load = self.load;
        let mut wait = SlicedWait::new(&self.link, deadline);
        loop {
            let request = Await {
                load,
                signal,
                slice: wait.next_slice(),
            };
            match self.link.call(request)? {
                SignalState::Come(value) => return Ok(value),
                SignalState::Awaited(now) => {
                    wait.slice_over();
                    if progress(now) == Continue::Stop {
                        self.link.call(Stop { load })?;
                        return Err(Error::Interrupted);
                    }
                }
            }
            if wait.is_over() {
                self.link.call(Expire { load })?;
                return Err(Error::Interrupted);
            }
        }
    }

    /// Checks whether the kernel has sent more than the flows of its ports took; such bytes are lost with the kernel.
    /// No virtual time passes.
    ///
    /// # Errors
    /// [`StreamError::Untaken`](crate::StreamError::Untaken), for the first such port.
    pub fn check_taken(&self) -> Result<(), Error> {
        let load = self.load;
        self.link.call(CheckTaken { load })
    }

    /// Stops the kernel if it runs, and empties the slot. Bytes that it wrote stay in its mappings.
    ///
    /// # Errors
    /// The failure of a run that was not waited for, and the findings of [`check_taken`](Slot::check_taken); the slot
    /// is emptied nevertheless. [`Error::Gone`] if it was empty before, or holds another kernel.
    pub fn close(&self) -> Result<(), Error> {
        self.link.call(Unload { load: self.load })
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn load(&self) -> LoadId {
        self.load
    }

    /// Reads a kernel register. This takes the virtual time of the round trip over the link, during which the kernel
    /// keeps running; page faults raised meanwhile are served by the following reads, so a program may poll. A wait
    /// costs less.
    ///
    /// # Errors
    /// The offset is outside the register window; the kernel does not answer; while polling, a failure since the last
    /// read.
    pub fn read_register(&self, offset: u32) -> Result<u32, Error> {
        self.link.call(ReadRegister {
            load: self.load,
            offset,
        })
    }

    /// Writes a kernel register. The value is not kept across runs; for arguments use [`set`](Slot::set).
    ///
    /// # Errors
    /// The offset is outside the register window; the slot is in reset after a failed run.
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), Error> {
        self.link.call(WriteRegisters {
            load: self.load,
            offset,
            words: vec![value],
        })
    }

    fn argument(&self, name: &str) -> Result<&Argument, Error> {
        let found = self
            .manifest
            .arguments
            .iter()
            .find(|argument| argument.name == name);
        found.ok_or_else(|| Error::NoSuchArgument {
            kernel: self.manifest.name.clone(),
            argument: name.to_owned(),
            known: known(&self.manifest),
        })
    }
}

fn known(manifest: &Manifest) -> String {
    if manifest.arguments.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<&str> = manifest.arguments.iter().map(|a| a.name.as_str()).collect();
    names.join(", ")
}
