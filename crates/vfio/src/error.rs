//! Why there is no card behind vfio.

use crate::address::PciAddress;
use std::io;
use std::path::PathBuf;

/// Why a device cannot be opened, with the way out.
#[derive(Debug, thiserror::Error)]
pub enum VfioError {
    /// Nothing is there.
    #[error("{0}: no such PCI device; `lspci -D` lists them")]
    NoDevice(PciAddress),
    /// Nothing stands between it and memory.
    #[error(
        "{0}: no IOMMU keeps the device within its bounds; turn it on in the firmware and boot with `intel_iommu=on` or \
         `amd_iommu=on` (a device without one is not driven: it could write anywhere)"
    )]
    NoIommu(PciAddress),
    /// Another driver has it, or none.
    #[error(
        "{address}: driven by {driver}, not by vfio-pci; as root: `modprobe vfio-pci; echo vfio-pci > \
         /sys/bus/pci/devices/{address}/driver_override; echo {address} > /sys/bus/pci/drivers_probe`{unbind}",
        driver = .driver.as_deref().unwrap_or("nothing"),
        unbind = .driver.as_deref().map_or(String::new(), |driver| format!(
            ", after `echo {address} > /sys/bus/pci/drivers/{driver}/unbind`"
        ))
    )]
    OtherDriver {
        /// The device.
        address: PciAddress,
        /// Its driver.
        driver: Option<String>,
    },
    /// Somebody has it.
    #[error("{address}: {} is in use: another program drives the card, and one can at a time", .path.display())]
    InUse {
        /// The device.
        address: PciAddress,
        /// Its group.
        path: PathBuf,
    },
    /// No right to it.
    #[error("{address}: no permission for {path}; run as root, or `chown $USER {path}`", path = .path.display())]
    NoPermission {
        /// The device.
        address: PciAddress,
        /// What was to be opened.
        path: PathBuf,
    },
    /// Others of its group are driven by somebody else.
    #[error("{address}: other devices of its IOMMU group must be bound to vfio-pci, or to nothing, too: {}", .others.join(", "))]
    GroupShared {
        /// The device.
        address: PciAddress,
        /// The group's devices.
        others: Vec<String>,
    },
    /// Not a shell.
    #[error("{address}: {what}; this is no card with a shell")]
    OtherDevice {
        /// The device.
        address: PciAddress,
        /// What speaks against it.
        what: String,
    },
    /// A call failed.
    #[error("{address}: {what}: {error}")]
    System {
        /// The device.
        address: PciAddress,
        /// Which.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
}
