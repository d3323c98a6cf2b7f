//! Selection of the card: by the environment, or by platform.

use crate::error::XrtError;
use crate::places;
use std::path::{Path, PathBuf};
use tombolo::SimOptions;

/// The card that the environment selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AskedFor {
    /// The functional card, without RTL or timing.
    Functional,
    /// A card of a daemon, by its name for `Card::open`.
    Shared(String),
    /// A card behind vfio-pci, by its name for `Card::open`: its slots already hold the kernels, in the order of the
    /// compute units.
    Device(String),
    /// A simulated card of this platform.
    Platform(String),
}

/// The card that `TOMBOLO_XRT_CARD`, else `TOMBOLO_CARD`, selects; `None`: the card of the xclbin's platform.
pub(crate) fn card_asked_for() -> Option<AskedFor> {
    let asked = |name| std::env::var(name).ok().filter(|card| !card.is_empty());
    let card = asked("TOMBOLO_XRT_CARD").or_else(|| asked("TOMBOLO_CARD"))?;
    Some(match card.as_str() {
        "functional" => AskedFor::Functional,
        shared if shared.starts_with("unix:") => AskedFor::Shared(card),
        device if device.starts_with("vfio:") => AskedFor::Device(card),
        _ => AskedFor::Platform(card),
    })
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
