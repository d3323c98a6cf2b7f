//! Who is connected.

use crate::outgoing::Outgoing;
use crate::process;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use wire::{ClientId, ClientStatus, Peer, Status};

/// A connection, as others see it.
#[derive(Debug)]
struct Entry {
    socket: Arc<UnixStream>,
    peer: Peer,
    /// Since it has said who it is.
    client: Option<Known>,
}

/// A client that has said who it is.
#[derive(Debug)]
struct Known {
    client: ClientId,
    program: String,
    outgoing: Arc<Outgoing>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    connections: BTreeMap<u64, Entry>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Table {
    state: Mutex<State>,
    /// A connection has ended.
    ended: Condvar,
}

impl Table {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection, under a number; `None` if there are as many as there may be.
    pub(crate) fn add(&self, socket: Arc<UnixStream>, peer: Peer, most: usize) -> Option<u64> {
        let mut state = self.state();
        if state.connections.len() >= most {
            return None;
        }
        state.next += 1;
        let number = state.next;
        let entry = Entry {
            socket,
            peer,
            client: None,
        };
        state.connections.insert(number, entry);
        Some(number)
    }

    /// A connection has said who it is.
    pub(crate) fn know(
        &self,
        number: u64,
        client: ClientId,
        program: String,
        outgoing: Arc<Outgoing>,
    ) {
        if let Some(entry) = self.state().connections.get_mut(&number) {
            entry.client = Some(Known {
                client,
                program,
                outgoing,
            });
        }
    }

    /// A connection and everything of it has ended.
    pub(crate) fn remove(&self, number: u64) {
        self.state().connections.remove(&number);
        self.ended.notify_all();
    }

    /// Ends all connections.
    pub(crate) fn hang_up(&self) {
        for entry in self.state().connections.values() {
            // It may be closed already.
            let _ = entry.socket.shutdown(Shutdown::Both);
        }
    }

    /// Waits until all have ended.
    pub(crate) fn join(&self) {
        let mut state = self.state();
        while !state.connections.is_empty() {
            let woken = self.ended.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Adds to what the owner says who its clients are, and those that have nothing.
    pub(crate) fn complete(&self, mut status: Status) -> Status {
        let state = self.state();
        for entry in state.connections.values() {
            let Some(known) = &entry.client else {
                continue;
            };
            let clients = &mut status.owner.clients;
            let found = clients.iter_mut().find(|one| one.client == known.client);
            let (process, user) = (Some(entry.peer.process), Some(entry.peer.user));
            let requests = known.outgoing.under_way();
            match found {
                Some(one) => {
                    (one.process, one.user, one.requests) = (process, user, requests);
                    one.program.clone_from(&known.program);
                }
                None => clients.push(ClientStatus {
                    client: known.client,
                    process,
                    user,
                    program: known.program.clone(),
                    slots: Vec::new(),
                    spaces: 0,
                    mappings: 0,
                    mapped_bytes: 0,
                    requests,
                }),
            }
        }
        status.owner.clients.sort_by_key(|one| one.client);
        status.daemon = process::status(state.connections.len() as u32);
        status
    }
}
