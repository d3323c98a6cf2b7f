//! A trap queue with its thread, for all shared memory of one card.

use super::records::{self, Trapped};
use super::userfault::Userfault;
use super::TrapWay;
use std::io;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};

type Serve = Arc<dyn Fn(Trapped) + Send + Sync>;

/// See the module. Its threads end on drop.
pub struct TrapQueue {
    index: usize,
    serve: Serve,
    /// Opened for the first memory that needs it.
    userfault: Mutex<Option<Arc<Userfault>>>,
    /// The same, for memory with accesses served in their own threads.
    in_thread: Mutex<Option<Arc<Userfault>>>,
}

impl std::fmt::Debug for TrapQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TrapQueue({})", self.index)
    }
}

fn serve_or_refuse(serve: &Serve, trapped: Trapped) {
    if catch_unwind(AssertUnwindSafe(|| serve(trapped))).is_err() {
        tracing::error!("a trap could not be served; its thread gets the signal");
    }
}

impl TrapQueue {
    /// Opens a trap queue; `serve` receives each trapped access.
    ///
    /// # Errors
    /// The system cannot create a thread, or there are too many trap queues.
    pub fn open(serve: impl Fn(Trapped) + Send + Sync + 'static) -> io::Result<Self> {
        let index = records::open_queue().ok_or_else(|| {
            io::Error::other("a process can share memory with at most 64 cards at once")
        })?;
        let serve: Serve = Arc::new(serve);
        let here = serve.clone();
        let spawned = threads::spawn("tombolo traps", move || {
            while let Some(trapped) = records::next(index) {
                serve_or_refuse(&here, trapped);
            }
        });
        // Without a thread, nothing else would free the queue.
        let queue = |_| Self {
            index,
            serve,
            userfault: Mutex::default(),
            in_thread: Mutex::default(),
        };
        spawned.map(queue).inspect_err(|_| {
            records::close_queue(index);
            let _ = records::next(index);
        })
    }

    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Checks whether a trap method is available.
    ///
    /// # Errors
    /// Cause and remedy.
    pub fn probe(&self, way: TrapWay) -> io::Result<()> {
        self.userfault(way).map(drop)
    }

    /// The userfaultfd that guards memory with this trap method; `None` for protected memory.
    ///
    /// # Errors
    /// See [`Userfault::open`].
    pub(super) fn userfault(&self, way: TrapWay) -> io::Result<Option<Arc<Userfault>>> {
        let place = match way {
            TrapWay::Protect => return Ok(None),
            TrapWay::Userfault => &self.userfault,
            TrapWay::InThread => &self.in_thread,
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(open) = &*place {
            return Ok(Some(open.clone()));
        }
        let serve = self.serve.clone();
        let open = match way {
            TrapWay::InThread => Userfault::open_in_thread()?,
            _ => Userfault::open(move |trapped| serve_or_refuse(&serve, trapped))?,
        };
        Ok(Some(place.insert(open).clone()))
    }
}

impl Drop for TrapQueue {
    fn drop(&mut self) {
        records::close_queue(self.index);
        let place = self.userfault.get_mut();
        if let Some(userfault) = place.unwrap_or_else(PoisonError::into_inner) {
            userfault.close();
        }
    }
}
