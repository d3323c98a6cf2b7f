//! Trapped accesses of programs in other processes, which name a block by their own count.

use super::memory::Memories;
use crate::message::ServeTrap;
use pager::{ObjectId, RequestId};
use trap::Elsewhere;
use units::Asid;

/// A trapped access of a program in another process, being served.
pub(crate) struct TrapElsewhere {
    pub(crate) program: Elsewhere,
    pub(crate) request: RequestId,
    pub(crate) object: ObjectId,
}

/// The place of such an access.
pub(super) struct AccessElsewhere {
    pub(super) program: Elsewhere,
    pub(super) object: ObjectId,
    /// Offset in the object, in bytes.
    pub(super) offset: u64,
    /// Address in the program and in kernels.
    pub(super) address: u64,
}

impl Memories {
    /// The place of a trapped access in one of these spaces. `None`: no block there has that byte. Reports do not count it:
    /// counts outlive blocks, and a daemon's clients may have any number of them, at the same addresses.
    pub(super) fn find_elsewhere(
        &self,
        spaces: &[Asid],
        trap: &ServeTrap,
    ) -> Option<AccessElsewhere> {
        let offset = usize::try_from(trap.offset).ok()?;
        self.parts().find_map(|part| {
            let inside = spaces.contains(&part.asid) && part.part.range.contains(&offset);
            let program = part.view.program().filter(|_| inside)?;
            (program.block() == trap.block).then(|| AccessElsewhere {
                program,
                object: part.object,
                offset: (offset - part.part.range.start) as u64,
                address: part.view.address().get() + trap.offset,
            })
        })
    }
}
