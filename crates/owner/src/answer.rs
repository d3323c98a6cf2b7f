//! The answer to a call: a one-shot channel from the owner's thread to the waiting thread.
//!
//! A signal handler of the program may run at any point of a call and touch shared memory that the owner has to bring.
//! The interrupted thread must not hold anything there that the owner needs, such as an allocator's lock or the inside
//! of a channel. Signals of the program are therefore blocked while a call works ([`threads::as_guest`]) and unblocked
//! while it sleeps; the sleep is a separate step here that holds nothing.

use error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const NOT_YET: u32 = 0;
const THERE: u32 = 1;
/// No answer will come.
const NEVER: u32 = 2;

#[derive(Debug)]
struct Place<T> {
    state: AtomicU32,
    reply: Mutex<Option<Result<T, Error>>>,
}

/// The sending end. Dropped without an answer, it reports that there will be none.
pub struct Answer<T>(Option<To<T>>);

enum To<T> {
    Sleeper(Arc<Place<T>>),
    Call(Call<T>),
}

/// Called on the answering thread, which must not block there. `None`: no answer will come.
type Call<T> = Box<dyn FnOnce(Option<Result<T, Error>>) + Send>;

/// The receiving end.
#[derive(Debug)]
pub struct Awaited<T>(Arc<Place<T>>);

/// Result of a poll.
pub enum Found<T> {
    /// The call's result.
    Reply(Result<T, Error>),
    /// No answer has come so far.
    NotYet,
    /// No answer will come.
    Never,
}

/// Creates both ends.
pub fn answer<T>() -> (Answer<T>, Awaited<T>) {
    let place = Arc::new(Place {
        state: AtomicU32::new(NOT_YET),
        reply: Mutex::new(None),
    });
    (Answer(Some(To::Sleeper(place.clone()))), Awaited(place))
}

impl<T> Answer<T> {
    /// Creates a sending end that calls `call` with the answer, for a caller that does not wait.
    pub fn call(call: impl FnOnce(Option<Result<T, Error>>) + Send + 'static) -> Self {
        Self(Some(To::Call(Box::new(call))))
    }

    /// Answers. A receiver that has given up does not notice.
    pub fn send(mut self, reply: Result<T, Error>) {
        self.end(Some(reply));
    }

    fn end(&mut self, reply: Option<Result<T, Error>>) {
        match self.0.take() {
            None => {}
            Some(To::Call(call)) => call(reply),
            Some(To::Sleeper(place)) => {
                let state = if reply.is_some() { THERE } else { NEVER };
                *place.reply.lock().unwrap_or_else(PoisonError::into_inner) = reply;
                place.state.store(state, Ordering::Release);
                threads::wake(&place.state);
            }
        }
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.end(None);
    }
}

impl<T> Awaited<T> {
    /// Sleeps until there is something to look at, for `at_most` at the longest. Holds nothing meanwhile.
    pub fn sleep(&self, at_most: Duration) {
        threads::sleep_while(&self.0.state, NOT_YET, at_most);
    }

    /// Polls for the answer.
    pub fn look(&self) -> Found<T> {
        match self.0.state.load(Ordering::Acquire) {
            NOT_YET => Found::NotYet,
            NEVER => Found::Never,
            _ => {
                let mut reply = self.0.reply.lock().unwrap_or_else(PoisonError::into_inner);
                reply.take().map_or(Found::Never, Found::Reply)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_arrives_once_or_never() {
        let (answer, awaited) = answer();
        assert!(matches!(awaited.look(), Found::NotYet));
        let teller = std::thread::spawn(move || answer.send(Ok(7)));
        awaited.sleep(Duration::from_secs(60));
        assert!(matches!(awaited.look(), Found::Reply(Ok(7))));
        assert!(matches!(awaited.look(), Found::Never));
        teller.join().unwrap();
        let (answer, awaited) = super::answer::<()>();
        drop(answer);
        awaited.sleep(Duration::from_secs(60));
        assert!(matches!(awaited.look(), Found::Never));
        let (_answer, awaited) = super::answer::<()>();
        awaited.sleep(Duration::from_millis(1));
        assert!(matches!(awaited.look(), Found::NotYet));
    }
}
