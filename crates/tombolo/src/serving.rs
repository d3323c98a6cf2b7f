//! The owner's interface for a daemon: a client that sends requests as messages and receives replies as bytes.

use crate::link::Link;
use crate::rights::{ClientOrders, Orders};
use card::kernel::KernelPackage;
use error::Error;
use owner::answer::Answer;
use owner::message::{
    AnyRequest, Close, Describe, KeepApart, Load, MakeReport, MapFile, ReplyTo, ReportOf, Share,
    TakeStatus, WayBack,
};
use owner::report::Report;
pub use owner::{
    AsideWork, Input, InputPlace, Inputs, Quota, RecordInputs, ReplayInputs, Replayed,
    ReplayedInput, Tenant, TicketId,
};
use serde::Serialize;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trap::{PartSize, TrapsElsewhere, View};
use units::Picoseconds;
use wire::{
    ClientId, ErrorCode, Failure, LoadFolder, MapDescriptor, Message, ShareDescriptor,
    ShareTrapped, Status, WrittenReport,
};

/// Serializes a reply; called by the thread that sends it.
pub type Reply = Box<dyn FnOnce() -> Result<Vec<u8>, Failure> + Send>;

/// Destination of replies: called on the owner's thread, so it must not block.
pub type Replies = Arc<dyn Fn(u64, Reply) + Send + Sync>;

/// Adds the daemon's knowledge about clients to a status.
pub type Complete = Arc<dyn Fn(Status) -> Status + Send + Sync>;

/// Checks the folder of a kernel that a client wants to load; an error states the rule it breaks.
pub type MayLoad = Arc<dyn Fn(&Path) -> Result<(), String> + Send + Sync>;

/// Observes a daemon's clients, for a journal. Called by their threads, which may wait in it.
pub trait Arrivals: Send + Sync {
    /// A client has come.
    fn opened(&self, client: ClientId, tenant: Option<&Tenant>);

    /// A request of a client came: what identifies it and its files, to be recorded if it is not refused.
    fn look(&self, client: ClientId, message: &Message, descriptors: &[OwnedFd]) -> Arrival;

    /// The request goes to the owner.
    fn begins(&self, client: ClientId, ticket: u64, arrival: Arrival);

    /// The reply to the request with this [number](Arrival::number): its bytes, or the error.
    fn replied(&self, client: ClientId, number: u64, reply: Result<&[u8], &Failure>);

    /// The client ends; everything that it has written is in its files once [`closed`](Self::closed) is called.
    fn closing(&self, client: ClientId);

    /// See [`closing`](Self::closing).
    fn closed(&self, client: ClientId);
}

/// A request with its files, as a journal knows them.
#[derive(Debug)]
pub struct Arrival {
    /// Number of the request among those of its client.
    pub number: u64,
    /// The journal's record.
    pub record: Box<dyn std::any::Any + Send>,
}

/// The daemon's settings for one of its clients.
pub struct Guest {
    /// The client's process.
    pub process: u32,
    /// Destination of replies.
    pub replies: Replies,
    /// Completes a status.
    pub complete: Complete,
    /// The tenant whose quota it shares.
    pub tenant: Option<Arc<Tenant>>,
    /// Checks whether it may load a kernel.
    pub may_load: MayLoad,
    /// The journal, if there is one.
    pub arrivals: Option<Arc<dyn Arrivals>>,
}

impl std::fmt::Debug for Guest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Guest").field(&self.tenant).finish()
    }
}

/// Maximum virtual time of one request, so that no client delays the owner's replies to others for longer.
pub(crate) const MOST_SLICE: Picoseconds = Picoseconds::from_millis(1);

/// Maximum length in bytes of a file name kept for messages: a path of the system.
const MOST_LABEL: usize = 4096;

/// A client in another process, served by this process's card.
pub struct Session {
    link: Link,
    guest: Guest,
    orders: ClientOrders,
}

impl Session {
    /// A client of its own on the card behind `link`.
    pub(crate) fn new(link: &Link, guest: Guest) -> Result<Self, Error> {
        let link = link.another();
        let tenant = guest.tenant.clone();
        if let Some(arrivals) = &guest.arrivals {
            arrivals.opened(link.id(), tenant.as_deref());
        }
        link.call(KeepApart { tenant })?;
        Ok(Self {
            link,
            guest,
            orders: ClientOrders::default(),
        })
    }

    /// The client's identifier.
    pub fn client(&self) -> ClientId {
        self.link.id()
    }

    /// Begins the request of a message; its reply is sent with the ticket, immediately if the request is refused.
    pub fn begin(&self, ticket: u64, message: Message, descriptors: Vec<OwnedFd>) {
        let client = self.client();
        let arrival = self.guest.arrivals.as_ref().map(|arrivals| {
            let arrival = arrivals.look(client, &message, &descriptors);
            (arrivals.clone(), arrival)
        });
        let seen = arrival.as_ref().map(|(arrivals, arrival)| Seen {
            arrivals: arrivals.clone(),
            client,
            number: arrival.number,
        });
        let reply = |seen| ReplyPath {
            replies: self.guest.replies.clone(),
            ticket,
            seen,
        };
        match request(&self.guest, &self.orders, message, descriptors, reply(seen)) {
            Err(error) => reply(None).give::<()>(Err(error)),
            Ok(request) => {
                if let Some((arrivals, arrival)) = arrival {
                    arrivals.begins(client, ticket, arrival);
                }
                // An owner that has ended drops the request, which answers it.
                drop(self.link.begin_any(ticket, request));
            }
        }
    }

    /// Discards the reply of a request. A kernel that was waited for is stopped.
    pub fn cancel(&self, ticket: u64) {
        // If the owner has ended, there is nothing to cancel.
        let _ = self.link.cancel(ticket);
    }

    /// Ends everything of the client, and waits until it has ended.
    ///
    /// # Errors
    /// The first page that could not be written back.
    pub fn close(self) -> Result<(), Error> {
        if let Some(arrivals) = &self.guest.arrivals {
            arrivals.closing(self.client());
        }
        let closed = self.link.call(Close);
        if let Some(arrivals) = &self.guest.arrivals {
            arrivals.closed(self.client());
        }
        self.link.forget();
        self.link.end();
        match closed {
            Err(Error::Gone { .. }) => Ok(()),
            other => other,
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Session").field(&self.link.id()).finish()
    }
}

/// The kernel in a folder, if the client may load it.
fn kernel_in(guest: &Guest, folder: &Path) -> Result<KernelPackage, Error> {
    let check = |place: &Path| (guest.may_load)(place).map_err(refused);
    check(folder)?;
    let kernel = KernelPackage::open(folder)?;
    // Libraries lie next to the kernel, sources where its manifest points. Missing paths need no check.
    let places = kernel.include_directories().chain(kernel.sources());
    for place in places.filter_map(|place| place.canonicalize().ok()) {
        check(&place)?;
    }
    Ok(kernel)
}

/// The request of a message.
fn request(
    guest: &Guest,
    orders: &ClientOrders,
    message: Message,
    descriptors: Vec<OwnedFd>,
    reply: ReplyPath,
) -> Result<AnyRequest, Error> {
    let wanted = message.descriptors();
    if descriptors.len() != wanted {
        return Err(refused(format!(
            "{}: {} descriptors came along, where {wanted} belong",
            message.name(),
            descriptors.len()
        )));
    }
    let mut descriptors = descriptors.into_iter();
    let file = descriptors.next().map(File::from);
    let message = match AnyRequest::of(bounded(message), reply.clone()) {
        Ok(request) => return Ok(request),
        Err(other) => *other,
    };
    match (message, file) {
        (Message::TakeStatus(it), _) => {
            let complete = guest.complete.clone();
            let answer = move |status| complete(status);
            Ok(AnyRequest::TakeStatus(it, reply.reply_through(answer)))
        }
        (Message::FetchReport(_), _) => {
            let of = ReportOf::Client;
            let written = |report: Box<_>| {
                // A report has only strings, numbers and lists, so it always serializes.
                WrittenReport(serde_json::to_value(report).unwrap_or_default())
            };
            Ok(AnyRequest::MakeReport(
                MakeReport { of },
                reply.reply_through(written),
            ))
        }
        (Message::LoadFolder(LoadFolder { slot, space }), Some(folder)) => {
            let kernel = Box::new(kernel_in(guest, &path_of(&folder)?)?);
            let load = Load {
                slot,
                kernel,
                space,
            };
            Ok(AnyRequest::Load(load, reply.reply_to()))
        }
        (Message::MapDescriptor(it), Some(file)) => {
            let MapDescriptor {
                space,
                label,
                options,
            } = it;
            if label.len() > MOST_LABEL {
                return Err(refused(format!(
                    "the name of a file has {} bytes, and {MOST_LABEL} are possible",
                    label.len()
                )));
            }
            let map = MapFile {
                space,
                file,
                backing: None,
                label,
                options,
            };
            Ok(AnyRequest::MapFile(map, reply.reply_to()))
        }
        (Message::ShareDescriptor(it), Some(file)) => {
            let ShareDescriptor {
                space,
                address,
                bytes,
                page,
                direct,
            } = it;
            let view = View::of_another(&file, address, bytes, page)
                .map_err(|error| refused(format!("memory of the program: {error}")))?;
            let share = Share {
                space,
                view: Arc::new(view),
                direct,
                file,
                traps: None,
            };
            Ok(AnyRequest::Share(share, reply.reply_to()))
        }
        (Message::ShareTrapped(it), Some(file)) => {
            let orders = orders.by(descriptors.next(), guest.process)?;
            let share = Share {
                space: it.space,
                view: Arc::new(trapped_memory(&it, &file, &orders)?),
                direct: false,
                file,
                traps: None,
            };
            Ok(AnyRequest::Share(share, reply.reply_to()))
        }
        (other, _) => Err(Error::Internal(format!("{} is not served", other.name()))),
    }
}

/// Memory of a client that traps its own accesses.
fn trapped_memory(share: &ShareTrapped, file: &File, orders: &Arc<Orders>) -> Result<View, Error> {
    let parts = share.parts.iter().map(|part| PartSize {
        bytes: part.bytes,
        page: part.page,
    });
    let parts: Vec<PartSize> = parts.collect();
    let traps = TrapsElsewhere {
        program: orders.clone(),
        block: share.block,
        pieces: share.pieces,
    };
    let shares = |memory: &Arc<_>| orders.shares(memory);
    let view = View::trapped_elsewhere(file, share.address, &parts, traps, shares);
    view.map_err(|error| refused(format!("memory of the program: {error}")))
}

/// The error for a request that breaks a protocol rule.
fn refused(rule: String) -> Error {
    Error::Served(Failure::new(ErrorCode::Daemon, rule))
}

/// The same message, with its virtual time limited to the maximum of one request.
fn bounded(mut message: Message) -> Message {
    let slice = match &mut message {
        Message::Await(it) => &mut it.slice,
        Message::Poll(it) => &mut it.slice,
        Message::PollAny(it) => &mut it.slice,
        Message::PollStream(it) => &mut it.slice,
        Message::PollStreams(it) => &mut it.slice,
        _ => return message,
    };
    *slice = (*slice).min(MOST_SLICE);
    message
}

/// Path of a folder that a client has opened. The client sends a descriptor, not a name, so it reaches only what it
/// could open.
fn path_of(folder: &File) -> Result<PathBuf, Error> {
    let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let failed = |what| {
        let path = PathBuf::from(&link);
        move |source: io::Error| Error::File { path, what, source }
    };
    let path = std::fs::read_link(&link).map_err(failed("finding the kernel's folder"))?;
    let (there, came) = (
        path.metadata()
            .map_err(failed("looking at the kernel's folder"))?,
        folder
            .metadata()
            .map_err(failed("looking at the kernel's folder"))?,
    );
    if !came.is_dir() || (there.dev(), there.ino()) != (came.dev(), came.ino()) {
        return Err(refused(format!(
            "{}: not the folder that the client has opened: the daemon must see the same files",
            path.display()
        )));
    }
    Ok(path)
}

/// The return path of one request.
#[derive(Clone)]
struct ReplyPath {
    replies: Replies,
    ticket: u64,
    /// For the journal.
    seen: Option<Seen>,
}

/// A request that a journal knows.
#[derive(Clone)]
struct Seen {
    arrivals: Arc<dyn Arrivals>,
    client: ClientId,
    number: u64,
}

/// The same reply, which the journal sees.
fn seen(seen: Option<Seen>, reply: Result<Vec<u8>, Failure>) -> Result<Vec<u8>, Failure> {
    if let Some(seen) = seen {
        let told = reply.as_deref();
        seen.arrivals.replied(seen.client, seen.number, told);
    }
    reply
}

/// The bytes of a reply.
fn encoded<T: Serialize>(result: Result<T, Error>) -> Result<Vec<u8>, Failure> {
    let reply = result.map_err(Failure::from)?;
    wire::encode(&reply).map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))
}

impl ReplyPath {
    fn give<T: Serialize + Send + 'static>(self, result: Result<T, Error>) {
        (self.replies)(self.ticket, Box::new(move || encoded(result)));
    }

    /// For a reply that is converted before it is sent.
    fn reply_through<T, U>(self, change: impl FnOnce(T) -> U + Send + 'static) -> ReplyTo<T>
    where
        T: Send + 'static,
        U: Serialize + Send + 'static,
    {
        ReplyTo::new(Answer::call(move |result: Option<Result<T, Error>>| {
            let gone = || Err(Error::Internal("the owner's thread has ended".to_owned()));
            let result = result.unwrap_or_else(gone);
            let reply = move || seen(self.seen, encoded(result.map(change)));
            (self.replies)(self.ticket, Box::new(reply));
        }))
    }
}

impl WayBack for ReplyPath {
    fn reply_to<T: Serialize + Send + 'static>(self) -> ReplyTo<T> {
        self.reply_through(|reply: T| reply)
    }
}

/// A request of a replayed client.
///
/// # Errors
/// It is refused, as it would be by a daemon.
pub fn replayed(
    guest: &Guest,
    ticket: u64,
    message: Message,
    descriptors: Vec<OwnedFd>,
) -> Result<ReplayedRequest, Error> {
    let reply = ReplyPath {
        replies: guest.replies.clone(),
        ticket,
        seen: None,
    };
    request(guest, &ClientOrders::default(), message, descriptors, reply)
}

/// A request to the owner.
pub type ReplayedRequest = AnyRequest;

/// The first request for a replayed client.
pub fn replayed_opening(tenant: Option<Arc<Tenant>>) -> ReplayedRequest {
    AnyRequest::KeepApart(KeepApart { tenant }, ReplyTo::nobody())
}

/// The last request for a replayed client.
pub fn replayed_closing() -> ReplayedRequest {
    AnyRequest::Close(Close, ReplyTo::nobody())
}

/// A request of the daemon itself, by the name of its type; `report` receives the report. `None`: a daemon has no such
/// request.
pub fn replayed_own(
    name: &str,
    report: impl FnOnce(Result<Box<Report>, Error>) + Send + 'static,
) -> Option<ReplayedRequest> {
    let of = ReportOf::Card;
    Some(match name {
        "MakeReport" => AnyRequest::MakeReport(
            MakeReport { of },
            ReplyTo::new(Answer::call(move |result: Option<_>| {
                let gone = || Err(Error::Internal("the owner's thread has ended".to_owned()));
                report(result.unwrap_or_else(gone));
            })),
        ),
        "TakeStatus" => AnyRequest::TakeStatus(TakeStatus, ReplyTo::nobody()),
        "Describe" => AnyRequest::Describe(Describe, ReplyTo::nobody()),
        "Close" => replayed_closing(),
        _ => return None,
    })
}

/// Path of a kernel's folder that a client has opened.
///
/// # Errors
/// Not a folder, or this process does not see it there.
pub fn path_of_folder(folder: &OwnedFd) -> Result<PathBuf, Error> {
    let again = folder.try_clone().map_err(|source| Error::File {
        path: PathBuf::new(),
        what: "finding the kernel's folder",
        source,
    })?;
    path_of(&File::from(again))
}

/// Identity of the kernel in a folder ([`KernelPackage::identity`]).
///
/// # Errors
/// No kernel there.
pub fn identity_of_kernel(folder: &Path) -> Result<u64, Error> {
    Ok(KernelPackage::open(folder)?.identity()?)
}
