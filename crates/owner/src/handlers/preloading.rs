//! Preloading: the pages of a mapping are brought to the card before a kernel starts.

use crate::handles::Handles;
use crate::kernels::Kernels;
use crate::message::{ClientId, MakeHot};
use crate::paging::Paging;
use crate::rooms::Room;
use crate::wait::Waits;
use error::Error;
use pager::Event;

/// Guard: while it lives, data is preloaded at zero cost.
struct MakesHot<'a>(&'a Room<Paging>);

impl Drop for MakesHot<'_> {
    fn drop(&mut self) {
        self.0.lend(|paging| paging.hot().end());
    }
}

/// Requests to preload.
#[derive(Clone)]
pub(crate) struct Preloading {
    pub(crate) handles: Room<Handles>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) waits: Waits,
}

impl Preloading {
    /// Preloads the pages of a mapping, as far as there is room; returns the number of bytes preloaded at zero
    /// cost.
    pub(crate) async fn make_mapping_hot(
        &self,
        client: ClientId,
        request: MakeHot,
    ) -> Result<u64, Error> {
        let range = self.handles.range_of(client, request.mapping)?;
        let before = self.paging.lend_with(&self.kernels, |paging, kernels| {
            if let Some(slot) = kernels.slots().busy_slot() {
                let rule = "is running; make data hot before a kernel starts";
                return Err(Error::SlotState {
                    slot,
                    rule: rule.into(),
                });
            }
            Ok(paging.hot().begin())
        })?;
        let _hot = MakesHot(&self.paging);
        self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.tell(
                kernels,
                Event::Prefetch {
                    asid: range.asid,
                    address: range.address,
                    bytes: range.bytes,
                },
            )
        })?;
        self.waits
            .card(|| {
                self.paging.lend_with(&self.kernels, |paging, kernels| {
                    let over = paging.pager().is_idle() || kernels.slots().busy_slot().is_some();
                    Ok(over.then_some(()))
                })
            })
            .await?;
        // Installs are not awaited elsewhere: a kernel that starts at once would find no entry.
        let over = || {
            self.paging
                .lend(|paging| Ok((!paging.hot().awaits_entries(range.asid)).then_some(())))
        };
        // A barrier of another request for the space does not cover these entries.
        self.waits.card(over).await?;
        // Asks the card to report when it has executed everything now in the space's queue.
        self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.await_entries(kernels, range.asid)
        })?;
        self.waits.card(over).await?;
        Ok(self.paging.lend(|paging| {
            let bytes = paging.hot().bytes() - before;
            paging.add_made_hot(client, bytes);
            bytes
        }))
    }
}
