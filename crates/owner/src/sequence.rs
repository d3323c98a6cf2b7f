//! The sequence of inputs of the owner's thread: taken as they come, recorded, or taken as a record has them.
//!
//! A round of the event loop begins with [`begin_round`](Sequence::begin_round) and [`next`](Sequence::next), and ends
//! with [`block`](Sequence::block) if nothing else is left to do. A wake-up only because real time has passed begins no
//! new round: it changes nothing, and a replay does not have it.

use crate::call::{Call, Message};
use crate::inbox::Inbox;
use crate::inputs::{AsideWork, Input, InputPlace, Next, Order, Replayed};
use crate::Aside;
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;
use units::Picoseconds;

/// Time after which work of a replay on another thread counts as hanging.
const REPLAYED_WORK: Duration = Duration::from_secs(600);

/// See the module.
pub(crate) struct Sequence {
    inbox: Inbox,
    order: Order,
    /// Number of the round.
    round: u64,
    /// The last round ended because time had passed.
    again: bool,
    /// The card had nothing to do when it was last let to work, and a file is awaited.
    card_stalls: bool,
    /// Results of work on other threads, until the replay takes them.
    asides: BTreeMap<AsideWork, Aside>,
    /// Messages that came during a replay, for the time after it.
    early: VecDeque<Message>,
    /// Time at which the card is to be interrupted, as the card knows it.
    rings_at: Option<Picoseconds>,
}

/// How a round begins.
pub(crate) enum Beginning {
    /// As a round of its own.
    NewRound,
    /// The last round goes on: only time has passed, and nothing has come.
    SameRound,
    /// The last round ends with this message, and a new one begins.
    After(Message),
}

impl Sequence {
    pub(crate) fn new(inbox: Inbox, order: Order) -> Self {
        Self {
            inbox,
            order,
            round: 0,
            again: false,
            card_stalls: false,
            asides: BTreeMap::new(),
            early: VecDeque::new(),
            rings_at: None,
        }
    }

    /// Begins a round.
    pub(crate) fn begin_round(&mut self, now: Picoseconds) -> Beginning {
        if !self.again {
            self.round += 1;
            return Beginning::NewRound;
        }
        let Some(message) = self.pending() else {
            return Beginning::SameRound;
        };
        self.again = false;
        self.note(&message, true, now);
        self.round += 1;
        Beginning::After(message)
    }

    /// Takes the next pending message, or that of the replay that belongs to the beginning of this round.
    pub(crate) fn next(&mut self, now: Picoseconds) -> Option<Message> {
        let message = self.next_replayed(false, now).or_else(|| self.pending())?;
        self.note(&message, false, now);
        Some(message)
    }

    /// Waits for a message at the end of a round, with or without a time limit.
    pub(crate) fn block(
        &mut self,
        now: Picoseconds,
        limit: Option<Duration>,
    ) -> Result<Message, RecvTimeoutError> {
        let replayed = match self.order.is_replayed() {
            true => self.last_replayed(now),
            false => None,
        };
        let message = match replayed.or_else(|| self.early.pop_front()) {
            Some(message) => Ok(message),
            None => self.inbox.wait(limit),
        };
        match &message {
            Ok(message) => self.note(message, true, now),
            Err(RecvTimeoutError::Timeout) => self.again = true,
            Err(RecvTimeoutError::Disconnected) => {}
        }
        message
    }

    /// Takes a pending message; `None` during a replay.
    fn pending(&mut self) -> Option<Message> {
        match self.order.is_replayed() {
            true => None,
            false => self.early.pop_front().or_else(|| self.inbox.take().ok()),
        }
    }

    fn place(&self, idle: bool) -> InputPlace {
        let round = self.round;
        InputPlace { round, idle }
    }

    /// Records a message.
    fn note(&mut self, message: &Message, idle: bool, now: Picoseconds) {
        let place = self.place(idle);
        if let (Order::Recorded(by), Some(input)) = (&mut self.order, input_of(message)) {
            by.taken(place, now, input);
        }
    }

    /// Records that something has happened only because real time has passed.
    pub(crate) fn note_timeout(&mut self, now: Picoseconds) {
        let place = self.place(true);
        if let (Order::Recorded(by), true) = (&mut self.order, self.again) {
            by.taken(place, now, Input::Timeout);
        }
    }

    /// Records whether the card has nothing to do while a file is awaited.
    pub(crate) fn card_stalls(&mut self, stalls: bool) {
        self.card_stalls = stalls;
    }

    /// Whether letting the card work would only repeat an attempt without effect. A message may come in the middle of
    /// it, and a replay would not make it.
    pub(crate) fn stalls_again(&self) -> bool {
        self.again && self.card_stalls && matches!(self.order, Order::Recorded(_))
    }

    /// Time at which the card is to be interrupted in this round, as it was when it was recorded; `None` outside if the
    /// card knows it already.
    pub(crate) fn interruption(&mut self) -> Option<Option<Picoseconds>> {
        let round = self.round;
        let at = match &mut self.order {
            Order::Replayed(replay) => replay.interruption(round),
            Order::Live | Order::Recorded(_) => None,
        };
        (at != self.rings_at).then(|| {
            self.rings_at = at;
            at
        })
    }

    /// Whether interruptions of the card matter.
    pub(crate) fn notes_interruptions(&self) -> bool {
        !matches!(self.order, Order::Live)
    }

    /// Records whether the card was interrupted; in a replay, checks it.
    pub(crate) fn note_interruption(&mut self, rung: bool, now: Picoseconds) {
        let place = self.place(false);
        let wanted = self.rings_at.is_some();
        match &mut self.order {
            Order::Live => {}
            Order::Recorded(by) => {
                if rung {
                    by.taken(place, now, Input::Rung);
                }
            }
            Order::Replayed(replay) => match (wanted, rung) {
                (true, true) => replay.interrupted(),
                (false, false) => {}
                _ => {
                    let how = format!(
                        "round {}: the card was{} interrupted at {} ps",
                        place.round,
                        if rung { "" } else { " not" },
                        now.get()
                    );
                    replay.differs(how);
                    self.end_replay();
                }
            },
        }
    }

    /// From now on messages are taken as they come.
    fn end_replay(&mut self) {
        self.order = Order::Live;
        let asides = std::mem::take(&mut self.asides).into_values();
        self.early.extend(asides.map(Message::Aside));
    }

    /// The next message of a replay, if it belongs here.
    fn next_replayed(&mut self, idle: bool, now: Picoseconds) -> Option<Message> {
        let place = self.place(idle);
        let Order::Replayed(replay) = &mut self.order else {
            return None;
        };
        match replay.next(place, now) {
            Next::Later => None,
            Next::Over => {
                self.end_replay();
                None
            }
            Next::Take(Replayed::Begin(ticket, request)) => Some(Message::Begin(Call {
                ticket,
                client: ticket.client,
                caller: None,
                request,
            })),
            Next::Take(Replayed::Other(input)) => match input {
                Input::Cancel(ticket) => Some(Message::Cancel(ticket)),
                Input::Ended(client) => Some(Message::ClientEnded(client)),
                Input::Forget(client) => Some(Message::Forget(client)),
                Input::Done(work) => self.await_aside(work),
                Input::Begin(..) | Input::Rung | Input::Timeout => {
                    self.end_replay();
                    None
                }
            },
        }
    }

    /// The message of a replay that belongs to the end of this round; a replay without one differs.
    fn last_replayed(&mut self, now: Picoseconds) -> Option<Message> {
        let message = self.next_replayed(true, now);
        if message.is_none() {
            let place = self.place(true);
            self.differs(format!(
                "nothing is left to do at {place}, and the next input comes later"
            ));
        }
        message
    }

    /// Waits for the result of work on another thread, whatever else comes first.
    fn await_aside(&mut self, work: AsideWork) -> Option<Message> {
        loop {
            if let Some(aside) = self.asides.remove(&work) {
                return Some(Message::Aside(aside));
            }
            match self.inbox.wait(Some(REPLAYED_WORK)) {
                Ok(Message::Aside(aside)) => {
                    self.asides.insert(AsideWork::of(&aside), aside);
                }
                Ok(stop @ Message::Stop) => {
                    self.end_replay();
                    return Some(stop);
                }
                Ok(message) => self.early.push_back(message),
                Err(_) => {
                    self.differs(format!("{work:?} was over then, and does not end"));
                    return None;
                }
            }
        }
    }

    /// Ends a replay that differs from its record.
    fn differs(&mut self, how: String) {
        if let Order::Replayed(replay) = &mut self.order {
            replay.differs(how);
            self.end_replay();
        }
    }
}

/// A message as an input to record; `None`: it is not recorded.
fn input_of(message: &Message) -> Option<Input> {
    Some(match message {
        Message::Begin(call) => Input::Begin(call.ticket, call.request.name()),
        Message::Cancel(ticket) => Input::Cancel(*ticket),
        Message::ClientEnded(client) => Input::Ended(*client),
        Message::Forget(client) => Input::Forget(*client),
        Message::Aside(aside) => Input::Done(AsideWork::of(aside)),
        Message::Trap(_) | Message::Participant(_) | Message::Stop => return None,
    })
}
