//! Requests under way.

use crate::error::PagerError;
use crate::ids::{ObjectId, RequestId};
use std::collections::BTreeMap;
use units::Asid;

/// Final step of a request, after its pages are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Last {
    /// None but the reply.
    Answer,
    /// Notify the space that an unmap is complete.
    Unmap(Asid),
    /// Remove the object, if the request succeeded.
    CloseObject(ObjectId),
    /// Remove the space.
    DestroySpace(Asid),
}

#[derive(Clone, Debug, Hash)]
struct Open {
    /// Number of outstanding pages, plus one during set-up.
    left: u64,
    error: Option<PagerError>,
    last: Last,
}

/// A request without outstanding pages.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) request: RequestId,
    pub(crate) last: Last,
    pub(crate) error: Option<PagerError>,
}

/// All requests under way.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Requests {
    open: BTreeMap<RequestId, Open>,
}

impl Requests {
    /// Opens a request with one dependency: its own set-up, ended by [`Requests::end_one`].
    pub(crate) fn open(&mut self, request: RequestId, last: Last) {
        let open = Open {
            left: 1,
            error: None,
            last,
        };
        self.open.insert(request, open);
    }

    /// Adds a dependency.
    pub(crate) fn add_one(&mut self, request: RequestId) {
        if let Some(open) = self.open.get_mut(&request) {
            open.left += 1;
        }
    }

    /// Ends a dependency; the first error is kept. Returns the request if this was the last.
    pub(crate) fn end_one(
        &mut self,
        request: RequestId,
        result: Result<(), PagerError>,
    ) -> Option<Ended> {
        let open = self.open.get_mut(&request)?;
        open.left -= 1;
        if let Err(error) = result {
            open.error.get_or_insert(error);
        }
        if open.left > 0 {
            return None;
        }
        let open = self.open.remove(&request)?;
        Some(Ended {
            request,
            last: open.last,
            error: open.error,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len()
    }

    pub(crate) fn lefts(&self) -> impl Iterator<Item = (RequestId, u64)> + '_ {
        self.open
            .iter()
            .map(|(&request, open)| (request, open.left))
    }
}
