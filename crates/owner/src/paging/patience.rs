//! The timeout of the clock's wait for a file system that does not answer.
//!
//! In lockstep mode no virtual time passes while a file is awaited, so a hanging mount would stop every user of the
//! card. After [`OwnerOptions::file_limit`](crate::OwnerOptions::file_limit) of real time the wait is abandoned: the
//! waiting requests get an error that names the file, and the clock continues. From then on the clock does not wait for
//! that mount at all, until it answers a request.
//!
//! An abandoned transfer is still under way: its memory stays reserved, and its page is neither resident nor evicted,
//! until the system reports the end. A later request that would wait for it fails at once.

use super::answers::Answers;
use crate::kernels::Kernels;
use crate::tasks::Tasks;
use crate::ClockMode;
use error::Error;
use file_io::TransferId;
use pager::Pager;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};
use units::SlotId;

/// Interval between two checks of the timeouts.
const LOOK: Duration = Duration::from_millis(100);

/// A file operation that is awaited.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    /// The device of its mount.
    pub(crate) device: u64,
    /// The file's name, for messages.
    pub(crate) label: String,
    /// Description of the operation, for messages.
    pub(crate) what: &'static str,
}

/// The awaited file operations, and since when.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// The timeout; `None`: a wait stops nothing else and has no limit.
    limit: Option<Duration>,
    /// By identifier of the work on another thread.
    asked: BTreeMap<u64, (Instant, Awaited)>,
    /// Operations that are no longer awaited, with their devices.
    late: BTreeMap<u64, u64>,
    /// The transfer for which the clock is stopped.
    lacking: Option<(TransferId, Instant)>,
    /// Abandoned transfers, for which the clock is no longer stopped.
    given_up: BTreeMap<TransferId, Awaited>,
    /// Devices of mounts that did not answer in time.
    silent: BTreeSet<u64>,
}

impl Patience {
    pub(super) fn new(clock: ClockMode, limit: Duration) -> Self {
        Self {
            limit: (clock == ClockMode::Lockstep).then_some(limit),
            ..Self::default()
        }
    }

    /// Time until the next check of the timeouts; `None`: no check is needed.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let waits = !self.asked.is_empty() || self.lacking.is_some();
        (waits && self.limit.is_some()).then_some(LOOK)
    }

    /// The error for tasks that wait for an abandoned transfer.
    pub(super) fn trouble(&self) -> Option<Error> {
        let mut all = self.given_up.values();
        all.next().map(|awaited| self.silence(awaited))
    }

    /// Whether a mount did not answer in time, and has answered nothing since.
    pub(super) fn is_silent(&self, device: u64) -> bool {
        self.silent.contains(&device)
    }

    /// Records that a mount has answered.
    pub(super) fn heard(&mut self, aside: u64) {
        let asked = self.asked.remove(&aside);
        let device = asked.map(|(_, awaited)| awaited.device);
        if let Some(device) = device.or_else(|| self.late.remove(&aside)) {
            self.silent.remove(&device);
        }
    }

    /// Records that the system has completed a transfer, with or without success.
    pub(super) fn moved(&mut self, id: TransferId) {
        if let Some(awaited) = self.given_up.remove(&id) {
            self.silent.remove(&awaited.device);
        }
        self.lacking.take_if(|(lacking, _)| *lacking == id);
    }

    /// The clock has reached the end of a transfer whose bytes are missing. Returns true if it continues without them.
    pub(super) fn lacks(&mut self, id: TransferId, awaited: impl FnOnce() -> Awaited) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        let since = match self.lacking {
            Some((lacking, since)) if lacking == id => since,
            _ => Instant::now(),
        };
        self.lacking = Some((id, since));
        let awaited = awaited();
        let over = since.elapsed() >= limit || self.silent.contains(&awaited.device);
        if over {
            self.lacking = None;
            self.silent.insert(awaited.device);
            self.given_up.insert(id, awaited);
        }
        over
    }

    /// Records that work in a lane is awaited.
    pub(super) fn wait_for(&mut self, aside: u64, awaited: Awaited) {
        self.asked.insert(aside, (Instant::now(), awaited));
    }

    /// Abandons waits that exceeded the timeout.
    pub(super) fn lose(&mut self, tasks: &mut Tasks) {
        for (aside, error) in self.expired() {
            tracing::warn!(%error, "given up");
            tasks.aside_over(aside, Err(error));
            tasks.stir();
        }
    }

    /// Fails the waits for abandoned transfers.
    pub(super) fn tell_of_silence(
        &self,
        pager: &Pager,
        kernels: &mut Kernels,
        answers: &mut Answers,
        tasks: &mut Tasks,
    ) {
        let ports = kernels.description().ports_per_slot.max(1);
        for (id, awaited) in &self.given_up {
            let waits = pager.waits_for(pager::IoId(id.0));
            for fault in waits.faults {
                let slot = SlotId(fault.requester / 2 / ports);
                kernels.kernel_failed(slot, self.silence(awaited).to_string());
                tasks.stir();
            }
            for request in waits.requests {
                answers.give_up(request, self.silence(awaited));
                tasks.stir();
            }
        }
    }

    /// The waits that exceeded the timeout, each with its error.
    fn expired(&mut self) -> Vec<(u64, Error)> {
        let Some(limit) = self.limit else {
            return Vec::new();
        };
        let late = |(_, (since, awaited)): &(&u64, &(Instant, Awaited))| {
            since.elapsed() >= limit || self.silent.contains(&awaited.device)
        };
        let late: Vec<u64> = self.asked.iter().filter(late).map(|(id, _)| *id).collect();
        let told = late.into_iter().filter_map(|id| {
            let (_, awaited) = self.asked.remove(&id)?;
            self.silent.insert(awaited.device);
            self.late.insert(id, awaited.device);
            Some((id, awaited))
        });
        let told: Vec<_> = told.collect();
        told.into_iter()
            .map(|(id, awaited)| (id, self.silence(&awaited)))
            .collect()
    }

    fn silence(&self, awaited: &Awaited) -> Error {
        let seconds = self.limit.unwrap_or_default().as_secs();
        Error::File {
            path: (&awaited.label).into(),
            what: awaited.what,
            source: io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "its file system has not answered for {seconds} s, and the clock of a simulated card in lockstep stands \
                     for all who use it: look after the mount, or allow more (TOMBOLO_FILE_SECONDS)"
                ),
            ),
        }
    }
}
