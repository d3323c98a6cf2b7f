//! How to make address spaces and mappings, carried whole from the program to the owner.

use serde::{Deserialize, Serialize};
use std::str::FromStr;
use units::{Advice, MemoryKind, PageSize, SpacePlacement, VirtAddr};

/// Whether files count as being in the host's page cache, for the cost of reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// In the page cache: a copy.
    #[default]
    Warm,
    /// On storage.
    Cold,
}

/// What answers when a port of a space asks for an address (FSRF, §5.2): switched for each space by itself, when it is
/// made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranslationMode {
    /// The L1 TLBs, and for what misses there the page table in card memory.
    #[default]
    Both,
    /// The page table alone, for every access: FSRF's DRAM TLB. Each page that is in card memory is found, at the price of
    /// a walk.
    Table,
    /// The L1 TLBs alone, which the host fills: FSRF's SRAM TLB, and Coyote's. No access walks; what misses asks the
    /// host, though its page may be in card memory.
    Tlb,
}

impl std::fmt::Display for TranslationMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Both => "L1 TLBs and page table",
            Self::Table => "the page table alone",
            Self::Tlb => "the L1 TLBs alone",
        })
    }
}

/// Nothing translates by such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("translation {0:?}: say one of both, table, tlb")]
pub struct UnknownTranslation(pub String);

impl FromStr for TranslationMode {
    type Err = UnknownTranslation;

    fn from_str(text: &str) -> Result<Self, UnknownTranslation> {
        match text {
            "both" => Ok(Self::Both),
            "table" => Ok(Self::Table),
            "tlb" => Ok(Self::Tlb),
            _ => Err(UnknownTranslation(text.to_owned())),
        }
    }
}

/// How to make an address space.
///
/// ```
/// use tombolo_wire::{SpaceOptions, TranslationMode};
/// use units::SpacePlacement;
///
/// let on_one_channel = SpaceOptions::new().placement(SpacePlacement::Channel(1));
/// let small = SpaceOptions::new().limit(16 << 20).translation(TranslationMode::Tlb);
/// # let _ = (on_one_channel, small);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[must_use]
#[serde(default)]
pub struct SpaceOptions {
    /// Where its frames lie.
    pub placement: SpacePlacement,
    /// At most so many bytes of card memory; `None`: no limit.
    pub limit: Option<u64>,
    /// What translates its addresses.
    pub translation: TranslationMode,
}

impl SpaceOptions {
    /// Frames anywhere, no limit, all that translates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its frames lie on one channel, are striped over several, or keep apart from those of other spaces
    /// ([`SpacePlacement::Isolated`]).
    pub fn placement(self, placement: SpacePlacement) -> Self {
        Self { placement, ..self }
    }

    /// It holds at most so many bytes of card memory with its pages, in whole pages and at least one: when it wants
    /// more, its own pages leave, and nobody else's.
    pub fn limit(self, bytes: impl Into<Option<u64>>) -> Self {
        let limit = bytes.into();
        Self { limit, ..self }
    }

    /// What translates its addresses.
    pub fn translation(self, translation: TranslationMode) -> Self {
        Self {
            translation,
            ..self
        }
    }
}

/// How to map a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapOptions {
    /// Kernels may read.
    pub read: bool,
    /// Kernels may write.
    pub write: bool,
    /// The file is created or emptied, with so many bytes of zeroes.
    pub create: Option<u64>,
    /// First byte of the file.
    pub offset: u64,
    /// Bytes mapped; `None`: up to the end of the file.
    pub bytes: Option<u64>,
    /// Where the first byte is for kernels; `None`: where the pager chooses.
    pub address: Option<VirtAddr>,
    /// Size of its pages; `None`: the owner's.
    pub page_size: Option<PageSize>,
    /// Whether the pager chooses the size of each page; `None`: as the owner does.
    pub auto_pages: Option<bool>,
    /// Its pages stay in host memory.
    pub direct: bool,
    /// The kind of card memory that its pages lie in; `None`: any.
    pub memory: Option<MemoryKind>,
    /// How kernels are going to use it.
    pub advice: Advice,
    /// Its pages are on the card before kernels run, at no virtual time.
    pub hot: bool,
    /// Whether the file is in the page cache, for the cost of reading it; `None`: as the owner says.
    pub file_state: Option<FileState>,
    /// Its holes cost no reading.
    pub holes: bool,
}

impl MapOptions {
    /// The kernel may read the file.
    pub const fn read_only() -> Self {
        Self {
            read: true,
            write: false,
            create: None,
            offset: 0,
            bytes: None,
            address: None,
            page_size: None,
            auto_pages: None,
            direct: false,
            memory: None,
            advice: Advice::NONE,
            hot: false,
            file_state: None,
            holes: false,
        }
    }

    /// The kernel may read and write the file.
    pub const fn read_write() -> Self {
        Self {
            write: true,
            ..Self::read_only()
        }
    }

    /// Creates the file, or empties it, with this many bytes of zeroes; readable and writable. A file that
    /// is there is as it was if the mapping is refused.
    pub const fn create(bytes: u64) -> Self {
        Self {
            create: Some(bytes),
            ..Self::read_write()
        }
    }

    /// Starts at a byte of the file.
    pub const fn offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Maps this many bytes rather than all up to the end of the file.
    pub const fn bytes(self, bytes: u64) -> Self {
        Self {
            bytes: Some(bytes),
            ..self
        }
    }

    /// With pages of this size rather than the owner's. Small ones suit accesses to few bytes here and
    /// there, large ones keep faults and table entries few. A file has pages of one size, however often
    /// it is mapped; a space has files of any.
    pub const fn page_size(self, page_size: PageSize) -> Self {
        Self {
            page_size: Some(page_size),
            auto_pages: Some(false),
            ..self
        }
    }

    /// With pages of 2 MiB while card memory lasts, and small ones (from 4 KiB on) once it is short, which grow
    /// again where accesses are sequential.
    pub const fn auto_pages(self) -> Self {
        Self {
            page_size: None,
            auto_pages: Some(true),
            ..self
        }
    }

    /// With pages that stay in host memory: kernels read and write them there over PCIe, and they take no card
    /// memory. It suits what is touched hardly more than once, beside data that is used again. The card must have a
    /// way to host memory (`host_channel` of its shell). What kernels write is written to the file by `sync` and `unmap`, as ever; a file is direct or not, however often it is mapped.
    pub const fn direct(self) -> Self {
        Self {
            direct: true,
            ..self
        }
    }

    /// With pages in card memory of this kind, on a card that has several, such as HBM beside DRAM; without it they lie
    /// on any. A range of a file lies in one memory, however often it is mapped; a mapping without a word of it
    /// changes nothing. Not in a space that has a place of its own ([`SpacePlacement`]).
    pub const fn memory(self, memory: MemoryKind) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    /// With advice from the first access on.
    pub const fn advice(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// Hot from the start: on the card before kernels run, at no virtual time.
    pub const fn hot(self) -> Self {
        Self { hot: true, ..self }
    }

    /// With a file that is [warm or cold](FileState), whatever other files are: what reading it costs in virtual time.
    /// A range of a file has one state, the last that was said.
    pub const fn file_state(self, state: FileState) -> Self {
        Self {
            file_state: Some(state),
            ..self
        }
    }

    /// With holes that cost no reading of storage, as on the machine that they are on. Which there are is asked of the file
    /// system now, and is a part of the report's hash: otherwise the time of a run follows from the bytes alone, however
    /// they are stored. It makes a difference to a [cold](FileState::Cold) file only.
    pub const fn holes(self) -> Self {
        Self {
            holes: true,
            ..self
        }
    }

    /// At this address rather than where the pager chooses.
    pub const fn address(self, address: VirtAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }
}
