//! A stopped peer: how long its client remains unaware in each operation, and whether the peer is usable afterwards.

use crate::bars::served::Server;
use crate::bars::{the_command, Failure};
use std::time::{Duration, Instant};
use tombolo::{
    AddressSpace, Card, Continue, Device, Flow, FunctionalCard, FunctionalConfig, MapOptions,
    RemoteMemory, Slot, SlotId,
};

const BYTES: usize = 32 << 20;

/// The longest time in ms from the stop of a peer to the error, over all operations. Fails if an operation succeeds, or
/// if the peer is unreachable after it was resumed.
pub(super) fn longest() -> Result<f64, Failure> {
    let server = Server::start(&the_command()?, "256MiB".as_ref())?;
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        streams_per_slot: 1,
        ..FunctionalConfig::default()
    }))?;
    let space = card.create_space()?;
    let mut worst = Duration::ZERO;
    for way in ["", "fabric+tcp://", "fabric+shm://"] {
        let address = format!("{way}{}", server.address());
        for what in ["read", "write", "device", "mapping", "connect"] {
            // With the default timeout.
            let mut memory = RemoteMemory::connect(&address, RemoteMemory::TIMEOUT)?;
            let mut bytes = vec![3; BYTES];
            memory.write(0, &bytes[..5000])?;
            let kernel = simcard::home().join("kernels/loopback");
            let slot = card.load(SlotId(0), &kernel, &space)?;
            let name = format!("remote:{address}");
            let (failed, took) = match what {
                "read" => stopped(&server, || memory.read(0, &mut bytes).is_err()),
                "write" => stopped(&server, || memory.write(0, &bytes).is_err()),
                "connect" => stopped(&server, || {
                    RemoteMemory::connect(&address, RemoteMemory::TIMEOUT).is_err()
                }),
                "device" => flow(&server, &space, &slot, &name)?,
                _ => {
                    let mapping = space.map_remote(memory, MapOptions::read_only())?;
                    let input = slot.open_stream("in")?;
                    input.read(mapping.slice(1 << 20, 1 << 20)?)?;
                    let result = stopped(&server, || input.wait(None, |_| Continue::Yes).is_err());
                    let _ = mapping.unmap();
                    result
                }
            };
            eprintln!("stopped peer, {what} by {way:?}: {took:.2?}");
            if !failed {
                return Err(format!("{what} by {address}: no error of a stopped peer").into());
            }
            worst = worst.max(took);
        }
    }
    Ok(worst.as_secs_f64() * 1e3)
}

/// Duration of an operation while the peer is stopped.
fn stopped(server: &Server, mut what: impl FnMut() -> bool) -> (bool, Duration) {
    server.signal(libc::SIGSTOP);
    let since = Instant::now();
    let failed = what();
    let took = since.elapsed();
    server.signal(libc::SIGCONT);
    (failed, took)
}

/// A stream to the peer, which is stopped while it runs.
fn flow(
    server: &Server,
    space: &AddressSpace,
    slot: &Slot,
    name: &str,
) -> Result<(bool, Duration), Failure> {
    let mut flow = Flow::new(space);
    flow.plug(slot, "in", Device::parse("pipe:/dev/zero".as_ref())?)?;
    flow.plug(slot, "out", Device::parse(name.as_ref())?)?;
    let (result, took) = std::thread::scope(|scope| {
        let since = scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            server.signal(libc::SIGSTOP);
            Instant::now()
        });
        let result = flow.run(None, |_| Continue::Yes);
        let end = Instant::now();
        let since = since.join().unwrap_or(end);
        (result, end.saturating_duration_since(since))
    });
    server.signal(libc::SIGCONT);
    // Not an error about insufficient space.
    let silent = |error: tombolo::Error| error.to_string().contains("no answer within");
    Ok((result.is_err_and(silent), took))
}
