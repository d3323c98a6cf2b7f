//! Options of address spaces and mappings, passed unchanged from the program to the owner.

use serde::{Deserialize, Serialize};
use std::str::FromStr;
use units::{Advice, MemoryKind, PageSize, SpacePlacement, VirtAddr};

/// Page-cache state that the cost of reading a file assumes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileState {
    /// In the page cache: reading is a copy.
    #[default]
    Warm,
    /// Not cached: reading goes to storage.
    Cold,
}

/// Translation mode of an address space (FSRF, §5.2), set per space when it is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TranslationMode {
    /// The L1 TLBs; a miss walks the page table in card memory.
    #[default]
    Both,
    /// The page table alone, for every access: FSRF's DRAM TLB. It finds every page in card memory, at the cost of a
    /// walk.
    Table,
    /// The L1 TLBs alone, filled by the host: FSRF's SRAM TLB, and Coyote's. There are no walks; a miss goes to the
    /// host, even if the page is in card memory.
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

/// No translation mode has this name.
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

/// Options of an address space.
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
    /// Placement of its frames.
    pub placement: SpacePlacement,
    /// Maximum bytes of card memory; `None`: no limit.
    pub limit: Option<u64>,
    /// Translation mode.
    pub translation: TranslationMode,
}

impl SpaceOptions {
    /// Frames anywhere, no limit, and TLBs with page walks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Places its frames on one channel, stripes them over several, or keeps them apart from those of other spaces
    /// ([`SpacePlacement::Isolated`]).
    pub fn placement(self, placement: SpacePlacement) -> Self {
        Self { placement, ..self }
    }

    /// Limits the card memory of its pages, in bytes: whole pages, at least one. At the limit it evicts its own pages,
    /// never those of other spaces.
    pub fn limit(self, bytes: impl Into<Option<u64>>) -> Self {
        let limit = bytes.into();
        Self { limit, ..self }
    }

    /// Sets the translation mode.
    pub fn translation(self, translation: TranslationMode) -> Self {
        Self {
            translation,
            ..self
        }
    }
}

/// Options of a mapping of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapOptions {
    /// Kernels may read the range.
    pub read: bool,
    /// Kernels may write the range.
    pub write: bool,
    /// Creates or truncates the file, with this many zero bytes.
    pub create: Option<u64>,
    /// File offset of the first mapped byte.
    pub offset: u64,
    /// Size in bytes; `None`: up to the end of the file.
    pub bytes: Option<u64>,
    /// Address of the first byte in the kernels' address space; `None`: chosen by the pager.
    pub address: Option<VirtAddr>,
    /// Page size; `None`: the owner's.
    pub page_size: Option<PageSize>,
    /// Whether the pager chooses each page's size; `None`: the owner's setting.
    pub auto_pages: Option<bool>,
    /// Its pages stay in host memory, which kernels access over PCIe.
    pub direct: bool,
    /// Kind of card memory for its pages; `None`: any.
    pub memory: Option<MemoryKind>,
    /// Expected access pattern.
    pub advice: Advice,
    /// Its pages are preloaded on the card at no cost in virtual time.
    pub hot: bool,
    /// Page-cache state of the file, for the cost of reading it; `None`: the owner's setting.
    pub file_state: Option<FileState>,
    /// Holes of the file cost no storage reads.
    pub holes: bool,
}

impl MapOptions {
    /// A mapping that kernels may read.
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

    /// A mapping that kernels may read and write.
    pub const fn read_write() -> Self {
        Self {
            write: true,
            ..Self::read_only()
        }
    }

    /// Creates or truncates the file, with this many zero bytes; readable and writable. If the mapping is refused, an
    /// existing file is unchanged.
    pub const fn create(bytes: u64) -> Self {
        Self {
            create: Some(bytes),
            ..Self::read_write()
        }
    }

    /// Starts at this byte of the file.
    pub const fn offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Maps this many bytes instead of everything up to the end of the file.
    pub const fn bytes(self, bytes: u64) -> Self {
        Self {
            bytes: Some(bytes),
            ..self
        }
    }

    /// Uses pages of this size instead of the owner's. Small pages suit scattered accesses to few bytes; large pages
    /// reduce faults and table entries. All mappings of a file share one page size; files of a space may differ.
    pub const fn page_size(self, page_size: PageSize) -> Self {
        Self {
            page_size: Some(page_size),
            auto_pages: Some(false),
            ..self
        }
    }

    /// Uses pages of 2 MiB while card memory lasts, and smaller ones (from 4 KiB) once it is short. Small pages are
    /// merged again where accesses are sequential.
    pub const fn auto_pages(self) -> Self {
        Self {
            page_size: None,
            auto_pages: Some(true),
            ..self
        }
    }

    /// Keeps the pages in host memory: kernels access them over PCIe, and they take no card memory. This suits data
    /// that is accessed about once while other data is reused. The card needs a path to host memory
    /// (`host_channel` of its shell). `sync` and `unmap` write kernel stores to the file as usual. All mappings of a
    /// file agree on whether it is direct.
    pub const fn direct(self) -> Self {
        Self {
            direct: true,
            ..self
        }
    }

    /// Places the pages in card memory of this kind, on a card with several such as HBM and DRAM; the default is any. A
    /// range of a file lies in one memory, however often it is mapped; a mapping without this option changes nothing.
    /// Not possible in a space with a placement of its own ([`SpacePlacement`]).
    pub const fn memory(self, memory: MemoryKind) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    /// Sets the advice that holds from the first access on.
    pub const fn advice(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// Preloads the pages on the card before kernels run, at no cost in virtual time.
    pub const fn hot(self) -> Self {
        Self { hot: true, ..self }
    }

    /// Treats the file as [warm or cold](FileState), independently of other files; this sets the virtual time of
    /// reading it. A range of a file has one state, the last one that was set.
    pub const fn file_state(self, state: FileState) -> Self {
        Self {
            file_state: Some(state),
            ..self
        }
    }

    /// Reading holes costs no storage access, as on the host's file system. The holes are queried from the file system
    /// now and enter the report's hash; without this option the time of a run depends on the bytes alone, however they
    /// are stored. It affects [cold](FileState::Cold) files only.
    pub const fn holes(self) -> Self {
        Self {
            holes: true,
            ..self
        }
    }

    /// Maps at this address instead of one chosen by the pager.
    pub const fn address(self, address: VirtAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }
}
