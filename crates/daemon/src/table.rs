//! Table of the daemon's connections.

use crate::listening::send_end;
use crate::outgoing::Outgoing;
use crate::process;
use crate::quotas::Entry as Tenant;
use crate::MOST_CLIENTS;
use std::collections::BTreeMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use wire::{ClientId, ClientPaging, ClientStatus, Peer, Status};

/// A connection, as shown in the status.
#[derive(Debug)]
struct ConnectionEntry {
    socket: Arc<UnixStream>,
    peer: Peer,
    tenant: Option<Arc<Tenant>>,
    /// Set once it has sent its greeting.
    client: Option<Known>,
}

/// A client that has sent its greeting.
#[derive(Debug)]
struct Known {
    client: ClientId,
    program: String,
    outgoing: Arc<Outgoing>,
}

#[derive(Debug, Default)]
struct TableState {
    next: u64,
    connections: BTreeMap<u64, ConnectionEntry>,
    /// The daemon is being replaced.
    restarts: bool,
    /// Connection of the daemon that takes its place.
    successor: Option<Arc<UnixStream>>,
}

impl TableState {
    /// Number of clients of a tenant.
    fn clients_of(&self, tenant: &str) -> u64 {
        let all = self.connections.values();
        let of = |entry: &&ConnectionEntry| {
            entry
                .tenant
                .as_ref()
                .is_some_and(|one| one.name() == tenant)
        };
        all.filter(of).count() as u64
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Table {
    state: Mutex<TableState>,
    /// Signals that a connection has ended, or that a successor has come.
    ended: Condvar,
}

impl Table {
    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection under a number.
    ///
    /// # Errors
    /// The maximum of connections is reached, in total or for its tenant: the rule.
    pub(crate) fn add(
        &self,
        socket: Arc<UnixStream>,
        peer: Peer,
        tenant: Option<Arc<Tenant>>,
    ) -> Result<u64, String> {
        let mut state = self.state();
        if state.connections.len() >= MOST_CLIENTS {
            return Err(format!(
                "as many clients as it serves at a time ({MOST_CLIENTS}) are connected; try again later"
            ));
        }
        if let Some(tenant) = &tenant {
            let there = tenant.clients(state.clients_of(tenant.name()));
            let within = tenant.within("clients", there);
            within.map_err(|error| error.to_string())?;
        }
        state.next += 1;
        let number = state.next;
        let entry = ConnectionEntry {
            socket,
            peer,
            tenant,
            client: None,
        };
        state.connections.insert(number, entry);
        Ok(number)
    }

    /// Records a connection's greeting.
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

    /// Removes a connection after everything of it has ended.
    pub(crate) fn remove(&self, number: u64) {
        self.state().connections.remove(&number);
        self.ended.notify_all();
    }

    /// Closes all connections.
    pub(crate) fn hang_up(&self) {
        for entry in self.state().connections.values() {
            // It may be closed already.
            let _ = entry.socket.shutdown(Shutdown::Both);
        }
    }

    /// Closes all connections because another daemon takes the place of this one. Sends this error to those that have
    /// not sent their greeting; the others get it from their own threads.
    pub(crate) fn hang_up_to_restart(&self) {
        let mut state = self.state();
        state.restarts = true;
        for entry in state.connections.values() {
            if entry.client.is_none() {
                send_end(&entry.socket);
            }
            // Requests that have come are read; it may be closed already.
            let _ = entry.socket.shutdown(Shutdown::Read);
        }
    }

    /// Whether another daemon takes the place of this one.
    pub(crate) fn restarts(&self) -> bool {
        self.state().restarts
    }

    /// A daemon wants to take the place of this one.
    pub(crate) fn succeed(&self, successor: Arc<UnixStream>) {
        self.state().successor = Some(successor);
        self.ended.notify_all();
    }

    /// Waits for a daemon that wants to take the place of this one.
    pub(crate) fn successor(&self) -> Arc<UnixStream> {
        let mut state = self.state();
        loop {
            if let Some(successor) = state.successor.take() {
                return successor;
            }
            let woken = self.ended.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until all have ended, at most for this time.
    pub(crate) fn join_within(&self, limit: Duration) {
        let open = |state: &mut TableState| !state.connections.is_empty();
        drop(self.ended.wait_timeout_while(self.state(), limit, open));
    }

    /// Waits until all have ended.
    pub(crate) fn join(&self) {
        let open = |state: &mut TableState| !state.connections.is_empty();
        drop(self.ended.wait_while(self.state(), open));
    }

    /// As [`complete`](Self::complete), for the daemon's administrator.
    pub(crate) fn complete_for_admin(&self, status: Status) -> Status {
        self.complete(status, rustix::process::geteuid().as_raw())
    }

    /// Adds the identities of the clients to the owner's status, and the clients without resources. Names are shown
    /// only to their own user and to the daemon's administrator.
    pub(crate) fn complete(&self, mut status: Status, asks: u32) -> Status {
        let state = self.state();
        let own = rustix::process::geteuid().as_raw();
        let may_know = |user: u32| asks == user || asks == own || asks == 0;
        for entry in state.connections.values() {
            let Some(known) = &entry.client else {
                continue;
            };
            let clients = &mut status.owner.clients;
            let found = clients.iter_mut().find(|one| one.client == known.client);
            let (process, user) = (Some(entry.peer.process), Some(entry.peer.user));
            let requests = known.outgoing.under_way();
            let program = match may_know(entry.peer.user) {
                true => known.program.clone(),
                false => String::new(),
            };
            if !may_know(entry.peer.user) {
                let slots = status.owner.slots.iter_mut();
                for slot in slots.filter(|slot| slot.client == Some(known.client)) {
                    slot.kernel = Some(String::new());
                }
            }
            match found {
                Some(one) => {
                    (one.process, one.user, one.requests) = (process, user, requests);
                    one.program = program;
                }
                None => clients.push(ClientStatus {
                    client: known.client,
                    process,
                    user,
                    program,
                    tenant: entry.tenant.as_ref().map(|one| one.name().to_owned()),
                    slots: Vec::new(),
                    spaces: 0,
                    mappings: 0,
                    mapped_bytes: 0,
                    paging: Some(ClientPaging::default()),
                    requests,
                }),
            }
        }
        status.owner.clients.sort_by_key(|one| one.client);
        for tenant in &mut status.owner.tenants {
            let all = state.connections.values();
            let mut all = all.filter_map(|entry| entry.tenant.as_ref());
            if let Some(known) = all.find(|known| known.name() == tenant.name) {
                tenant.clients = known.clients(state.clients_of(&tenant.name));
                tenant.requests = known.requests();
            }
        }
        status.daemon = process::status(state.connections.len() as u32);
        status
    }
}
