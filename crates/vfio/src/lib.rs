//! A card behind Linux's vfio-pci: a mapped BAR, an IOMMU and MSI-X (docs/pcie.md).

mod access;
mod address;
mod card;
mod card_file;
mod device;
mod error;
#[cfg(test)]
mod faulty_device;
mod geometry;
mod system;
mod transport;
mod watch;

pub use address::{PciAddress, PciAddressError};
pub use card::VfioCard;
pub use card_file::{CardFile, CardFileError};
pub use device::Device;
pub use error::VfioError;
