//! Placement policies: the channel of a page.

use crate::ids::ObjectPage;
use std::fmt::Debug;
use std::ops::Range;
use units::Asid;

/// Divides the channels among this many isolated spaces: neighbouring channels, numbers as equal as possible. If there
/// are more spaces than channels, spaces share them.
pub fn groups(spaces: usize, channels: usize) -> Vec<Range<usize>> {
    let own = spaces.clamp(1, channels.max(1));
    let (each, more) = (channels / own, channels % own);
    let group = |number: usize| {
        let number = number % own;
        let first = number * each + number.min(more);
        first..first + each + usize::from(number < more)
    };
    (0..spaces).map(group).collect()
}

/// Chooses a channel for a page that is about to be filled.
pub trait Placement: Debug + Send {
    /// A channel with `available[channel]`; at least one is. Any other result is replaced by the first channel with
    /// room.
    fn channel(&mut self, asid: Asid, page: ObjectPage, available: &[bool]) -> usize;
}

/// Round robin, in the order of the fills: neighbouring pages that are fetched together lie on different channels.
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    next: usize,
}

impl Placement for RoundRobin {
    fn channel(&mut self, _asid: Asid, _page: ObjectPage, available: &[bool]) -> usize {
        let channel = first_from(self.next, available);
        self.next = (channel + 1) % available.len();
        channel
    }
}

/// By page index: page `i` goes to channel `i mod n` if that has room.
#[derive(Clone, Debug, Default)]
pub struct Striped;

impl Placement for Striped {
    fn channel(&mut self, _asid: Asid, page: ObjectPage, available: &[bool]) -> usize {
        let wanted = (page.index % available.len() as u64) as usize;
        first_from(wanted, available)
    }
}

/// The first channel with room, from `start` around; `start` if there is none.
fn first_from(start: usize, available: &[bool]) -> usize {
    (0..available.len())
        .map(|step| (start + step) % available.len())
        .find(|&channel| available[channel])
        .unwrap_or(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_robin_skips_full_channels() {
        let mut placement = RoundRobin::default();
        let mut next = |available: &[bool]| {
            placement.channel(Asid::default(), ObjectPage::default(), available)
        };
        assert_eq!(next(&[true, true, true]), 0);
        assert_eq!(next(&[true, false, true]), 2);
        assert_eq!(next(&[true, true, true]), 0);
    }

    #[test]
    fn isolated_spaces_have_channels_of_their_own_while_there_are_enough() {
        assert_eq!(groups(1, 4), std::slice::from_ref(&(0..4)));
        assert_eq!(groups(2, 4), [0..2, 2..4]);
        assert_eq!(groups(3, 4), [0..2, 2..3, 3..4]);
        assert_eq!(groups(4, 4), [0..1, 1..2, 2..3, 3..4]);
        assert_eq!(groups(6, 4)[3..], [3..4, 0..1, 1..2]);
        assert_eq!(groups(2, 1), [0..1, 0..1]);
        assert!(groups(0, 4).is_empty());
    }

    #[test]
    fn striped_follows_the_page() {
        let page = ObjectPage {
            index: 5,
            ..ObjectPage::default()
        };
        let channel = |available: &[bool]| Striped.channel(Asid::default(), page, available);
        assert_eq!(channel(&[true, true]), 1);
        assert_eq!(channel(&[true, false]), 0);
    }
}
