//! Selection of the card: by the environment, or by platform.

use crate::error::XrtError;
use crate::places;
use std::path::{Path, PathBuf};
use tombolo::{CardName, SimOptions};

/// The card that `TOMBOLO_XRT_CARD`, else `TOMBOLO_CARD`, selects; `None`: the card of the xclbin's platform. The slots
/// of a device already hold the kernels, in the order of the compute units.
pub(crate) fn selected_card() -> Option<CardName> {
    CardName::from_environment("TOMBOLO_XRT_CARD")
        .or_else(|| CardName::from_environment(CardName::VARIABLE))
}

/// Platform of a design that specifies none.
pub const DEFAULT_PLATFORM: &str = "u280";

/// Options of a platform, by its name or file, from the folder where the library is installed.
pub(crate) fn sim_options(platform: &str) -> Result<SimOptions, XrtError> {
    let home = places::home();
    let file = match &home {
        Some(home) if Path::new(platform).extension().is_none() => {
            home.join("platforms").join(format!("{platform}.toml"))
        }
        _ => PathBuf::from(platform),
    };
    let named = SimOptions::named(&file.display().to_string());
    let mut options = named.map_err(tombolo::Error::from)?;
    if let Some(home) = home {
        options.home = home;
    }
    Ok(options)
}
