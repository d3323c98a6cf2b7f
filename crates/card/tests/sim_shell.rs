//! Does the real shell on the simulated card do what the `Card` contract says?

mod sim;

use sim::{open, options, pattern, run_copy, Driver};
use tombolo_card::command::Operation;
use tombolo_card::event::CommandStatus;
use tombolo_card::{Card, CardError};
use units::{CardAddr, HostAddr};

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
    };
    assert_eq!(driver.command(into), CommandStatus::Ok);
    let back = host.offset(0x2_0000);
    let out = Operation::CopyOut {
        from: card,
        to: back,
        bytes: size,
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
        },
        Operation::CopyOut {
            from: card,
            to: nowhere,
            bytes: 128,
        },
        // The mapping ends within the copy.
        Operation::CopyIn {
            from: host,
            to: card,
            bytes: 8192,
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
    assert_eq!(statistics.streams[0].rows, rows);
    assert_eq!(statistics.streams[3].rows, rows);
    assert_eq!(statistics.streams[1].rows + statistics.streams[2].rows, 0);
    assert!(statistics.evaluated_cycles < statistics.cycles);
}
