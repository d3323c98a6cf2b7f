//! Buffers: card memory with a copy in the host; the two may differ until the program synchronises them.

use crate::design::MemoryType;
use crate::device::Device;
use crate::error::XrtError;
use crate::session::Session;
use std::sync::{Arc, Weak};
use tombolo::{SharedMemory, TrapWay};

/// Flags of `xrt::bo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferFlags(pub u32);

impl BufferFlags {
    /// Separate host copy, moved by [`Buffer::sync`].
    pub const NORMAL: Self = Self(0);
    /// No host copy.
    pub const DEVICE_ONLY: Self = Self(1 << 28);
    /// In host memory, which kernels access over PCIe; the only copy.
    pub const HOST_ONLY: Self = Self(1 << 29);
    /// On the card and mapped into the program, which may pass it to system calls; the only copy.
    pub const P2P: Self = Self(1 << 30);
    /// Cacheable, carve-out, SVM: accepted as hints, without effect.
    const HINTS: u32 = 1 << 24 | 1 << 25 | 1 << 27;

    fn kind(self) -> Result<BufferKind, XrtError> {
        match Self(self.0 & !Self::HINTS) {
            Self::NORMAL => Ok(BufferKind::Normal),
            Self::DEVICE_ONLY => Ok(BufferKind::DeviceOnly),
            Self::HOST_ONLY => Ok(BufferKind::HostOnly),
            Self::P2P => Ok(BufferKind::P2p),
            _ => Err(XrtError::Flags {
                flags: self.0,
                rule: "give one of normal, device_only, host_only and p2p",
            }),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BufferKind {
    Normal,
    DeviceOnly,
    HostOnly,
    P2p,
}

/// Direction of [`Buffer::sync`]; values of `xclBOSyncDirection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Host copy to card.
    ToDevice,
    /// Card to host copy.
    FromDevice,
}

/// A buffer or a sub-buffer. Clones refer to the same buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    inner: Arc<BufferInner>,
    offset: usize,
    bytes: usize,
}

#[derive(Debug)]
struct BufferInner {
    kind: BufferKind,
    flags: BufferFlags,
    group: u32,
    /// The host copy, if it is separate from the card's memory.
    host: Option<HostCopy>,
    /// The card's memory. Its address in this process is the address that kernels use.
    card: SharedMemory,
    session: Arc<Session>,
}

/// A buffer that may be closed.
#[derive(Debug)]
pub(crate) struct WeakBuffer {
    inner: Weak<BufferInner>,
    offset: usize,
    bytes: usize,
}

impl WeakBuffer {
    pub(crate) fn upgrade(&self) -> Option<Buffer> {
        let inner = self.inner.upgrade()?;
        let (offset, bytes) = (self.offset, self.bytes);
        Some(Buffer {
            inner,
            offset,
            bytes,
        })
    }
}

/// Size in bytes of the pages of buffers that are mapped into the program and passed to system calls, at most: each 4 KiB
/// of a page that moves has a cost there.
const P2P_PAGE: usize = 64 << 10;
/// Alignment of a host copy in bytes, whether allocated here or by the user.
const PAGE: usize = 4096;

#[derive(Debug)]
struct HostCopy {
    start: *mut u8,
    /// Bytes mapped for it; 0 for user memory, which is not freed here.
    mapped: usize,
}

// SAFETY: plain memory, accessed by copies only; as the interface specifies, the program synchronises concurrent
// accesses.
unsafe impl Send for HostCopy {}
// SAFETY: as above.
unsafe impl Sync for HostCopy {}

impl Drop for HostCopy {
    fn drop(&mut self) {
        if self.mapped > 0 {
            // SAFETY: mapped by `HostCopy::new`; no other reference is left.
            unsafe { libc::munmap(self.start.cast(), self.mapped) };
        }
    }
}

impl HostCopy {
    /// Maps zeroed pages, which are allocated on first touch.
    fn new(bytes: usize) -> Result<Self, XrtError> {
        // SAFETY: new private memory anywhere.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(XrtError::BufferSize {
                bytes,
                rule: "the host has no memory for it".to_owned(),
            });
        }
        let start = start.cast();
        let mapped = bytes;
        Ok(Self { start, mapped })
    }
}

impl Buffer {
    /// Allocates a zeroed buffer of `bytes` bytes in a memory group, on the card and in the host.
    ///
    /// # Errors
    /// [`XrtError::BufferSize`], [`XrtError::NoSuchGroup`], [`XrtError::Flags`]; no xclbin is loaded.
    pub fn new(
        device: &Device,
        bytes: usize,
        flags: BufferFlags,
        group: u32,
    ) -> Result<Self, XrtError> {
        Self::in_session(device.session("bo")?, bytes, flags, group, None)
    }

    /// Creates a buffer whose host copy is memory of the program.
    ///
    /// # Safety
    /// The memory holds `bytes` bytes and stays valid until the last clone of this buffer is dropped.
    ///
    /// # Errors
    /// As [`new`](Self::new); [`XrtError::UserPointer`].
    pub unsafe fn over(
        device: &Device,
        pointer: *mut u8,
        bytes: usize,
        flags: BufferFlags,
        group: u32,
    ) -> Result<Self, XrtError> {
        if pointer.is_null() || pointer as usize % PAGE != 0 {
            return Err(XrtError::UserPointer {
                pointer: pointer as usize,
            });
        }
        if flags.kind()? != BufferKind::Normal {
            return Err(XrtError::Flags {
                flags: flags.0,
                rule: "a user pointer is the host's copy of a normal buffer",
            });
        }
        let host = HostCopy {
            start: pointer,
            mapped: 0,
        };
        Self::in_session(device.session("bo")?, bytes, flags, group, Some(host))
    }

    fn in_session(
        session: Arc<Session>,
        bytes: usize,
        flags: BufferFlags,
        group: u32,
        host: Option<HostCopy>,
    ) -> Result<Self, XrtError> {
        if bytes == 0 {
            return Err(XrtError::BufferSize {
                bytes,
                rule: "a buffer has at least one byte".to_owned(),
            });
        }
        let kind = flags.kind()?;
        let memories = &session.design().memories;
        let Some(memory) = memories.get(group as usize) else {
            let count = memories.len();
            return Err(XrtError::NoSuchGroup {
                group,
                rule: format!("the xclbin has {count} groups, from 0 on"),
            });
        };
        if bytes as u64 > memory.bytes {
            return Err(XrtError::BufferSize {
                bytes,
                rule: format!("{} has {} bytes", memory.tag, memory.bytes),
            });
        }
        let in_host = kind == BufferKind::HostOnly || memory.kind == MemoryType::Host;
        if in_host && host.is_some() {
            return Err(XrtError::Flags {
                flags: flags.0,
                rule:
                    "memory of the program is not shared with kernels in place; use a bo of its own",
            });
        }
        let space = session.space();
        let page = space.page_for(bytes)?;
        let card = match kind {
            _ if in_host && session.has_host_memory() => space.alloc_direct(bytes, page)?,
            // Programs give it to system calls: that is its purpose.
            BufferKind::P2p => {
                let page = space.page_for(bytes.min(P2P_PAGE))?;
                space.alloc_with_traps(bytes, page, TrapWay::Userfault)?
            }
            // Only the program and copies reach it: `set_buffer` refuses it.
            BufferKind::HostOnly => space.alloc_with_pages(bytes, page)?,
            _ => space.alloc_untrapped(bytes, page)?,
        };
        let kind = match in_host {
            true => BufferKind::HostOnly,
            false => kind,
        };
        let host = match (kind, host) {
            (BufferKind::Normal, None) => Some(HostCopy::new(bytes)?),
            (BufferKind::Normal, host) => host,
            _ => None,
        };
        let inner = Arc::new(BufferInner {
            kind,
            flags,
            group,
            host,
            card,
            session,
        });
        Ok(Self {
            inner,
            offset: 0,
            bytes,
        })
    }

    /// A sub-buffer, which shares both copies with this buffer.
    ///
    /// # Errors
    /// [`XrtError::BufferRange`].
    pub fn part(&self, bytes: usize, offset: usize) -> Result<Self, XrtError> {
        self.check("sub-buffer", bytes, offset)?;
        Ok(Self {
            inner: self.inner.clone(),
            offset: self.offset + offset,
            bytes,
        })
    }

    pub(crate) fn downgrade(&self) -> WeakBuffer {
        WeakBuffer {
            inner: Arc::downgrade(&self.inner),
            offset: self.offset,
            bytes: self.bytes,
        }
    }

    /// Copies the card's bytes to a new buffer in another memory group.
    pub(crate) fn copied_to(&self, group: u32) -> Result<Self, XrtError> {
        let (session, flags) = (self.inner.session.clone(), BufferFlags::DEVICE_ONLY);
        let other = Self::in_session(session, self.bytes, flags, group, None)?;
        other.copy(self, self.bytes, 0, 0)?;
        Ok(other)
    }

    fn check(&self, call: &'static str, bytes: usize, offset: usize) -> Result<(), XrtError> {
        let inside = offset
            .checked_add(bytes)
            .is_some_and(|end| end <= self.bytes);
        if inside && bytes > 0 {
            return Ok(());
        }
        Err(XrtError::BufferRange {
            call,
            offset,
            bytes,
            size: self.bytes,
        })
    }

    pub(crate) fn is_of(&self, session: &Arc<Session>) -> bool {
        Arc::ptr_eq(&self.inner.session, session)
    }

    /// Whether it is host memory on a card whose kernels have no way to host memory.
    pub(crate) fn is_out_of_reach(&self) -> bool {
        self.inner.kind == BufferKind::HostOnly && !self.inner.session.has_host_memory()
    }

    /// Whether both refer to the same bytes.
    pub fn is(&self, other: &Self) -> bool {
        let (own, its) = ((self.offset, self.bytes), (other.offset, other.bytes));
        Arc::ptr_eq(&self.inner, &other.inner) && own == its
    }

    /// Size in bytes.
    #[allow(clippy::len_without_is_empty, reason = "none is empty")]
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Its memory group.
    pub fn group(&self) -> u32 {
        self.inner.group
    }

    /// The flags that it was created with.
    pub fn flags(&self) -> BufferFlags {
        self.inner.flags
    }

    /// Address of the first byte, as kernels use it.
    pub fn address(&self) -> u64 {
        self.inner.card.address().get() + self.offset as u64
    }

    /// Address of the host copy, for the program.
    ///
    /// # Errors
    /// [`XrtError::NoHostCopy`].
    pub fn map(&self) -> Result<*mut u8, XrtError> {
        let start = match (&self.inner.host, self.inner.kind) {
            (Some(host), _) => host.start,
            (None, BufferKind::HostOnly | BufferKind::P2p) => self.inner.card.as_ptr(),
            (None, _) => return Err(XrtError::NoHostCopy),
        };
        Ok(start.wrapping_add(self.offset))
    }

    /// Makes the card's bytes from `offset` on readable by the program, and writable if `write` is set.
    fn card_bytes(&self, offset: usize, bytes: usize, write: bool) -> Result<*mut u8, XrtError> {
        let at = self.offset + offset;
        // Buffers of the other kinds never move to the card, or a trap brings them back.
        if matches!(self.inner.kind, BufferKind::Normal | BufferKind::DeviceOnly) {
            self.inner.card.take(at as u64, bytes as u64, write)?;
        }
        Ok(self.inner.card.as_ptr().wrapping_add(at))
    }

    /// Copies `bytes` bytes from `offset` on between host copy and card, and returns when the copy is complete. Data
    /// for the card is also moved there, as far as its memory has room, so that kernels do not stall on it. Buffers
    /// with only one copy need no action.
    ///
    /// # Errors
    /// [`XrtError::BufferRange`]; the card is broken.
    pub fn sync(&self, direction: Direction, bytes: usize, offset: usize) -> Result<(), XrtError> {
        self.check("sync", bytes, offset)?;
        let Some(host) = &self.inner.host else {
            return Ok(());
        };
        let host = host.start.wrapping_add(self.offset + offset);
        let card = self.card_bytes(offset, bytes, direction == Direction::ToDevice)?;
        let (from, to) = match direction {
            Direction::ToDevice => (host.cast_const(), card),
            Direction::FromDevice => (card.cast_const(), host),
        };
        // SAFETY: both hold `bytes` bytes from there on, as checked; they are separate memory, so they do not overlap;
        // the card's range was taken for this copy.
        unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
        if direction == Direction::ToDevice {
            self.inner.card.prefetch()?;
        }
        Ok(())
    }

    /// Copies program memory to the host copy, or to the card if there is none.
    ///
    /// # Safety
    /// `source` has `bytes` readable bytes, outside this buffer.
    ///
    /// # Errors
    /// [`XrtError::BufferRange`]; the card is broken.
    pub unsafe fn write(
        &self,
        source: *const u8,
        bytes: usize,
        seek: usize,
    ) -> Result<(), XrtError> {
        self.check("write", bytes, seek)?;
        let to = match self.inner.kind {
            BufferKind::DeviceOnly => self.card_bytes(seek, bytes, true)?,
            _ => self.map()?.wrapping_add(seek),
        };
        // SAFETY: the caller guarantees `bytes` bytes at `source`; this buffer has as many, as checked.
        unsafe { std::ptr::copy(source, to, bytes) };
        Ok(())
    }

    /// Copies from the host copy, or from the card if there is none, to program memory.
    ///
    /// # Safety
    /// `target` has `bytes` writable bytes, outside this buffer.
    ///
    /// # Errors
    /// [`XrtError::BufferRange`]; the card is broken.
    pub unsafe fn read(&self, target: *mut u8, bytes: usize, skip: usize) -> Result<(), XrtError> {
        self.check("read", bytes, skip)?;
        let from = match self.inner.kind {
            BufferKind::DeviceOnly => self.card_bytes(skip, bytes, false)?,
            _ => self.map()?.wrapping_add(skip),
        };
        // SAFETY: the caller guarantees `bytes` bytes at `target`; this buffer has as many, as checked.
        unsafe { std::ptr::copy(from, target, bytes) };
        Ok(())
    }

    /// As [`write`](Self::write), from a slice.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_bytes(&self, source: &[u8], seek: usize) -> Result<(), XrtError> {
        // SAFETY: the slice has `source.len()` bytes; memory that kernels write is never in a shared slice.
        unsafe { self.write(source.as_ptr(), source.len(), seek) }
    }

    /// As [`read`](Self::read), into a slice.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_bytes(&self, target: &mut [u8], skip: usize) -> Result<(), XrtError> {
        // SAFETY: the slice has `target.len()` bytes, borrowed exclusively.
        unsafe { self.read(target.as_mut_ptr(), target.len(), skip) }
    }

    /// Copies bytes from another buffer to this one, on the card; host copies are unchanged.
    ///
    /// # Errors
    /// [`XrtError::BufferRange`], also for 0 bytes; [`XrtError::OtherDevice`].
    pub fn copy(
        &self,
        source: &Self,
        bytes: usize,
        source_offset: usize,
        offset: usize,
    ) -> Result<(), XrtError> {
        self.check("copy", bytes, offset)?;
        source.check("copy", bytes, source_offset)?;
        let from = source.card_bytes(source_offset, bytes, false)?;
        let to = self.card_bytes(offset, bytes, true)?;
        // SAFETY: both ranges hold `bytes` bytes, as checked, and were taken; they may overlap.
        unsafe { std::ptr::copy(from, to, bytes) };
        Ok(())
    }
}
