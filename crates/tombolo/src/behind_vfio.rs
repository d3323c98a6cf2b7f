//! Cards behind Linux's vfio-pci, by name.

use crate::card_handle::Card;
use crate::error::Error;
use crate::owner::{ClockMode, OwnerOptions};
use card::CardError;
use std::path::Path;
use vfio::{CardFile, PciAddress, VfioCard};

/// Opens `ADDRESS?card=FILE`.
///
/// # Errors
/// No such name, file or device, and what to do about it; as [`Card::new`].
pub(crate) fn open(device: &str) -> Result<Card, Error> {
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
    let options = OwnerOptions {
        // Time is the world's.
        clock: ClockMode::Free,
        ..OwnerOptions::default()
    };
    Card::new(Box::new(VfioCard::open(address, &file)?), options)
}
