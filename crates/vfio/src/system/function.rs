//! A device of an IOMMU group.

use super::bar::Bar;
use super::call::{self, Call};
use super::event::Event;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use vfio_bindings::bindings::vfio::{
    vfio_device_info, vfio_irq_info, vfio_irq_set, vfio_region_info, VFIO_DEVICE_FLAGS_PCI,
    VFIO_DEVICE_FLAGS_RESET, VFIO_IRQ_SET_ACTION_TRIGGER, VFIO_IRQ_SET_DATA_EVENTFD,
    VFIO_PCI_CONFIG_REGION_INDEX, VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX,
    VFIO_REGION_INFO_FLAG_MMAP,
};

/// Location of a region in the device's descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionInfo {
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) can_be_mapped: bool,
}

/// An open device.
pub(crate) struct Function {
    file: std::fs::File,
    /// Queried once, since every access to the configuration space needs it.
    configuration: Option<RegionInfo>,
}

impl Function {
    pub(super) fn new(fd: OwnedFd) -> Self {
        Self {
            file: fd.into(),
            configuration: None,
        }
    }

    /// Whether it is a PCI device, and whether it supports a reset.
    pub(crate) fn kinds(&self) -> io::Result<(bool, bool)> {
        let mut info = vfio_device_info {
            argsz: size_of::<vfio_device_info>() as u32,
            ..Default::default()
        };
        // SAFETY: the structure of this call.
        unsafe { call::with(self.file.as_fd(), Call::DeviceGetInfo, &mut info)? };
        let has = |flag| info.flags & flag != 0;
        Ok((has(VFIO_DEVICE_FLAGS_PCI), has(VFIO_DEVICE_FLAGS_RESET)))
    }

    /// Location of a region.
    pub(crate) fn region(&self, index: u32) -> io::Result<RegionInfo> {
        let mut info = vfio_region_info {
            argsz: size_of::<vfio_region_info>() as u32,
            index,
            ..Default::default()
        };
        // SAFETY: the structure of this call.
        unsafe { call::with(self.file.as_fd(), Call::DeviceGetRegionInfo, &mut info)? };
        Ok(RegionInfo {
            offset: info.offset,
            bytes: info.size,
            can_be_mapped: info.flags & VFIO_REGION_INFO_FLAG_MMAP != 0,
        })
    }

    /// Maps a region into memory.
    pub(crate) fn map(&self, region: RegionInfo) -> io::Result<Bar> {
        let bytes = usize::try_from(region.bytes).map_err(io::Error::other)?;
        Bar::map(self.file.as_fd(), region.offset, bytes)
    }

    fn configuration(&mut self) -> io::Result<RegionInfo> {
        if self.configuration.is_none() {
            self.configuration = Some(self.region(VFIO_PCI_CONFIG_REGION_INDEX)?);
        }
        self.configuration
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Reads 16 bits of the configuration space at byte offset `at`.
    pub(crate) fn read_configuration(&mut self, at: u64) -> io::Result<u16> {
        let region = self.configuration()?;
        let mut word = [0; 2];
        self.file.read_exact_at(&mut word, region.offset + at)?;
        Ok(u16::from_le_bytes(word))
    }

    /// Writes 16 bits of the configuration space at byte offset `at`.
    pub(crate) fn write_configuration(&mut self, at: u64, value: u16) -> io::Result<()> {
        let region = self.configuration()?;
        self.file
            .write_all_at(&value.to_le_bytes(), region.offset + at)
    }

    /// Resets the device.
    pub(crate) fn reset(&self) -> io::Result<()> {
        call::with_number(self.file.as_fd(), Call::DeviceReset, 0).map(|_| ())
    }

    /// Number of MSI-X vectors.
    pub(crate) fn vectors(&self) -> io::Result<u32> {
        self.interrupts(VFIO_PCI_MSIX_IRQ_INDEX)
    }

    /// Interrupts of a kind.
    fn interrupts(&self, index: u32) -> io::Result<u32> {
        let mut info = vfio_irq_info {
            argsz: size_of::<vfio_irq_info>() as u32,
            index,
            ..Default::default()
        };
        // SAFETY: the structure of this call.
        unsafe { call::with(self.file.as_fd(), Call::DeviceGetIrqInfo, &mut info)? };
        Ok(info.count)
    }

    /// Turns MSI-X on: vector 0 signals `event`.
    pub(crate) fn listen(&self, event: &Event) -> io::Result<()> {
        self.signal(VFIO_PCI_MSIX_IRQ_INDEX, event)
    }

    /// Lets Linux signal `event` when it wants the device back; false if this kernel cannot.
    pub(crate) fn listen_for_removal(&self, event: &Event) -> io::Result<bool> {
        // Kernels that do not know the index refuse it.
        if self.interrupts(VFIO_PCI_REQ_IRQ_INDEX).unwrap_or(0) == 0 {
            return Ok(false);
        }
        self.signal(VFIO_PCI_REQ_IRQ_INDEX, event).map(|()| true)
    }

    /// Connects the first interrupt of a kind to `event`.
    fn signal(&self, index: u32, event: &Event) -> io::Result<()> {
        /// `vfio_irq_set` followed by an array of one descriptor.
        #[repr(C)]
        struct OneVector {
            set: vfio_irq_set,
            descriptor: i32,
        }
        let mut vector = OneVector {
            set: vfio_irq_set {
                argsz: size_of::<OneVector>() as u32,
                flags: VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
                index,
                start: 0,
                count: 1,
                ..Default::default()
            },
            descriptor: event.as_fd().as_raw_fd(),
        };
        // SAFETY: the structure of this request, with the one descriptor that it declares.
        unsafe { call::with(self.file.as_fd(), Call::DeviceSetIrqs, &mut vector)? };
        Ok(())
    }
}
