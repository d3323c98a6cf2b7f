//! Checks, in a guest, a card whose program has just been killed (`tools/guest`): maps memory at that program's
//! addresses, resets the shell by its register, and checks whether the card writes any byte afterwards.
//!
//! `after_kill 0000:00:03.0`

use card::memory::HostMemory;
use card::registers as reg;
use std::sync::Arc;
use std::time::{Duration, Instant};
use vfio::Device;

/// First address that drivers allocate, and the size of the range checked.
const FIRST: u64 = 1 << 28;
const BYTES: usize = 64 << 20;
const PATTERN: u8 = 0xa5;
const LIMIT: Duration = Duration::from_secs(20);
const AFTER: Duration = Duration::from_millis(30);

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).ok_or("give a PCI address")?;
    let mut device = Device::open(address.parse()?)?;
    let read = |device: &Device, register| device.read(register).ok_or("outside the BAR");
    let found = read(&device, reg::RESET)?;
    let busy = reg::status::IDLE.get(read(&device, reg::STATUS)?) == 0;
    let memory = Arc::new(HostMemory::sparse(BYTES)?);
    memory.write(0, &vec![PATTERN; BYTES])?;
    device.map(FIRST, memory.clone())?;
    let bytes = || -> Result<Vec<u8>, Failure> {
        let mut bytes = vec![0; BYTES];
        memory.read(0, &mut bytes)?;
        Ok(bytes)
    };
    device.write(reg::RESET, reg::reset::START.put(1));
    let began = Instant::now();
    loop {
        let value = read(&device, reg::RESET)?;
        if reg::reset::DONE.get(value) == 1 && reg::reset::BUSY.get(value) == 0 {
            break;
        }
        if began.elapsed() > LIMIT {
            return Err(format!("register RESET stays 0x{value:08x}").into());
        }
    }
    let then = bytes()?;
    let before = then.iter().filter(|byte| **byte != PATTERN).count();
    std::thread::sleep(AFTER);
    let written = bytes()?
        .iter()
        .zip(&then)
        .filter(|(now, then)| now != then)
        .count();
    println!(
        "after kill: used {}, busy {}, written before the end of the reset {before}, after it {written}",
        reg::reset::USED.get(found),
        u8::from(busy)
    );
    match written {
        0 => Ok(()),
        _ => Err("the card has written after its reset".into()),
    }
}
