//! Pages that stay in host memory, on the functional card.

use crate::bench::{asid, at, config, entry, Bench};
use card::event::Event;
use card::Card;
use funcard::FunctionalConfig;
use units::{
    CardAddr, CommandStatus, FaultCause, FrameNumber, Operation, PageEntry, PageSize, Target,
};

const SIZE: PageSize = PageSize::KIB_4;
const INPUT: u64 = 0x10_0000;
const OUTPUT: u64 = 0x20_0000;

fn direct_config() -> FunctionalConfig {
    FunctionalConfig {
        host_channel: true,
        ..config(None)
    }
}

fn started(config: FunctionalConfig, bytes: u64) -> Bench {
    let mut bench = Bench::with_kernel(config, "copy");
    for page in 0..4 {
        for (address, offset) in [(INPUT, 0), (OUTPUT, 0x1_0000)] {
            let host = bench.host_at.get() + offset + page * 4096;
            let frame = CardAddr::new(host).and_then(FrameNumber::at).unwrap();
            let entry = PageEntry {
                frame,
                target: Target::Host,
                ..entry(0, SIZE)
            };
            let status = bench.install(address + page * 4096, entry);
            assert_eq!(status, CommandStatus::Ok);
        }
    }
    bench.set_number("input", INPUT);
    bench.set_number("output", OUTPUT);
    bench.set_number("bytes", bytes);
    bench
}

#[test]
fn a_kernel_reads_and_writes_pages_in_host_memory() {
    let bytes = 3 * 4096 + 77;
    let mut bench = started(direct_config(), bytes);
    let input: Vec<u8> = (0..bytes).map(|i| (i % 251) as u8).collect();
    bench.host.write(0, &input).unwrap();
    bench.start();
    bench.finish(|_, fault| panic!("{fault:?}"));
    let mut output = vec![0; bytes as usize];
    bench.host.read(0x1_0000, &mut output).unwrap();
    assert!(output == input);
    // The entry tells what became of the page, as one of card memory does.
    let (status, accessed, dirty) = bench.invalidate(OUTPUT, SIZE);
    assert_eq!((status, accessed, dirty), (CommandStatus::Ok, true, true));
    let (status, accessed, dirty) = bench.invalidate(INPUT, SIZE);
    assert_eq!((status, accessed, dirty), (CommandStatus::Ok, true, false));
}

#[test]
fn a_card_without_the_way_there_reports_a_fault() {
    let mut bench = started(config(None), 64);
    bench.start();
    let events = bench.card.wait(None).unwrap();
    let Some(Event::Fault(fault)) = events.first() else {
        panic!("{events:?}");
    };
    assert_eq!(fault.cause, FaultCause::Target);
    assert_eq!(fault.address, at(INPUT));
    let operation = Operation::Protect {
        asid: asid(),
        address: at(INPUT),
        size: SIZE,
    };
    assert_eq!(bench.status(operation), CommandStatus::Ok);
}
