//! Errors of opening a device through vfio.

use crate::address::PciAddress;
use std::io;
use std::path::PathBuf;

/// Why a device cannot be opened; messages include the remedy.
#[derive(Debug, thiserror::Error)]
pub enum VfioError {
    /// No device has this address.
    #[error("{0}: no such PCI device; `lspci -D` lists them")]
    NoDevice(PciAddress),
    /// No IOMMU isolates the device from memory.
    #[error(
        "{0}: no IOMMU keeps the device within its bounds; turn it on in the firmware and boot with `intel_iommu=on` or \
         `amd_iommu=on` (a device without one is not driven: it could write anywhere)"
    )]
    NoIommu(PciAddress),
    /// The device is bound to another driver, or to none.
    #[error(
        "{address}: driven by {driver}, not by vfio-pci; as root: `modprobe vfio-pci; echo vfio-pci > \
         /sys/bus/pci/devices/{address}/driver_override; echo {address} > /sys/bus/pci/drivers_probe`{unbind}",
        driver = .driver.as_deref().unwrap_or("nothing"),
        unbind = .driver.as_deref().map_or(String::new(), |driver| format!(
            ", after `echo {address} > /sys/bus/pci/drivers/{driver}/unbind`"
        ))
    )]
    OtherDriver {
        /// Address of the device.
        address: PciAddress,
        /// The present driver, if any.
        driver: Option<String>,
    },
    /// Another process has the device open.
    #[error("{address}: {} is in use: another program drives the card, and one can at a time", .path.display())]
    InUse {
        /// Address of the device.
        address: PciAddress,
        /// Path of the IOMMU group's file.
        path: PathBuf,
    },
    /// Insufficient permission.
    #[error("{address}: no permission for {path}; run as root, or `chown $USER {path}`", path = .path.display())]
    NoPermission {
        /// Address of the device.
        address: PciAddress,
        /// Path of the file that cannot be opened.
        path: PathBuf,
    },
    /// Other devices of the IOMMU group are bound to other drivers.
    #[error("{address}: other devices of its IOMMU group must be bound to vfio-pci, or to nothing, too: {}", .others.join(", "))]
    GroupShared {
        /// Address of the device.
        address: PciAddress,
        /// Addresses of the group's devices.
        others: Vec<String>,
    },
    /// The device has no shell.
    #[error("{address}: {what}; this is no card with a shell")]
    OtherDevice {
        /// Address of the device.
        address: PciAddress,
        /// The requirement that is not met.
        what: String,
    },
    /// A system call failed.
    #[error("{address}: {what}: {error}")]
    System {
        /// Address of the device.
        address: PciAddress,
        /// The failed operation.
        what: &'static str,
        /// Error of the operating system.
        error: io::Error,
    },
}
