//! The owner's thread: takes messages, resumes tasks, lets the card work.
//!
//! It never blocks on one client: tasks wait, the thread loops. A round takes the received messages, begins
//! the calls that may begin, resumes every task whose wait is over, and then lets the card work until it
//! reports events or the bell rings. Whether virtual time may pass is the one decision here
//! ([`EventLoop::clock_may_run`]).

use super::inbox::Inbox;
use super::lane::{panic_message, Post};
use super::requests::Requests;
use super::{Aside, ClockMode, Opened, Owner, OwnerOptions};
use crate::call::{Bell, Call, Message, TicketId};
use crate::clients::Clients;
use crate::inputs::Order;
use crate::message::{AnyRequest, ClientId, Close, LoadId, ReplyTo, Stop, Waiting};
use crate::owner_thread::OwnerThread;
use crate::paging::MakeIo;
use crate::participants::{Caller, Guest, Participants, CHECK_INTERVAL};
use crate::sequence::{Beginning, Sequence};
use card::{Card, CardError};
use error::Error;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use trap::Trapped;
use units::Picoseconds;

/// In free mode, virtual time between two polls of conditions that no request waits for.
const FREE_SLICE: Picoseconds = Picoseconds::from_micros(100);

/// Starts the thread that owns a card; `io` makes the file I/O of each mount.
pub fn start(
    mut card: Box<dyn Card>,
    io: MakeIo,
    options: OwnerOptions,
) -> Result<Arc<OwnerThread>, Error> {
    let (sender, inbox) = channel();
    let bell = Bell::default();
    let order = options.inputs.take();
    if let (Some(card), false) = (card.simulation(), order.is_replayed()) {
        card.set_bell(bell.clone());
    }
    let post = Post {
        sender: sender.clone(),
        bell: (options.clock == ClockMode::Free).then(|| bell.clone()),
    };
    let inbox = Inbox::new(inbox);
    let opened = Opened::new(card, io, options, post, inbox.clone())?;
    let rings = bell.clone();
    let thread = threads::spawn("tombolo-owner", move || run(opened, inbox, order, &rings));
    let thread = thread.map_err(|source| Error::File {
        path: "/proc/self/task".into(),
        what: "starting the owner's thread",
        source,
    })?;
    Ok(OwnerThread::new(sender, bell, thread))
}

fn run(opened: Opened, inbox: Inbox, order: Order, bell: &Bell) {
    let owner = Owner::new(opened);
    let mut events = EventLoop {
        requests: Rc::new(owner.requests()),
        inputs: Sequence::new(inbox, order),
        participants: Participants::default(),
        held: BTreeMap::new(),
        tasks: BTreeMap::new(),
        next_task: 0,
        finished: Vec::new(),
        forgetting: Vec::new(),
        stop: false,
        owner,
    };
    loop {
        let round = catch_unwind(AssertUnwindSafe(|| events.round(bell)));
        match round {
            Ok(true) => {}
            Ok(false) => return,
            Err(panic) => {
                // State that a task left half changed cannot be trusted; every call from now on reports
                // this.
                let error = panicked(&*panic);
                tracing::error!(%error, "no call works any more");
                let tasks = events.tasks.into_values().filter_map(|task| task.waiting);
                let held = events.held.into_values().filter_map(Held::waiting);
                for waiting in tasks.chain(held) {
                    waiting.refuse(panicked(&*panic));
                }
                return;
            }
        }
    }
}

/// The future of a task. It sends its reply itself; it returns an error whose reply was not awaited.
type Work = Pin<Box<dyn Future<Output = Option<Error>>>>;

/// A request under way.
struct Task {
    ticket: Option<TicketId>,
    work: Work,
    waiting: Option<Box<dyn Waiting>>,
    caller: Option<Caller>,
    /// It may be dropped: it has changed nothing.
    harmless: Rc<Cell<bool>>,
    /// The kernel that it waits for, which is stopped if the request is cancelled.
    waits_for: Option<(ClientId, LoadId)>,
}

/// A held operation of a participant, while others still compute.
enum Held {
    Call(Call),
    Trap(Trapped, Guest),
}

impl Held {
    fn waiting(self) -> Option<Box<dyn Waiting>> {
        match self {
            Self::Call(call) => Some(call.request.waiting()),
            Self::Trap(..) => None,
        }
    }

    fn is_of(&self, client: ClientId) -> bool {
        matches!(self, Self::Call(call) if call.client == client)
    }

    fn is(&self, ticket: TicketId) -> bool {
        matches!(self, Self::Call(call) if call.ticket == ticket)
    }
}

struct EventLoop {
    requests: Rc<Requests>,
    inputs: Sequence,
    participants: Participants,
    /// Calls of participants, held until all participants have called.
    held: BTreeMap<(u64, u64), Held>,
    /// In the order in which they began, which differs from ticket order: threads take tickets as they come.
    tasks: BTreeMap<u64, Task>,
    next_task: u64,
    /// Results of work on other threads, held so that tasks resume in their order.
    finished: Vec<Aside>,
    /// Clients that have ended and may still have tasks, which must find them closed.
    forgetting: Vec<ClientId>,
    stop: bool,
    /// Dropped last, in its order: tasks and handlers share its rooms.
    owner: Owner,
}

impl EventLoop {
    /// Runs one round; false when the thread is to end.
    fn round(&mut self, bell: &Bell) -> bool {
        bell.store(false, Ordering::Release);
        self.take_messages();
        if !self.finished.is_empty() {
            self.hand_out();
        }
        for flush in self
            .owner
            .paging
            .lend(|paging| paging.service().take_flushes())
        {
            let requests = self.requests.clone();
            self.begin_own(Box::pin(async move {
                requests.saving.flush(flush).await;
                None
            }));
        }
        self.begin_held();
        self.owner
            .paging
            .lend_with(&self.owner.kernels, |paging, kernels| {
                self.owner
                    .tasks
                    .lend(|tasks| paging.fail_abandoned(kernels, tasks))
            });
        self.go_on();
        self.settle();
        self.forget();
        if self.stop && self.tasks.is_empty() {
            return false;
        }
        if self
            .owner
            .paging
            .lend(|paging| paging.service().has_reported())
        {
            let handled = self
                .owner
                .paging
                .lend_with(&self.owner.kernels, |paging, kernels| {
                    paging.handle_events(kernels)
                });
            match handled {
                Ok(true) => {
                    self.note_timeout();
                    return true;
                }
                // The bytes of a file are awaited.
                Ok(false) => {}
                Err(error) => {
                    self.fail(error);
                    return true;
                }
            }
        } else if self.clock_may_run() {
            if let Some(deadline) = self.next_stop() {
                match self.turn(deadline) {
                    // The bytes of a file are awaited, and the card has nothing else to do.
                    Err(Error::Card(CardError::NothingToWaitFor))
                        if self.owner.paging.lend(|paging| paging.any_late()) =>
                    {
                        self.inputs.card_stalls(true);
                        // No other event can occur for the remaining waiters.
                        if let Some(silence) = self
                            .owner
                            .paging
                            .lend(|paging| paging.lanes().timeouts().trouble())
                        {
                            self.note_timeout();
                            self.fail(silence);
                            return true;
                        }
                    }
                    Err(error) => {
                        self.fail(error);
                        return true;
                    }
                    Ok(()) => return true,
                }
            }
        }
        // Held calls may begin now.
        if self.may_begin() && !self.held.is_empty() {
            return true;
        }
        match self.block() {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => {
                let expired = self.owner.paging.lend(|paging| {
                    self.owner
                        .tasks
                        .lend(|tasks| paging.lanes().timeouts().expire_waits(tasks))
                });
                if expired {
                    self.note_timeout();
                }
                if self.stands() {
                    self.look_for_sleepers();
                }
            }
            // A client's last handle reports its end first; without clients there is nothing left to do.
            Err(RecvTimeoutError::Disconnected) => self.stop = true,
        }
        true
    }

    /// Takes the messages of the beginning of a round.
    fn take_messages(&mut self) {
        let now = self.now();
        match self.inputs.begin_round(now) {
            Beginning::NewRound => {}
            Beginning::SameRound => return,
            Beginning::After(message) => self.take(message),
        }
        while let Some(message) = self.inputs.next(now) {
            self.take(message);
        }
    }

    fn now(&self) -> Picoseconds {
        self.owner.kernels.lend(|kernels| kernels.now())
    }

    /// Records that something has happened only because real time has passed.
    fn note_timeout(&mut self) {
        let now = self.now();
        self.inputs.note_timeout(now);
    }

    /// Lets the card work until it reports events, at most until `deadline`.
    fn turn(&mut self, deadline: Option<Picoseconds>) -> Result<(), Error> {
        if self.inputs.stalls_again() {
            return Err(CardError::NothingToWaitFor.into());
        }
        self.note_timeout();
        self.inputs.card_stalls(false);
        self.owner.tasks.lend(|tasks| tasks.turn());
        if let Some(at) = self.inputs.interruption() {
            self.owner.kernels.lend(|kernels| kernels.ring_at(at));
        }
        let turn = self
            .owner
            .paging
            .lend_with(&self.owner.kernels, |paging, kernels| {
                paging.turn(kernels, deadline)
            });
        if self.inputs.notes_interruptions() {
            let rung = self.owner.kernels.lend(|kernels| kernels.was_rung());
            let now = self.now();
            self.inputs.note_interruption(rung, now);
        }
        turn
    }

    fn block(&mut self) -> Result<Message, RecvTimeoutError> {
        let stands = self.stands().then_some(CHECK_INTERVAL);
        let looks = self
            .owner
            .paging
            .lend(|paging| paging.lanes().timeouts().next_check());
        let now = self.now();
        self.inputs
            .block(now, stands.into_iter().chain(looks).min())
    }

    /// Whether held calls wait for participants that compute.
    fn stands(&self) -> bool {
        self.somebody_waits() && !self.participants.all_wait()
    }

    fn somebody_waits(&self) -> bool {
        !self.held.is_empty() || !self.tasks.is_empty()
    }

    fn is_lockstep(&self) -> bool {
        self.owner.options.clock == ClockMode::Lockstep
    }

    /// Whether virtual time may pass now. In lockstep: while every participant waits, and no work is under
    /// way that takes no virtual time.
    fn clock_may_run(&self) -> bool {
        !self.is_lockstep()
            || self.stop
            || self.participants.all_wait()
                && self.owner.tasks.lend(|tasks| tasks.open_asides()) == 0
    }

    /// Whether the calls of participants may begin: all of them have called, and no earlier work still
    /// continues independently.
    fn may_begin(&self) -> bool {
        self.clock_may_run()
            && self
                .owner
                .paging
                .lend(|paging| !paging.service().has_reported())
    }

    /// Drops the records of ended clients after their last tasks.
    fn forget(&mut self) {
        if self.forgetting.is_empty() {
            return;
        }
        let (tasks, held) = (&self.tasks, &self.held);
        let still_there = |client: &ClientId| {
            let of_client = |ticket: TicketId| ticket.client == *client;
            tasks
                .values()
                .any(|task| task.ticket.is_some_and(of_client))
                || held.values().any(|held| held.is_of(*client))
        };
        let (stay, go): (Vec<_>, Vec<_>) = self.forgetting.drain(..).partition(still_there);
        self.forgetting = stay;
        for client in go {
            self.requests.reports.forget_client(client);
        }
    }

    /// Marks threads whose traps have ended as computing again.
    fn settle(&mut self) {
        let released = self
            .owner
            .paging
            .lend(|paging| paging.memories().take_released());
        for guest in released {
            self.participants.computes(guest.participant);
        }
    }

    fn take(&mut self, message: Message) {
        // Before their next calls are known.
        self.settle();
        match message {
            Message::Trap(trap) => self.trapped(trap),
            Message::Begin(call) => self.arrived(call),
            Message::Cancel(ticket) => self.cancel(ticket),
            Message::ClientEnded(client) => {
                self.own(client, AnyRequest::Close(Close, ReplyTo::nobody()))
            }
            Message::Forget(client) => self.forgetting.push(client),
            Message::Participant(change) => {
                let participant = change.participant();
                self.owner
                    .paging
                    .lend(|paging| paging.memories().heard(participant));
                self.participants.change(change);
            }
            Message::Aside(aside) => {
                self.finished.push(aside);
                self.hand_out();
            }
            Message::Stop => {
                self.stop = true;
                // Work that may take minutes is not awaited.
                self.tasks.retain(|_, task| !task.harmless.get());
            }
        }
    }

    /// Delivers results of work on other threads. With participants, the results that tasks wait for are
    /// held until all are complete: the order of completion depends on the machine.
    fn hand_out(&mut self) {
        let open = self.owner.tasks.lend(|tasks| tasks.open_asides());
        let in_order = self.is_lockstep() && !self.participants.is_empty();
        let tasks = |aside: &&Aside| !matches!(aside, Aside::Moved(..));
        let there = self.finished.iter().filter(tasks).count();
        for aside in std::mem::take(&mut self.finished) {
            if in_order && there < open && tasks(&&aside) {
                self.finished.push(aside);
            } else if let Err(error) =
                self.owner
                    .paging
                    .lend_with(&self.owner.kernels, |paging, kernels| {
                        self.owner
                            .tasks
                            .lend(|tasks| paging.aside_done(kernels, tasks, aside))
                    })
            {
                self.fail(error);
            }
        }
    }

    /// Records that a participant waits; false if it is not registered any more.
    fn waits(&mut self, participant: u64) -> bool {
        self.owner
            .paging
            .lend(|paging| paging.memories().heard(participant));
        self.participants.waits(participant)
    }

    fn arrived(&mut self, mut call: Call) {
        let counts = call.caller.is_some_and(|who| self.waits(who.participant));
        if !counts {
            call.caller = None;
        }
        match call.caller {
            Some(caller) if self.is_lockstep() => {
                let place = (caller.participant, caller.sequence);
                self.held.insert(place, Held::Call(call));
            }
            _ => self.begin(call),
        }
    }

    /// Handles a thread that waits for a page of shared memory.
    fn trapped(&mut self, trap: Trapped) {
        let participant = self.participants.of_thread(trap.thread);
        let Some(participant) = participant.filter(|_| self.is_lockstep()) else {
            self.owner
                .paging
                .lend(|paging| paging.memories().trapped_alone(trap.thread));
            return self.begin_trap(trap, None);
        };
        self.waits(participant);
        let guest = Guest {
            participant,
            thread: trap.thread,
        };
        // A thread does one thing at a time, so no other operation of it is held.
        let place = (participant, u64::MAX);
        self.held.insert(place, Held::Trap(trap, guest));
    }

    fn begin_trap(&mut self, trap: Trapped, guest: Option<Guest>) {
        let requests = self.requests.clone();
        let work = async move {
            let Trapped {
                address,
                write,
                ticket,
                ..
            } = trap;
            if let Err(error) = requests.memory.trap(address, write, ticket, guest).await {
                tracing::error!(%error, address, write, "an access to shared memory could not be served");
            }
            None
        };
        self.begin_own(Box::pin(work));
    }

    /// Begins the held calls of participants, in the participants' order instead of arrival order.
    fn begin_held(&mut self) {
        if self.held.is_empty() || !self.may_begin() {
            return;
        }
        for held in std::mem::take(&mut self.held).into_values() {
            match held {
                Held::Call(call) => self.begin(call),
                Held::Trap(trap, guest) => self.begin_trap(trap, Some(guest)),
            }
        }
    }

    fn begin(&mut self, call: Call) {
        let now = self.owner.kernels.lend(|kernels| kernels.now());
        tracing::debug!(
            target: "tombolo::arrivals",
            time = now.get(),
            client = call.client.0,
            ticket = call.ticket.ticket,
            request = ?call.request,
        );
        let waits_for = match &call.request {
            AnyRequest::Poll(poll, _) => Some((call.client, poll.load)),
            _ => None,
        };
        let waiting = call.request.waiting();
        let harmless = Rc::new(Cell::new(false));
        let requests = self.requests.clone();
        let cost = self.socket_cost(call.client);
        let until = (cost > Picoseconds::ZERO).then_some(now + cost);
        let work = requests.serve_from(until, call.client, call.request, harmless.clone());
        let task = Task {
            ticket: Some(call.ticket),
            work: Box::pin(work),
            waiting: Some(waiting),
            caller: call.caller,
            harmless,
            waits_for,
        };
        self.next_task += 1;
        self.step(self.next_task, task);
    }

    /// Virtual time that a request of this client takes over the socket of a daemon.
    fn socket_cost(&self, client: ClientId) -> Picoseconds {
        let options = &self.owner.options;
        match &options.host {
            Some(host) if options.clock == ClockMode::Free => {
                let is_apart = |clients: &mut Clients| clients.is_apart(client);
                match self.requests.slots.clients.lend(is_apart) {
                    true => host.socket().request_ps,
                    false => Picoseconds::ZERO,
                }
            }
            _ => Picoseconds::ZERO,
        }
    }

    /// Begins a request of the owner's own, whose reply is dropped.
    fn own(&mut self, client: ClientId, request: AnyRequest) {
        let requests = self.requests.clone();
        self.begin_own(Box::pin(requests.serve(client, request, Rc::default())));
    }

    fn begin_own(&mut self, work: Work) {
        let task = Task {
            ticket: None,
            work,
            waiting: None,
            caller: None,
            harmless: Rc::default(),
            waits_for: None,
        };
        self.next_task += 1;
        self.step(self.next_task, task);
    }

    /// Resumes a task until it waits or is over.
    fn step(&mut self, number: u64, mut task: Task) {
        let mut context = Context::from_waker(Waker::noop());
        match task.work.as_mut().poll(&mut context) {
            Poll::Pending => drop(self.tasks.insert(number, task)),
            Poll::Ready(unheard) => {
                // Its thread may compute already, but none of its next messages has been processed.
                if let Some(caller) = task.caller {
                    self.participants.computes(caller.participant);
                }
                match unheard {
                    None | Some(Error::Gone { .. }) => {}
                    Some(error) => {
                        tracing::error!(%error, "after its client: some written bytes may be lost");
                    }
                }
            }
        }
    }

    /// Resumes every task, repeatedly as long as one of them changes the state of others.
    fn go_on(&mut self) {
        while self.take_woken() {
            let numbers: Vec<u64> = self.tasks.keys().copied().collect();
            for number in numbers {
                if let Some(task) = self.tasks.remove(&number) {
                    self.step(number, task);
                }
            }
        }
        self.owner.tasks.lend(|tasks| tasks.forget_trouble());
    }

    /// Reports a failure of the card to all tasks that wait for it.
    fn fail(&mut self, error: Error) {
        let nobody = self.owner.tasks.lend(|tasks| {
            let nobody = !tasks.any_needs_card();
            if nobody {
                tracing::error!(%error, "the card failed while nobody waited for it");
            }
            tasks.fail(error);
            nobody
        });
        if !nobody {
            self.go_on();
        }
    }

    /// Cancels a call whose answer is not awaited any more.
    fn cancel(&mut self, ticket: TicketId) {
        let held = self.held.iter().find(|(_, held)| held.is(ticket));
        if let Some(place) = held.map(|(place, _)| *place) {
            if let Some(Held::Call(Call {
                caller: Some(caller),
                ..
            })) = self.held.remove(&place)
            {
                self.participants.computes(caller.participant);
            }
            return;
        }
        let mut tasks = self.tasks.iter();
        let found = tasks.find(|(_, task)| task.ticket == Some(ticket));
        let Some(number) = found.map(|(number, _)| *number) else {
            return;
        };
        let Some(mut task) = self.tasks.remove(&number) else {
            return;
        };
        if let Some(caller) = task.caller.take() {
            self.participants.computes(caller.participant);
        }
        if let Some(waiting) = task.waiting.take() {
            waiting.leave();
        }
        let waits_for = task.waits_for;
        if !task.harmless.get() {
            match waits_for {
                Some(_) => drop(task),
                None => drop(self.tasks.insert(number, task)),
            }
        }
        if let Some((client, load)) = waits_for {
            self.own(client, AnyRequest::Stop(Stop { load }, ReplyTo::nobody()));
        }
    }

    /// Checks whether participants that stop the clock wait for something else.
    fn look_for_sleepers(&mut self) {
        let Some(sleeper) = self.participants.sleeper() else {
            return;
        };
        let stalled = || Error::Stalled {
            thread: sleeper.thread.clone(),
            call: sleeper.call.clone(),
        };
        tracing::warn!(error = %stalled(), "calls are given up");
        for (place, held) in std::mem::take(&mut self.held) {
            match held {
                Held::Call(call) => {
                    if let Some(caller) = call.caller {
                        self.participants.computes(caller.participant);
                    }
                    call.request.waiting().refuse(stalled());
                }
                // A thread that reads memory cannot be informed. It continues to wait.
                Held::Trap(..) => drop(self.held.insert(place, held)),
            }
        }
        for task in self.tasks.values_mut() {
            if let Some(caller) = task.caller.take() {
                self.participants.computes(caller.participant);
            }
            if let Some(waiting) = task.waiting.take() {
                waiting.refuse(stalled());
            }
        }
    }

    /// Whether an event has occurred since the last call for which tasks may wait.
    fn take_woken(&self) -> bool {
        let woken = self.owner.tasks.lend(|tasks| tasks.take_woken());
        self.owner.paging.lend(|paging| paging.take_woken()) || woken
    }

    /// Time until which the card may work; `None` if no task needs it.
    fn next_stop(&self) -> Option<Option<Picoseconds>> {
        self.owner.kernels.lend(|kernels| {
            self.owner.tasks.lend(|tasks| {
                let soon = kernels.now() + FREE_SLICE;
                if tasks.any_needs_card() {
                    // Without a bell that a message could ring, control returns from the card soon in any
                    // case.
                    let look = kernels.is_in_real_time().then_some(soon);
                    return Some(tasks.next_alarm().into_iter().chain(look).min());
                }
                let busy = self.owner.options.clock == ClockMode::Free
                    && !tasks.is_broken()
                    && !kernels.card_is_quiescent();
                busy.then_some(Some(soon))
            })
        })
    }
}

/// The message of a panic, as an error.
fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    Error::Internal(format!(
        "the owner's thread panicked: {}",
        panic_message(panic)
    ))
}
