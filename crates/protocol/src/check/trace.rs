//! Reconstruction of the shortest trace to a violation.

use std::collections::HashSet;
use std::fmt;

use super::diagram;
use super::explore::{Search, StateId};
use super::layout::{access, cache_state, home, message_field, operation, Layout, HOME_STATE_BITS};
use super::model::{Model, Sink, State, Step};
use super::Violation;
use crate::generate::Protocol;
use crate::machine::{Cell, DirEvent};
use crate::spec::MsgId;

/// The shortest trace from the start to a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// Broken property, in words.
    pub headline: String,
    /// Broken property, by positions.
    pub violation: Violation,
    /// Names of the agents: the home, then the caches.
    pub agents: Vec<String>,
    /// Steps of the trace.
    pub steps: Vec<TraceStep>,
    /// Outstanding items at the end, for a violation of progress.
    pub outstanding: Vec<String>,
}

/// One step of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Step of the model.
    pub step: Step,
    /// Description of the step.
    pub text: String,
    /// Agent that acts: a position in [`Trace::agents`].
    pub agent: usize,
    /// Received message.
    pub received: Option<Flight>,
    /// Sent messages.
    pub sent: Vec<Flight>,
    /// States of all agents after the step, in words.
    pub after: String,
}

/// A message between two agents of a [`Trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Name of the message, with the line if there are two.
    pub label: String,
    /// Sender: a position in [`Trace::agents`].
    pub from: usize,
    /// Receiver: a position in [`Trace::agents`].
    pub to: usize,
}

impl Trace {
    /// The trace as a Mermaid sequence diagram.
    #[must_use]
    pub fn mermaid(&self) -> String {
        diagram::mermaid(self)
    }

    /// The trace as a sequence diagram in SVG; slanted arrows show overtaking messages.
    #[must_use]
    pub fn svg(&self) -> String {
        diagram::svg(self)
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.headline)?;
        let agents = format!("[{}]", self.agents.join(" | "));
        let width = self.steps.iter().map(|s| s.text.chars().count()).max();
        let width = width.unwrap_or(0).clamp(40, 64);
        writeln!(
            f,
            "{:>4}  {:<width$} {agents}",
            "", "what happens, and the states after it"
        )?;
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>4}. {:<width$} {}", number + 1, step.text, step.after)?;
        }
        for left in &self.outstanding {
            writeln!(f, "      still outstanding: {left}")?;
        }
        Ok(())
    }
}

/// Retraces the path to `id` with real cache numbers and adds the step that breaks the property.
pub(super) fn build<const W: usize>(
    protocol: &Protocol,
    model: &Model<W>,
    search: &Search<'_, W>,
    id: StateId,
    violation: Violation,
) -> Trace {
    let mut path = vec![id];
    let mut last = id;
    while search.parent(last) != last {
        last = search.parent(last);
        path.push(last);
    }
    path.reverse();
    let writer = TraceWriter {
        protocol,
        layout: model.layout(),
    };
    let mut state = model.start();
    let mut steps = Vec::new();
    for &id in &path[1..] {
        let wanted = search.state(id);
        let moves = moves_of(model, &state);
        let found = moves
            .taken
            .iter()
            .find(|(_, next, _)| model.canonical(next) == *wanted);
        let Some(&(step, next, _)) = found else { break };
        steps.push(writer.step(&state, &next, step));
        state = next;
    }
    let mut real = violation;
    let mut outstanding = Vec::new();
    if violation == Violation::Stuck {
        for (step, next) in last_deliveries(model, &state) {
            steps.push(writer.step(&state, &next, step));
            state = next;
        }
        outstanding = writer.outstanding(&state);
    } else {
        let moves = moves_of(model, &state);
        let bad = |(step, next, _): &(Step, State<W>, bool)| {
            model
                .inspect(next)
                .map(|violation| (*step, *next, violation))
        };
        if let Some(&(step, broken)) = moves.broken.first() {
            steps.push(writer.step(&state, &state, step));
            real = broken;
        } else if let Some((step, next, broken)) = moves.taken.iter().find_map(bad) {
            steps.push(writer.step(&state, &next, step));
            real = broken;
        }
    }
    Trace {
        headline: writer.headline(real),
        violation: real,
        agents: writer.agents(),
        steps,
        outstanding,
    }
}

/// Maximum states examined for the end of a stuck trace.
const MOST_LAST_STATES: usize = 100_000;

/// Deliveries from a stuck state to one without deliverable messages; if they form a cycle, to the farthest state.
fn last_deliveries<const W: usize>(model: &Model<W>, start: &State<W>) -> Vec<(Step, State<W>)> {
    let mut seen = HashSet::from([*start]);
    let mut reached: Vec<(usize, Option<Step>, State<W>)> = vec![(0, None, *start)];
    let mut place = 0;
    while place < reached.len() && reached.len() < MOST_LAST_STATES {
        let mut last = true;
        for (step, next, delivery) in moves_of(model, &reached[place].2).taken {
            if delivery && next != reached[place].2 {
                last = false;
                if seen.insert(next) {
                    reached.push((place, Some(step), next));
                }
            }
        }
        if last {
            break;
        }
        place += 1;
    }
    let mut at = place.min(reached.len() - 1);
    let mut path = Vec::new();
    while let (parent, Some(step), state) = reached[at] {
        path.push((step, state));
        at = parent;
    }
    path.reverse();
    path
}

/// All steps of a state's expansion.
struct Expansion<const W: usize> {
    /// The step, the state after, and whether it is a delivery.
    taken: Vec<(Step, State<W>, bool)>,
    broken: Vec<(Step, Violation)>,
}

impl<const W: usize> Sink<W> for Expansion<W> {
    fn step(&mut self, step: Step, next: State<W>, delivery: bool) {
        self.taken.push((step, next, delivery));
    }

    fn broken(&mut self, step: Step, violation: Violation) {
        self.broken.push((step, violation));
    }

    fn home_cell(&mut self, _: usize) {}

    fn cache_cell(&mut self, _: usize) {}
}

fn moves_of<const W: usize>(model: &Model<W>, state: &State<W>) -> Expansion<W> {
    let mut moves = Expansion {
        taken: Vec::new(),
        broken: Vec::new(),
    };
    model.expand(state, &mut moves);
    moves
}

/// Describes states and steps in words.
struct TraceWriter<'a> {
    protocol: &'a Protocol,
    layout: Layout,
}

impl TraceWriter<'_> {
    fn agents(&self) -> Vec<String> {
        let spec = &self.protocol.spec;
        let mut names = vec![spec.home.clone()];
        if self.layout.caches == 1 {
            names.push(spec.remote.clone());
        } else {
            names.extend((0..self.layout.caches).map(|i| format!("{} {i}", spec.remote)));
        }
        names
    }

    fn agent(&self, cache: u8) -> String {
        self.agents()[usize::from(cache) + 1].clone()
    }

    fn message(&self, line: u8, message: MsgId) -> String {
        let name = &self.protocol.spec.message(message).name;
        if self.layout.lines == 1 {
            name.clone()
        } else {
            format!("{name}({})", self.line(line))
        }
    }

    fn line(&self, line: u8) -> char {
        char::from(b'a' + line)
    }

    fn step<const W: usize>(&self, before: &State<W>, after: &State<W>, step: Step) -> TraceStep {
        let spec = &self.protocol.spec;
        let (mut received, mut sent) = (None, Vec::new());
        for line in 0..self.layout.lines {
            for cache in 0..self.layout.caches {
                let place = self.layout.word(line, cache);
                for message in spec.message_ids() {
                    let was = message_field(before[place], message.0) != 0;
                    let is = message_field(after[place], message.0) != 0;
                    let to_home = spec.message(message).to_home;
                    let (from, to) = if to_home {
                        (cache + 1, 0)
                    } else {
                        (0, cache + 1)
                    };
                    let label = self.message(line as u8, message);
                    match (was, is) {
                        (true, false) => received = Some(Flight { label, from, to }),
                        (false, true) => sent.push(Flight { label, from, to }),
                        _ => {}
                    }
                }
            }
        }
        let (agent, mut text) = self.describe(before, step);
        for flight in &sent {
            text.push_str(", sends ");
            text.push_str(&flight.label);
            if self.layout.caches > 1 && flight.from == 0 {
                text.push_str(&format!(" to {}", self.agents()[flight.to]));
            }
        }
        TraceStep {
            step,
            text,
            agent,
            received,
            sent,
            after: self.states(after),
        }
    }

    fn describe<const W: usize>(&self, before: &State<W>, step: Step) -> (usize, String) {
        let spec = &self.protocol.spec;
        let on = |line: u8| match self.layout.lines {
            1 => String::new(),
            _ => format!(" on line {}", self.line(line)),
        };
        match step {
            Step::CacheStarts { line, cache, event } => {
                let event = self.protocol.cache.events[usize::from(event)].name(spec);
                (
                    usize::from(cache) + 1,
                    format!("{}: {event}{}", self.agent(cache), on(line)),
                )
            }
            Step::CacheReceives {
                line,
                cache,
                message,
            } => {
                let message = self.message(line, message);
                (
                    usize::from(cache) + 1,
                    format!("{} receives {message}", self.agent(cache)),
                )
            }
            Step::HomeReceives {
                line,
                cache,
                message,
            } => {
                let (home, message) = (&spec.home, self.message(line, message));
                (
                    0,
                    format!("{home} receives {message} from {}", self.agent(cache)),
                )
            }
            Step::Operation { line, operation } => {
                let name = &spec.operations[operation.index()].name;
                (0, format!("{}: operation {name}{}", spec.home, on(line)))
            }
            Step::MemoryDone { line } => {
                let what = if access(home(before[0], usize::from(line))) == 1 {
                    "read"
                } else {
                    "write"
                };
                (0, format!("{}: memory {what} done{}", spec.home, on(line)))
            }
        }
    }

    fn states<const W: usize>(&self, state: &State<W>) -> String {
        let line_states = |line: usize| {
            let number = home(state[0], line) & ((1 << HOME_STATE_BITS) - 1);
            let mut names = vec![self.protocol.directory.states[number as usize].name.clone()];
            names.extend((0..self.layout.caches).map(|cache| {
                let word = state[self.layout.word(line, cache)];
                self.protocol.cache.states[cache_state(word)].name.clone()
            }));
            format!("[{}]", names.join(" | "))
        };
        (0..self.layout.lines)
            .map(line_states)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Whether the home stalls a message.
    fn stalls(&self, half: u32, cache: usize, message: MsgId) -> bool {
        let directory = &self.protocol.directory;
        let cache = cache as u8;
        let column = directory.column(DirEvent::Receive { cache, message });
        let state = half & ((1 << HOME_STATE_BITS) - 1);
        column.is_some_and(|column| *directory.cell(state as usize, column) == Cell::Stall)
    }

    /// Items that a state waits for: messages, caches, operations, memory.
    fn outstanding<const W: usize>(&self, state: &State<W>) -> Vec<String> {
        let spec = &self.protocol.spec;
        let mut left = Vec::new();
        for line in 0..self.layout.lines {
            let on = match self.layout.lines {
                1 => String::new(),
                _ => format!(" of line {}", self.line(line as u8)),
            };
            for cache in 0..self.layout.caches {
                let word = state[self.layout.word(line, cache)];
                let agent = self.agent(cache as u8);
                for id in spec.message_ids() {
                    if message_field(word, id.0) == 0 {
                        continue;
                    }
                    let message = self.message(line as u8, id);
                    left.push(match spec.message(id).to_home {
                        true => {
                            let stalls = match self.stalls(home(state[0], line), cache, id) {
                                true => ", which stalls there",
                                false => "",
                            };
                            format!("{message} from {agent} to {}{stalls}", spec.home)
                        }
                        false => format!("{message} from {} to {agent}", spec.home),
                    });
                }
                let own = &self.protocol.cache.states[cache_state(word)];
                if !own.stable {
                    left.push(format!("{agent} waits in {}{on}", own.name));
                }
            }
            let half = home(state[0], line);
            if let Some(number) = operation(half).checked_sub(1) {
                let name = &spec.operations[number as usize].name;
                left.push(format!("operation {name}{on} is not acknowledged"));
            }
            let number = half & ((1 << HOME_STATE_BITS) - 1);
            let own = &self.protocol.directory.states[number as usize];
            if !own.stable {
                left.push(format!("{} is in {}{on}", spec.home, own.name));
            }
        }
        left
    }

    fn headline(&self, violation: Violation) -> String {
        let line = |line: u8| match self.layout.lines {
            1 => "the line".to_owned(),
            _ => format!("line {}", self.line(line)),
        };
        let spec = &self.protocol.spec;
        match violation {
            Violation::TwoOwners { line: l } => {
                format!(
                    "single writer, multiple readers: somebody may write {} while another \
                         may read it",
                    line(l)
                )
            }
            Violation::StaleCopy { line: l, cache } => {
                format!(
                    "data value: {} may read an old value of {}",
                    self.agent(cache),
                    line(l)
                )
            }
            Violation::StaleMemory { line: l } => {
                format!(
                    "data value: {} reads memory that has an old value of {}",
                    spec.home,
                    line(l)
                )
            }
            Violation::DirtyForNothing { line: l, cache } => {
                format!(
                    "{} holds {} as dirty although memory has the latest value",
                    self.agent(cache),
                    line(l)
                )
            }
            Violation::WriterUnderLock { line: l } => {
                format!(
                    "lock: a {} may write {} while it is locked",
                    spec.remote,
                    line(l)
                )
            }
            Violation::CacheSurprised {
                line: l,
                cache,
                message,
            } => {
                format!(
                    "unexpected message: {} has no step for {} of {}",
                    self.agent(cache),
                    spec.message(message).name,
                    line(l)
                )
            }
            Violation::HomeSurprised { line: l } => {
                format!(
                    "unexpected event: {} has no step for this event of {}",
                    spec.home,
                    line(l)
                )
            }
            Violation::ResponseStalls { line: l, message } => {
                format!(
                    "{} of {} stalls, but only requests may",
                    spec.message(message).name,
                    line(l)
                )
            }
            Violation::TwiceInFlight { line: l, message } => {
                format!(
                    "{} of {} is sent while the same message is still in flight",
                    spec.message(message).name,
                    line(l)
                )
            }
            Violation::MemoryBusy { line: l } => {
                format!(
                    "{} starts a memory access of {} while one is under way",
                    spec.home,
                    line(l)
                )
            }
            Violation::NothingToWrite { line: l } => {
                format!(
                    "{} starts a write of {} without a value to write",
                    spec.home,
                    line(l)
                )
            }
            Violation::NothingToSend { line: l } => {
                format!(
                    "{} sends data of {}, but nothing brought it any",
                    spec.home,
                    line(l)
                )
            }
            Violation::ValueLost { line: l } => {
                format!("{} drops the latest value of {}", spec.home, line(l))
            }
            Violation::EffectMissing { line: l } => {
                format!(
                    "{} acknowledges an operation on {} without its effect, or locks or \
                         unlocks unasked",
                    spec.home,
                    line(l)
                )
            }
            Violation::RuleBroken { line: l, cache } => {
                format!(
                    "{} does with {} what no rule says: it loses a right that nothing took, or \
                         gets what it did not ask for",
                    self.agent(cache),
                    line(l)
                )
            }
            Violation::NothingToAcknowledge { line: l } => {
                format!(
                    "{} acknowledges an operation on {} that nobody asked for",
                    spec.home,
                    line(l)
                )
            }
            Violation::OperationBroken { line: l, cache } => {
                format!(
                    "an operation on {} is acknowledged while {} has more than it leaves",
                    line(l),
                    self.agent(cache)
                )
            }
            Violation::RuleRefused { line: l, cache } => {
                format!(
                    "{} does not offer a rule of the specification on {}",
                    self.agent(cache),
                    line(l)
                )
            }
            Violation::OperationRefused { line: l } => {
                format!(
                    "{} refuses an operation on {} although nothing goes on",
                    spec.home,
                    line(l)
                )
            }
            Violation::Stuck => {
                "progress: something is outstanding, and deliveries alone never complete it"
                    .to_owned()
            }
        }
    }
}
