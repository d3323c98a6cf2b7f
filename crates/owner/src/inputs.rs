//! The order in which the owner's thread takes its inputs: recorded, or replayed.
//!
//! On a simulated card everything that the owner does follows from its inputs (requests, ends of clients, results of
//! work on other threads) and from the places where it takes them. A place is a round of the event loop, so it does not
//! depend on the speed of the machine. A record of the inputs and of their places therefore replays to the same state.

use crate::call::TicketId;
use crate::message::{AnyRequest, ClientId};
use crate::Aside;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use units::Picoseconds;

/// Where the owner's thread takes an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct InputPlace {
    /// Round of the event loop, from 1.
    pub round: u64,
    /// At the end of the round, where the thread had nothing else to do; otherwise at its beginning.
    pub idle: bool,
}

impl fmt::Display for InputPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = if self.idle { "end" } else { "beginning" };
        write!(f, "the {when} of round {}", self.round)
    }
}

/// Work on another thread, identified by the owner's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AsideWork {
    /// Bytes between a file and memory.
    Moved(u64),
    /// A file made durable.
    Durable(u64),
    /// Any other work.
    Worked(u64),
}

impl AsideWork {
    pub(crate) fn of(aside: &Aside) -> Self {
        match aside {
            Aside::Moved(id, _) => Self::Moved(id.0),
            Aside::Durable(id, _) => Self::Durable(*id),
            Aside::Worked(id, _) => Self::Worked(*id),
        }
    }
}

/// An input that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// A request, with the name of its type.
    Begin(TicketId, &'static str),
    /// The reply to a request is not awaited any more.
    Cancel(TicketId),
    /// The last handle of a client is gone.
    Ended(ClientId),
    /// A client sends nothing more.
    Forget(ClientId),
    /// Work on another thread is complete.
    Done(AsideWork),
    /// The card's work was interrupted by a message that had arrived.
    Rung,
    /// A file system did not answer in real time. Nothing after this can be replayed.
    Timeout,
}

/// Receives the inputs, on the owner's thread: it must not block.
pub trait RecordInputs: Send {
    /// An input was taken, at this virtual time.
    fn taken(&mut self, place: InputPlace, now: Picoseconds, input: Input);
}

/// An input to take.
#[derive(Debug)]
pub struct ReplayedInput {
    /// Where, and when in virtual time; `None`: at once.
    pub at: Option<(InputPlace, Picoseconds)>,
    /// Input to take there.
    pub input: Replayed,
}

/// See [`ReplayedInput`].
#[derive(Debug)]
pub enum Replayed {
    /// A request to begin.
    Begin(TicketId, AnyRequest),
    /// Any other input.
    Other(Input),
}

/// Yields the inputs of a replay.
pub trait ReplayInputs: Send {
    /// The next input; waits for it. `None`: there are no more, and the owner takes its inputs as they come.
    fn next(&mut self) -> Option<ReplayedInput>;

    /// The replay differs from the record, and ends.
    fn diverged(&mut self, how: String);
}

/// Where the owner's inputs come from: from clients as they come, recorded or not, or from a record.
#[derive(Clone, Default)]
pub struct Inputs(Arc<Mutex<Option<Mode>>>);

enum Mode {
    Record(Box<dyn RecordInputs>),
    Replay(Box<dyn ReplayInputs>),
}

impl Inputs {
    /// As they come; each is recorded. For one owner.
    pub fn recorded(by: impl RecordInputs + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Mode::Record(Box::new(by))))))
    }

    /// From a record. For one owner.
    pub fn replayed(from: impl ReplayInputs + 'static) -> Self {
        Self(Arc::new(Mutex::new(Some(Mode::Replay(Box::new(from))))))
    }

    pub(crate) fn take(&self) -> Order {
        let mode = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match mode {
            None => Order::Live,
            Some(Mode::Record(by)) => Order::Recorded(by),
            Some(Mode::Replay(from)) => Order::Replayed(Replay { from, next: None }),
        }
    }
}

impl fmt::Debug for Inputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Inputs")
    }
}

/// The order of the inputs, for the event loop.
pub(crate) enum Order {
    Live,
    Recorded(Box<dyn RecordInputs>),
    Replayed(Replay),
}

impl Order {
    pub(crate) fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }
}

/// A record that is replayed.
pub(crate) struct Replay {
    from: Box<dyn ReplayInputs>,
    next: Option<ReplayedInput>,
}

/// Step of a replay at a place.
pub(crate) enum Next {
    /// Take this input.
    Take(Replayed),
    /// The next input belongs to a later place.
    Later,
    /// There are no more inputs, or the replay differs.
    Over,
}

impl Replay {
    /// The next input, if it belongs here.
    pub(crate) fn next(&mut self, place: InputPlace, now: Picoseconds) -> Next {
        let Some(next) = self.look() else {
            return Next::Over;
        };
        if let Some((at, time)) = next.at {
            let interrupts = matches!(next.input, Replayed::Other(Input::Rung));
            if at > place || at == place && interrupts {
                return Next::Later;
            }
            if at < place {
                let what = format!("the input of {at} was not taken there, and this is {place}");
                return self.differs(what);
            }
            if time != now {
                let what = format!(
                    "virtual time at {place} was {} ps, and is {} ps",
                    time.get(),
                    now.get()
                );
                return self.differs(what);
            }
        }
        match self.next.take() {
            Some(next) => Next::Take(next.input),
            None => Next::Over,
        }
    }

    fn look(&mut self) -> Option<&ReplayedInput> {
        if self.next.is_none() {
            self.next = self.from.next();
        }
        self.next.as_ref()
    }

    /// Time at which the card's work is interrupted in this round.
    pub(crate) fn interruption(&mut self, round: u64) -> Option<Picoseconds> {
        match self.look() {
            Some(ReplayedInput {
                at: Some((at, time)),
                input: Replayed::Other(Input::Rung),
            }) if at.round == round => Some(*time),
            _ => None,
        }
    }

    /// The card's work was interrupted.
    pub(crate) fn interrupted(&mut self) {
        self.next = None;
    }

    /// Reports a difference, which ends the replay.
    pub(crate) fn differs(&mut self, how: String) -> Next {
        self.from.diverged(how);
        Next::Over
    }
}
