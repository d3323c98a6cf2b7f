//! Memory that a program and kernels share, pointers and all.

use crate::link::Link;
use crate::range::MappedRange;
use crate::space::AddressSpace;
use error::Error;
use owner::message::{ByteRange, Describe, Free, MappingId, Prefetch, Share, Sync, Take, Unmap};
use std::sync::atomic::{
    AtomicI16, AtomicI32, AtomicI64, AtomicI8, AtomicIsize, AtomicU16, AtomicU32, AtomicU64,
    AtomicU8, AtomicUsize,
};
use std::sync::Arc;
use trap::{Desk, TrapWay, View};
use units::{PageSize, VirtAddr};

/// Types of which shared memory can be seen as an array.
///
/// # Safety
/// Every pattern of bytes is a value (zeroes are what memory begins with); the type may be changed by
/// anybody at any time while it is borrowed, so it is made of atomics; it is not larger than a page.
pub unsafe trait Shareable {}

macro_rules! shareable {
    ($($atomic:ty),*) => {
        $(
            // SAFETY: an atomic integer.
            unsafe impl Shareable for $atomic {}
        )*
    };
}

shareable!(
    AtomicI8,
    AtomicI16,
    AtomicI32,
    AtomicI64,
    AtomicIsize,
    AtomicU8,
    AtomicU16,
    AtomicU32,
    AtomicU64,
    AtomicUsize
);

// SAFETY: an array of such types is one.
unsafe impl<T: Shareable, const N: usize> Shareable for [T; N] {}

/// A block of memory that the program and the kernels of an address space read and write as they like,
/// at the same addresses.
///
/// Its pages move by themselves. What kernels have written is there whenever the program looks, and when the
/// block, or its space, has ended. The memory itself lives until this is dropped, unless it was registered.
///
/// A system call that gets an address in it (`read(2)`, `write(2)`) fails with EFAULT while the page is with
/// the card; touch it first, give it a copy, or allocate the memory for system calls too
/// ([`AddressSpace::alloc_with_traps`]).
#[derive(Debug)]
pub struct SharedMemory {
    link: Link,
    id: MappingId,
    view: Arc<View>,
    /// Bytes of the view before the first that was asked for.
    lead: usize,
    bytes: usize,
    open: bool,
}

impl AddressSpace {
    /// Allocates zeroed memory that the program shares with the kernels of this space. Its pages are of
    /// 2 MiB, or of one that holds all of it if it is smaller.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages).
    pub fn alloc(&self, bytes: usize) -> Result<SharedMemory, Error> {
        self.alloc_with_pages(bytes, self.page_for(bytes)?)
    }

    /// The pages that [`alloc`](Self::alloc) takes for so many bytes: of 2 MiB, or the smallest that holds all of them.
    ///
    /// # Errors
    /// The card is closed.
    pub fn page_for(&self, bytes: usize) -> Result<PageSize, Error> {
        let sizes = self.link().call(Describe)?.card.page_sizes;
        Ok(sizes.holding(bytes as u64))
    }

    /// Allocates zeroed memory that the program shares with the kernels of this space, in pages of a size.
    /// Large pages move much at once; a page that both sides write moves to and fro.
    ///
    /// # Errors
    /// No memory; pages that the card does not have, or that do not fit into its memory; so many pages that the
    /// system cannot protect each by itself.
    pub fn alloc_with_pages(&self, bytes: usize, page: PageSize) -> Result<SharedMemory, Error> {
        let desk = self.link().desk(bytes)?;
        self.share_trapped(bytes, page, TrapWay::Protect, desk)
    }

    /// As [`alloc_with_pages`](Self::alloc_with_pages), but the program is never trapped: before it reads or writes
    /// what kernels may have, it asks for it with [`SharedMemory::take`]. Without that it sees old bytes, and what
    /// it writes may be lost. It saves the time of changing what the program may do, page by page: FlexiMem's
    /// basic client.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages).
    pub fn alloc_untrapped(&self, bytes: usize, page: PageSize) -> Result<SharedMemory, Error> {
        self.share_untrapped(bytes, page, false)
    }

    /// As [`alloc_with_pages`](Self::alloc_with_pages), with a way in which the program is trapped. With
    /// [`TrapWay::Userfault`] the memory may be handed to system calls: `read(2)`, `write(2)` and others wait for its
    /// pages like the program itself. Each page of 4096 bytes costs there, so small pages are the better ones. With
    /// [`TrapWay::InThread`] threads put pages that are the program's in place by themselves, and no right is needed.
    ///
    /// Where the system does not have userfaultfd, or not for this program, a warning says what would change that,
    /// and pages are protected instead: [`SharedMemory::trap_way`] says which way was taken.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages).
    pub fn alloc_with_traps(
        &self,
        bytes: usize,
        page: PageSize,
        way: TrapWay,
    ) -> Result<SharedMemory, Error> {
        let desk = self.link().desk(bytes)?;
        let way = desk.probe(way).map_or_else(
            |error| {
                tracing::warn!("{error}; pages are protected, and system calls get EFAULT");
                TrapWay::Protect
            },
            |()| way,
        );
        self.share_trapped(bytes, page, way, desk)
    }

    fn share_trapped(
        &self,
        bytes: usize,
        page: PageSize,
        way: TrapWay,
        desk: Arc<Desk>,
    ) -> Result<SharedMemory, Error> {
        let made = View::trapped(bytes, page, way, desk);
        let view = made.map_err(|source| Error::Unshareable { bytes, source })?;
        self.share(self.in_this_process(view), 0, bytes)
    }

    /// Allocates zeroed memory that stays where it is: the program and the kernels of this space read and write the same
    /// bytes, the kernels over PCIe (direct shared virtual memory). No page moves, nobody is trapped, and what a kernel
    /// writes is there for the program when the kernel has ended. It suits what is touched little, and what both sides
    /// write in turns; memory whose pages move ([`alloc`](Self::alloc)) is many times as fast for what is read again.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages); a card without a way to host memory (`host_channel`).
    pub fn alloc_direct(&self, bytes: usize, page: PageSize) -> Result<SharedMemory, Error> {
        self.share_untrapped(bytes, page, true)
    }

    fn share_untrapped(
        &self,
        bytes: usize,
        page: PageSize,
        direct: bool,
    ) -> Result<SharedMemory, Error> {
        let made = View::untrapped(bytes, page);
        let (view, file) = made.map_err(|source| Error::Unshareable { bytes, source })?;
        let request = Share {
            direct,
            file: Some(file),
            ..self.in_this_process(view)
        };
        self.share(request, 0, bytes)
    }

    /// Shares memory that the program has, in place: its bytes stay where they are, for the program and for
    /// kernels, and are the program's alone again when it is freed. Its pages are of up to 2 MiB, as its
    /// address allows.
    ///
    /// It must be whole pages of 4096 bytes of private memory of the program, or a block that `malloc` has
    /// mapped by itself, from its first byte on. Large ones are: a `Vec` or an array of a megabyte in a new
    /// process. But `malloc` takes blocks of up to 32 MiB from what the program has freed before, if it can:
    /// `posix_memalign` and `mmap` give whole pages always.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), tombolo::Error> {
    /// # let card = tombolo::Card::functional(tombolo::FunctionalCard::new(Default::default()))?;
    /// let space = card.create_space()?;
    /// let mut numbers = vec![1u64; 1 << 20];
    /// // SAFETY: the vector is not touched, moved or dropped before `shared` is freed.
    /// let mut shared = unsafe { space.register(numbers.as_mut_ptr().cast(), 8 << 20)? };
    /// // ... kernels get shared.address(), and the program shared.slice() ...
    /// shared.free()?;
    /// println!("{}", numbers[0]); // what kernels wrote
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Safety
    /// The memory is the caller's, and stays mapped until the block is freed or dropped: whoever allocated it
    /// does not free, move or remap it before. Kernels change it meanwhile, so no `&T` or `&mut T` to it is
    /// used that is not made of atomics.
    ///
    /// # Errors
    /// [`Error::Unregistrable`] with the rule that it breaks; otherwise as
    /// [`alloc_with_pages`](Self::alloc_with_pages).
    pub unsafe fn register(&self, start: *mut u8, bytes: usize) -> Result<SharedMemory, Error> {
        // SAFETY: as for this function.
        unsafe { self.register_with_pages(start, bytes, PageSize::MIB_2) }
    }

    /// As [`register`](Self::register), in pages of a size at most.
    ///
    /// # Safety
    /// As [`register`](Self::register).
    ///
    /// # Errors
    /// As [`register`](Self::register).
    pub unsafe fn register_with_pages(
        &self,
        start: *mut u8,
        bytes: usize,
        page: PageSize,
    ) -> Result<SharedMemory, Error> {
        let at = start as usize;
        let there = self.link().call(Describe)?.card.page_sizes;
        let desk = self.link().desk(bytes)?;
        // What does not fill the largest pages at both ends is left to the smallest, and to one between: each
        // size that a space uses costs walks of its page table.
        let between = PageSize::from_bytes(64 << 10);
        let sizes = [Some(page), between, Some(PageSize::KIB_4)];
        let sizes = sizes.into_iter().flatten();
        let sizes: Vec<PageSize> = sizes
            .filter(|size| *size == page || *size < page && there.contains(*size))
            .collect();
        // SAFETY: as for this function.
        let view = unsafe { View::register(at, bytes, &sizes, desk) };
        let view = view.map_err(|rule| Error::Unregistrable {
            start: at,
            bytes,
            rule,
        })?;
        let lead = at - view.start() as usize;
        self.share(self.in_this_process(view), lead, bytes)
    }

    /// To share a block with an owner in this process.
    fn in_this_process(&self, view: View) -> Share {
        Share {
            space: self.id(),
            view: Arc::new(view),
            direct: false,
            file: None,
        }
    }

    fn share(&self, request: Share, lead: usize, bytes: usize) -> Result<SharedMemory, Error> {
        let view = request.view.clone();
        let mapped = self.link().call(request)?;
        Ok(SharedMemory {
            link: self.link().clone(),
            id: mapped.mapping,
            view,
            lead,
            bytes,
            open: true,
        })
    }
}

impl SharedMemory {
    /// The first byte, for the program.
    pub fn as_ptr(&self) -> *mut u8 {
        // SAFETY: the lead is shorter than the view.
        unsafe { self.view.start().add(self.lead) }
    }

    /// The first byte, for kernels: the same address.
    pub fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.as_ptr() as u64)
    }

    /// Bytes asked for.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Never: there is at least one byte.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Size of its pages; of the largest, if it was registered.
    pub fn page_size(&self) -> PageSize {
        self.view.page()
    }

    /// How the program's accesses are trapped; `None`: they are not.
    pub fn trap_way(&self) -> Option<TrapWay> {
        self.view.trap_way()
    }

    /// The memory as an array, as many elements as fit; none if registered memory is not aligned to them,
    /// or was freed.
    pub fn slice<T: Shareable>(&self) -> &[T] {
        let size = std::mem::size_of::<T>();
        let start = self.as_ptr().cast_const().cast::<T>();
        let count = self.bytes.checked_div(size).unwrap_or(0);
        if !start.is_aligned() || !self.view.is_there() {
            return &[];
        }
        // SAFETY: the memory is aligned, mapped as long as `self`, and `count` elements lie in it;
        // `Shareable` says that any bytes are values and that others may change them meanwhile. An access to
        // a page that is with the card waits for it.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    /// Some bytes of it, for a transfer of a stream.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`](crate::StreamError::OutOfMapping): beyond its end, or none.
    pub fn part(&self, offset: u64, bytes: u64) -> Result<MappedRange, Error> {
        let mapped = self.bytes as u64;
        let range = MappedRange::of(
            self.link.clone(),
            self.id,
            ByteRange { offset, bytes },
            mapped,
        )?;
        Ok(range.shifted(self.lead as u64))
    }

    /// The address of something in it, for kernels.
    ///
    /// # Errors
    /// [`Error::NotShared`]: it lies, or ends, elsewhere.
    pub fn address_of<T>(&self, thing: *const T) -> Result<VirtAddr, Error> {
        let (at, bytes) = (thing as usize, std::mem::size_of::<T>());
        let start = self.as_ptr() as usize;
        let inside = at >= start
            && at
                .checked_add(bytes)
                .is_some_and(|end| end <= start + self.bytes);
        match VirtAddr::new(at as u64).filter(|_| inside) {
            Some(address) => Ok(address),
            None => Err(Error::NotShared { address: at }),
        }
    }

    /// Brings what kernels have written so far to the memory of the program, in one go; the card keeps
    /// copies to read.
    ///
    /// # Errors
    /// The card is broken; the memory was freed.
    pub fn sync(&self) -> Result<(), Error> {
        self.link.call(Sync { mapping: self.id })
    }

    /// Waits until the program may read some bytes, with what kernels wrote; or also write them. That is what a
    /// trap does by itself; memory without traps ([`AddressSpace::alloc_untrapped`]) needs it.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`](crate::StreamError::OutOfMapping): beyond its end, or none. The card is
    /// broken; the memory was freed.
    pub fn take(&self, offset: u64, bytes: u64, write: bool) -> Result<(), Error> {
        let range = self.part(offset, bytes)?;
        self.link.call(Take {
            mapping: self.id,
            range: ByteRange {
                offset: range.offset(),
                bytes,
            },
            write,
        })
    }

    /// Brings pages to the card, to be read, before a kernel touches them, as far as there is room.
    ///
    /// # Errors
    /// The card is broken; the memory was freed.
    pub fn prefetch(&self) -> Result<(), Error> {
        self.link.call(Prefetch { mapping: self.id })
    }

    /// Ends the sharing: kernels do not reach the memory any more, and the program has it to itself until this
    /// value is dropped; for ever, if it was registered: it is then what it was before, with its contents of now.
    ///
    /// # Errors
    /// [`Error::MemoryInUse`] while a kernel of the space runs; [`Error::Gone`] if it was freed before, or its
    /// space ended.
    pub fn free(&mut self) -> Result<(), Error> {
        let freed = self.link.call(Free { mapping: self.id });
        if matches!(freed, Ok(()) | Err(Error::Gone { .. })) {
            self.open = false;
            self.view.give_back();
        }
        freed
    }
}

impl Drop for SharedMemory {
    /// As [`free`](SharedMemory::free), also while a kernel runs: its accesses fail then, and its `wait` too.
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        match self.link.call(Unmap { mapping: self.id }) {
            Ok(()) | Err(Error::Gone { .. }) => {}
            Err(error) => tracing::error!(%error, "ending shared memory"),
        }
        self.view.give_back();
    }
}
