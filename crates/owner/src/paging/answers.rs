//! Answers of the pager that are not collected yet.

use error::Error;
use pager::{ObjectId, PagerError, RequestId, Success};
use std::collections::BTreeMap;

/// Answered requests to the pager.
#[derive(Debug, Default)]
pub(super) struct Answers {
    asked: u64,
    given: BTreeMap<RequestId, Result<Success, PagerError>>,
    /// Requests that are not awaited any more, and the error to return instead when they are polled.
    given_up: BTreeMap<RequestId, Option<Error>>,
    /// The last failed write of each place, until it is reported.
    write_back_errors: BTreeMap<(ObjectId, u64), Error>,
}

impl Answers {
    /// An identifier for a new request.
    pub(super) fn ask(&mut self) -> RequestId {
        self.asked += 1;
        RequestId(self.asked)
    }

    pub(super) fn give(&mut self, request: RequestId, result: Result<Success, PagerError>) {
        if self.given_up.remove(&request).is_none() {
            self.given.insert(request, result);
        }
    }

    /// Gives up a request: a waiter gets this error instead of the answer.
    pub(super) fn give_up(&mut self, request: RequestId, error: Error) {
        self.given_up.entry(request).or_insert(Some(error));
    }

    /// Takes the answer, if there is one, with the I/O error behind it if there was one.
    pub(super) fn take(&mut self, request: RequestId) -> Option<Result<Success, Error>> {
        if let Some(error) = self.given_up.get_mut(&request).and_then(Option::take) {
            return Some(Err(error));
        }
        let answer = self.given.remove(&request)?;
        Some(answer.map_err(|error| {
            let cause = match error {
                PagerError::Io { object, offset, .. } => {
                    self.write_back_errors.remove(&(object, offset))
                }
                _ => None,
            };
            cause.unwrap_or(Error::Pager(error))
        }))
    }

    /// Records that a page could not be written to its place in a file.
    pub(super) fn write_back_failed(&mut self, object: ObjectId, offset: u64, error: Error) {
        self.write_back_errors.insert((object, offset), error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pager::IoError;

    fn stalled() -> Error {
        Error::Internal("its mount is silent".into())
    }

    #[test]
    fn a_request_that_was_given_up_fails_once_and_its_late_answer_is_dropped() {
        let mut answers = Answers::default();
        let (first, second) = (answers.ask(), answers.ask());
        answers.give_up(first, stalled());
        answers.give_up(first, Error::Internal("again".into()));
        let failed = answers.take(first).unwrap().unwrap_err();
        assert_eq!(failed.to_string(), stalled().to_string());
        assert!(answers.take(first).is_none());
        answers.give(first, Ok(Success::Done));
        assert!(answers.take(first).is_none());
        answers.give(second, Ok(Success::Done));
        assert!(matches!(answers.take(second), Some(Ok(Success::Done))));
        assert!(answers.take(second).is_none());
    }

    #[test]
    fn the_failure_of_a_write_is_the_cause_of_the_answer_to_which_it_belongs() {
        let mut answers = Answers::default();
        let object = ObjectId(4);
        let io = |offset| PagerError::Io {
            direction: pager::Direction::Write,
            object,
            offset,
            bytes: 4096,
            error: IoError::Os(libc::ENOSPC),
        };
        answers.write_back_failed(object, 4096, stalled());
        let (other, own, again) = (answers.ask(), answers.ask(), answers.ask());
        answers.give(other, Err(io(0)));
        answers.give(own, Err(io(4096)));
        answers.give(again, Err(io(4096)));
        let failed = |answers: &mut Answers, request| answers.take(request).unwrap().unwrap_err();
        assert!(matches!(failed(&mut answers, other), Error::Pager(_)));
        let cause = failed(&mut answers, own).to_string();
        assert_eq!(cause, stalled().to_string());
        assert!(
            matches!(failed(&mut answers, again), Error::Pager(_)),
            "reported once"
        );
    }
}
