//! What is brought to the card when it is missing, and what before it is.

use crate::ids::ObjectId;
use crate::page::ObjectPage;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use units::PageSize;

/// An access that waits for the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The requester (the reads or the writes of a port) that it belongs to.
    pub requester: u8,
    /// What it needs.
    pub page: ObjectPage,
    /// Size of the object's pages.
    pub page_size: PageSize,
    /// Pages of the object that the mapping shows.
    pub mapped: Range<u64>,
    /// Frames of that size that the space can have at once.
    pub frames: u64,
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
}

/// Decides what is fetched. It sees the accesses that wait for the host, and nothing else.
pub trait FetchPolicy: Debug + Send {
    /// An access waits, for a page that is missing, on its way, or just not installed.
    fn touched(&mut self, touch: &Touch) -> Plan;
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
    fn touched(&mut self, touch: &Touch) -> Plan {
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

/// A requester's way through an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sequence {
    object: ObjectId,
    /// The page that was touched first.
    first: u64,
    /// The first page that was not asked for.
    next: u64,
    /// An access at or behind this page asks for the next window.
    marker: u64,
    window: u64,
}

/// Sequential read-ahead: each requester's next pages are on their way before it touches them.
///
/// A requester that goes on where it was gets a window ahead, twice as large each time, up to a limit.
/// The first page of each window is not installed: its first access says that the requester has come
/// that far, and the next window is asked for while this one is used. An access elsewhere begins a
/// new sequence; a requester follows a few at once. At the beginning of a mapping a requester is taken
/// to be sequential.
#[derive(Clone, Debug)]
pub struct ReadAhead {
    max_bytes: u64,
    /// Of each requester, the one used last first.
    requesters: BTreeMap<u8, Vec<Sequence>>,
}

impl ReadAhead {
    /// Windows of up to this many bytes, or of a page if that is larger.
    pub fn new(max_bytes: u64) -> Self {
        Self {
            max_bytes,
            requesters: BTreeMap::new(),
        }
    }
}

impl FetchPolicy for ReadAhead {
    fn touched(&mut self, touch: &Touch) -> Plan {
        let page = touch.page.index;
        let most = self.max_bytes.div_ceil(touch.page_size.bytes());
        let limit = most.min(touch.frames / SHARE_OF_CARD);
        let sequences = self.requesters.entry(touch.requester).or_default();
        let follows = |sequence: &Sequence| {
            sequence.object == touch.page.object && (sequence.first..=sequence.next).contains(&page)
        };
        let Some(place) = sequences.iter().position(follows) else {
            sequences.truncate(SEQUENCES - 1);
            let window = u64::from(page == touch.mapped.start).min(limit);
            let next = page + 1 + window;
            sequences.insert(
                0,
                Sequence {
                    object: touch.page.object,
                    first: page,
                    next,
                    marker: page + 1,
                    window,
                },
            );
            return Plan {
                ahead: page + 1..next,
                marker: None,
                pushes: true,
            };
        };
        sequences[..=place].rotate_right(1);
        let sequence = &mut sequences[0];
        if page < sequence.marker {
            return Plan::default();
        }
        sequence.window = (2 * sequence.window).clamp(1, limit.max(1));
        let start = sequence.next.max(page + 1);
        let end = start + sequence.window.min(limit);
        // The beginning of what was asked for before is used up now.
        sequence.first = sequence.marker;
        sequence.marker = start;
        sequence.next = end;
        Plan {
            ahead: start..end,
            marker: Some(start),
            pushes: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: PageSize = PageSize::MIB_2;

    fn touch(requester: u8, object: u64, index: u64) -> Touch {
        Touch {
            requester,
            page: ObjectPage {
                object: ObjectId(object),
                index,
            },
            page_size: PAGE,
            mapped: 0..1000,
            frames: 256,
        }
    }

    #[test]
    fn windows_double_as_a_requester_goes_on() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        let mut plan = |page| policy.touched(&touch(0, 1, page)).ahead;
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
            assert!(policy.touched(&touch(0, 1, page)).ahead.is_empty());
        }
        assert_eq!(policy.touched(&touch(0, 1, 8)).ahead, 9..10);
    }

    #[test]
    fn requesters_and_objects_have_sequences_of_their_own() {
        let mut policy = ReadAhead::new(8 * PAGE.bytes());
        for (requester, object) in [(0, 1), (0, 2), (1, 1)] {
            assert_eq!(policy.touched(&touch(requester, object, 0)).ahead, 1..2);
        }
        for (requester, object) in [(0, 1), (0, 2), (1, 1)] {
            assert_eq!(policy.touched(&touch(requester, object, 1)).ahead, 2..4);
        }
    }

    #[test]
    fn small_cards_get_small_windows() {
        let mut policy = ReadAhead::new(64 * PAGE.bytes());
        let small = |page| Touch {
            frames: 16,
            ..touch(0, 1, page)
        };
        let longest = (0..40).map(|page| {
            let ahead = policy.touched(&small(page)).ahead;
            ahead.end - ahead.start
        });
        assert_eq!(longest.max(), Some(2));
        let none = Touch {
            frames: 7,
            ..touch(3, 1, 0)
        };
        assert!(policy.touched(&none).ahead.is_empty());
    }
}
