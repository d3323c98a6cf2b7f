//! Hosts at the socket: one that follows the protocol, and many that do not.

use device::{serve, Connection, Function, Interrupts, Probe, ProbeRegister, DEVICE, VENDOR};
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{channel, Receiver};
use std::thread::JoinHandle;
use std::time::Duration;
use vfio_bindings::bindings::vfio::{
    VFIO_PCI_BAR0_REGION_INDEX as BAR, VFIO_PCI_CONFIG_REGION_INDEX as CONFIGURATION,
};
use vfio_user::Client;

/// A served probe, with how its connections ended.
struct Device {
    folder: tempfile::TempDir,
    ends: Receiver<Connection>,
    thread: JoinHandle<()>,
}

impl Device {
    /// Serves this many hosts.
    fn serve(hosts: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let (sender, ends) = channel();
        let thread = std::thread::spawn(move || {
            let interrupts = Interrupts::default();
            let function = Function::new(Probe::new(interrupts.clone()), interrupts);
            let mut left = hosts;
            serve(&socket, function, |end| {
                left -= 1;
                sender.send(end).unwrap();
                left > 0
            })
            .unwrap();
        });
        let device = Self {
            folder,
            ends,
            thread,
        };
        // The socket file exists shortly before the server listens.
        while std::fs::metadata(device.socket()).is_err() {
            std::thread::yield_now();
        }
        std::thread::sleep(Duration::from_millis(20));
        device
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn ended(&self) -> Connection {
        self.ends.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

fn word(client: &mut Client, region: u32, at: u64) -> u32 {
    let mut word = [0; 4];
    client.region_read(region, at, &mut word).unwrap();
    u32::from_le_bytes(word)
}

fn set(client: &mut Client, register: ProbeRegister, value: u32) {
    client
        .region_write(BAR, register as u64, &value.to_le_bytes())
        .unwrap();
}

fn copy(client: &mut Client, source: u64, target: u64, bytes: u32) -> u32 {
    set(client, ProbeRegister::SourceLow, source as u32);
    set(client, ProbeRegister::SourceHigh, (source >> 32) as u32);
    set(client, ProbeRegister::TargetLow, target as u32);
    set(client, ProbeRegister::TargetHigh, (target >> 32) as u32);
    set(client, ProbeRegister::Copy, bytes);
    word(client, BAR, ProbeRegister::Copied as u64)
}

fn sealed(bytes: u64) -> File {
    let file = memfd_create("guest", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, bytes).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    File::from(file)
}

#[test]
fn a_host_reaches_registers_and_the_device_only_what_is_mapped() {
    let device = Device::serve(2);
    let mut client = Client::new(&device.socket()).unwrap();
    let identity = u32::from(DEVICE) << 16 | u32::from(VENDOR);
    assert_eq!(word(&mut client, CONFIGURATION, 0), identity);
    assert_eq!(word(&mut client, BAR, 0), Probe::MAGIC);
    // Narrow reads return parts of registers; narrow writes have no effect.
    let mut bytes = [0; 3];
    client.region_read(BAR, 1, &mut bytes).unwrap();
    assert_eq!(bytes, Probe::MAGIC.to_le_bytes()[1..]);
    set(&mut client, ProbeRegister::Scratch, 7);
    client.region_write(BAR, 4, &[1, 2]).unwrap();
    assert_eq!(word(&mut client, BAR, 4), 7);

    let memory = sealed(4 << 12);
    memory.write_all_at(&[0x5a; 4 << 12], 0).unwrap();
    let map = |client: &mut Client, page: u64, address| {
        client.dma_map(page << 12, address, 1 << 12, memory.as_raw_fd())
    };
    // Two adjacent pages that are in reverse order in the file; its other two are never mapped.
    map(&mut client, 2, 0x10000).unwrap();
    map(&mut client, 1, 0x11000).unwrap();
    assert_eq!(
        copy(&mut client, 0x10000, 0x10800, 0x800),
        0,
        "no bus master"
    );
    client
        .region_write(CONFIGURATION, 4, &6u16.to_le_bytes())
        .unwrap();
    assert_eq!(copy(&mut client, 0x10000, 0x10c00, 0x800), 0x800);
    assert_eq!(
        copy(&mut client, 0x10000, 0x11f00, 0x800),
        0x100,
        "to the end of the map"
    );
    assert_eq!(
        copy(&mut client, 0x0ff00, 0x10000, 0x800),
        0,
        "from before it"
    );
    assert_eq!(copy(&mut client, u64::MAX - 7, 0x10000, 64), 0);
    let mut all = vec![0; 4 << 12];
    memory.read_exact_at(&mut all, 0).unwrap();
    let expected = |page: usize, at: usize| match (page, at) {
        (2, 0xc00..) | (1, ..0x400) | (1, 0xf00..) => 0xa5,
        _ => 0x5a,
    };
    assert!((0..4 << 12).all(|at| all[at] == expected(at >> 12, at & 0xfff)));
    client.dma_unmap(0x10000, 1 << 12).unwrap();
    assert_eq!(copy(&mut client, 0x10000, 0x11000, 64), 0);
    assert_eq!(copy(&mut client, 0x11000, 0x11040, 64), 64);
    // A reset ends bus mastering.
    client.reset().unwrap();
    assert_eq!(word(&mut client, BAR, 4), 0);
    assert_eq!(copy(&mut client, 0x11000, 0x11040, 64), 0);
    client.shutdown().unwrap();
    drop(client);
    assert!(matches!(device.ended(), Connection::Closed));

    // The next host finds no state of the first.
    let mut client = Client::new(&device.socket()).unwrap();
    assert_eq!(word(&mut client, CONFIGURATION, 4) & 0xffff, 0);
    client
        .region_write(CONFIGURATION, 4, &6u16.to_le_bytes())
        .unwrap();
    assert_eq!(copy(&mut client, 0x11000, 0x11040, 64), 0);
    drop(client);
    device.ended();
    device.thread.join().unwrap();
}

#[test]
fn memory_that_may_vanish_or_is_not_there_is_refused() {
    let bad: [(&str, File, u64, u64); 4] = [
        ("not sealed", tempfile::tempfile().unwrap(), 0, 4096),
        ("behind its end", sealed(4096), 4096, 4096),
        ("no whole page", sealed(4096), 0, 100),
        ("endless", sealed(4096), 0, u64::MAX - 4095),
    ];
    bad[0].1.set_len(4096).unwrap();
    let device = Device::serve(bad.len());
    for (what, file, offset, bytes) in &bad {
        let mut client = Client::new(&device.socket()).unwrap();
        let _ = client.region_write(CONFIGURATION, 4, &6u16.to_le_bytes());
        let _ = client.dma_map(*offset, 0x10000, *bytes, file.as_raw_fd());
        // The connection may have ended; if not, nothing is mapped.
        let answers = client.region_write(BAR, 0x18, &64u32.to_le_bytes()).is_ok();
        if answers {
            assert_eq!(copy(&mut client, 0x10000, 0x10000, 64), 0, "{what}");
        }
        drop(client);
        println!("{what}: {:?}", device.ended());
    }
    device.thread.join().unwrap();
}

/// xorshift64*: the same clients in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

fn message(command: u16, size: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::from(1u16.to_le_bytes());
    bytes.extend(command.to_le_bytes());
    bytes.extend(size.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(0u32.to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn version() -> Vec<u8> {
    let text = b"{\"capabilities\":{\"max_msg_fds\":8}}\0";
    let mut payload = vec![0, 0, 1, 0];
    payload.extend(text);
    message(1, 16 + payload.len() as u32, 0, &payload)
}

#[test]
fn lying_hosts_end_their_connection_and_nothing_else() {
    const HOSTS: u64 = 400;
    let device = Device::serve(HOSTS as usize + 1);
    for seed in 1..=HOSTS {
        let mut random = Random(seed);
        let mut stream = UnixStream::connect(device.socket()).unwrap();
        let timeout = Some(Duration::from_millis(20));
        stream.set_read_timeout(timeout).unwrap();
        if random.below(4) > 0 {
            let _ = stream.write_all(&version());
        }
        for _ in 0..random.below(6) {
            // Words with a meaning in some field: regions, small sizes, ends of ranges.
            let payload: Vec<u8> = (0..random.below(12))
                .flat_map(|_| {
                    let word = match random.below(6) {
                        0 => u32::MAX,
                        1 => random.next() as u32,
                        2 => 0x1000,
                        _ => random.below(40) as u32,
                    };
                    word.to_le_bytes()
                })
                .collect();
            let size = match random.below(5) {
                0 => random.below(80) as u32,
                1 => random.next() as u32,
                _ => 16 + payload.len() as u32,
            };
            let command = random.below(17) as u16;
            let flags = [0, 0, 0, 1, 0x10, 0x20, 0xffff_ffff][random.below(7) as usize];
            if stream
                .write_all(&message(command, size, flags, &payload))
                .is_err()
            {
                break;
            }
            let _ = stream.read(&mut [0; 4096]);
        }
        drop(stream);
        device.ended();
    }
    // The next host is served.
    let mut client = Client::new(&device.socket()).unwrap();
    assert_eq!(word(&mut client, BAR, 0), Probe::MAGIC);
    drop(client);
    device.ended();
    device.thread.join().unwrap();
}
