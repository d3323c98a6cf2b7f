//! How large a page is, of objects whose pages may have several sizes.

use crate::ids::ObjectId;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use units::{PageSize, PageSizes, Pattern};

/// An access that waits for the host, in an object whose pages have several sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeTouch {
    /// The requester that it belongs to.
    pub requester: u8,
    /// The object.
    pub object: ObjectId,
    /// Which of its smallest pages is needed.
    pub index: u64,
    /// The sizes that pages may have.
    pub sizes: PageSizes,
    /// The page that is there or on its way already, in smallest pages.
    pub covered: Option<Range<u64>>,
    /// A frame of the largest size is free.
    pub room: bool,
    /// All that the space maps could be on the card at once.
    pub fits: bool,
    /// Bytes that the space can have on the card at once.
    pub memory: u64,
    /// The mapping begins here.
    pub first: bool,
    /// What was advised.
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

/// Decides how large the page is that is brought to the card.
pub trait PageSizePolicy: Debug + Send {
    /// An access waits. The page that comes is the largest that is not above the answer and overlaps none that
    /// is there; if one covers the access already, the answer changes nothing.
    fn touched(&mut self, touch: &SizeTouch) -> PageSize;
    /// These smallest pages come, or are there, because of the access that the requester was asked about last: the
    /// page that holds it, or what follows and is fetched ahead.
    fn comes(&mut self, requester: u8, range: Range<u64>);
    /// Whether the parts of a larger block are laid side by side where there is room, and become one page when all of
    /// them are there. `size` is the block's; `fits`: all that the space maps, so many bytes, could be on the card at once.
    fn joins(&mut self, size: PageSize, fits: bool, mapped: u64) -> bool;
}

/// Sequences that a requester may follow at once.
const SEQUENCES: usize = 4;
/// A page may be so many times as large as what its sequence has had before it.
const GROWTH: u64 = 4;
/// Where not everything fits, a page takes at most this part of the card, so that some sequences at once do not
/// push out each other's pages before they are used.
const SHARE: u64 = 8;

/// No larger page is brought to the card at once, where there are several sizes as small: the kernel would wait for all
/// of it. Larger ones come by joining, when all their parts are there.
const FETCHED: u64 = 64 << 10;

/// The same where no size is as small: FSRF's I/O.
const FETCHED_LARGE: u64 = 2 << 20;

/// What the L1 TLBs of Coyote's size hold in entries of 4 KiB. A space that maps no more finds its small pages there, and
/// joining them would only be work: each entry that is removed waits for the accesses under way.
const REACH: u64 = 16 << 20;

/// The smallest pages that a sequence has gone through.
#[derive(Clone, Copy, Debug)]
struct Run {
    object: ObjectId,
    begin: u64,
    end: u64,
    /// Behind the last one that was accessed; what came with it may lie beyond.
    touched: u64,
    /// How many pages the sequence before it was accessed in.
    before: u64,
}

/// FSRF's way (§5.1), the largest pages while memory lasts, but they come in parts of 64 KiB that are joined: that
/// is as fast as any fixed size, warm or cold, in order or at random (`policy.auto.worst_share`). Where not everything
/// fits, the smallest, and larger ones as a sequence goes on, until it ends: there, jumps are for small pages from the
/// beginning. Only where the last sequence was longer than a page, the next one is taken to be as long: so accesses of
/// 64 KiB at random places bring pages of 64 KiB.
#[derive(Clone, Debug, Default)]
pub struct Doubling {
    /// Of each requester, the one used last first.
    requesters: BTreeMap<u8, Vec<Run>>,
    /// Pages of this size are made where a space maps more than so many bytes, instead of [`REACH`].
    beyond: BTreeMap<PageSize, u64>,
}

impl Doubling {
    /// Blocks of a size become one page where a space maps more than `reach`: what the L1 TLB of the smaller pages
    /// holds.
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
            // It was there and has left: this is no sequence.
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
        // From 3 on: 64 KiB when four smallest pages are asked for (at 6).
        assert_eq!((of(4), of(64)), (3, 128), "{sizes:?}");
        for jump in [90_000, 30_000, 60_001, 30_500] {
            assert_eq!(policy.touched(&touch(jump)), PageSize::KIB_4);
        }
    }

    /// Accesses of 64 KiB at random places: the first grows, those that follow come whole, until one is short.
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
