//! Memory that the program had before: is it the same for both sides while it is shared, and the program's own
//! memory, with everything that was written, before and after? And what cannot be taken?

use crate::mistakes::{in_a_process, CHILD};
use crate::{build, functional, lists_in, start, wait, Node};
use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::os::unix::process::ExitStatusExt;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering::Relaxed};
use tombolo::{AddressSpace, Card, Error, PageSize, RangeError, SharedMemory, SlotId};

const PAGE: usize = 4096;

/// Pages of the heap, with a page on each side that stays out.
pub struct Block {
    start: *mut u8,
    layout: Layout,
}

impl Block {
    pub fn new(pages: usize) -> Self {
        let layout = Layout::from_size_align((pages + 2) * PAGE, PAGE).unwrap();
        // SAFETY: not of size zero.
        let start = unsafe { alloc_zeroed(layout) };
        let block = Self { start, layout };
        for at in block.edges() {
            // SAFETY: in the block.
            unsafe { at.write(0xa5) };
        }
        block
    }

    /// The bytes just outside.
    fn edges(&self) -> [*mut u8; 2] {
        let behind = self.layout.size() - PAGE;
        // SAFETY: in the block.
        unsafe { [self.start.add(PAGE - 1), self.start.add(behind)] }
    }

    fn inner(&self) -> (*mut u8, usize) {
        // SAFETY: in the block.
        let start = unsafe { self.start.add(PAGE) };
        (start, self.layout.size() - 2 * PAGE)
    }

    pub fn register(&self, space: &AddressSpace) -> SharedMemory {
        let (start, bytes) = self.inner();
        // SAFETY: the block lives longer, and is used through what is returned.
        unsafe { space.register_with_pages(start, bytes, PageSize::KIB_4) }.unwrap()
    }

    pub fn words(&self) -> &[AtomicU64] {
        let (start, bytes) = self.inner();
        // SAFETY: aligned, in the block, and only used as atomics.
        unsafe { std::slice::from_raw_parts(start.cast(), bytes / 8) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        for at in self.edges() {
            // SAFETY: in the block.
            assert_eq!(unsafe { at.read() }, 0xa5);
        }
        // SAFETY: allocated with it.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// The line of `/proc/self/maps` of an address.
fn mapped_as(at: *const u8) -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let hex = |text: &str| usize::from_str_radix(text, 16).unwrap();
    let holds = |line: &&str| {
        let (start, rest) = line.split_once('-').unwrap();
        let (end, _) = rest.split_once(' ').unwrap();
        (hex(start)..hex(end)).contains(&(at as usize))
    };
    maps.lines().find(holds).unwrap_or_default().to_owned()
}

pub fn lists(card: &Card, pages: usize) {
    let block = Block::new(pages);
    for (n, word) in block.words().iter().enumerate() {
        word.store(!(n as u64), Relaxed);
    }
    let space = card.create_space().unwrap();
    let memory = block.register(&space);
    assert_eq!(memory.as_ptr(), block.inner().0);
    assert_eq!(memory.address().get(), block.inner().0 as u64);
    let same = |word: usize| block.words()[word].load(Relaxed) == !(word as u64);
    assert!((0..block.words().len()).all(same));
    lists_in(card, space, &memory, pages * 8);
    drop(memory);
    assert!(mapped_as(block.inner().0).contains("rw-p"));
    // The last word of the first node, which nobody has written.
    let untouched: Vec<usize> = (64 / 8 + 2..512 / 8).collect();
    assert!(untouched.into_iter().all(same));
    assert_eq!(block.words()[9].load(Relaxed), 8);
}

#[test]
fn lists_in_memory_that_was_there() {
    for seed in [None, Some(1)] {
        lists(&functional(3, seed), 12);
    }
}

#[test]
fn a_vector_is_shared_and_is_a_vector_again() {
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    // Larger than the heap of a thread can be, whatever other tests have freed of theirs. Its first element is not the first byte of a page.
    let mut vector = vec![1u64; 9 << 20];
    let bytes = vector.len() * 8;
    let start = vector.as_mut_ptr();
    // SAFETY: the vector is left alone until it is freed.
    let mut memory =
        unsafe { space.register_with_pages(start.cast(), bytes, PageSize::KIB_4) }.unwrap();
    assert_eq!(memory.as_ptr(), start.cast());
    assert_eq!(
        (memory.len(), memory.slice::<AtomicU64>().len()),
        (bytes, 9 << 20)
    );
    let words = memory.slice::<AtomicU64>();
    let aligned = start.align_offset(64);
    // The first node, and one on the last page.
    let nodes = [aligned, words.len() - 16].map(|at| at + words[at..].as_ptr().align_offset(64));
    words[nodes[0]].store(&raw const words[nodes[1]] as u64, Relaxed);
    words[nodes[1]].store(0, Relaxed);
    // SAFETY: nodes are made of atomics, and these are aligned and inside.
    let [head, last] = nodes.map(|at| unsafe { &*(&raw const words[at]).cast::<Node>() });
    wait(&start_at(&card, &space, head, last)).unwrap();
    memory.free().unwrap();
    assert!(memory.slice::<AtomicU64>().is_empty());
    assert!(matches!(memory.free(), Err(Error::Gone { .. })));
    // The values were 1 and 1; the result is in the last node.
    assert_eq!(vector[nodes[1]..nodes[1] + 2], [2, 2]);
    // The pointer, and the row of the result.
    assert_eq!(vector.iter().filter(|&&word| word != 1).count(), 9);
    vector.push(7);
    drop(memory);
    vector.shrink_to_fit();
    assert_eq!(vector.last(), Some(&7));
}

fn start_at(card: &Card, space: &AddressSpace, head: &Node, output: &Node) -> tombolo::Slot {
    start(card, SlotId(0), space, head, output, 0, 0)
}

#[repr(C, align(4096))]
struct Static([Node; 64]);

#[test]
fn static_data_is_shared() {
    static TABLE: Static = Static(
        [const {
            Node {
                next: AtomicU64::new(0),
                value: AtomicU64::new(5),
                rest: [const { AtomicU64::new(9) }; 6],
            }
        }; 64],
    );
    let card = functional(3, None);
    for round in 1..4 {
        let space = card.create_space().unwrap();
        let at = (&raw const TABLE).cast_mut().cast::<u8>();
        // SAFETY: atomics of this test.
        let memory = unsafe { space.register(at, PAGE) }.unwrap();
        let nodes = build(&memory, 3, 2);
        wait(&start_at(&card, &space, nodes[0], &TABLE.0[63])).unwrap();
        assert_eq!(TABLE.0[63].next.load(Relaxed), 1 + 4 + 7);
        TABLE.0[1].value.fetch_add(1, Relaxed);
        // The space, and what is shared in it, end in either order.
        if round == 2 {
            drop(space);
            assert_eq!(TABLE.0[1].value.load(Relaxed), 7);
        }
        drop(memory);
        assert_eq!(TABLE.0[1].value.load(Relaxed), 5 + round);
        assert_eq!(TABLE.0[4].value.load(Relaxed), 7);
    }
}

#[test]
fn what_others_write_while_it_changes_hands_is_not_lost() {
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    // So large that copying it takes a while.
    let block = Block::new(512);
    let end = AtomicBool::new(false);
    let words = block.words();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut count = 0;
            while !end.load(Relaxed) {
                // Another word of each page.
                for page in words.chunks(PAGE / 8) {
                    page[200].fetch_add(1, Relaxed);
                }
                count += 1;
            }
            count
        });
        for _ in 0..25 {
            let mut memory = block.register(&space);
            let nodes = build(&memory, 5, 64);
            wait(&start(&card, SlotId(0), &space, nodes[0], nodes[4], 1, 0)).unwrap();
            memory.free().unwrap();
        }
        end.store(true, Relaxed);
        let count: u64 = writer.join().unwrap();
        assert!(count > 25);
        for page in block.words().chunks(PAGE / 8) {
            assert_eq!(page[200].load(Relaxed), count);
        }
    });
}

fn refused(space: &AddressSpace, start: *const u8, bytes: usize) -> (RangeError, String) {
    // SAFETY: refused, or given back at once.
    let error = unsafe { space.register(start.cast_mut(), bytes) }.unwrap_err();
    assert_eq!(error.code().name(), "unregistrable");
    let text = error.to_string();
    match error {
        Error::Unregistrable { rule, .. } => (rule, text),
        other => panic!("{other}"),
    }
}

#[test]
fn what_is_not_the_programs_own_pages_is_refused() {
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    let block = Block::new(4);
    let (start, bytes) = block.inner();
    let part = |from: usize, bytes: usize| refused(&space, start.wrapping_add(from), bytes);
    assert!(matches!(part(0, 0).0, RangeError::Empty));
    let (rule, text) = part(8, PAGE - 8);
    assert!(
        matches!(rule, RangeError::OtherBytes { at } if at == start as usize + 8),
        "{text}"
    );
    assert!(matches!(part(0, PAGE + 1).0, RangeError::OtherBytes { .. }));
    // Twice, from this card and from another, all of it and a part.
    let memory = block.register(&space);
    let other = functional(3, None);
    let elsewhere = other.create_space().unwrap();
    assert!(matches!(part(0, bytes).0, RangeError::Overlaps { .. }));
    assert!(matches!(part(PAGE, 10).0, RangeError::Overlaps { .. }));
    assert!(matches!(
        refused(&elsewhere, start, bytes).0,
        RangeError::Overlaps { .. }
    ));
    drop(memory);
    drop(block.register(&elsewhere));
    // What was never a program's to give.
    let on_the_stack = [0u8; 2 * PAGE];
    assert!(matches!(
        refused(&space, &raw const on_the_stack[0], 8).0,
        RangeError::Stack { .. }
    ));
    let literal = "text".as_ptr();
    assert!(matches!(
        refused(&space, literal, 4).0,
        RangeError::NotWritable { .. }
    ));
    let small = Box::new(0u64);
    let (_, text) = refused(&space, (&raw const *small).cast(), 8);
    // Next to the header of a heap of this thread, or not.
    let known = ["bytes that are not in the range", "own header"];
    assert!(known.iter().any(|one| text.contains(one)), "{text}");
    let shared = space.alloc(PAGE).unwrap();
    assert!(matches!(
        refused(&space, shared.as_ptr(), PAGE).0,
        RangeError::NotPrivate { .. }
    ));
    let nothing = std::ptr::without_provenance(0x1000_0000_0000);
    assert!(matches!(
        refused(&space, nothing, PAGE).0,
        RangeError::NotMapped { .. }
    ));
    // The card refuses: the memory is as it was.
    block.words()[3].store(77, Relaxed);
    let twice = PageSize::MIB_2.bytes() as usize;
    let large = Block::new(2 * twice / PAGE);
    let (start, bytes) = large.inner();
    large.words()[5].store(78, Relaxed);
    // SAFETY: the block lives longer.
    let error = unsafe { space.register(start, bytes) }.unwrap_err();
    assert!(
        error.to_string().contains("no page of 2 MiB fits"),
        "{error}"
    );
    assert_eq!(large.words()[5].load(Relaxed), 78);
    assert!(mapped_as(start).contains("rw-p"));
}

fn pages(count: usize) -> *mut u8 {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), count * PAGE, rights, how, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.cast()
}

#[test]
fn pages_that_the_program_unmapped_meanwhile_are_left_alone() {
    // By itself: where the page was, other tests may map something.
    if std::env::var_os(CHILD).is_none() {
        let test = "registered::pages_that_the_program_unmapped_meanwhile_are_left_alone";
        let status = in_a_process(test);
        assert!(status.success(), "{status}");
        return;
    }
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    let at = pages(5);
    // SAFETY: pages of this test, used through raw pointers.
    unsafe {
        at.write_bytes(1, 5 * PAGE);
        let mut memory = space.register(at, 5 * PAGE).unwrap();
        at.add(2 * PAGE).write_bytes(2, 2 * PAGE);
        // A page is gone, and another one is something else now.
        libc::munmap(at.add(PAGE).cast(), PAGE);
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let third = at.add(3 * PAGE);
        libc::mmap(third.cast(), PAGE, libc::PROT_READ, how, -1, 0);
        memory.free().unwrap();
        assert_eq!(mapped_as(at.add(PAGE)), "");
        assert!(mapped_as(third).contains("r--p"));
        assert_eq!(
            [at, at.add(2 * PAGE), third, at.add(4 * PAGE)].map(|at| *at),
            [1, 2, 0, 1]
        );
        assert!(mapped_as(at).contains("rw-p") && mapped_as(at.add(2 * PAGE)).contains("rw-p"));
        libc::munmap(at.cast(), PAGE);
        libc::munmap(at.add(2 * PAGE).cast(), 3 * PAGE);
    }
}

#[test]
fn freed_memory_is_ordinary_memory() {
    if std::env::var_os(crate::mistakes::CHILD).is_none() {
        let status = in_a_process("registered::freed_memory_is_ordinary_memory");
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
        return;
    }
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    let block = Block::new(2);
    let mut memory = block.register(&space);
    block.words()[1].store(3, Relaxed);
    memory.free().unwrap();
    // A forked child has it, which it has not while it is shared.
    // SAFETY: the child looks at one word and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let status = i32::from(block.words()[1].load(Relaxed) != 3);
        // SAFETY: ends the child without running what the parent is to run.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: waits for the child above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        panic!("the child ended with {status}");
    }
    // A wrong pointer into it is a wrong pointer.
    let at = pages(1);
    // SAFETY: pages of this test; the last line is the mistake.
    unsafe {
        space.register(at, PAGE).unwrap().free().unwrap();
        libc::munmap(at.cast(), PAGE);
        at.write_volatile(1);
    }
}

/// Blocks of the heap: parts of it that were shared before are ranges of their own, and no heaps.
#[test]
fn a_block_of_the_heap_is_shared_again_and_again() {
    const TEST: &str = "registered::a_block_of_the_heap_is_shared_again_and_again";
    if std::env::var_os(CHILD).is_none() {
        let program = std::env::current_exe().unwrap();
        let mut command = std::process::Command::new(program);
        // All threads have the heap that the program began with.
        let command = command.env(CHILD, "1").env("MALLOC_ARENA_MAX", "1");
        let output = command.args([TEST, "--exact", "--nocapture"]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    let block = Block::new(2);
    assert!(mapped_as(block.inner().0).ends_with("[heap]"));
    for turn in 0..3 {
        let mut memory = block.register(&space);
        block.words()[1].store(turn, Relaxed);
        memory.free().unwrap();
        assert_eq!(block.words()[1].load(Relaxed), turn);
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let heap = maps.lines().find(|line| line.ends_with("[heap]")).unwrap();
    let first = usize::from_str_radix(heap.split('-').next().unwrap(), 16).unwrap();
    let (error, _) = refused(&space, first as *const u8, PAGE);
    assert!(matches!(error, RangeError::HeapHeader { at } if at == first));
}

/// A private mapping of a file, of which there may be more than the file has.
#[test]
fn a_file_that_is_shorter_than_its_mapping_is_refused_where_it_ends() {
    let card = functional(3, None);
    let space = card.create_space().unwrap();
    let file = tempfile::tempfile().unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"hello", 0).unwrap();
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
    let null = std::ptr::null_mut();
    // SAFETY: a new mapping.
    let at = unsafe { libc::mmap(null, 3 * PAGE, rights, libc::MAP_PRIVATE, descriptor, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    let start = at.cast::<u8>();
    for (first, bytes) in [(0, 3 * PAGE), (PAGE, PAGE), (PAGE + 8, 100)] {
        // SAFETY: only compared.
        let (error, said) = refused(&space, unsafe { start.add(first) }, bytes);
        match error {
            RangeError::System { .. } => assert!(said.contains("shorter than"), "{said}"),
            error => assert!(matches!(error, RangeError::OtherBytes { .. }), "{error}"),
        }
    }
    // SAFETY: the first page is there, and only used through what is returned.
    let mut memory = unsafe { space.register(start, PAGE) }.unwrap();
    memory.slice::<AtomicU8>()[0].store(b'j', Relaxed);
    memory.free().unwrap();
    // SAFETY: the program's again.
    let read = unsafe { std::slice::from_raw_parts(start, 5) };
    assert_eq!(read, b"jello");
    let mut kept = [0; 5];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut kept, 0).unwrap();
    assert_eq!(&kept, b"hello");
}
