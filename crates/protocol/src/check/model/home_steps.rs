//! Steps of the home, and their effect on values.

use super::facts::Facts;
use super::properties::{effect_is_right, Locked};
use super::{home_state, AccessCode, Setting, Sink, State, Step, HOME_STATE};
use crate::check::layout::{
    access, cache_state, home, in_flight, message_field, operation, with_home, Layout, ACCESS_MASK,
    ACCESS_SHIFT, BUFFER_OLD, MEMORY_OLD, OPERATION_MASK, OPERATION_SHIFT,
};
use crate::check::Violation;
use crate::generate::Protocol;
use crate::machine::{Actions, Cell, DirEvent, MemoryAccess};
use crate::spec::{Effect, MsgId, OpId};

const UNEXPECTED: u32 = u32::MAX;
const STALL: u32 = u32::MAX - 1;

/// A cell of the directory's table.
#[derive(Clone, Copy)]
struct HomeCell {
    /// Next state, or [`UNEXPECTED`], or [`STALL`].
    next: u32,
    actions: u32,
}

/// Cause of a step of the home.
#[derive(Clone, Copy)]
pub(super) enum Cause {
    Message(usize, MsgId),
    Operation(OpId),
    Memory,
}

impl Cause {
    fn step(self, line: u8) -> Step {
        match self {
            Self::Message(cache, message) => Step::HomeReceives {
                line,
                cache: cache as u8,
                message,
            },
            Self::Operation(operation) => Step::Operation { line, operation },
            Self::Memory => Step::MemoryDone { line },
        }
    }
}

/// The directory's table, and the resources of the home.
pub(super) struct Home {
    ways: usize,
    application_waits: bool,
    events: usize,
    cells: Vec<HomeCell>,
    actions: Vec<Actions>,
    /// By cache and message: column of its arrival.
    arrivals: Vec<Vec<usize>>,
    first_operation: usize,
    read_done: usize,
    write_done: usize,
}

impl Home {
    pub(super) fn new(protocol: &Protocol, setting: &Setting, layout: Layout) -> Self {
        let (spec, directory) = (&protocol.spec, &protocol.directory);
        let mut actions: Vec<Actions> = Vec::new();
        let mut action_numbers = std::collections::HashMap::new();
        let cells = directory
            .cells
            .iter()
            .map(|cell| match cell {
                Cell::Unexpected => HomeCell {
                    next: UNEXPECTED,
                    actions: 0,
                },
                Cell::Stall => HomeCell {
                    next: STALL,
                    actions: 0,
                },
                Cell::Go {
                    next,
                    actions: list,
                } => {
                    let number = *action_numbers.entry(list.clone()).or_insert_with(|| {
                        actions.push(list.clone());
                        actions.len() as u32 - 1
                    });
                    HomeCell {
                        next: *next,
                        actions: number,
                    }
                }
            })
            .collect();
        let column = |event| directory.column(event).unwrap_or(0);
        let arrivals = (0..layout.caches as u8)
            .map(|cache| {
                let arrival = |message| column(DirEvent::Receive { cache, message });
                spec.message_ids().map(arrival).collect()
            })
            .collect();
        Self {
            ways: setting.ways,
            application_waits: setting.application_waits,
            events: directory.events.len(),
            cells,
            actions,
            arrivals,
            first_operation: column(DirEvent::Operation(OpId(0))),
            read_done: column(DirEvent::ReadDone),
            write_done: column(DirEvent::WriteDone),
        }
    }

    /// Number of cells.
    pub(super) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Takes every step of a line that no message causes.
    pub(super) fn expand<const W: usize>(
        &self,
        facts: &Facts,
        s: &State<W>,
        line: usize,
        sink: &mut impl Sink<W>,
    ) {
        let half = home(s[0], line);
        if access(half) != AccessCode::NONE && !self.application_withholds(facts, s, line) {
            self.take(facts, s, line, Cause::Memory, sink);
        }
        if operation(half) == 0 {
            for number in 0..facts.operations().len() {
                let operation = OpId(number as u8);
                self.take(facts, s, line, Cause::Operation(operation), sink);
            }
        }
    }

    /// Column of an event in the directory's table.
    fn column(&self, half: u32, cause: Cause) -> usize {
        match cause {
            Cause::Message(cache, message) => self.arrivals[cache][message.index()],
            Cause::Operation(operation) => self.first_operation + operation.index(),
            Cause::Memory if access(half) == AccessCode::READ => self.read_done,
            Cause::Memory => self.write_done,
        }
    }

    /// Takes a step of the home on a line.
    pub(super) fn take<const W: usize>(
        &self,
        facts: &Facts,
        s: &State<W>,
        line: usize,
        cause: Cause,
        sink: &mut impl Sink<W>,
    ) {
        let half = home(s[0], line);
        let line8 = line as u8;
        let step = cause.step(line8);
        let cell_number = home_state(half) * self.events + self.column(half, cause);
        let cell = self.cells[cell_number];
        if cell.next == UNEXPECTED {
            sink.broken(step, Violation::HomeSurprised { line: line8 });
            return;
        }
        if cell.next == STALL {
            match cause {
                Cause::Message(_, message) if !facts.message(message).request => {
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
        if cell.next != 0 && home_state(half) == 0 && !self.way_is_free(facts, s, line) {
            return;
        }
        match self.next_state(facts, s, line, cell, cause) {
            Ok(Some(next)) => {
                sink.home_cell(cell_number);
                sink.step(step, next, self.drains(facts, s, line, cause));
            }
            Ok(None) => {}
            Err(violation) => sink.broken(step, violation),
        }
    }

    /// The next state; `None` if a message has no room in its buffer.
    fn next_state<const W: usize>(
        &self,
        facts: &Facts,
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
                let place = facts.layout.word(line, cache);
                kept = facts.is_copy(message);
                if facts.carries_copy(message) {
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
                        facts.make_old(&mut next, line);
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
            if !has_value_for(facts, actions.memory, &next, line, half, payload) {
                return Err(Violation::NothingToWrite { line: line8 });
            }
            half |= AccessCode::of(actions.memory) << ACCESS_SHIFT;
            if actions.memory == MemoryAccess::WritePayload && payload == Some(true) {
                half |= BUFFER_OLD;
            }
        }
        for send in &actions.sends {
            let cache = usize::from(send.cache);
            let place = facts.layout.word(line, cache);
            if !facts.room(&next, cache, send.message) {
                return Ok(None);
            }
            if message_field(next[place], send.message.0) != 0 {
                return Err(Violation::TwiceInFlight {
                    line: line8,
                    message: send.message,
                });
            }
            let mut old = false;
            if facts.message(send.message).data {
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
            acknowledged = Some(facts.operations()[number as usize - 1].effect);
            facts.operation_holds(&next, line, number as usize - 1)?;
        }
        let locked = Locked {
            was: facts.home(home_state(half)).locked,
            is: facts.home(cell.next as usize).locked,
        };
        if !effect_is_right(acknowledged, finished, locked) {
            return Err(Violation::EffectMissing { line: line8 });
        }
        half = half & !HOME_STATE | cell.next;
        next[0] = with_home(next[0], line, half);
        Ok(Some(next))
    }

    /// The application holds back this line's memory access until its own clean of the other
    /// line is acknowledged.
    fn application_withholds<const W: usize>(
        &self,
        facts: &Facts,
        s: &State<W>,
        line: usize,
    ) -> bool {
        let under_way = |line| operation(home(s[0], line));
        self.application_waits
            && under_way(line) == 0
            && (0..facts.layout.lines).any(|other| {
                let number = under_way(other) as usize;
                other != line && number > 0 && {
                    let under_way = &facts.operations()[number - 1];
                    under_way.effect == Effect::Nothing && !under_way.internal
                }
            })
    }

    /// Whether the directory has a way for an idle line; it needs one before a transaction can start.
    fn way_is_free<const W: usize>(&self, facts: &Facts, s: &State<W>, line: usize) -> bool {
        let busy = (0..facts.layout.lines)
            .filter(|&other| other != line && home_state(home(s[0], other)) != 0)
            .count();
        busy < self.ways
    }

    /// Whether a step only advances transactions under way.
    fn drains<const W: usize>(
        &self,
        facts: &Facts,
        s: &State<W>,
        line: usize,
        cause: Cause,
    ) -> bool {
        let Cause::Operation(operation) = cause else {
            return true;
        };
        let operation = &facts.operations()[operation.index()];
        if operation.effect == Effect::Unlock {
            return facts.home(home_state(home(s[0], line))).locked;
        }
        // The directory frees a way as soon as another line's request needs it.
        operation.internal
            && (0..facts.layout.lines).any(|other| {
                other != line && home_state(home(s[0], other)) == 0 && {
                    let words = (0..facts.layout.caches).map(|c| s[facts.layout.word(other, c)]);
                    facts.has_request(words.fold(0, |bits, word| bits | in_flight(word)))
                        && !self.way_is_free(facts, s, other)
                }
            })
    }
}

/// Whether the value for a write exists.
fn has_value_for<const W: usize>(
    facts: &Facts,
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
            number > 0 && facts.operations()[number - 1].effect == Effect::Write
        }
        MemoryAccess::WriteHeld => (0..facts.layout.caches).any(|cache| {
            let word = s[facts.layout.word(line, cache)];
            let request = facts.cache(cache_state(word)).waits_to_write;
            request != 0 && in_flight(word) & request == 0
        }),
    }
}
