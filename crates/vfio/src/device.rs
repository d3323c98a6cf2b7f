//! An open PCI device: registers, memory and interrupt, independent of the shell.

use crate::address::PciAddress;
use crate::error::VfioError;
use crate::system::{Bar, Container, Event, Function, Group, RegionInfo};
use card::memory::HostMemory;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use vfio_bindings::bindings::vfio::VFIO_PCI_BAR0_REGION_INDEX;

const COMMAND: u64 = 0x04;
const COMMAND_MEMORY: u16 = 1 << 1;
const COMMAND_BUS_MASTER: u16 = 1 << 2;

/// A PCI device that this process drives until it is dropped.
///
/// Dropping it disables interrupts and bus mastering, then removes every map, and only then frees the memory.
pub struct Device {
    address: PciAddress,
    // Drop order: Linux removes the maps once everything before the container's memory is closed.
    bar: Bar,
    function: Function,
    event: Event,
    /// Signalled when Linux wants the device back.
    removal: Event,
    _group: Group,
    container: Container,
    ranges: Vec<Range<u64>>,
    opened: Instant,
}

fn link_name(path: &Path) -> Option<String> {
    let target = std::fs::read_link(path).ok()?;
    Some(target.file_name()?.to_string_lossy().into_owned())
}

impl Device {
    /// Opens a device that is bound to vfio-pci, resets it, and enables bus mastering.
    ///
    /// # Errors
    /// [`VfioError`].
    pub fn open(address: PciAddress) -> Result<Self, VfioError> {
        let system = |what| {
            move |error| VfioError::System {
                address,
                what,
                error,
            }
        };
        let (path, folder) = find_group(address)?;
        let group = Group::open(&path).map_err(|error| cannot_open(address, &path, error))?;
        if !group.is_viable().map_err(system("state of its group"))? {
            return Err(VfioError::GroupShared {
                address,
                others: devices_of(&folder),
            });
        }
        let path = Path::new("/dev/vfio/vfio");
        let container = Container::open().map_err(|error| cannot_open(address, path, error))?;
        if !container.is_known().map_err(system("version of vfio"))? {
            return Err(VfioError::System {
                address,
                what: "version of vfio",
                error: io::ErrorKind::Unsupported.into(),
            });
        }
        group
            .join(&container)
            .map_err(system("join of group and container"))?;
        container.enable().map_err(system("its IOMMU"))?;
        let ranges = container
            .ranges()
            .map_err(system("addresses of its IOMMU"))?;
        let mut function = group
            .device(&address.to_string())
            .map_err(system("opening the device"))?;
        let (is_pci, can_reset) = function.kinds().map_err(system("kind of device"))?;
        let region = function
            .region(VFIO_PCI_BAR0_REGION_INDEX)
            .map_err(system("BAR 0"))?;
        let vectors = function.vectors().map_err(system("interrupts"))?;
        if let Some(what) = lacks(is_pci, region, vectors) {
            return Err(VfioError::OtherDevice { address, what });
        }
        if can_reset {
            function.reset().map_err(system("reset"))?;
        }
        let event = Event::new().map_err(system("a descriptor for interrupts"))?;
        function.listen(&event).map_err(system("MSI-X"))?;
        let removal = Event::new().map_err(system("a descriptor for its removal"))?;
        if !function
            .listen_for_removal(&removal)
            .map_err(system("notification of its removal"))?
        {
            tracing::debug!("{address}: this kernel does not notify of a removal");
        }
        let command = function.read_configuration(COMMAND);
        let command = command.map_err(system("its command register"))?;
        function
            .write_configuration(COMMAND, command | COMMAND_MEMORY | COMMAND_BUS_MASTER)
            .map_err(system("its command register"))?;
        let bar = function.map(region).map_err(system("mapping of BAR 0"))?;
        tracing::debug!(
            "{address}: BAR 0 of {} bytes, {vectors} vectors, addresses {ranges:x?}",
            region.bytes
        );
        Ok(Self {
            address,
            bar,
            function,
            event,
            removal,
            _group: group,
            container,
            ranges,
            opened: Instant::now(),
        })
    }

    /// Size of BAR 0 in bytes.
    pub fn bar_bytes(&self) -> u64 {
        self.bar.bytes() as u64
    }

    /// Time since the device was opened.
    pub fn elapsed(&self) -> Duration {
        self.opened.elapsed()
    }

    /// PCI address of the device.
    pub fn address(&self) -> PciAddress {
        self.address
    }

    /// Address ranges that the IOMMU can map, in ascending order. Empty if Linux does not report them.
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// Reads a register of BAR 0 at a byte address; `None` outside the BAR.
    pub fn read(&self, address: u32) -> Option<u32> {
        self.bar.read(address)
    }

    /// Writes a register of BAR 0 at a byte address; earlier writes to memory are visible to the device first. False
    /// outside the BAR.
    pub fn write(&mut self, address: u32, value: u32) -> bool {
        self.bar.write(address, value)
    }

    /// Reads 16 bits of the configuration space at byte offset `at`.
    ///
    /// # Errors
    /// The device does not respond.
    pub fn read_configuration(&mut self, at: u64) -> io::Result<u16> {
        self.function.read_configuration(at)
    }

    /// Writes 16 bits of the configuration space at byte offset `at`.
    ///
    /// # Errors
    /// The device does not respond.
    pub fn write_configuration(&mut self, at: u64, value: u16) -> io::Result<()> {
        self.function.write_configuration(at, value)
    }

    /// Maps memory for the device at a bus address, a multiple of 4096.
    ///
    /// # Errors
    /// Error of Linux: `OutOfMemory` if the limit of locked memory is reached.
    pub fn map(&mut self, address: u64, memory: Arc<HostMemory>) -> io::Result<()> {
        self.container.map(address, memory)
    }

    /// Removes the map at a bus address.
    ///
    /// # Errors
    /// There is no map at this address.
    pub fn unmap(&mut self, address: u64) -> io::Result<()> {
        self.container.unmap(address)
    }

    /// Waits for an interrupt, for at most `limit`; true if there was one since the last call.
    ///
    /// # Errors
    /// Error of Linux.
    pub fn wait(&mut self, limit: Duration) -> io::Result<bool> {
        self.event.wait(limit)
    }

    /// Whether Linux has asked for the device since the last call: it is being unplugged, or unbound from vfio-pci. The
    /// removal waits until this process closes the device.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn is_wanted_back(&mut self) -> io::Result<bool> {
        self.removal.wait(Duration::ZERO)
    }
}

/// The first requirement of a shell that the device does not meet, if any.
fn lacks(is_pci: bool, bar: RegionInfo, vectors: u32) -> Option<String> {
    if !is_pci {
        return Some("it is no PCI device".to_owned());
    }
    let bytes = bar.bytes;
    if bytes == 0 || !bar.can_be_mapped {
        return Some(format!("BAR 0, of {bytes} bytes, cannot be mapped"));
    }
    (vectors == 0).then(|| "it has no MSI-X".to_owned())
}

/// The group's file below `/dev/vfio`, and its folder in sysfs.
fn find_group(address: PciAddress) -> Result<(PathBuf, PathBuf), VfioError> {
    let device = PathBuf::from(format!("/sys/bus/pci/devices/{address}"));
    if !device.exists() {
        return Err(VfioError::NoDevice(address));
    }
    let group = device.join("iommu_group");
    let number = link_name(&group).ok_or(VfioError::NoIommu(address))?;
    let driver = link_name(&device.join("driver"));
    if driver.as_deref() != Some("vfio-pci") {
        return Err(VfioError::OtherDriver { address, driver });
    }
    let path = Path::new("/dev/vfio").join(&number);
    // vfio's no-IOMMU mode uses other names.
    match path.exists() {
        true => Ok((path, group)),
        false => Err(VfioError::NoIommu(address)),
    }
}

fn devices_of(group: &Path) -> Vec<String> {
    let devices = std::fs::read_dir(group.join("devices"))
        .into_iter()
        .flatten()
        .flatten();
    let mut names: Vec<String> = devices
        .map(|device| {
            let driver = link_name(&device.path().join("driver"));
            let driver = driver.as_deref().unwrap_or("nothing");
            format!(
                "{} (driven by {driver})",
                device.file_name().to_string_lossy()
            )
        })
        .collect();
    names.sort();
    names
}

fn cannot_open(address: PciAddress, path: &Path, error: io::Error) -> VfioError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::PermissionDenied => VfioError::NoPermission { address, path },
        io::ErrorKind::ResourceBusy => VfioError::InUse { address, path },
        _ => VfioError::System {
            address,
            what: "opening its group",
            error,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_a_bar_or_an_interrupt_is_refused_by_name() {
        let bar = |bytes, can_be_mapped| RegionInfo {
            offset: 0,
            bytes,
            can_be_mapped,
        };
        let good = bar(2 << 20, true);
        assert_eq!(lacks(true, good, 1), None);
        for (what, is_pci, bar, vectors) in [
            ("it is no PCI device", false, good, 1),
            ("BAR 0, of 0 bytes", true, bar(0, true), 1),
            ("cannot be mapped", true, bar(2 << 20, false), 1),
            ("it has no MSI-X", true, good, 0),
        ] {
            let said = lacks(is_pci, bar, vectors).unwrap();
            assert!(said.contains(what), "{said}");
        }
    }
}
