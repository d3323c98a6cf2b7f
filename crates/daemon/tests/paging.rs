//! Paging by client, in the status: each client's counts are those of its own kernels, whatever others do meanwhile.

mod common;

use common::{kernel, set_copy, Served};
use tombolo::{Advice, Card, ClientPaging, FunctionalConfig, MapOptions, PageSize};

const PAGE: u64 = 4096;

/// The paging of each client, in the order of connection.
fn counts(card: &Card) -> Vec<ClientPaging> {
    let clients = card.status().unwrap().owner.clients;
    clients.iter().map(|one| one.paging.unwrap()).collect()
}

/// Copies a file of this number of pages in a space that ends thereafter.
fn copy(served: &Served, card: &Card, name: &str, pages: u64) {
    let bytes: Vec<u8> = (0..pages * PAGE).map(|n| (n * 7 + pages) as u8).collect();
    let input = served.file(name, &bytes);
    let output = served.path(&format!("{name}.copy"));
    let space = card.create_space().unwrap();
    // Random: without read-ahead each page faults, and without cleaning ahead of its end it is written once.
    let alone = |options: MapOptions| options.page_size(PageSize::KIB_4).advice(Advice::RANDOM);
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
