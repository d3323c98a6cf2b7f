//! Page-size policies, for objects whose pages may have several sizes.

use crate::ids::ObjectId;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use units::{PageSize, PageSizes, Pattern};

/// An access that waits for the host, in an object whose pages have several sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeTouch {
    /// Requester of the access.
    pub requester: u8,
    /// Object that is accessed.
    pub object: ObjectId,
    /// Index of the page, in smallest pages.
    pub index: u64,
    /// Sizes that pages may have.
    pub sizes: PageSizes,
    /// The page that is resident or in transit, in smallest pages.
    pub covered: Option<Range<u64>>,
    /// Whether a frame of the largest size is free.
    pub room: bool,
    /// Whether all mappings of the space could be on the card at once.
    pub fits: bool,
    /// Maximum bytes that the space can have on the card.
    pub memory: u64,
    /// Whether the access is at the start of the mapping.
    pub first: bool,
    /// Advised pattern.
    pub pattern: Option<Pattern>,
}

impl SizeTouch {
    fn smallest(&self) -> PageSize {
        self.sizes.iter().next().unwrap_or(PageSize::KIB_4)
    }

    fn largest(&self) -> PageSize {
        self.sizes.iter().last().unwrap_or(PageSize::KIB_4)
    }
}

/// Decides the size of fetched pages.
pub trait PageSizePolicy: Debug + Send {
    /// An access waits. The fetched page is the largest that is not above the result and overlaps no existing page; if
    /// a page covers the access already, the result has no effect.
    fn touched(&mut self, touch: &SizeTouch) -> PageSize;
    /// These smallest pages are fetched, or resident, because of the requester's last access: the page that holds it,
    /// or the pages read ahead behind it.
    fn comes(&mut self, requester: u8, range: Range<u64>);
    /// Whether the parts of a larger block are placed in adjacent frames where there is room, and joined when all of
    /// them are resident. `size` is the block's; `mapped` is the bytes mapped by the space; `fits`: all of them could
    /// be on the card at once.
    fn joins(&mut self, size: PageSize, fits: bool, mapped: u64) -> bool;
}

/// Maximum concurrent sequences of a requester.
const SEQUENCES: usize = 4;
/// Maximum ratio of a page's size to the length of its sequence so far.
const GROWTH: u64 = 4;
/// If not everything fits, a page takes at most this fraction of the card, so that a few concurrent sequences do not
/// evict each other's pages before they are used.
const SHARE: u64 = 8;

/// Maximum fetched size, if there are several sizes up to it: the kernel would wait for all of a larger page. Larger
/// pages are made by joining, when all their parts are resident.
const FETCHED: u64 = 64 << 10;

/// The same if no size is that small: FSRF's I/O.
const FETCHED_LARGE: u64 = 2 << 20;

/// Reach of L1 TLBs of Coyote's size with 4 KiB entries. A space that maps no more hits with its small pages, and
/// joining them would only cost time: each removed entry waits for the accesses under way.
const REACH: u64 = 16 << 20;

/// The smallest pages that a sequence has passed.
#[derive(Clone, Copy, Debug)]
struct Run {
    object: ObjectId,
    begin: u64,
    end: u64,
    /// Behind the last accessed page; pages fetched with it may lie beyond.
    touched: u64,
    /// Number of accessed pages of the sequence before it.
    before: u64,
}

/// FSRF's policy (§5.1): the largest pages while memory lasts, but fetched in parts of 64 KiB that are joined; that is
/// as fast as any fixed size, warm or cold, in order or at random (`policy.auto.worst_share`). If not everything fits,
/// it begins with the smallest pages and grows them as a sequence continues, until it ends: jumps use small pages from
/// the beginning. If the last sequence was longer than a page, the next one is expected to be as long: accesses of 64
/// KiB at random offsets thus fetch pages of 64 KiB.
#[derive(Clone, Debug, Default)]
pub struct Doubling {
    /// Sequences of each requester, most recently used first.
    requesters: BTreeMap<u8, Vec<Run>>,
    /// Mapped bytes of a space beyond which blocks of each size are joined, instead of [`REACH`].
    beyond: BTreeMap<PageSize, u64>,
}

impl Doubling {
    /// Joins blocks of a size in spaces that map more than `reach` bytes: the reach of the L1 TLB with the smaller
    /// pages.
    #[must_use]
    pub fn joining(mut self, size: PageSize, reach: u64) -> Self {
        self.beyond.insert(size, reach);
        self
    }
}

impl PageSizePolicy for Doubling {
    fn joins(&mut self, size: PageSize, fits: bool, mapped: u64) -> bool {
        fits && mapped > *self.beyond.get(&size).unwrap_or(&REACH)
    }

    fn touched(&mut self, touch: &SizeTouch) -> PageSize {
        let (smallest, largest) = (touch.smallest(), touch.largest());
        let runs = self.requesters.entry(touch.requester).or_default();
        let follows =
            |run: &Run| run.object == touch.object && (run.begin..=run.end).contains(&touch.index);
        let place = runs.iter().position(follows);
        let place = place.unwrap_or_else(|| {
            let last = runs.first().filter(|last| last.object == touch.object);
            let before = last.map_or(0, |last| last.touched - last.begin);
            runs.truncate(SEQUENCES - 1);
            let run = Run {
                object: touch.object,
                begin: touch.index,
                end: touch.index,
                touched: touch.index,
                // One page is no sequence, and a stream is no access.
                before: match before << smallest.bits() {
                    bytes if before > 1 && bytes <= FETCHED => before,
                    _ => 0,
                },
            };
            runs.push(run);
            runs.len() - 1
        });
        runs[..=place].rotate_right(1);
        let run = &mut runs[0];
        if touch.covered.is_none() && touch.index < run.end {
            // It was resident and has left: this is no sequence.
            (run.begin, run.end) = (touch.index, touch.index);
            (run.touched, run.before) = (touch.index, 0);
        }
        run.touched = run.touched.max(touch.index + 1);
        let so_far = run.end.max(touch.index + 1) - run.begin;
        let so_far = so_far.max(run.before) << smallest.bits();
        let most = match touch.pattern {
            _ if touch.room && touch.fits => largest.bytes(),
            Some(Pattern::Random) => smallest.bytes(),
            pattern => {
                let large = touch.first || pattern == Some(Pattern::Stream);
                let wanted = if large {
                    largest.bytes()
                } else {
                    GROWTH * so_far
                };
                wanted.min(touch.memory / SHARE)
            }
        };
        let fitting = |most: u64| touch.sizes.iter().filter(move |size| size.bytes() <= most);
        let fetched = match fitting(FETCHED).count() {
            ..=1 => most.min(FETCHED_LARGE.max(smallest.bytes())),
            _ => most.min(FETCHED),
        };
        fitting(fetched).last().unwrap_or(smallest)
    }

    fn comes(&mut self, requester: u8, range: Range<u64>) {
        let run = self.requesters.get_mut(&requester);
        if let Some(run) = run.and_then(|runs| runs.first_mut()) {
            run.end = run.end.max(range.end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> PageSizes {
        let middle = PageSize::from_class(4).unwrap();
        PageSizes::only(PageSize::KIB_4)
            .with(middle)
            .with(PageSize::MIB_2)
    }

    fn touch(index: u64) -> SizeTouch {
        SizeTouch {
            requester: 0,
            object: ObjectId(1),
            index,
            sizes: sizes(),
            covered: None,
            room: false,
            fits: false,
            memory: 64 << 20,
            first: false,
            pattern: None,
        }
    }

    #[test]
    fn large_while_memory_lasts() {
        let mut policy = Doubling::default();
        let with_room = SizeTouch {
            room: true,
            fits: true,
            ..touch(700)
        };
        assert_eq!(policy.touched(&with_room).bytes(), FETCHED);
        assert!(
            policy.joins(PageSize::MIB_2, true, 1 << 30)
                && !policy.joins(PageSize::MIB_2, false, 1 << 30)
        );
        assert!(
            !policy.joins(PageSize::MIB_2, true, REACH),
            "small entries reach"
        );
        // Without a size between.
        let two = SizeTouch {
            sizes: PageSizes::only(PageSize::KIB_4).with(PageSize::MIB_2),
            ..with_room
        };
        assert_eq!(policy.touched(&two), PageSize::MIB_2);
        let more_than_fits = SizeTouch {
            room: true,
            ..touch(9000)
        };
        assert_eq!(policy.touched(&more_than_fits), PageSize::KIB_4);
        assert_eq!(policy.touched(&touch(5000)), PageSize::KIB_4);
    }

    #[test]
    fn pages_above_2_mib_are_made_where_their_parts_are_too_many() {
        let large = PageSize::from_class(13).unwrap();
        let mut policy = Doubling::default().joining(large, 256 << 20);
        assert!(
            !policy.joins(large, true, 256 << 20),
            "the 2 MiB TLB reaches"
        );
        assert!(policy.joins(large, true, (256 << 20) + 1) && !policy.joins(large, false, 1 << 30));
        assert!(policy.joins(PageSize::MIB_2, true, REACH + 1), "as ever");
        for (sizes, fetched) in [
            (sizes().with(large), FETCHED),
            (PageSizes::only(PageSize::MIB_2).with(large), FETCHED_LARGE),
        ] {
            for (room, fits) in [(true, true), (false, false)] {
                let touch = SizeTouch {
                    sizes,
                    room,
                    fits,
                    memory: 1 << 30,
                    pattern: Some(Pattern::Stream),
                    ..touch(0)
                };
                assert_eq!(
                    policy.touched(&touch).bytes(),
                    fetched,
                    "no fault brings 32 MiB"
                );
            }
        }
    }

    #[test]
    fn sequences_grow_and_jumps_do_not() {
        let mut policy = Doubling::default();
        let mut at = 3;
        let mut sizes = Vec::new();
        while at < 2048 {
            let size = policy.touched(&touch(at));
            sizes.push(size.bytes() >> 10);
            let units = size.bytes() >> 12;
            at = at / units * units + units;
            policy.comes(0, at - units..at);
        }
        let of = |kib| sizes.iter().filter(|&&size| size == kib).count();
        // From 3 on: 64 KiB when four smallest pages are requested (at 6).
        assert_eq!((of(4), of(64)), (3, 128), "{sizes:?}");
        for jump in [90_000, 30_000, 60_001, 30_500] {
            assert_eq!(policy.touched(&touch(jump)), PageSize::KIB_4);
        }
    }

    /// Accesses of 64 KiB at random offsets: the first grows, those that follow are fetched whole, until one is short.
    #[test]
    fn an_access_as_long_as_the_one_before() {
        let mut policy = Doubling::default();
        let access = |policy: &mut Doubling, at: u64, pages: u64| {
            let mut sizes = Vec::new();
            let mut there = at;
            for index in at..at + pages {
                let covered = (index < there).then_some(at..there);
                let none = covered.is_none();
                let size = policy.touched(&SizeTouch {
                    covered,
                    ..touch(index)
                });
                if none {
                    sizes.push(size.bytes() >> 10);
                    there = index + (size.bytes() >> 12);
                    policy.comes(0, index..there);
                }
            }
            sizes
        };
        assert!(access(&mut policy, 1600, 16).len() > 1);
        assert_eq!(access(&mut policy, 160, 16), [64]);
        assert_eq!(access(&mut policy, 3200, 16), [64]);
        assert_eq!(access(&mut policy, 9600, 1), [64], "it cannot know");
        assert_eq!(access(&mut policy, 6400, 1), [4]);
        assert_eq!(access(&mut policy, 4800, 1), [4]);
    }

    #[test]
    fn what_has_left_and_comes_back_is_no_sequence() {
        let mut policy = Doubling::default();
        let first = SizeTouch {
            first: true,
            ..touch(0)
        };
        assert_eq!(policy.touched(&first).bytes(), FETCHED);
        policy.comes(0, 0..512);
        policy.comes(0, 512..1024);
        let next = policy.touched(&touch(1024));
        assert_eq!(next.bytes(), FETCHED, "it goes on");
        policy.comes(0, 1024..1536);
        assert_eq!(policy.touched(&touch(700)), PageSize::KIB_4);
    }

    #[test]
    fn small_cards_have_no_large_pages_for_sequences() {
        let small = SizeTouch {
            first: true,
            memory: 4 << 20,
            ..touch(0)
        };
        assert_eq!(Doubling::default().touched(&small).bytes(), 64 << 10);
    }

    #[test]
    fn advice_counts_more_than_what_is_seen() {
        let mut policy = Doubling::default();
        let told = |pattern, room| SizeTouch {
            pattern: Some(pattern),
            room,
            ..touch(900)
        };
        let stream = policy.touched(&told(Pattern::Stream, false));
        assert_eq!(stream.bytes(), FETCHED);
        assert_eq!(
            policy.touched(&told(Pattern::Random, true)),
            PageSize::KIB_4
        );
    }
}
