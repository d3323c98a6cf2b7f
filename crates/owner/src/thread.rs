//! The owner's thread: takes messages, goes on with tasks, lets the card work.
//!
//! It never waits for one client: tasks wait, the thread goes round. A round takes what has come, begins the
//! calls that may begin, goes on with every task that finds what it waited for, and then lets the card work
//! until it tells something or somebody rings. When virtual time may pass is the one decision here
//! ([`OwnerRef::clock_may_run`]).

use super::inbox::Inbox;
use super::lane::Post;
use super::owner_ref::{panicked, OwnerRef};
use super::{Aside, ClockMode, Owner, OwnerOptions};
use crate::call::{Bell, Call, Message, TicketId};
use crate::message::{AnyRequest, ClientId, Close, LoadId, ReplyTo, Stop, Waiting};
use crate::owner_thread::OwnerThread;
use crate::paging::MakeIo;
use crate::participants::{Caller, Guest, Participants, LOOK};
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

/// In free mode, virtual time between two looks at what nobody waits for.
const FREE_SLICE: Picoseconds = Picoseconds::from_micros(100);

/// Takes a card and starts the thread that owns it; `io` makes the file I/O of each mount.
pub fn start(
    mut card: Box<dyn Card>,
    io: MakeIo,
    options: OwnerOptions,
) -> Result<Arc<OwnerThread>, Error> {
    let (sender, inbox) = channel();
    let bell = Bell::default();
    if let Some(card) = card.simulation() {
        card.set_bell(bell.clone());
    }
    let post = Post {
        sender: sender.clone(),
        bell: (options.clock == ClockMode::Free).then(|| bell.clone()),
    };
    let inbox = Inbox::new(inbox);
    let owner = Owner::new(card, io, options, post, inbox.clone())?;
    let rings = bell.clone();
    let thread = threads::spawn("tombolo-owner", move || run(owner, inbox, &rings));
    let thread = thread.map_err(|source| Error::File {
        path: "/proc/self/task".into(),
        what: "starting the owner's thread",
        source,
    })?;
    Ok(OwnerThread::new(sender, bell, thread))
}

fn run(owner: Owner, inbox: Inbox, bell: &Bell) {
    let mut rounds = Rounds {
        owner: OwnerRef::new(owner),
        inbox,
        participants: Participants::default(),
        held: BTreeMap::new(),
        tasks: BTreeMap::new(),
        next_task: 0,
        finished: Vec::new(),
        forgetting: Vec::new(),
        stop: false,
    };
    loop {
        let round = catch_unwind(AssertUnwindSafe(|| rounds.round(bell)));
        match round {
            Ok(true) => {}
            Ok(false) => return,
            Err(panic) => {
                // What a task has left half done cannot be trusted; every call from now on says so.
                let error = panicked(&*panic);
                tracing::error!(%error, "no call works any more");
                let tasks = rounds.tasks.into_values().filter_map(|task| task.waiting);
                let held = rounds.held.into_values().filter_map(Held::waiting);
                for waiting in tasks.chain(held) {
                    waiting.refuse(panicked(&*panic));
                }
                return;
            }
        }
    }
}

/// What a task does. It gives its reply itself; what it returns went wrong, and nobody waited for it.
type Work = Pin<Box<dyn Future<Output = Option<Error>>>>;

/// A request under way.
struct Task {
    ticket: Option<TicketId>,
    work: Work,
    waiting: Option<Box<dyn Waiting>>,
    caller: Option<Caller>,
    /// It may be dropped: it has changed nothing.
    harmless: Rc<Cell<bool>>,
    /// It waits for this kernel, which is stopped if nobody waits any more.
    waits_for: Option<(ClientId, LoadId)>,
}

/// What participants do while the others still compute.
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

struct Rounds {
    owner: OwnerRef,
    inbox: Inbox,
    participants: Participants,
    /// Calls of participants that wait until all of them have called.
    held: BTreeMap<(u64, u64), Held>,
    /// In the order in which they began, which tickets do not have: threads take them as they come.
    tasks: BTreeMap<u64, Task>,
    next_task: u64,
    /// Results of work beside this thread that wait for the others, so that tasks go on in their order.
    finished: Vec<Aside>,
    /// Clients that have ended, and may still have tasks: these must find them closed.
    forgetting: Vec<ClientId>,
    stop: bool,
}

impl Rounds {
    /// Goes round once; false when the thread is to end.
    fn round(&mut self, bell: &Bell) -> bool {
        bell.store(false, Ordering::Release);
        while let Ok(message) = self.inbox.take() {
            self.take(message);
        }
        if !self.finished.is_empty() {
            self.hand_out();
        }
        for flush in self.owner.paging(|paging| paging.take_flushes()) {
            let owner = self.owner.clone();
            self.begin_own(Box::pin(async move {
                owner.flush(flush).await;
                None
            }));
        }
        self.begin_held();
        self.owner.paging_with(|paging, kernels| {
            self.owner
                .tasks(|tasks| paging.tell_of_silence(kernels, tasks))
        });
        self.go_on();
        self.settle();
        self.forget();
        if self.stop && self.tasks.is_empty() {
            return false;
        }
        if self.owner.paging(|paging| paging.is_told()) {
            let handled = self
                .owner
                .paging_with(|paging, kernels| paging.handle_events(kernels));
            match handled {
                Ok(true) => return true,
                // The bytes of a file are awaited.
                Ok(false) => {}
                Err(error) => {
                    self.fail(error);
                    return true;
                }
            }
        } else if self.clock_may_run() {
            if let Some(deadline) = self.owner.next_stop() {
                self.owner.tasks(|tasks| tasks.turn());
                let turn = self
                    .owner
                    .paging_with(|paging, kernels| paging.turn(kernels, deadline));
                match turn {
                    // The bytes of a file are awaited, and the card has nothing else to do.
                    Err(Error::Card(CardError::NothingToWaitFor))
                        if self.owner.paging(|paging| paging.any_late()) =>
                    {
                        // Nothing else can happen for those who are left.
                        if let Some(silence) = self.owner.paging(|paging| paging.silence()) {
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
        // What is held may begin now.
        if self.may_begin() && !self.held.is_empty() {
            return true;
        }
        match self.block() {
            Ok(message) => self.take(message),
            Err(RecvTimeoutError::Timeout) => {
                self.owner
                    .paging(|paging| self.owner.tasks(|tasks| paging.lose_patience(tasks)));
                if self.stands() {
                    self.look_for_sleepers();
                }
            }
            // A client's last handle says so first; without clients nothing is left to do.
            Err(RecvTimeoutError::Disconnected) => self.stop = true,
        }
        true
    }

    fn block(&self) -> Result<Message, RecvTimeoutError> {
        let stands = self.stands().then_some(LOOK);
        let looks = self.owner.paging(|paging| paging.next_look());
        self.inbox.wait(stands.into_iter().chain(looks).min())
    }

    /// Whether calls wait for participants that compute.
    fn stands(&self) -> bool {
        self.somebody_waits() && !self.participants.all_wait()
    }

    fn somebody_waits(&self) -> bool {
        !self.held.is_empty() || !self.tasks.is_empty()
    }

    fn is_lockstep(&self) -> bool {
        self.owner.options().clock == ClockMode::Lockstep
    }

    /// Whether virtual time may pass now. In lockstep: while every participant waits, and nothing is done
    /// beside that takes none of it.
    fn clock_may_run(&self) -> bool {
        !self.is_lockstep()
            || self.stop
            || self.participants.all_wait() && self.owner.tasks(|tasks| tasks.open_asides()) == 0
    }

    /// Whether the calls of participants may begin: all of them have called, and nothing that was begun
    /// before goes on by itself.
    fn may_begin(&self) -> bool {
        self.clock_may_run() && self.owner.paging(|paging| !paging.is_told())
    }

    /// What is kept of clients goes with their last tasks.
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
            self.owner.forget_client(client);
        }
    }

    /// Threads whose traps have ended compute again.
    fn settle(&mut self) {
        let released = self.owner.paging(|paging| paging.take_released());
        for guest in released {
            self.participants.computes(guest.participant);
        }
    }

    fn take(&mut self, message: Message) {
        // Before it is known what they do next.
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
                self.owner.paging(|paging| paging.heard(participant));
                self.participants.change(change);
            }
            Message::Aside(aside) => {
                self.finished.push(aside);
                self.hand_out();
            }
            Message::Stop => {
                self.stop = true;
                // What can only end after minutes is not waited for.
                self.tasks.retain(|_, task| !task.harmless.get());
            }
        }
    }

    /// Hands out results of work beside this thread. With participants, those that tasks wait for are kept
    /// until all are there: which is done first is up to the machine.
    fn hand_out(&mut self) {
        let open = self.owner.tasks(|tasks| tasks.open_asides());
        let in_order = self.is_lockstep() && !self.participants.is_empty();
        let tasks = |aside: &&Aside| !matches!(aside, Aside::Moved(..));
        let there = self.finished.iter().filter(tasks).count();
        for aside in std::mem::take(&mut self.finished) {
            if in_order && there < open && tasks(&&aside) {
                self.finished.push(aside);
            } else if let Err(error) = self.owner.paging_with(|paging, kernels| {
                self.owner
                    .tasks(|tasks| paging.aside_done(kernels, tasks, aside))
            }) {
                self.fail(error);
            }
        }
    }

    /// A participant waits; false if it does not count any more.
    fn waits(&mut self, participant: u64) -> bool {
        self.owner.paging(|paging| paging.heard(participant));
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

    /// A thread waits for a page of shared memory.
    fn trapped(&mut self, trap: Trapped) {
        let participant = self.participants.of_thread(trap.thread);
        let Some(participant) = participant.filter(|_| self.is_lockstep()) else {
            self.owner
                .paging(|paging| paging.trapped_alone(trap.thread));
            return self.begin_trap(trap, None);
        };
        self.waits(participant);
        let guest = Guest {
            participant,
            thread: trap.thread,
        };
        // A thread does one thing at a time, so nothing else of it is here.
        let place = (participant, u64::MAX);
        self.held.insert(place, Held::Trap(trap, guest));
    }

    fn begin_trap(&mut self, trap: Trapped, guest: Option<Guest>) {
        let owner = self.owner.clone();
        let work = async move {
            let Trapped {
                address,
                write,
                ticket,
                ..
            } = trap;
            if let Err(error) = owner.trap(address, write, ticket, guest).await {
                tracing::error!(%error, address, write, "an access to shared memory could not be served");
            }
            None
        };
        self.begin_own(Box::pin(work));
    }

    /// Begins the calls of participants, in their order and not as they arrived.
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
        let now = self.owner.kernels(|kernels| kernels.now());
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
        let owner = self.owner.clone();
        let work = owner.serve(call.client, call.request, harmless.clone());
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

    /// Begins something that nobody waits for.
    fn own(&mut self, client: ClientId, request: AnyRequest) {
        let owner = self.owner.clone();
        self.begin_own(Box::pin(owner.serve(client, request, Rc::default())));
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

    /// Goes on with a task until it waits or is over.
    fn step(&mut self, number: u64, mut task: Task) {
        let mut context = Context::from_waker(Waker::noop());
        match task.work.as_mut().poll(&mut context) {
            Poll::Pending => drop(self.tasks.insert(number, task)),
            Poll::Ready(unheard) => {
                // Its thread may compute already, but nothing that it says next has been looked at.
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

    /// Goes on with every task, as long as one of them makes a difference to others.
    fn go_on(&mut self) {
        while self.owner.take_stirred() {
            let numbers: Vec<u64> = self.tasks.keys().copied().collect();
            for number in numbers {
                if let Some(task) = self.tasks.remove(&number) {
                    self.step(number, task);
                }
            }
        }
        self.owner.tasks(|tasks| tasks.forget_trouble());
    }

    /// Something went wrong with the card: everybody who waits for it is told.
    fn fail(&mut self, error: Error) {
        let nobody = self.owner.tasks(|tasks| {
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

    /// Nobody waits for a call any more.
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

    /// Those whom the clock waits for may wait for something else.
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
                // Nobody can tell a thread that reads memory. It waits on.
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
}

impl OwnerRef {
    /// Whether something has happened since the last call for which tasks may wait.
    fn take_stirred(&self) -> bool {
        let stirred = self.tasks(|tasks| tasks.take_stirred());
        self.paging(|paging| paging.take_stirred()) || stirred
    }

    /// Until when the card may work; `None` if nobody needs it to.
    fn next_stop(&self) -> Option<Option<Picoseconds>> {
        self.kernels(|kernels| {
            self.tasks(|tasks| {
                let soon = kernels.now() + FREE_SLICE;
                if tasks.any_needs_card() {
                    // Without a bell that a message could ring, the card is left soon in any case.
                    let look = kernels.is_in_real_time().then_some(soon);
                    return Some(tasks.next_alarm().into_iter().chain(look).min());
                }
                let busy = self.options().clock == ClockMode::Free
                    && !tasks.is_broken()
                    && !kernels.card_is_quiescent();
                busy.then_some(Some(soon))
            })
        })
    }
}
