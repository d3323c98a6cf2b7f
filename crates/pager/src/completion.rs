//! Completion of requests.

use crate::action::{Action, Success};
use crate::error::PagerError;
use crate::fetch::FetchPolicy;
use crate::ids::{ObjectPage, RequestId};
use crate::issue::Issued;
use crate::memory::Memory;
use crate::pages::Pages;
use crate::request::{Ended, Last, Requests};
use crate::space::Phase;
use crate::spaces::Spaces;
use units::Asid;

/// Ends requests, and the spaces and objects whose end they asked for.
pub(crate) struct Completion<'a> {
    pub(crate) requests: &'a mut Requests,
    pub(crate) pages: &'a mut Pages,
    pub(crate) spaces: &'a mut Spaces,
    pub(crate) memory: &'a mut Memory,
    pub(crate) issued: &'a mut Issued,
    pub(crate) fetch: &'a mut dyn FetchPolicy,
}

impl Completion<'_> {
    /// Counts down one dependency of each of these requests, and completes those without further dependencies.
    pub(crate) fn end(
        &mut self,
        requests: impl IntoIterator<Item = RequestId>,
        result: Result<(), PagerError>,
    ) {
        for request in requests {
            if let Some(ended) = self.requests.end_one(request, result) {
                self.finish(ended);
            }
        }
    }

    /// Completes every request that waits for a page.
    pub(crate) fn end_all(&mut self, key: ObjectPage, result: Result<(), PagerError>) {
        if let Some(page) = self.pages.page_mut(key) {
            let ended = page.requests.take();
            self.end(ended, result);
        }
    }

    fn finish(&mut self, ended: Ended) {
        let mut destroying = None;
        match ended.last {
            Last::Answer => {}
            Last::Unmap(asid) => {
                if let Some(space) = self.spaces.space_mut(asid) {
                    space.unmaps.remove(&ended.request);
                    if let Phase::Destroying(request) = space.phase {
                        destroying = Some(request);
                    }
                }
            }
            Last::CloseObject(object) if ended.error.is_none() => {
                self.pages.remove_object(object);
                self.fetch.forgotten(object);
            }
            Last::CloseObject(object) => {
                if let Some(object) = self.pages.object_mut(object) {
                    object.closing = false;
                    object.discard = false;
                }
            }
            Last::DestroySpace(asid) => {
                self.issued.push(Action::DisableSpace { asid });
                self.remove_space(asid);
            }
        }
        let result = ended.error.map_or(Ok(Success::Done), Err);
        self.issued.answer(ended.request, result);
        self.end(destroying, Ok(()));
    }

    /// Removes a space without entries, and its page table.
    pub(crate) fn remove_space(&mut self, asid: Asid) {
        let channels = self.memory.channels().len();
        if let Some(space) = self.spaces.remove(asid, channels) {
            let sets_log2 = space.table.geometry().sets_log2();
            self.memory.release_table(space.table_frame, sets_log2);
        }
        for (_, page) in self.pages.iter_mut() {
            for of in [&mut page.place.charged, &mut page.place.requested] {
                *of = of.filter(|&of| of != asid);
            }
        }
    }
}
