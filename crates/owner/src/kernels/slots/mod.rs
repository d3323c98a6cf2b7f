//! Slots: loading, registers, start, done, failures.
//!
//! Independent of streams, lines and schedules: what concerns these too lies in [`lifecycle`](super::lifecycle).

mod managed;
mod settle;
mod table;

use crate::handles::Handles;
use crate::message::ClientId;
use crate::message::LoadId;
use crate::report::RunReport;
use crate::tasks::Tasks;
use crate::trace::Trace;
use card::guard::KernelWord;
use card::kernel::{ControlProtocol, KernelPackage, Manifest};
use card::{Card, CardError, CheckedDescription};
use error::Error;
pub(crate) use managed::SignalLook;
use settle::Ending;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use table::SlotTable;
use units::{Asid, CardDescription, FaultToken, Picoseconds, SlotId, VirtAddr};

/// BAR address of a slot's `s_axi_control`.
const SLOT_WINDOW: u32 = card::registers::SLOT_CONTROL.base;
const SLOT_WINDOW_BYTES: u32 = card::registers::SLOT_CONTROL.stride;

/// The Vitis control registers.
mod register {
    pub const CONTROL: u32 = 0x00;
    pub const GLOBAL_INTERRUPT_ENABLE: u32 = 0x04;
    pub const INTERRUPT_ENABLE: u32 = 0x08;
    pub const INTERRUPT_STATUS: u32 = 0x0c;
    pub const START: u32 = 1 << 0;
    pub const DONE: u32 = 1 << 1;
    pub const CONTINUE: u32 = 1 << 4;
}

/// A kernel in a slot.
#[derive(Debug)]
pub(super) struct Loaded {
    kernel: KernelPackage,
    space: Asid,
    /// The slot is out of reset.
    released: bool,
    /// The kernel has ended itself (`$finish`): the slot is empty until it is loaded again.
    gone: bool,
    /// Virtual time at which it left reset.
    since: Picoseconds,
    /// Words of the arguments, by offset. In reset, a kernel's registers lose their values and ignore writes.
    pub(super) arguments: BTreeMap<u32, u32>,
}

impl Loaded {
    pub(super) fn space(&self) -> Asid {
        self.space
    }

    /// Whether writes to the kernel's registers take effect.
    pub(super) fn listens(&self) -> bool {
        self.released && !self.gone
    }
}

/// A run under way.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Picoseconds,
}

/// The owner's state of a slot.
#[derive(Debug, Default)]
pub(super) struct SlotState {
    loaded: Option<Loaded>,
    /// Name of the kernel with which the slot was configured last.
    configured: Option<String>,
    running: Option<Running>,
    /// Virtual time at which the host learned that the run was over.
    done: Option<Picoseconds>,
    /// The kernel has reported done, and its ports are not at rest.
    ending: Option<Ending>,
    /// Its program has read a register while accesses were under way.
    pub(super) at_work: bool,
    /// Interrupts of the run that announced nothing.
    idle_interrupts: u32,
    /// Interrupts of a kernel with registers of its own that its program has not waited for.
    interrupts: u32,
    /// The program has read a register since the last start or wait.
    polled: bool,
    /// The first error of the run.
    failure: Option<Error>,
}

impl SlotState {
    /// Whether a kernel runs, and its end is not known yet.
    pub(super) fn is_busy(&self) -> bool {
        self.running.is_some() && self.failure.is_none() && self.done.is_none()
    }

    /// Whether a kernel runs in a space.
    pub(super) fn runs_in(&self, space: Asid) -> bool {
        self.running.is_some() && self.loaded_in(space)
    }

    pub(super) fn loaded_in(&self, space: Asid) -> bool {
        self.loaded
            .as_ref()
            .is_some_and(|loaded| loaded.space == space)
    }
}

/// The card, and the state of its slots: registers, start, end and failure of one kernel.
pub(crate) struct SlotControl {
    card: Box<dyn Card>,
    table: SlotTable,
    trace: Trace,
    /// Registers were written and the writes are not confirmed yet.
    posted: bool,
}

/// The owner's own access to a register of a kernel.
pub(super) enum OwnRead<T> {
    Value(T),
    /// The kernel answered with this error; its slot is to be held in reset.
    Refused(Error),
    /// It did not answer, which the guard reports.
    Unanswered,
}

/// Maximum number of interrupts of one run that announce nothing, before the kernel is stopped. Two are usual: ready
/// and done.
const IDLE_INTERRUPTS: u32 = 16;

/// Addresses that a kernel will access first.
pub(crate) struct Announced {
    pub(crate) space: Asid,
    pub(crate) addresses: Vec<VirtAddr>,
}

/// State of a run.
pub(crate) enum RunLook {
    Failed(Error),
    Done(RunReport),
    /// The kernel is done, and its ports are due to be polled.
    Settle,
    SliceOver,
}

/// State of several runs.
pub(crate) enum AnyLook {
    Over(usize),
    Settle(SlotId),
    SliceOver,
}

impl SlotControl {
    /// A card with empty slots.
    pub(super) fn new(card: Box<dyn Card>, trace: Trace) -> Self {
        Self {
            table: SlotTable::new(card.description().slots),
            card,
            trace,
            posted: false,
        }
    }

    pub(crate) fn card(&mut self) -> &mut dyn Card {
        self.card.as_mut()
    }

    /// The card's description.
    pub(crate) fn description(&self) -> &CardDescription {
        self.card.description()
    }

    /// The card's time.
    pub(crate) fn now(&self) -> Picoseconds {
        self.card.now()
    }

    /// Notes that registers were written: they reach the card on another path than accesses of cores.
    pub(super) fn registers_posted(&mut self) {
        self.posted = true;
    }

    /// Whether registers were written since the last call.
    pub(super) fn take_posted(&mut self) -> bool {
        std::mem::take(&mut self.posted)
    }

    /// Records the names of a slot's ports with this kernel.
    pub(super) fn name_ports(&mut self, slot: SlotId, manifest: &Manifest) {
        let ports = usize::from(self.card.description().ports_per_slot);
        let first = usize::from(slot.0) * ports;
        for number in 0..ports {
            let name = format!("{} {}", manifest.name, self.port_name(manifest, number));
            self.table.name_port(first + number, name);
        }
    }

    /// Name of a port of a slot, given the number that the card has for it.
    pub(super) fn port_name(&self, manifest: &Manifest, number: usize) -> String {
        let memory_ports = usize::from(self.card.description().memory_ports_per_slot());
        let name = |write| manifest.port_name(memory_ports, number, write);
        match (name(false), name(true)) {
            (Some(into), Some(out)) if into != out => format!("{into}/{out}"),
            (Some(name), _) | (None, Some(name)) => name.to_owned(),
            (None, None) => number.to_string(),
        }
    }

    /// The error of a register access that a kernel answered with an error response. `None` if the shell answered: the
    /// slot is in reset, or closed because the kernel hangs, which the guard reports.
    pub(super) fn refused(
        &mut self,
        slot: SlotId,
        offset: u32,
        write: bool,
    ) -> Result<Option<Error>, Error> {
        if !self.loaded(slot).is_ok_and(|loaded| loaded.listens()) {
            return Ok(None);
        }
        if self.card.slot_status(slot)?.unanswered.is_some() {
            return Ok(None);
        }
        let kernel = self.kernel_name(slot);
        let register = match self.manifest(slot) {
            Some(manifest) => register_name(manifest, offset),
            None => String::new(),
        };
        let access = if write { "write" } else { "read" };
        let reason = format!(
            "{register} at 0x{offset:02x}: the kernel answered a {access} with an error (SLVERR or DECERR): \
             registers of the manifest answer OKAY; compare the offset with the kernel's RTL"
        );
        Ok(Some(Error::KernelFailed {
            slot,
            kernel,
            reason,
        }))
    }

    /// Slot and name of a port of the card, human-readable.
    pub(crate) fn name_of_port(&self, port: usize) -> String {
        let ports = usize::from(self.description().ports_per_slot.max(1));
        let (slot, number) = (port / ports, port % ports);
        match self.table.port_name(port) {
            Some(name) => format!("slot {slot}, {name}"),
            None => format!("slot {slot}, port {number}"),
        }
    }

    /// The first slot with a running kernel.
    pub(crate) fn busy_slot(&self) -> Option<SlotId> {
        self.table.find(|_, state| state.is_busy())
    }

    /// The slot with a running kernel in a space.
    pub(crate) fn user_of(&self, space: Asid) -> Option<SlotId> {
        self.table.find(|_, state| state.runs_in(space))
    }

    /// Whether a slot has a kernel that works in a space.
    pub(crate) fn works_in(&self, slot: SlotId, space: Asid) -> bool {
        let state = self.table.get(slot);
        state.is_some_and(|state| state.loaded_in(space))
    }

    /// Total time that kernels have run in a space.
    pub(crate) fn run_time(&self, space: Asid) -> Picoseconds {
        self.table.run_time(space)
    }

    /// Clears the run time of a space, whose number is reused.
    pub(crate) fn forget_run_time(&mut self, space: Asid) {
        self.table.forget_run_time(space);
    }

    /// Whether a slot is being reconfigured.
    pub(crate) fn is_reconfiguring(&self, slot: SlotId) -> bool {
        self.table.is_reconfiguring(slot)
    }

    /// Whether faults or replies of a slot in reset are still outstanding.
    pub(crate) fn is_draining(&self, slot: SlotId) -> bool {
        self.table.is_draining(slot)
    }

    /// The reconfiguration of a slot is over.
    pub(crate) fn reconfigured(&mut self, slot: SlotId) {
        self.table.reconfigured(slot);
    }

    /// Whether a fault belongs to a slot that was stopped meanwhile.
    pub(crate) fn is_gone(&self, token: FaultToken) -> bool {
        self.table.is_gone(token)
    }

    /// Starts draining a slot that was put in reset; accesses of its requesters are in flight until
    /// [`drained`](Self::drained).
    pub(crate) fn drain(&mut self, slot: SlotId, requesters: RangeInclusive<u8>) {
        self.table.drain(slot, requesters);
    }

    /// Marks a slot as drained: nothing of it is in flight. Returns its requesters, the first time.
    pub(crate) fn drained(&mut self, slot: SlotId) -> Option<RangeInclusive<u8>> {
        self.table.drained(slot)
    }

    /// Identifiers of the slots.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SlotId> {
        self.table.ids()
    }

    /// Records the kernel with which a slot is configured. Returns whether it replaces another one: the reconfiguration
    /// begins then.
    pub(crate) fn reconfigure(&mut self, slot: SlotId, name: &str) -> Result<bool, Error> {
        let state = self.slot(slot)?;
        let before = state.configured.replace(name.to_owned());
        let other = before.is_some_and(|before| before != name);
        if other {
            self.table.reconfigure(slot);
        }
        Ok(other)
    }

    /// The space that the kernel of a slot works in.
    pub(crate) fn space_of(&mut self, slot: SlotId) -> Result<Asid, Error> {
        Ok(self.loaded(slot)?.space)
    }

    /// The unreported failure of a slot.
    pub(crate) fn take_unreported(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        Ok(self.slot(slot)?.failure.take())
    }

    /// Name of a slot's kernel and whether it runs, if the slot has a kernel.
    pub(crate) fn kernel_in(&self, slot: SlotId) -> Option<(String, bool)> {
        let state = self.table.get(slot)?;
        let loaded = state.loaded.as_ref()?;
        Some((loaded.kernel.manifest.name.clone(), state.is_busy()))
    }

    /// The first slot without a kernel and without a claim.
    pub(crate) fn first_empty_slot(&self, tasks: &Tasks) -> Result<SlotId, Error> {
        let empty = |slot, state: &SlotState| state.loaded.is_none() && !tasks.is_claimed(slot);
        let found = self.table.find(empty);
        found.ok_or(Error::NoFreeSlot {
            slots: self.table.count(),
        })
    }

    /// A slot stays with its client until the client closes it.
    pub(crate) fn may_load(
        &mut self,
        handles: &Handles,
        client: ClientId,
        slot: SlotId,
    ) -> Result<(), Error> {
        let state = self.slot(slot)?;
        // A failed run is over, whether or not its client knows.
        if state.is_busy() {
            let rule = "is running; wait for it or stop it before another kernel is loaded";
            return Err(Error::SlotState {
                slot,
                rule: rule.into(),
            });
        }
        match handles.client_in(slot) {
            Some(other) if other != client => Err(Error::SlotState {
                slot,
                rule: "has a kernel of another client; choose another slot, or wait until it is closed".into(),
            }),
            _ => Ok(()),
        }
    }

    /// Whether the kernel signals done by an interrupt.
    pub(super) fn announces(&mut self, slot: SlotId) -> Result<bool, Error> {
        let manifest = &self.loaded(slot)?.kernel.manifest;
        let control = manifest.control;
        Ok(manifest.has_interrupt()
            && matches!(
                control,
                ControlProtocol::ApCtrlHs | ControlProtocol::ApCtrlChain
            ))
    }

    /// Records a register read of the program. Returns whether it polls: the kernel runs, and there was no wait since
    /// the last read.
    pub(crate) fn polls(&mut self, slot: SlotId) -> Result<bool, Error> {
        let runs = self.running_since(slot)?.is_some();
        let state = self.slot(slot)?;
        Ok(std::mem::replace(&mut state.polled, runs) && runs)
    }

    /// Records that the program waits for the kernel other than by polling registers.
    pub(crate) fn waits_otherwise(&mut self, slot: SlotId) {
        if let Ok(state) = self.slot(slot) {
            state.polled = false;
        }
    }

    /// Time since which the kernel runs; for one with registers of its own, since it left reset.
    pub(crate) fn running_since(&mut self, slot: SlotId) -> Result<Option<Picoseconds>, Error> {
        if let Some(running) = self.slot(slot)?.running {
            return Ok(Some(running.since));
        }
        let managed = self.is_user_managed(slot);
        let loaded = self.loaded(slot).ok().filter(|_| managed);
        let loaded = loaded.filter(|loaded| loaded.released);
        Ok(loaded.map(|loaded| loaded.since))
    }

    /// A running slot, for a request that waits for its kernel.
    fn running(
        &mut self,
        handles: &Handles,
        slot: SlotId,
        load: LoadId,
    ) -> Result<&mut SlotState, Error> {
        if !handles.is_alive(load) {
            return Err(Error::Gone {
                what: format!("kernel #{}", load.0),
                why: "its slot was closed or got another kernel while this call waited".into(),
            });
        }
        let state = self.slot(slot)?;
        match state.running {
            Some(_) => Ok(state),
            None => Err(Error::SlotState {
                slot,
                rule: "is not running; start it first".into(),
            }),
        }
    }

    /// The result of a run; `None` while it continues.
    pub(crate) fn look(
        &mut self,
        handles: &Handles,
        slot: SlotId,
        load: LoadId,
        until: Picoseconds,
    ) -> Result<Option<RunLook>, Error> {
        let kernel = self.kernel_name(slot);
        let state = self.running(handles, slot, load)?;
        if let Some(error) = state.failure.take() {
            return Ok(Some(RunLook::Failed(error)));
        }
        if let (Some(done), Some(running)) = (state.done, state.running) {
            state.running = None;
            self.trace.run(slot, &kernel, running.since, done);
            let run = self.finished(slot, kernel, done - running.since);
            return Ok(Some(RunLook::Done(run)));
        }
        if self.is_to_settle(slot) {
            return Ok(Some(RunLook::Settle));
        }
        Ok((self.card.now() >= until).then_some(RunLook::SliceOver))
    }

    /// Time of a task's next poll of the slots it waits for.
    pub(crate) fn next_look(
        &self,
        slots: impl IntoIterator<Item = SlotId>,
        until: Picoseconds,
    ) -> Picoseconds {
        let states = slots.into_iter();
        let states = states.filter_map(|slot| self.table.get(slot));
        let endings = states.filter_map(|state| state.ending.map(|ending| ending.next));
        endings.fold(until, Picoseconds::min)
    }

    /// Whether the ports of a finished kernel are due to be polled.
    pub(crate) fn is_to_settle(&self, slot: SlotId) -> bool {
        let state = self.table.get(slot);
        let ending = state.and_then(|state| state.ending);
        ending.is_some_and(|ending| ending.next <= self.card.now())
    }

    /// Polls the ports of a finished kernel: its run is over when they are at rest.
    pub(crate) fn settle_run(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.settle(slot)? {
            let now = self.card.now();
            self.slot(slot)?.done = Some(now);
        }
        Ok(())
    }

    pub(crate) fn is_over(
        &mut self,
        handles: &Handles,
        slot: SlotId,
        load: LoadId,
    ) -> Result<bool, Error> {
        let state = self.running(handles, slot, load)?;
        Ok(state.failure.is_some() || state.done.is_some())
    }

    /// The unreported error of a slot's run.
    pub(super) fn unreported_failure(&self, slot: SlotId) -> Option<&Error> {
        let state = self.table.get(slot)?;
        state.failure.as_ref()
    }

    pub(super) fn slot(&mut self, slot: SlotId) -> Result<&mut SlotState, Error> {
        let last = self.table.count() - 1;
        let card = self.card.description().name.clone();
        let state = self.table.get_mut(slot);
        state.ok_or_else(|| card::CardError::NoSuchSlot { slot, card, last }.into())
    }

    pub(super) fn loaded(&mut self, slot: SlotId) -> Result<&mut Loaded, Error> {
        let rule = "has no kernel; load one first";
        self.slot(slot)?.loaded.as_mut().ok_or(Error::SlotState {
            slot,
            rule: rule.into(),
        })
    }

    pub(super) fn manifest(&self, slot: SlotId) -> Option<&Manifest> {
        let state = self.table.get(slot)?;
        Some(&state.loaded.as_ref()?.kernel.manifest)
    }

    /// The first and the last requester of a slot.
    pub(super) fn requesters_of_slot(&self, slot: SlotId) -> (u8, u8) {
        let requesters = self.card.description().ports_per_slot * 2;
        (slot.0 * requesters, slot.0 * requesters + (requesters - 1))
    }

    /// Name of the kernel in a slot, for messages.
    pub(super) fn kernel_name(&mut self, slot: SlotId) -> String {
        self.loaded(slot)
            .map_or_else(|_| "none".into(), |l| l.kernel.manifest.name.clone())
    }

    /// Stores an argument, and writes it if the slot accepts it now.
    pub(crate) fn set_argument(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        let loaded = self.loaded(slot)?;
        for (number, word) in (0..).zip(words) {
            let offset = register_offset(slot, offset, number)?;
            loaded.arguments.insert(offset, *word);
        }
        match loaded.listens() {
            true => self.write_registers(slot, offset, words),
            false => Ok(()),
        }
    }

    /// Writes registers on behalf of a client.
    pub(crate) fn write_raw_registers(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        if !self.loaded(slot)?.listens() {
            let rule =
                "is in reset since its last run failed, and what is written to its registers \
                        would be lost; start it first";
            return Err(Error::SlotState {
                slot,
                rule: rule.into(),
            });
        }
        self.write_registers(slot, offset, words)
    }

    pub(super) fn write_registers(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        self.loaded(slot)?;
        self.posted = true;
        for (number, word) in (0..).zip(words) {
            let offset = register_offset(slot, offset, number)?;
            self.card
                .write_register(register_address(slot, offset), *word)?;
        }
        Ok(())
    }

    /// The value of a register, and whether the ports of the slot are at rest.
    pub(super) fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, Error> {
        self.loaded(slot)?;
        let offset = register_offset(slot, offset, 0)?;
        match self.card.read_kernel(slot, offset) {
            Err(error @ CardError::Bus { .. }) => {
                Err(self.refused(slot, offset, false)?.unwrap_or(error.into()))
            }
            other => Ok(other?),
        }
    }

    /// Reads a register on behalf of a program.
    pub(crate) fn read_raw_register(&mut self, slot: SlotId, offset: u32) -> Result<u32, Error> {
        let word = self.read_kernel(slot, offset)?;
        self.seen_at_work(slot, word.notes)?;
        Ok(word.value)
    }

    /// Prepares a kernel for its start. Returns the addresses that it will access first; [`go`](Self::go) starts it.
    /// `None`: it runs already.
    pub(crate) fn make_ready(&mut self, slot: SlotId) -> Result<Option<Announced>, Error> {
        if self.slot(slot)?.running.is_some() {
            return Err(Error::SlotState {
                slot,
                rule: "is running; wait for it first".into(),
            });
        }
        if self.is_user_managed(slot) {
            return self.begin_anew(slot).map(|()| None);
        }
        let loaded = self.loaded(slot)?;
        let manifest = &loaded.kernel.manifest;
        let interrupt = manifest.has_interrupt();
        let has_control = matches!(
            manifest.control,
            ControlProtocol::ApCtrlHs | ControlProtocol::ApCtrlChain
        );
        if !has_control {
            let rule = "has a kernel without ap_start; drive it through its registers";
            return Err(Error::SlotState {
                slot,
                rule: rule.into(),
            });
        }
        if !loaded.released {
            self.release(slot)?;
        }
        if interrupt {
            self.write_registers(slot, register::GLOBAL_INTERRUPT_ENABLE, &[1, 1])?;
        }
        self.announced(slot).map(Some)
    }

    /// Starts a prepared kernel.
    pub(crate) fn go(&mut self, slot: SlotId) -> Result<(), Error> {
        let since = self.card.now();
        let state = self.slot(slot)?;
        state.running = Some(Running { since });
        (state.done, state.ending) = (None, None);
        state.idle_interrupts = 0;
        state.failure = None;
        state.polled = false;
        self.write_registers(slot, register::CONTROL, &[register::START])
    }

    /// The pages fetched while a kernel starts: those of its pointers.
    fn announced(&mut self, slot: SlotId) -> Result<Announced, Error> {
        let loaded = self.loaded(slot)?;
        let space = loaded.space;
        let word = |offset| loaded.arguments.get(&offset).copied().unwrap_or(0);
        let all = loaded.kernel.manifest.arguments.iter();
        let pointers = all.filter(|argument| argument.port.is_some());
        let addresses = pointers.map(|argument| {
            let high = match argument.bytes {
                8.. => word(argument.offset + 4),
                _ => 0,
            };
            VirtAddr::truncated(u64::from(high) << 32 | u64::from(word(argument.offset)))
        });
        let addresses = addresses.collect();
        Ok(Announced { space, addresses })
    }

    /// Start of a kernel without ap_start: its slot leaves reset if a run failed.
    fn begin_anew(&mut self, slot: SlotId) -> Result<(), Error> {
        let state = self.slot(slot)?;
        (state.failure, state.interrupts) = (None, 0);
        (state.polled, state.ending) = (false, None);
        match self.loaded(slot)?.released {
            true => Ok(()),
            false => self.release(slot),
        }
    }

    /// Takes the error since the last call.
    pub(super) fn take_failure(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        self.loaded(slot)?;
        Ok(self.slot(slot)?.failure.take())
    }

    /// Takes the number of interrupts since the last call.
    pub(super) fn take_interrupts(&mut self, slot: SlotId) -> Result<u32, Error> {
        if !self.is_user_managed(slot) {
            let rule = "has a kernel that says when it is done; wait for that";
            return Err(Error::SlotState {
                slot,
                rule: rule.into(),
            });
        }
        Ok(std::mem::take(&mut self.slot(slot)?.interrupts))
    }

    /// Whether there is an unreported error.
    pub(super) fn has_failed(&mut self, slot: SlotId) -> Result<bool, Error> {
        Ok(self.slot(slot)?.failure.is_some())
    }

    /// Loads a kernel into a slot or, on a card with fixed kernels, checks that the slot holds it.
    pub(crate) fn put(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        match self.card.loader() {
            Some(card) => card.load(slot, kernel),
            None => self.card.description().check_fit(&kernel.manifest),
        }
    }

    /// Takes a slot out of reset, with the arguments set so far.
    pub(super) fn release(&mut self, slot: SlotId) -> Result<(), Error> {
        let loaded = self.loaded(slot)?;
        let space = loaded.space;
        let arguments = loaded.arguments.clone();
        if loaded.gone {
            let kernel = loaded.kernel.clone();
            self.put(slot, &kernel)?;
            self.loaded(slot)?.gone = false;
        }
        self.card.control_slot(slot, space, true)?;
        let since = self.card.now();
        let loaded = self.loaded(slot)?;
        (loaded.released, loaded.since) = (true, since);
        for (offset, word) in arguments {
            self.write_registers(slot, offset, &[word])?;
        }
        Ok(())
    }

    /// Whether the kernel has reported done since the last poll. The run is then over once its ports are at rest.
    pub(super) fn look_for_done(&mut self, slot: SlotId) -> Result<OwnRead<bool>, Error> {
        debug_assert_eq!(
            register::INTERRUPT_ENABLE,
            register::GLOBAL_INTERRUPT_ENABLE + 4
        );
        let control = match self.read_own(slot, register::CONTROL)? {
            OwnRead::Value(control) => control,
            OwnRead::Refused(error) => return Ok(OwnRead::Refused(error)),
            OwnRead::Unanswered => return Ok(OwnRead::Unanswered),
        };
        if control.value & register::DONE == 0 {
            return Ok(OwnRead::Value(false));
        }
        if self.loaded(slot)?.kernel.manifest.control == ControlProtocol::ApCtrlChain {
            self.write_registers(slot, register::CONTROL, &[register::CONTINUE])?;
        }
        if self.ends(slot, control.notes, None)? {
            let now = self.card.now();
            self.slot(slot)?.done = Some(now);
        }
        Ok(OwnRead::Value(true))
    }

    /// Reads a kernel's register for the owner itself.
    fn read_own(&mut self, slot: SlotId, offset: u32) -> Result<OwnRead<KernelWord>, Error> {
        match unless_hung(self.read_kernel(slot, offset)) {
            Ok(Some(word)) => Ok(OwnRead::Value(word)),
            Ok(None) => Ok(OwnRead::Unanswered),
            Err(error @ Error::KernelFailed { .. }) => Ok(OwnRead::Refused(error)),
            Err(error) => Err(error),
        }
    }

    /// Whether an interrupt concerns the owner. One that was in flight when the slot was put in reset is dropped;
    /// those of a kernel with registers of its own are counted for its program.
    pub(super) fn takes_interrupt(&mut self, slot: SlotId) -> Result<bool, Error> {
        if !self.is_released(slot) {
            return Ok(false);
        }
        if self.is_user_managed(slot) {
            let state = self.slot(slot)?;
            state.interrupts = state.interrupts.saturating_add(1);
            return Ok(false);
        }
        Ok(true)
    }

    /// Acknowledges an interrupt in the kernel's register.
    pub(super) fn acknowledge(&mut self, slot: SlotId) -> Result<OwnRead<()>, Error> {
        Ok(match self.read_own(slot, register::INTERRUPT_STATUS)? {
            OwnRead::Value(status) => {
                self.write_registers(slot, register::INTERRUPT_STATUS, &[status.value])?;
                OwnRead::Value(())
            }
            OwnRead::Refused(error) => OwnRead::Refused(error),
            OwnRead::Unanswered => OwnRead::Unanswered,
        })
    }

    /// Counts an interrupt that announced nothing; an error if the run has had too many.
    pub(super) fn count_idle_interrupt(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        let kernel = self.kernel_name(slot);
        let state = self.slot(slot)?;
        state.idle_interrupts += 1;
        let count = state.idle_interrupts;
        Ok((count >= IDLE_INTERRUPTS).then_some(Error::InterruptStorm {
            slot,
            kernel,
            count,
        }))
    }

    /// Whether a slot has a kernel and is out of reset.
    pub(super) fn is_released(&self, slot: SlotId) -> bool {
        let state = self.table.get(slot);
        let loaded = state.and_then(|state| state.loaded.as_ref());
        loaded.is_some_and(|loaded| loaded.released)
    }

    /// Whether the kernel has reported done while its ports were not at rest.
    pub(super) fn is_ending(&mut self, slot: SlotId) -> Result<bool, Error> {
        Ok(self.slot(slot)?.ending.is_some())
    }

    /// Whether the host knows that the run is over.
    pub(super) fn is_done(&mut self, slot: SlotId) -> Result<bool, Error> {
        Ok(self.slot(slot)?.done.is_some())
    }

    /// Whether the kernel of a slot has an interrupt.
    pub(super) fn has_interrupt(&mut self, slot: SlotId) -> Result<bool, Error> {
        Ok(self.loaded(slot)?.kernel.manifest.has_interrupt())
    }

    /// Takes a slot out of reset whose kernel was loaded; the kernel works in `space`.
    pub(super) fn begin_with(
        &mut self,
        slot: SlotId,
        kernel: KernelPackage,
        space: Asid,
    ) -> Result<(), Error> {
        self.card.control_slot(slot, space, true)?;
        self.name_ports(slot, &kernel.manifest);
        let loaded = Loaded {
            kernel,
            space,
            released: true,
            gone: false,
            since: self.card.now(),
            arguments: BTreeMap::new(),
        };
        let state = self.slot(slot)?;
        *state = SlotState {
            loaded: Some(loaded),
            configured: state.configured.take(),
            ..SlotState::default()
        };
        Ok(())
    }

    /// Forgets the kernel of a slot.
    pub(super) fn leave(&mut self, slot: SlotId) -> Result<(), Error> {
        let state = self.slot(slot)?;
        *state = SlotState {
            configured: state.configured.take(),
            ..SlotState::default()
        };
        Ok(())
    }

    /// Puts a slot in reset; returns its space and the requesters to drain. `None` if the slot has no kernel.
    pub(super) fn hold(
        &mut self,
        slot: SlotId,
    ) -> Result<Option<(Asid, RangeInclusive<u8>)>, Error> {
        let state = self.slot(slot)?;
        (state.running, state.ending, state.at_work) = (None, None, false);
        let Some(loaded) = state.loaded.as_mut() else {
            return Ok(None);
        };
        let space = loaded.space;
        loaded.released = false;
        self.card.control_slot(slot, space, false)?;
        let (first_requester, last_requester) = self.requesters_of_slot(slot);
        Ok(Some((space, first_requester..=last_requester)))
    }

    /// Puts a slot in reset because of this error, the first of its run. The run is not over before its client asks.
    pub(super) fn quarantine(&mut self, slot: SlotId, error: Error) -> Result<(), Error> {
        let space = self.loaded(slot)?.space;
        self.card.control_slot(slot, space, false)?;
        self.loaded(slot)?.released = false;
        self.failed(slot, error);
        Ok(())
    }

    /// Counts a finished run, and returns its report.
    fn finished(&mut self, slot: SlotId, kernel: String, time: Picoseconds) -> RunReport {
        let period = self.card.description().clock_period.get().max(1);
        if let Ok(space) = self.loaded(slot).map(|loaded| loaded.space) {
            self.table.ran(space, time);
        }
        RunReport {
            kernel,
            slot: slot.0,
            time,
            cycles: time.get() / period,
        }
    }

    /// Handles a kernel that ended itself (`$finish`, `$fatal`).
    pub(crate) fn kernel_ended(&mut self, slot: SlotId, reason: String) {
        if let Ok(loaded) = self.loaded(slot) {
            loaded.gone = true;
        }
        self.kernel_failed(slot, reason);
    }

    pub(crate) fn kernel_failed(&mut self, slot: SlotId, reason: String) {
        let kernel = self.kernel_name(slot);
        let error = Error::KernelFailed {
            slot,
            kernel,
            reason,
        };
        self.failed(slot, error);
    }

    /// Keeps the first error of a run.
    pub(super) fn failed(&mut self, slot: SlotId, error: Error) {
        if let Ok(state) = self.slot(slot) {
            state.failure.get_or_insert(error);
        }
    }
}

/// Offset of the register that lies `words` words behind another.
fn register_offset(slot: SlotId, offset: u32, words: u32) -> Result<u32, Error> {
    let found = words
        .checked_mul(4)
        .and_then(|more| offset.checked_add(more));
    let rule = "has a register window of 64 KiB; the offset lies outside";
    found
        .filter(|&offset| offset < SLOT_WINDOW_BYTES)
        .ok_or(Error::SlotState {
            slot,
            rule: rule.into(),
        })
}

/// Slot and offset of a register of a kernel.
pub(super) fn slot_register(address: u32) -> Option<(SlotId, u32)> {
    let inside = address.checked_sub(SLOT_WINDOW)?;
    let slot = u8::try_from(inside / SLOT_WINDOW_BYTES).ok()?;
    Some((SlotId(slot), inside % SLOT_WINDOW_BYTES))
}

fn register_address(slot: SlotId, offset: u32) -> u32 {
    SLOT_WINDOW + u32::from(slot.0) * SLOT_WINDOW_BYTES + offset
}

/// The result of the owner's own register access. A kernel that does not answer is no error of the owner; the
/// guard reports it.
fn unless_hung<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::Card(CardError::Bus { .. })) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Name of the kernel's register at an offset, for messages.
fn register_name(manifest: &Manifest, offset: u32) -> String {
    let of_argument = |argument: &&card::kernel::Argument| {
        (argument.offset..argument.offset.saturating_add(argument.bytes)).contains(&offset)
    };
    if let Some(argument) = manifest.arguments.iter().find(of_argument) {
        return format!("argument `{}`", argument.name);
    }
    let name = match offset {
        _ if manifest.control == ControlProtocol::UserManaged => "register",
        0x0 => "control register (ap_start, ap_done)",
        0x4 => "global interrupt enable",
        0x8 => "interrupt enable register",
        0xc => "interrupt status register",
        _ => "register",
    };
    name.to_owned()
}
