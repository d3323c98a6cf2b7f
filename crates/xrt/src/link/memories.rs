//! Memory banks of a platform, by their names in configurations.

use crate::design::{Memory, MemoryType};
use timing::platform::{MemoryKind, Platform};

/// Number of PLRAM banks of a platform.
const PLRAMS: u32 = 6;
/// Size of a PLRAM bank in bytes.
const PLRAM_BYTES: u64 = 4 << 20;
/// Size in bytes of the host memory that kernels may access.
const HOST_BYTES: u64 = 16 << 30;

/// The banks of a platform; those that the card has come first.
pub(super) fn banks_of(platform: &Platform) -> Vec<Memory> {
    let mut banks = Vec::new();
    let mut add = |kind, name: &str, count: u32, bytes| {
        banks.extend((0..count).map(|bank| Memory {
            tag: format!("{name}[{bank}]"),
            kind,
            bytes,
            banks: (bank, bank),
            used: false,
        }));
    };
    for memory in platform.memories() {
        let (kind, name) = match memory.kind {
            MemoryKind::Ddr4 => (MemoryType::Ddr, "DDR"),
            MemoryKind::Hbm2 => (MemoryType::Hbm, "HBM"),
        };
        add(kind, name, memory.channels, memory.channel_bytes);
    }
    add(MemoryType::Plram, "PLRAM", PLRAMS, PLRAM_BYTES);
    add(MemoryType::Host, "HOST", 1, HOST_BYTES);
    banks
}

/// A bank or a range of banks, for example `HBM[0:3]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BankRange {
    kind: MemoryType,
    banks: (u32, u32),
}

/// Why a memory name is refused.
fn unknown(text: &str) -> String {
    format!("memory `{text}`: names are DDR[i], HBM[i], HBM[i:j], PLRAM[i], HOST[0] and bankN")
}

impl BankRange {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.trim().parse().map_err(|_| unknown(text));
        if let Some(bank) = text.strip_prefix("bank") {
            let bank = number(bank)?;
            return Ok(Self {
                kind: MemoryType::Ddr,
                banks: (bank, bank),
            });
        }
        let (name, inner) = match text.split_once('[') {
            Some((name, rest)) => (name, rest.strip_suffix(']').ok_or_else(|| unknown(text))?),
            None => (text, "0"),
        };
        let kind = match name.trim().to_ascii_uppercase().as_str() {
            "DDR" => MemoryType::Ddr,
            "HBM" => MemoryType::Hbm,
            "PLRAM" => MemoryType::Plram,
            "HOST" => MemoryType::Host,
            _ => return Err(unknown(text)),
        };
        let banks = match inner.split_once(':') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(inner)?, number(inner)?),
        };
        if banks.0 > banks.1 {
            return Err(format!(
                "memory `{text}`: the first bank comes before the last"
            ));
        }
        Ok(Self { kind, banks })
    }

    pub(super) fn is_ddr(self) -> bool {
        self.kind == MemoryType::Ddr
    }

    /// Index of the bank in the list; a range of banks adds a group at the end.
    pub(super) fn find(self, memories: &mut Vec<Memory>, platform: &str) -> Result<u32, String> {
        let (kind, (first, last)) = (self.kind, self.banks);
        let banks = |one: &&Memory| one.kind == kind && one.banks.0 == one.banks.1;
        let count = memories.iter().filter(banks).count() as u32;
        if last >= count {
            let there = memories.iter().filter(|one| one.banks.0 == one.banks.1);
            let mut kinds: Vec<String> = Vec::new();
            for memory in there {
                let name = memory.tag.split('[').next().unwrap_or_default();
                match kinds.last_mut().filter(|last| last.starts_with(name)) {
                    Some(last) => *last = format!("{name}[0:{}]", memory.banks.1),
                    None => kinds.push(format!("{name}[0]")),
                }
            }
            return Err(format!(
                "platform {platform} has no such memory; it has {}",
                kinds.join(", ")
            ));
        }
        let same = |one: &Memory| one.kind == kind && one.banks == self.banks;
        if let Some(at) = memories.iter().position(same) {
            return Ok(at as u32);
        }
        let members = memories.iter().filter(banks);
        let members = members.filter(|one| (first..=last).contains(&one.banks.0));
        let bytes = members.map(|one| one.bytes).sum();
        let name = match kind {
            MemoryType::Ddr => "DDR",
            MemoryType::Hbm => "HBM",
            MemoryType::Plram => "PLRAM",
            MemoryType::Host => "HOST",
        };
        memories.push(Memory {
            tag: format!("{name}[{first}:{last}]"),
            kind,
            bytes,
            banks: self.banks,
            used: false,
        });
        Ok(memories.len() as u32 - 1)
    }
}
