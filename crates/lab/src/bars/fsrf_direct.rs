//! Direct pages: a kernel streams from host memory over PCIe, alone and concurrently with copies of the DMA engine.

use super::{the_command, Failure};
use crate::driver::{Driver, START};
use crate::row::Row;
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::{Card, Loader, SpaceControl};
use simcard::{SimCard, SimOptions};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tombolo::{Continue, MapOptions, OwnerOptions, Report, Unsaved};
use units::{
    Asid, CardAddr, FrameNumber, HostAddr, Operation, PageEntry, PageSize, SlotId, Stripe,
    TableGeometry, Target as Place, VirtAddr,
};

/// Figures of direct reads alone; with concurrent copies to the card, of the reads and of the copies.
pub const NAMES: &[&str] = &[
    "fsrf.direct.share_of_link",
    "fsrf.direct.beside_paging",
    "fsrf.direct.paging_beside",
];

const SIZE: PageSize = PageSize::MIB_2;
/// Bytes that the kernel reads.
const BYTES: u64 = 4 << 20;
/// Address of the data, above the page table.
const DATA: u64 = 1 << 30;
const SLOT: SlotId = SlotId(0);

fn card_entry(at: u64, target: Place) -> Result<PageEntry, Failure> {
    let frame = CardAddr::new(at).and_then(FrameNumber::at).ok_or("frame")?;
    Ok(PageEntry {
        frame,
        size: SIZE,
        target,
        read: true,
        write: true,
        accessed: true,
        dirty: true,
    })
}

/// Peak rate of the link to the card in bytes per second: back-to-back completions.
pub(super) fn link_peak(options: &SimOptions) -> f64 {
    let pcie = options.platform.pcie();
    let packet = pcie.completion_bytes + pcie.tlp_overhead + pcie.link_overhead;
    pcie.wire_bytes_per_second as f64 * pcie.completion_bytes as f64 / packet as f64
}

/// Rates in bytes per second of the kernel's reads, and of concurrent copies if there are any.
fn measured(copies: u64) -> Result<(f64, f64), Failure> {
    let mut options = SimOptions::named("f1")?;
    options.shell.host_channel = true;
    let mut driver = Driver::new(SimCard::open(options, |_| {})?);
    let kernel = KernelPackage::open(&simcard::home().join("kernels/sum"))?;
    driver.card.load(SLOT, &kernel)?;
    let asid = Asid::new(0).ok_or("space")?;
    let base = CardAddr::new(0).ok_or("address")?;
    let table = TableGeometry::new(base, 10).ok_or("table")?;
    driver.command(Operation::Zero {
        to: table.base(),
        bytes: table.bytes(),
        stripe: Stripe::NONE,
    })?;
    driver
        .card
        .control_space(asid, SpaceControl::table(table, 1 << SIZE.class()))?;
    let map = |driver: &mut Driver<SimCard>, bytes: u64| -> Result<HostAddr, Failure> {
        let memory = Arc::new(HostMemory::allocate(bytes as usize)?);
        Ok(driver.card.map_host(memory)?)
    };
    let host = map(&mut driver, BYTES)?;
    let copied = map(&mut driver, SIZE.bytes())?;
    let pages = BYTES / SIZE.bytes();
    for page in 0..=pages {
        let address = VirtAddr::new(page * SIZE.bytes()).ok_or("address")?;
        let entry = match page < pages {
            true => card_entry(host.get() + page * SIZE.bytes(), Place::Host)?,
            false => card_entry(DATA, Place::Card)?,
        };
        driver.command(Operation::Install {
            asid,
            address,
            entry,
        })?;
    }
    driver.card.control_slot(SLOT, asid, true)?;
    for (name, value) in [("input", 0), ("output", BYTES), ("bytes", BYTES)] {
        driver.set(SLOT, &kernel, name, &u64::to_le_bytes(value))?;
    }
    driver.enable_interrupt(SLOT)?;
    let before = driver.card.statistics()?.link.bytes_to_card;
    let start = driver.card.now();
    driver.write(SLOT, START, 1)?;
    for number in 0..copies {
        let to = CardAddr::new(DATA + (1 + number % 64) * SIZE.bytes()).ok_or("address")?;
        driver.submit(
            Operation::CopyIn {
                from: copied,
                to,
                bytes: SIZE.bytes(),
                stripe: Stripe::NONE,
            },
            false,
        )?;
    }
    loop {
        let events = driver.card.wait(None)?;
        if events.contains(&Event::Interrupt(SLOT)) {
            break;
        }
    }
    let seconds = (driver.card.now() - start).as_seconds();
    let brought = driver.card.statistics()?.link.bytes_to_card - before;
    let others = brought.saturating_sub(BYTES);
    Ok((BYTES as f64 / seconds, others as f64 / seconds))
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let peak = link_peak(&SimOptions::named("f1")?);
    let (alone, _) = measured(0)?;
    let (reads, copies) = measured(16)?;
    eprintln!(
        "direct reads {:.2} GB/s of {:.2}; beside copies {:.2}, and they {:.2}",
        alone * 1e-9,
        peak * 1e-9,
        reads * 1e-9,
        copies * 1e-9
    );
    Ok(vec![
        Row::new(NAMES[0], alone / peak, "share"),
        Row::new(NAMES[1], reads / peak, "share"),
        Row::new(NAMES[2], copies / peak, "share"),
    ])
}

/// Figures of files that are mapped direct, through the pager.
pub const FILE_NAMES: &[&str] = &[
    "fsrf.direct.file.share_of_link",
    "fsrf.direct.file.first_pass",
    "fsrf.direct.file.beside_paging",
    "fsrf.direct.file.paging_beside",
    "fsrf.direct.command.share_of_link",
];

/// Size of each file in bytes: large enough that the start of a sequence, with its small windows, is negligible.
const FILE: u64 = 64 << 20;
/// Number of runs of a kernel: in the first, pages are read from the file to host memory.
const RUNS: usize = 2;

/// Bytes per second of runs of a kernel over files with a given mapping each.
fn of_files(
    folder: &Path,
    kernel: &str,
    inputs: &[(&str, bool)],
    (output, length): (&str, (&str, u64)),
) -> Result<Vec<f64>, Failure> {
    let mut options = SimOptions::named("f1")?;
    options.shell.host_channel = true;
    let kernel = options.home.join("kernels").join(kernel);
    let card = tombolo::Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let space = card.create_space()?;
    let slot = card.load(SLOT, &kernel, &space)?;
    let mut mapped = Vec::new();
    for &(name, direct) in inputs {
        let path = folder.join(name);
        std::fs::write(&path, vec![1; FILE as usize])?;
        let plain = MapOptions::read_only();
        let options = if direct { plain.direct() } else { plain };
        let mapping = space.map_file(&path, options)?;
        slot.set_pointer(name, mapping.address())?;
        mapped.push(mapping);
    }
    let result = space.map_file(folder.join(output), MapOptions::create(FILE))?;
    slot.set_pointer(output, result.address())?;
    slot.set(length.0, length.1)?;
    for _ in 0..RUNS {
        // Data that is not direct is transferred to the card in each run.
        for mapping in mapped.iter().zip(inputs).filter(|(_, (_, direct))| !direct) {
            mapping.0.refresh(Unsaved::Save)?;
        }
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
    }
    let report = card.report()?;
    let runs = report.runs.iter();
    Ok(runs
        .map(|run| FILE as f64 / run.time.as_seconds())
        .collect())
}

/// The same through the command, which runs a kernel once.
fn by_command(folder: &Path) -> Result<f64, Failure> {
    let run = Command::new(the_command()?)
        .current_dir(folder)
        .args(["run", "sum", "--quiet", "--set", "bytes=size(input)"])
        .args(["--map", "input=input:direct", "--map", "output=sum:new=64"])
        .args(["--json", "report.json"])
        .output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned().into());
    }
    let report: Report = serde_json::from_slice(&std::fs::read(folder.join("report.json"))?)?;
    let run = report.runs.first().ok_or("no run")?;
    Ok(FILE as f64 / run.time.as_seconds())
}

pub fn files() -> Result<Vec<Row>, Failure> {
    let peak = link_peak(&SimOptions::named("f1")?);
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    let sum = ("output", ("bytes", FILE));
    let alone = of_files(folder, "sum", &[("input", true)], sum)?;
    // Both inputs advance at the same rate: each has at most half of the link.
    let added = ("c", ("length", FILE / 4));
    let both = of_files(folder, "vadd", &[("a", true), ("b", false)], added)?;
    let command = by_command(folder)?;
    let [first, second] = alone[..] else {
        return Err("not every run ended".into());
    };
    let beside = *both.last().ok_or("no run")?;
    Ok(vec![
        Row::new(FILE_NAMES[0], second / peak, "share"),
        Row::new(FILE_NAMES[1], first / peak, "share"),
        Row::new(FILE_NAMES[2], beside / peak, "share"),
        Row::new(FILE_NAMES[3], beside / peak, "share"),
        Row::new(FILE_NAMES[4], command / peak, "share"),
    ])
}
