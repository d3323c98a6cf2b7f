//! Messages to the owner's thread that are not processed yet.

use crate::call::Message;
use crate::participants::{self, Asleep, Guest, CHECK_INTERVAL};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// See the module. Copies share one queue: the event loop takes messages, and shared memory waits for some.
#[derive(Clone, Debug)]
pub(super) struct Inbox(Arc<Mutex<Messages>>);

#[derive(Debug)]
struct Messages {
    receiver: Receiver<Message>,
    /// Messages received during a wait for a certain thread.
    kept: VecDeque<Message>,
}

impl Inbox {
    pub(super) fn new(receiver: Receiver<Message>) -> Self {
        let kept = VecDeque::new();
        Self(Arc::new(Mutex::new(Messages { receiver, kept })))
    }

    /// The next message, if there is one.
    pub(super) fn take(&self) -> Result<Message, TryRecvError> {
        self.messages().take()
    }

    /// Waits for a message, with or without a time limit.
    pub(super) fn wait(&self, limit: Option<Duration>) -> Result<Message, RecvTimeoutError> {
        self.messages().wait(limit)
    }

    /// Waits until a thread that got access to memory waits again: its access is complete then. Gives up if
    /// the thread sleeps elsewhere.
    pub(super) fn wait_for(&self, guest: Guest) {
        self.messages().wait_for(guest);
    }

    /// Uncontended: only the owner's thread locks it.
    fn messages(&self) -> MutexGuard<'_, Messages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Messages {
    fn take(&mut self) -> Result<Message, TryRecvError> {
        match self.kept.pop_front() {
            Some(message) => Ok(message),
            None => self.receiver.try_recv(),
        }
    }

    fn wait(&mut self, limit: Option<Duration>) -> Result<Message, RecvTimeoutError> {
        if let Some(message) = self.kept.pop_front() {
            return Ok(message);
        }
        match limit {
            Some(limit) => self.receiver.recv_timeout(limit),
            None => {
                let message = self.receiver.recv();
                message.map_err(|_| RecvTimeoutError::Disconnected)
            }
        }
    }

    fn wait_for(&mut self, guest: Guest) {
        if self.kept.iter().any(|message| message.is_of(guest)) {
            return;
        }
        let mut asleep = Asleep::default();
        loop {
            match self.receiver.recv_timeout(CHECK_INTERVAL) {
                Ok(message) => {
                    let heard = message.is_of(guest);
                    self.kept.push_back(message);
                    if heard {
                        return;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    if asleep.too_long(participants::is_asleep(guest)) {
                        tracing::warn!(?guest, "a thread sleeps elsewhere; its page is taken away");
                        return;
                    }
                }
            }
        }
    }
}
