//! The program's end: an agent thread protects pages by order of the daemon, and trapped accesses become requests.
//!
//! When the daemon ends, or gives the program up, the memory is the program's alone, with the bytes that it has: threads
//! that wait for a page continue.

use error::Error;
use owner::answer::Answer;
use owner::message::{Ask, Carried, OrderedTraps, ServeTrap, TrapServed};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trap::{Ticket, TrapQueue, Trapped, View, Wake};
use units::HostAccess;
use wire::{Acknowledgement, Change, ErrorCode, Order};

/// First ticket of traps; those of calls count up from zero.
const FIRST_TICKET: u64 = 1 << 63;
/// Time that threads have to make the access that they were trapped for, before an order is followed in any case.
const TO_ACCESS: Duration = Duration::from_millis(30);

/// Sends the request of a trap to the daemon, with its ticket. If it cannot be sent, the answer is dropped.
pub(crate) type Requests = Arc<dyn Fn(u64, Carried<TrapServed>, Answer<TrapServed>) + Send + Sync>;

/// The agent of a program at one daemon.
pub(crate) struct Agent {
    blocks: Arc<Blocks>,
    /// From the first block on.
    follower: Mutex<Option<Follower>>,
    queue: Mutex<Weak<TrapQueue>>,
    requests: Requests,
}

/// The thread that follows orders.
struct Follower {
    /// The program's end of the socket for orders. It holds no descriptor of the daemon's end, so it sees that end.
    socket: Arc<OwnedFd>,
    thread: JoinHandle<()>,
}

/// All trapped memory of the program at the daemon.
#[derive(Default)]
struct Blocks {
    state: Mutex<BlocksState>,
    /// A reply to a trap has come.
    changed: Condvar,
    tickets: AtomicU64,
}

#[derive(Default)]
struct BlocksState {
    blocks: BTreeMap<u64, Block>,
    /// Number of the newest block.
    newest: u64,
    /// Number of the newest reply to a trap.
    answered: u64,
    /// No further orders come.
    ended: bool,
}

struct Block {
    view: Arc<View>,
    /// Threads that were woken to repeat their access.
    woken: Vec<Woken>,
    /// Threads that wait for the end of the sharing.
    parked: Vec<Ticket>,
}

struct Woken {
    /// Offset of the byte that it accesses.
    offset: u64,
    wake: Wake,
}

/// A trapped access that was sent to the daemon.
struct SentTrap {
    blocks: Arc<Blocks>,
    block: u64,
    offset: u64,
    ticket: Ticket,
}

impl Agent {
    /// The agent of a program without memory so far.
    pub(crate) fn new(requests: Requests) -> Self {
        Self {
            blocks: Arc::default(),
            follower: Mutex::default(),
            queue: Mutex::default(),
            requests,
        }
    }

    /// The trap queue of the program's memory at this daemon, for a block of `bytes` bytes.
    ///
    /// # Errors
    /// As [`TrapQueue::open`].
    pub(crate) fn trap_queue(&self, bytes: usize) -> Result<Arc<TrapQueue>, Error> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = queue.upgrade() {
            return Ok(open);
        }
        let (requests, blocks) = (self.requests.clone(), self.blocks.clone());
        let open = TrapQueue::open(move |trap| blocks.trapped(&requests, trap));
        let open = Arc::new(open.map_err(|source| Error::Unshareable { bytes, source })?);
        *queue = Arc::downgrade(&open);
        Ok(open)
    }

    /// Shares a block by this call.
    ///
    /// # Errors
    /// The call's; the system's.
    pub(crate) fn share<T>(
        &self,
        view: &Arc<View>,
        call: impl FnOnce(OrderedTraps) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let system = |source| Error::Unshareable {
            bytes: view.bytes(),
            source,
        };
        let follower = self.follower.lock();
        let mut follower = follower.unwrap_or_else(PoisonError::into_inner);
        let mut orders = None;
        if follower.is_none() {
            let (socket, daemon) = wire::order_sockets().map_err(system)?;
            *follower = Some(Follower::start(&self.blocks, socket).map_err(system)?);
            orders = Some(daemon);
        }
        // Blocks that come meanwhile wait for the first.
        let first = orders.is_some().then_some(follower);
        let block = self.blocks.add(view);
        let shared = call(OrderedTraps { block, orders });
        // If the call was interrupted, the daemon has the block until the client ends.
        if !matches!(shared, Ok(_) | Err(Error::Interrupted)) {
            self.blocks.release(block);
            // The daemon may not have got the socket.
            if let Some(follower) = first.and_then(|mut first| first.take()) {
                follower.stop();
                self.blocks.begin_again();
            }
        }
        shared
    }

    /// Ends orders, and waits until the memory is the program's.
    pub(crate) fn stop(&self) {
        let follower = self.follower.lock();
        let follower = follower.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(follower) = follower {
            follower.stop();
        }
    }

    /// In a forked child: leaves the thread to the process that has it.
    pub(crate) fn leave(&self) {
        // The lock may be held by a thread that does not exist here.
        if let Ok(mut follower) = self.follower.try_lock() {
            std::mem::forget(follower.take());
        }
    }
}

impl Follower {
    fn start(blocks: &Arc<Blocks>, socket: OwnedFd) -> io::Result<Self> {
        let socket = Arc::new(socket);
        let (blocks, reads) = (blocks.clone(), socket.clone());
        let thread = threads::spawn("tombolo-rights", move || blocks.follow(&reads))?;
        Ok(Self { socket, thread })
    }

    fn stop(self) {
        wire::end_orders(self.socket.as_fd());
        // A panic there has been reported.
        drop(self.thread.join());
    }
}

impl Block {
    fn new(view: Arc<View>) -> Self {
        Self {
            view,
            woken: Vec::new(),
            parked: Vec::new(),
        }
    }

    /// The program has all rights, for good.
    fn open(self) {
        if let Err(error) = self.view.open(0, self.view.bytes() as u64) {
            tracing::error!(%error, "opening memory that was shared");
        }
        self.view.release();
        for ticket in self.parked {
            ticket.serve();
        }
    }
}

impl Blocks {
    fn state(&self) -> MutexGuard<'_, BlocksState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a block that is about to be shared; its number. If orders have ended, it stays the program's.
    fn add(&self, view: &Arc<View>) -> u64 {
        let mut state = self.state();
        state.newest += 1;
        let block = state.newest;
        if !state.ended {
            state.blocks.insert(block, Block::new(view.clone()));
        }
        block
    }

    /// Orders may come again.
    fn begin_again(&self) {
        self.state().ended = false;
    }

    /// Follows orders until there are no more.
    fn follow(&self, socket: &OwnedFd) {
        loop {
            let order = match wire::receive_order(socket) {
                Ok(Some(order)) => order,
                Ok(None) => break,
                Err(error) => {
                    tracing::error!(%error, "a daemon's order cannot be read");
                    break;
                }
            };
            let error = self.apply(order);
            let number = order.number;
            if wire::acknowledge(socket, Acknowledgement { number, error }).is_err() {
                break;
            }
        }
        wire::end_orders(socket);
        self.end();
    }

    /// Applies an order; returns the system's error number.
    fn apply(&self, order: Order) -> i32 {
        let range = order.offset..order.offset.saturating_add(order.bytes);
        let access = match order.change {
            Change::Release => {
                self.release(order.block);
                return 0;
            }
            Change::None => HostAccess::None,
            Change::Read => HostAccess::Read,
            Change::ReadWrite => HostAccess::ReadWrite,
        };
        let begun = Instant::now();
        let mut woken = Vec::new();
        let mut state = self.await_answers(order.answered);
        let view = state.blocks.get_mut(&order.block).map(|block| {
            if access != HostAccess::ReadWrite {
                // A thread that was woken gets time to make its access.
                let all = std::mem::take(&mut block.woken).into_iter();
                (woken, block.woken) = all.partition(|woken| range.contains(&woken.offset));
            }
            block.view.clone()
        });
        drop(state);
        for Woken { wake, .. } in woken {
            if begun.elapsed() < TO_ACCESS {
                wake.wait_until_up();
            }
        }
        let Some(view) = view else {
            return libc::EINVAL;
        };
        match view.protect(order.offset, order.bytes, access) {
            Ok(_) => 0,
            Err(error) => error.raw_os_error().unwrap_or(libc::EINVAL),
        }
    }

    /// Waits until the reply with this number has come: its thread must be woken before it loses its right again.
    fn await_answers(&self, number: u64) -> MutexGuard<'_, BlocksState> {
        let missing = |state: &mut BlocksState| state.answered < number;
        let waited = self
            .changed
            .wait_timeout_while(self.state(), TO_ACCESS, missing);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    fn release(&self, block: u64) {
        let block = self.state().blocks.remove(&block);
        if let Some(block) = block {
            block.open();
        }
    }

    /// No further orders come.
    fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        let blocks = std::mem::take(&mut state.blocks);
        drop(state);
        if !blocks.is_empty() {
            tracing::warn!("the daemon is gone: shared memory has what was copied back until then");
        }
        blocks.into_values().for_each(Block::open);
    }

    /// The block with an address, and its offset there.
    fn find(&self, address: usize) -> Option<(u64, u64)> {
        self.state().blocks.iter().find_map(|(number, block)| {
            let offset = address.checked_sub(block.view.start() as usize)?;
            (offset < block.view.bytes()).then_some((*number, offset as u64))
        })
    }

    /// Sends a trapped access to the daemon. A thread at memory that is shared no longer continues at once.
    fn trapped(self: &Arc<Self>, requests: &Requests, trap: Trapped) {
        let Trapped {
            address,
            write,
            ticket,
            ..
        } = trap;
        let Some((block, offset)) = self.find(address) else {
            ticket.serve();
            return;
        };
        let trap = ServeTrap {
            block,
            offset,
            write,
        };
        let sent = SentTrap {
            blocks: self.clone(),
            block,
            offset,
            ticket,
        };
        let answer = Answer::call(move |reply| sent.answered(reply));
        let number = FIRST_TICKET + self.tickets.fetch_add(1, Ordering::Relaxed);
        // An answer that is dropped parks the thread.
        if let Ok(request) = trap.carried() {
            requests(number, request, answer);
        }
    }
}

impl SentTrap {
    fn answered(self, reply: Option<Result<TrapServed, Error>>) {
        let Self {
            blocks,
            block,
            offset,
            ticket,
        } = self;
        let mut state = blocks.state();
        match reply {
            Some(Ok(TrapServed { number })) => {
                let wake = ticket.serve();
                if let Some(block) = state.blocks.get_mut(&block) {
                    block.woken.push(Woken { offset, wake });
                }
                state.answered = state.answered.max(number);
                blocks.changed.notify_all();
            }
            Some(Err(error)) if !is_end(&error) => {
                drop(state);
                // Without an answer the access fails.
                tracing::error!(%error, "an access to shared memory could not be served");
            }
            // The sharing ends, by an order or with the connection.
            _ => match state.blocks.get_mut(&block) {
                Some(block) => block.parked.push(ticket),
                None => drop(ticket.serve()),
            },
        }
    }
}

/// Whether an error means that the sharing ends.
fn is_end(error: &Error) -> bool {
    matches!(error.code(), ErrorCode::Gone | ErrorCode::Daemon)
}
