//! Memory for files whose pages stay in host memory, which kernels read and write over PCIe.

use super::files::{Files, View};
use super::memory::SharedPart;
use super::pump::Pump;
use crate::kernels::Kernels;
use card::memory::HostMemory;
use card::Card;
use error::Error;
use pager::{Event, ObjectId};
use std::io;
use std::sync::Arc;
use units::{Asid, HostAddr, PageSize, VirtAddr};

/// Host addresses that a card with a host channel can reach: its host window.
const WINDOW: u64 = 1 << 36;

/// Pinned memory for all pages of a file's range, from its mapping to its end.
#[derive(Debug)]
pub(super) struct Direct {
    pub(super) memory: Arc<HostMemory>,
    /// Its address for the card.
    pub(super) host: HostAddr,
    /// Offset of the first page in it: the page's address for the card is a multiple of the page size.
    pub(super) first: u64,
    /// Size of its pages, in bytes.
    pub(super) bytes: u64,
    /// Requested by a mapping; otherwise it follows from advice.
    pub(super) asked: bool,
}

/// Budget of host memory for direct pages: the limit, if there is one, and the bytes in use.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DirectLimit {
    pub(super) limit: Option<u64>,
    pub(super) taken: u64,
}

impl Direct {
    /// Reserves memory for the pages of a range; or returns the violated rule. The system allocates host memory
    /// as pages are touched.
    pub(super) fn begin(
        card: &mut dyn Card,
        view: View,
        page: PageSize,
        DirectLimit { limit, taken }: DirectLimit,
    ) -> Result<Self, String> {
        if !card.description().host_channel {
            return Err(format!("{NO_CHANNEL}, or leave out direct"));
        }
        let size = page.bytes();
        let end = view.end().div_ceil(size).saturating_mul(size);
        let bytes = end - view.offset / size * size;
        let too_large = || {
            format!(
                "its pages are {bytes} bytes, and a card reaches {WINDOW} bytes of host memory: map a part of it, or \
                 leave out direct"
            )
        };
        // One page more, so that it can begin with a whole one.
        let all = bytes.checked_add(size).filter(|&all| all < WINDOW);
        let all = all.ok_or_else(too_large)?;
        if let Some(limit) = limit.filter(|&limit| taken + bytes > limit) {
            return Err(format!(
                "its pages are {bytes} bytes of host memory, and of the {limit} that direct pages may have {taken} are \
                 taken: close what is mapped direct, raise direct_bytes, map a part of it, or leave out direct"
            ));
        }
        let memory = HostMemory::allocate(all as usize)
            .map_err(|error| format!("no host memory for its pages, {bytes} bytes: {error}"))?;
        let memory = Arc::new(memory);
        let host = card.map_host(memory.clone());
        let host = host.map_err(|error| format!("no host memory for its pages: {error}"))?;
        let first = host.get().next_multiple_of(size) - host.get();
        let direct = Self {
            memory,
            host,
            first,
            bytes,
            asked: true,
        };
        if host.get() + first + bytes > WINDOW {
            direct.end(card);
            let left = "no host addresses that the card reaches are left for its pages: close what is mapped direct";
            return Err(left.to_owned());
        }
        Ok(direct)
    }

    /// The card no longer uses it.
    pub(super) fn end(&self, card: &mut dyn Card) {
        if let Err(error) = card.unmap_host(self.host) {
            tracing::error!(%error, "ending the card's way to pages in host memory");
        }
    }
}

/// Handles advice that a mapping is hardly used: the pages of its file stay in host memory, if the card can
/// reach it and no page was requested before. Advice is a hint: otherwise nothing changes.
pub(super) fn leave_in_host(
    files: &mut Files,
    pump: &mut Pump,
    kernels: &mut Kernels,
    space: Asid,
    range: (VirtAddr, u64),
) -> Result<(), Error> {
    if !kernels.description().host_channel {
        return Ok(());
    }
    let Some((view, object, page)) = files.could_be_direct(space, range) else {
        return Ok(());
    };
    let direct = match files.begin_direct(kernels.card(), view, page) {
        Ok(direct) => Direct {
            asked: false,
            ..direct
        },
        Err(rule) => {
            tracing::info!(rule, "pages that are used little go to the card");
            return Ok(());
        }
    };
    let memory = direct.host.offset(direct.first);
    pump.tell(files, kernels, Event::PlaceDirect { object, memory })?;
    if pump.pager().is_direct(object) {
        files.set_direct(view, direct);
    } else {
        files.end_direct(kernels.card(), &direct);
    }
    Ok(())
}

/// Makes kernels access shared memory in the host.
pub(super) fn keep_in_host(
    files: &mut Files,
    pump: &mut Pump,
    kernels: &mut Kernels,
    object: ObjectId,
    part: &SharedPart,
) -> Result<(), Error> {
    let refused = |rule: &str| Error::Unshareable {
        bytes: part.bytes as usize,
        source: io::Error::new(io::ErrorKind::Unsupported, rule),
    };
    if !kernels.description().host_channel {
        return Err(refused(NO_CHANNEL));
    }
    if part.host.get() + part.bytes > WINDOW {
        return Err(refused(
            "no host addresses that the card reaches are left for it",
        ));
    }
    let memory = part.host;
    pump.tell(files, kernels, Event::PlaceDirect { object, memory })?;
    match pump.pager().is_direct(object) {
        true => Ok(()),
        false => Err(refused("it does not begin with a whole page")),
    }
}

const NO_CHANNEL: &str = "direct pages need a card with a way to host memory, and this one has none: open it with \
                          host_channel = true, in the shell's configuration (ShellConfig, [shell] of a file for --shell) \
                          or in FunctionalConfig";
