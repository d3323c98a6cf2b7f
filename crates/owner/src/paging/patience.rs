//! How long the clock stands for a file system that does not answer.
//!
//! In lockstep no virtual time passes while somebody waits for a file, so a mount that hangs would stop every user of the
//! card. After [`OwnerOptions::file_limit`](crate::OwnerOptions::file_limit) of real time the wait is given up: who waits
//! gets an error that names the file, and the clock goes on. From then on nobody waits for that mount at all, until it
//! answers something.
//!
//! A transfer that was given up is still under way: its memory stays its own, and its page is neither there nor gone,
//! until the system says how it ended. Whoever comes to wait for it is told at once.

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

/// How often it is looked whether a limit has passed.
const LOOK: Duration = Duration::from_millis(100);

/// Something that is asked of a file.
#[derive(Clone, Debug)]
pub(crate) struct Awaited {
    /// The device of its mount.
    pub(crate) device: u64,
    /// The file's name, for messages.
    pub(crate) label: String,
    /// What is asked.
    pub(crate) what: &'static str,
}

/// Who waits for files, and since when.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// `None`: whoever waits, waits alone.
    limit: Option<Duration>,
    /// By the name of the work beside the owner's thread.
    asked: BTreeMap<u64, (Instant, Awaited)>,
    /// What was asked and is waited for no longer, with its device.
    late: BTreeMap<u64, u64>,
    /// The transfer for which the clock stands.
    lacking: Option<(TransferId, Instant)>,
    /// Transfers for which it stands no longer.
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

    /// How long may be waited until somebody looks whether a limit has passed; `None`: for ever.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let waits = !self.asked.is_empty() || self.lacking.is_some();
        (waits && self.limit.is_some()).then_some(LOOK)
    }

    /// What those are told who wait for a transfer that was given up.
    pub(super) fn trouble(&self) -> Option<Error> {
        let mut all = self.given_up.values();
        all.next().map(|awaited| self.silence(awaited))
    }

    /// Whether a mount did not answer in time, and has answered nothing since.
    pub(super) fn is_silent(&self, device: u64) -> bool {
        self.silent.contains(&device)
    }

    /// A mount has answered.
    pub(super) fn heard(&mut self, aside: u64) {
        let asked = self.asked.remove(&aside);
        let device = asked.map(|(_, awaited)| awaited.device);
        if let Some(device) = device.or_else(|| self.late.remove(&aside)) {
            self.silent.remove(&device);
        }
    }

    /// The system has moved the bytes of a transfer, or has not.
    pub(super) fn moved(&mut self, id: TransferId) {
        if let Some(awaited) = self.given_up.remove(&id) {
            self.silent.remove(&awaited.device);
        }
        self.lacking.take_if(|(lacking, _)| *lacking == id);
    }

    /// The clock has come to the end of a transfer whose bytes are not there. True if it goes on without them.
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

    /// Somebody waits for work in a lane.
    pub(super) fn wait_for(&mut self, aside: u64, awaited: Awaited) {
        self.asked.insert(aside, (Instant::now(), awaited));
    }

    /// Gives up what has been waited for too long.
    pub(super) fn lose(&mut self, tasks: &mut Tasks) {
        for (aside, error) in self.expired() {
            tracing::warn!(%error, "given up");
            tasks.aside_over(aside, Err(error));
            tasks.stir();
        }
    }

    /// Tells those who wait for transfers that were given up.
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

    /// Who has waited for too long, and what they are told.
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
