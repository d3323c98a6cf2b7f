//! Completion of requests.

use crate::action::{Action, Success};
use crate::error::PagerError;
use crate::ids::{ObjectPage, RequestId};
use crate::pager::Pager;
use crate::request::{answer, Ended, Last};
use crate::space::Phase;

impl Pager {
    /// Counts down one dependency of each of these requests, and completes those without further dependencies.
    pub(crate) fn end_requests(
        &mut self,
        requests: impl IntoIterator<Item = RequestId>,
        result: Result<(), PagerError>,
        out: &mut Vec<Action>,
    ) {
        for request in requests {
            if let Some(ended) = self.requests.end_one(request, result) {
                self.finish(ended, out);
            }
        }
    }

    /// Completes every request that waits for a page.
    pub(crate) fn end_all_requests(
        &mut self,
        key: ObjectPage,
        result: Result<(), PagerError>,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let mut ended = std::mem::take(&mut page.joined);
        ended.append(&mut page.wanted);
        ended.append(&mut page.leaving);
        ended.append(&mut page.returning);
        self.end_requests(ended, result, out);
    }

    fn finish(&mut self, ended: Ended, out: &mut Vec<Action>) {
        let mut destroying = None;
        match ended.last {
            Last::Answer => {}
            Last::Unmap(asid) => {
                if let Some(space) = self.spaces.get_mut(&asid) {
                    space.unmaps.remove(&ended.request);
                    if let Phase::Destroying(request) = space.phase {
                        destroying = Some(request);
                    }
                }
            }
            Last::CloseObject(object) if ended.error.is_none() => {
                self.objects.remove(&object);
                self.policies.fetch.forgotten(object);
            }
            Last::CloseObject(object) => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.closing = false;
                    object.discard = false;
                }
            }
            Last::DestroySpace(asid) => {
                out.push(Action::DisableSpace { asid });
                self.remove_space(asid);
            }
        }
        let result = ended.error.map_or(Ok(Success::Done), Err);
        out.push(answer(ended.request, result));
        self.end_requests(destroying, Ok(()), out);
    }
}
