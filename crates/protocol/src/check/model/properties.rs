//! The properties of single states and of acknowledgements.

use super::facts::Facts;
use super::{home_state, AccessCode, State};
use crate::check::layout::{access, cache_state, home, operation, COPY_OLD, MEMORY_OLD, MESSAGES};
use crate::check::Violation;
use crate::spec::Effect;

impl Facts {
    /// Whether no cache has more than an operation leaves it.
    pub(super) fn operation_holds<const W: usize>(
        &self,
        s: &State<W>,
        line: usize,
        number: usize,
    ) -> Result<(), Violation> {
        let Some(most) = self.operations()[number].at_most else {
            return Ok(());
        };
        for cache in 0..self.layout.caches {
            let word = s[self.layout.word(line, cache)];
            if self.cache(cache_state(word)).level > most {
                let (line, cache) = (line as u8, cache as u8);
                return Err(Violation::OperationBroken { line, cache });
            }
        }
        Ok(())
    }

    /// The properties of a single state.
    pub(super) fn inspect<const W: usize>(&self, s: &State<W>) -> Option<Violation> {
        (0..self.layout.lines).find_map(|line| self.inspect_line(s, line))
    }

    fn inspect_line<const W: usize>(&self, s: &State<W>, line: usize) -> Option<Violation> {
        let line8 = line as u8;
        let half = home(s[0], line);
        let (mut readers, mut writers) = (0, 0);
        for cache in 0..self.layout.caches {
            let word = s[self.layout.word(line, cache)];
            let facts = self.cache(cache_state(word));
            let cache = cache as u8;
            readers += u32::from(facts.reads);
            writers += u32::from(facts.writes);
            if facts.reads && word & COPY_OLD != 0 {
                return Some(Violation::StaleCopy { line: line8, cache });
            }
            if facts.dirty && half & MEMORY_OLD == 0 {
                return Some(Violation::DirtyForNothing { line: line8, cache });
            }
            if facts.refuses {
                return Some(Violation::RuleRefused { line: line8, cache });
            }
        }
        if writers > 0 && readers > 1 {
            return Some(Violation::TwoOwners { line: line8 });
        }
        if writers > 0 && self.home(home_state(half)).locked {
            return Some(Violation::WriterUnderLock { line: line8 });
        }
        self.home(home_state(half))
            .refuses
            .then_some(Violation::OperationRefused { line: line8 })
    }

    /// Whether nothing is outstanding anywhere.
    pub(super) fn at_rest<const W: usize>(&self, s: &State<W>) -> bool {
        (0..self.layout.lines).all(|line| {
            let half = home(s[0], line);
            self.home(home_state(half)).stable
                && access(half) == AccessCode::NONE
                && operation(half) == 0
                && (0..self.layout.caches).all(|cache| {
                    let word = s[self.layout.word(line, cache)];
                    word & MESSAGES == 0 && self.cache(cache_state(word)).stable
                })
        })
    }
}

/// Whether a line was locked before a step, and is after it.
#[derive(Clone, Copy)]
pub(super) struct Locked {
    pub(super) was: bool,
    pub(super) is: bool,
}

/// Checks that an acknowledged operation has had its effect, and that nothing else locks or unlocks.
pub(super) fn effect_is_right(effect: Option<Effect>, finished: u32, locked: Locked) -> bool {
    let Locked { was, is } = locked;
    match effect {
        Some(Effect::Lock) => is,
        Some(Effect::Unlock) => !is,
        Some(Effect::Read) => finished == AccessCode::READ && was == is,
        Some(Effect::Write) => finished == AccessCode::OPERATION && was == is,
        Some(Effect::Nothing) | None => was == is,
    }
}
