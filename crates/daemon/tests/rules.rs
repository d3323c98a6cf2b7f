//! The protocol rules for clients, and the treatment of a client that breaks them.

mod common;

use common::{kernel, set_copy, Served};
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use tombolo::{Card, Continue, Error, ErrorCode, MapOptions, PageSize, SlotId};
use wire::{
    decode, encode, receive, send, ByteRange, Describe, DestroySpace, Failure, Frame, Hello, Kind,
    LoadFolder, MapDescriptor, Message, ReceiveError, Side, SpaceId, Unmap, Version,
};

/// A client without the library.
struct Raw(UnixStream);

impl Raw {
    fn connect(served: &Served) -> Self {
        Self(UnixStream::connect(served.socket()).unwrap())
    }

    fn greeted(served: &Served) -> Self {
        let raw = Self::connect(served);
        raw.say(Kind::Hello, 0, &hello(Version::THIS));
        assert_eq!(raw.hear().unwrap().kind, Kind::Welcome);
        raw
    }

    fn say(&self, kind: Kind, ticket: u64, body: &impl serde::Serialize) {
        send(&self.0, &Frame::new(kind, ticket, encode(body).unwrap())).unwrap();
    }

    fn hear(&self) -> Result<Frame, ReceiveError> {
        receive(&self.0, Side::Daemon)
    }

    fn ask(&self, message: impl Into<Message>, descriptors: Vec<std::fs::File>) -> Failure {
        let mut frame = Frame::new(Kind::Request, 7, encode(&message.into()).unwrap());
        frame.descriptors = descriptors.into_iter().map(Into::into).collect();
        send(&self.0, &frame).unwrap();
        let answer = self.hear().unwrap();
        assert_eq!((answer.kind, answer.ticket), (Kind::Failure, 7));
        decode(&answer.body).unwrap()
    }

    /// The daemon ends the connection, having said nothing more.
    fn is_cut_off(&self) -> bool {
        matches!(
            self.hear(),
            Err(ReceiveError::Closed | ReceiveError::Failed(_))
        )
    }
}

fn hello(version: Version) -> Hello {
    Hello {
        version,
        program: "test\x1b[2J".to_owned(),
    }
}

fn refused(raw: &Raw) -> String {
    let answer = raw.hear().unwrap();
    assert_eq!(answer.kind, Kind::Failure);
    decode::<Failure>(&answer.body).unwrap().message
}

#[test]
fn a_program_runs_a_kernel_as_on_a_card_of_its_own() {
    let served = Served::new();
    let bytes: Vec<u8> = (0..300_000u32).map(|n| (n * 7) as u8).collect();
    let input = served.file("input", &bytes);
    let card = served.open();
    let space = card.create_space().unwrap();
    let from = space.map_file(&input, MapOptions::read_only()).unwrap();
    let to = served.path("output");
    let to_map = space
        .map_file(&to, MapOptions::create(from.bytes()))
        .unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &from, &to_map);
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    to_map.sync().unwrap();
    assert_eq!(std::fs::read(&to).unwrap(), bytes);
    let (description, _) = card.describe().unwrap();
    assert_eq!((description.slots, description.table_walks), (4, true));
    let report = card.report().unwrap();
    assert_eq!(report.runs.len(), 1);
    assert_eq!(report.paging.bytes_read, 300_000);
    assert_eq!(report.policies.len(), 1);
    // Another client's report tells nothing of it.
    let other = served.open().report().unwrap();
    assert_eq!((other.runs.len(), other.paging.bytes_read), (0, 0));
    assert!(other.policies.is_empty(), "{:?}", other.policies);
    assert!(other.statistics.requesters.iter().all(|one| one.bytes == 0));
    to_map.unmap().unwrap();
    card.close().unwrap();
    assert!(matches!(card.describe(), Err(Error::Daemon { .. })));
}

#[test]
fn a_report_tells_of_its_files_however_many_clients_there_were() {
    let served = Served::new();
    for number in 0..40 {
        let path = served.file(&format!("file-{number}"), &[1; 5000]);
        let card = served.open();
        let space = card.create_space().unwrap();
        let options = MapOptions::read_only().page_size(PageSize::KIB_4);
        space.map_file(&path, options).unwrap().unmap().unwrap();
        let policies = card.report().unwrap().policies;
        let name = path.display().to_string();
        assert!(
            policies.len() == 1 && policies[0].contains(&name),
            "{policies:?}"
        );
        card.close().unwrap();
    }
}

#[test]
fn what_a_socket_does_not_carry_is_refused_by_name() {
    let served = Served::new();
    let card = served.open();
    let space = card.create_space().unwrap();
    let refused = [
        card.participant().map(drop),
        card.home_memory().map(drop),
        card.set_network_link(0, false),
    ];
    for error in refused.map(Result::unwrap_err) {
        assert_eq!(error.code(), ErrorCode::NotCarried, "{error}");
        assert!(error.to_string().contains("open the card in this process"));
    }
    // The client goes on.
    space.close().unwrap();
}

#[test]
fn slots_are_full_at_last_and_anothers_slot_is_refused() {
    let served = Served::new();
    let (card, other) = (served.open(), served.open());
    let space = card.create_space().unwrap();
    let copy = kernel("copy");
    let slots: Vec<_> = (0..4)
        .map(|_| card.load_anywhere(&copy, &space).unwrap())
        .collect();
    let numbers: Vec<u8> = slots.iter().map(|slot| slot.id().0).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let others = other.create_space().unwrap();
    let full = other.load_anywhere(&copy, &others).unwrap_err();
    assert_eq!(full.code(), ErrorCode::NoFreeSlot, "{full}");
    let taken = other.load(SlotId(1), &copy, &others).unwrap_err();
    assert!(
        matches!(
            taken,
            Error::SlotState {
                slot: SlotId(1),
                ..
            }
        ),
        "{taken}"
    );
    slots[1].close().unwrap();
    assert_eq!(other.load_anywhere(&copy, &others).unwrap().id(), SlotId(1));
}

#[test]
fn a_descriptor_gives_no_more_than_its_own_rights() {
    let served = Served::new();
    let path = served.file("file", &[1; 8192]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let may_read = OpenOptions::new().read(true).open(&path).unwrap();
    let error = space
        .map_open_file(may_read, &path, MapOptions::read_write())
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unmappable, "{error}");
    assert!(error.to_string().contains("opened read-only"), "{error}");
    // Also beside a client that has more.
    let other = served.open();
    let theirs = other.create_space().unwrap();
    let _mapped = theirs.map_file(&path, MapOptions::read_write()).unwrap();
    let may_read = OpenOptions::new().read(true).open(&path).unwrap();
    let error = space
        .map_open_file(may_read, &path, MapOptions::read_write())
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::Unmappable, "{error}");
    let may_write = OpenOptions::new().write(true).open(&path).unwrap();
    let error = space
        .map_open_file(may_write, &path, MapOptions::read_only())
        .unwrap_err();
    assert!(
        error.to_string().contains("without the right to read"),
        "{error}"
    );
    // What is written through it would be behind the end, wherever it belongs.
    let appends = || {
        let mut how = OpenOptions::new();
        how.read(true).append(true).open(&path).unwrap()
    };
    let error = space
        .map_open_file(appends(), &path, MapOptions::read_write())
        .unwrap_err();
    assert!(error.to_string().contains("for appending"), "{error}");
    let folder = std::fs::File::open(served.folder.path()).unwrap();
    let error = space
        .map_open_file(folder, &path, MapOptions::read_only())
        .unwrap_err();
    assert!(error.to_string().contains("regular files"), "{error}");
}

#[test]
fn what_a_kernel_wrote_around_a_mapping_is_told_to_its_program() {
    let served = Served::new();
    let path = served.file("file", &[1; 8192]);
    let input = served.file("input", &[2; 8192]);
    let (card, reader) = (served.open(), served.open());
    let (space, others) = (card.create_space().unwrap(), reader.create_space().unwrap());
    let part = |options: MapOptions| options.bytes(5000);
    let to = space.map_file(&path, part(MapOptions::read_write()));
    let to = to.unwrap();
    let seen = others.map_file(&path, part(MapOptions::read_only()));
    let seen = seen.unwrap();
    let from = space.map_file(&input, MapOptions::read_only()).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    slot.set_mapping("input", &from).unwrap();
    slot.set_mapping("output", &to).unwrap();
    slot.set("bytes", 6000).unwrap();
    slot.run().unwrap();
    // It may see all of it first, and has not written.
    seen.sync().unwrap();
    seen.unmap().unwrap();
    let error = to.sync().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Outside, "{error}");
    let expected = [vec![2; 5000], vec![1; 3192]].concat();
    assert_eq!(std::fs::read(&path).unwrap(), expected);
}

#[test]
fn errors_name_a_file_as_the_program_that_mapped_it_does() {
    let served = Served::new();
    let source = served.file("source", &[7; 10_000]);
    let first = served.file("path of the first", &[0; 10_000]);
    let second = served.path("path of the second");
    std::fs::hard_link(&first, &second).unwrap();
    // Both have the same range, so the pages are those that the first one mapped.
    let others = served.open();
    let space = others.create_space().unwrap();
    let _kept = space.map_file(&first, MapOptions::read_write()).unwrap();
    let card = served.open();
    let space = card.create_space().unwrap();
    let from = space.map_file(&source, MapOptions::read_only()).unwrap();
    let to = space.map_file(&second, MapOptions::read_write()).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &from, &to);
    slot.run().unwrap();
    let short = OpenOptions::new().write(true).open(&first).unwrap();
    short.set_len(5000).unwrap();
    let by_own_name = |told: String| {
        assert!(told.contains("path of the second"), "{told}");
        assert!(!told.contains("path of the first"), "{told}");
    };
    by_own_name(to.sync().unwrap_err().to_string());
    // An access beside it: the nearest mapping is one of its own, too.
    slot.set("bytes", 4 * from.bytes()).unwrap();
    let told = slot.run().unwrap_err().to_string();
    assert!(!told.contains("path of the first"), "{told}");
    by_own_name(to.unmap().unwrap_err().to_string());
}

#[test]
fn versions_and_first_words_are_looked_at() {
    let served = Served::new();
    let raw = Raw::connect(&served);
    raw.say(Kind::Request, 1, &Message::from(Describe));
    assert!(refused(&raw).contains("says first"));
    let newer = Version {
        minor: Version::THIS.minor + 1,
        ..Version::THIS
    };
    let raw = Raw::connect(&served);
    raw.say(Kind::Hello, 0, &hello(newer));
    assert!(refused(&raw).contains("start the daemon of the newer version"));
    let raw = Raw::greeted(&served);
    raw.say(Kind::Hello, 0, &hello(Version::THIS));
    assert!(raw.is_cut_off());
    let status = served.open().status().unwrap();
    let names = status.owner.clients.iter().map(|one| one.program.as_str());
    assert!(
        names.clone().all(|name| !name.contains('\x1b')),
        "{status:?}"
    );
}

#[test]
fn malformed_messages_end_their_client_and_no_other() {
    let served = Served::new();
    let card = served.open();
    let space = card.create_space().unwrap();
    let wrong: [&dyn Fn(&Raw); 5] = [
        // No header.
        &|raw| (&raw.0).write_all(&[0xff; 64]).unwrap(),
        // A body that is too long.
        &|raw| {
            let mut header = [0; 16];
            header[..4].copy_from_slice(&(1u32 << 30).to_le_bytes());
            header[4] = Kind::Request as u8;
            (&raw.0).write_all(&header).unwrap();
        },
        // A kind that daemons send.
        &|raw| raw.say(Kind::Reply, 1, &0),
        // No JSON, and none of a request.
        &|raw| send(&raw.0, &Frame::new(Kind::Request, 1, vec![0xff; 9])).unwrap(),
        &|raw| raw.say(Kind::Request, 1, &"Fire"),
    ];
    for say in wrong {
        let raw = Raw::greeted(&served);
        say(&raw);
        assert!(raw.is_cut_off());
        card.describe().unwrap();
    }
    // Half a message, and then nothing: nobody waits for the rest.
    let raw = Raw::greeted(&served);
    (&raw.0).write_all(&[9, 0, 0, 0, 3, 0, 0, 0]).unwrap();
    card.describe().unwrap();
    drop(raw);
    space.close().unwrap();
}

#[test]
fn descriptors_that_do_not_belong_are_refused() {
    let served = Served::new();
    let card = served.open();
    let _space = card.create_space().unwrap();
    let raw = Raw::greeted(&served);
    let file = || std::fs::File::open("/proc/self/exe").unwrap();
    let failure = raw.ask(Describe, vec![file()]);
    assert!(
        failure
            .message
            .contains("1 descriptors came along, where 0"),
        "{failure}"
    );
    let map = || MapDescriptor {
        space: SpaceId(1),
        label: String::new(),
        options: MapOptions::read_only(),
    };
    let failure = raw.ask(map(), Vec::new());
    assert!(
        failure
            .message
            .contains("0 descriptors came along, where 1"),
        "{failure}"
    );
    let long = MapDescriptor {
        label: "x".repeat(5000),
        ..map()
    };
    let failure = raw.ask(long, vec![file()]);
    assert!(failure.message.contains("5000 bytes"), "{failure}");
    // A file where a folder belongs.
    let load = LoadFolder {
        slot: None,
        space: SpaceId(1),
    };
    let failure = raw.ask(load, vec![file()]);
    assert!(failure.message.contains("not the folder"), "{failure}");
}

#[test]
fn names_of_others_look_as_if_they_had_never_been() {
    let served = Served::new();
    let path = served.file("file", &[1; 4096]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let _mapping = space.map_file(&path, MapOptions::read_write()).unwrap();
    let raw = Raw::greeted(&served);
    for id in 0..64 {
        let space = SpaceId(id);
        let failure = raw.ask(DestroySpace { space }, Vec::new());
        assert_eq!(failure.code(), ErrorCode::Gone);
        let mapping = wire::MappingId(id);
        let failure = raw.ask(Unmap { mapping }, Vec::new());
        assert_eq!(failure.code(), ErrorCode::Gone);
        let range = ByteRange {
            offset: 0,
            bytes: 4096,
        };
        let failure = raw.ask(wire::UnmapPart { mapping, range }, Vec::new());
        assert_eq!(failure.code(), ErrorCode::Gone);
    }
    space.close().unwrap();
}

#[test]
fn a_client_that_does_not_read_holds_nobody_up() {
    let served = Served::new();
    let card = served.open();
    let raw = Raw::greeted(&served);
    raw.0.set_nonblocking(true).unwrap();
    let body = encode(&Message::from(Describe)).unwrap();
    let mut sent = 0;
    // Until the daemon reads no more of it.
    for ticket in 1..100_000 {
        match send(&raw.0, &Frame::new(Kind::Request, ticket, body.clone())) {
            Ok(()) => sent += 1,
            Err(_) => break,
        }
    }
    assert!((256..99_999).contains(&sent), "{sent} requests were taken");
    let status = card.status().unwrap();
    let most = status.owner.clients.iter().map(|one| one.requests).max();
    assert!(most.unwrap() <= 256, "{status:?}");
    card.create_space().unwrap().close().unwrap();
}

#[test]
fn a_socket_in_use_or_of_something_else_is_kept() {
    let served = Served::new();
    let card = || Card::functional(tombolo::FunctionalCard::new(Default::default())).unwrap();
    let listen = |path: &std::path::Path| tombolo_daemon::Daemon::listen(card(), path);
    let taken = listen(&served.socket()).unwrap_err().to_string();
    assert!(taken.contains("listens there already"), "{taken}");
    let file = served.file("text", b"text");
    let other = listen(&file).unwrap_err().to_string();
    assert!(other.contains("no socket"), "{other}");
    // What a daemon left that was killed is taken over.
    let left = served.path("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    listen(&left).unwrap().stop();
    assert!(!left.exists());
    let nobody = Card::open(format!("unix:{}", left.display())).unwrap_err();
    assert_eq!(nobody.code(), ErrorCode::Daemon);
    assert!(nobody.to_string().contains("tombolo daemon"), "{nobody}");
}

#[test]
fn clients_of_a_daemon_that_stops_are_told() {
    let mut served = Served::new();
    let path = served.file("file", &[1; 4096]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let mapping = space.map_file(&path, MapOptions::read_write()).unwrap();
    served.daemon.take().unwrap().stop();
    let error = mapping.sync().unwrap_err();
    assert_eq!(error.code(), ErrorCode::Daemon, "{error}");
    assert!(error.to_string().contains("the daemon is gone"), "{error}");
    let mut nothing = Vec::new();
    let raw = UnixStream::connect(served.socket()).map(|mut raw| raw.read_to_end(&mut nothing));
    assert!(raw.is_err());
}
