//! Existing host programs: the share of XRT's interface that works, and its overhead over Tombolo's.

use super::Failure;
use crate::row::Row;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tombolo::{Card, SimOptions, SlotId};
use xrt::calls::Calls;
use xrt::link::{image_of, link};
use xrt::{
    container, Buffer, BufferFlags, CommandState, Device, Direction, Kernel, Run, UnitAccess,
};

/// Rows produced.
pub const NAMES: &[&str] = &["bring.xrt_calls", "bring.xrt_programs", "bring.overhead"];

/// Numbers to add: 4 MiB per array.
const COUNT: usize = 1 << 20;
const BYTES: usize = 4 * COUNT;
const PLATFORM: &str = "f1";

fn vadd() -> PathBuf {
    simcard::home().join("kernels/vadd")
}

fn left(at: usize) -> u32 {
    (at as u32).wrapping_mul(0x9e37_79b9)
}

/// Virtual time of the program with Tombolo's interface, in picoseconds, with the same explicit copies.
fn native() -> Result<u64, Failure> {
    let card = Card::simulated(SimOptions::named(PLATFORM)?, Default::default(), |_| {})?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), vadd(), &space)?;
    let since = card.describe()?.1.get();
    let (a, b, c) = (
        space.alloc(BYTES)?,
        space.alloc(BYTES)?,
        space.alloc(BYTES)?,
    );
    let words = [a.slice::<AtomicU32>(), b.slice(), c.slice()];
    for (at, (first, second)) in words[0].iter().zip(words[1]).enumerate() {
        first.store(left(at), Ordering::Relaxed);
        second.store(at as u32, Ordering::Relaxed);
    }
    a.prefetch()?;
    b.prefetch()?;
    for (name, memory) in [("a", &a), ("b", &b), ("c", &c)] {
        slot.set_pointer(name, memory.address())?;
    }
    slot.set("length", COUNT as u64)?;
    slot.start()?;
    slot.join(None)?;
    c.sync()?;
    let wrong = (0..COUNT)
        .find(|&at| words[2][at].load(Ordering::Relaxed) != left(at).wrapping_add(at as u32));
    if let Some(at) = wrong {
        return Err(format!("vadd with our interface: sum {at} is wrong").into());
    }
    let now = card.describe()?.1.get();
    card.close()?;
    Ok(now - since)
}

/// Virtual time of the program with XRT's interface, in picoseconds.
fn with_xrt() -> Result<u64, Failure> {
    let settings = [xrt::link::config::option("platform", PLATFORM)?];
    let design = link(vec![image_of(&vadd(), None)?], &settings)?.design;
    let device = Device::open(0)?;
    let uuid = device.load_bytes(&container::write(&design))?;
    let kernel = Kernel::open(&device, uuid, "vadd", UnitAccess::Shared)?;
    let since = device.now()?;
    let mut buffers = Vec::new();
    for index in 0..3 {
        let group = u32::try_from(kernel.group_id(index)?)?;
        buffers.push(Buffer::new(&device, BYTES, BufferFlags::NORMAL, group)?);
    }
    let of = |values: &dyn Fn(usize) -> u32| -> Vec<u8> {
        (0..COUNT).flat_map(|at| values(at).to_le_bytes()).collect()
    };
    for (buffer, bytes) in buffers.iter().zip([of(&left), of(&|at| at as u32)]) {
        buffer.write_bytes(&bytes, 0)?;
        buffer.sync(Direction::ToDevice, BYTES, 0)?;
    }
    let run = Run::new(&kernel);
    for (index, buffer) in (0..).zip(&buffers) {
        run.set_buffer(index, buffer)?;
    }
    run.set_bytes(3, &(COUNT as u64).to_le_bytes())?;
    run.start()?;
    if run.wait(0)? != CommandState::Completed {
        return Err("vadd with XRT's interface did not complete".into());
    }
    buffers[2].sync(Direction::FromDevice, BYTES, 0)?;
    let now = device.now()?;
    let mut sums = vec![0; BYTES];
    buffers[2].read_bytes(&mut sums, 0)?;
    if sums != of(&|at| left(at).wrapping_add(at as u32)) {
        return Err("vadd with XRT's interface: sums are wrong".into());
    }
    Ok(now - since)
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let calls = Calls::read()?;
    let share = calls.share_that_works();
    let (ours, theirs) = (native()?, with_xrt()?);
    let more = 100.0 * (theirs as f64 / ours as f64 - 1.0);
    Ok(vec![
        Row::new("bring.xrt_calls", share, "of 1,191 sites"),
        Row::new(
            "bring.xrt_programs",
            f64::from(calls.complete_programs()),
            "of 46 programs",
        ),
        Row::new("bring.overhead", more, "%"),
    ])
}
