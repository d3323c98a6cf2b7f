//! The daemon's end: orders to a client.
//!
//! The owner of the card waits for each acknowledgement: no virtual time passes meanwhile, as none passes while a process
//! protects its own pages. A client that is late would delay others, so its time is limited; afterwards it is gone: its
//! memory is cut off, and kernels' accesses to it fail.

use card::memory::HostMemory;
use error::Error;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};
use trap::OtherProgram;
use units::HostAccess;
use wire::{await_acknowledgement, end_orders, send_order, Change, ErrorCode, Failure, Order};

/// Time that a client can be late, in total.
const PATIENCE: Duration = Duration::from_millis(400);
/// Time of an order that does not count as lateness: a thread that a busy machine does not run is not late.
const IN_TIME: Duration = Duration::from_millis(100);
/// A client regains the time that passes, divided by this.
const REGAINED: u32 = 20;

/// Orders to one client.
#[derive(Debug)]
pub(crate) struct Orders {
    socket: OwnedFd,
    state: Mutex<OrdersState>,
}

#[derive(Debug)]
struct OrdersState {
    /// Number of the latest order.
    number: u64,
    /// Traps that were answered.
    answered: u64,
    /// Time that the client can still be late, at this moment.
    patience: Duration,
    since: Instant,
    /// The system's error for the reason why the client is gone.
    gone: Option<i32>,
    memories: Vec<Weak<HostMemory>>,
}

/// The orders of a client, from its first trapped memory on.
#[derive(Debug, Default)]
pub(crate) struct ClientOrders(Mutex<Option<Arc<Orders>>>);

impl ClientOrders {
    /// The orders of the client: by this socket, which its process has passed, or else by the one before.
    ///
    /// # Errors
    /// The socket is not the client's; it has passed none, or another one that is in use; it is gone.
    pub(crate) fn by(&self, socket: Option<OwnedFd>, process: u32) -> Result<Arc<Orders>, Error> {
        let refused = |rule: String| Error::Served(Failure::new(ErrorCode::Daemon, rule));
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(orders) = &*place {
            if orders.state().gone.is_some() {
                return Err(refused(
                    "this program did not give up a page in time, so it shares no more memory: open the card again"
                        .to_owned(),
                ));
            }
            // Each block has them too.
            match (&socket, Arc::strong_count(orders)) {
                (None, _) => return Ok(orders.clone()),
                (Some(_), 1) => {}
                _ => return Err(refused("a client has one socket for orders".to_owned())),
            }
        }
        let none = || refused("no socket for orders has come so far".to_owned());
        let socket = socket.ok_or_else(none)?;
        wire::check_order_socket(&socket, process).map_err(refused)?;
        Ok(place.insert(Arc::new(Orders::new(socket))).clone())
    }
}

impl Orders {
    fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            state: Mutex::new(OrdersState {
                number: 0,
                answered: 0,
                patience: PATIENCE,
                since: Instant::now(),
                gone: None,
                memories: Vec::new(),
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, OrdersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds memory that the client has, to be cut off when it is gone.
    pub(crate) fn shares(&self, memory: &Arc<HostMemory>) {
        let mut state = self.state();
        state.memories.retain(|memory| memory.strong_count() > 0);
        state.memories.push(Arc::downgrade(memory));
    }

    fn order(&self, block: u64, range: Range<u64>, change: Change) -> io::Result<()> {
        let mut state = self.state();
        if let Some(reason) = state.gone {
            return Err(io::Error::from_raw_os_error(reason));
        }
        state.number += 1;
        let order = Order {
            number: state.number,
            block,
            offset: range.start,
            bytes: range.end - range.start,
            answered: state.answered,
            change,
        };
        let begun = Instant::now();
        let regained = begun.duration_since(state.since) / REGAINED;
        state.patience = (state.patience + regained).min(PATIENCE);
        state.since = begun;
        let deadline = begun + IN_TIME + state.patience;
        let told = send_order(&self.socket, order)
            .and_then(|()| await_acknowledgement(&self.socket, order.number, deadline));
        let late = begun.elapsed().saturating_sub(IN_TIME);
        state.patience = state.patience.saturating_sub(late);
        match told {
            Ok(told) if told.error == 0 => Ok(()),
            Ok(told) => Err(io::Error::from_raw_os_error(told.error)),
            Err(error) => {
                let reason = match error.kind() {
                    io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => libc::ETIMEDOUT,
                    io::ErrorKind::InvalidData => libc::EPROTO,
                    _ => libc::EPIPE,
                };
                self.end(&mut state, reason);
                Err(io::Error::from_raw_os_error(reason))
            }
        }
    }

    /// The client is gone: nothing more is copied to its memory, before it gets all rights to it.
    fn end(&self, state: &mut OrdersState, reason: i32) {
        state.gone = Some(reason);
        if reason != libc::EPIPE {
            let reason = io::Error::from_raw_os_error(reason);
            tracing::warn!(%reason, "a program did not give up a page of its memory, which is cut off");
        }
        for memory in state.memories.drain(..).filter_map(|one| one.upgrade()) {
            if let Err(error) = memory.cut_off() {
                tracing::error!(%error, "cutting off the memory of a program");
            }
        }
        end_orders(self.socket.as_fd());
    }
}

impl OtherProgram for Orders {
    fn change(&self, block: u64, range: Range<u64>, access: HostAccess) -> io::Result<()> {
        let change = match access {
            HostAccess::None => Change::None,
            HostAccess::Read => Change::Read,
            HostAccess::ReadWrite => Change::ReadWrite,
        };
        match self.order(block, range, change) {
            // It has all rights, or needs none.
            Err(_) if change == Change::ReadWrite && self.state().gone.is_some() => Ok(()),
            other => other,
        }
    }

    fn release(&self, block: u64) {
        if let Err(error) = self.order(block, 0..0, Change::Release) {
            tracing::debug!(%error, block, "releasing memory of a program");
        }
    }

    fn count_answer(&self) -> u64 {
        let mut state = self.state();
        state.answered += 1;
        state.answered
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        // The program may hold a descriptor of this end too.
        end_orders(self.socket.as_fd());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::{acknowledge, receive_order, Acknowledgement};

    fn orders() -> (OwnedFd, Orders) {
        let (program, daemon) = wire::order_sockets().unwrap();
        (program, Orders::new(daemon))
    }

    #[test]
    fn a_client_that_is_late_is_gone_and_its_memory_cut_off() {
        let (program, orders) = orders();
        let memory = Arc::new(HostMemory::allocate(4096).unwrap());
        memory.write(0, &[5; 8]).unwrap();
        orders.shares(&memory);
        let begun = Instant::now();
        let late = orders.change(1, 0..4096, HostAccess::None).unwrap_err();
        assert_eq!(late.raw_os_error(), Some(libc::ETIMEDOUT));
        assert!(begun.elapsed() >= PATIENCE);
        let mut bytes = [1; 8];
        memory.read(0, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 8], "it is other memory");
        // Its late acknowledgement is none of another order, which fails at once.
        assert_eq!(receive_order(&program).unwrap().unwrap().number, 1);
        assert_eq!(receive_order(&program).unwrap(), None);
        let told = Acknowledgement {
            number: 1,
            error: 0,
        };
        acknowledge(&program, told).unwrap_err();
        assert!(orders.change(1, 0..4096, HostAccess::Read).is_err());
        orders.change(1, 0..4096, HostAccess::ReadWrite).unwrap();
    }

    #[test]
    fn a_client_that_is_a_little_late_each_time_is_gone_too() {
        let (program, orders) = orders();
        let slow = std::thread::spawn(move || {
            while let Ok(Some(Order { number, .. })) = receive_order(&program) {
                std::thread::sleep(2 * IN_TIME);
                let told = Acknowledgement { number, error: 0 };
                if acknowledge(&program, told).is_err() {
                    return;
                }
            }
        });
        let good = (0..100).take_while(|_| orders.change(1, 0..4096, HostAccess::None).is_ok());
        let good = good.count();
        assert!((1..30).contains(&good), "{good}");
        slow.join().unwrap();
    }

    #[test]
    fn a_client_that_answers_what_nobody_asked_is_gone() {
        let (program, orders) = orders();
        let told = Acknowledgement {
            number: 2,
            error: 0,
        };
        acknowledge(&program, told).unwrap();
        let lie = orders.change(1, 0..4096, HostAccess::None).unwrap_err();
        assert_eq!(lie.raw_os_error(), Some(libc::EPROTO));
    }

    #[test]
    fn a_client_has_one_socket_for_orders() {
        let client = ClientOrders::default();
        let by = |socket| client.by(socket, std::process::id());
        assert!(by(None).unwrap_err().to_string().contains("no socket"));
        let (_program, daemon) = wire::order_sockets().unwrap();
        let first = by(Some(daemon)).unwrap();
        assert!(Arc::ptr_eq(&first, &by(None).unwrap()));
        let (_other, daemon) = wire::order_sockets().unwrap();
        let refused = by(Some(daemon)).unwrap_err().to_string();
        assert!(refused.contains("one socket"), "{refused}");
        // The first block was refused: its client begins again.
        drop(first);
        let (_other, daemon) = wire::order_sockets().unwrap();
        by(Some(daemon)).unwrap();
    }
}
