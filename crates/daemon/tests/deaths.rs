//! Clients that end in the middle of anything, in every order: others go on, and nothing of the dead is left.

mod common;

use common::{assert_nothing_is_left, at_rest, kernel, set_copy, Random, Served};
use rustix::process::{kill_process, Pid, Signal};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tombolo::{Card, Continue, MapOptions, PageSize, SlotId};
use wire::{encode, send, Describe, Frame, Hello, Kind, Message, Version};

/// Open resources of the process are counted, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Number of clients that die; `TOMBOLO_DEATHS` overrides it.
const DEATHS: u64 = 200;

/// Random seed of another program's process; its folder is that of the daemon.
const SEED: &str = "TOMBOLO_TEST_CHILD";

/// A card, and what is too much for it.
#[derive(Clone, Copy)]
struct Ground {
    /// Clients that end.
    deaths: u64,
    /// Bytes that the bystander copies.
    copied: u32,
    /// How often a client that waits looks at most.
    looks: u64,
}

const FUNCTIONAL: Ground = Ground {
    deaths: DEATHS,
    copied: 200_000,
    looks: 20,
};
/// Each look lets a tenth of a millisecond pass, which is a second of simulation.
const RTL: Ground = Ground {
    deaths: 24,
    copied: 20_000,
    looks: 2,
};

/// Dies in the middle of a message, sends an invalid one, or requests more than it reads.
fn speak_and_die(folder: &Path, random: &mut Random) {
    let socket = UnixStream::connect(folder.join("card")).unwrap();
    // Of one that does not read, the daemon reads no more: it would wait for ever.
    let patience = Duration::from_millis(2);
    socket.set_write_timeout(Some(patience)).unwrap();
    let hello = Hello {
        version: Version::THIS,
        program: "dying".to_owned(),
    };
    let frame = |kind, ticket, body| Frame::new(kind, ticket, body);
    if random.below(8) > 0 {
        let said = send(&socket, &frame(Kind::Hello, 0, encode(&hello).unwrap()));
        said.unwrap();
    }
    let asked = random.below(600);
    for ticket in 0..asked {
        let describe = encode(&Message::from(Describe)).unwrap();
        // A daemon that has had enough may have closed it.
        if send(&socket, &frame(Kind::Request, ticket, describe)).is_err() {
            return;
        }
    }
    let part = vec![0x54; random.below(40) as usize];
    let _ = (&socket).write_all(&part);
}

/// Does something of what programs do, and ends there.
fn live_and_die(folder: &Path, looks: u64, random: &mut Random, number: u64) {
    if random.below(8) == 0 {
        return speak_and_die(folder, random);
    }
    let card = Card::open(format!("unix:{}", folder.join("card").display())).unwrap();
    let steps = random.below(8);
    if steps == 0 {
        return;
    }
    let Ok(space) = card.create_space() else {
        return;
    };
    let table = folder.join(format!("table-{number}"));
    std::fs::write(&table, vec![1; 64 << 10]).unwrap();
    let options = match random.below(3) {
        0 => MapOptions::read_write(),
        1 => MapOptions::read_write().bytes(5000).offset(4096),
        _ => MapOptions::create(32 << 10),
    };
    // Some of it is in the client, and goes with it.
    let block = (random.below(2) == 0).then(|| {
        let bytes = 1 + random.below(1 << 16) as usize;
        let block = match random.below(2) {
            0 => space.alloc_untrapped(bytes, PageSize::KIB_4),
            _ => space.alloc_with_pages(bytes, PageSize::KIB_4),
        };
        let block = block.unwrap();
        // A process that was stopped may have lost it.
        let _ = block.prefetch();
        block
    });
    let mapping = (steps > 1).then(|| space.map_file(&table, options).unwrap());
    let slot = (steps > 2).then(|| card.load_anywhere(kernel("gups"), &space));
    if let (Some(Ok(slot)), Some(mapping)) = (&slot, &mapping) {
        slot.set_mapping("table", mapping).unwrap();
        slot.set("words_log2", 9).unwrap();
        // Longer than anybody waits.
        slot.set("updates", 1 << 50).unwrap();
        slot.set("seed", 1 + number).unwrap();
        slot.set("under_way", 0).unwrap();
        if steps > 3 {
            slot.start().unwrap();
        }
        if steps > 4 {
            let mut looks = random.below(looks);
            // It ends while it waits, or between two waits.
            let _ = slot.wait(None, |_| {
                looks = looks.saturating_sub(1);
                if looks == 0 {
                    return Continue::Stop;
                }
                Continue::Yes
            });
        }
    }
    // A process that is killed says nothing any more; one that ends drops what it has.
    if random.below(3) > 0 {
        card.hang_up();
    }
    drop(block);
}

/// No test, but a process of another program, until it is killed.
#[test]
fn a_process_lives_until_it_is_killed_if_it_is_one() {
    let Ok(seed) = std::env::var(SEED) else {
        return;
    };
    let seed: u64 = seed.parse().unwrap();
    let mut random = Random(seed);
    loop {
        live_and_die(Path::new("."), u64::MAX, &mut random, seed);
    }
}

/// A process that is stopped anywhere, as by a debugger; it goes on, or is killed as it is.
fn stop_and_kill(folder: &Path, random: &mut Random, number: u64) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_lives_until_it_is_killed_if_it_is_one"])
        .env(SEED, (1_000_000 + number).to_string())
        .current_dir(folder)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = Pid::from_raw(process.id() as i32).unwrap();
    let mut pause = |most| std::thread::sleep(Duration::from_millis(random.below(most)));
    pause(60);
    kill_process(id, Signal::STOP).unwrap();
    pause(20);
    if number % 2 == 0 {
        kill_process(id, Signal::CONT).unwrap();
        pause(20);
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

#[test]
fn nothing_of_dead_clients_is_left_and_others_go_on() {
    clients_die(Served::new, FUNCTIONAL);
}

#[test]
fn nothing_of_dead_clients_is_left_on_rtl() {
    clients_die(Served::simulated, RTL);
}

#[test]
#[ignore = "some minutes of simulation"]
fn nothing_of_many_dead_clients_is_left_on_rtl() {
    let deaths = 200;
    clients_die(Served::simulated, Ground { deaths, ..RTL });
}

fn clients_die(serve: fn() -> Served, ground: Ground) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let served = serve();
    let bystander = served.open();
    let space = bystander.create_space().unwrap();
    let bytes: Vec<u8> = (0..ground.copied).map(|n| (n * 13) as u8).collect();
    let input = served.file("input", &bytes);
    let from = space.map_file(&input, MapOptions::read_only()).unwrap();
    // A slot of the simulated card keeps the model of its last kernel, with a thread.
    let all = 0..bystander.describe().unwrap().0.slots;
    let slots = all.map(|slot| bystander.load(SlotId(slot), kernel("gups"), &space));
    let slots: Vec<_> = slots.map(Result::unwrap).collect();
    slots.iter().for_each(|slot| slot.close().unwrap());
    let (_, before) = at_rest(&bystander);
    let done = AtomicBool::new(false);
    let wanted =
        std::env::var("TOMBOLO_DEATHS").map_or(ground.deaths, |text| text.parse().unwrap());
    let lost = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let dying = scope.spawn(|| {
            let mut random = Random(0x9e37_79b9_7f4a_7c15);
            for number in 0..wanted {
                match number % 16 {
                    15 => stop_and_kill(served.folder.path(), &mut random, number),
                    _ => live_and_die(served.folder.path(), ground.looks, &mut random, number),
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut copies = 0;
        while !done.load(Ordering::Acquire) || copies < 3 {
            let to = served.path("output");
            let to_map = space
                .map_file(&to, MapOptions::create(from.bytes()))
                .unwrap();
            // The dying may have all slots for a moment.
            let Ok(slot) = bystander.load_anywhere(kernel("copy"), &space) else {
                to_map.unmap().unwrap();
                continue;
            };
            set_copy(&slot, &from, &to_map);
            slot.start().unwrap();
            slot.wait(None, |_| Continue::Yes).unwrap();
            to_map.unmap().unwrap();
            slot.close().unwrap();
            let same = std::fs::read(&to).unwrap() == bytes;
            lost.fetch_add(u64::from(!same), Ordering::Relaxed);
            copies += 1;
        }
        dying.join().unwrap();
    });
    assert_nothing_is_left(&bystander, before);
    // Every space is free again, and all memory: a file as large as the card's can be on it.
    let others = bystander.status().unwrap().owner.spaces - 1;
    let spaces: Vec<_> = (0..others)
        .map(|_| bystander.create_space().unwrap())
        .collect();
    assert!(bystander.create_space().is_err());
    drop(spaces);
    let (description, _) = bystander.describe().unwrap();
    let memory = description.channel_bytes * u64::from(description.channels);
    let large = served.path("large");
    File::create(&large)
        .unwrap()
        .set_len(memory - memory / 8)
        .unwrap();
    let on_card = space
        .map_file(&large, MapOptions::read_only().hot())
        .unwrap();
    on_card.unmap().unwrap();
    // For the bar; what is left open would have failed above.
    let lost = lost.into_inner();
    println!("{{\"deaths\":{wanted},\"lost\":{lost},\"leaked\":0}}");
    assert_eq!(lost, 0);
}

#[test]
fn what_a_dead_client_had_written_is_in_its_file() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let served = Served::new();
    let watcher = served.open();
    let _holds = watcher.create_space().unwrap();
    let bytes: Vec<u8> = (0..100_000u32).map(|n| (n * 31) as u8).collect();
    let input = served.file("input", &bytes);
    let output = served.file("output", &vec![0; bytes.len()]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let from = space.map_file(&input, MapOptions::read_only()).unwrap();
    let to = space.map_file(&output, MapOptions::read_write()).unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &from, &to);
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    assert!(std::fs::read(&output)
        .unwrap()
        .iter()
        .all(|byte| *byte == 0));
    card.hang_up();
    at_rest(&watcher);
    assert_eq!(std::fs::read(&output).unwrap(), bytes);
}
