//! Speed of the simulated card: nanoseconds of processor time per evaluated cycle, with the
//! kernel `copy` busy and with the DMA engine busy.
//!
//! `cargo run --release -p tombolo-simcard --example sim_speed [MiB]`

use card::command::Command;
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::registers::SLOT_CONTROL;
use card::{Card, Loader, SlotId, SpaceControl};
use simcard::{home, SimCard, SimOptions};
use std::error::Error;
use std::sync::Arc;
use units::{
    Asid, CardAddr, CommandId, FrameNumber, Operation, PageEntry, PageSize, Stripe, TableGeometry,
    Target, VirtAddr,
};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const PAGE: u64 = 2 << 20;

/// Processor time of this thread, in seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call fills a local.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn run(card: &mut SimCard, operation: Operation) -> Result<()> {
    card.submit(Command {
        id: CommandId(1),
        operation,
        fence: false,
        notify: true,
        ..Command::default()
    })?;
    let events = card.wait(None)?;
    match events[..] {
        [Event::Completed { .. }] => Ok(()),
        _ => Err(format!("{events:?}").into()),
    }
}

/// Runs a function and prints its cost.
fn measure(
    card: &mut SimCard,
    name: &str,
    bytes: u64,
    what: impl FnOnce(&mut SimCard) -> Result<()>,
) -> Result<()> {
    let before = card.statistics()?;
    let start = processor_time();
    what(card)?;
    let seconds = processor_time() - start;
    let after = card.statistics()?;
    let cycles = after.cycles - before.cycles;
    let evaluated = after.evaluated_cycles - before.evaluated_cycles;
    println!(
        "{name}: {cycles} cycles, {evaluated} evaluated, {:.0} ns each; {:.0} kHz, {:.1} MB/s",
        seconds * 1e9 / evaluated as f64,
        cycles as f64 / seconds / 1e3,
        bytes as f64 / seconds / 1e6,
    );
    Ok(())
}

fn main() -> Result<()> {
    let mebibytes: u64 = std::env::args().nth(1).map_or(Ok(8), |text| text.parse())?;
    let bytes = mebibytes << 20;
    let mut card = SimCard::open(SimOptions::named("f1")?, |progress| eprintln!("{progress}"))?;
    let slot = SlotId(0);
    card.load(slot, &KernelPackage::open(&home().join("kernels/copy"))?)?;
    let space = Asid::new(1).ok_or("space")?;
    let table = TableGeometry::new(CardAddr::new(0).ok_or("address")?, 10).ok_or("table")?;
    run(
        &mut card,
        Operation::Zero {
            to: table.base(),
            bytes: table.bytes(),
            stripe: Stripe::NONE,
        },
    )?;
    let size = PageSize::from_bytes(PAGE).ok_or("page")?;
    card.control_space(space, SpaceControl::table(table, 1 << size.class()))?;
    // Input and output on separate channels.
    let place = |page: u64| {
        let half = bytes.div_ceil(PAGE);
        let channel = page / half;
        CardAddr::new((channel << 34) + (page % half + 16) * PAGE).ok_or("address")
    };
    for page in 0..2 * bytes.div_ceil(PAGE) {
        let entry = PageEntry {
            frame: FrameNumber::at(place(page)?).ok_or("frame")?,
            size,
            target: Target::Card,
            read: true,
            write: true,
            accessed: false,
            dirty: false,
        };
        let address = VirtAddr::new(page * PAGE).ok_or("address")?;
        run(
            &mut card,
            Operation::Install {
                asid: space,
                address,
                entry,
            },
        )?;
    }
    let memory = Arc::new(HostMemory::allocate(bytes as usize)?);
    let at = card.map_host(memory)?;
    card.control_slot(slot, space, true)?;
    let to = place(0)?;
    measure(&mut card, "copy in", bytes, |card| {
        run(
            card,
            Operation::CopyIn {
                from: at,
                to,
                bytes,
                stripe: Stripe::NONE,
            },
        )
    })?;
    measure(&mut card, "kernel ", bytes, |card| {
        let base = SLOT_CONTROL.at(0);
        let arguments = [
            (0x10, 0),
            (0x18, bytes.next_multiple_of(PAGE)),
            (0x20, bytes),
        ];
        for (offset, value) in arguments {
            card.write_register(base + offset, value as u32)?;
            card.write_register(base + offset + 4, (value >> 32) as u32)?;
        }
        for (offset, value) in [(4, 1), (8, 1), (0, 1)] {
            card.write_register(base + offset, value)?;
        }
        let events = card.wait(None)?;
        match events[..] {
            [Event::Interrupt(_)] => Ok(()),
            _ => Err(format!("{events:?}").into()),
        }
    })?;
    measure(&mut card, "copy out", bytes, |card| {
        run(
            card,
            Operation::CopyOut {
                from: to,
                to: at,
                bytes,
                stripe: Stripe::NONE,
            },
        )
    })
}
