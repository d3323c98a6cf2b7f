//! Steps of the home, and their effect on values.

use super::facts::{HomeCell, STALL, UNEXPECTED};
use super::properties::{effect_is_right, Locked};
use super::{home_state, AccessCode, Cause, Model, Sink, State, Step, HOME_STATE};
use crate::check::layout::{
    access, cache_state, home, in_flight, message_field, operation, with_home, ACCESS_MASK,
    ACCESS_SHIFT, BUFFER_OLD, COPY_OLD, MEMORY_OLD, OPERATION_MASK, OPERATION_SHIFT,
};
use crate::check::Violation;
use crate::machine::MemoryAccess;
use crate::spec::Effect;

impl<const W: usize> Model<W> {
    pub(super) fn home_step(
        &self,
        s: &State<W>,
        line: usize,
        event: usize,
        cause: Cause,
        step: Step,
        sink: &mut impl Sink<W>,
    ) {
        let half = home(s[0], line);
        let cell_number = home_state(half) * self.home_events + event;
        let cell = self.home_cells[cell_number];
        let line8 = line as u8;
        if cell.next == UNEXPECTED {
            sink.broken(step, Violation::HomeSurprised { line: line8 });
            return;
        }
        if cell.next == STALL {
            match cause {
                Cause::Message(_, message) if !self.messages[message.index()].request => {
                    sink.broken(
                        step,
                        Violation::ResponseStalls {
                            line: line8,
                            message,
                        },
                    );
                }
                Cause::Memory => sink.broken(step, Violation::HomeSurprised { line: line8 }),
                _ => sink.home_cell(cell_number),
            }
            return;
        }
        if cell.next != 0 && home_state(half) == 0 && !self.way_is_free(s, line) {
            return;
        }
        match self.take_home_step(s, line, cell, cause) {
            Ok(Some(next)) => {
                sink.home_cell(cell_number);
                sink.step(step, next, self.drains(s, line, cause));
            }
            Ok(None) => {}
            Err(violation) => sink.broken(step, violation),
        }
    }

    /// The next state; `None` if a message has no room in its buffer.
    fn take_home_step(
        &self,
        s: &State<W>,
        line: usize,
        cell: HomeCell,
        cause: Cause,
    ) -> Result<Option<State<W>>, Violation> {
        let line8 = line as u8;
        let mut next = *s;
        let mut half = home(s[0], line);
        let mut payload = None;
        let mut kept = false;
        let mut finished = AccessCode::NONE;
        let mut acknowledged = None;
        match cause {
            Cause::Message(cache, message) => {
                let place = self.layout.word(line, cache);
                kept = self.copies & 1 << (2 * message.0) != 0;
                if self.carries_copy & 1 << (2 * message.0) != 0 {
                    payload = Some(message_field(s[place], message.0) == 2);
                }
                next[place] &= !(3 << (2 * message.0));
            }
            Cause::Operation(operation) => {
                half |= (u32::from(operation.0) + 1) << OPERATION_SHIFT;
            }
            Cause::Memory => {
                finished = access(half);
                half &= !(ACCESS_MASK << ACCESS_SHIFT);
                match finished {
                    AccessCode::READ if half & MEMORY_OLD != 0 => {
                        return Err(Violation::StaleMemory { line: line8 })
                    }
                    AccessCode::PAYLOAD => {
                        let old = half & BUFFER_OLD != 0;
                        half &= !(MEMORY_OLD | BUFFER_OLD);
                        half |= if old { MEMORY_OLD } else { 0 };
                    }
                    AccessCode::HELD | AccessCode::OPERATION => {
                        next[0] = with_home(next[0], line, half);
                        self.make_old(&mut next, line);
                        half = home(next[0], line) & !MEMORY_OLD;
                    }
                    _ => {}
                }
            }
        }
        let actions = &self.actions[cell.actions as usize];
        if payload == Some(false) && !kept && actions.memory != MemoryAccess::WritePayload {
            return Err(Violation::ValueLost { line: line8 });
        }
        if actions.memory != MemoryAccess::None {
            if access(half) != AccessCode::NONE {
                return Err(Violation::MemoryBusy { line: line8 });
            }
            if !self.has_value_for(actions.memory, &next, line, half, payload) {
                return Err(Violation::NothingToWrite { line: line8 });
            }
            half |= AccessCode::of(actions.memory) << ACCESS_SHIFT;
            if actions.memory == MemoryAccess::WritePayload && payload == Some(true) {
                half |= BUFFER_OLD;
            }
        }
        for send in &actions.sends {
            let cache = usize::from(send.cache);
            let place = self.layout.word(line, cache);
            if !self.room(&next, cache, send.message) {
                return Ok(None);
            }
            if message_field(next[place], send.message.0) != 0 {
                return Err(Violation::TwiceInFlight {
                    line: line8,
                    message: send.message,
                });
            }
            let mut old = false;
            if self.messages[send.message.index()].data {
                old = match payload {
                    Some(payload) => payload,
                    None if finished == AccessCode::READ => half & MEMORY_OLD != 0,
                    None => return Err(Violation::NothingToSend { line: line8 }),
                };
            }
            next[place] |= (1 + u64::from(old)) << (2 * send.message.0);
        }
        if actions.done {
            let number = operation(half);
            if number == 0 {
                return Err(Violation::NothingToAcknowledge { line: line8 });
            }
            half &= !(OPERATION_MASK << OPERATION_SHIFT);
            acknowledged = Some(self.operations[number as usize - 1]);
            self.operation_holds(&next, line, number as usize - 1)?;
        }
        let locked = Locked {
            was: self.home_locked[home_state(half)],
            is: self.home_locked[cell.next as usize],
        };
        if !effect_is_right(acknowledged.map(|op| op.effect), finished, locked) {
            return Err(Violation::EffectMissing { line: line8 });
        }
        half = half & !HOME_STATE | cell.next;
        next[0] = with_home(next[0], line, half);
        Ok(Some(next))
    }

    /// Whether the value for a write exists.
    fn has_value_for(
        &self,
        memory: MemoryAccess,
        s: &State<W>,
        line: usize,
        half: u32,
        payload: Option<bool>,
    ) -> bool {
        match memory {
            MemoryAccess::None | MemoryAccess::Read => true,
            MemoryAccess::WritePayload => payload.is_some(),
            MemoryAccess::WriteOperation => {
                let number = operation(half) as usize;
                number > 0 && self.operations[number - 1].effect == Effect::Write
            }
            MemoryAccess::WriteHeld => (0..self.layout.caches).any(|cache| {
                let word = s[self.layout.word(line, cache)];
                let request = self.cache_facts[cache_state(word)].waits_to_write;
                request != 0 && in_flight(word) & request == 0
            }),
        }
    }

    /// Whether the directory has a way for an idle line; it needs one before a transaction can start.
    fn way_is_free(&self, s: &State<W>, line: usize) -> bool {
        let busy = (0..self.layout.lines)
            .filter(|&other| other != line && home_state(home(s[0], other)) != 0)
            .count();
        busy < self.ways
    }

    /// Whether a step only advances transactions under way.
    fn drains(&self, s: &State<W>, line: usize, cause: Cause) -> bool {
        let Cause::Operation(operation) = cause else {
            return true;
        };
        let facts = &self.operations[operation.index()];
        if facts.effect == Effect::Unlock {
            return self.home_locked[home_state(home(s[0], line))];
        }
        // The directory frees a way as soon as another line's request needs it.
        facts.internal
            && (0..self.layout.lines).any(|other| {
                other != line && home_state(home(s[0], other)) == 0 && {
                    let words = (0..self.layout.caches).map(|c| s[self.layout.word(other, c)]);
                    words.fold(0, |bits, word| bits | in_flight(word)) & self.requests != 0
                        && !self.way_is_free(s, other)
                }
            })
    }

    /// A newer value of the line exists: marks all other copies as old.
    pub(super) fn make_old(&self, s: &mut State<W>, line: usize) {
        let mut half = home(s[0], line) | MEMORY_OLD;
        if access(half) == AccessCode::PAYLOAD {
            half |= BUFFER_OLD;
        }
        s[0] = with_home(s[0], line, half);
        for cache in 0..self.layout.caches {
            let word = &mut s[self.layout.word(line, cache)];
            let young = *word & self.carries_copy;
            *word = *word & !young | young << 1;
            if self.cache_facts[cache_state(*word)].keeps_data {
                *word |= COPY_OLD;
            }
        }
    }
}
