//! A worker thread that runs jobs in order, so that a device or peer that does not respond blocks no other thread; and
//! the last failure there, because the system has no error number for it.

use std::io;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

/// Queue of a worker thread. When it is dropped the thread gets no more jobs, and ends.
#[derive(Debug)]
pub struct Jobs<J> {
    inbox: Sender<J>,
    failure: Failure,
}

/// Last failure of a worker.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<String>>>);

impl<J: Send + 'static> Jobs<J> {
    /// Starts the thread, which calls `work` until no more jobs arrive.
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

    /// Queues a job.
    pub fn tell(&self, job: J) -> io::Result<()> {
        let told = self.inbox.send(job);
        told.map_err(|_| io::Error::other("its thread has ended"))
    }

    /// Last failure.
    pub fn failure(&self) -> Option<String> {
        let failure = self.failure.0.lock();
        failure.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Failure {
    /// The result of a job; records a failure.
    pub fn note<T>(&self, result: Result<T, String>) -> io::Result<T> {
        if let Err(why) = &result {
            let mut failure = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            *failure = Some(why.clone());
        }
        result.map_err(io::Error::other)
    }
}
