//! An application of the card: a slot with a kernel, and an address space of its own.
//!
//! It belongs to the process that uses it first, until that process's last connection ends; then both are created anew,
//! so that the next process finds no register value and no mapping of the previous one.

use crate::files::{FileError, OpenFile};
use crate::message::{Map, Range};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    AddressSpace, Card, Error, MapOptions, Mapping, Picoseconds, Registers, Slot, SlotId, Unsaved,
    VirtAddr,
};

/// Maximum virtual time per register read while a kernel with `ap_start` runs.
const LOOK: Picoseconds = Picoseconds::from_micros(100);
/// Polling delay in virtual time, before an unchanged register is returned to a program that reads it repeatedly: 4 µs,
/// doubled each time, 8 ms in total. Programs take an unchanged register for the end of the work, while a page may be
/// in transfer from storage.
const FIRST_PAUSE: Picoseconds = Picoseconds::from_micros(4);
const PAUSES: u32 = 11;
/// Size of a slot's register window in bytes.
const WINDOW: u64 = 0x1_0000;
/// Maximum mappings of an application.
const MOST_MAPPINGS: usize = 4096;

/// Constants of `<sys/mman.h>`.
mod mman {
    pub(super) const PROT_READ: i32 = 1;
    pub(super) const PROT_WRITE: i32 = 2;
    pub(super) const PROT_EXEC: i32 = 4;
    pub(super) const MAP_PRIVATE: i32 = 2;
    pub(super) const MAP_FIXED: i32 = 0x10;
    pub(super) const MAP_ANONYMOUS: i32 = 0x20;
    pub(super) const MAP_POPULATE: i32 = 0x8000;
    pub(super) const MS_INVALIDATE: i32 = 2;
}

/// The kernel of an application.
#[derive(Clone, Debug)]
pub struct AppOptions {
    /// The number by which programs select it.
    pub number: u64,
    /// The kernel's folder.
    pub folder: PathBuf,
}

/// A request that cannot be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AppError {
    #[error("process {0} uses it; wait until it has ended, or start on another application")]
    Taken(u32),
    #[error("register {0:#x}: offsets are multiples of 4 below {WINDOW:#x}")]
    Register(u64),
    #[error("mmap: {0}")]
    Map(&'static str),
    #[error("mmap: it has {MOST_MAPPINGS} mappings already")]
    TooMany,
    #[error("nothing is mapped in {bytes} bytes from {address:#x} on")]
    Nothing { address: u64, bytes: u64 },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Card(#[from] Error),
}

impl AppError {
    /// The daemon is ending.
    pub(crate) fn is_interrupted(&self) -> bool {
        matches!(self, Self::Card(Error::Interrupted))
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct App {
    slot: SlotId,
    folder: PathBuf,
    card: Card,
    /// Makes waiting calls return.
    ending: Arc<AtomicBool>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    holder: Option<Holder>,
    ready: Option<Ready>,
}

/// A process, and the number of its connections that use the application.
#[derive(Clone, Copy, Debug)]
struct Holder {
    process: u32,
    connections: usize,
}

/// Resources of a process. They are dropped in the order of the fields.
#[derive(Debug)]
struct Ready {
    registers: Registers,
    mappings: BTreeMap<u64, Mapped>,
    /// The register read last, and its value.
    last: Option<(u32, u64)>,
    slot: Arc<Slot>,
    space: AddressSpace,
    client: Card,
}

#[derive(Debug)]
struct Mapped {
    mapping: Mapping,
    file: Arc<OpenFile>,
}

impl App {
    pub(crate) fn new(
        card: &Card,
        slot: SlotId,
        options: AppOptions,
        ending: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let app = Self {
            slot,
            folder: options.folder,
            card: card.clone(),
            ending,
            state: Mutex::default(),
        };
        app.state().ready = Some(app.prepare()?);
        Ok(app)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a client, a space and the kernel.
    fn prepare(&self) -> Result<Ready, Error> {
        let client = self.card.client();
        let space = client.create_space()?;
        let ready = Ready::load(client, space, self.slot, &self.folder)?;
        ready.watch(&self.ending);
        Ok(ready)
    }

    /// Adds a connection of a process.
    pub(crate) fn take(&self, process: u32) -> Result<(), AppError> {
        let mut state = self.state();
        match &mut state.holder {
            Some(holder) if holder.process == process => {
                holder.connections += 1;
                return Ok(());
            }
            Some(holder) => return Err(AppError::Taken(holder.process)),
            None => {}
        }
        if state.ready.is_none() {
            state.ready = Some(self.prepare()?);
        }
        state.holder = Some(Holder {
            process,
            connections: 1,
        });
        Ok(())
    }

    /// Removes a connection. With the last one of its process, all its resources are released.
    pub(crate) fn release(&self) -> Result<(), Error> {
        let mut state = self.state();
        let Some(holder) = &mut state.holder else {
            return Ok(());
        };
        holder.connections -= 1;
        if holder.connections > 0 {
            return Ok(());
        }
        state.holder = None;
        let Some(ready) = state.ready.take() else {
            return Ok(());
        };
        if self.ending.load(Ordering::Acquire) {
            return ready.end();
        }
        let (ready, lost) = ready.renewed(self.slot, &self.folder)?;
        ready.watch(&self.ending);
        state.ready = Some(ready);
        lost.map_or(Ok(()), Err)
    }

    fn with<T>(&self, work: impl FnOnce(&mut Ready) -> Result<T, AppError>) -> Result<T, AppError> {
        let mut state = self.state();
        let gone = || {
            let rule = "its kernel could not be loaded anew after the last process";
            Error::Internal(rule.to_owned())
        };
        work(state.ready.as_mut().ok_or_else(gone)?)
    }

    pub(crate) fn read(&self, register: u64) -> Result<u64, AppError> {
        let offset = offset(register)?;
        self.with(|ready| Ok(ready.read(offset)?))
    }

    pub(crate) fn write(&self, register: u64, value: u64) -> Result<(), AppError> {
        let offset = offset(register)?;
        self.with(|ready| {
            ready.last = None;
            ready.registers.write(offset, value as u32)?;
            Ok(ready.registers.write(offset + 4, (value >> 32) as u32)?)
        })
    }

    pub(crate) fn map(&self, file: &Arc<OpenFile>, asked: Map) -> Result<u64, AppError> {
        let options = options(asked)?;
        self.with(|ready| {
            if ready.mappings.len() >= MOST_MAPPINGS {
                return Err(AppError::TooMany);
            }
            let own = file.file.try_clone().map_err(|source| FileError::Reopen {
                path: file.path.clone(),
                source,
            })?;
            let mapping = ready.space.map_open_file(own, &file.path, options)?;
            if asked.flags & mman::MAP_POPULATE != 0 {
                mapping.prefetch()?;
            }
            let address = mapping.address().get();
            let file = file.clone();
            ready.mappings.insert(address, Mapped { mapping, file });
            Ok(address)
        })
    }

    /// Writes back and unmaps a range, continuing after failures; returns the first failure.
    pub(crate) fn unmap(&self, range: Range) -> Result<(), AppError> {
        self.with(|ready| {
            let mut result = Ok(());
            for start in ready.touched(range)? {
                result = result.and(ready.unmap(start, range));
            }
            result
        })
    }

    /// Writes back a range; with `MS_INVALIDATE` it is read from its file again.
    pub(crate) fn sync(&self, range: Range, flags: i32) -> Result<(), AppError> {
        self.with(|ready| {
            let mut result = Ok(());
            for start in ready.touched(range)? {
                let Some(mapped) = ready.mappings.get(&start) else {
                    continue;
                };
                let done = match flags & mman::MS_INVALIDATE {
                    0 => mapped.mapping.sync(),
                    _ => mapped.mapping.refresh(Unsaved::Save),
                };
                result = result.and(done.inspect_err(|_| mapped.file.lose()));
            }
            Ok(result?)
        })
    }
}

impl Ready {
    /// Loads the kernel into its slot anew.
    fn load(client: Card, space: AddressSpace, slot: SlotId, folder: &Path) -> Result<Self, Error> {
        let slot = Arc::new(client.load(slot, folder, &space)?);
        Ok(Self {
            registers: Registers::new(slot.clone(), LOOK),
            mappings: BTreeMap::new(),
            last: None,
            slot,
            space,
            client,
        })
    }

    /// Makes waiting calls return when the daemon ends.
    fn watch(&self, ending: &Arc<AtomicBool>) {
        let ending = ending.clone();
        self.client
            .interrupt_when(move || ending.load(Ordering::Acquire));
    }

    /// Reads a 64-bit register as two halves.
    fn once(&self, offset: u32) -> Result<u64, Error> {
        let low = u64::from(self.registers.read(offset)?);
        let high = u64::from(self.registers.read(offset + 4)?);
        Ok(high << 32 | low)
    }

    fn read(&mut self, offset: u32) -> Result<u64, Error> {
        let mut found = self.once(offset)?;
        let is_same = |found| self.last == Some((offset, found));
        // While a kernel with ap_start runs, reading advances time.
        if !self.registers.is_started_by_slot() {
            let mut pause = FIRST_PAUSE;
            for _ in 0..PAUSES {
                if !is_same(found) {
                    break;
                }
                match self.slot.wait_interrupt(Some(pause)) {
                    Ok(_) | Err(Error::Deadline { .. }) => {}
                    // It cannot be waited for: each read takes its own time.
                    Err(Error::SlotState { .. }) => {}
                    Err(error) => return Err(error),
                }
                found = self.once(offset)?;
                pause = pause + pause;
            }
        }
        self.last = Some((offset, found));
        Ok(found)
    }

    /// Start addresses of the mappings that a range overlaps.
    fn touched(&self, range: Range) -> Result<Vec<u64>, AppError> {
        let Range { address, bytes, .. } = range;
        let end = address.saturating_add(bytes);
        let mappings = self.mappings.iter();
        let found = mappings
            .filter(|(start, mapped)| **start < end && **start + mapped.mapping.bytes() > address);
        let found: Vec<u64> = found.map(|(start, _)| *start).collect();
        match found.is_empty() {
            true => Err(AppError::Nothing { address, bytes }),
            false => Ok(found),
        }
    }

    fn unmap(&mut self, start: u64, range: Range) -> Result<(), AppError> {
        let Some(mapped) = self.mappings.remove(&start) else {
            return Ok(());
        };
        let Mapped { mapping, file } = mapped;
        let end = start + mapping.bytes();
        let (from, to) = (
            start.max(range.address),
            end.min(range.address.saturating_add(range.bytes)),
        );
        if (from, to) == (start, end) {
            return Ok(mapping.unmap().inspect_err(|_| file.lose())?);
        }
        match mapping.unmap_part(from - start, to - from) {
            Ok(parts) => {
                for mapping in parts {
                    let file = file.clone();
                    let address = mapping.address().get();
                    self.mappings.insert(address, Mapped { mapping, file });
                }
                Ok(())
            }
            Err(error) => {
                file.lose();
                self.mappings.insert(start, Mapped { mapping, file });
                Err(error.into())
            }
        }
    }

    /// Stops the kernel, writes back, ends all mappings. Returns the first failure.
    fn clear(self) -> (Card, AddressSpace, Result<(), Error>) {
        // Write-backs are completed also when the daemon ends.
        self.client.interrupt_when(|| false);
        drop(self.registers);
        let mut result = Ok(());
        for mapped in self.mappings.into_values() {
            result = result.and(mapped.mapping.unmap());
        }
        (self.client, self.space, result)
    }

    /// The application without the state of its last process, and the failure at that process's end, if any. Its slot
    /// always holds a kernel, so no other client can take it.
    fn renewed(self, slot: SlotId, folder: &Path) -> Result<(Self, Option<Error>), Error> {
        let (client, space, result) = self.clear();
        let ready = Self::load(client, space, slot, folder)?;
        Ok((ready, result.err()))
    }

    fn end(self) -> Result<(), Error> {
        let (client, space, result) = self.clear();
        drop(space);
        result.and(client.close())
    }
}

fn offset(register: u64) -> Result<u32, AppError> {
    match u32::try_from(register) {
        Ok(offset) if register % 4 == 0 && register + 8 <= WINDOW => Ok(offset),
        _ => Err(AppError::Register(register)),
    }
}

/// Converts the arguments of mmap to mapping options.
fn options(asked: Map) -> Result<MapOptions, AppError> {
    let Map {
        protection, flags, ..
    } = asked;
    let refuse = |rule| Err(AppError::Map(rule));
    let known = mman::PROT_READ | mman::PROT_WRITE | mman::PROT_EXEC;
    if protection & !known != 0 {
        return refuse("protections are PROT_READ and PROT_WRITE");
    }
    let writes = protection & mman::PROT_WRITE != 0;
    if protection & (mman::PROT_READ | mman::PROT_WRITE) == 0 {
        return refuse("a kernel could neither read nor write it: PROT_READ, PROT_WRITE or both");
    }
    if flags & mman::MAP_ANONYMOUS != 0 {
        return refuse("MAP_ANONYMOUS: there is no memory but files");
    }
    if writes && flags & mman::MAP_PRIVATE != 0 {
        return refuse(
            "MAP_PRIVATE: what a kernel writes is written to the file; map it MAP_SHARED",
        );
    }
    if asked.bytes == 0 {
        return refuse("a length of 0");
    }
    if asked.offset % 4096 != 0 {
        return refuse("the offset is no multiple of 4096");
    }
    let options = match writes {
        true => MapOptions::read_write(),
        false => MapOptions::read_only(),
    };
    let options = options.offset(asked.offset).bytes(asked.bytes);
    if flags & mman::MAP_FIXED == 0 {
        return Ok(options);
    }
    let fixed = VirtAddr::new(asked.address);
    let fixed = fixed.ok_or(AppError::Map("MAP_FIXED: addresses have 48 bits"))?;
    Ok(options.address(fixed))
}
