//! Cards bound to Linux's vfio-pci, opened by name.

use card::CardError;
use error::Error;
use std::path::Path;
use vfio::{CardFile, PciAddress, VfioCard};

/// Opens `ADDRESS?card=FILE`.
///
/// # Errors
/// The name, file or device does not exist or cannot be opened; the message names the remedy.
pub(crate) fn open(device: &str) -> Result<VfioCard, Error> {
    let refused = |what: String| CardError::Device(what);
    let Some((address, file)) = device.split_once("?card=") else {
        return Err(refused(format!(
            "vfio:{device}: what the card's registers do not say is missing: vfio:{device}?card=FILE; `tombolo device \
             --card FILE` writes such a file"
        ))
        .into());
    };
    let address: PciAddress = address
        .parse()
        .map_err(|error| refused(format!("{error}")))?;
    let file = CardFile::read(Path::new(file)).map_err(|error| refused(error.to_string()))?;
    Ok(VfioCard::open(address, &file)?)
}
