//! Requests about cache lines, and lines that come home.

use crate::message::EndAccess;
use crate::owner_ref::OwnerRef;
use error::Error;
use units::access::LineBytes;
use units::{Picoseconds, SlotId};

/// Interval between two polls of a recall.
const LOOKS: Picoseconds = Picoseconds::from_micros(2);
/// Timeout of a recall: a kernel without a timeout may never take its lines. Each of the CPU's lines is released or
/// written by then, unless the CPU stopped.
const LIMIT: Picoseconds = Picoseconds::from_micros(1_000_000);

impl OwnerRef {
    /// Lets time pass until an access is over, at most until `deadline` from now.
    pub(crate) async fn end_access(&self, request: EndAccess) -> Result<Box<LineBytes>, Error> {
        let EndAccess { id, deadline } = request;
        let now = self.kernels(|kernels| kernels.now());
        let until = deadline.map(|deadline| now.saturating_add(deadline));
        let _alarm = until.map(|until| self.alarm(until));
        let seen = self
            .card(|| self.kernels(|kernels| kernels.look_for_line(id, until)))
            .await;
        self.kernels(|kernels| kernels.access_over(id, seen))
    }

    /// Brings the lines home that the CPU has of the kernel in this slot, which takes them. One that does not
    /// is cut off by the guard, and then nothing is left to bring home.
    pub(super) async fn recall_lines(&self, slot: SlotId) -> Result<(), Error> {
        if !self.kernels(|kernels| kernels.begin_recall(slot))? {
            return Ok(());
        }
        self.look_until(LOOKS, LIMIT, || {
            self.kernels(|kernels| kernels.are_recalled())
        })
        .await
    }

    /// Lets time pass and looks again and again, until something is over or it took too long.
    async fn look_until(
        &self,
        every: Picoseconds,
        limit: Picoseconds,
        over: impl Fn() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let last = self.kernels(|kernels| kernels.now()).saturating_add(limit);
        loop {
            let until = self.kernels(|kernels| kernels.now()).saturating_add(every);
            let alarm = self.alarm(until);
            self.card(|| self.kernels(|kernels| Ok((kernels.now() >= until).then_some(()))))
                .await?;
            drop(alarm);
            if over()? || self.kernels(|kernels| kernels.now()) >= last {
                return Ok(());
            }
        }
    }

    /// Waits until the lines are home that the kernel of a slot in reset had.
    pub(super) async fn host_lines_home(&self, slot: SlotId) -> Result<(), Error> {
        if !self.kernels(|kernels| kernels.uses_host_lines(slot)) {
            return Ok(());
        }
        self.look_until(LOOKS, LIMIT, || {
            self.kernels(|kernels| kernels.host_lines_are_home())
        })
        .await
    }
}
