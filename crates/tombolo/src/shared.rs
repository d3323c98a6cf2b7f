//! Memory shared by a program and kernels at the same virtual addresses.

use crate::link::Link;
use crate::range::MappedRange;
use crate::space::AddressSpace;
use error::Error;
use owner::message::{ByteRange, Describe, Free, MappingId, Prefetch, Share, Sync, Take, Unmap};
use std::fs::File;
use std::sync::atomic::{
    AtomicI16, AtomicI32, AtomicI64, AtomicI8, AtomicIsize, AtomicU16, AtomicU32, AtomicU64,
    AtomicU8, AtomicUsize,
};
use std::sync::Arc;
use trap::{TrapQueue, TrapWay, View};
use units::{PageSize, VirtAddr};

/// Types that shared memory can be viewed as an array of.
///
/// # Safety
/// Every bit pattern is a valid value (memory is zeroed at first); the type may be changed by others at any time while
/// it is borrowed, so it is made of atomics; it is not larger than a page.
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

/// A block of memory that the program and the kernels of an address space share, at the same addresses.
///
/// Pages migrate automatically. Bytes written by kernels are visible whenever the program reads them, also after the
/// block or its space has ended. The memory is freed when this is dropped, unless it was registered.
///
/// A system call that gets an address in the block (`read(2)`, `write(2)`) fails with EFAULT while the page is on the
/// card: touch it first, pass a copy, or allocate the memory for system calls too ([`AddressSpace::alloc_with_traps`]).
/// ([`AddressSpace::alloc_with_traps`]).
#[derive(Debug)]
pub struct SharedMemory {
    link: Link,
    id: MappingId,
    view: Arc<View>,
    /// Bytes of the view before the first requested byte.
    lead: usize,
    bytes: usize,
    open: bool,
}

impl AddressSpace {
    /// Allocates zeroed memory shared by the program and the kernels of this space. Its pages are 2 MiB, or for smaller
    /// blocks the smallest size that holds the block.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages).
    pub fn alloc(&self, bytes: usize) -> Result<SharedMemory, Error> {
        self.alloc_with_pages(bytes, self.page_for(bytes)?)
    }

    /// The page size that [`alloc`](Self::alloc) uses for `bytes`: 2 MiB, or the smallest that holds all of them.
    ///
    /// # Errors
    /// The card is closed.
    pub fn page_for(&self, bytes: usize) -> Result<PageSize, Error> {
        let sizes = self.link().call(Describe)?.card.page_sizes;
        Ok(sizes.holding(bytes as u64))
    }

    /// Allocates zeroed memory shared by the program and the kernels of this space, with this page size. Large pages
    /// move more bytes at once; a page written by both sides migrates back and forth.
    ///
    /// # Errors
    /// Out of memory; the card has no pages of that size, or they do not fit into its memory; more pages than the
    /// system can protect individually.
    pub fn alloc_with_pages(&self, bytes: usize, page: PageSize) -> Result<SharedMemory, Error> {
        let queue = self.link().trap_queue(bytes)?;
        self.share_trapped(bytes, page, TrapWay::Protect, queue)
    }

    /// As [`alloc_with_pages`](Self::alloc_with_pages), but the program is never trapped: before it accesses memory
    /// that kernels may hold, it must call [`SharedMemory::take`]. Otherwise it reads stale bytes, and its writes may
    /// be lost. This saves the cost of changing page protections: FlexiMem's basic client.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages).
    pub fn alloc_untrapped(&self, bytes: usize, page: PageSize) -> Result<SharedMemory, Error> {
        self.share_untrapped(bytes, page, false)
    }

    /// As [`alloc_with_pages`](Self::alloc_with_pages), with a choice of trap mechanism. With [`TrapWay::Userfault`]
    /// the memory may be passed to system calls: `read(2)`, `write(2)` and others wait for its pages like the program
    /// itself. There, each page of 4096 bytes has a cost, so small pages are better. With [`TrapWay::InThread`] the
    /// program's threads map pages that are the program's themselves, and no privilege is needed.
    ///
    /// If userfaultfd is missing or not permitted, a warning names the remedy, and page protection is used instead;
    /// [`SharedMemory::trap_way`] returns the mechanism in use.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages).
    pub fn alloc_with_traps(
        &self,
        bytes: usize,
        page: PageSize,
        way: TrapWay,
    ) -> Result<SharedMemory, Error> {
        let queue = self.link().trap_queue(bytes)?;
        let way = queue.probe(way).map_or_else(
            |error| {
                tracing::warn!("{error}; pages are protected, and system calls get EFAULT");
                TrapWay::Protect
            },
            |()| way,
        );
        self.share_trapped(bytes, page, way, queue)
    }

    fn share_trapped(
        &self,
        bytes: usize,
        page: PageSize,
        way: TrapWay,
        queue: Arc<TrapQueue>,
    ) -> Result<SharedMemory, Error> {
        let made = View::trapped(bytes, page, way, queue);
        let (view, file) = made.map_err(|source| Error::Unshareable { bytes, source })?;
        self.share(self.in_this_process(view, file), 0, bytes)
    }

    /// Allocates zeroed memory that does not migrate: the program and the kernels of this space access the same bytes,
    /// the kernels over PCIe (direct shared virtual memory). There are no traps, and bytes written by a kernel are
    /// visible to the program when the kernel has ended. It suits memory that is accessed rarely, or that both sides
    /// write in turns; memory whose pages migrate ([`alloc`](Self::alloc)) is many times as fast for repeated reads.
    ///
    /// # Errors
    /// As [`alloc_with_pages`](Self::alloc_with_pages); the card has no path to host memory (`host_channel`).
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
            ..self.in_this_process(view, file)
        };
        self.share(request, 0, bytes)
    }

    /// Shares existing memory of the program in place: its bytes keep their address, for the program and for kernels,
    /// and belong to the program alone again when the block is freed. Its pages are up to 2 MiB, as its alignment
    /// allows.
    ///
    /// It must be whole 4096-byte pages of private memory, or a block that `malloc` has mapped separately, from its
    /// first byte on. Large blocks usually are: a `Vec` or an array of a megabyte in a new process. But `malloc` serves
    /// blocks of up to 32 MiB from memory that was freed before, if it can; `posix_memalign` and `mmap` always give
    /// whole pages.
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
    /// The memory is the caller's and stays mapped until the block is freed or dropped: its owner does not free, move
    /// or remap it before. Kernels change it meanwhile, so the program uses no `&T` or `&mut T` to it unless `T` is
    /// made of atomics.
    ///
    /// # Errors
    /// [`Error::Unregistrable`] with the rule that it breaks; otherwise as
    /// [`alloc_with_pages`](Self::alloc_with_pages).
    pub unsafe fn register(&self, start: *mut u8, bytes: usize) -> Result<SharedMemory, Error> {
        // SAFETY: as for this function.
        unsafe { self.register_with_pages(start, bytes, PageSize::MIB_2) }
    }

    /// As [`register`](Self::register), with a maximum page size.
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
        let queue = self.link().trap_queue(bytes)?;
        // The unaligned bytes at both ends are covered by the smallest pages and one size between: each page size that
        // a space uses costs page-table walks.
        let between = PageSize::from_bytes(64 << 10);
        let sizes = [Some(page), between, Some(PageSize::KIB_4)];
        let sizes = sizes.into_iter().flatten();
        let sizes: Vec<PageSize> = sizes
            .filter(|size| *size == page || *size < page && there.contains(*size))
            .collect();
        // SAFETY: as for this function.
        let view = unsafe { View::register(at, bytes, &sizes, queue) };
        let (view, file) = view.map_err(|rule| Error::Unregistrable {
            start: at,
            bytes,
            rule,
        })?;
        let lead = at - view.start() as usize;
        self.share(self.in_this_process(view, file), lead, bytes)
    }

    /// Memory of this process to share with the kernels of this space.
    fn in_this_process(&self, view: View, file: File) -> Share {
        Share {
            space: self.id(),
            view: Arc::new(view),
            direct: false,
            file,
            traps: None,
        }
    }

    fn share(&self, request: Share, lead: usize, bytes: usize) -> Result<SharedMemory, Error> {
        let view = request.view.clone();
        let mapped = self.link().share(request)?;
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
    /// Pointer to the first byte, for the program.
    pub fn as_ptr(&self) -> *mut u8 {
        // SAFETY: the lead is shorter than the view.
        unsafe { self.view.start().add(self.lead) }
    }

    /// Address of the first byte, for kernels: the same address.
    pub fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.as_ptr() as u64)
    }

    /// Requested length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Always false: a block has at least one byte.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Page size; the largest one, if the memory was registered.
    pub fn page_size(&self) -> PageSize {
        self.view.page()
    }

    /// How the program's accesses are trapped; `None`: not at all.
    pub fn trap_way(&self) -> Option<TrapWay> {
        self.view.trap_way()
    }

    /// The memory as an array of as many elements as fit. Empty if registered memory is not aligned to them, or was
    /// freed.
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

    /// A range of the block, for a stream transfer.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`](crate::StreamError::OutOfMapping): the range is empty or exceeds the block.
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

    /// The address, for kernels, of a value in the block.
    ///
    /// # Errors
    /// [`Error::NotShared`]: the value does not lie entirely in the block.
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

    /// Copies all bytes that kernels have written so far to the program's memory, in one pass; the card keeps read-only
    /// copies.
    ///
    /// # Errors
    /// The card is broken; the memory was freed.
    pub fn sync(&self) -> Result<(), Error> {
        self.link.call(Sync { mapping: self.id })
    }

    /// Waits until the program may read a range, with the bytes kernels wrote, or also write it if `write` is set. A
    /// trap does this automatically; memory without traps ([`AddressSpace::alloc_untrapped`]) needs the call.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`](crate::StreamError::OutOfMapping): the range is empty or exceeds the block. The
    /// card is broken; the memory was freed.
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

    /// Loads pages to the card, for reading, before a kernel touches them, as many as fit.
    ///
    /// # Errors
    /// The card is broken; the memory was freed.
    pub fn prefetch(&self) -> Result<(), Error> {
        self.link.call(Prefetch { mapping: self.id })
    }

    /// Ends the sharing: kernels can no longer reach the memory. The program keeps it, with its current contents, until
    /// this value is dropped; registered memory is the program's own again for good.
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
    /// As [`free`](SharedMemory::free), but also while a kernel runs: its accesses then fail, and so does its `wait`.
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
