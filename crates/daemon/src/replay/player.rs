//! Feeds the owner of a card with the inputs of a journal.

use super::files::{ReplayFiles, WrittenFile};
use super::replies::Replies;
use super::{End, ReplayError};
use crate::journal::{
    sum_of, JournalEntry, JournalReader, Passed, RequestEntry, Taken, TenantEntry,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{channel, Receiver, Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tombolo::serving::{
    replayed, replayed_closing, replayed_opening, replayed_own, AsideWork, Guest, Input,
    InputPlace, Quota, ReplayInputs, Replayed, ReplayedInput, ReplayedRequest, Tenant, TicketId,
};
use tombolo::{Error, Picoseconds, Report};
use wire::{ClientId, Message};

#[derive(Debug, Default)]
struct Progress {
    /// Inputs that the owner has asked for.
    asked: u64,
    /// How the replay differs from the record.
    diverged: Option<String>,
    /// The owner asks for nothing more.
    ended: bool,
}

/// State shared by feed and player.
#[derive(Debug, Default)]
pub(super) struct Shared {
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl Shared {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The owner's end.
pub(super) struct Feed {
    inputs: Receiver<ReplayedInput>,
    shared: Arc<Shared>,
}

impl Feed {
    pub(super) fn new(inputs: Receiver<ReplayedInput>, shared: Arc<Shared>) -> Self {
        Self { inputs, shared }
    }
}

impl ReplayInputs for Feed {
    fn next(&mut self) -> Option<ReplayedInput> {
        self.shared.progress().asked += 1;
        self.shared.changed.notify_all();
        self.inputs.recv().ok()
    }

    fn diverged(&mut self, how: String) {
        self.shared.progress().diverged.get_or_insert(how);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.progress().ended = true;
        self.shared.changed.notify_all();
    }
}

/// A request that its client has sent and the owner has not taken.
type Pending = (Option<u64>, ReplayedRequest);

/// The journal's end.
pub(super) struct Player {
    inputs: SyncSender<ReplayedInput>,
    shared: Arc<Shared>,
    files: ReplayFiles,
    replies: Replies,
    pending: BTreeMap<u64, VecDeque<Pending>>,
    tenants: BTreeMap<String, Arc<Tenant>>,
    sent: u64,
    requests: u64,
    written: Vec<WrittenFile>,
    reports: (Sender<ReportResult>, Receiver<ReportResult>),
}

type ReportResult = Result<Box<Report>, Error>;

/// See [`Replayed`](super::Replayed).
pub(super) struct Played {
    pub(super) report: Box<Report>,
    pub(super) inputs: u64,
    pub(super) requests: u64,
    pub(super) replies: u64,
    pub(super) different_reply: Option<String>,
    pub(super) written: Vec<WrittenFile>,
}

impl Player {
    pub(super) fn new(
        inputs: SyncSender<ReplayedInput>,
        shared: Arc<Shared>,
        files: ReplayFiles,
    ) -> Self {
        Self {
            inputs,
            shared,
            files,
            replies: Replies::default(),
            pending: BTreeMap::new(),
            tenants: BTreeMap::new(),
            sent: 0,
            requests: 0,
            written: Vec::new(),
            reports: channel(),
        }
    }

    /// Plays lines of the journal, and takes the report at the end.
    pub(super) fn play(
        mut self,
        mut reader: JournalReader,
        lines: u64,
        end: &End,
    ) -> Result<Played, ReplayError> {
        while reader.lines() < lines {
            let Some(entry) = reader.entry()? else {
                break;
            };
            self.entry(entry, reader.lines())?;
        }
        if let End::Cut(_) = end {
            let replies = self.replies.clone();
            let request = self.own("MakeReport", reader.lines(), move || replies.end())?;
            let ticket = u64::MAX;
            let client = ClientId(0);
            let input = Replayed::Begin(TicketId { client, ticket }, request);
            self.send(ReplayedInput { at: None, input }, reader.lines())?;
        }
        let Self {
            inputs,
            shared,
            replies,
            sent,
            requests,
            written,
            reports,
            ..
        } = self;
        // From now on the owner takes what comes.
        drop(inputs);
        let (ours, reports) = reports;
        drop(ours);
        let lines = reader.lines();
        let report = reports.recv().map_err(|_| differs(&shared, lines))??;
        if let Some(how) = shared.progress().diverged.take() {
            return Err(ReplayError::Differs { line: lines, how });
        }
        let (compared, different_reply) = replies.result();
        Ok(Played {
            report,
            inputs: sent,
            requests,
            replies: compared,
            different_reply,
            written,
        })
    }

    fn entry(&mut self, entry: JournalEntry, line: u64) -> Result<(), ReplayError> {
        match entry {
            JournalEntry::Header(_) | JournalEntry::Report(_) | JournalEntry::Stopped(_) => {}
            JournalEntry::Opened(client, tenant) => {
                let tenant = tenant.map(|tenant| self.tenant(tenant));
                let opening = (None, replayed_opening(tenant));
                self.pending.entry(client).or_default().push_back(opening);
            }
            JournalEntry::Closing(client) => {
                let closing = (None, replayed_closing());
                self.pending.entry(client).or_default().push_back(closing);
            }
            JournalEntry::File(file) => {
                if self.files.is_known(file.file) {
                    self.catch_up(line)?;
                }
                self.files.place(&file)?;
            }
            JournalEntry::Request(request) => self.request(request)?,
            JournalEntry::Reply(client, number, sum) => self.replies.recorded(client, number, sum),
            JournalEntry::Written(file, bytes, hash) => {
                self.catch_up(line)?;
                self.written
                    .extend(self.files.written(file, (bytes, hash))?);
            }
            JournalEntry::In(round, idle, time, taken) => {
                let at = (InputPlace { round, idle }, Picoseconds::new(time));
                self.taken(at, taken, line)?;
            }
        }
        Ok(())
    }

    fn tenant(&mut self, tenant: TenantEntry) -> Arc<Tenant> {
        let TenantEntry { name, quota } = tenant;
        let [slots, spaces, mappings, card_bytes] = quota;
        let quota = Quota {
            slots,
            spaces,
            mappings,
            card_bytes,
            // What was built then is in the cache.
            build_seconds: None,
        };
        let known = self.tenants.entry(name.clone());
        known
            .or_insert_with(|| Arc::new(Tenant { name, quota }))
            .clone()
    }

    fn request(&mut self, entry: RequestEntry) -> Result<(), ReplayError> {
        let RequestEntry {
            client,
            number,
            ticket,
            message,
            passed,
        } = entry;
        let descriptors = passed.iter().map(|passed| self.files.open(passed));
        let descriptors = descriptors.collect::<Result<Vec<_>, _>>()?;
        if let (Message::MapDescriptor(map), [Passed::File(file, _)]) = (&message, &passed[..]) {
            if map.options.write {
                self.files.name(*file, &map.label);
            }
        }
        let name = message.name();
        // Both name properties of the process or of the machine.
        let compared = !matches!(message, Message::TakeStatus(_) | Message::FetchReport(_));
        let replies = self.replies.clone();
        let guest = Guest {
            process: std::process::id(),
            replies: Arc::new(move |_, reply| {
                let reply = reply();
                if compared {
                    let sum = sum_of(reply.as_deref());
                    replies.given(client, number, name, sum);
                }
            }),
            complete: Arc::new(|status| status),
            tenant: None,
            may_load: Arc::new(|_| Ok(())),
            arrivals: None,
        };
        let request = replayed(&guest, ticket, message, descriptors)?;
        let pending = self.pending.entry(client).or_default();
        pending.push_back((Some(ticket), request));
        Ok(())
    }

    /// A request of the daemon itself; `reported` is called on the owner's thread when a report is made.
    fn own(
        &self,
        name: &str,
        line: u64,
        reported: impl FnOnce() + Send + 'static,
    ) -> Result<ReplayedRequest, ReplayError> {
        let reports = self.reports.0.clone();
        let request = replayed_own(name, move |report| {
            reported();
            drop(reports.send(report));
        });
        request.ok_or_else(|| ReplayError::Differs {
            line,
            how: format!("a request {name} without a client"),
        })
    }

    fn taken(
        &mut self,
        at: (InputPlace, Picoseconds),
        taken: Taken,
        line: u64,
    ) -> Result<(), ReplayError> {
        let at = Some(at);
        let id = |client, ticket| TicketId {
            client: ClientId(client),
            ticket,
        };
        let input = match taken {
            Taken::Begin(client, ticket, name) => {
                let waiting = self.pending.get_mut(&client);
                let request = match waiting.and_then(VecDeque::pop_front) {
                    Some((Some(other), _)) if other != ticket => {
                        let how =
                            format!("client {client} sent request {other}, and {ticket} was taken");
                        return Err(ReplayError::Differs { line, how });
                    }
                    Some((_, request)) => request,
                    None => self.own(&name, line, || {})?,
                };
                self.requests += u64::from(client != 0);
                Replayed::Begin(id(client, ticket), request)
            }
            Taken::Cancel(client, ticket) => Replayed::Other(Input::Cancel(id(client, ticket))),
            Taken::Ended(client) => Replayed::Other(Input::Ended(ClientId(client))),
            Taken::Forget(client) => Replayed::Other(Input::Forget(ClientId(client))),
            Taken::Moved(id) => Replayed::Other(Input::Done(AsideWork::Moved(id))),
            Taken::Durable(id) => Replayed::Other(Input::Done(AsideWork::Durable(id))),
            Taken::Worked(id) => Replayed::Other(Input::Done(AsideWork::Worked(id))),
            Taken::Rung => Replayed::Other(Input::Rung),
            Taken::Timeout => return Ok(()),
        };
        self.send(ReplayedInput { at, input }, line)
    }

    fn send(&mut self, input: ReplayedInput, line: u64) -> Result<(), ReplayError> {
        self.sent += 1;
        let sent = self.inputs.send(input);
        sent.map_err(|_| differs(&self.shared, line))
    }

    /// Waits until the owner has taken everything that was sent.
    fn catch_up(&mut self, line: u64) -> Result<(), ReplayError> {
        let mut progress = self.shared.progress();
        while progress.asked <= self.sent && !progress.ended {
            let woken = self.shared.changed.wait(progress);
            progress = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let ended = progress.asked <= self.sent;
        drop(progress);
        match ended {
            true => Err(differs(&self.shared, line)),
            false => Ok(()),
        }
    }
}

/// Why the owner takes no more inputs.
fn differs(shared: &Shared, line: u64) -> ReplayError {
    let how = shared.progress().diverged.take();
    let how = how.unwrap_or_else(|| "the owner's thread has ended".to_owned());
    ReplayError::Differs { line, how }
}
