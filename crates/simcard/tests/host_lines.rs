//! The registers of the way from a slot to the CPU's lines, with kernel `host_counter` at it: are all lines home when the slot
//! has closed, and does a slow access stand in register ERROR?

mod sim;

use card::coherent::{
    host_lines_error, host_lines_register, AccessKind, HostLinesError, LineAccess, LineHome,
};
use card::event::Event;
use card::host_lines_registers as reg;
use card::registers::SLOT_CONTROL;
use card::{Card, CoherentLines, Loader};
use sim::{kernel, open, Driver, SLOT, SPACE};
use simcard::{ShellConfig, SimOptions};
use units::Picoseconds;

const LINE: u64 = 128;
/// Size of the CPU's memory, in frames.
const FRAMES: u64 = 16;
/// Operation codes of `kernels/host_counter`.
const LOAD: u64 = 1;
const STORE: u64 = 2;
const RESULT: u64 = FRAMES * 4096 - LINE;

/// A card whose kernel may use the CPU's lines.
fn coherent() -> Driver {
    let mut options = SimOptions::named("enzian").unwrap();
    options.asserting = true;
    options.shell = ShellConfig::coherent_host();
    options.channel_bytes = Some(64 << 20);
    let mut driver = Driver::new(open(options));
    driver.card.load(SLOT, &kernel("host_counter")).unwrap();
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    write(&mut driver, reg::RANGE, FRAMES as u32);
    let route = reg::route::VALID.put(1) | reg::route::SLOT.put(SLOT.0.into());
    write(&mut driver, reg::ROUTE, route);
    driver
}

fn read(driver: &mut Driver, register: u32) -> u32 {
    let register = host_lines_register(register);
    driver.card.read_register(register).unwrap()
}

fn write(driver: &mut Driver, register: u32, value: u32) {
    let register = host_lines_register(register);
    driver.card.write_register(register, value).unwrap();
}

/// One pass of the kernel over its lines, one access per line.
fn pass(driver: &mut Driver, first: u64, rows: u64, mode: u64) {
    driver.set_argument(0x10, first * LINE);
    driver.set_argument(0x18, rows | rows << 32);
    driver.set_argument(0x20, 8 | mode << 32);
    driver.set_argument(0x28, RESULT);
    driver.start();
    driver.wait_for_kernel(Picoseconds::from_millis(10));
    // Clears its pending interrupt.
    let pending = SLOT_CONTROL.at(SLOT.0.into()) + 0xc;
    driver.card.write_register(pending, 1).unwrap();
}

/// The third word of a line, as a core loads it.
fn load(driver: &mut Driver, line: u64) -> u64 {
    let access = LineAccess {
        core: 0,
        home: LineHome::Cpu,
        address: line * LINE,
        kind: AccessKind::Load,
    };
    let wanted = driver.card.access(access).unwrap();
    loop {
        for event in driver.card.wait(None).unwrap() {
            match event {
                Event::AccessDone { id, line } if id == wanted => {
                    let line = line.unwrap();
                    return u64::from_le_bytes(line[16..24].try_into().unwrap());
                }
                other => driver.events.push(other),
            }
        }
    }
}

/// The card is not asked for lines of a closed slot: each has been swept out.
#[test]
fn a_closed_slot_has_no_line_of_the_cpu() {
    // More than one in a set.
    const ROWS: u64 = 200;
    let mut driver = coherent();
    pass(&mut driver, 0, ROWS, STORE);
    let before = read(&mut driver, reg::FORWARDS);
    assert_eq!(load(&mut driver, ROWS - 1), 1, "the last store");
    assert_eq!(read(&mut driver, reg::FORWARDS), before + 1);

    let evictions = read(&mut driver, reg::EVICTIONS);
    driver.card.control_slot(SLOT, SPACE, false).unwrap();
    let closing = |driver: &mut Driver| reg::status::CLOSING.get(read(driver, reg::STATUS)) == 1;
    while closing(&mut driver) {}
    let swept = read(&mut driver, reg::EVICTIONS) - evictions;
    assert!(u64::from(swept) > ROWS / 2, "{swept} lines");
    let before = read(&mut driver, reg::FORWARDS);
    for line in 0..ROWS {
        assert_eq!(load(&mut driver, line), ROWS - line);
    }
    assert_eq!(read(&mut driver, reg::FORWARDS), before);
}

#[test]
fn an_access_that_takes_too_long_stands_in_register_error() {
    let mut driver = coherent();
    pass(&mut driver, 0, 1, LOAD);
    assert_eq!(read(&mut driver, reg::ERROR), 0);
    assert_eq!(host_lines_error(&mut driver.card).unwrap(), None);
    // A line from the CPU takes a hundred cycles. The old period would run out first.
    write(&mut driver, reg::TIMEOUT, 0);
    write(&mut driver, reg::TIMEOUT, 30);
    for round in 0..2_u64 {
        driver.events.clear();
        pass(&mut driver, 1 + round, 1, LOAD);
        let told = |event: &&Event| **event == Event::DirectoryTrouble;
        let told = driver.events.iter().filter(told).count();
        assert_eq!(told, 1, "round {round}: {:?}", driver.events);
        let word = read(&mut driver, reg::ERROR);
        assert_eq!(reg::error::CAUSE.get(word), 1, "{word:#x}");
        assert_eq!(reg::error::SLICE.get(word), 0);
        let tag = reg::error::INFO.get(word) as u16;
        assert!(tag < 8, "as many are under way as the kernel has: {tag}");
        let error = host_lines_error(&mut driver.card).unwrap();
        assert_eq!(error, Some(HostLinesError::Late { slice: 0, tag }));
        let text = error.unwrap().to_string();
        assert!(text.contains("takes too long"), "{text}");
        assert_eq!(host_lines_error(&mut driver.card).unwrap(), None);
    }
}
