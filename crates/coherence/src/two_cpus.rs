//! The baseline: the home is a second CPU. The generated directory machine runs in software, at no
//! cost but the published time of home and memory.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use protocol::generate::Protocol;
use protocol::machine::{Cell, DirEvent, MemoryAccess};
use protocol::spec::{OpId, Spec};

use crate::home::HomeError;
use crate::line::{merge_parts, Data, FoldedLine, WORDS};
use crate::link::Link;
use crate::message::Message;
use crate::system::Home;

#[derive(Debug, Default)]
struct LineState {
    state: usize,
    request: u8,
    payload: Option<(u8, Box<Data>)>,
    waiting: VecDeque<Message>,
}

/// The second CPU.
#[derive(Debug)]
pub struct SecondCpu {
    protocol: Protocol,
    slices: usize,
    home_ps: u64,
    lines: HashMap<u64, LineState>,
    memory: HashMap<u64, Box<Data>>,
    /// Memory accesses under way: end, line, read.
    accesses: BinaryHeap<Reverse<(u64, u64, bool)>>,
    out: VecDeque<Message>,
    /// Claims that are under way.
    claiming: usize,
    /// Lines that the second CPU's own cache has, as its core claimed them, and how long a read of those takes.
    cached: HashSet<u64>,
    cached_ps: u64,
}

impl SecondCpu {
    /// A home whose reads take `home_ps` from request to answer.
    #[must_use]
    pub fn new(protocol: Protocol, slices: usize, home_ps: u64) -> Self {
        Self {
            protocol,
            slices,
            home_ps,
            lines: HashMap::new(),
            memory: HashMap::new(),
            accesses: BinaryHeap::new(),
            out: VecDeque::new(),
            claiming: 0,
            cached: HashSet::new(),
            cached_ps: home_ps,
        }
    }

    /// Reads of lines that the second CPU's core has in its cache take so long.
    #[must_use]
    pub fn with_cache(self, cached_ps: u64) -> Self {
        Self { cached_ps, ..self }
    }

    /// The second CPU's own core requests a line exclusively. False: another party is about to use it, and the core
    /// must retry.
    pub fn claim(&mut self, now: u64, line: FoldedLine) -> bool {
        let spec = &self.protocol.spec;
        let place = spec
            .operations
            .iter()
            .position(|operation| operation.name == "clean_invalidate");
        let Some(place) = place else { return false };
        let event = DirEvent::Operation(OpId(place as u8));
        self.claiming += 1;
        if !self.step(now, line.0, event, None) {
            self.claiming -= 1;
            return false;
        }
        self.cached.insert(line.0);
        true
    }

    /// Claims that are under way.
    #[must_use]
    pub fn claiming(&self) -> usize {
        self.claiming
    }

    /// True if the event was taken; false if it has to wait.
    fn step(&mut self, now: u64, line: u64, event: DirEvent, message: Option<&Message>) -> bool {
        let directory = &self.protocol.directory;
        let Some(column) = directory.column(event) else {
            return true;
        };
        let entry = self.lines.entry(line).or_default();
        let (next, actions) = match directory.cell(entry.state, column) {
            Cell::Stall => return false,
            Cell::Unexpected => {
                tracing::error!(
                    line,
                    state = directory.states[entry.state].name,
                    "unexpected event"
                );
                return true;
            }
            Cell::Go { next, actions } => (*next as usize, actions.clone()),
        };
        entry.state = next;
        if let Some(message) = message {
            if self.protocol.spec.is_request(message.id) {
                entry.request = message.request;
            }
            entry.payload = message.data.clone().map(|data| (message.parts, data));
        }
        if actions.done {
            self.claiming = self.claiming.saturating_sub(1);
        }
        match actions.memory {
            MemoryAccess::None => {}
            MemoryAccess::Read => {
                let takes = match self.cached.remove(&line) {
                    true => self.cached_ps,
                    false => self.home_ps,
                };
                self.accesses.push(Reverse((now + takes, line, true)));
            }
            MemoryAccess::WritePayload | MemoryAccess::WriteHeld | MemoryAccess::WriteOperation => {
                if let Some((parts, data)) = entry.payload.take() {
                    let memory = self
                        .memory
                        .entry(line)
                        .or_insert_with(|| Box::new([0; WORDS]));
                    merge_parts(memory, parts, &data);
                }
                self.accesses.push(Reverse((now, line, false)));
            }
        }
        for send in actions.sends {
            let carries = self.protocol.spec.message(send.message).data;
            let memory = self.memory.get(&line);
            let data = carries.then(|| memory.cloned().unwrap_or_else(|| Box::new([0; WORDS])));
            self.out.push_back(Message {
                id: send.message,
                request: entry.request,
                parts: if carries { 0xf } else { 0 },
                line: FoldedLine(line),
                poisoned: false,
                data,
            });
        }
        true
    }

    fn arrive(&mut self, now: u64, message: Message) {
        let event = DirEvent::Receive {
            cache: 0,
            message: message.id,
        };
        let line = message.line.0;
        if !self.step(now, line, event, Some(&message)) {
            self.lines
                .entry(line)
                .or_default()
                .waiting
                .push_back(message);
            return;
        }
        self.retry(now, line);
    }

    fn retry(&mut self, now: u64, line: u64) {
        loop {
            let Some(entry) = self.lines.get_mut(&line) else {
                return;
            };
            let Some(message) = entry.waiting.pop_front() else {
                return;
            };
            let event = DirEvent::Receive {
                cache: 0,
                message: message.id,
            };
            if !self.step(now, line, event, Some(&message)) {
                self.lines
                    .entry(line)
                    .or_default()
                    .waiting
                    .push_front(message);
                return;
            }
        }
    }
}

impl Home for SecondCpu {
    fn cycle(&mut self, now: u64, up: &mut Link, down: &mut Link) -> Result<(), HomeError> {
        for lane in 0..up.lanes() {
            while let Some(message) = up.take(lane, now) {
                self.arrive(now, message);
            }
        }
        while let Some(&Reverse((end, line, read))) = self.accesses.peek() {
            if end > now {
                break;
            }
            self.accesses.pop();
            let event = if read {
                DirEvent::ReadDone
            } else {
                DirEvent::WriteDone
            };
            self.step(now, line, event, None);
            self.retry(now, line);
        }
        while let Some(message) = self.out.front() {
            let lane = message.lane(&self.protocol.spec, self.slices);
            if !down.can_send(lane, now) {
                break;
            }
            if let Some(message) = self.out.pop_front() {
                down.send(lane, now, message);
            }
        }
        Ok(())
    }

    fn is_quiet(&self) -> bool {
        self.out.is_empty() && self.accesses.is_empty()
    }

    fn spec(&self) -> &Spec {
        &self.protocol.spec
    }
}
