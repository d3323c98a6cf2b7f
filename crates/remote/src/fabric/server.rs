//! The server, which has the memory: it registers it for one client, and polls the library while this client works.

use super::{sys, Endpoint, FabricError, Region};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time for which the library is polled without pauses after a `Work` message of the client.
const AWAKE: Duration = Duration::from_millis(5);
/// Interval of polls afterwards.
const NAP: Duration = Duration::from_millis(2);

/// Memory that one client accesses, until drop.
pub(crate) struct Served {
    shared: Arc<ServedState>,
    thread: Option<JoinHandle<()>>,
    name: Vec<u8>,
    key: u64,
    base: u64,
}

struct ServedState {
    // Closed before the endpoint.
    _region: Region,
    endpoint: Endpoint,
    began: Instant,
    /// Time of the client's last `Work` message, in µs since `began`.
    woken: AtomicU64,
    ended: AtomicBool,
    /// The client's connection.
    client: TcpStream,
}

impl ServedState {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX)
    }
}

impl Served {
    /// Opens an endpoint for a client, at the local address of its connection.
    ///
    /// # Safety
    /// The memory stays valid until this is dropped.
    pub(crate) unsafe fn open(
        provider: &str,
        client: &TcpStream,
        (start, bytes, writable): (*mut u8, usize, bool),
        key: u64,
    ) -> Result<Self, FabricError> {
        let failed = |error: std::io::Error| FabricError::Call {
            call: "the client's connection",
            why: error.to_string(),
        };
        let local = client.local_addr().map_err(failed)?.ip();
        let client = client.try_clone().map_err(failed)?;
        let endpoint = Endpoint::open(provider, local)?;
        let access = match writable {
            true => sys::REMOTE_READ | sys::REMOTE_WRITE,
            false => sys::REMOTE_READ,
        };
        let key = match endpoint.mr_mode() & sys::MR_PROV_KEY {
            // Providers take keys of 32 bits at least.
            0 => key & 0xffff_ffff,
            _ => 0,
        };
        // SAFETY: the caller guarantees it.
        let region = unsafe { endpoint.register(start.cast(), bytes, access, key) }?;
        let base = match endpoint.mr_mode() & sys::MR_VIRT_ADDR {
            0 => 0,
            _ => start as u64,
        };
        let (name, key) = (endpoint.name()?, region.key());
        let shared = Arc::new(ServedState {
            _region: region,
            endpoint,
            began: Instant::now(),
            woken: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            client,
        });
        let working = shared.clone();
        let thread = threads::spawn("tombolo-fabric", move || work(&working));
        let thread = thread.map_err(|error| FabricError::Call {
            call: "a thread for it",
            why: error.to_string(),
        })?;
        Ok(Self {
            shared,
            thread: Some(thread),
            name,
            key,
            base,
        })
    }

    /// Data for the client: key, address of the first byte, name of the endpoint.
    pub(crate) fn ticket(&self) -> (u64, u64, &[u8]) {
        (self.key, self.base, &self.name)
    }

    /// Records that the client works.
    pub(crate) fn wake(&self) {
        self.shared
            .woken
            .store(self.shared.now(), Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Polls the library: many providers make progress only when they are polled for completions.
fn work(shared: &ServedState) {
    // Requests of a disconnected client must not be performed: some providers (shm) would access its memory.
    while !shared.ended.load(Ordering::Acquire) && !is_gone(&shared.client) {
        for _ in 0..32 {
            if let Err(error) = shared.endpoint.poll() {
                // It concerns the client, which gets the error on its side.
                tracing::debug!(%error, "serving memory");
            }
        }
        let idle = shared.now() - shared.woken.load(Ordering::Acquire).min(shared.now());
        match Duration::from_micros(idle) > AWAKE {
            true => std::thread::park_timeout(NAP),
            false => std::thread::yield_now(),
        }
    }
}

/// Whether the other side of a connection has closed it.
fn is_gone(client: &TcpStream) -> bool {
    let mut byte = 0u8;
    let how = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: a byte, and room for it.
    let got = unsafe { libc::recv(client.as_raw_fd(), (&raw mut byte).cast(), 1, how) };
    let waits = std::io::Error::last_os_error().kind();
    got == 0
        || (got < 0
            && !matches!(
                waits,
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
            ))
}
