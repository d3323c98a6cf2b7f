//! Processes that are connected: descriptors are a process's, whichever of its connections opens or uses them.

use crate::files::Files;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The files of a process.
pub(crate) type Process = Arc<Mutex<Files>>;

#[derive(Debug, Default)]
pub(crate) struct Processes {
    all: Mutex<BTreeMap<u32, (Process, usize)>>,
}

impl Processes {
    fn all(&self) -> MutexGuard<'_, BTreeMap<u32, (Process, usize)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection of a process begins.
    pub(crate) fn enter(&self, process: u32) -> Process {
        let mut all = self.all();
        let (found, connections) = all.entry(process).or_default();
        *connections += 1;
        found.clone()
    }

    /// It ends; with the last one, files that are open are closed.
    pub(crate) fn leave(&self, process: u32) {
        let mut all = self.all();
        if let Some((_, connections)) = all.get_mut(&process) {
            *connections -= 1;
            if *connections == 0 {
                all.remove(&process);
            }
        }
    }
}
