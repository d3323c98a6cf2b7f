//! The timeout of the clock's wait for a file system that does not answer.
//!
//! In lockstep mode no virtual time passes while a file is wait, so a hanging mount would stop every user of the
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
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A file operation that is awaited.
#[derive(Clone, Debug)]
pub(crate) struct FileWait {
    /// The device of its mount.
    pub(crate) device: u64,
    /// The file's name, for messages.
    pub(crate) label: String,
    /// Description of the operation, for messages.
    pub(crate) what: &'static str,
}

/// The awaited file operations, and since when.
#[derive(Debug, Default)]
pub(crate) struct FileTimeouts {
    /// The timeout; `None`: a wait stops nothing else and has no limit.
    limit: Option<Duration>,
    /// By identifier of the work on another thread.
    asked: BTreeMap<u64, (Instant, FileWait)>,
    /// Operations that are no longer awaited, with their devices.
    late: BTreeMap<u64, u64>,
    /// The transfer for which the clock is stopped.
    lacking: Option<(TransferId, Instant)>,
    /// Abandoned transfers, for which the clock is no longer stopped.
    given_up: BTreeMap<TransferId, FileWait>,
    /// Devices of mounts that did not answer in time.
    silent: BTreeSet<u64>,
}

impl FileTimeouts {
    pub(super) fn new(clock: ClockMode, limit: Duration) -> Self {
        Self {
            limit: (clock == ClockMode::Lockstep).then_some(limit),
            ..Self::default()
        }
    }

    /// Time until the next check of the timeouts; `None`: no check is needed.
    pub(crate) fn next_check(&self) -> Option<Duration> {
        let waits = !self.asked.is_empty() || self.lacking.is_some();
        (waits && self.limit.is_some()).then_some(CHECK_INTERVAL)
    }

    /// The error for tasks that wait for an abandoned transfer.
    pub(crate) fn trouble(&self) -> Option<Error> {
        let mut all = self.given_up.values();
        all.next().map(|wait| self.silence(wait))
    }

    /// Whether a mount did not answer in time, and has answered nothing since.
    pub(crate) fn is_silent(&self, device: u64) -> bool {
        self.silent.contains(&device)
    }

    /// Records that a mount has answered.
    pub(super) fn heard(&mut self, aside: u64) {
        let asked = self.asked.remove(&aside);
        let device = asked.map(|(_, wait)| wait.device);
        if let Some(device) = device.or_else(|| self.late.remove(&aside)) {
            self.silent.remove(&device);
        }
    }

    /// Records that the system has completed a transfer, with or without success.
    pub(super) fn moved(&mut self, id: TransferId) {
        if let Some(wait) = self.given_up.remove(&id) {
            self.silent.remove(&wait.device);
        }
        self.lacking.take_if(|(lacking, _)| *lacking == id);
    }

    /// The clock has reached the end of a transfer whose bytes are missing. Returns whether it stops for them.
    pub(super) fn stops_for(&mut self, id: TransferId, wait: impl FnOnce() -> FileWait) -> bool {
        let Some(limit) = self.limit else {
            return false;
        };
        let since = match self.lacking {
            Some((lacking, since)) if lacking == id => since,
            _ => Instant::now(),
        };
        self.lacking = Some((id, since));
        let wait = wait();
        let over = since.elapsed() >= limit || self.silent.contains(&wait.device);
        if over {
            self.lacking = None;
            self.silent.insert(wait.device);
            self.given_up.insert(id, wait);
        }
        !over
    }

    /// Records that work in a lane is awaited.
    pub(super) fn wait_for(&mut self, aside: u64, wait: FileWait) {
        self.asked.insert(aside, (Instant::now(), wait));
    }

    /// Abandons waits that exceeded the timeout; returns whether there were any.
    pub(crate) fn expire_waits(&mut self, tasks: &mut Tasks) -> bool {
        let expired = self.expired();
        let any = !expired.is_empty();
        for (aside, error) in expired {
            tracing::warn!(%error, "given up");
            tasks.aside_over(aside, Err(error));
            tasks.wake();
        }
        any
    }

    /// Fails the waits for abandoned transfers.
    pub(super) fn fail_abandoned(
        &self,
        pager: &Pager,
        kernels: &mut Kernels,
        answers: &mut Answers,
        tasks: &mut Tasks,
    ) {
        let ports = kernels.description().ports_per_slot.max(1);
        for (id, wait) in &self.given_up {
            let waits = pager.waits_for(pager::IoId(id.0));
            for fault in waits.faults {
                let slot = SlotId(fault.requester / 2 / ports);
                kernels
                    .slots_mut()
                    .kernel_failed(slot, self.silence(wait).to_string());
                tasks.wake();
            }
            for request in waits.requests {
                answers.give_up(request, self.silence(wait));
                tasks.wake();
            }
        }
    }

    /// The waits that exceeded the timeout, each with its error.
    fn expired(&mut self) -> Vec<(u64, Error)> {
        let Some(limit) = self.limit else {
            return Vec::new();
        };
        let late = |(_, (since, wait)): &(&u64, &(Instant, FileWait))| {
            since.elapsed() >= limit || self.silent.contains(&wait.device)
        };
        let late: Vec<u64> = self.asked.iter().filter(late).map(|(id, _)| *id).collect();
        let expired = late.into_iter().filter_map(|id| {
            let (_, wait) = self.asked.remove(&id)?;
            self.silent.insert(wait.device);
            self.late.insert(id, wait.device);
            Some((id, wait))
        });
        let expired: Vec<_> = expired.collect();
        expired
            .into_iter()
            .map(|(id, wait)| (id, self.silence(&wait)))
            .collect()
    }

    fn silence(&self, wait: &FileWait) -> Error {
        let seconds = self.limit.unwrap_or_default().as_secs();
        Error::File {
            path: (&wait.label).into(),
            what: wait.what,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(device: u64) -> FileWait {
        FileWait {
            device,
            label: "data".to_owned(),
            what: "reading it",
        }
    }

    fn lockstep(limit: Duration) -> FileTimeouts {
        FileTimeouts::new(ClockMode::Lockstep, limit)
    }

    const HOUR: Duration = Duration::from_secs(3600);

    #[test]
    fn the_clock_stops_for_bytes_up_to_the_limit() {
        let mut patient = lockstep(HOUR);
        assert!(patient.stops_for(TransferId(1), || wait(5)));
        assert!(patient.next_check().is_some() && patient.trouble().is_none());
        patient.moved(TransferId(1));
        assert!(patient.next_check().is_none());
        let mut over = lockstep(Duration::ZERO);
        assert!(!over.stops_for(TransferId(1), || wait(5)));
        assert!(over.is_silent(5) && !over.is_silent(6));
        let trouble = over.trouble().unwrap().to_string();
        assert!(
            trouble.contains("data") && trouble.contains("reading it"),
            "{trouble}"
        );
        // It answers after all.
        over.moved(TransferId(1));
        assert!(!over.is_silent(5) && over.trouble().is_none());
    }

    #[test]
    fn a_free_clock_stops_for_nothing() {
        let mut free = FileTimeouts::new(ClockMode::Free, Duration::ZERO);
        assert!(!free.stops_for(TransferId(1), || wait(5)));
        assert!(!free.is_silent(5) && free.next_check().is_none());
        let mut tasks = Tasks::default();
        let id = tasks.open_aside();
        free.wait_for(id, wait(5));
        free.expire_waits(&mut tasks);
        assert!(tasks.take_aside(id).is_none() && free.next_check().is_none());
    }

    #[test]
    fn waits_for_a_silent_mount_fail_at_once() {
        let mut tasks = Tasks::default();
        let (id, other) = (tasks.open_aside(), tasks.open_aside());
        let mut timeouts = lockstep(HOUR);
        timeouts.silent.insert(5);
        timeouts.wait_for(id, wait(5));
        timeouts.wait_for(other, wait(6));
        timeouts.expire_waits(&mut tasks);
        let failed = tasks.take_aside(id);
        let is_late = |source: &io::Error| source.kind() == io::ErrorKind::TimedOut;
        assert!(
            matches!(&failed, Some(Err(Error::File { source, .. })) if is_late(source)),
            "{failed:?}"
        );
        assert!(tasks.take_aside(other).is_none());
        // The answer comes late: the mount is not silent any more.
        timeouts.heard(id);
        assert!(!timeouts.is_silent(5));
    }
}
