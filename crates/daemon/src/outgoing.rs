//! Replies to a client, in order, sent by a thread that may block on a slow reader.
//!
//! A client has a bounded number of outstanding requests, counted from reading one until its reply is being written; so
//! this queue is bounded too, and a client that does not read delays no other.

use crate::quotas::UnderWay;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use tombolo::serving::Reply;
use wire::{encode, ErrorCode, Failure, Frame, Kind};

/// Maximum outstanding requests of a client.
pub(crate) const MOST_UNDER_WAY: usize = 256;

#[derive(Default)]
struct OutgoingState {
    /// By ticket, with the quota that each counts against.
    under_way: BTreeMap<u64, Option<UnderWay>>,
    replies: VecDeque<(u64, Reply)>,
    /// No further replies are sent.
    closed: bool,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Outgoing {
    state: Mutex<OutgoingState>,
    changed: Condvar,
}

/// The client reused a ticket of an outstanding request.
#[derive(Debug)]
pub(crate) struct TicketInUse(pub(crate) u64);

impl Outgoing {
    fn state(&self) -> MutexGuard<'_, OutgoingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, OutgoingState>) -> MutexGuard<'a, OutgoingState> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request that was read and counts against a quota. Waits while the maximum is outstanding; false if
    /// the connection has ended.
    pub(crate) fn begin(&self, ticket: u64, counts: Option<UnderWay>) -> Result<bool, TicketInUse> {
        let mut state = self.state();
        while state.under_way.len() >= MOST_UNDER_WAY && !state.closed {
            state = self.wait(state);
        }
        if state.under_way.contains_key(&ticket) {
            return Err(TicketInUse(ticket));
        }
        state.under_way.insert(ticket, counts);
        Ok(!state.closed)
    }

    /// Queues a reply.
    pub(crate) fn give(&self, ticket: u64, reply: Reply) {
        self.state().replies.push_back((ticket, reply));
        self.changed.notify_all();
    }

    /// Number of outstanding requests.
    pub(crate) fn under_way(&self) -> u32 {
        self.state().under_way.len() as u32
    }

    /// Tickets of the outstanding requests.
    pub(crate) fn tickets(&self) -> Vec<u64> {
        self.state().under_way.keys().copied().collect()
    }

    /// Stops sending.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.changed.notify_all();
    }

    /// Sends replies until closed. If the socket fails, it is shut down, so that its reader ends too.
    pub(crate) fn write(&self, socket: &UnixStream) {
        while let Some((ticket, reply)) = self.next() {
            let frame = frame(ticket, reply);
            // A client that has the reply may reuse the ticket. A request that waits for room gets it now: this reply
            // may block on its reader without limit.
            self.state().under_way.remove(&ticket);
            self.changed.notify_all();
            if let Err(error) = wire::send(socket, &frame) {
                tracing::debug!(%error, "a client takes no more replies");
                // It may be closed already.
                let _ = socket.shutdown(Shutdown::Both);
                return self.close();
            }
        }
    }

    fn next(&self) -> Option<(u64, Reply)> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(next) = state.replies.pop_front() {
                return Some(next);
            }
            state = self.wait(state);
        }
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outgoing").field(&self.under_way()).finish()
    }
}

/// The frame of a reply.
fn frame(ticket: u64, reply: Reply) -> Frame {
    match reply() {
        Ok(body) => {
            let frame = Frame::new(Kind::Reply, ticket, body);
            match frame.header() {
                Ok(_) => frame,
                Err(error) => failure(ticket, &Failure::new(ErrorCode::Daemon, error.to_string())),
            }
        }
        Err(told) => failure(ticket, &told),
    }
}

/// The frame of a failure.
pub(crate) fn failure(ticket: u64, failure: &Failure) -> Frame {
    // Text and numbers, which always serialize.
    let body = encode(failure).unwrap_or_default();
    Frame::new(Kind::Failure, ticket, body)
}
