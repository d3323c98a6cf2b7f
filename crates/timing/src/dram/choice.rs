//! Selection of the best command, by time and preference.

/// A command that could be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) at: u64,
    pub(super) step: Step,
    pub(super) index: usize,
    pub(super) bank: usize,
}

/// Purpose of a command. `Prepare…` serves the direction that does not have the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Column,
    Activate,
    Precharge,
    PrepareActivate,
    PreparePrecharge,
}

/// Steps in order of preference.
const STEPS: [Step; 5] = [
    Step::Column,
    Step::Activate,
    Step::Precharge,
    Step::PrepareActivate,
    Step::PreparePrecharge,
];
pub(super) const PREPARE_ACTIVATE: usize = 3;
pub(super) const PREPARE_PRECHARGE: usize = 4;

/// The best command so far: the earliest, then the most preferred, then that of the oldest row. The three are one
/// number, so that a comparison is one instruction: this is the innermost loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct Best {
    rank: u64,
    pub(super) bank: usize,
}

impl Best {
    const INDEX_BITS: u32 = 6;
    const STEP_BITS: u32 = 3;
    pub(super) const NONE: Self = Self {
        rank: u64::MAX,
        bank: 0,
    };

    /// A command at clock `at` (below 2^55: a year of virtual time) for the oldest of `candidates`.
    #[inline]
    pub(super) fn offer(&mut self, at: u64, step: usize, candidates: u64, bank: usize) {
        let index = u64::from(candidates.trailing_zeros());
        let order = (at << Self::STEP_BITS) | step as u64;
        let rank = (order << Self::INDEX_BITS) | index;
        if rank < self.rank {
            *self = Self { rank, bank };
        }
    }

    pub(super) fn choice(self) -> Option<Choice> {
        (self.rank != u64::MAX).then(|| {
            let order = self.rank >> Self::INDEX_BITS;
            Choice {
                at: order >> Self::STEP_BITS,
                step: STEPS[order as usize % (1 << Self::STEP_BITS)],
                index: self.rank as usize % (1 << Self::INDEX_BITS),
                bank: self.bank,
            }
        })
    }
}

/// The members of a set of banks.
#[inline]
pub(super) fn banks(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bank = set.trailing_zeros() as usize;
        if set == 0 {
            return None;
        }
        set &= set - 1;
        Some(bank)
    })
}
