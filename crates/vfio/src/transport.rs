//! The driver's transport to a card behind vfio-pci.

use crate::access::Access;
use card::driver::{AddressMap, Answer, Transport, Until, Woken};
use card::event::Event;
use card::memory::HostMemory;
use card::registers as reg;
use card::CardError;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use units::{HostAddr, Picoseconds};

/// Interval between checks of the card, and maximum duration of one wait for an interrupt.
const CHECK: Duration = Duration::from_secs(1);
/// Interval between polls of a register.
const PAUSE: Duration = Duration::from_millis(1);
const PICOSECONDS: u64 = 1000;

/// BAR, IOMMU and interrupt of a card, in real time.
pub(crate) struct VfioTransport<D> {
    device: D,
    addresses: AddressMap,
    /// Time of the last check.
    checked: Duration,
    /// The system has requested the device back: once true, always true.
    is_wanted_back: bool,
}

impl<D: Access> VfioTransport<D> {
    pub(crate) fn new(device: D) -> Self {
        Self {
            addresses: match device.ranges() {
                [] => AddressMap::default(),
                ranges => AddressMap::within(ranges),
            },
            checked: device.elapsed(),
            is_wanted_back: false,
            device,
        }
    }

    #[cfg(test)]
    pub(crate) fn device(&self) -> &D {
        &self.device
    }

    /// Time since the card was opened.
    pub(crate) fn now(&self) -> Picoseconds {
        let nanoseconds = u64::try_from(self.device.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Picoseconds::new(nanoseconds.saturating_mul(PICOSECONDS))
    }

    /// Interprets a read of all ones: the register's value (false), an error recorded by the shell (true), or a missing
    /// card (`Err`).
    fn all_ones(&mut self, address: u32) -> Result<bool, CardError> {
        let held = self.device.read(reg::ERROR).unwrap_or(u32::MAX);
        if held == u32::MAX {
            return Err(CardError::Broken(format!(
                "{}: register 0x{address:06x} reads 0xffffffff, and so does register ERROR: the card was reset, unplugged, \
                 or has stopped; open it anew",
                self.device.address()
            )));
        }
        if reg::error::BAR_READ.get(held) == 0 {
            self.check_present()?;
            return Ok(false);
        }
        let first = self.device.read(reg::ERROR_READ).unwrap_or(u32::MAX);
        self.device.write(reg::ERROR, reg::error::BAR_READ.put(1));
        Ok(reg::error_read::ADDRESS.get(first) == address)
    }

    /// Fails if the system has requested the device back, or if the card no longer responds; checked once per second, on
    /// the first access or wait after that time.
    fn check(&mut self) -> Result<(), CardError> {
        let now = self.device.elapsed();
        let is_due = now.saturating_sub(self.checked) >= CHECK;
        if is_due {
            self.checked = now;
            self.is_wanted_back |= self.device.is_wanted_back().unwrap_or(false);
        }
        match self.is_wanted_back {
            false if is_due => self.check_present(),
            false => Ok(()),
            true => Err(CardError::Broken(format!(
                "{}: the system wants the device back (hot unplug, or it is being unbound from vfio-pci) and waits until this \
                 program closes the card; pages that were not synced are lost; open it anew when it is there again",
                self.device.address()
            ))),
        }
    }

    /// Fails if the card no longer responds.
    fn check_present(&self) -> Result<(), CardError> {
        match self.device.read(reg::ID) {
            Some(reg::ID_MAGIC) => Ok(()),
            id => Err(CardError::Broken(format!(
                "{}: register ID reads 0x{:08x}: the card was reset, unplugged, or has stopped; open it anew",
                self.device.address(),
                id.unwrap_or(u32::MAX)
            ))),
        }
    }

    fn outside(&self, address: u32) -> CardError {
        CardError::Broken(format!(
            "{}: register 0x{address:06x} lies outside BAR 0",
            self.device.address()
        ))
    }
}

impl<D: Access> Transport for VfioTransport<D> {
    fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError> {
        self.check()?;
        let value = self
            .device
            .read(address)
            .ok_or_else(|| self.outside(address))?;
        let error = value == u32::MAX && self.all_ones(address)?;
        Ok(Poll::Ready(Answer {
            value,
            error,
            notes: None,
        }))
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        match self.device.write(address, value) {
            true => Ok(()),
            false => Err(self.outside(address)),
        }
    }

    fn is_device(&self) -> bool {
        true
    }

    fn pause(&mut self) {
        self.device.pause(PAUSE);
    }

    fn map(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        let bytes = memory.len();
        let address = self.addresses.map(memory.clone()).ok_or_else(|| {
            CardError::HostMemory(format!(
                "no range of {bytes} bytes is left that the card's IOMMU can map"
            ))
        })?;
        self.device.map(address.get(), memory).map_err(|error| {
            self.addresses.unmap(address);
            CardError::HostMemory(match error.kind() {
                std::io::ErrorKind::OutOfMemory => format!(
                    "{bytes} bytes cannot be pinned for {}: the limit of locked memory is reached; raise it (`ulimit -l \
                     unlimited`, or memlock in /etc/security/limits.conf), or use fewer DMA buffers",
                    self.device.address()
                ),
                _ => format!("{bytes} bytes at 0x{:x}: the IOMMU's driver refuses: {error}", address.get()),
            })
        })?;
        Ok(address)
    }

    fn unmap(&mut self, address: HostAddr) -> Result<(), CardError> {
        if self.addresses.unmap(address).is_none() {
            let at = address.get();
            return Err(CardError::HostMemory(format!(
                "nothing is mapped at 0x{at:x}"
            )));
        }
        self.device
            .unmap(address.get())
            .map_err(|error| CardError::HostMemory(format!("0x{:x}: {error}", address.get())))
    }

    fn wait(&mut self, until: Until, _events: &mut Vec<Event>) -> Result<Woken, CardError> {
        let Until::Events(deadline) = until else {
            return Ok(Woken::Idle); // No read is ever pending.
        };
        loop {
            self.check()?;
            let now = self.now();
            let left = match deadline {
                None => CHECK,
                Some(at) if at <= now => return Ok(Woken::Reached),
                Some(at) => Duration::from_nanos((at - now).get().div_ceil(PICOSECONDS)).min(CHECK),
            };
            match self.device.wait(left) {
                Ok(true) => return Ok(Woken::Interrupt),
                Ok(false) => {}
                Err(error) => {
                    return Err(CardError::Broken(format!(
                        "{}: interrupts: {error}",
                        self.device.address()
                    )))
                }
            }
        }
    }
}
