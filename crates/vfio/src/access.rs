//! The interface between transport and device, which tests replace with faulty devices.

use crate::address::PciAddress;
use crate::device::Device;
use card::memory::HostMemory;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

/// BAR 0, IOMMU, interrupt and clock; see [`Device`].
pub(crate) trait Access: Send {
    fn address(&self) -> PciAddress;
    fn ranges(&self) -> &[Range<u64>];
    fn read(&self, address: u32) -> Option<u32>;
    fn write(&mut self, address: u32, value: u32) -> bool;
    fn map(&mut self, address: u64, memory: Arc<HostMemory>) -> io::Result<()>;
    fn unmap(&mut self, address: u64) -> io::Result<()>;
    fn wait(&mut self, limit: Duration) -> io::Result<bool>;
    fn is_wanted_back(&mut self) -> io::Result<bool>;
    /// Waits for a duration.
    fn pause(&mut self, time: Duration);
    /// Time since the device was opened.
    fn elapsed(&self) -> Duration;
}

impl Access for Device {
    fn address(&self) -> PciAddress {
        Device::address(self)
    }

    fn ranges(&self) -> &[Range<u64>] {
        Device::ranges(self)
    }

    fn read(&self, address: u32) -> Option<u32> {
        Device::read(self, address)
    }

    fn write(&mut self, address: u32, value: u32) -> bool {
        Device::write(self, address, value)
    }

    fn map(&mut self, address: u64, memory: Arc<HostMemory>) -> io::Result<()> {
        Device::map(self, address, memory)
    }

    fn unmap(&mut self, address: u64) -> io::Result<()> {
        Device::unmap(self, address)
    }

    fn wait(&mut self, limit: Duration) -> io::Result<bool> {
        Device::wait(self, limit)
    }

    fn is_wanted_back(&mut self) -> io::Result<bool> {
        Device::is_wanted_back(self)
    }

    fn pause(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn elapsed(&self) -> Duration {
        Device::elapsed(self)
    }
}
