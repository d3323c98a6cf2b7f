//! The client, which reads and writes through a staging buffer: after a failed operation, a peer or a network card may
//! still write to the operation's memory, which therefore must not be the caller's. The caller's memory is used
//! directly only if no agent but this process writes it, and only while it polls the library: with the provider `tcp`,
//! whose closed endpoint performs no further accesses.

use super::{lacks, sys, Endpoint, FabricError, Region};
use std::ffi::c_void;
use std::net::IpAddr;
use std::ops::Range;
use std::ptr::null_mut;

/// Maximum bytes of an operation.
const PIECE: usize = 128 << 10;
/// Maximum outstanding operations.
const DEPTH: usize = 16;
/// Maximum outstanding operations through the staging buffer, which then stays in the processor's cache.
const STAGED: usize = 2;

/// Memory of a peer.
pub(crate) struct FabricClient {
    // Closed before the endpoint.
    region: Option<Region>,
    endpoint: Endpoint,
    stage: Box<StagingBuffer>,
    peer: u64,
    base: u64,
    key: u64,
    /// An operation failed: the peer may still use the stage.
    failed: bool,
    /// Whether the caller's memory is used directly.
    direct: bool,
}

/// Staging buffer, and one context per operation, which some providers write to.
struct StagingBuffer {
    bytes: Vec<u8>,
    contexts: [[*mut c_void; 8]; DEPTH],
    under_way: [Option<Range<usize>>; DEPTH],
}

impl StagingBuffer {
    fn new(bytes: usize) -> Box<Self> {
        Box::new(Self {
            bytes: vec![0; bytes],
            contexts: [[null_mut(); 8]; DEPTH],
            under_way: [const { None }; DEPTH],
        })
    }
}

// SAFETY: the pointers are only the library's, whose objects any thread may use.
unsafe impl Send for FabricClient {}
// SAFETY: nothing is done through a shared reference.
unsafe impl Sync for FabricClient {}

/// The caller's bytes.
pub(crate) enum TransferBuffer<'a> {
    /// Destination of a read from the peer.
    To(&'a mut [u8]),
    /// Source of a write to the peer.
    From(&'a [u8]),
}

impl TransferBuffer<'_> {
    fn len(&self) -> usize {
        match self {
            Self::To(bytes) => bytes.len(),
            Self::From(bytes) => bytes.len(),
        }
    }
}

impl Drop for FabricClient {
    fn drop(&mut self) {
        if self.failed {
            // The peer may use it for an unknown time: it is leaked.
            Box::leak(std::mem::replace(&mut self.stage, StagingBuffer::new(0)));
        }
    }
}

impl FabricClient {
    /// Opens access to a peer.
    pub(crate) fn open(
        provider: &str,
        local: IpAddr,
        (key, base, name): (u64, u64, &[u8]),
    ) -> Result<Self, FabricError> {
        let endpoint = Endpoint::open(provider, local)?;
        let direct = provider == "tcp" && endpoint.mr_mode() & sys::MR_LOCAL == 0;
        let mut stage = StagingBuffer::new(if direct { 0 } else { PIECE * STAGED });
        let region = match endpoint.mr_mode() & sys::MR_LOCAL {
            0 => None,
            _ => {
                let bytes = &mut stage.bytes;
                let start = bytes.as_mut_ptr().cast();
                // SAFETY: the stage stays as long as the region, which is closed first.
                Some(unsafe { endpoint.register(start, bytes.len(), sys::READ | sys::WRITE, 1) }?)
            }
        };
        let mut peer = u64::MAX;
        // Longer than any address of a provider, which may read beyond the end of a forged name.
        let mut padded = name.to_vec();
        padded.resize(super::LONGEST_NAME.max(name.len()), 0);
        // SAFETY: the vector is open, and the name ends with zeroes.
        let inserted = unsafe {
            let insert = (*(*endpoint.av.0).ops).insert;
            let insert = insert.ok_or_else(|| lacks("fi_av_insert"))?;
            let at = endpoint.av.0;
            insert(at, padded.as_ptr().cast(), 1, &mut peer, 0, null_mut())
        };
        if inserted != 1 {
            let why = "the peer's endpoint has no address of this provider".to_owned();
            let call = "fi_av_insert";
            return Err(FabricError::Call { call, why });
        }
        Ok(Self {
            region,
            endpoint,
            stage,
            peer,
            base,
            key,
            failed: false,
            direct,
        })
    }

    /// Moves bytes from or to an offset. `idle` is polled while no operation completes; its argument is whether any has
    /// completed since the last call, and its error ends the wait. After an error the connection is closed: nothing
    /// accesses the bytes any more.
    pub(crate) fn transfer<E: From<FabricError>>(
        mut self,
        offset: u64,
        bytes: TransferBuffer<'_>,
        idle: impl FnMut(bool) -> Result<(), E>,
    ) -> Result<Self, E> {
        let result = self.pieces(offset, bytes, idle);
        self.failed |= result.is_err();
        result.map(|()| self)
    }

    fn pieces<E: From<FabricError>>(
        &mut self,
        offset: u64,
        mut bytes: TransferBuffer<'_>,
        mut idle: impl FnMut(bool) -> Result<(), E>,
    ) -> Result<(), E> {
        let total = bytes.len();
        let (mut posted, mut done) = (0, 0);
        let depth = if self.direct { DEPTH } else { STAGED };
        let mut free: Vec<usize> = (0..depth).rev().collect();
        let mut moved = true;
        while done < total {
            while let (true, Some(slot)) = (posted < total, free.last().copied()) {
                let piece = posted..total.min(posted + PIECE);
                let writes = matches!(bytes, TransferBuffer::From(_));
                let local: *mut u8 = match &mut bytes {
                    // A write only reads them.
                    TransferBuffer::From(bytes) if self.direct => {
                        bytes[piece.clone()].as_ptr().cast_mut()
                    }
                    TransferBuffer::To(bytes) if self.direct => bytes[piece.clone()].as_mut_ptr(),
                    bytes => {
                        let staged = &mut self.stage.bytes[slot * PIECE..][..piece.len()];
                        if let TransferBuffer::From(bytes) = bytes {
                            staged.copy_from_slice(&bytes[piece.clone()]);
                        }
                        staged.as_mut_ptr()
                    }
                };
                let there = offset + posted as u64;
                // SAFETY: the bytes stay valid until the operation is complete: those of the stage forever if it fails,
                // those of the caller until this returns, and the endpoint is closed before it returns an error.
                if !unsafe { self.post(slot, writes, there, (local, piece.len())) }? {
                    break;
                }
                posted = piece.end;
                self.stage.under_way[slot] = Some(piece);
                free.pop();
            }
            let Some(context) = self.endpoint.poll()? else {
                idle(std::mem::take(&mut moved))?;
                continue;
            };
            let start = self.stage.contexts.as_ptr() as usize;
            let each = size_of_val(&self.stage.contexts[0]);
            let slot = (context as usize).wrapping_sub(start) / each;
            let piece = self.stage.under_way.get_mut(slot).and_then(Option::take);
            let Some(piece) = piece else {
                continue;
            };
            if let (TransferBuffer::To(bytes), false) = (&mut bytes, self.direct) {
                let at = slot * PIECE;
                bytes[piece.clone()].copy_from_slice(&self.stage.bytes[at..at + piece.len()]);
            }
            done += piece.len();
            free.push(slot);
            moved = true;
        }
        Ok(())
    }

    /// Begins an operation; returns false if the provider is full.
    ///
    /// # Safety
    /// The bytes stay valid and unused by others until it is complete.
    unsafe fn post(
        &mut self,
        slot: usize,
        writes: bool,
        offset: u64,
        (local, bytes): (*mut u8, usize),
    ) -> Result<bool, FabricError> {
        let call = if writes { "fi_write" } else { "fi_read" };
        let descriptor = self.region.as_ref().map_or(null_mut(), Region::descriptor);
        let context = self.stage.contexts[slot].as_mut_ptr();
        // SAFETY: the endpoint is open; the context stays valid until the operation is complete, or forever; the caller
        // guarantees the bytes.
        let code = unsafe {
            let calls = &*(*self.endpoint.ep.0).rma;
            let call = if writes { calls.write } else { calls.read };
            let call = call.ok_or_else(|| lacks("one-sided access"))?;
            call(
                self.endpoint.ep.0,
                local.cast(),
                bytes,
                descriptor,
                self.peer,
                self.base.wrapping_add(offset),
                self.key,
                context.cast(),
            )
        };
        match code {
            0 => Ok(true),
            code if code == -sys::EAGAIN => Ok(false),
            code => Err(FabricError::Call {
                call,
                why: self.endpoint.info.0.word(code),
            }),
        }
    }
}
