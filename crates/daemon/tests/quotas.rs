//! Quotas: each is refused beyond its figure, by name, and free again when what used it has ended.

mod common;

use common::{kernel, set_copy, Served};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use tombolo::{Card, Error, ErrorCode, FunctionalConfig, MapOptions, PageSize, TenantStatus, Use};
use wire::{encode, receive, send, Describe, Frame, Hello, Kind, Message, Side, Version};

/// A daemon with one tenant for all users, including the one that runs the tests.
fn served(quota: &str) -> Served {
    let text = format!("[[tenant]]\nname = 'lab'\nusers = ['*']\n{quota}\n");
    Served::within(FunctionalConfig::default(), &text)
}

/// The quota is named, with its figure.
fn assert_refused<T>(result: Result<T, Error>, told: &str) {
    let Err(error) = result else {
        panic!("more than {told}");
    };
    assert_eq!(error.code(), ErrorCode::Quota, "{error}");
    let expected = format!("the quota of tenant lab is {told} are in use");
    assert!(error.to_string().contains(&expected), "{error}");
}

/// The only tenant.
fn status(card: &Card) -> TenantStatus {
    let status = card.status().unwrap();
    assert_eq!(status.owner.tenants.len(), 1);
    status.owner.tenants[0].clone()
}

/// Until what another client had is free. Until then there may be no room for the question, either.
fn until(card: &Card, is_so: impl Fn(&TenantStatus) -> bool) {
    let tenants = || card.status().map(|status| status.owner.tenants);
    while !tenants().is_ok_and(|tenants| is_so(&tenants[0])) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

const fn some(used: u64, most: u64) -> Use {
    Use {
        used,
        most: Some(most),
    }
}

#[test]
fn slots_are_those_of_all_clients_of_a_tenant() {
    let served = served("slots = 2");
    let (card, other) = (served.open(), served.open());
    let (space, others) = (card.create_space().unwrap(), other.create_space().unwrap());
    let copy = kernel("copy");
    let first = card.load_anywhere(&copy, &space).unwrap();
    let _second = other.load_anywhere(&copy, &others).unwrap();
    assert_refused(card.load_anywhere(&copy, &space), "2 slots, and 2");
    // Another kernel in a slot that it has is no more.
    let again = card.load(first.id(), &copy, &space).unwrap();
    assert_eq!(status(&card).slots, some(2, 2));
    again.close().unwrap();
    let _third = other.load_anywhere(&copy, &others).unwrap();
    other.hang_up();
    until(&card, |status| status.slots == some(0, 2));
    let _both = [(); 2].map(|()| card.load_anywhere(&copy, &space).unwrap());
}

#[test]
fn spaces_end_with_their_quota() {
    let served = served("spaces = 2");
    let card = served.open();
    let one = card.create_space().unwrap();
    let _other = card.create_space().unwrap();
    assert_refused(card.create_space(), "2 address spaces, and 2");
    assert_eq!(status(&card).spaces, some(2, 2));
    one.close().unwrap();
    card.create_space().unwrap();
}

#[test]
fn mappings_are_files_memory_and_parts() {
    let served = served("mappings = 2");
    let path = served.file("file", &[1; 5 * 4096]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let options = MapOptions::read_only().page_size(PageSize::KIB_4);
    let mapping = space.map_file(&path, options).unwrap();
    let memory = space.alloc_untrapped(4096, PageSize::KIB_4).unwrap();
    assert_refused(space.map_file(&path, options), "2 mappings, and 2");
    let block = space.alloc_untrapped(4096, PageSize::KIB_4);
    assert_refused(block.map(drop), "2 mappings, and 2");
    // One that is cut in the middle is two.
    assert_refused(mapping.unmap_part(8192, 4096), "2 mappings, and 2");
    assert_eq!(status(&card).mappings, some(2, 2));
    drop(memory);
    let parts = mapping.unmap_part(8192, 4096).unwrap();
    assert_eq!((parts.len(), status(&card).mappings), (2, some(2, 2)));
    // The beginning of one is none.
    parts[0].unmap_part(0, 4096).unwrap();
}

#[test]
fn pages_take_no_more_card_memory_than_the_quota() {
    let served = served("spaces = 2\ncard_memory = '8MiB'");
    let bytes: Vec<u8> = (0..16 << 20).map(|n: u32| (n * 7) as u8).collect();
    let input = served.file("input", &bytes);
    let card = served.open();
    let space = card.create_space().unwrap();
    let from = space.map_file(&input, MapOptions::read_only()).unwrap();
    let output = served.path("output");
    let to = MapOptions::create(from.bytes());
    let to = space.map_file(&output, to).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &from, &to);
    slot.start().unwrap();
    let watcher = served.open();
    let mut most = 0;
    slot.wait(None, |_| {
        most = status(&watcher).card_bytes.used.max(most);
        tombolo::Continue::Yes
    })
    .unwrap();
    let used = status(&card).card_bytes;
    assert!(used.used > 0 && used.used <= 4 << 20, "{used:?}");
    assert!(most <= 4 << 20, "{most}");
    assert_eq!(used.most, Some(8 << 20));
    to.unmap().unwrap();
    assert!(std::fs::read(&output).unwrap() == bytes);
}

#[test]
fn clients_and_their_requests_are_counted() {
    let served = served("clients = 2\nrequests = 3");
    let card = served.open();
    let raw = UnixStream::connect(served.socket()).unwrap();
    let hello = Hello {
        version: Version::THIS,
        program: "test".to_owned(),
    };
    let hello = Frame::new(Kind::Hello, 0, encode(&hello).unwrap());
    send(&raw, &hello).unwrap();
    assert_eq!(receive(&raw, Side::Daemon).unwrap().kind, Kind::Welcome);
    let third = Card::open(format!("unix:{}", served.socket().display()));
    let told = third.unwrap_err().to_string();
    assert!(
        told.contains("tenant lab is 2 clients, and 2 are in use"),
        "{told}"
    );
    assert_eq!(status(&card).clients, some(2, 2));
    // The one that asks is one.
    assert_eq!(status(&card).requests, some(1, 3));
    // One that asks more than it reads has them all at last. It asks until it is gone: how much fits into the
    // socket is not known.
    let body = encode(&Message::from(Describe)).unwrap();
    let told = std::thread::scope(|scope| {
        let raw = &raw;
        let asks =
            move |ticket| send(raw, &Frame::new(Kind::Request, ticket, body.clone())).is_ok();
        scope.spawn(move || (1..).take_while(|&ticket| asks(ticket)).for_each(drop));
        let refused = loop {
            match card.describe() {
                // A question of ours may have taken the place of one that is refused for it and waits behind the
                // others: a reply that is read makes room for more.
                Ok(_) => drop(receive(raw, Side::Daemon).unwrap()),
                refused => break refused,
            }
        };
        raw.shutdown(Shutdown::Both).unwrap();
        refused
    });
    assert_refused(told, "3 requests under way, and 3");
    drop(raw);
    // What it asked is over, too.
    until(&card, |status| {
        (status.clients, status.requests) == (some(1, 2), some(1, 3))
    });
}

#[test]
fn who_is_of_no_tenant_has_no_quota() {
    let served = Served::within(
        FunctionalConfig::default(),
        "[[tenant]]\nname = 'others'\nusers = [4000000000]\nslots = 1\n",
    );
    let card = served.open();
    let space = card.create_space().unwrap();
    let _both = [(); 2].map(|()| card.load_anywhere(kernel("copy"), &space).unwrap());
    let status = card.status().unwrap();
    assert!(status.owner.tenants.is_empty() && status.owner.clients[0].tenant.is_none());
}
