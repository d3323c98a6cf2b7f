//! Host threads that count: virtual time passes only while each of them waits in a call.
//!
//! A program of one thread needs none of this: time passes only inside its calls. With several threads,
//! which call reaches the owner first is up to the scheduler of the machine. Registered threads take turns
//! in an order that does not depend on it: the clock stands until each of them is in a call (or
//! [outside](crate::Card::outside)), and their calls are then begun by the number of the participant, and
//! each one's in their order. So the same program gives the same report on any machine, under any load.

use error::Error;
use owner::participants::{Caller, Change};
use owner::OwnerThread;
use std::cell::RefCell;
use std::fs;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// A place for a host thread that counts, made by [`Card::participant`](crate::Card::participant).
///
/// It counts from the moment it is made, so make the places of all threads before any of them starts, in an
/// order that is always the same, and give each thread its own. It ends when it is dropped.
#[derive(Debug)]
pub struct Participant {
    owner: Arc<OwnerThread>,
    number: u64,
}

/// The thread that called [`Participant::enter`] counts until this is dropped.
#[derive(Debug)]
pub struct Present {
    participant: Participant,
    /// It belongs to its thread.
    _thread: PhantomData<*const ()>,
}

struct Seat {
    owner: Arc<OwnerThread>,
    number: u64,
    sequence: u64,
}

thread_local! {
    /// Empty unless the thread counts: a [`Present`] takes its seat away. Without a destructor, so that calls are as
    /// good as ever where those of thread-locals have run, as in atexit handlers and destructors of static objects.
    static SEATS: ManuallyDrop<RefCell<Vec<Seat>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// The thread's next call of this owner, if the thread counts.
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

/// Runs something that waits for other threads, or for the world; the clock does not wait meanwhile.
pub(crate) fn outside<T>(owner: &Arc<OwnerThread>, work: impl FnOnce() -> T) -> Result<T, Error> {
    struct Back<'a>(&'a OwnerThread, u64);
    impl Drop for Back<'_> {
        fn drop(&mut self) {
            // An owner that has ended needs no word.
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

    /// From now on the calls of this thread are the participant's.
    ///
    /// # Errors
    /// The owner has ended; `/proc` does not say which thread this is.
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
        // An owner that has ended needs no word.
        let _ = self.owner.change(Change::Left(self.number));
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let Participant { owner, number } = &self.participant;
        // What is taken out is dropped after the borrow.
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
