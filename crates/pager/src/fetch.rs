//! Fetch policies: demand fetch and read-ahead.

use crate::ids::{ObjectId, ObjectPage};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Range;
use units::{Advice, Fetch, PageSize, Pattern};

/// An access that waits for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// Requester of the access: the reads or the writes of a port.
    pub requester: u8,
    /// Whether it writes.
    pub write: bool,
    /// Page that it needs.
    pub page: ObjectPage,
    /// Page size of the object.
    pub page_size: PageSize,
    /// Pages of the object that the mapping covers.
    pub mapped: Range<u64>,
    /// Frames of that size that the space can have at once.
    pub frames: u64,
    /// Advice on the mapping.
    pub advice: Advice,
}

/// Pages to fetch in addition to the requested page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pages of the same object. The requested page is skipped, and pages that the mapping does not cover.
    pub ahead: Range<u64>,
    /// A page among them that is fetched but not installed, so that its first access is reported.
    pub marker: Option<u64>,
    /// Whether they may evict other pages. Otherwise they take free frames only.
    pub pushes: bool,
    /// The access continues no earlier one.
    pub jump: bool,
    /// Pages of the same object that the requester has passed in order since the last report.
    pub passed: Range<u64>,
}

/// Decides which pages are fetched. A policy sees only the accesses that wait for the host.
pub trait FetchPolicy: Debug + Send {
    /// Handles an access to a page that is missing, in transit, or resident but not installed. `there` returns, for a
    /// page of the same size in the mapping, whether an access of this kind would find it or it is in transit.
    fn touched(&mut self, touch: &Touch, there: &dyn Fn(u64) -> bool) -> Plan;
    /// Pages that were read ahead and have not been passed by an access: the object, the page size of the count, and
    /// the range.
    fn expected(&self) -> Vec<(ObjectId, PageSize, Range<u64>)> {
        Vec::new()
    }
    /// An object was removed; its identifier is never reused.
    fn forgotten(&mut self, _object: ObjectId) {}
}

/// The fetch policy that a mapping's advice selects, or else the default.
///
/// A [`Fetch`] takes precedence over a [`Pattern`], and a pattern over the default.
#[derive(Clone, Debug)]
pub struct Chosen {
    usual: Fetch,
    read_ahead: ReadAhead,
    on_demand: OnDemand,
    /// Mappings that were fetched whole: object and first page.
    preloaded: BTreeSet<(ObjectId, u64)>,
}

/// Windows for advised sequences if the owner disables read-ahead.
const ADVISED_AHEAD: u64 = 16 << 20;

/// Sizes of fetches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Maximum window of a sequence, in bytes; 0: no read-ahead unless advised.
    pub ahead_bytes: u64,
    /// Maximum window of a sequence that writes, in bytes; 0: as for one that reads. Written pages can be saved when
    /// the requester is seen behind them, which happens once per window.
    pub written_bytes: u64,
    /// Pages of the first window of a sequence that begins at the start of a mapping, at least one.
    pub first_window: u64,
    /// Block that is fetched on an access that no earlier one announced, in bytes; 0: the page alone.
    pub batch_bytes: u64,
}

impl Chosen {
    /// A policy with this default and these sizes.
    pub fn new(usual: Fetch, amounts: Amounts) -> Self {
        let ahead = match amounts.ahead_bytes {
            0 => ADVISED_AHEAD,
            bytes => bytes,
        };
        Self {
            usual: match (usual, amounts.ahead_bytes) {
                (Fetch::ReadAhead, 0) => Fetch::OnDemand,
                (usual, _) => usual,
            },
            read_ahead: ReadAhead {
                written_bytes: match amounts.written_bytes {
                    0 => ahead,
                    bytes => bytes.min(ahead),
                },
                first_window: amounts.first_window.max(1),
                ..ReadAhead::new(ahead)
            },
            on_demand: OnDemand {
                block_bytes: amounts.batch_bytes,
            },
            preloaded: BTreeSet::new(),
        }
    }

    /// The fetch policy that advice selects.
    pub fn of(&self, advice: Advice) -> Fetch {
        match (advice.fetch, advice.pattern) {
            (Some(fetch), _) => fetch,
            (None, Some(Pattern::Stream)) => Fetch::ReadAhead,
            (None, Some(Pattern::Random)) if self.usual == Fetch::ReadAhead => Fetch::OnDemand,
            (None, _) => self.usual,
        }
    }
}

impl FetchPolicy for Chosen {
    fn touched(&mut self, touch: &Touch, there: &dyn Fn(u64) -> bool) -> Plan {
        match self.of(touch.advice) {
            Fetch::OnDemand => self.on_demand.touched(touch, there),
            Fetch::ReadAhead => {
                let plan = self.read_ahead.touched(touch, there);
                match plan.ahead.is_empty() && plan.jump {
                    true => self.on_demand.touched(touch, there),
                    false => plan,
                }
            }
            Fetch::Preload => {
                let mapping = (touch.page.object, touch.mapped.start);
                match self.preloaded.insert(mapping) {
                    true => Plan {
                        ahead: touch.mapped.clone(),
                        ..Plan::default()
                    },
                    false => self.on_demand.touched(touch, there),
                }
            }
        }
    }

    fn expected(&self) -> Vec<(ObjectId, PageSize, Range<u64>)> {
        self.read_ahead.expected()
    }

    fn forgotten(&mut self, object: ObjectId) {
        self.preloaded.retain(|(preloaded, _)| *preloaded != object);
    }
}

/// The missing page, and its neighbours in an aligned block as far as frames are free.
#[derive(Clone, Debug)]
pub struct OnDemand {
    /// Size of a block in bytes; a larger page is a block of its own.
    pub block_bytes: u64,
}

impl Default for OnDemand {
    /// Fetches the missing page alone.
    fn default() -> Self {
        Self { block_bytes: 0 }
    }
}

impl FetchPolicy for OnDemand {
    fn touched(&mut self, touch: &Touch, _there: &dyn Fn(u64) -> bool) -> Plan {
        let pages = (self.block_bytes >> touch.page_size.bits()).max(1);
        let first = touch.page.index / pages * pages;
        Plan {
            ahead: first..first + pages,
            ..Plan::default()
        }
    }
}

/// Maximum concurrent sequences of a requester.
const SEQUENCES: usize = 4;
/// A window takes at most this fraction of the frames, so that read-ahead does not evict its own pages before they are
/// used.
const SHARE_OF_CARD: u64 = 8;
/// Maximum resident pages skipped for one access.
const LOOK: u64 = 1024;

/// A requester's sequential pass through an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence {
    object: ObjectId,
    /// Page size in which it counts.
    page_size: PageSize,
    /// First page of the sequence.
    began: u64,
    /// First accessed page of the part that is not used up.
    first: u64,
    /// First page that was not requested.
    next: u64,
    /// An access at or behind this page requests the next window.
    marker: u64,
    /// Pages of the current window.
    window: u64,
}

/// Sequential read-ahead: each requester's next pages are in transit before it accesses them.
///
/// A requester that continues its sequence gets a window ahead, which doubles each time up to a limit. A window counts
/// the missing pages: resident ones are skipped, and accesses to them are not seen. The first page of each window is
/// not installed: its first access shows that the requester has come that far, and the next window is requested while
/// this one is used. An access elsewhere begins a new sequence; several are followed per requester. At the beginning of
/// a mapping a requester is assumed to be sequential, and so is one that returns to pages that it has passed in order,
/// once for each such pass: it is in a loop.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    max_bytes: u64,
    /// Maximum window of sequences that write, in bytes.
    written_bytes: u64,
    /// Pages of the first window at the beginning of a mapping.
    first_window: u64,
    /// Sequences of each requester, most recently used first.
    requesters: BTreeMap<u8, Vec<Sequence>>,
}

impl ReadAhead {
    /// Windows of up to this many bytes, or of one page if that is larger.
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            written_bytes: max_bytes,
            first_window: 1,
            requesters: BTreeMap::new(),
        }
    }
}

/// The next window from a page on: from its first missing page to behind its last, with at most `missing` missing
/// pages.
fn window(from: u64, missing: u64, end: u64, there: &dyn Fn(u64) -> bool) -> Range<u64> {
    let start = (from..end.min(from.saturating_add(LOOK))).find(|&page| !there(page));
    let Some(start) = start else {
        return from..from;
    };
    let mut left = missing;
    let mut behind = start;
    for page in start..end.min(start.saturating_add(missing).saturating_add(LOOK)) {
        if left == 0 {
            break;
        }
        if !there(page) {
            left -= 1;
            behind = page + 1;
        }
    }
    start..behind
}

impl FetchPolicy for ReadAhead {
    fn touched(&mut self, touch: &Touch, there: &dyn Fn(u64) -> bool) -> Plan {
        let page = touch.page.index;
        let most = match touch.write {
            true => self.written_bytes,
            false => self.max_bytes,
        };
        let most = most.div_ceil(touch.page_size.bytes());
        let limit = most.min(touch.frames / SHARE_OF_CARD);
        let sequences = self.requesters.entry(touch.requester).or_default();
        let alike = |sequence: &Sequence| {
            sequence.object == touch.page.object && sequence.page_size == touch.page_size
        };
        let follows = |sequence: &Sequence| {
            let behind = sequence.next..page;
            alike(sequence)
                && page >= sequence.first
                && (behind.is_empty()
                    || page - sequence.next <= LOOK && behind.into_iter().all(there))
        };
        let Some(place) = sequences.iter().position(follows) else {
            let again = |sequence: &Sequence| {
                let gone_through = (sequence.began..sequence.next).contains(&page);
                alike(sequence) && (gone_through || sequence.next >= touch.mapped.end)
            };
            let again = sequences.iter().position(again);
            let again = again.map(|place| sequences.remove(place));
            sequences.truncate(SEQUENCES - 1);
            let size = match (touch.advice.pattern, again) {
                (Some(Pattern::Stream), _) => limit,
                (_, Some(before)) => (before.window / 2).max(1),
                (_, None) if page == touch.mapped.start => self.first_window,
                (_, None) => 0,
            };
            let ahead = window(page + 1, size.min(limit), touch.mapped.end, there);
            // One page is passed before anything can be requested.
            let marker = (ahead.end - ahead.start > 1).then_some(ahead.start);
            sequences.insert(
                0,
                Sequence {
                    object: touch.page.object,
                    page_size: touch.page_size,
                    began: page,
                    first: page,
                    next: ahead.end,
                    marker: page + 1,
                    window: size.min(limit),
                },
            );
            return Plan {
                ahead,
                marker,
                pushes: true,
                jump: true,
                passed: page..page,
            };
        };
        sequences[..=place].rotate_right(1);
        let sequence = &mut sequences[0];
        if page < sequence.marker {
            return Plan::default();
        }
        sequence.window = (2 * sequence.window).clamp(1, limit.max(1));
        let from = sequence.next.max(page + 1);
        let ahead = window(from, sequence.window.min(limit), touch.mapped.end, there);
        // The beginning of the earlier window is used up now.
        let passed = sequence.first..sequence.marker.max(sequence.first);
        sequence.first = sequence.marker;
        sequence.marker = ahead.start;
        sequence.next = ahead.end;
        Plan {
            marker: Some(ahead.start),
            ahead,
            pushes: true,
            jump: false,
            passed,
        }
    }

    fn expected(&self) -> Vec<(ObjectId, PageSize, Range<u64>)> {
        let sequences = self.requesters.values().flatten();
        sequences
            .map(|sequence| {
                let pages = sequence.first..sequence.next;
                (sequence.object, sequence.page_size, pages)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::MIB_2;

    /// Plan of a policy when no page is resident.
    fn plan_of(policy: &mut dyn FetchPolicy, touch: &Touch) -> Plan {
        policy.touched(touch, &|_| false)
    }

    fn touch(requester: u8, object: u64, index: u64) -> Touch {
        Touch {
            requester,
            write: false,
            page: ObjectPage {
                object: ObjectId(object),
                index,
            },
            page_size: PAGE,
            mapped: 0..1000,
            frames: 256,
            advice: Advice::default(),
        }
    }

    #[test]
    fn windows_double_as_a_requester_goes_on() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        let mut plan = |page| plan_of(&mut policy, &touch(0, 1, page)).ahead;
        assert_eq!(plan(0), 1..2, "a beginning is taken for a sequence");
        assert_eq!(plan(1), 2..4);
        assert_eq!(
            plan(1),
            0..0,
            "a second access to the marker asks for nothing"
        );
        assert_eq!(plan(2), 4..8);
        assert_eq!(plan(3), 0..0);
        assert_eq!(plan(4), 8..16);
        assert_eq!(plan(8), 16..24, "up to the limit");
        assert_eq!(plan(16), 24..32);
    }

    #[test]
    fn jumps_fetch_nothing_ahead() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        for page in [500, 7, 90, 301] {
            assert!(plan_of(&mut policy, &touch(0, 1, page)).ahead.is_empty());
        }
        assert_eq!(plan_of(&mut policy, &touch(0, 1, 8)).ahead, 9..10);
    }

    #[test]
    fn requesters_and_objects_have_sequences_of_their_own() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        for (requester, object) in [(0, 1), (0, 2), (1, 1)] {
            assert_eq!(
                plan_of(&mut policy, &touch(requester, object, 0)).ahead,
                1..2
            );
        }
        for (requester, object) in [(0, 1), (0, 2), (1, 1)] {
            assert_eq!(
                plan_of(&mut policy, &touch(requester, object, 1)).ahead,
                2..4
            );
        }
    }

    #[test]
    fn advice_chooses() {
        let mut policy = Chosen::new(
            Fetch::ReadAhead,
            Amounts {
                ahead_bytes: 8 * PAGE.bytes(),
                batch_bytes: 2 * PAGE.bytes(),
                ..Amounts::default()
            },
        );
        let mut plan = |page, advice: &str| {
            let advice = advice.parse().unwrap();
            let touch = Touch {
                advice,
                ..touch(0, 1, page)
            };
            plan_of(&mut policy, &touch).ahead
        };
        assert_eq!(plan(0, "random"), 0..2, "its block and nothing else");
        assert_eq!(plan(0, "none"), 1..2);
        assert_eq!(plan(100, "stream"), 101..109, "at once");
        assert_eq!(plan(501, "none"), 500..502, "a jump is for a block");
        assert_eq!(plan(101, "stream"), 109..117);
        assert_eq!(plan(300, "preload"), 0..1000);
        assert_eq!(plan(301, "preload"), 300..302, "once");
        policy.forgotten(ObjectId(1));
        assert!(policy.preloaded.is_empty());
    }

    #[test]
    fn an_owner_that_reads_nothing_ahead_does_when_told() {
        let mut policy = Chosen::new(Fetch::ReadAhead, Amounts::default());
        assert_eq!(plan_of(&mut policy, &touch(0, 1, 0)).ahead, 0..1);
        let told = Touch {
            advice: Advice::STREAM,
            ..touch(0, 1, 0)
        };
        assert_eq!(plan_of(&mut policy, &told).ahead, 1..9);
    }

    #[test]
    fn small_cards_get_small_windows() {
        let mut policy = ReadAhead::new(64 * PAGE.bytes());
        let small = |page| Touch {
            frames: 16,
            ..touch(0, 1, page)
        };
        let longest = (0..40).map(|page| {
            let ahead = plan_of(&mut policy, &small(page)).ahead;
            ahead.end - ahead.start
        });
        assert_eq!(longest.max(), Some(2));
        let none = Touch {
            frames: 7,
            ..touch(3, 1, 0)
        };
        assert!(plan_of(&mut policy, &none).ahead.is_empty());
    }

    #[test]
    fn what_is_there_is_gone_over() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        let held = |page: u64| (10..500).contains(&page);
        let mut at = |page| policy.touched(&touch(0, 1, page), &held);
        assert_eq!(at(0).ahead, 1..2);
        assert_eq!(at(1).ahead, 2..4);
        assert_eq!(at(2).ahead, 4..8);
        let over = at(4);
        // Eight missing pages: two before the resident ones, and six behind them.
        assert_eq!((over.ahead, over.marker), (8..506, Some(8)));
        assert_eq!(at(8).ahead, 506..514);
        // A page beyond the resident ones that was not requested: the sequence continues.
        let held = |page: u64| (514..600).contains(&page);
        let on = policy.touched(&touch(0, 1, 600), &held);
        assert_eq!((on.ahead, on.jump), (601..609, false));
        // Not so across a missing page.
        let elsewhere = policy.touched(&touch(0, 1, 700), &|_| false);
        assert!(elsewhere.jump && elsewhere.ahead.is_empty());
    }

    #[test]
    fn who_comes_back_to_what_it_went_through_is_in_a_loop() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        for page in 0..64 {
            plan_of(&mut policy, &touch(0, 1, page));
        }
        let back = plan_of(&mut policy, &touch(0, 1, 20));
        assert_eq!((back.ahead, back.marker), (21..25, Some(21)));
        let on = plan_of(&mut policy, &touch(0, 1, 21));
        assert_eq!((on.ahead, on.jump), (25..33, false));
        // Only once: jumps among passed pages are jumps.
        for page in [40, 60, 50, 45] {
            let jump = plan_of(&mut policy, &touch(0, 1, page));
            assert!(jump.ahead.is_empty(), "{page}");
        }
    }
}
