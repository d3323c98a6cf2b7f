//! The real shell on the simulated card fulfils the `Card` contract.

mod sim;

use card::command::{Command, QueueId};
use card::event::Event;
use card::registers::{self, KERNEL, READ_OWNER_CHANGES, WRITE_OWNER_CHANGES};
use card::{Card, CardError, Loader, Simulation, SlotId};
use sim::{
    card_address, kernel, open, options, pattern, run_copy, run_copy_striped, Driver, SPACE,
};
use simcard::{ShellConfig, SimOptions};
use units::{CardAddr, CommandId, CommandStatus, HostAddr, Operation, Picoseconds, Stripe};

#[test]
fn bytes_go_in_and_come_out() {
    let mut driver = Driver::new(open(options()));
    let (memory, host) = driver.map(1 << 20);
    let bytes = pattern(100 * 64);
    memory.write(0, &bytes).unwrap();
    let card = CardAddr::new(0x10_0fc0).unwrap();
    let size = bytes.len() as u64;
    let into = Operation::CopyIn {
        from: host,
        to: card,
        bytes: size,
        stripe: Stripe::NONE,
    };
    assert_eq!(driver.command(into), CommandStatus::Ok);
    let back = host.offset(0x2_0000);
    let out = Operation::CopyOut {
        from: card,
        to: back,
        bytes: size,
        stripe: Stripe::NONE,
    };
    assert_eq!(driver.command(out), CommandStatus::Ok);
    let mut seen = vec![0; bytes.len() + 64];
    memory.read(0x2_0000, &mut seen).unwrap();
    assert!(seen[..bytes.len()] == bytes);
    assert!(seen[bytes.len()..] == [0; 64], "a row too many was written");
    let statistics = driver.card.statistics().unwrap();
    assert_eq!(statistics.channels[0].rows_written, 100);
    assert_eq!(statistics.channels[0].rows_read, 100);
}

#[test]
fn the_shell_says_what_the_card_and_its_kernels_are() {
    type Change = fn(&mut card::CardDescription);
    let changes: [(&str, Change); 4] = [
        ("GEOMETRY.SLOTS", |card| card.slots += 1),
        ("CHANNEL_BYTES", |card| card.channel_bytes /= 2),
        ("CLOCK.PERIOD", |card| {
            card.clock_period = Picoseconds::new(1)
        }),
        ("L1_0", |card| card.l1_reach[0].bytes *= 2),
    ];
    for (named, change) in changes {
        let machine = simcard::Machine::open(options(), |_| {}).unwrap();
        let mut description = machine.description().clone();
        change(&mut description);
        match card::driver::Driver::start(machine, description) {
            Err(CardError::Description { register, .. }) => assert_eq!(register, named),
            other => panic!("{named}: {:?}", other.err()),
        }
    }

    // Without a kernel, a slot shows 0.
    let mut card = open(options());
    assert_eq!(identity(&mut card), 0);
    let copy = kernel("copy");
    card.loader().unwrap().load(SlotId(0), &copy).unwrap();
    assert_eq!(identity(&mut card), copy.identity().unwrap());
}

/// The identity that slot 0 shows for its kernel.
fn identity(card: &mut impl Card) -> u64 {
    let base = KERNEL.at(0);
    let mut read = |offset| u64::from(card.read_register(base + offset).unwrap());
    read(registers::kernel::IDENTITY_HI) << 32 | read(registers::kernel::IDENTITY_LO)
}

#[test]
fn memory_that_is_not_there_is_a_bus_error() {
    let mut driver = Driver::new(open(options()));
    let (_memory, host) = driver.map(4096);
    let card = CardAddr::new(0).unwrap();
    let nowhere = HostAddr::new(0x4000);
    for operation in [
        Operation::CopyIn {
            from: nowhere,
            to: card,
            bytes: 128,
            stripe: Stripe::NONE,
        },
        Operation::CopyOut {
            from: card,
            to: nowhere,
            bytes: 128,
            stripe: Stripe::NONE,
        },
        // The mapping ends within the copied range.
        Operation::CopyIn {
            from: host,
            to: card,
            bytes: 8192,
            stripe: Stripe::NONE,
        },
    ] {
        assert_eq!(
            driver.command(operation),
            CommandStatus::BusError,
            "{operation:?}"
        );
    }
    let inside = Operation::CopyIn {
        from: host,
        to: card,
        bytes: 4096,
        stripe: Stripe::NONE,
    };
    assert_eq!(driver.command(inside), CommandStatus::Ok);
    driver.card.unmap_host(host).unwrap();
    assert_eq!(driver.command(inside), CommandStatus::BusError);
}

#[test]
fn card_memory_beyond_the_limit_is_a_bus_error() {
    let mut limited = options();
    limited.channel_bytes = Some(1 << 20);
    let mut driver = Driver::new(open(limited));
    let (_memory, host) = driver.map(4096);
    let mut copy = |to: u64| {
        let to = CardAddr::new(to).unwrap();
        driver.command(Operation::CopyIn {
            from: host,
            to,
            bytes: 128,
            stripe: Stripe::NONE,
        })
    };
    assert_eq!(copy((1 << 20) - 128), CommandStatus::Ok);
    assert_eq!(copy(1 << 20), CommandStatus::BusError);
}

#[test]
fn waiting_for_nothing_is_an_error() {
    let mut card = open(options());
    assert!(matches!(card.wait(None), Err(CardError::NothingToWaitFor)));
    assert!(card.is_quiescent());
    let deadline = card.now() + units::Picoseconds::from_millis(5);
    assert!(card.wait(Some(deadline)).unwrap().is_empty());
    assert_eq!(card.now(), deadline);
}

#[test]
fn a_kernel_copies_through_its_pages() {
    let (mut driver, input, output) = run_copy(options(), 300_001);
    assert!(input == output);
    assert!(driver.events.is_empty(), "{:?}", driver.events);
    let statistics = driver.card.statistics().unwrap();
    let rows = 300_001u64.div_ceil(64);
    assert_eq!(statistics.requesters[0].rows, rows);
    assert_eq!(statistics.requesters[3].rows, rows);
    assert_eq!(
        statistics.requesters[1].rows + statistics.requesters[2].rows,
        0
    );
    assert!(statistics.evaluated_cycles < statistics.cycles);
}

/// Kernel and DMA see a striped space like any other, and its rows lie where the contract requires.
#[test]
fn striped_spaces_hold_the_same_bytes_spread_over_channels() {
    const BYTES: usize = 40_000;
    let channel_bytes_log2 = options().shell.channel_bytes_log2;
    for granule in [64, 1 << 10, 4 << 10, 32 << 10, 2 << 20] {
        let stripe = Stripe::new(granule, 2).unwrap();
        let (mut driver, input, output) = run_copy_striped(options(), BYTES, stripe);
        assert!(output == input, "{stripe}");

        driver.stripe = Stripe::NONE;
        let (memory, host) = driver.map(1 << 16);
        for (place, range) in stripe.pieces(card_address(0), BYTES as u64, channel_bytes_log2) {
            let out = Operation::CopyOut {
                from: place,
                to: host,
                bytes: (range.end - range.start).next_multiple_of(64),
                stripe: Stripe::NONE,
            };
            assert_eq!(driver.command(out), CommandStatus::Ok);
            let mut seen = vec![0; (range.end - range.start) as usize];
            memory.read(0, &mut seen).unwrap();
            assert!(
                seen == input[range.start as usize..range.end as usize],
                "{stripe}, {place}"
            );
        }
        let statistics = driver.card.statistics().unwrap();
        // The table was zeroed on channel 0.
        let table = [(64 << 10) / 64, 0];
        let written = |channel: usize| statistics.channels[channel].rows_written - table[channel];
        if granule <= 4 << 10 {
            let share = written(0) as f64 / (written(0) + written(1)) as f64;
            assert!((0.4..0.6).contains(&share), "{stripe}: {share}");
        }
    }
}

#[test]
fn a_stripe_that_the_card_cannot_have_is_refused() {
    let mut driver = Driver::new(open(options()));
    let (_memory, host) = driver.map(4096);
    let copy = Operation::CopyIn {
        from: host,
        to: CardAddr::new(0).unwrap(),
        bytes: 4096,
        stripe: Stripe::NONE,
    };
    driver.stripe = Stripe::new(4096, 4).unwrap();
    let error = driver.enable(driver.stripe);
    assert!(matches!(error, Err(CardError::NoSuchStripe { .. })));
    assert_eq!(driver.command(copy), CommandStatus::Refused);
    driver.stripe = Stripe::new(4096, 2).unwrap();
    assert_eq!(driver.command(copy), CommandStatus::Ok);
}

/// An HBM card with all its pseudo-channels. Its shell is the largest of all tests.
#[test]
#[ignore = "compiles for two minutes"]
fn thirty_two_channels_work() {
    channels_work(ShellConfig {
        ports_per_slot: 1,
        channels: 32,
        channel_bytes_log2: 28,
        ..ShellConfig::default()
    });
}

/// The shell of four slots that other tests use, too.
#[test]
fn four_channels_work() {
    channels_work(ShellConfig {
        slots: 4,
        channels: 4,
        queues: 5,
        ..ShellConfig::default()
    });
}

/// Each channel is at its place, and a stripe covers all.
fn channels_work(shell: ShellConfig) {
    let (channels, channel_bytes_log2) = (u64::from(shell.channels), shell.channel_bytes_log2);
    let mut hbm = SimOptions::named("u280").unwrap();
    hbm.asserting = true;
    hbm.shell = shell;
    let mut driver = Driver::new(open(hbm));
    let (memory, host) = driver.map(1 << 16);
    let bytes = pattern(1 << 15);
    memory.write(0, &bytes).unwrap();
    let size = bytes.len() as u64;
    driver.stripe = Stripe::new(64, channels).unwrap();
    let start = CardAddr::new(0x40_0fc0).unwrap();
    let into = Operation::CopyIn {
        from: host,
        to: start,
        bytes: size,
        stripe: Stripe::NONE,
    };
    assert_eq!(driver.command(into), CommandStatus::Ok);
    let back = host.offset(size);
    let out = Operation::CopyOut {
        from: start,
        to: back,
        bytes: size,
        stripe: Stripe::NONE,
    };
    assert_eq!(driver.command(out), CommandStatus::Ok);
    let mut seen = vec![0; bytes.len()];
    memory.read(bytes.len(), &mut seen).unwrap();
    assert!(seen == bytes);
    // 512 rows, from the last channel of a round on.
    let statistics = driver.card.statistics().unwrap();
    let rows = 512 / channels;
    assert!(statistics
        .channels
        .iter()
        .all(|c| c.rows_written == rows && c.rows_read == rows));

    let stripe = std::mem::take(&mut driver.stripe);
    for (place, range) in stripe.pieces(start, channels * 64, channel_bytes_log2) {
        let row = Operation::CopyOut {
            from: place,
            to: back,
            bytes: 64,
            stripe: Stripe::NONE,
        };
        assert_eq!(driver.command(row), CommandStatus::Ok);
        let mut seen = vec![0; 64];
        memory.read(bytes.len(), &mut seen).unwrap();
        assert!(
            seen == bytes[range.start as usize..range.end as usize],
            "{place}"
        );
    }
}

/// A fence in one queue does not block another.
#[test]
fn a_page_overtakes_a_long_copy_of_another_queue() {
    let mut driver = Driver::new(open(options()));
    let (_memory, host) = driver.map(1 << 20);
    let to = |address| CardAddr::new(address).unwrap();
    let copy = |address, bytes| Operation::CopyIn {
        from: host,
        to: to(address),
        bytes,
        stripe: Stripe::NONE,
    };
    let commands = [
        (0, 1, copy(0, 1 << 20), false),
        (0, 2, Operation::Nop, true),
        (1, 3, copy(1 << 24, 4096), false),
        (1, 4, Operation::Nop, true),
    ];
    for (queue, id, operation, fence) in commands {
        let command = Command {
            id: CommandId(id),
            queue: QueueId(queue),
            operation,
            fence,
            notify: true,
        };
        driver.card.submit(command).unwrap();
    }
    let mut order = Vec::new();
    while order.len() < 4 {
        for event in driver.card.wait(None).unwrap() {
            if let Event::Completed { id, .. } = event {
                order.push(id.0);
            }
        }
    }
    assert_eq!(order, [3, 4, 1, 2]);
}

/// Commands of the test below.
struct Queues(Driver);

impl Queues {
    fn submit(&mut self, queue: u8, id: u32, operation: Operation) -> Result<(), CardError> {
        self.0.card.submit(Command {
            id: CommandId(id),
            queue: QueueId(queue),
            operation,
            fence: operation == Operation::Nop,
            notify: true,
        })
    }

    /// Duration of a command that is alone in queue 1.
    fn time(&mut self, id: u32, operation: Operation) -> Picoseconds {
        let since = self.0.card.now();
        self.submit(1, id, operation).unwrap();
        loop {
            for event in self.0.card.wait(None).unwrap() {
                if let Event::Completed {
                    id: done, status, ..
                } = event
                {
                    assert_eq!((done, status), (CommandId(id), CommandStatus::Ok));
                    return self.0.card.now() - since;
                }
            }
        }
    }
}

/// A queue that is full of long copies, with a ring of commands behind them, delays a page of another
/// queue by at most the bound of docs/blocks/dma.md: the page gets half of the unit's bursts; with all
/// units busy on its memory channel, half of that channel's rows, and four in five of those that are
/// written. And it waits for 26 bursts that are under way.
#[test]
fn a_full_queue_delays_a_page_of_another_by_the_bound() {
    const PAGE: u64 = 1 << 20;
    const LONG: u64 = 64 << 20;
    for (units, most) in [(1, 2.0), (3, 2.0 * 2.0 * 1.25)] {
        let mut driver = Driver::new(open(options()));
        let (_memory, host) = driver.map(2 * LONG as usize);
        let at = |address| CardAddr::new(address).unwrap();
        let page = Operation::CopyIn {
            from: host,
            to: at(1 << 30),
            bytes: PAGE,
            stripe: Stripe::NONE,
        };
        let mut queues = Queues(driver);
        let alone = queues.time(1, page);
        let long = [
            Operation::CopyIn {
                from: host,
                to: at(0),
                bytes: LONG,
                stripe: Stripe::NONE,
            },
            Operation::CopyOut {
                from: at(LONG),
                to: host.offset(LONG),
                bytes: LONG,
                stripe: Stripe::NONE,
            },
            Operation::Zero {
                to: at(2 * LONG),
                bytes: LONG,
                stripe: Stripe::NONE,
            },
        ];
        for (id, &operation) in (100..).zip(&long[..units]) {
            queues.submit(0, id, operation).unwrap();
        }
        let full = (200..).find_map(|id| queues.submit(0, id, Operation::Nop).err());
        assert!(matches!(full, Some(CardError::QueueFull { .. })));
        let soon = queues.0.card.now() + Picoseconds::from_micros(20);
        queues.0.card.wait(Some(soon)).unwrap();

        let beside = queues.time(2, page).as_seconds() / alone.as_seconds();
        let under_way = 26.0 * 4096.0 / PAGE as f64;
        eprintln!("{units} busy units: a page takes {beside:.2} times as long");
        assert!(beside > 1.5, "nothing was busy: {beside}");
        assert!(beside <= most * (1.0 + under_way), "{beside}");
    }
}

/// Three slots that copy concurrently: the shell's registers and the observer count the same.
#[test]
fn the_shell_counts_context_switches_as_its_observer_does() {
    const SLOTS: u8 = 3;
    let mut options = options();
    options.shell.slots = SLOTS;
    let mut driver = Driver::new(open(options));
    let package = kernel("copy");
    driver.table();
    driver.install(1, true);
    for slot in (0..SLOTS).map(SlotId) {
        driver.card.load(slot, &package).unwrap();
        driver.card.control_slot(slot, SPACE, true).unwrap();
        // Each slot has its own part of the page, and another length.
        let from = u64::from(slot.0) * 0x20000;
        for (offset, value) in [
            (0x10, from),
            (0x18, from + 0x10000),
            (0x20, 20_000 + from / 16),
        ] {
            driver.set_argument_of(slot, offset, value);
        }
    }
    for slot in (0..SLOTS).map(SlotId) {
        driver.start_slot(slot);
    }
    let mut running = u32::from(SLOTS);
    while running > 0 {
        let deadline = driver.card.now() + Picoseconds::from_millis(1);
        let events = driver.card.wait(Some(deadline)).unwrap();
        assert!(!events.is_empty(), "{running} kernels do not finish");
        let ends = events
            .iter()
            .filter(|event| matches!(event, Event::Interrupt(_)));
        running -= u32::try_from(ends.count()).unwrap();
    }
    let counted = driver.card.statistics().unwrap().owner_changes;
    let reads = driver.card.read_register(READ_OWNER_CHANGES).unwrap();
    let writes = driver.card.read_register(WRITE_OWNER_CHANGES).unwrap();
    assert_eq!(
        (counted.reads, counted.writes),
        (reads.into(), writes.into())
    );
    assert!(reads > 50 && writes > 50, "{counted:?}");
}
