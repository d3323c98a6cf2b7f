//! Which page leaves when frames run out.

use crate::page::ObjectPage;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// What a policy wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Evict this page.
    Evict(ObjectPage),
    /// Read and clear this page's accessed bits, report them through
    /// [`EvictionPolicy::observed`], then ask again.
    Examine(ObjectPage),
    /// No eligible page.
    Nothing,
}

/// Chooses pages to evict. It sees pages come and go, and nothing else of the pager.
pub trait EvictionPolicy: Debug + Send {
    /// A page has become resident.
    fn inserted(&mut self, page: ObjectPage);
    /// A page has left.
    fn removed(&mut self, page: ObjectPage);
    /// The answer to [`Choice::Examine`]: has the page been touched since it was last examined?
    fn observed(&mut self, page: ObjectPage, accessed: bool);
    /// Chooses among the resident pages for which `eligible` holds. It does not hold for a page that
    /// is being examined. A policy must come to [`Choice::Evict`] in a bounded number of calls.
    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice;
    /// The first pages that would leave, if nobody touched them.
    fn upcoming(&self, pages: usize) -> Vec<ObjectPage>;
}

/// Which page leaves, for those who choose among what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Eviction {
    /// The one that came first: [`Fifo`].
    #[default]
    Fifo,
    /// The one that came first, unless it was touched lately: [`SecondChance`].
    SecondChance,
}

impl Eviction {
    /// Each.
    pub const ALL: [Self; 2] = [Self::Fifo, Self::SecondChance];

    /// Its name in options.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::SecondChance => "secondchance",
        }
    }

    /// The policy.
    pub fn policy(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Fifo => Box::<Fifo>::default(),
            Self::SecondChance => Box::<SecondChance>::default(),
        }
    }
}

/// Pages in the order of an ever growing ticket.
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

    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        self.by_ticket.values().copied().take(pages).collect()
    }

    fn first(&self, eligible: &dyn Fn(ObjectPage) -> bool) -> Option<ObjectPage> {
        self.by_ticket
            .values()
            .copied()
            .find(|&page| eligible(page))
    }
}

/// Equal order, equal hash: tickets only count up.
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

/// FIFO, but a page that was touched since the last look goes to the back of the line once.
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
