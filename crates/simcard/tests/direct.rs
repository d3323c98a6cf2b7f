//! Pages that stay in host memory: a kernel on the real shell reads and writes them over PCIe.

mod sim;

use card::command::Command;
use card::event::Event;
use card::registers::SLOT_CONTROL;
use card::{Card, Loader};
use sim::{entry, kernel, open, options, pattern, Driver, SLOT, SPACE};
use simcard::SimOptions;
use units::{
    CardAddr, CommandStatus, Fault, FaultCause, FrameNumber, HostAddr, Operation, PageEntry,
    PageSize, Picoseconds, Target, VirtAddr,
};

const PAGE: PageSize = PageSize::MIB_2;

fn direct_options() -> SimOptions {
    let mut options = options();
    options.shell.host_channel = true;
    options
}

fn in_host(address: HostAddr) -> PageEntry {
    let frame = CardAddr::new(address.get()).and_then(FrameNumber::at);
    PageEntry {
        frame: frame.unwrap(),
        target: Target::Host,
        ..entry(0, true)
    }
}

fn install(driver: &mut Driver, page: u64, entry: PageEntry) {
    let address = VirtAddr::new(page * PAGE.bytes()).unwrap();
    let status = driver.command(Operation::Install {
        asid: SPACE,
        address,
        entry,
    });
    assert_eq!(status, CommandStatus::Ok);
}

fn run(driver: &mut Driver, from: u64, to: u64, bytes: usize) {
    driver.set_argument(0x10, from);
    driver.set_argument(0x18, to);
    driver.set_argument(0x20, bytes as u64);
    driver.start();
    finish(driver);
}

fn reply(driver: &mut Driver, fault: &Fault, entry: Option<PageEntry>) {
    let operation = Operation::FaultReply {
        token: fault.token,
        entry,
    };
    let reply = Command {
        operation,
        ..Command::default()
    };
    driver.card.submit(reply).unwrap();
}

/// Answers all faults with a page until the kernel is done or the time is over; `true` when it is done.
fn answer_faults(driver: &mut Driver, entry: PageEntry, longest: Picoseconds) -> bool {
    let until = driver.card.now() + longest;
    loop {
        let mut events = std::mem::take(&mut driver.events);
        if events.is_empty() {
            events = driver.card.wait(Some(until)).unwrap();
        }
        if events.is_empty() {
            return false;
        }
        let mut done = false;
        for event in events {
            match event {
                Event::Fault(fault) => reply(driver, &fault, Some(entry)),
                Event::Interrupt(SLOT) => done = true,
                other => panic!("{other:?}"),
            }
        }
        if done {
            return true;
        }
    }
}

/// Waits for the kernel, and acknowledges its interrupt: it may be started again.
fn finish(driver: &mut Driver) {
    let done = |event: &Event| matches!(event, Event::Interrupt(SLOT));
    // It may have arrived during the wait for a command.
    match driver.events.iter().position(done) {
        Some(at) => drop(driver.events.remove(at)),
        None => driver.wait_for_kernel(Picoseconds::from_millis(10)),
    }
    let base = SLOT_CONTROL.at(SLOT.0.into());
    driver.card.write_register(base + 0xc, 1).unwrap();
    driver.card.read_register(base).unwrap();
}

/// A card with a copy kernel, and an empty table.
fn start(options: SimOptions) -> Driver {
    let mut driver = Driver::new(open(options));
    driver.card.load(SLOT, &kernel("copy")).unwrap();
    driver.table();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    driver
}

#[test]
fn a_kernel_reads_and_writes_pages_in_host_memory() {
    let page = PAGE.bytes() as usize;
    let mut driver = start(direct_options());
    let (memory, host) = driver.map(2 * page);
    install(&mut driver, 0, in_host(host));
    install(&mut driver, 1, entry(1, true));
    install(&mut driver, 2, in_host(host.offset(PAGE.bytes())));

    // An odd size: the last row is written partially.
    let bytes = 20_011;
    let input = pattern(bytes);
    memory.write(0, &input).unwrap();
    memory.write(page, &vec![0xa5; bytes + 200]).unwrap();
    run(&mut driver, 0, PAGE.bytes(), bytes);
    run(&mut driver, PAGE.bytes(), 2 * PAGE.bytes(), bytes);
    let mut output = vec![0; bytes + 200];
    memory.read(page, &mut output).unwrap();
    assert!(output[..bytes] == input, "the bytes came back");
    assert!(
        output[bytes.next_multiple_of(64)..]
            .iter()
            .all(|&b| b == 0xa5),
        "nothing behind them was written"
    );

    // From host memory to host memory.
    let input: Vec<u8> = input.iter().map(|byte| !byte).collect();
    memory.write(0, &input).unwrap();
    run(&mut driver, 0, 2 * PAGE.bytes(), bytes);
    memory.read(page, &mut output).unwrap();
    assert!(output[..bytes] == input, "read where it is");

    for page in 0..3 {
        let status = driver.command(Operation::Invalidate {
            asid: SPACE,
            address: VirtAddr::new(page * PAGE.bytes()).unwrap(),
            size: PAGE,
        });
        assert_eq!(status, CommandStatus::Ok);
    }
    driver.card.unmap_host(host).unwrap();
}

/// The host answers a fault with a page of its own, and removes it while the kernel reads it. As soon as the
/// removal is acknowledged, the host may unmap the memory.
#[test]
fn a_page_in_host_memory_is_taken_away_while_a_kernel_reads_it() {
    let mut driver = start(direct_options());
    let page = PAGE.bytes() as usize;
    let bytes = 512 << 10;
    let old: Vec<u8> = pattern(bytes);
    let new: Vec<u8> = old.iter().map(|byte| !byte).collect();
    let (first, first_at) = driver.map(page);
    let (second, second_at) = driver.map(page);
    first.write(0, &old).unwrap();
    second.write(0, &new).unwrap();
    install(&mut driver, 1, entry(1, true));
    driver.set_argument(0x10, 0);
    driver.set_argument(0x18, PAGE.bytes());
    driver.set_argument(0x20, bytes as u64);
    driver.start();
    // Half of it takes some 25 us.
    let half = Picoseconds::from_micros(25);
    let done = answer_faults(&mut driver, in_host(first_at), half);
    assert!(!done, "too fast to be interrupted");
    // From now on the page is found in the table; earlier answers are unchanged.
    install(&mut driver, 0, in_host(first_at));
    let status = driver.command(Operation::Invalidate {
        asid: SPACE,
        address: VirtAddr::new(0).unwrap(),
        size: PAGE,
    });
    assert_eq!(status, CommandStatus::Ok);
    first.write(0, &vec![0; bytes]).unwrap();
    driver.card.unmap_host(first_at).unwrap();

    let longest = Picoseconds::from_millis(10);
    assert!(answer_faults(&mut driver, in_host(second_at), longest));
    let (out, at) = driver.map(page);
    driver.copy(at, PAGE.bytes(), bytes as u64, false);
    let mut output = vec![0; bytes];
    out.read(0, &mut output).unwrap();
    let rows = || output.chunks(64).zip(old.chunks(64).zip(new.chunks(64)));
    let before = rows().take_while(|(row, (old, _))| row == old).count();
    let after = rows().skip(before);
    assert!(after.clone().all(|(row, (_, new))| row == new));
    assert!(before > 0 && before < bytes / 64, "{before} rows");
}

#[test]
fn copies_and_direct_pages_share_the_link() {
    let page = PAGE.bytes() as usize;
    let mut driver = start(direct_options());
    let (memory, host) = driver.map(page);
    let (other, copied) = driver.map(page);
    install(&mut driver, 0, in_host(host));
    install(&mut driver, 1, entry(1, true));
    let bytes = 100_000;
    let input = pattern(bytes);
    memory.write(0, &input).unwrap();
    driver.set_argument(0x10, 0);
    driver.set_argument(0x18, PAGE.bytes());
    driver.set_argument(0x20, bytes as u64);
    driver.start();
    driver.copy(copied, 4 * PAGE.bytes(), bytes as u64 / 64 * 64, true);
    finish(&mut driver);
    let rounded = bytes.next_multiple_of(64);
    driver.copy(copied, PAGE.bytes(), rounded as u64, false);
    let mut output = vec![0; bytes];
    other.read(0, &mut output).unwrap();
    assert!(output == input);
}

#[test]
fn an_address_of_the_host_that_is_not_mapped_is_an_error_for_the_kernel_alone() {
    let mut driver = start(direct_options());
    install(&mut driver, 0, in_host(HostAddr::new(16 << 30)));
    install(&mut driver, 1, entry(1, true));
    driver.set_argument(0x10, 0);
    driver.set_argument(0x18, PAGE.bytes());
    driver.set_argument(0x20, 4096);
    driver.start();
    driver.wait_for_kernel(Picoseconds::from_millis(10));
    let (_memory, host) = driver.map(4096);
    driver.copy(host, PAGE.bytes(), 4096, true);
}

#[test]
fn card_memory_cannot_be_named_through_the_host_window() {
    let mut driver = start(direct_options());
    for target in [Target::Card, Target::Host] {
        let frame = FrameNumber::new(1 << 24).unwrap();
        let entry = PageEntry {
            frame,
            target,
            ..entry(0, true)
        };
        install(&mut driver, 0, entry);
        driver.set_argument(0x10, 0);
        driver.set_argument(0x18, 0);
        driver.set_argument(0x20, 64);
        driver.start();
        // The read and the write of the kernel fault, both at this page; each gets an error then.
        let mut faults = Vec::new();
        while faults.len() < 2 {
            for event in driver.card.wait(None).unwrap() {
                let Event::Fault(fault) = event else {
                    panic!("{event:?} after {faults:?}");
                };
                assert_eq!(fault.cause, FaultCause::Target, "{target:?}");
                faults.push(fault.write);
                reply(&mut driver, &fault, None);
            }
        }
        assert_eq!(faults, [false, true]);
        finish(&mut driver);
    }
}
