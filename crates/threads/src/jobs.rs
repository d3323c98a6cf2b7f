//! A thread that does what it is told, one job after the other, so that a device or a peer that is silent holds up
//! nobody else; and what went wrong there, because the system has no number for it.

use std::io;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// Jobs for a thread of their own. When this is gone the thread gets no more of them, and ends.
#[derive(Debug)]
pub struct Jobs<J> {
    inbox: Sender<J>,
    failure: Failure,
}

/// What went wrong last.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<String>>>);

impl<J: Send + 'static> Jobs<J> {
    /// Starts the thread, which does `work` until no more jobs come.
    pub fn start(
        name: &str,
        work: impl FnOnce(&Receiver<J>, &Failure) + Send + 'static,
    ) -> io::Result<Self> {
        let (inbox, jobs) = channel();
        let failure = Failure::default();
        let noted = failure.clone();
        crate::spawn(name, move || work(&jobs, &noted))?;
        Ok(Self { inbox, failure })
    }

    /// Another job.
    pub fn tell(&self, job: J) -> io::Result<()> {
        let told = self.inbox.send(job);
        told.map_err(|_| io::Error::other("its thread has ended"))
    }

    /// What went wrong last.
    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.0.lock();
        failure.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Failure {
    /// A job's result, which is remembered if it is a failure.
    pub fn note<T>(&self, result: Result<T, String>) -> io::Result<T> {
        if let Err(why) = &result {
            let mut failure = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *failure = Some(why.clone());
        }
        result.map_err(io::Error::other)
    }
}
