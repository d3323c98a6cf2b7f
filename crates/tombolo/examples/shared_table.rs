//! A hash table that the program builds with pointers in memory that it has, and a kernel that looks keys up in it:
//! docs/tutorials/shared-pointers.md.
//!
//! `cargo run --release --example shared_table` on the simulated card; with `-- functional`, on the functional one.

#[path = "common/command.rs"]
mod command;

use command::{command, Failure};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tombolo::{
    AddressSpace, Card, Continue, FunctionalCard, FunctionalConfig, PageSize, SharedMemory,
    SimOptions, SlotId,
};

const BITS: u32 = 8;
const KEYS: usize = 200;

/// A node as `kernels/hash_probe` knows it. The program has it before it shares it, so it is plain data.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Node {
    next: u64,
    key: u64,
    value: u64,
    rest: [u64; 5],
}

fn bucket(key: u64) -> usize {
    ((key ^ (key >> 21) ^ (key >> 42)) & ((1 << BITS) - 1)) as usize
}

/// Whole pages of ordinary memory for some values.
fn pages<T: Copy>(count: usize, zero: T) -> &'static mut [T] {
    let pages = (count * size_of::<T>()).div_ceil(4096);
    let layout = std::alloc::Layout::from_size_align(pages * 4096, 4096);
    let layout = layout.expect("a few pages");
    // SAFETY: as large as `count` values, aligned, written before it is read, and never freed.
    unsafe {
        let start = std::alloc::alloc(layout).cast::<T>();
        assert!(!start.is_null(), "no memory");
        for n in 0..pages * 4096 / size_of::<T>() {
            start.add(n).write(zero);
        }
        std::slice::from_raw_parts_mut(start, pages * 4096 / size_of::<T>())
    }
}

/// Shares memory that the program allocated itself.
fn share<T>(space: &AddressSpace, data: &mut [T]) -> Result<SharedMemory, tombolo::Error> {
    let bytes = size_of_val(data);
    // SAFETY: the pages are never freed, and nobody looks at them until they are shared no more.
    unsafe { space.register_with_pages(data.as_mut_ptr().cast(), bytes, PageSize::KIB_4) }
}

const USAGE: &str = "\
Usage: cargo run --release --example shared_table -- [functional]

Looks keys up in a hash table of the program, by kernel hash_probe, on the simulated card or the functional one.
(The example of kernel shared_table, whose rows a core and the kernel contend for, is contended_table.)";

fn main() -> ExitCode {
    command(std::env::args_os(), USAGE, 1, run)
}

fn run(words: &[OsString]) -> Result<(), Failure> {
    let card = match words.first().map(|word| word.to_string_lossy()).as_deref() {
        Some("functional") => Card::functional(FunctionalCard::new(FunctionalConfig::default()))?,
        Some(other) => return Err(format!("`{other}`: give `functional` or nothing").into()),
        None => Card::simulated(SimOptions::named("f1")?, Default::default(), |_| {})?,
    };

    // An ordinary table in ordinary memory, and the same in a map of the standard library.
    let none = Node {
        next: 0,
        key: 0,
        value: 0,
        rest: [0; 5],
    };
    let (nodes, heads) = (pages(KEYS, none), pages(1 << BITS, 0u64));
    let (wanted, found) = (pages(KEYS, 0u64), pages(2 * KEYS, 0u64));
    let mut judge = BTreeMap::new();
    for (n, node) in nodes[..KEYS].iter_mut().enumerate() {
        let key = (n as u64 * 3).pow(3);
        node.key = key;
        node.value = n as u64 + 1000;
        node.next = std::mem::replace(&mut heads[bucket(key)], std::ptr::from_mut(node) as u64);
        judge.insert(key, n as u64 + 1000);
        // Every other one is a key that is there.
        wanted[n] = if n % 2 == 0 { key } else { key + 1 };
    }

    let space = card.create_space()?;
    let slot = card.load(
        SlotId(0),
        std::path::Path::new("kernels/hash_probe"),
        &space,
    )?;
    let memory = share(&space, nodes)?;
    let (table, keys) = (share(&space, heads)?, share(&space, wanted)?);
    let mut results = share(&space, found)?;
    slot.set_pointer("buckets", table.address())?;
    slot.set_pointer("keys", keys.address())?;
    slot.set_pointer("output", results.address())?;
    slot.set("count", KEYS as u64)?;
    slot.set("bits", BITS.into())?;
    slot.start()?;
    // Meanwhile the program may write what the kernel leaves alone, in the same nodes.
    for word in memory.slice::<AtomicU64>().iter().skip(7).step_by(8) {
        word.store(1, Relaxed);
    }
    slot.wait(None, |_| Continue::Yes)?;

    // Ordinary memory again, with what the kernel found.
    results.free()?;
    for (n, result) in found.chunks(2).take(KEYS).enumerate() {
        let key = keys.slice::<AtomicU64>()[n].load(Relaxed);
        let expected = judge.get(&key).map_or([0, 0], |value| [1, *value]);
        if result != expected {
            return Err(format!("key {key}: {result:?} and not {expected:?}").into());
        }
    }
    let there = found.chunks(2).filter(|result| result[0] == 1).count();
    println!("{KEYS} keys looked up, {there} found, as the standard library says");
    Ok(())
}
