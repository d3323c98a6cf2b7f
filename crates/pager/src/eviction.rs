//! Eviction policies.

use crate::ids::ObjectPage;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// Decision of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Evict this page.
    Evict(ObjectPage),
    /// Read and clear this page's accessed bits, report them through [`EvictionPolicy::observed`], then ask again.
    Examine(ObjectPage),
    /// No page is eligible.
    Nothing,
}

/// Chooses pages to evict. A policy sees pages come and go, and no other state of the pager.
pub trait EvictionPolicy: Debug + Send {
    /// A page has become resident.
    fn inserted(&mut self, page: ObjectPage);
    /// A page has left.
    fn removed(&mut self, page: ObjectPage);
    /// Resident pages were joined into one; the resident data is unchanged.
    fn joined(&mut self, parts: &[ObjectPage], whole: ObjectPage) {
        parts.iter().for_each(|&part| self.removed(part));
        self.inserted(whole);
    }
    /// Result of [`Choice::Examine`]: whether the page was accessed since it was last examined.
    fn observed(&mut self, page: ObjectPage, accessed: bool);
    /// Chooses among the resident pages for which `eligible` holds. A page under examination is not eligible. A policy
    /// must reach [`Choice::Evict`] in a bounded number of calls.
    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice;
    /// Whether pages that a kernel may write, or has written, are eligible only if no others are: others leave without
    /// a copy.
    fn spares_written(&self) -> bool {
        false
    }
    /// Whether pages that were read ahead and are not used yet are eligible only if no others are.
    fn spares_expected(&self) -> bool {
        false
    }
    /// The next eviction candidates, in order, if no page is accessed.
    fn upcoming(&self, pages: usize) -> Vec<ObjectPage>;
}

/// Built-in eviction policies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Eviction {
    /// First in, first out: [`Fifo`].
    #[default]
    Fifo,
    /// First in, first out, with a second chance for pages accessed recently: [`SecondChance`].
    SecondChance,
    /// First in, first out, or young pages first if the working set exceeds the card's memory: [`Adaptive`].
    Adaptive,
    /// Pages that no kernel may write first, in FIFO order: [`SharedFirst`].
    SharedFirst,
}

impl Eviction {
    /// All variants.
    pub const ALL: [Self; 4] = [
        Self::Fifo,
        Self::SecondChance,
        Self::Adaptive,
        Self::SharedFirst,
    ];

    /// Name of the policy in options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::SecondChance => "secondchance",
            Self::Adaptive => "adaptive",
            Self::SharedFirst => "sharedfirst",
        }
    }

    /// Creates the eviction policy.
    pub fn policy(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Fifo => Box::<Fifo>::default(),
            Self::SecondChance => Box::<SecondChance>::default(),
            Self::Adaptive => Box::<Adaptive>::default(),
            Self::SharedFirst => Box::<SharedFirst>::default(),
        }
    }
}

/// Pages in the order of a ticket that only counts up.
#[derive(Clone, Debug, Default)]
struct Line {
    next: u64,
    by_ticket: BTreeMap<u64, ObjectPage>,
    tickets: BTreeMap<ObjectPage, u64>,
}

impl Line {
    fn push(&mut self, page: ObjectPage) {
        self.remove(page);
        self.by_ticket.insert(self.next, page);
        self.tickets.insert(page, self.next);
        self.next += 1;
    }

    fn remove(&mut self, page: ObjectPage) {
        if let Some(ticket) = self.tickets.remove(&page) {
            self.by_ticket.remove(&ticket);
        }
    }

    fn len(&self) -> usize {
        self.tickets.len()
    }

    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        self.by_ticket.values().copied().take(pages).collect()
    }

    fn first(&self, eligible: &dyn Fn(ObjectPage) -> bool) -> Option<ObjectPage> {
        self.by_ticket
            .values()
            .copied()
            .find(|&page| eligible(page))
    }

    fn last(&self, eligible: &dyn Fn(ObjectPage) -> bool) -> Option<ObjectPage> {
        let mut newest = self.by_ticket.values().rev().copied();
        newest.find(|&page| eligible(page))
    }
}

/// Equal order gives an equal hash: tickets only count up.
impl Hash for Line {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.by_ticket.len().hash(hasher);
        self.by_ticket.values().for_each(|page| page.hash(hasher));
    }
}

/// First in, first out: FSRF's policy (§4.6).
#[derive(Clone, Debug, Default, Hash)]
pub struct Fifo {
    line: Line,
}

impl EvictionPolicy for Fifo {
    fn inserted(&mut self, page: ObjectPage) {
        self.line.push(page);
    }

    fn removed(&mut self, page: ObjectPage) {
        self.line.remove(page);
    }

    fn observed(&mut self, _page: ObjectPage, _accessed: bool) {}

    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice {
        self.line
            .first(eligible)
            .map_or(Choice::Nothing, Choice::Evict)
    }

    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        self.line.upcoming(pages)
    }
}

/// First in, first out among the pages that no kernel may write: shared memory in the state *shared*, and files mapped
/// for reading. The other pages are evicted, in the same order, when none of these are left.
///
/// The evicted pages need no copy back, and pages that are written repeatedly stay. But if a kernel writes each page
/// once and reads others often, the wrong pages stay (FlexiMem, section III-A: "shared pages first").
#[derive(Clone, Debug, Default, Hash)]
pub struct SharedFirst {
    first: Fifo,
}

impl EvictionPolicy for SharedFirst {
    fn inserted(&mut self, page: ObjectPage) {
        self.first.inserted(page);
    }

    fn removed(&mut self, page: ObjectPage) {
        self.first.removed(page);
    }

    fn observed(&mut self, _page: ObjectPage, _accessed: bool) {}

    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice {
        self.first.choose(eligible)
    }

    fn spares_written(&self) -> bool {
        true
    }

    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        self.first.upcoming(pages)
    }
}

/// FIFO, but a page that was accessed since its last examination moves once to the end of the queue.
#[derive(Clone, Debug, Default)]
pub struct SecondChance {
    line: Line,
    observed: BTreeMap<ObjectPage, bool>,
    spared: usize,
}

impl EvictionPolicy for SecondChance {
    fn inserted(&mut self, page: ObjectPage) {
        self.line.push(page);
    }

    fn removed(&mut self, page: ObjectPage) {
        self.line.remove(page);
        self.observed.remove(&page);
    }

    fn observed(&mut self, page: ObjectPage, accessed: bool) {
        if self.line.tickets.contains_key(&page) {
            self.observed.insert(page, accessed);
        }
    }

    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice {
        while let Some(page) = self.line.first(eligible) {
            let all_spared = self.spared >= self.line.tickets.len();
            match self.observed.remove(&page) {
                None if !all_spared => return Choice::Examine(page),
                Some(true) if !all_spared => {
                    self.spared += 1;
                    self.line.push(page);
                }
                _ => {
                    self.spared = 0;
                    return Choice::Evict(page);
                }
            }
        }
        Choice::Nothing
    }

    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        self.line.upcoming(pages)
    }
}

/// Number of young pages: one in this many pages of a group.
const YOUNG: usize = 8;
/// Number of buckets: one is led by FIFO, one by holding the old pages.
const BUCKETS: u64 = 16;
/// Lead of holding, in pages that were not fetched again, from which it is used.
const LEAD: i32 = 4;
/// While old pages are held, one eviction in this many takes the oldest page, so that the held pages change in the end.
const CHANGE: u32 = 8;
/// Limit of the lead, so that a change of the access pattern is noticed.
const FURTHEST: i32 = 64;

/// Pages that are evicted by one rule.
#[derive(Clone, Debug, Default)]
struct Group {
    old: Line,
    young: Line,
    /// Pages that left while the old ones were held.
    held: u32,
    /// Chosen pages that have not left yet: many are chosen before the first has left.
    leaving: BTreeSet<ObjectPage>,
}

impl Group {
    fn len(&self) -> usize {
        (self.old.len() + self.young.len()).saturating_sub(self.leaving.len())
    }

    fn remove(&mut self, page: ObjectPage) {
        self.old.remove(page);
        self.young.remove(page);
        self.leaving.remove(&page);
    }

    /// The first eviction candidate. If the old pages are held, it is the newest of the half that is evicted first: the
    /// pages to be fetched again are then scattered among resident ones, and are fetched while a kernel works on those.
    fn first(&mut self, hold: bool, eligible: &dyn Fn(ObjectPage) -> bool) -> Option<ObjectPage> {
        let most = (self.len() / YOUNG).max(1);
        while self.young.len() > most {
            let Some(page) = self.young.upcoming(1).first().copied() else {
                break;
            };
            self.young.remove(page);
            self.old.push(page);
        }
        self.held = self.held.wrapping_add(u32::from(hold));
        let old = match hold && self.held % CHANGE != 0 {
            true => {
                let half = self.old.last(&|page| !is_kept(page) && eligible(page));
                half.or_else(|| self.old.last(eligible))
            }
            false => self.old.first(eligible),
        };
        let chosen = old.or_else(|| self.young.first(eligible));
        self.leaving.extend(chosen);
        chosen
    }
}

/// Chooses between FIFO and holding most pages while evicting the newest, whichever fetches fewer pages.
///
/// With FIFO, a loop over more data than card memory holds never hits: each page leaves shortly before it is needed. If
/// most pages stay and the others take turns, the loop hits the resident ones every time. A page is evicted when it is
/// no longer young, after an eighth of the frames was replaced; pages that were read ahead and are not used yet stay,
/// or they would leave before their use. But held pages are useless once a program moves to other data. Therefore a
/// sixteenth of the pages (by their numbers) always uses FIFO and another sixteenth always holds, with as many frames
/// each; each fetched page counts against its rule, and the rest follow the better one (set dueling, as in caches).
#[derive(Clone, Debug, Default)]
pub struct Adaptive {
    /// Groups: led by FIFO, led by holding, and the rest.
    groups: [Group; 3],
    /// Whether a page was evicted before: memory is short.
    short: bool,
    /// Lead of holding, in pages.
    ahead: i32,
}

/// Number of buckets of each group.
const WEIGHTS: [usize; 3] = [1, 1, BUCKETS as usize - 2];

/// Hash of a page: neighbours differ in it, and so do pages at a stride of a power of two.
fn mixed(page: ObjectPage) -> u64 {
    (page.object.0 ^ page.index).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
}

fn group_of(page: ObjectPage) -> usize {
    (mixed(page) % BUCKETS).min(2) as usize
}

/// Whether a page belongs to the half that stays longer.
fn is_kept(page: ObjectPage) -> bool {
    mixed(page) / BUCKETS % 2 == 1
}

impl EvictionPolicy for Adaptive {
    fn inserted(&mut self, page: ObjectPage) {
        let group = group_of(page);
        self.groups[group].young.push(page);
        if self.short {
            let change = [1, -1, 0][group];
            self.ahead = (self.ahead + change).clamp(-FURTHEST, FURTHEST);
        }
    }

    fn removed(&mut self, page: ObjectPage) {
        self.groups[group_of(page)].remove(page);
    }

    fn joined(&mut self, parts: &[ObjectPage], whole: ObjectPage) {
        parts.iter().for_each(|&part| self.removed(part));
        self.groups[group_of(whole)].young.push(whole);
    }

    fn observed(&mut self, _page: ObjectPage, _accessed: bool) {}

    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice {
        self.short = true;
        let holds = [false, true, self.ahead > LEAD];
        // Each group has frames in proportion, so that the leaders are comparable.
        let share = |group: usize| self.groups[group].len() * WEIGHTS[2] / WEIGHTS[group];
        let mut order = [2, 0, 1];
        order.sort_by_key(|&group| std::cmp::Reverse(share(group)));
        for group in order {
            if let Some(page) = self.groups[group].first(holds[group], eligible) {
                return Choice::Evict(page);
            }
        }
        Choice::Nothing
    }

    fn spares_expected(&self) -> bool {
        true
    }

    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        let rest = &self.groups[2];
        let mut next = match self.ahead > LEAD {
            true => {
                let newest = rest.old.by_ticket.values().rev();
                newest.copied().take(pages).collect()
            }
            false => rest.old.upcoming(pages),
        };
        next.extend(rest.young.upcoming(pages - next.len()));
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(index: u64) -> ObjectPage {
        ObjectPage {
            index,
            ..ObjectPage::default()
        }
    }

    #[test]
    fn fifo_takes_the_oldest_eligible() {
        let mut policy = Fifo::default();
        (0..3).for_each(|i| policy.inserted(page(i)));
        assert_eq!(policy.choose(&|p| p.index != 0), Choice::Evict(page(1)));
        policy.removed(page(1));
        assert_eq!(policy.choose(&|p| p.index != 0), Choice::Evict(page(2)));
        assert_eq!(policy.choose(&|_| false), Choice::Nothing);
    }

    #[test]
    fn touched_pages_are_spared_once() {
        let mut policy = SecondChance::default();
        (0..2).for_each(|i| policy.inserted(page(i)));
        assert_eq!(policy.choose(&|_| true), Choice::Examine(page(0)));
        policy.observed(page(0), true);
        assert_eq!(policy.choose(&|_| true), Choice::Examine(page(1)));
        policy.observed(page(1), false);
        assert_eq!(policy.choose(&|_| true), Choice::Evict(page(1)));
        policy.removed(page(1));
        assert_eq!(policy.choose(&|_| true), Choice::Examine(page(0)));
        policy.observed(page(0), true);
        assert_eq!(policy.choose(&|_| true), Choice::Evict(page(0)));
    }

    /// Misses when these pages are used in turn, with `frames` frames.
    fn misses(policy: &mut dyn EvictionPolicy, frames: usize, uses: &[u64]) -> usize {
        let mut there = std::collections::BTreeSet::new();
        let mut misses = 0;
        for &index in uses {
            if there.contains(&index) {
                continue;
            }
            misses += 1;
            if there.len() == frames {
                let Choice::Evict(victim) = policy.choose(&|_| true) else {
                    panic!("something leaves");
                };
                assert!(there.remove(&victim.index), "{victim:?} is there");
                policy.removed(victim);
            }
            there.insert(index);
            policy.inserted(page(index));
        }
        misses
    }

    #[test]
    fn loops_larger_than_memory_find_most_of_it_again() {
        let loops: Vec<u64> = (0..20).flat_map(|_| 0..384).collect();
        let fifo = misses(&mut Fifo::default(), 256, &loops);
        let adaptive = misses(&mut Adaptive::default(), 256, &loops);
        assert_eq!(fifo, loops.len(), "nothing is found");
        assert!(adaptive * 100 < 60 * fifo, "{adaptive} of {fifo}");
    }

    #[test]
    fn the_leaders_keep_their_rooms_when_many_leave_at_once() {
        let mut policy = Adaptive::default();
        (0..160).for_each(|index| policy.inserted(page(index)));
        let leading = |policy: &Adaptive| [policy.groups[0].len(), policy.groups[1].len()];
        let before = leading(&policy);
        let mut gone = BTreeSet::new();
        for _ in 0..40 {
            let Choice::Evict(victim) = policy.choose(&|page| !gone.contains(&page)) else {
                panic!("something leaves");
            };
            gone.insert(victim);
        }
        for (left, before) in leading(&policy).into_iter().zip(before) {
            assert!(left * 2 >= before, "{left} of {before}");
        }
        gone.into_iter().for_each(|page| policy.removed(page));
        assert!(policy.groups.iter().all(|group| group.leaving.is_empty()));
    }

    #[test]
    fn programs_that_go_on_to_other_pages_lose_a_bounded_share() {
        // Each window of pages is used four times, and then half of it is no longer used.
        let window = |n: u64| (0..4).flat_map(move |_| n * 100..n * 100 + 200);
        let moving: Vec<u64> = (0..60).flat_map(window).collect();
        let loops: Vec<u64> = (0..10).flat_map(|_| 10_000..10_384).collect();
        let both = [loops, moving.clone()].concat();
        for (uses, percent) in [(both, 110), (moving, 125)] {
            let fifo = misses(&mut Fifo::default(), 256, &uses);
            let adaptive = misses(&mut Adaptive::default(), 256, &uses);
            assert!(adaptive * 100 < percent * fifo, "{adaptive} and {fifo}");
        }
    }

    #[test]
    fn shared_first_is_first_in_first_out_among_those_it_is_shown() {
        let mut policy = SharedFirst::default();
        (0..3).for_each(|i| policy.inserted(page(i)));
        assert!(policy.spares_written());
        assert_eq!(policy.choose(&|p| p.index == 2), Choice::Evict(page(2)));
        assert_eq!(policy.choose(&|_| true), Choice::Evict(page(0)));
        assert!(!Fifo::default().spares_written());
    }

    #[test]
    fn a_line_of_busy_pages_gives_one_up() {
        let mut policy = SecondChance::default();
        (0..4).for_each(|i| policy.inserted(page(i)));
        for _ in 0..16 {
            match policy.choose(&|_| true) {
                Choice::Examine(page) => policy.observed(page, true),
                Choice::Evict(_) => return,
                Choice::Nothing => panic!("pages are eligible"),
            }
        }
        panic!("nothing was evicted");
    }
}
