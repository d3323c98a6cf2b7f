//! Does the shell's RTL do what the `Card` contract says, on the simulated card?

use std::path::Path;
use std::sync::Arc;
use timing::platform::Platform;
use tombolo_card::command::{Command, CommandId, CommandStatus, Operation};
use tombolo_card::event::Event;
use tombolo_card::memory::HostMemory;
use tombolo_card::sim::{platform_directories, SimCard, SimOptions};
use tombolo_card::Card;
use units::CardAddr;

fn options() -> SimOptions {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    SimOptions::new(Platform::named("f1", &platform_directories(&home)).unwrap())
}

#[test]
fn bytes_go_in_and_come_out() {
    let mut card = SimCard::open(options(), |progress| eprintln!("{progress:?}")).unwrap();
    eprintln!("open at {}", card.now());
    let memory = Arc::new(HostMemory::allocate(1 << 20).unwrap());
    let pattern: Vec<u8> = (0..65536u32).map(|i| (i * 7 + i / 251) as u8).collect();
    memory.write(0, &pattern).unwrap();
    let at = card.map_host(memory.clone()).unwrap();
    let to = CardAddr::new(0x10_0000).unwrap();
    let command = |id, operation| Command { id: CommandId(id), operation, fence: true, notify: true };
    card.submit(command(1, Operation::CopyIn { from: at, to, bytes: 65536 })).unwrap();
    card.submit(command(2, Operation::CopyOut { from: to, to: at.offset(65536), bytes: 65536 }))
        .unwrap();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        for event in card.wait(None).unwrap() {
            eprintln!("{}: {event:?}", card.now());
            seen.push(event);
        }
    }
    for (event, id) in seen.iter().zip([1, 2]) {
        let Event::Completed { id: done, status, .. } = event else { panic!("{event:?}") };
        assert_eq!((done.0, *status), (id, CommandStatus::Ok));
    }
    let mut back = vec![0; 65536];
    memory.read(65536, &mut back).unwrap();
    assert!(back == pattern);
    eprintln!("{:?}", card.statistics().unwrap());
}
