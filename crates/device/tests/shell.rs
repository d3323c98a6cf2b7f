//! The shell on its thread, driven from another thread like a host: without a socket or a guest, for speed.

mod direct;

use card::command::Command;
use card::driver::Driver;
use card::event::Event;
use card::memory::HostMemory;
use card::CardError;
use device::{Hardware, Shell};
use direct::{shell, Direct};
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::{CardAddr, CommandId, CommandStatus, HostAddr, Operation, Stripe};

const BYTES: u64 = 1 << 20;

fn start(shell: Shell) -> Driver<Direct> {
    direct::start(Direct::new(shell))
}

fn memory(byte: u8) -> Arc<HostMemory> {
    let memory = HostMemory::sparse(BYTES as usize).unwrap();
    memory.write(0, &vec![byte; BYTES as usize]).unwrap();
    Arc::new(memory)
}

fn bytes_of(memory: &HostMemory) -> Vec<u8> {
    let mut bytes = vec![0; BYTES as usize];
    memory.read(0, &mut bytes).unwrap();
    bytes
}

fn submit(driver: &mut Driver<Direct>, id: u32, operation: Operation) {
    let command = Command {
        id: CommandId(id),
        operation,
        notify: true,
        ..Command::default()
    };
    driver.submit(&command).unwrap();
}

fn ended(driver: &mut Driver<Direct>, wanted: u32) -> CommandStatus {
    let limit = Instant::now() + Duration::from_secs(60);
    while Instant::now() < limit {
        for event in driver.wait(None).unwrap() {
            match event {
                Event::Completed { id, status, .. } if id == CommandId(wanted) => return status,
                _ => {}
            }
        }
    }
    panic!("command {wanted} does not end");
}

fn copy_in(from: HostAddr) -> Operation {
    Operation::CopyIn {
        from,
        to: CardAddr::new(0).unwrap(),
        bytes: BYTES,
        stripe: Stripe::NONE,
    }
}

fn copy_out(to: HostAddr) -> Operation {
    Operation::CopyOut {
        from: CardAddr::new(0).unwrap(),
        to,
        bytes: BYTES,
        stripe: Stripe::NONE,
    }
}

#[test]
fn bytes_go_to_the_card_and_back_while_the_host_looks_on() {
    let mut driver = start(shell());
    let (source, target) = (memory(7), memory(0));
    let from = driver.map_host(source).unwrap();
    let to = driver.map_host(target.clone()).unwrap();
    submit(&mut driver, 1, copy_in(from));
    assert_eq!(ended(&mut driver, 1), CommandStatus::Ok);
    submit(&mut driver, 2, copy_out(to));
    assert_eq!(ended(&mut driver, 2), CommandStatus::Ok);
    assert!(bytes_of(&target).iter().all(|byte| *byte == 7));
    assert_eq!(
        (driver.rows_in().unwrap(), driver.rows_out().unwrap()),
        (BYTES / 64, BYTES / 64)
    );
}

#[test]
fn memory_that_was_taken_away_is_not_written_any_more() {
    let mut driver = start(shell());
    for attempt in 1..=10 {
        let target = memory(9);
        let to = driver.map_host(target.clone()).unwrap();
        submit(&mut driver, attempt, copy_out(to));
        // Rings the doorbell.
        driver.read_register(card::registers::STATUS).unwrap();
        let limit = Instant::now() + Duration::from_secs(60);
        while bytes_of(&target)[0] == 9 && Instant::now() < limit {
            std::thread::yield_now();
        }
        driver.unmap_host(to).unwrap();
        let then = bytes_of(&target);
        assert!(then.contains(&0), "the copy has begun");
        let status = ended(&mut driver, attempt);
        assert_eq!(bytes_of(&target), then);
        // On a loaded machine everything may have been copied already; the check then proves nothing.
        if then.contains(&9) {
            assert_ne!(status, CommandStatus::Ok);
            return;
        }
    }
    panic!("it was always taken away too late");
}

#[test]
fn a_reset_in_the_middle_leaves_a_card_that_starts_anew_and_writes_nothing() {
    let mut driver = start(shell());
    let target = memory(9);
    let to = driver.map_host(target.clone()).unwrap();
    submit(&mut driver, 1, copy_out(to));
    driver.read_register(card::registers::STATUS).unwrap();
    driver.transport_mut().shell.reset().unwrap();
    let then = bytes_of(&target);
    let enabled = driver.read_register(card::registers::CONTROL).unwrap();
    assert_eq!(enabled, 0, "the rings are forgotten");
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(bytes_of(&target), then);
    let shell = &mut driver.transport_mut().shell;
    let mapped = shell.map(to.get(), target);
    assert!(mapped.is_ok(), "no map of before the reset is there");
    // The slot is in reset, so that its kernel cannot respond.
    let kernel = shell.read(card::registers::SLOT_CONTROL.base);
    assert!(matches!(kernel, Err(CardError::Bus { .. })), "{kernel:?}");
}

/// A host that accesses the card without a pause leaves it time to work: this number of accesses suffices for a copy.
#[test]
fn a_host_that_never_pauses_does_not_keep_the_card_from_its_work() {
    const MOST: u32 = 5_000;
    let mut driver = start(shell());
    let target = memory(9);
    let to = driver.map_host(target.clone()).unwrap();
    submit(&mut driver, 1, copy_out(to));
    driver.read_register(card::registers::STATUS).unwrap();
    let last = BYTES as usize - 1;
    let mut byte = [9];
    for access in 0.. {
        target.read(last, &mut byte).unwrap();
        if byte != [9] {
            break;
        }
        assert!(access < MOST, "the card does nothing");
        // A driver that has found the ring empty acknowledges like this.
        let shell = &mut driver.transport_mut().shell;
        shell.write(card::registers::EVENT_HEAD, 0).unwrap();
    }
    assert_eq!(ended(&mut driver, 1), CommandStatus::Ok);
}

/// A killed program: its maps are removed, without any notice to the card.
fn killed(driver: Driver<Direct>, mapped: &[HostAddr]) -> Shell {
    let mut way = driver.into_transport();
    let rings = way.rings.clone();
    for address in mapped.iter().chain(&rings) {
        way.shell.unmap(address.get());
    }
    way.shell
}

#[test]
fn the_next_program_resets_what_a_killed_one_has_left_and_nothing_is_written_after_it() {
    let mut shell = shell();
    let mut in_the_middle = 0;
    for attempt in 0..12 {
        let mut driver = start(shell);
        let reset = driver.read_register(card::registers::RESET).unwrap();
        let done = card::registers::reset::DONE.get(reset);
        assert_eq!(done, u32::from(attempt > 0), "attempt {attempt}");
        let (source, target) = (memory(7), memory(9));
        let from = driver.map_host(source).unwrap();
        let to = driver.map_host(target.clone()).unwrap();
        // Both directions at once, and more commands than complete before it is killed.
        for id in 0..4 {
            submit(&mut driver, 2 * id, copy_in(from));
            submit(&mut driver, 2 * id + 1, copy_out(to));
        }
        driver.read_register(card::registers::STATUS).unwrap();
        std::thread::sleep(Duration::from_micros(700 * attempt));
        let idle = driver.read_register(card::registers::STATUS).unwrap();
        in_the_middle += u32::from(idle == 0);
        shell = killed(driver, &[from, to]);
        // The next program's memory is at the killed program's addresses, which reveals late writes.
        let innocent = memory(3);
        for address in [from, to] {
            shell.map(address.get(), innocent.clone()).unwrap();
        }
        shell.write(card::registers::RESET, 1).unwrap();
        let limit = Instant::now() + Duration::from_secs(60);
        while shell.read(card::registers::RESET).unwrap() & 0b110 != 0b100 {
            assert!(Instant::now() < limit, "the reset does not end");
        }
        let then = bytes_of(&innocent);
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(
            bytes_of(&innocent),
            then,
            "attempt {attempt}: written after reset"
        );
        for address in [from, to] {
            shell.unmap(address.get());
        }
        // Used again, so that the next reset comes from the driver.
        shell.write(card::registers::EVENT_BASE_LO, 64).unwrap();
    }
    assert!(in_the_middle >= 6, "{in_the_middle} of 12 in the middle");
    let mut driver = start(shell);
    let (source, target) = (memory(7), memory(0));
    let from = driver.map_host(source).unwrap();
    let to = driver.map_host(target.clone()).unwrap();
    submit(&mut driver, 1, copy_in(from));
    assert_eq!(ended(&mut driver, 1), CommandStatus::Ok);
    submit(&mut driver, 2, copy_out(to));
    assert_eq!(ended(&mut driver, 2), CommandStatus::Ok);
    assert!(bytes_of(&target).iter().all(|byte| *byte == 7));
}

#[test]
fn errors_are_held_with_master_port_and_response() {
    let mut driver = start(shell());
    assert_eq!(driver.take_errors().unwrap(), None);
    // Nothing is mapped there.
    submit(&mut driver, 1, copy_out(HostAddr::new(0x7000_0000)));
    assert_eq!(ended(&mut driver, 1), CommandStatus::BusError);
    let held = driver.take_errors().unwrap().unwrap();
    let (master, port, _) = held.first().unwrap();
    assert_eq!(
        (master, port),
        (card::driver::Master::HostWrite, 2),
        "{held}"
    );
    // The slot is in reset, and so is the kernel that would respond.
    let shell = &mut driver.transport_mut().shell;
    let window = card::registers::SLOT_CONTROL.base + 0x10;
    assert!(shell.read(window).is_err());
    let held = driver.take_errors().unwrap().unwrap();
    assert!(
        held.to_string()
            .contains("read of register 0x100010: SLVERR"),
        "{held}"
    );
    assert_eq!(driver.take_errors().unwrap(), None);
}
