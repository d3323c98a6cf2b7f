//! The way back: what was written goes to the files, and mappings and files end.

use super::View;
use crate::kernels::Kernels;
use crate::paging::policies::Words;
use crate::paging::Paging;
use pager::ObjectId;
use units::Asid;

impl Paging {
    /// The pager was asked to close the object of a range, which went well if it is `saved`. Whether it has left.
    pub(crate) fn close_object(
        &mut self,
        kernels: &mut Kernels,
        view: View,
        object: ObjectId,
        saved: bool,
    ) -> bool {
        let left = !self.pager.has_object(object);
        match left {
            true => self.forget_object(kernels, view, saved),
            // Its file system has not answered, and may still take what was written: nobody else gets the file.
            false => self.files.give_up(view),
        }
        left
    }

    fn forget_object(&mut self, kernels: &mut Kernels, view: View, saved: bool) {
        let paging = self.pager.statistics();
        let words = Words::new(kernels.description(), &self.options, paging);
        let card = kernels.card();
        let files = &mut self.files;
        files.forget_object(card, view, saved, |paged| words.told(paged));
    }

    /// Forgets what was given up when it was closed, and has left since.
    pub(crate) fn forget_given_up(&mut self, kernels: &mut Kernels) -> Vec<View> {
        let left: Vec<View> = self.files.given_up(|object| !self.pager.has_object(object));
        left.iter()
            .for_each(|view| self.forget_object(kernels, *view, false));
        left
    }

    /// Forgets the mappings of a space (in a range); gives the files that may be closed.
    pub(crate) fn forget_mappings(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        self.service.end_pressure(space, range);
        self.files.forget_mappings(space, range)
    }
}
