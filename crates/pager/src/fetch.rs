//! What is brought to the card when it is missing, and what before it is.

use crate::ids::{ObjectId, ObjectPage};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Range;
use units::{Advice, Fetch, PageSize, Pattern};

/// An access that waits for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The requester (the reads or the writes of a port) that it belongs to.
    pub requester: u8,
    /// It writes.
    pub write: bool,
    /// What it needs.
    pub page: ObjectPage,
    /// Size of the object's pages.
    pub page_size: PageSize,
    /// Pages of the object that the mapping shows.
    pub mapped: Range<u64>,
    /// Frames of that size that the space can have at once.
    pub frames: u64,
    /// What was advised of the mapping.
    pub advice: Advice,
}

/// What to bring to the card besides the page itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Pages of the same object. The page itself is skipped, and what the mapping does not show.
    pub ahead: Range<u64>,
    /// One of them that is fetched but not installed, so that its first access is seen.
    pub marker: Option<u64>,
    /// They may push out other pages. Otherwise they take free frames only.
    pub pushes: bool,
    /// The access follows none before it.
    pub jump: bool,
    /// Pages of the same object that the requester has gone through in order since this was last said.
    pub passed: Range<u64>,
}

/// Decides what is fetched. It sees the accesses that wait for the host, and nothing else.
pub trait FetchPolicy: Debug + Send {
    /// An access waits, for a page that is missing, on its way, or just not installed. `there` says of a page of the
    /// same size that the mapping shows whether an access of this kind would find it, or it is on its way.
    fn touched(&mut self, touch: &Touch, there: &dyn Fn(u64) -> bool) -> Plan;
    /// Pages that were asked for ahead of accesses, and that none is known to be behind: the object, how large the pages
    /// are that count, and which.
    fn expected(&self) -> Vec<(ObjectId, PageSize, Range<u64>)> {
        Vec::new()
    }
    /// An object is gone, and its name is never used again.
    fn forgotten(&mut self, _object: ObjectId) {}
}

/// The way of fetching that a mapping's advice asks for, or else the usual one.
///
/// A choice of a [`Fetch`] counts before a [`Pattern`], and a pattern before what is usual.
#[derive(Clone, Debug)]
pub struct Chosen {
    usual: Fetch,
    read_ahead: ReadAhead,
    on_demand: OnDemand,
    /// Mappings that were fetched whole: object and first page.
    preloaded: BTreeSet<(ObjectId, u64)>,
}

/// Windows that advice asks for where the owner reads nothing ahead.
const ADVISED_AHEAD: u64 = 16 << 20;

/// How much is fetched at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Largest window of a sequence, in bytes; 0: nothing is read ahead unless advice asks for it.
    pub ahead_bytes: u64,
    /// Largest window of a sequence that writes, in bytes; 0: as of one that reads. What is written can be saved when the
    /// requester is seen behind it, and it is seen once a window.
    pub written_bytes: u64,
    /// Pages of the first window of a sequence that begins where a mapping does, at least one.
    pub first_window: u64,
    /// The block that an access brings which no other announced, in bytes; 0: its page.
    pub batch_bytes: u64,
}

impl Chosen {
    /// The usual way, and how much is fetched in each.
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

    /// What advice comes to.
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
    /// Bytes of a block; a page that is larger is a block of its own.
    pub block_bytes: u64,
}

impl Default for OnDemand {
    /// Nothing but the page itself.
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

/// Sequences that a requester may follow at once.
const SEQUENCES: usize = 4;
/// A window takes at most this part of the card, so that what is fetched ahead does not push itself
/// out before it is used.
const SHARE_OF_CARD: u64 = 8;
/// Pages that are there and are looked past for one access, at most.
const LOOK: u64 = 1024;

/// A requester's way through an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence {
    object: ObjectId,
    /// Of the pages that it counts.
    page_size: PageSize,
    /// Where it began.
    began: u64,
    /// The page that was touched first of what was not used up.
    first: u64,
    /// The first page that was not asked for.
    next: u64,
    /// An access at or behind this page asks for the next window.
    marker: u64,
    /// Pages that were asked for at once.
    window: u64,
}

/// Sequential read-ahead: each requester's next pages are on their way before it touches them.
///
/// A requester that goes on where it was gets a window ahead, twice as large each time, up to a limit. A window counts
/// the pages that are missing: what is there already is gone over, and its accesses are not seen.
/// The first page of each window is not installed: its first access says that the requester has come
/// that far, and the next window is asked for while this one is used. An access elsewhere begins a
/// new sequence; a requester follows a few at once. At the beginning of a mapping a requester is taken
/// to be sequential, and so is one that comes back to what it has gone through in order, once for each time that it
/// has: it is in a loop.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    max_bytes: u64,
    /// Of sequences that write.
    written_bytes: u64,
    /// Pages of the first window at the beginning of a mapping.
    first_window: u64,
    /// Of each requester, the one used last first.
    requesters: BTreeMap<u8, Vec<Sequence>>,
}

impl ReadAhead {
    /// Windows of up to this many bytes, or of a page if that is larger.
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            written_bytes: max_bytes,
            first_window: 1,
            requesters: BTreeMap::new(),
        }
    }
}

/// The next window from a page on: from its first missing page to behind its last, and so many missing pages at most.
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
            // One page is gone through before anything can be asked for.
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
        // The beginning of what was asked for before is used up now.
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

    /// Of a policy that finds nothing there.
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
        // Eight that are missing: two before what is held, and six behind it.
        assert_eq!((over.ahead, over.marker), (8..506, Some(8)));
        assert_eq!(at(8).ahead, 506..514);
        // One that is beyond what is there and was not asked for: it goes on where it was.
        let held = |page: u64| (514..600).contains(&page);
        let on = policy.touched(&touch(0, 1, 600), &held);
        assert_eq!((on.ahead, on.jump), (601..609, false));
        // Not so across a page that is missing.
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
        // Only once: jumps among what was gone through are jumps.
        for page in [40, 60, 50, 45] {
            let jump = plan_of(&mut policy, &touch(0, 1, page));
            assert!(jump.ahead.is_empty(), "{page}");
        }
    }
}
