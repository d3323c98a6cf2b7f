//! Requests about cache lines, and recalls of lines.

use crate::kernels::Kernels;
use crate::message::EndAccess;
use crate::rooms::Room;
use crate::wait::Waits;
use error::Error;
use units::access::LineBytes;
use units::{Picoseconds, SlotId};

/// Interval between two polls of a recall.
const LOOKS: Picoseconds = Picoseconds::from_micros(2);
/// Timeout of a recall: a kernel without a timeout may never take its lines. Each of the CPU's lines is released or
/// written by then, unless the CPU stopped.
const LIMIT: Picoseconds = Picoseconds::from_micros(1_000_000);

/// Requests about cache lines.
#[derive(Clone)]
pub(crate) struct LineRequests {
    pub(crate) kernels: Room<Kernels>,
    pub(crate) waits: Waits,
}

impl LineRequests {
    /// Lets virtual time pass until an access is over, for at most `deadline` from now.
    pub(crate) async fn end_access(&self, request: EndAccess) -> Result<Box<LineBytes>, Error> {
        let EndAccess { id, deadline } = request;
        let now = self.kernels.lend(|kernels| kernels.now());
        let until = deadline.map(|deadline| now.saturating_add(deadline));
        let _alarm = until.map(|until| self.waits.alarm(until));
        let seen = self
            .waits
            .card(|| {
                self.kernels
                    .lend(|kernels| kernels.lines().look_for_line(id, until))
            })
            .await;
        self.kernels.lend(|kernels| kernels.access_over(id, seen))
    }

    /// Recalls the lines of this slot's kernel that the CPU holds; the kernel takes them. A kernel that does not is
    /// cut off by the guard, and no lines are left to recall.
    pub(crate) async fn recall_lines(&self, slot: SlotId) -> Result<(), Error> {
        if !self
            .kernels
            .lend(|kernels| kernels.lines().begin_recall(slot))?
        {
            return Ok(());
        }
        self.look_until(LOOKS, LIMIT, || {
            self.kernels.lend(|kernels| kernels.lines().are_recalled())
        })
        .await
    }

    /// Lets virtual time pass and polls until the condition holds or the timeout expires.
    async fn look_until(
        &self,
        every: Picoseconds,
        limit: Picoseconds,
        over: impl Fn() -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let last = self
            .kernels
            .lend(|kernels| kernels.now())
            .saturating_add(limit);
        loop {
            let until = self
                .kernels
                .lend(|kernels| kernels.now())
                .saturating_add(every);
            let alarm = self.waits.alarm(until);
            self.waits
                .card(|| {
                    self.kernels
                        .lend(|kernels| Ok((kernels.now() >= until).then_some(())))
                })
                .await?;
            drop(alarm);
            if over()? || self.kernels.lend(|kernels| kernels.now()) >= last {
                return Ok(());
            }
        }
    }

    /// Waits until the CPU has back the lines that the kernel of a slot in reset held.
    pub(crate) async fn host_lines_home(&self, slot: SlotId) -> Result<(), Error> {
        if !self
            .kernels
            .lend(|kernels| kernels.lines().uses_host_lines(slot))
        {
            return Ok(());
        }
        self.look_until(LOOKS, LIMIT, || {
            self.kernels
                .lend(|kernels| kernels.lines().host_lines_are_home())
        })
        .await
    }
}
