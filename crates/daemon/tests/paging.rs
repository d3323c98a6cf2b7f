//! Paging by client, in the status: each client's counts are those of its own kernels, whatever others do meanwhile.

mod common;

use common::{kernel, set_copy, with_copy, Served};
use std::sync::atomic::{AtomicU8, Ordering};
use tombolo::report::PagingReport;
use tombolo::{
    Advice, Card, ClientPaging, FunctionalCard, FunctionalConfig, MapOptions, PageSize, Priority,
};

const PAGE: u64 = 4096;

/// The paging of each client, in the order of connection.
fn counts(card: &Card) -> Vec<ClientPaging> {
    let clients = card.status().unwrap().owner.clients;
    clients.iter().map(|one| one.paging.unwrap()).collect()
}

/// Copies a file of this number of pages in a space that ends thereafter.
fn copy(served: &Served, card: &Card, name: &str, pages: u64) {
    copy_with(served, card, name, pages, |options| options);
}

fn copy_with(
    served: &Served,
    card: &Card,
    name: &str,
    pages: u64,
    with: impl Fn(MapOptions) -> MapOptions,
) {
    let bytes: Vec<u8> = (0..pages * PAGE).map(|n| (n * 7 + pages) as u8).collect();
    let input = served.file(name, &bytes);
    let output = served.path(&format!("{name}.copy"));
    let space = card.create_space().unwrap();
    // Random: without read-ahead each page faults, and without cleaning ahead of its end it is written once.
    let alone =
        |options: MapOptions| with(options.page_size(PageSize::KIB_4).advice(Advice::RANDOM));
    let options = alone(MapOptions::read_only());
    let from = space.map_file(&input, options).unwrap();
    let options = alone(MapOptions::create(from.bytes()));
    let to = space.map_file(&output, options).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &from, &to);
    slot.run().unwrap();
    to.unmap().unwrap();
    space.close().unwrap();
    assert!(std::fs::read(&output).unwrap() == bytes);
}

#[test]
fn bytes_and_faults_are_those_of_each_client() {
    let served = Served::with(FunctionalConfig::default());
    let (one, other, idle) = (served.open(), served.open(), served.open());
    // A status counts as a greeting: all are in the table.
    for card in [&one, &other, &idle] {
        card.status().unwrap();
    }
    assert_eq!(counts(&idle), [ClientPaging::default(); 3]);
    std::thread::scope(|scope| {
        scope.spawn(|| copy(&served, &one, "one", 40));
        scope.spawn(|| copy(&served, &other, "other", 9));
    });
    // A fault for each page of both files.
    let copied = |pages: u64| ClientPaging {
        faults: 2 * pages,
        bytes_read: pages * PAGE,
        bytes_written: pages * PAGE,
    };
    assert_eq!(counts(&idle), [copied(40), copied(9), copied(0)]);
    // The number of an ended space is reused, and its counts begin anew; the client's do not.
    copy(&served, &other, "other", 5);
    assert_eq!(counts(&one), [copied(40), copied(14), copied(0)]);
    // What has gone is not counted for anyone.
    drop(other);
    while counts(&idle).len() > 2 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(counts(&idle), [copied(40), copied(0)]);
}

/// The paging of a client that copies between files and between memory, files in host memory among them, and whose spaces
/// have ended.
fn worked(served: &Served, card: &Card) -> PagingReport {
    copy(served, card, "paged", 12);
    copy_with(served, card, "direct", 7, MapOptions::direct);
    let (space, slot) = with_copy(card);
    let [mut from, mut to] = [(); 2].map(|()| space.alloc(50_000).unwrap());
    for place in &from.slice::<AtomicU8>()[..50_000] {
        place.store(5, Ordering::Relaxed);
    }
    slot.set_pointer("input", from.address()).unwrap();
    slot.set_pointer("output", to.address()).unwrap();
    slot.set("bytes", 50_000).unwrap();
    slot.set_schedule(Priority::High.into()).unwrap();
    slot.run().unwrap();
    let copied = &to.slice::<AtomicU8>()[..50_000];
    assert!(copied
        .iter()
        .all(|place| place.load(Ordering::Relaxed) == 5));
    let report = card.report().unwrap();
    let high = report
        .shares
        .iter()
        .filter(|share| share.schedule == Priority::High.into());
    assert_eq!(high.count(), 1);
    slot.close().unwrap();
    from.free().unwrap();
    to.free().unwrap();
    space.close().unwrap();
    let mut paging = card.report().unwrap().paging;
    // Of the card's service as a whole.
    paging.sharing.free_threads = 0;
    paging.ping_pong.clear();
    paging
}

#[test]
fn a_report_is_that_of_the_same_program_in_one_process() {
    let config = FunctionalConfig {
        host_channel: true,
        ..FunctionalConfig::default()
    };
    let own = Card::functional(FunctionalCard::new(config.clone())).unwrap();
    let served = Served::with(config);
    let in_one = worked(&served, &own);
    assert!(in_one.direct.pages > 0 && in_one.sharing.traps > 0 && in_one.pages_read > 0);
    let (client, other) = (served.open(), served.open());
    copy(&served, &other, "other", 3);
    assert_eq!(worked(&served, &client), in_one);
}
