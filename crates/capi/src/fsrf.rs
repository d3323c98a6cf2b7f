//! `fsrf.h`: the six calls of figure 3 of FSRF's paper, as printed, for the space that
//! `fsrf_tombolo_attach` names.

use crate::handles::{self, Handle, HandleObject};
use crate::pointers::{text, OutputPointer};
use crate::space;
use crate::status::{entry, Failure, Status};
use libc::{MAP_FIXED, MAP_SHARED, MS_ASYNC, MS_INVALIDATE, MS_SYNC, PROT_READ, PROT_WRITE};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::fs::OpenOptions;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tombolo::{Advice, MapOptions, Unsaved};

/// A file that `fsrf_open` opened.
struct OpenFile {
    file: OwnedFd,
    prot: c_int,
    path: String,
}

/// The card and space that the calls use.
pub struct Attached {
    pub card: Handle,
    pub space: Handle,
    /// Length and handle by address.
    mappings: BTreeMap<u64, (u64, Handle)>,
    pub slots: BTreeMap<u32, Handle>,
}

/// State of this interface, one per process as in the paper.
pub struct FsrfState {
    files: BTreeMap<c_int, OpenFile>,
    attached: Option<Attached>,
}

static STATE: Mutex<FsrfState> = Mutex::new(FsrfState {
    files: BTreeMap::new(),
    attached: None,
});

/// The state; not to be held across a wait for a kernel.
pub fn state() -> MutexGuard<'static, FsrfState> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FsrfState {
    /// The card and space that the calls use.
    pub fn attached(&mut self) -> Result<&mut Attached, Failure> {
        self.attached.as_mut().ok_or_else(|| {
            let rule = "no address space: call fsrf_tombolo_attach first";
            Failure::new(Status::Order, rule)
        })
    }

    /// Attaches a space.
    pub fn attach(&mut self, card: Handle, space: Handle) -> Result<(), Failure> {
        if self.attached.is_some() {
            let rule = "an address space is attached already: call fsrf_tombolo_detach first";
            return Err(Failure::new(Status::Order, rule));
        }
        self.attached = Some(Attached {
            card,
            space,
            mappings: BTreeMap::new(),
            slots: BTreeMap::new(),
        });
        Ok(())
    }

    /// Detaches: ends all mappings and files. Everything is ended; the first failure is returned.
    pub fn detach(&mut self) -> Result<(), Failure> {
        self.attached()?;
        let mut result = Ok(());
        if let Some(attached) = self.attached.take() {
            for (_, handle) in attached.mappings.into_values() {
                result = result.and(handles::close(handle, "mapping"));
            }
            for handle in attached.slots.into_values() {
                result = result.and(handles::close(handle, "slot"));
            }
        }
        self.files.clear();
        result
    }

    fn file(&self, fd: c_int) -> Result<&OpenFile, Failure> {
        self.files.get(&fd).ok_or_else(|| bad_descriptor(fd))
    }
}

impl Attached {
    /// Start addresses of the mappings that a range overlaps.
    fn in_range(&self, address: u64, len: usize) -> Result<Vec<u64>, Failure> {
        if len == 0 {
            return Err(Failure::argument("len is 0"));
        }
        let end = address.saturating_add(len as u64);
        let touched = |start: u64, bytes: u64| start < end && start + bytes > address;
        let all = self.mappings.iter();
        let found = all.filter(|(start, (bytes, _))| touched(**start, *bytes));
        let found: Vec<u64> = found.map(|(start, _)| *start).collect();
        match found.is_empty() {
            true => Err(Failure::argument(format!(
                "nothing is mapped from {address:#x} to {end:#x}"
            ))),
            false => Ok(found),
        }
    }

    /// Ends the mapping that begins there, as far as it lies in a range.
    fn unmap(&mut self, start: u64, range: &Range<u64>) -> Result<(), Failure> {
        let Some(&(bytes, handle)) = self.mappings.get(&start) else {
            return Ok(());
        };
        let from = start.max(range.start);
        let to = (start + bytes).min(range.end);
        if (from, to) == (start, start + bytes) {
            self.mappings.remove(&start);
            return handles::close(handle, "mapping");
        }
        let parts = handles::with_mapping(handle, |mapping| {
            Ok(mapping.unmap_part(from - start, to - from)?)
        })?;
        self.mappings.remove(&start);
        handles::forget(handle);
        for part in parts {
            let (address, bytes) = (part.address().get(), part.bytes());
            let handle = handles::insert(self.space, HandleObject::Mapping(part))?;
            self.mappings.insert(address, (bytes, handle));
        }
        Ok(())
    }

    /// The mapping that contains a range, possibly as a part.
    fn around(&self, address: u64, len: usize) -> Result<Vec<Handle>, Failure> {
        let end = address.saturating_add(len as u64);
        let found: Vec<Handle> = self
            .mappings
            .iter()
            .filter(|(start, (bytes, _))| **start < end && *start + bytes > address)
            .map(|(_, (_, handle))| *handle)
            .collect();
        match found.is_empty() {
            true => Err(Failure::argument(format!(
                "nothing is mapped from {address:#x} to {end:#x}"
            ))),
            false => Ok(found),
        }
    }
}

fn bad_descriptor(fd: c_int) -> Failure {
    let rule = format!("{fd} is no descriptor of fsrf_open, or it was closed");
    Failure::new(Status::Handle, rule)
}

fn check_prot(prot: c_int) -> Result<(), Failure> {
    match prot {
        0 => Err(Failure::argument(
            "prot is 0: use PROT_READ, PROT_WRITE or both",
        )),
        _ if prot & !(PROT_READ | PROT_WRITE) != 0 => Err(Failure::argument(format!(
            "prot is {prot:#x}: only PROT_READ and PROT_WRITE mean something to a kernel"
        ))),
        _ => Ok(()),
    }
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_open(
    fd: *mut c_int,
    path: *mut c_char,
    prot: c_int,
    mode: c_int,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(fd, "fd")?;
        // SAFETY: null or a string, as the header asks.
        let path = unsafe { text(path, "path") }?;
        check_prot(prot)?;
        let writes = prot & PROT_WRITE != 0;
        let bits = match u32::try_from(mode) {
            Ok(bits) if bits <= 0o7777 => bits,
            _ => {
                return Err(Failure::argument(format!(
                    "mode {mode:#o}: permission bits, or 0"
                )))
            }
        };
        if bits != 0 && !writes {
            let rule = "mode makes the file if it is missing, so it needs PROT_WRITE";
            return Err(Failure::argument(rule));
        }
        // Opened for reading too: bytes of a page that the kernel does not write come from the file.
        let opened = OpenOptions::new()
            .read(true)
            .write(writes)
            .create(bits != 0)
            .truncate(false)
            .mode(bits)
            .open(path)
            .map_err(|error| Failure::file(path, "opening it", &error))?;
        let file = OwnedFd::from(opened);
        let number = file.as_raw_fd();
        let path = path.to_owned();
        state().files.insert(number, OpenFile { file, prot, path });
        // SAFETY: the caller's place for a number.
        unsafe { answer.give(number) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn fsrf_close(fd: c_int) -> c_int {
    entry(|| match state().files.remove(&fd) {
        Some(_) => Ok(()),
        None => Err(bad_descriptor(fd)),
    })
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_mmap(
    addr: *mut *mut c_void,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: usize,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(addr, "addr")?;
        check_prot(prot)?;
        if len == 0 {
            return Err(Failure::argument("len is 0"));
        }
        if flags & !MAP_FIXED != MAP_SHARED {
            return Err(Failure::new(
                Status::Unsupported,
                format!("flags are {flags:#x}: use MAP_SHARED, or MAP_SHARED | MAP_FIXED"),
            ));
        }
        let mut state = state();
        let file = state.file(fd)?;
        if prot & PROT_WRITE != 0 && file.prot & PROT_WRITE == 0 {
            let denied = std::io::Error::from_raw_os_error(libc::EACCES);
            return Err(Failure::file(
                &file.path,
                "mapping it writable, which was opened without PROT_WRITE",
                &denied,
            ));
        }
        let mut options = match prot & PROT_WRITE {
            0 => MapOptions::read_only(),
            _ => MapOptions::read_write(),
        };
        options = options.offset(offset as u64).bytes(len as u64);
        if flags & MAP_FIXED != 0 {
            // SAFETY: not null, and with MAP_FIXED the header asks for an address in it.
            let fixed = unsafe { addr.read() };
            options = options.address(space::address(fixed as u64)?);
        }
        // The same file, even if its name was removed or reused meanwhile.
        let again = format!("/proc/self/fd/{}", file.file.as_raw_fd());
        let opened = OpenOptions::new()
            .read(true)
            .write(prot & PROT_WRITE != 0)
            .open(again)
            .map_err(|error| Failure::file(&file.path, "opening it for the mapping", &error))?;
        let name = file.path.clone();
        let attached = state.attached()?;
        let mapped = handles::with_space(attached.space, |space| {
            Ok(space.map_open_file(opened, Path::new(&name), options)?)
        })?;
        let (address, bytes) = (mapped.address().get(), mapped.bytes());
        let handle = handles::insert(attached.space, HandleObject::Mapping(mapped))?;
        attached.mappings.insert(address, (bytes, handle));
        // SAFETY: the caller's place for an address.
        unsafe { answer.give(address as *mut c_void) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn fsrf_munmap(addr: *mut c_void, len: usize) -> c_int {
    entry(|| {
        let mut state = state();
        let attached = state.attached()?;
        let mut result = Ok(());
        let address = addr as u64;
        let range = address..address.saturating_add(len as u64);
        for start in attached.in_range(address, len)? {
            result = result.and(attached.unmap(start, &range));
        }
        result
    })
}

#[no_mangle]
pub extern "C" fn fsrf_msync(addr: *mut c_void, len: usize, flags: c_int) -> c_int {
    entry(|| {
        let to_host = flags & !MS_INVALIDATE;
        if flags == 0 || ![0, MS_SYNC, MS_ASYNC].contains(&to_host) {
            let rule =
                format!("flags are {flags:#x}: use MS_SYNC or MS_ASYNC, MS_INVALIDATE, or both");
            return Err(Failure::argument(rule));
        }
        let found = state().attached()?.around(addr as u64, len)?;
        for handle in found {
            handles::with_mapping(handle, |mapping| {
                if to_host != 0 {
                    mapping.sync()?;
                }
                match flags & MS_INVALIDATE {
                    0 => Ok(()),
                    _ => Ok(mapping.refresh(Unsaved::Save)?),
                }
            })?;
        }
        Ok(())
    })
}

/// The four bits of figure 3.
const ADVICE: c_int = 1 | 2 | 4 | 8;

#[no_mangle]
pub extern "C" fn fsrf_madvise(addr: *mut c_void, len: usize, advice: c_int) -> c_int {
    entry(|| {
        if advice & !ADVICE != 0 {
            return Err(Failure::argument(format!(
                "advice is {advice:#x}: use FSRF_ADV_STREAM, _RANDOM, _REUSE and _LOWUSE"
            )));
        }
        if advice & 3 == 3 || advice & 12 == 12 {
            return Err(Failure::argument(format!(
                "advice is {advice:#x}: STREAM and RANDOM, and REUSE and LOWUSE, exclude each other"
            )));
        }
        let named = [
            (1, Advice::STREAM),
            (2, Advice::RANDOM),
            (4, Advice::REUSE),
            (8, Advice::LOW_USE),
        ];
        let said = named.into_iter().filter(|(bit, _)| advice & bit != 0);
        let advice = said.fold(Advice::default(), |all, (_, next)| all.then(next));
        let (start, end) = (addr as u64, (addr as u64).saturating_add(len as u64));
        let found = state().attached()?.around(start, len)?;
        for handle in found {
            handles::with_mapping(handle, |mapping| {
                let first = mapping.address().get();
                let from = start.max(first) - first;
                let to = end.min(first + mapping.bytes()) - first;
                match to > from {
                    true => Ok(mapping.advise_range(from, to - from, advice)?),
                    false => Ok(()),
                }
            })?;
        }
        Ok(())
    })
}
