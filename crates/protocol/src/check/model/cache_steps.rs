//! Steps of a cache.

use super::facts::NO_PASS;
use super::{Model, Sink, State, Step};
use crate::check::layout::{
    cache_state, message_field, CACHE_STATE_MASK, CACHE_STATE_SHIFT, COPY_OLD,
};
use crate::check::Violation;
use crate::spec::MsgId;

/// A cache's view of a line.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) line: usize,
    pub(super) cache: usize,
}

impl<const W: usize> Model<W> {
    pub(super) fn cache_step(
        &self,
        s: &State<W>,
        at: At,
        cell_number: usize,
        arrived: Option<MsgId>,
        step: Step,
        sink: &mut impl Sink<W>,
    ) {
        let At { line, cache } = at;
        let cell = self.cache_cells[cell_number];
        if !cell.defined {
            if let Some(message) = arrived {
                let (line, cache) = (line as u8, cache as u8);
                sink.broken(
                    step,
                    Violation::CacheSurprised {
                        line,
                        cache,
                        message,
                    },
                );
            }
            return;
        }
        let place = self.layout.word(line, cache);
        let mut next = *s;
        let mut word = s[place];
        if !self.conforms(cache_state(word), usize::from(cell.next), step) {
            let (line, cache) = (line as u8, cache as u8);
            sink.broken(step, Violation::RuleBroken { line, cache });
            return;
        }
        if let Some(message) = arrived {
            let field = message_field(word, message.0);
            word &= !(3 << (2 * message.0));
            if self.messages[message.index()].data {
                word = if field == 2 {
                    word | COPY_OLD
                } else {
                    word & !COPY_OLD
                };
            }
        }
        next[place] = word;
        if cell.store {
            self.make_old(&mut next, line);
            word = next[place] & !COPY_OLD;
        }
        let state = u64::from(cell.next);
        word = word & !(CACHE_STATE_MASK << CACHE_STATE_SHIFT) | state << CACHE_STATE_SHIFT;
        if let Some(message) = cell.send {
            next[place] = word;
            if !self.room(&next, cache, message) {
                return;
            }
            if message_field(word, message.0) != 0 {
                let line = line as u8;
                sink.broken(step, Violation::TwiceInFlight { line, message });
                return;
            }
            let facts = &self.messages[message.index()];
            let old = facts.data && !facts.request && word & COPY_OLD != 0;
            word |= (1 + u64::from(old)) << (2 * message.0);
        }
        if !self.cache_facts[usize::from(cell.next)].keeps_data {
            word &= !COPY_OLD;
        }
        next[place] = word;
        sink.cache_cell(cell_number);
        sink.step(step, next, arrived.is_some());
    }

    /// Whether the step keeps the rights that the rules leave to the cache: a request takes nothing away, a forward
    /// takes no more than it asks for, and an answer grants the requested state; a grant is passed on only if a forward
    /// may have overtaken it.
    fn conforms(&self, from: usize, to: usize, step: Step) -> bool {
        let (before, after) = (&self.cache_facts[from], &self.cache_facts[to]);
        match step {
            Step::CacheStarts { event, .. } => match self.asks_for[usize::from(event)] {
                Some(aim) => after.copy == before.copy && after.aim == aim && after.pass == NO_PASS,
                None => true,
            },
            Step::CacheReceives { message, .. } => match self.forwards[message.index()] {
                Some(forward) if before.stable => {
                    after.copy == before.copy.min(forward.leaves(before.dirty))
                }
                Some(forward) => {
                    let overtook = self.levels[usize::from(before.aim)] == forward.from
                        && before.level < forward.from;
                    let limit = if overtook { forward.to } else { NO_PASS };
                    after.copy == before.copy.min(forward.leaves(before.dirty))
                        && after.aim == before.aim
                        && after.pass == before.pass.min(limit)
                }
                None if before.pass == NO_PASS => after.copy == before.aim,
                None => after.copy <= before.pass || after.copy == before.aim,
            },
            _ => true,
        }
    }
}
