//! Advice: stored with mappings and read by the policies.

use crate::action::{Action, Success};
use crate::error::PagerError;
use crate::ids::{ObjectPage, RequestId};
use crate::keep::Keep;
use crate::pager::Pager;
use crate::request::answer;
use units::{Advice, Asid, VirtAddr};

impl Pager {
    pub(crate) fn advise(
        &mut self,
        request: RequestId,
        asid: Asid,
        range: (VirtAddr, u64),
        advice: Advice,
        out: &mut Vec<Action>,
    ) {
        let result = self.try_advise(asid, range, advice);
        out.push(answer(request, result.map(|()| Success::Done)));
    }

    /// Splits a mapping if only a part of it is advised, as `madvise` does.
    fn try_advise(
        &mut self,
        asid: Asid,
        (address, bytes): (VirtAddr, u64),
        advice: Advice,
    ) -> Result<(), PagerError> {
        let range = self.checked_range(asid, address, bytes)?;
        self.advised |= advice.reuse.is_some();
        let Some(space) = self.spaces.get_mut(&asid) else {
            return Ok(());
        };
        let mut touched = Vec::new();
        for cut in space.cut(&range) {
            let (start, mut mapping) = cut.gone;
            mapping.advice = mapping.advice.then(advice);
            space.mappings.insert(start, mapping);
            touched.push((mapping.object, mapping.object_pages()));
            let Some(object) = self.objects.get_mut(&mapping.object) else {
                continue;
            };
            object.remove_user(asid, cut.was);
            for (address, piece) in cut.kept.iter().chain([&(start, mapping)]) {
                object.add_user(asid, *address, piece.object_pages());
            }
        }
        for (object, pages) in touched {
            for key in self.pages_of(object, pages) {
                let keep = self.keep_of(key);
                if let Some(page) = self.pages.get_mut(&key) {
                    page.keep = keep;
                }
            }
        }
        Ok(())
    }

    /// Retention advice of a page; if several mappings share it, the most retentive advice wins.
    pub(crate) fn keep_of(&self, key: ObjectPage) -> Keep {
        if !self.advised {
            return Keep::default();
        }
        let object = self.objects.get(&key.object);
        let places = object.map(|object| object.users_of(key.index));
        let advised = places.into_iter().flatten().filter_map(|(asid, address)| {
            let mapping = self.spaces.get(&asid)?.mappings.get(&address)?;
            Some(Keep::of(mapping.advice.reuse))
        });
        advised.max().unwrap_or_default()
    }
}
