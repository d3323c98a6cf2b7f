//! Advice for mappings, and the report's texts on policies.

use super::files::Files;
use crate::report::bytes;
use crate::OwnerOptions;
use pager::eviction::Eviction;
use pager::size::Doubling;
use pager::Statistics;
use units::{
    Advice, CardDescription, Fetch, L1Reach, MemoryKind, PageSize, PageSizes, Pattern, Reuse,
};

/// Page sizes for automatic choice: those of the default shell's L1 TLBs, and one between. Each further size would cost
/// every page walk a lookup.
pub(super) const AUTOMATIC: PageSizes = PageSizes::only(PageSize::KIB_4)
    .with(match PageSize::from_class(4) {
        Some(size) => size,
        None => PageSize::KIB_4,
    })
    .with(PageSize::MIB_2);

/// Page sizes on a card with these L1 TLBs: pages beyond 2 MiB are used if a range needs more pages of the next smaller
/// size than its L1 TLB holds.
pub(super) fn page_sizes(l1: &[L1Reach]) -> Doubling {
    let larger = l1.windows(2).filter(|two| two[0].page >= PageSize::MIB_2);
    larger.fold(Doubling::default(), |policy, two| {
        policy.joining(two[1].page, two[0].bytes)
    })
}

/// The paging of a file, and where it was chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paged {
    pub page_size: PageSize,
    /// Size of the pages that are merged into those of `page_size`, without automatic sizes.
    pub parts: PageSize,
    /// The page size was requested by the mapping.
    pub asked: bool,
    /// Its pages may be smaller than `page_size`.
    pub auto: bool,
    /// Its pages stay in host memory; true if a mapping requested it.
    pub direct: Option<bool>,
    /// Its pages lie in card memory of this kind.
    pub memory: Option<MemoryKind>,
    pub advice: Advice,
}

/// The paging of files, in words.
pub(super) struct Words<'a> {
    /// Reach of the card's L1 TLBs.
    reach: Vec<L1Reach>,
    options: &'a OwnerOptions,
    paging: &'a Statistics,
}

impl<'a> Words<'a> {
    /// For a card, with the owner's options and the pager's statistics.
    pub(super) fn new(
        card: &CardDescription,
        options: &'a OwnerOptions,
        paging: &'a Statistics,
    ) -> Self {
        Self {
            reach: card.l1_reach.clone(),
            options,
            paging,
        }
    }

    /// The paging of each of these files, with its reason: a line per file, or one line for files with equal paging.
    pub(super) fn policies(&self, files: &Files, of: impl Fn(&str) -> bool) -> Vec<String> {
        let words = |paged: Paged| self.of(paged);
        let mut lines: Vec<(String, Vec<String>)> = Vec::new();
        for (label, how) in files.paged(words) {
            if !of(&label) {
                continue;
            }
            match lines.iter_mut().find(|(known, _)| *known == how) {
                Some((_, labels)) => labels.push(label),
                None => lines.push((how, vec![label])),
            }
        }
        let line = |(how, labels): (String, Vec<String>)| format!("{}: {how}", named(&labels));
        lines.into_iter().map(line).collect()
    }

    /// The paging of a file, in words.
    pub(super) fn of(&self, paged: Paged) -> String {
        let Paged {
            page_size,
            parts,
            asked,
            auto,
            direct,
            memory,
            advice,
        } = paged;
        let options = self.options;
        let fetch = options.fetching().of(advice);
        let how = match (fetch, advice.pattern) {
            (Fetch::OnDemand, _) if options.batch_bytes > page_size.bytes() => {
                format!(
                    "fetched on demand in blocks of {}",
                    bytes(options.batch_bytes)
                )
            }
            (Fetch::OnDemand, _) => "fetched on demand".to_owned(),
            (Fetch::ReadAhead, Some(Pattern::Stream)) => {
                "read ahead from the first access".to_owned()
            }
            (Fetch::ReadAhead, _) => "read ahead of sequential accesses".to_owned(),
            (Fetch::Preload, _) => "preloaded at the first access".to_owned(),
        };
        let why = match (advice.fetch, advice.pattern) {
            (Some(_), _) => "advice",
            (None, Some(Pattern::Stream)) => "advice stream",
            (None, Some(Pattern::Random)) => "advice random",
            (None, None) => "default",
        };
        let size = if asked {
            "requested"
        } else if parts == options.largest_page() {
            "default"
        } else {
            "largest that the range fills"
        };
        let leaves = match (advice.reuse, options.eviction) {
            _ if direct == Some(true) => "kept in host memory (direct)",
            _ if direct == Some(false) => "kept in host memory (advice lowuse)",
            (Some(Reuse::Low), _) => "evicted first (advice lowuse)",
            (Some(Reuse::High), _) => "evicted last (advice reuse)",
            (None, Eviction::Fifo) => "FIFO eviction (default)",
            (None, Eviction::SecondChance) => "second-chance eviction (default)",
            (None, Eviction::Adaptive) => "adaptive eviction (default)",
            (None, Eviction::SharedFirst) => "read-only pages evicted first (default)",
        };
        let place = memory.map_or_else(String::new, |memory| {
            format!(", placed in {memory} (requested)")
        });
        let joined = match reach_of(&self.reach, parts).filter(|_| parts < page_size) {
            None => String::new(),
            Some(reach) => format!(
                ", merged into pages of {page_size} in place where a space exceeds the reach of the L1 TLB for {parts} \
                 pages ({}; {} merged)",
                bytes(reach),
                self.paging.sizes.joined
            ),
        };
        if auto {
            let sizes = self.paging.sizes;
            return format!(
                "pages of up to {page_size} while card memory lasts, smaller ones afterwards (automatic: {} faults on large \
                 pages, {} on small ones, {} merged, {} split), {how} ({why}), {leaves}{place}",
                sizes.large, sizes.small, sizes.joined, sizes.split
            );
        }
        format!("pages of {parts} ({size}){joined}, {how} ({why}), {leaves}{place}")
    }
}

/// The larger page size that replaces `size` for `bytes`, if the L1 TLB of `size` does not reach all of them and the
/// card has room for contiguous pages; with that reach, in bytes.
pub(super) fn beyond_reach(
    card: &CardDescription,
    page: PageSize,
    bytes: u64,
) -> Option<(PageSize, u64)> {
    let beyond = L1Reach::beyond(&card.l1_reach, page, bytes)?;
    (4 * beyond.0.bytes() <= card.channel_bytes).then_some(beyond)
}

fn reach_of(all: &[L1Reach], page: PageSize) -> Option<u64> {
    let mut all = all.iter();
    all.find(|l1| l1.page == page).map(|l1| l1.bytes)
}

/// A list of some names.
fn named(labels: &[String]) -> String {
    const SHOWN: usize = 3;
    match labels.len() {
        ..=SHOWN => labels.join(", "),
        count => format!("{} and {} more", labels[..SHOWN].join(", "), count - SHOWN),
    }
}
