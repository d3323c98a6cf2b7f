//! Is the page of any run small, and are names nothing but text?

use html::{MappingName, Page, SlotName};
use tombolo::report::RunReport;
use tombolo::{Card, FunctionalCard, FunctionalConfig, PageSize, Picoseconds, Timeline, VirtAddr};

const HOSTILE: &str = "<script>alert(1)</script>";

#[test]
fn the_page_of_a_long_run_on_a_large_card_is_small() {
    let (slots, ports, channels) = (16, 4, 4);
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        slots,
        ports_per_slot: ports,
        channels,
        ..FunctionalConfig::default()
    }))
    .unwrap();
    let mut report = card.report().unwrap();
    let ns = Picoseconds::from_nanos;
    report.card.clock_period = ns(4);
    report.time = ns(40_000_000);
    report.statistics.cycles = 10_000_000;
    report.paging.faults = 300_000;
    for requester in &mut report.statistics.requesters {
        (requester.bursts, requester.rows) = (u64::MAX / 1000, 5_000_000);
    }
    report.runs = (0..5000)
        .map(|run| RunReport {
            kernel: HOSTILE.to_owned(),
            slot: (run % 16) as u8,
            time: ns(100),
            cycles: 25,
        })
        .collect();
    report.notes = vec![HOSTILE.to_owned()];

    let timeline = Timeline::recorder();
    for number in 0..150_000u64 {
        let slot = timeline.group(&format!("slot {}", number % 16), None);
        let way = ["reads", "writes"][(number / 16 % 2) as usize];
        let port = timeline.lanes(&format!("port {} {way}", number / 32 % 4), Some(slot));
        let space = timeline.group(&format!("space {}", number % 16), None);
        let faults = timeline.lanes("faults", Some(space));
        let address = ((number % 40) << 34) | ((number * 7919 % 400_009) * 4096);
        let values = [("address", timeline_value(address)), ("bytes", 4096.into())];
        let (from, to) = (ns(number * 100), ns(number * 100 + number % 90));
        timeline.slice(port, "read", from, to, &values);
        timeline.slice(
            faults,
            ["read fault", "write fault"][(number % 2) as usize],
            from,
            to,
            &values,
        );
    }
    let record = timeline.record();
    let slots: Vec<SlotName> = (0..slots)
        .map(|slot| SlotName {
            slot,
            kernel: HOSTILE.to_owned(),
            space: slot,
            ports: vec![HOSTILE.to_owned(); usize::from(ports)],
            streams: Vec::new(),
        })
        .collect();
    let mappings: Vec<MappingName> = (0..5000)
        .map(|number| MappingName {
            name: HOSTILE.to_owned(),
            what: HOSTILE.to_owned(),
            space: (number % 16) as u8,
            address: VirtAddr::new(number << 34).unwrap_or_default(),
            bytes: 1 << 34,
            page_size: Some(PageSize::MIB_2),
            write: number % 2 == 0,
        })
        .collect();
    let page = Page::new(&report)
        .record(record.as_ref())
        .slots(&slots)
        .mappings(&mappings)
        .trace(Some(HOSTILE))
        .failure(Some(HOSTILE));
    let text = page.to_string();
    assert!(text.len() < 2 << 20, "{} bytes", text.len());
    assert!(!text.contains("<script>alert"));
    assert!(text.contains("&lt;script&gt;alert(1)"));
    assert!(text.contains("and 4\u{202f}784 more"));

    // Without a record, and without anything at all.
    let bare = Page::new(&report).mappings(&mappings).to_string();
    assert!(bare.contains("Nothing was recorded over time"));
    report.runs.clear();
    assert!(Page::new(&report).to_string().contains("nothing ran on"));
}

fn timeline_value(address: u64) -> timeline::Value {
    timeline::Value::Address(address)
}
