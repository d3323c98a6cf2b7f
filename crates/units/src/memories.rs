//! Memories of a card with several kinds.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A kind of card memory, as users name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// DRAM on modules: large.
    Ddr,
    /// Stacked DRAM next to the FPGA: many channels, fast, small.
    Hbm,
}

/// Neighbouring channels with memory of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardMemory {
    /// Kind of memory.
    pub kind: MemoryKind,
    /// Numbers of the channels.
    pub channels: Range<u8>,
    /// Bytes of memory of each channel.
    pub channel_bytes: u64,
}

/// The name is no kind of memory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no kind of memory: say ddr or hbm")]
pub struct UnknownMemory(pub String);

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ddr => "ddr",
            Self::Hbm => "hbm",
        })
    }
}

impl FromStr for MemoryKind {
    type Err = UnknownMemory;

    fn from_str(text: &str) -> Result<Self, UnknownMemory> {
        match text {
            "ddr" => Ok(Self::Ddr),
            "hbm" => Ok(Self::Hbm),
            _ => Err(UnknownMemory(text.to_owned())),
        }
    }
}

/// The memory of a channel.
pub fn of_channel(memories: &[CardMemory], channel: u8) -> Option<&CardMemory> {
    memories.iter().find(|one| one.channels.contains(&channel))
}

/// Names of the kinds, for messages.
pub fn names(memories: &[CardMemory]) -> String {
    let names: Vec<String> = memories.iter().map(|one| one.kind.to_string()).collect();
    match names.is_empty() {
        true => "memory that it says nothing of".to_owned(),
        false => names.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_names_they_are_asked_for_by() {
        for kind in [MemoryKind::Ddr, MemoryKind::Hbm] {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = MemoryKind::from_str("HBM").unwrap_err();
        assert!(error.to_string().contains("say ddr or hbm"), "{error}");
    }
}
