//! Requests to the pager, and its answers.

use crate::kernels::Kernels;
use crate::paging::Paging;
use crate::rooms::Room;
use crate::wait::Waits;
use error::Error;
use pager::{Event, RequestId, Success};
use units::{Asid, VirtAddr};

/// The pager, for tasks that wait for its answers.
#[derive(Clone)]
pub(crate) struct PagerCalls {
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) waits: Waits,
}

impl PagerCalls {
    /// Writes back everything written to a range so far.
    pub(super) async fn sync(
        &self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<Success, Error> {
        let sync = |request| Event::Sync {
            request,
            asid,
            address,
            bytes,
        };
        self.ask(sync).await
    }

    /// Sends the pager an event, and waits for its answer.
    pub(crate) async fn ask(
        &self,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<Success, Error> {
        let request = self
            .paging
            .lend_with(&self.kernels, |paging, kernels| paging.ask(kernels, event))?;
        self.answer(request).await
    }

    /// Waits for the pager's answer to an earlier event.
    pub(crate) async fn answer(&self, request: RequestId) -> Result<Success, Error> {
        self.waits
            .card(|| self.paging.lend(|paging| Ok(paging.take_answer(request))))
            .await?
    }
}
