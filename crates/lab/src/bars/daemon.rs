//! A card shared by many programs: data lost and resources leaked when clients end, and the cost of the socket.

use super::counted::Counting;
use super::{the_command, Failure};
use crate::processor;
use crate::row::Row;
use ::daemon::Daemon;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tombolo::{Advice, Card, Fetch, FunctionalCard, FunctionalConfig, MapOptions, PageSize};

/// Figures of terminating clients.
pub const ENDS: &[&str] = &["daemon.deaths", "daemon.lost", "daemon.leaked"];
/// Figures of terminating clients, on RTL.
pub const ENDS_ON_RTL: &[&str] = &["daemon.deaths.rtl", "daemon.lost.rtl", "daemon.leaked.rtl"];
/// Deviation of equal programs, alone and with a greedy one; the slowdown it causes; and their deviation with little
/// data in pages of the default size.
pub const FAIRNESS: &[&str] = &[
    "daemon.fairness",
    "daemon.fairness.greedy",
    "daemon.fairness.greedy_longer",
    "daemon.fairness.default_pages",
];
/// Runtimes of applications that are processes: largest difference from those of clients in one process, and deviation
/// of equal ones.
pub const APPLICATIONS: &[&str] = &["daemon.applications.apart", "daemon.applications.deviation"];
/// Figures of a replayed journal: whether everything is the same, how long it was recorded, and its requests.
pub const REPLAY: &[&str] = &[
    "daemon.replay",
    "daemon.replay.seconds",
    "daemon.replay.requests",
];
/// Figures of access rights between programs' files.
pub const RIGHTS: &[&str] = &["daemon.rights_cells", "daemon.rights_violations"];
/// Figures of the socket's cost.
pub const COSTS: &[&str] = &[
    "daemon.request_ratio",
    "daemon.cpu_share",
    "daemon.cpu_share_faults",
];

const DEATHS: u64 = 10_000;
/// Duration of a recorded session in seconds.
const RECORDED: u64 = 60;
/// Requests per round, and number of rounds, of which the median counts.
const REQUESTS: u32 = 2000;
const ROUNDS: usize = 5;
/// Warm-up copies before those measured.
const WARMING: usize = 3;
/// Number of pairs of cards.
const PAIRS: usize = 3;
/// Factor of the amounts in the test of fairness: 8 MiB for each of the equal programs, as in pages of 4 KiB the gap between them
/// is a constant time.
const SCALE: u64 = 8;
/// Size in bytes of the header of a message frame.
const HEADER: usize = 16;
/// Bytes copied per run.
const STREAM_BYTES: usize = 512 << 20;
const FAULTING_BYTES: usize = 64 << 20;
/// Channel size in bytes of the cards that copy.
const CHANNEL_BYTES: u64 = 512 << 20;

/// A counting test of `crates/daemon`.
fn counting(file: &'static str, name: &'static str) -> Counting {
    Counting {
        package: "tombolo-daemon",
        file,
        name: Some(name),
    }
}

/// Clients that are killed, disconnect, send malformed messages or do not read, at random moments:
/// `crates/daemon/tests/deaths.rs`, with larger counts.
pub fn ends() -> Result<Vec<Row>, Failure> {
    let environment = [("TOMBOLO_DEATHS", DEATHS.to_string())];
    let test = "nothing_of_dead_clients_is_left_and_others_go_on";
    deaths(test, &environment, ENDS)
}

/// The same, on RTL.
pub fn ends_on_rtl() -> Result<Vec<Row>, Failure> {
    let test = "nothing_of_many_dead_clients_is_left_on_rtl";
    deaths(test, &[], ENDS_ON_RTL)
}

fn deaths(
    name: &'static str,
    environment: &[(&str, String)],
    rows: &[&str],
) -> Result<Vec<Row>, Failure> {
    let counts = counting("deaths", name).run(environment)?;
    Ok(vec![
        Row::new(rows[0], counts.get("deaths")?, ""),
        Row::new(rows[1], counts.get("lost")?, ""),
        Row::new(rows[2], counts.get("leaked")?, ""),
    ])
}

/// Access of programs to other programs' files, cell by cell: `crates/daemon/tests/rights.rs`.
pub fn rights() -> Result<Vec<Row>, Failure> {
    let counts = counting(
        "rights",
        "a_program_does_to_others_what_its_descriptor_lets_it_and_no_more",
    )
    .run(&[])?;
    Ok(vec![
        Row::new(RIGHTS[0], counts.get("cells")?, ""),
        Row::new(RIGHTS[1], counts.get("violations")?, ""),
    ])
}

/// Eight programs on eight slots of the simulated card: `crates/daemon/tests/fairness.rs`.
pub fn fairness() -> Result<Vec<Row>, Failure> {
    let counts = counting(
        "fairness",
        "equal_programs_get_equal_parts_whatever_another_does",
    )
    .run(&[("TOMBOLO_FAIRNESS_SCALE", SCALE.to_string())])?;
    Ok(vec![
        Row::new(FAIRNESS[0], counts.get("equal")?, "%"),
        Row::new(FAIRNESS[1], counts.get("greedy")?, "%"),
        Row::new(FAIRNESS[2], counts.get("longer")?, "%"),
        Row::new(FAIRNESS[3], counts.get("default")?, "%"),
    ])
}

/// FSRF's section 6.4 and figure 7 with processes: `crates/daemon/tests/applications.rs`.
pub fn applications() -> Result<Vec<Row>, Failure> {
    let counts = counting("applications", "processes_take_the_times_of_clients_in_one").run(&[])?;
    Ok(vec![
        Row::new(APPLICATIONS[0], counts.get("apart")?, "%"),
        Row::new(APPLICATIONS[1], counts.get("equal")?, "%"),
    ])
}

/// The journal of a session in which programs come and go, replayed: report, replies and written files.
/// `crates/daemon/tests/replay.rs`.
pub fn replay() -> Result<Vec<Row>, Failure> {
    let counts = counting("replay", "a_long_session_replays_to_the_same_report")
        .run(&[("TOMBOLO_JOURNAL_SECONDS", RECORDED.to_string())])?;
    Ok(vec![
        Row::new(REPLAY[0], counts.get("same")?, ""),
        Row::new(REPLAY[1], counts.get("seconds")?, "s"),
        Row::new(REPLAY[2], counts.get("requests")?, ""),
    ])
}

/// Latency of a request compared with a ping-pong of as many bytes over a socket pair; and processor time.
pub fn costs() -> Result<Vec<Row>, Failure> {
    let tombolo = the_command()?;
    let folder = tempfile::tempdir()?;
    Ok(vec![
        Row::new(COSTS[0], request_ratio(folder.path())?, "x"),
        Row::new(
            COSTS[1],
            worst_cpu_share(&tombolo, folder.path(), STREAM_BYTES, |options| options)?,
            "",
        ),
        Row::new(
            COSTS[2],
            worst_cpu_share(&tombolo, folder.path(), FAULTING_BYTES, |options| {
                let on_demand = Advice::fetching(Fetch::OnDemand);
                options.page_size(PageSize::KIB_4).advice(on_demand)
            })?,
            "",
        ),
    ])
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn request_ratio(folder: &Path) -> Result<f64, Failure> {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default()))?;
    let socket = folder.join("ratio");
    let daemon = Daemon::listen(card, &socket)?;
    let client = Card::open(format!("unix:{}", socket.display()))?;
    let request = wire::encode(&wire::Message::from(wire::Describe))?.len() + HEADER;
    let (card, now) = client.describe()?;
    let card = Box::new(card);
    let reply = wire::encode(&wire::Description { card, now })?.len() + HEADER;
    let (mut asked, mut pinged) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        for _ in 0..REQUESTS {
            client.describe()?;
        }
        asked.push(begin.elapsed());
        pinged.push(ping_pong(request, reply)?);
    }
    client.close()?;
    daemon.stop();
    Ok(median(asked) / median(pinged))
}

fn ping_pong(request: usize, reply: usize) -> Result<Duration, Failure> {
    let (mut here, mut there) = UnixStream::pair()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut got, given) = (vec![0; request], vec![1; reply]);
            while there.read_exact(&mut got).is_ok() && there.write_all(&given).is_ok() {}
        });
        let (given, mut got) = (vec![2; request], vec![0; reply]);
        let begin = Instant::now();
        for _ in 0..REQUESTS {
            here.write_all(&given)?;
            here.read_exact(&mut got)?;
        }
        let taken = begin.elapsed();
        here.shutdown(std::net::Shutdown::Both)?;
        Ok(taken)
    })
}

/// A daemon process, killed on drop.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processor time of all threads of a process, including ended ones; resolution 10 ms.
fn time_of(process: u32) -> Result<Duration, Failure> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    let (_, rest) = stat.rsplit_once(')').ok_or("a process without a name")?;
    let ticks = |place: usize| -> Result<u64, Failure> {
        Ok(rest
            .split_whitespace()
            .nth(place)
            .ok_or("no time")?
            .parse()?)
    };
    // User and system time, fields 14 and 15.
    Ok(Duration::from_millis(10 * (ticks(11)? + ticks(12)?)))
}

/// The smallest share over several pairs of cards. Memory speed differs between processes, by a factor of up to four on
/// some machines, for their whole life: a single pair is not representative.
fn worst_cpu_share(
    tombolo: &Path,
    folder: &Path,
    bytes: usize,
    options: impl Fn(MapOptions) -> MapOptions,
) -> Result<f64, Failure> {
    let shares = (0..PAIRS).map(|_| cpu_share(tombolo, folder, bytes, &options));
    let shares = shares.collect::<Result<Vec<f64>, Failure>>()?;
    Ok(shares.into_iter().fold(f64::INFINITY, f64::min))
}

/// Processor time of a copy on a card in this process, divided by that of this process and a daemon together for a copy
/// on the daemon's card. Both cards have the same configuration and are warmed up.
fn cpu_share(
    tombolo: &Path,
    folder: &Path,
    bytes: usize,
    options: impl Fn(MapOptions) -> MapOptions,
) -> Result<f64, Failure> {
    let (input, output) = (folder.join("in"), folder.join("out"));
    let content: Vec<u8> = (0..bytes)
        .map(|place| (place * 7 + place / 251) as u8)
        .collect();
    fs::write(&input, &content)?;
    let socket = folder.join("share");
    let _ = fs::remove_file(&socket);
    let served = Command::new(tombolo)
        .args(["daemon", "--functional", "--slots", "1", "--channel-memory"])
        .arg(CHANNEL_BYTES.to_string())
        .arg("--socket")
        .arg(&socket)
        .stdout(Stdio::null())
        .spawn()?;
    let served = Process(served);
    while !socket.exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let copy = |card: &Card| -> Result<Duration, Failure> {
        // Freeing the pages of the last copy is not part of this one.
        let _ = fs::remove_file(&output);
        let before = processor::own();
        let space = card.create_space()?;
        let from = space.map_file(&input, options(MapOptions::read_only()))?;
        let to = space.map_file(&output, options(MapOptions::create(from.bytes())))?;
        let slot = card.load_anywhere(simcard::home().join("kernels/copy"), &space)?;
        slot.set_mapping("input", &from)?;
        slot.set_mapping("output", &to)?;
        slot.set("bytes", from.bytes())?;
        slot.run()?;
        to.unmap()?;
        space.close()?;
        let taken = processor::own() - before;
        match fs::read(&output)? == content {
            true => Ok(taken),
            false => Err("the copy has other bytes".into()),
        }
    };
    let alone = Card::functional(FunctionalCard::new(FunctionalConfig {
        slots: 1,
        channel_bytes: CHANNEL_BYTES,
        ..FunctionalConfig::default()
    }))?;
    let shared = Card::open(format!("unix:{}", socket.display()))?;
    // Until every frame of both cards has been touched.
    for _ in 0..WARMING {
        copy(&alone)?;
        copy(&shared)?;
    }
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        here.push(copy(&alone)?);
        let before = time_of(served.0.id())?;
        let client = copy(&shared)?;
        there.push(client + time_of(served.0.id())? - before);
    }
    Ok(median(here) / median(there))
}
