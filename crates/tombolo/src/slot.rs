//! Slots: arguments, start, wait.

use crate::link::Link;
use crate::space::Mapping;
use card::kernel::{Argument, ControlProtocol, Manifest};
use error::Error;
use owner::message::{
    Await, CheckTaken, Expire, LoadId, Loaded, Poll, Progress, ReadRegister, RunState, Schedule,
    SetArgument, Signal, SignalState, SpaceId, Start, Stop, Unload, WriteRegisters,
};
use owner::SLICE;
use units::{Picoseconds, Priority, SlotId, SlotSchedule, VirtAddr};

/// A slot with a kernel in it.
///
/// Any thread may use it, several at once too. Dropping it changes nothing: the kernel stays, and goes on if
/// it runs, until the slot gets another one or its address space ends. [`close`](Slot::close) ends it at once.
#[derive(Debug)]
pub struct Slot {
    link: Link,
    slot: SlotId,
    load: LoadId,
    space: SpaceId,
    manifest: Manifest,
}

/// What a caller of [`Slot::wait`] wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continue {
    /// Go on.
    Yes,
    /// Stop the kernel.
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

    /// Which slot of the card it is.
    pub fn id(&self) -> SlotId {
        self.slot
    }

    /// The kernel's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Sets an argument to bytes, in the order of memory (little-endian for numbers). It stays set until
    /// it is set again or another kernel is loaded: also after a run that failed.
    ///
    /// # Errors
    /// [`Error::NoSuchArgument`], [`Error::ArgumentSize`]; [`Error::ArgumentValue`] for a number that the kernel's
    /// manifest excludes, and [`Error::MisalignedPointer`] for an address that the kernel would take for another one.
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

    /// Whether the kernel can reach a mapping: it is of the space that the kernel was loaded with. Spaces use the same
    /// addresses, so that of another mapping is bytes of the kernel's own, or none.
    pub fn reaches(&self, mapping: &Mapping) -> bool {
        self.link.is(mapping.link()) && self.space == mapping.space()
    }

    /// Sets a pointer argument to the first byte of a mapping.
    ///
    /// # Errors
    /// [`Error::OtherSpace`], [`Error::OtherCard`]: the kernel cannot [reach](Slot::reaches) it; as [`set`](Slot::set).
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

    /// Sets a pointer argument to an address, of whatever the kernel finds there: shared memory, or the middle of a
    /// mapping. An address is of no space; [`set_mapping`](Slot::set_mapping) refuses what the kernel cannot reach.
    ///
    /// # Errors
    /// As [`set`](Slot::set).
    pub fn set_pointer(&self, argument: &str, address: VirtAddr) -> Result<(), Error> {
        self.set(argument, address.get())
    }

    /// Says what the slot gets of card memory while other slots want it too, from now on and as long as this
    /// kernel is in it; at any time, also while it runs.
    ///
    /// # Errors
    /// A number out of range ([`CardError::Schedule`](card::CardError::Schedule)).
    pub fn set_schedule(&self, schedule: SlotSchedule) -> Result<(), Error> {
        let load = self.load;
        self.link.call(Schedule { load, schedule })
    }

    /// As [`set_schedule`](Slot::set_schedule), with nothing but a priority: what the slot asks of card memory goes
    /// before what slots of lower priorities ask.
    ///
    /// # Errors
    /// [`Error::Gone`]: the slot was closed, or has another kernel.
    pub fn set_priority(&self, priority: Priority) -> Result<(), Error> {
        self.set_schedule(priority.into())
    }

    /// Starts the kernel with the arguments set so far. One with registers of its own (`user_managed`) runs since
    /// it was loaded; for it this ends the reset that follows a failure, and sets its arguments.
    ///
    /// # Errors
    /// It is running, or has no registers (`ap_ctrl_none`).
    pub fn start(&self) -> Result<(), Error> {
        self.link.call(Start { load: self.load })
    }

    /// Starts the kernel with the arguments set so far, and waits until it is done, however long that is.
    ///
    /// # Errors
    /// As [`start`](Slot::start) and [`join`](Slot::join).
    pub fn run(&self) -> Result<(), Error> {
        self.start()?;
        self.join(None)
    }

    /// Waits until the kernel is done, at most until `deadline` of virtual time from now; for the interrupt of one with
    /// registers of its own (`user_managed`), as [`wait_interrupt`](Slot::wait_interrupt) does.
    ///
    /// # Errors
    /// An access of the kernel failed ([`Error::Access`], even if the kernel says that it is done), the
    /// kernel failed or broke a rule ([`Error::Violation`]), or the deadline passed. The slot is in reset
    /// then, and may be started anew: with the arguments it had, or others.
    pub fn join(&self, deadline: Option<Picoseconds>) -> Result<(), Error> {
        self.wait(deadline, |_| Continue::Yes)
    }

    /// As [`join`](Slot::join); `progress` is asked every now and then whether to go on. It is called by
    /// the thread that waits, and virtual time stands meanwhile.
    ///
    /// # Errors
    /// As [`join`](Slot::join), and [`Error::Interrupted`] if `progress` said stop.
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
        let mut elapsed = Picoseconds::ZERO;
        loop {
            let rest = deadline.map_or(SLICE, |deadline| SLICE.min(deadline - elapsed));
            let now = match self.poll(rest)? {
                RunState::Done(now) => {
                    progress(now);
                    return Ok(());
                }
                RunState::Running(now) => now,
            };
            elapsed += rest;
            if progress(now) == Continue::Stop {
                self.link.call(Stop { load })?;
                return Err(Error::Interrupted);
            }
            if deadline.is_some_and(|deadline| elapsed >= deadline) {
                return self.link.call(Expire { load });
            }
        }
    }

    /// Lets at most `slice` of virtual time pass while the kernel runs, and says whether it is done. A
    /// slice of zero only looks. The end of a run is told once.
    ///
    /// # Errors
    /// As [`join`](Slot::join); [`Error::SlotState`] when the kernel is not running.
    pub fn poll(&self, slice: Picoseconds) -> Result<RunState, Error> {
        let load = self.load;
        self.link.call(Poll { load, slice })
    }

    /// Waits until the bits of `mask` in a register of the kernel are those of `value`, at most until `deadline`
    /// of virtual time from now, and serves its faults meanwhile; gives what the register holds then. The register
    /// is read every microsecond or so.
    ///
    /// For kernels with registers of their own (`user_managed`), whose program is the only one to know them.
    ///
    /// # Errors
    /// An access failed or the kernel broke a rule, as for [`join`](Slot::join): the slot is in reset then, and
    /// [`start`](Slot::start) ends that. [`Error::Deadline`]: the deadline passed, and the kernel goes on.
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

    /// Waits for the interrupt of a kernel with registers of its own, and serves its faults meanwhile; gives how
    /// many there have been since the last wait. What they mean, and how the kernel takes them back, is its
    /// program's affair.
    ///
    /// # Errors
    /// As [`wait_register`](Slot::wait_register); the kernel has `ap_start`, and says when it is done.
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
        let mut left = deadline;
        loop {
            let slice = left.map_or(SLICE, |left| SLICE.min(left));
            let request = Await {
                load,
                signal,
                slice,
            };
            match self.link.call(request)? {
                SignalState::Come(value) => return Ok(value),
                SignalState::Awaited(now) => {
                    if progress(now) == Continue::Stop {
                        self.link.call(Stop { load })?;
                        return Err(Error::Interrupted);
                    }
                }
            }
            left = left.map(|left| left - slice);
            if left == Some(Picoseconds::ZERO) {
                self.link.call(Expire { load })?;
                return Err(Error::Interrupted);
            }
        }
    }

    /// Looks whether the kernel has sent more than the flows of its ports took, which is lost with it. No virtual time
    /// passes.
    ///
    /// # Errors
    /// [`StreamError::Untaken`](crate::StreamError::Untaken), of the first such port.
    pub fn check_taken(&self) -> Result<(), Error> {
        let load = self.load;
        self.link.call(CheckTaken { load })
    }

    /// Stops the kernel if it runs, and empties the slot. What it wrote stays where it is mapped.
    ///
    /// # Errors
    /// What went wrong in a run that nobody waited for, and what [`check_taken`](Slot::check_taken) finds; the slot is empty
    /// nevertheless. [`Error::Gone`] if it was before, or has another kernel.
    pub fn close(&self) -> Result<(), Error> {
        self.link.call(Unload { load: self.load })
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn load(&self) -> LoadId {
        self.load
    }

    /// Reads a register of the kernel. It takes the virtual time of its way over the link, in which the kernel goes on;
    /// what it has faulted on is served by the reads that follow, so a program may poll. A wait is cheaper.
    ///
    /// # Errors
    /// Outside the register window, or the kernel does not answer; while it is polled, what went wrong since.
    pub fn read_register(&self, offset: u32) -> Result<u32, Error> {
        self.link.call(ReadRegister {
            load: self.load,
            offset,
        })
    }

    /// Writes a register of the kernel. What is written is not kept: for arguments there is
    /// [`set`](Slot::set).
    ///
    /// # Errors
    /// Outside the register window; the slot is in reset since a run failed.
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
