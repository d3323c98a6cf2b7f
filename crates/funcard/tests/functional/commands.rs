//! Commands: what they do, in which order, and which are refused.

use crate::bench::{asid, at, card_at, config, entry, Bench, CHANNEL_BYTES, HOST_BYTES};
use card::command::{Command, QueueId};
use card::event::Event;
use card::{Card, CardError, HostWork, Simulation};
use proptest::prelude::*;
use units::{
    Asid, CommandId, CommandStatus, FaultToken, HostAddr, Operation, PageSize, Picoseconds,
    ServiceEvents, Stripe, TableGeometry, VirtAddr,
};

fn copy_in(from: HostAddr, to: u64, bytes: u64) -> Operation {
    Operation::CopyIn {
        from,
        to: card_at(to),
        bytes,
        stripe: Stripe::NONE,
    }
}

#[test]
fn malformed_copies_are_refused() {
    let mut bench = Bench::new(config(None));
    let host = bench.host_at;
    let end = 2 * CHANNEL_BYTES;
    for (offset, to, bytes) in [
        (0, 0x10000, 0),
        (0, 0x10000, 63),
        (0, 0x10000, (1 << 30) + 64),
        (0, 0x10000, !63),
        (8, 0x10000, 64),
        (0, 0x10020, 64),
        (0, end, 64),
        (0, end - 64, 128),
    ] {
        let operation = copy_in(host.offset(offset), to, bytes);
        assert_eq!(
            bench.status(operation),
            CommandStatus::Refused,
            "{operation:?}"
        );
    }
    let zero = Operation::Zero {
        to: card_at(32),
        bytes: 64,
        stripe: Stripe::NONE,
    };
    assert_eq!(bench.status(zero), CommandStatus::Refused);
}

#[test]
fn memory_that_is_not_there_is_a_bus_error() {
    let mut bench = Bench::new(funcard::FunctionalConfig {
        channel_bytes: 1 << 16,
        ..config(None)
    });
    let host = bench.host_at;
    let bus_error = CommandStatus::BusError;
    assert_eq!(bench.status(copy_in(host, 1 << 16, 64)), bus_error);
    assert_eq!(bench.status(copy_in(HostAddr::new(0), 0, 64)), bus_error);
    assert_eq!(
        bench.status(copy_in(host.offset(HOST_BYTES as u64), 0, 64)),
        bus_error
    );
    bench.card.unmap_host(host).unwrap();
    assert_eq!(bench.status(copy_in(host, 0, 64)), bus_error);
}

#[test]
fn hostile_table_commands_are_refused() {
    let mut bench = Bench::new(config(None));
    let page = entry(100, PageSize::KIB_4);
    let install = |asid: u8, address: u64, entry| Operation::Install {
        asid: Asid::new(asid).unwrap(),
        address: VirtAddr::new(address).unwrap(),
        entry,
    };
    let mut status = |operation| bench.status(operation);
    assert_eq!(status(install(1, 0x5000, page)), CommandStatus::Ok);
    assert_eq!(
        status(install(0, 0x5000, page)),
        CommandStatus::Refused,
        "space not enabled"
    );
    assert_eq!(
        status(install(15, 0x5000, page)),
        CommandStatus::Refused,
        "no such space"
    );
    assert_eq!(
        status(install(1, 0x5040, page)),
        CommandStatus::Refused,
        "misaligned"
    );
    let unused = entry(512, PageSize::MIB_2);
    assert_eq!(
        status(install(1, 0, unused)),
        CommandStatus::Refused,
        "size class not in use"
    );
    let absent = Operation::Protect {
        asid: asid(),
        address: at(0x6000),
        size: PageSize::KIB_4,
    };
    assert_eq!(status(absent), CommandStatus::Absent);
    let other_size = Operation::Invalidate {
        asid: asid(),
        address: at(0x4000),
        size: PageSize::from_class(2).unwrap(),
    };
    assert_eq!(status(other_size), CommandStatus::Absent);
    for (requester, index) in [(8, 0), (255, 0), (0, 64)] {
        let token = FaultToken { requester, index };
        let reply = Operation::FaultReply { token, entry: None };
        assert_eq!(status(reply), CommandStatus::Refused, "{token:?}");
    }
}

#[test]
fn a_set_holds_eight_pages() {
    let mut bench = Bench::new(config(None));
    // Nine pages of one set; because of the fold, their numbers differ in more than the tag.
    let table = TableGeometry::new(card_at(0), 10).unwrap();
    let size = PageSize::KIB_4;
    let page = |tag| table.page(77, tag, size).base();
    for tag in 0..8 {
        assert_eq!(
            bench.install(page(tag).get(), entry(70, size)),
            CommandStatus::Ok
        );
    }
    assert_eq!(
        bench.install(page(8).get(), entry(70, size)),
        CommandStatus::SetFull
    );
    assert_eq!(
        bench.install(page(3).get(), entry(71, size)),
        CommandStatus::Ok,
        "replaced"
    );
    assert_eq!(bench.invalidate(page(5).get(), size).0, CommandStatus::Ok);
    assert_eq!(
        bench.install(page(8).get(), entry(70, size)),
        CommandStatus::Ok
    );
}

#[test]
fn the_table_is_in_card_memory_in_the_format_of_the_shell() {
    let mut bench = Bench::new(config(None));
    let size = PageSize::KIB_4;
    bench.install(0x1234_5000, entry(0x5a, size));
    // n = 0x12345, S = 10: set = (n ^ n >> 10) mod 1024, tag = n >> 10.
    let set = (0x12345 ^ (0x12345 >> 10)) & 0x3ff;
    let row = bench.get(card_at(64 * set), 64);
    let word = u64::from_le_bytes(row[..8].try_into().unwrap());
    let expected = (0x12345u64 >> 10) << 38 | 0x5a << 13 | 1 << 5 | 0b111;
    assert_eq!(word, expected);
}

#[test]
fn a_table_grows_and_keeps_its_entries() {
    let mut bench = Bench::new(config(None));
    let size = PageSize::KIB_4;
    let pages: Vec<u64> = (0..300u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 28 << 12)
        .collect();
    for (number, &page) in pages.iter().enumerate() {
        let done = bench.install(page, entry(number as u32, size));
        assert_eq!(done, CommandStatus::Ok);
    }
    let grow = |base: u64, sets_log2| Operation::Grow {
        asid: asid(),
        table: TableGeometry::new(card_at(base), sets_log2).unwrap(),
    };
    assert_eq!(
        bench.status(grow(1 << 18, 12)),
        CommandStatus::Refused,
        "four times the size"
    );
    let outside = grow(4 * CHANNEL_BYTES, 11);
    assert_eq!(
        bench.status(outside),
        CommandStatus::Refused,
        "outside of card memory"
    );
    for (sets_log2, from, to) in [(11, 0, 1 << 19), (12, 1 << 19, 1 << 20)] {
        assert_eq!(bench.status(grow(to, sets_log2)), CommandStatus::Ok);
        // The old table is free.
        bench.put(card_at(from), &vec![0xff; 32 << sets_log2]);
    }
    for &page in &pages {
        assert_eq!(
            bench.invalidate(page, size).0,
            CommandStatus::Ok,
            "{page:x}"
        );
    }
}

#[test]
fn a_fence_waits_and_silence_is_kept() {
    for seed in 0..50 {
        let mut bench = Bench::new(config(Some(seed)));
        let host = bench.host_at;
        bench.host.write(0, &[7; 4096]).unwrap();
        bench.submit(copy_in(host, 0x10000, 1 << 19), false, false);
        let out = Operation::CopyOut {
            from: card_at(0x10000),
            to: host.offset(1 << 19),
            bytes: 4096,
            stripe: Stripe::NONE,
        };
        let id = bench.submit(out, true, true);
        let mut events = Vec::new();
        while events.is_empty() {
            events = bench.card.wait(None).unwrap();
        }
        assert!(matches!(events[..], [Event::Completed { id: done, .. }] if done == id));
        let mut back = [0; 4096];
        bench.host.read(1 << 19, &mut back).unwrap();
        assert_eq!(back, [7; 4096]);
    }
}

#[test]
fn seeds_reorder_copies_and_repeat_themselves() {
    let order = |seed| {
        let mut bench = Bench::new(config(seed));
        let host = bench.host_at;
        for i in 0..4 {
            bench.submit(copy_in(host, 0x10000 * (i + 1), 1 << 16), false, true);
        }
        let mut order = Vec::new();
        while order.len() < 4 {
            order.extend(bench.card.wait(None).unwrap());
        }
        let ids = order.iter().map(|event| match event {
            Event::Completed { id, .. } => id.0,
            other => panic!("{other:?}"),
        });
        ids.collect::<Vec<_>>()
    };
    assert_eq!(order(None), [0, 1, 2, 3]);
    assert!((0..20).any(|seed| order(Some(seed)) != [0, 1, 2, 3]));
    assert!((0..20).all(|seed| order(Some(seed)) == order(Some(seed))));
}

#[test]
fn the_queue_has_an_end() {
    let mut bench = Bench::new(funcard::FunctionalConfig {
        queue: 2,
        ..config(None)
    });
    let nop = |id| Command {
        id: CommandId(id),
        operation: Operation::Nop,
        fence: false,
        notify: true,
        ..Command::default()
    };
    bench.card.submit(nop(0)).unwrap();
    assert_eq!(bench.card.queue_room(QueueId(0)), 1);
    bench.card.submit(nop(1)).unwrap();
    assert!(matches!(
        bench.card.submit(nop(2)),
        Err(CardError::QueueFull { limit: 2 })
    ));
    assert_eq!(bench.card.wait(None).unwrap().len(), 1);
    bench.card.submit(nop(2)).unwrap();
}

#[test]
fn waiting_ends_at_the_deadline_or_is_refused() {
    let mut bench = Bench::new(config(None));
    assert!(bench.card.is_quiescent());
    assert!(matches!(
        bench.card.wait(None),
        Err(CardError::NothingToWaitFor)
    ));
    let deadline = Picoseconds::from_millis(3);
    assert!(bench.card.wait(Some(deadline)).unwrap().is_empty());
    assert_eq!(bench.card.now(), deadline);
    let work = bench
        .card
        .host_work(HostWork::ServeEvents(ServiceEvents::faults(1)));
    assert!(!bench.card.is_quiescent());
    assert_eq!(bench.card.wait(None).unwrap(), [Event::HostWorkDone(work)]);
    assert!(bench.card.now() > deadline);
}

#[derive(Clone, Copy, Debug)]
enum Move {
    In,
    Out,
    Zero,
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Fenced copies of random rows against a plain array of bytes.
    #[test]
    fn copies_move_the_right_bytes(
        seed in any::<Option<u64>>(),
        moves in proptest::collection::vec(
            (
                prop_oneof![Just(Move::In), Just(Move::Out), Just(Move::Zero)],
                0u64..2000,
                0u64..2000,
                1u64..300,
            ),
            1..30,
        ),
    ) {
        let mut bench = Bench::new(config(seed));
        // Card rows 0..2400 stand around the border between the channels.
        let base = CHANNEL_BYTES - 64 * 1200;
        let mut card = vec![0u8; 64 * 2400];
        let mut host: Vec<u8> = (0..HOST_BYTES).map(|i| (i * 7 + i / 251) as u8).collect();
        bench.host.write(0, &host).unwrap();
        for (kind, card_row, host_row, rows) in moves {
            let (c, h, n) = (64 * card_row as usize, 64 * host_row as usize, 64 * rows as usize);
            let (card_addr, host_addr) = (card_at(base + c as u64), bench.host_at.offset(h as u64));
            let bytes = n as u64;
            let operation = match kind {
                Move::In => {
                    card[c..c + n].copy_from_slice(&host[h..h + n]);
                    Operation::CopyIn { from: host_addr, to: card_addr, bytes, stripe: Stripe::NONE }
                }
                Move::Out => {
                    host[h..h + n].copy_from_slice(&card[c..c + n]);
                    Operation::CopyOut { from: card_addr, to: host_addr, bytes, stripe: Stripe::NONE }
                }
                Move::Zero => {
                    card[c..c + n].fill(0);
                    Operation::Zero { to: card_addr, bytes, stripe: Stripe::NONE }
                }
            };
            bench.submit(operation, true, false);
        }
        let nop = bench.submit(Operation::Nop, true, true);
        let events = bench.card.wait(None).unwrap();
        let only_nop = matches!(events[..], [Event::Completed { id, .. }] if id == nop);
        prop_assert!(only_nop);
        let mut back = vec![0; HOST_BYTES];
        bench.host.read(0, &mut back).unwrap();
        prop_assert!(back == host);
        prop_assert!(bench.get(card_at(base), card.len()) == card);
    }
}

#[test]
fn striped_copies_lie_where_the_contract_says() {
    for granule in [64, 4 << 10, 4 << 20] {
        let stripe = Stripe::new(granule, 2).unwrap();
        let mut bench = Bench::new(config(None));
        let bytes: Vec<u8> = (0..20_480u32).map(|i| (i >> 6) as u8 ^ i as u8).collect();
        let start = card_at(0x3_0fc0);
        bench.set_stripe(stripe);
        bench.put(start, &bytes);
        assert!(bench.get(start, bytes.len()) == bytes);
        bench.set_stripe(Stripe::NONE);
        for (place, range) in stripe.pieces(start, bytes.len() as u64, 22) {
            let range = range.start as usize..range.end as usize;
            assert!(
                bench.get(place, range.len()) == bytes[range],
                "{stripe}, {place}"
            );
        }
    }
}

#[test]
fn stripes_over_channels_that_are_not_there_are_refused() {
    let mut bench = Bench::new(config(None));
    bench.stripe = Stripe::new(4096, 4).unwrap();
    let stripe = bench.stripe;
    assert!(bench.stripe_space(stripe).is_err());
    let zero = Operation::Zero {
        to: card_at(0),
        bytes: 4096,
        stripe: Stripe::NONE,
    };
    assert_eq!(bench.status(zero), CommandStatus::Refused);
}

/// A fence waits for its own queue and for no other.
#[test]
fn queues_are_independent() {
    let in_queue = |queue, id, operation, fence| Command {
        id: CommandId(id),
        queue: QueueId(queue),
        operation,
        fence,
        notify: true,
    };
    let order = |seed| {
        let mut bench = Bench::new(config(Some(seed)));
        let from = bench.host_at;
        let commands = [
            in_queue(0, 0, copy_in(from, 0x10_0000, 1 << 20), false),
            in_queue(0, 1, Operation::Nop, true),
            in_queue(1, 2, copy_in(from, 0x30_0000, 64), false),
            in_queue(1, 3, Operation::Nop, true),
        ];
        for command in commands {
            bench.card.submit(command).unwrap();
        }
        let mut order = Vec::new();
        while order.len() < 4 {
            for event in bench.card.wait(None).unwrap() {
                if let Event::Completed { id, .. } = event {
                    order.push(id.0);
                }
            }
        }
        order
    };
    let place = |order: &[u32], id| order.iter().position(|&done| done == id).unwrap();
    let mut overtaken = 0;
    for seed in 0..20 {
        let order = order(seed);
        assert!(place(&order, 0) < place(&order, 1), "{order:?}");
        assert!(place(&order, 2) < place(&order, 3), "{order:?}");
        overtaken += u32::from(place(&order, 3) < place(&order, 0));
    }
    assert!(overtaken > 0);
    let mut bench = Bench::new(config(None));
    let nowhere = in_queue(2, 0, Operation::Nop, false);
    assert!(matches!(
        bench.card.submit(nowhere),
        Err(CardError::NoSuchQueue { queues: 2, .. })
    ));
}
