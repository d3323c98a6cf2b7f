//! Outcome of a step of a fill or write-back.

use crate::error::{AccessError, PagerError};
use crate::page::Purpose;

/// The next step of a page. A transfer knows its data and its place; only [`Pager`](crate::Pager) knows who waits for
/// the page, and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Outcome {
    /// More of the step is under way.
    UnderWay,
    /// The page has its frame and no data: it is copied from host memory, or zeroed.
    Load,
    /// The data is in its place: entries may refer to it.
    Resident,
    /// The frame is freed, and the waiters fail for this reason.
    FillFailed(AccessError),
    /// The page is idle, or one of its reports has arrived.
    Settle,
    /// The end of a write-back.
    WrittenBack(Purpose, Result<(), PagerError>),
}
