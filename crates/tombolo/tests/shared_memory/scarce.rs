//! Resources that a system can refuse, and accesses of a kernel to addresses that are not its own: defined errors,
//! programs that continue, and other memory untouched.

use crate::mistakes::{in_a_process, CHILD};
use crate::{build, functional, kernel, simulated, start, wait, Node};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tombolo::{
    AddressSpace, Card, Error, MapOptions, PageSize, SharedMemory, SlotId, SpaceOptions,
    SpacePlacement, TrapWay,
};

const PAGE: usize = 4096;

#[test]
fn a_system_without_userfaultfd_says_what_would_change_it_and_pages_are_protected() {
    let name =
        "scarce::a_system_without_userfaultfd_says_what_would_change_it_and_pages_are_protected";
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process(name);
        assert!(status.success(), "{status}");
        return;
    }
    refuse(libc::SYS_userfaultfd);
    for way in [TrapWay::Userfault, TrapWay::InThread] {
        let told = tombolo::measure_traps_with(way).unwrap_err().to_string();
        let settings = ["vm.unprivileged_userfaultfd=1", "CAP_SYS_PTRACE", "seccomp"];
        assert!(settings.iter().all(|one| told.contains(one)), "{told}");
        let card = functional(4, None);
        let space = card.create_space().unwrap();
        let memory = space.alloc_with_traps(4 * PAGE, PageSize::KIB_4, way);
        let memory = memory.unwrap();
        assert_eq!(memory.trap_way(), Some(TrapWay::Protect));
        summed(&card, &space, &memory);
    }
}

/// A list in the memory is summed by a kernel, and its values are right.
fn summed(card: &Card, space: &AddressSpace, memory: &SharedMemory) {
    let nodes = build(memory, 6, 8);
    let output = memory.slice::<Node>().last().unwrap();
    let slot = start(card, SlotId(0), space, nodes[0], output, 1, 0);
    wait(&slot).unwrap();
    assert_eq!(output.value.load(Relaxed), 6);
    for (n, node) in (0..).zip(&nodes) {
        assert_eq!(node.value.load(Relaxed), n * 3 + 2);
    }
}

/// From now on a system call fails with EPERM in this process, as in a container that forbids it; so does what
/// `/dev/userfaultfd` would answer.
fn refuse(call: libc::c_long) {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const NUMBER: u32 = 0; // of `seccomp_data`: the call's number
    const SECOND: u32 = 24; // and the low half of its second argument
    const EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const NEW: u32 = 0xaa00; // USERFAULTFD_IOC_NEW
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut steps = [
        step(LOAD, 0, 0, NUMBER),
        step(EQUAL, 4, 0, call as u32),
        step(EQUAL, 0, 2, libc::SYS_ioctl as u32),
        step(LOAD, 0, 0, SECOND),
        step(EQUAL, 1, 0, NEW),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, 0, refused),
    ];
    let filter = libc::sock_fprog {
        len: steps.len() as u16,
        filter: steps.as_mut_ptr(),
    };
    // SAFETY: numbers, and a filter that the system copies. This process is of one test.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let how = libc::SECCOMP_SET_MODE_FILTER;
        // All threads of it: the test's is not the first.
        let flags = libc::SECCOMP_FILTER_FLAG_TSYNC;
        assert_eq!(
            libc::syscall(libc::SYS_seccomp, how, flags, &raw const filter),
            0
        );
    }
}

#[test]
fn a_host_without_memory_refuses_and_what_is_shared_goes_on() {
    let name = "scarce::a_host_without_memory_refuses_and_what_is_shared_goes_on";
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process(name);
        assert!(status.success(), "{status}");
        return;
    }
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc_with_pages(4 * PAGE, PageSize::KIB_4).unwrap();
    // The card takes its memory when it is first used.
    summed(&card, &space, &memory);
    let own = vec![7u64; (64 << 20) / 8];
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: a place for a limit, of this process, which is of one test.
    unsafe {
        libc::getrlimit(libc::RLIMIT_AS, &raw mut limit);
        limit.rlim_cur = resident_addresses() + (8 << 20);
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
    }
    for way in [TrapWay::Protect, TrapWay::Userfault] {
        let refused = space.alloc_with_traps(64 << 20, PageSize::KIB_4, way);
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Unshareable { .. }), "{error}");
        assert!(error.to_string().contains("memory"), "{error}");
    }
    // To register takes a second copy while it changes hands.
    // SAFETY: it lives longer, and nobody touches it.
    let error = unsafe { space.register(own.as_ptr().cast_mut().cast(), 60 << 20) }.unwrap_err();
    assert!(error.to_string().contains("memory"), "{error}");
    assert!(own.iter().all(|&word| word == 7));
    summed(&card, &space, &memory);
}

/// Bytes of addresses that this process has.
fn resident_addresses() -> u64 {
    let said = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = said.split(' ').next().unwrap().parse().unwrap();
    pages * PAGE as u64
}

#[test]
fn one_page_of_card_memory_is_enough_or_it_is_said() {
    // Each page leaves for the next: a list over six of them, in two frames and under a limit of one.
    let card = functional(2, None);
    let options = SpaceOptions::new().placement(SpacePlacement::Channel(0));
    let space = card.create_space_with(options.limit(PAGE as u64)).unwrap();
    let memory = space.alloc_with_pages(8 * PAGE, PageSize::KIB_4).unwrap();
    summed(&card, &space, &memory);
    let report = card.report().unwrap();
    assert!(report.paging.evictions > 0, "{report}");
    // A page that does not fit is refused, and nothing is left behind.
    let error = space.alloc_with_pages(PAGE, PageSize::MIB_2).unwrap_err();
    assert!(
        error.to_string().contains("no page of 2 MiB fits"),
        "{error}"
    );
    summed(&card, &space, &memory);
}

#[test]
fn a_file_is_not_mapped_over_shared_memory_nor_memory_over_a_file() {
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc_with_pages(4 * PAGE, PageSize::KIB_4).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [9; 3 * PAGE]).unwrap();
    for offset in [0, PAGE as u64, 3 * PAGE as u64] {
        let there = memory.address().get() + offset;
        let there = tombolo::VirtAddr::new(there).unwrap();
        let options = MapOptions::read_only().address(there);
        let error = space.map_file(file.path(), options).unwrap_err();
        assert!(error.to_string().contains("overlap"), "{error}");
    }
    summed(&card, &space, &memory);
    // The other way round: a file lies where a block of the program is to be shared.
    let own = Block::new(4);
    let there = tombolo::VirtAddr::new(own.start as u64).unwrap();
    let options = MapOptions::read_only().address(there);
    let mapping = space.map_file(file.path(), options).unwrap();
    own.words()[3].store(5, Relaxed);
    // SAFETY: the block lives longer.
    let error = unsafe { space.register(own.start, 4 * PAGE) }.unwrap_err();
    assert!(error.to_string().contains("overlap"), "{error}");
    assert_eq!(own.words()[3].load(Relaxed), 5);
    mapping.unmap().unwrap();
    // SAFETY: as above.
    let shared = unsafe { space.register(own.start, 4 * PAGE) }.unwrap();
    assert_eq!(shared.slice::<AtomicU64>()[3].load(Relaxed), 5);
}

/// Pages of the program's.
struct Block {
    start: *mut u8,
    bytes: usize,
}

impl Block {
    fn new(pages: usize) -> Self {
        let bytes = pages * PAGE;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, how, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        Self {
            start: at.cast(),
            bytes,
        }
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: mapped as long as the block lives, and aligned.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes / 8) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and shared no more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// A kernel that writes wherever an address can point: rows before and behind its memory, the program's stack, heap,
/// code and constants, another space's memory, and what no program has.
fn scribbles(card: &Card) {
    let (space, other) = (card.create_space().unwrap(), card.create_space().unwrap());
    // The middle of three blocks that lie side by side, of which it alone is shared with the kernel.
    let memory = space.alloc_with_pages(2 * PAGE, PageSize::KIB_4).unwrap();
    let neighbour = other.alloc_with_pages(2 * PAGE, PageSize::KIB_4).unwrap();
    for word in memory.slice::<AtomicU64>().iter().chain(neighbour.slice()) {
        word.store(0x5a5a, Relaxed);
    }
    let on_the_stack = [0x5a5au64; 64];
    let on_the_heap = vec![0x5a5au64; 64];
    static CONSTANT: [u64; 64] = [0x5a5a; 64];
    let inside = memory.address().get();
    let end = inside + 2 * PAGE as u64;
    let addresses = [
        0,
        PAGE as u64,
        inside - PAGE as u64,
        end,
        on_the_stack.as_ptr() as u64,
        on_the_heap.as_ptr() as u64,
        CONSTANT.as_ptr() as u64,
        scribbles as fn(&Card) as usize as u64,
        neighbour.address().get(),
        (1 << 47) - 4096,
        (1 << 48) - 4096,
    ];
    let slot = card.load(SlotId(0), kernel("copy"), &space).unwrap();
    let scribble = |to: u64, bytes: u64| {
        slot.set("input", inside).unwrap();
        slot.set("output", to & !63).unwrap();
        slot.set("bytes", bytes).unwrap();
        slot.start().unwrap();
        wait(&slot).unwrap_err()
    };
    for to in addresses {
        let error = scribble(to, 512);
        assert!(matches!(error, Error::Access(_)), "{to:#x}: {error}");
    }
    // It begins inside, and goes on beyond the end.
    let error = scribble(inside + PAGE as u64, 2 * PAGE as u64);
    assert!(matches!(error, Error::Access(_)), "{error}");
    let untouched = |words: &[u64]| words.iter().all(|&word| word == 0x5a5a);
    assert!(untouched(&on_the_stack) && untouched(&on_the_heap) && untouched(&CONSTANT));
    let of = |memory: &SharedMemory| {
        let words = memory.slice::<AtomicU64>().iter();
        words.map(|word| word.load(Relaxed)).collect::<Vec<_>>()
    };
    assert!(untouched(&of(&neighbour)));
    assert!(untouched(&of(&memory)), "it copied what was there");
    // Slot, space and memory are as good as before; so are the others'.
    slot.set("output", inside + PAGE as u64).unwrap();
    slot.set("bytes", 512).unwrap();
    memory.slice::<AtomicU64>()[9].store(77, Relaxed);
    slot.start().unwrap();
    wait(&slot).unwrap();
    assert_eq!(memory.slice::<AtomicU64>()[PAGE / 8 + 9].load(Relaxed), 77);
    drop(slot);
    let nodes = build(&neighbour, 4, 8);
    let output = neighbour.slice::<Node>().last().unwrap();
    wait(&start(card, SlotId(0), &other, nodes[0], output, 0, 0)).unwrap();
    assert_eq!(output.value.load(Relaxed), 4);
}

#[test]
fn a_kernel_that_scribbles_harms_nobody_on_the_functional_card() {
    scribbles(&functional(8, None));
}

#[test]
fn a_kernel_that_scribbles_harms_nobody_on_the_simulated_card() {
    scribbles(&simulated());
}
