//! Participants: host threads that take part in virtual time, which passes only while each of them waits in a call.
//!
//! Single-threaded programs need none: time passes only inside their calls. With several threads, the machine's
//! scheduler decides which call reaches the owner first. Registered threads take turns in an order that does not depend
//! on it: the clock stands still until each participant is in a call (or [outside](crate::Card::outside)); their calls
//! are then begun in order of participant number, and those of one participant in program order. So the same program
//! gives the same report on any machine, under any load.

use error::Error;
use owner::participants::{Caller, Change};
use owner::OwnerThread;
use std::cell::RefCell;
use std::fs;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Registration of a host thread in virtual time, made by [`Card::participant`](crate::Card::participant).
///
/// It takes part from its creation on. Create the participants of all threads before any of them starts, always in the
/// same order, and give each thread its own. The registration ends when it is dropped.
#[derive(Debug)]
pub struct Participant {
    owner: Arc<OwnerThread>,
    number: u64,
}

/// The thread that called [`Participant::enter`] takes part in virtual time until this is dropped.
#[derive(Debug)]
pub struct Present {
    participant: Participant,
    /// Not `Send`: it is bound to its thread.
    _thread: PhantomData<*const ()>,
}

struct Seat {
    owner: Arc<OwnerThread>,
    number: u64,
    sequence: u64,
}

thread_local! {
    /// Empty unless the thread is a participant; a dropped [`Present`] removes its seat. The value has no destructor,
    /// so that calls still work after thread-locals were destroyed, as in atexit handlers and destructors of static
    /// objects.
    static SEATS: ManuallyDrop<RefCell<Vec<Seat>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// The identity of the thread's next call to this owner, if the thread is a participant.
pub(crate) fn caller(owner: &Arc<OwnerThread>) -> Option<Caller> {
    SEATS.with(|seats| {
        let mut seats = seats.borrow_mut();
        let seat = seats
            .iter_mut()
            .rev()
            .find(|seat| Arc::ptr_eq(&seat.owner, owner))?;
        seat.sequence += 1;
        Some(Caller {
            participant: seat.number,
            sequence: seat.sequence,
        })
    })
}

/// Runs a closure that waits for other threads or external events; the clock does not wait for this thread meanwhile.
pub(crate) fn outside<T>(owner: &Arc<OwnerThread>, work: impl FnOnce() -> T) -> Result<T, Error> {
    struct Back<'a>(&'a OwnerThread, u64);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            // If the owner has ended, there is nothing to report to.
            let _ = self.0.change(Change::Inside(self.1));
        }
    }
    let number = SEATS.with(|seats| {
        let seats = seats.borrow();
        let seat = seats
            .iter()
            .rev()
            .find(|seat| Arc::ptr_eq(&seat.owner, owner));
        seat.map(|seat| seat.number)
    });
    let Some(number) = number else {
        return Ok(work());
    };
    owner.change(Change::Outside(number))?;
    let _back = Back(owner, number);
    Ok(work())
}

impl Participant {
    pub(crate) fn new(owner: Arc<OwnerThread>) -> Result<Self, Error> {
        let number = owner.next_participant();
        owner.change(Change::Joined(number))?;
        Ok(Self { owner, number })
    }

    /// Binds the participant to this thread: its calls are the participant's from now on.
    ///
    /// # Errors
    /// The owner has ended; `/proc` does not give the thread's identifier.
    pub fn enter(self) -> Result<Present, Error> {
        let this = fs::read_link("/proc/thread-self").map_err(|source| Error::File {
            path: "/proc/thread-self".into(),
            what: "looking for the number of this thread",
            source,
        })?;
        let thread = this
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        let thread = thread.ok_or_else(|| Error::Internal("a thread without a number".into()))?;
        self.owner.change(Change::Entered(self.number, thread))?;
        SEATS.with(|seats| {
            seats.borrow_mut().push(Seat {
                owner: self.owner.clone(),
                number: self.number,
                sequence: 0,
            });
        });
        Ok(Present {
            participant: self,
            _thread: PhantomData,
        })
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        // If the owner has ended, there is nothing to report to.
        let _ = self.owner.change(Change::Left(self.number));
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let Participant { owner, number } = &self.participant;
        // The removed seat is dropped after the borrow ends.
        let gone = SEATS.with(|seats| {
            let mut seats = seats.borrow_mut();
            let found = seats
                .iter()
                .position(|seat| seat.number == *number && Arc::ptr_eq(&seat.owner, owner));
            found.map(|place| seats.remove(place))
        });
        drop(gone);
    }
}
