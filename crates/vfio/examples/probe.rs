//! Proves, in a guest, that vfio-pci, IOMMU and interrupts work with a device that only copies (`tools/guest`).
//!
//! `probe 0000:00:03.0`

use card::memory::HostMemory;
use device::{Probe, ProbeRegister as Register};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vfio::Device;

const BYTES: usize = 1 << 20;
const COMMAND: u64 = 0x04;
const BUS_MASTER: u16 = 1 << 2;

type Failure = Box<dyn std::error::Error>;

fn check(what: &str, holds: bool) -> Result<(), Failure> {
    println!("{what}: {}", if holds { "ok" } else { "WRONG" });
    holds.then_some(()).ok_or_else(|| what.into())
}

/// Copies all of the first memory to the second; returns the number of bytes that the device reports as written, and
/// whether it raised an interrupt.
fn copy(device: &mut Device, source: u64, target: u64) -> Result<(usize, bool), Failure> {
    for (register, half) in [
        (Register::SourceLow, source),
        (Register::SourceHigh, source >> 32),
        (Register::TargetLow, target),
        (Register::TargetHigh, target >> 32),
        (Register::Copy, BYTES as u64),
    ] {
        device.write(register as u32, half as u32);
    }
    let interrupted = device.wait(Duration::from_secs(5))?;
    let copied = device
        .read(Register::Copied as u32)
        .ok_or("outside the BAR")?;
    Ok((copied as usize, interrupted))
}

fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("give a PCI address")?;
    let mut device = Device::open(address.parse()?)?;
    println!("addresses of the IOMMU: {:x?}", device.ranges());
    check("the ranges leave the window of interrupts out", {
        let window = 0xfee0_0000u64..0xfef0_0000;
        let ranges = device.ranges();
        !ranges.is_empty()
            && ranges
                .iter()
                .all(|range| range.end <= window.start || range.start >= window.end)
    })?;
    check(
        "identity",
        device.read(Register::Id as u32) == Some(Probe::MAGIC),
    )?;
    device.write(Register::Scratch as u32, 0x1234_5678);
    check(
        "a register keeps what is written",
        device.read(Register::Scratch as u32) == Some(0x1234_5678),
    )?;
    check(
        "no register outside the BAR",
        device.read(1 << 30).is_none() && !device.write(1 << 30, 0),
    )?;
    let began = Instant::now();
    for _ in 0..1000 {
        device.read(Register::Scratch as u32);
    }
    println!("a read takes {} us", began.elapsed().as_micros() / 1000);

    let memory = || HostMemory::sparse(BYTES).map(Arc::new);
    let (from, to) = (memory()?, memory()?);
    let pattern: Vec<u8> = (0..BYTES as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8)
        .collect();
    from.write(0, &pattern)?;
    let (source, target) = (1 << 32, (1 << 32) + (4 << 20));
    device.map(source, from)?;
    device.map(target, to.clone())?;
    let (copied, interrupted) = copy(&mut device, source, target)?;
    check("a copy of 1 MiB through the IOMMU", copied == BYTES)?;
    check("its interrupt", interrupted)?;
    let mut result = vec![0; BYTES];
    to.read(0, &mut result)?;
    check(
        "each byte",
        result
            .iter()
            .zip(&pattern)
            .all(|(got, sent)| *got == !*sent),
    )?;
    check(
        "no second interrupt",
        !device.wait(Duration::from_millis(50))?,
    )?;

    let command = device.read_configuration(COMMAND)?;
    device.write_configuration(COMMAND, command & !BUS_MASTER)?;
    let (copied, interrupted) = copy(&mut device, source, target)?;
    check(
        "nothing is reached without bus mastering",
        copied == 0 && !interrupted,
    )?;
    device.write_configuration(COMMAND, command)?;
    check(
        "what was pending comes with it",
        device.wait(Duration::from_secs(5))?,
    )?;
    let (copied, _) = copy(&mut device, source, target)?;
    check("and everything is reached again", copied == BYTES)?;

    device.unmap(target)?;
    let (copied, interrupted) = copy(&mut device, source, target)?;
    check(
        "what is not mapped any more is not reached",
        copied == 0 && interrupted,
    )?;
    let other = Device::open(address.parse()?)
        .err()
        .map(|error| error.to_string());
    println!(
        "a second program: {}",
        other.as_deref().unwrap_or("opened it")
    );
    check(
        "is refused",
        other.is_some_and(|error| error.contains("in use")),
    )?;
    drop(device);
    let again = Device::open(address.parse()?)?;
    check(
        "opened again, it is as new",
        again.read(Register::Scratch as u32) == Some(0),
    )?;
    println!("PROBE PASS");
    Ok(())
}
