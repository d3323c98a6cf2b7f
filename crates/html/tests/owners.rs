//! Does the page show who had which page of shared memory when, and whose lines waited for it?

use html::Page;
use timeline::Value;
use tombolo::report::{PingPong, TrapPlace};
use tombolo::{Card, FunctionalCard, FunctionalConfig, Picoseconds, Timeline};

const BLOCK: u64 = 0x2000_0000_0000;
const US: fn(u64) -> Picoseconds = Picoseconds::from_micros;

fn report() -> tombolo::Report {
    let card = FunctionalCard::new(FunctionalConfig::default());
    let mut report = Card::functional(card).unwrap().report().unwrap();
    report.card.clock_period = Picoseconds::from_nanos(4);
    report.time = US(240);
    report
}

/// A timeline with its track of shared memory, as the owner of a card writes it.
struct Track(Timeline);

impl Track {
    fn new() -> Self {
        Self(Timeline::recorder())
    }

    fn say(&self, what: &str, at: u64, address: u64, bytes: u64) {
        let host = self.0.group("host", None);
        let memory = self.0.lanes("shared memory", Some(host));
        let mut values = vec![("address", Value::Address(address))];
        values.extend((bytes > 0).then_some(("bytes", bytes.into())));
        self.0.instant(memory, what, US(at), &values);
    }

    fn page(&self, report: &tombolo::Report) -> String {
        let record = self.0.record();
        Page::new(report).record(record.as_ref()).to_string()
    }
}

/// The value of an attribute of the first picture.
fn attribute<'a>(page: &'a str, name: &str) -> &'a str {
    let picture = page.split_once("<svg class=owners").unwrap().1;
    let rest = picture.split_once(&format!("{name}=")).unwrap().1;
    rest.split([' ', '>']).next().unwrap()
}

#[test]
fn owners_are_shown_by_page_and_time() {
    let track = Track::new();
    // The first page is read by the card and then its alone; the program waits, and has it again.
    track.say("shared", 20, BLOCK, 4096);
    track.say("the card's", 60, BLOCK, 4096);
    track.say("write waits", 99, BLOCK + 64, 0);
    track.say("the program's", 100, BLOCK, 4096);
    // The third goes to and fro within one stretch, and stays with the card.
    for at in [150, 150, 150] {
        track.say("the program's", at, BLOCK + 8192, 4096);
        track.say("the card's", at, BLOCK + 8192, 4096);
    }
    let page = track.page(&report());
    let cells = attribute(&page, "data-cells").as_bytes();
    assert_eq!(cells.len(), 3 * 240);
    let (first, second, third) = (&cells[..240], &cells[240..480], &cells[480..]);
    let stretches = [
        (0..20, b'p'),
        (20..60, b's'),
        (60..100, b'c'),
        (100..240, b'p'),
    ];
    for (columns, letter) in stretches {
        assert!(first[columns].iter().all(|cell| *cell == letter));
    }
    assert!(second.iter().all(|cell| *cell == b'p'));
    assert_eq!((third[149], third[150], third[151]), (b'p', b't', b'c'));
    assert_eq!(attribute(&page, "data-address"), BLOCK.to_string());
    assert_eq!(attribute(&page, "data-row"), "4096");
    // The rectangle of the card's time, and the wait.
    assert!(page.contains("<path class=whose-card d=\"M60 0h40v1h-40z"));
    assert!(page.contains("<path class=whose-waited d=\"M99.3 0.2h.5v.6h-.5z\"/>"));
}

#[test]
fn blocks_are_apart_and_lines_are_named() {
    let track = Track::new();
    track.say("the card's", 1, BLOCK, 2 << 20);
    track.say("the card's", 2, BLOCK + (1 << 30), 4096);
    let mut report = report();
    report.paging.sharing.traps = 5;
    report.paging.ping_pong = vec![PingPong {
        address: BLOCK,
        bytes: 2 << 20,
        page: 2 << 20,
        traps: 5,
        pages: 1,
        worst_offset: 0,
        worst_traps: 5,
        places: vec![TrapPlace {
            place: "/home/me/<list>.c:31".to_owned(),
            traps: 4,
        }],
    }];
    let page = track.page(&report);
    assert_eq!(page.matches("<svg class=owners").count(), 2);
    assert!(page.contains("/home/me/&lt;list&gt;.c:31: 4"));
    // Without a record the table is there, and no picture.
    let bare = Page::new(&report).to_string();
    assert!(bare.contains("31: 4") && !bare.contains("<svg class=owners"));
}

#[test]
fn a_run_without_shared_memory_says_nothing_of_it() {
    let page = Track::new().page(&report());
    assert!(!page.contains("id=shared"));
}

#[test]
fn very_many_changes_make_no_large_page() {
    let track = Track::new();
    for number in 0..300_000u64 {
        let name = ["the card's", "the program's", "shared"][(number % 3) as usize];
        let address = BLOCK + ((number % 20) << 30) + (number * 7919 % 1024) * 4096;
        track.say(name, number % 240, address, 4096);
    }
    let page = track.page(&report());
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    assert!(page.contains("and 14 more blocks"));
}
