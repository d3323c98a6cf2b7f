//! Detects a card that still answers reads but makes no progress, so that no wait is endless.
//!
//! A card completes its commands independently of kernels and hosts. While a command is outstanding some counter
//! therefore advances; if none does for `STOPPED`, the card has stopped.

use crate::access::Access;
use crate::transport::VfioTransport;
use card::driver::Driver;
use card::event::Event;
use card::registers as reg;
use card::CardError;
use units::Picoseconds;

/// Interval between checks of the counters. Whether the card responds is checked by the transport, in every wait.
const LOOK: Picoseconds = Picoseconds::from_millis(1000);
/// Time without progress after which a card counts as stopped. A simulated card on a loaded machine needs some seconds
/// for the largest table.
const STOPPED: Picoseconds = Picoseconds::from_millis(120_000);
const SECOND: u64 = 1_000_000_000_000;

/// The counters at their last change.
#[derive(Default)]
pub(crate) struct Watch {
    /// Time of the last check.
    looked: Picoseconds,
    /// Time of the last change; `None` while the card has no work.
    moved: Option<Picoseconds>,
    counts: Vec<u32>,
}

/// Waits as [`Driver::wait`] does, and fails if the card has stopped.
///
/// # Errors
/// [`CardError::Broken`], with registers and remedy; errors of the driver.
pub(crate) fn wait<D: Access>(
    driver: &mut Driver<VfioTransport<D>>,
    watch: &mut Watch,
    deadline: Option<Picoseconds>,
) -> Result<Vec<Event>, CardError> {
    loop {
        let slice = driver.transport().now() + LOOK;
        let end = deadline.map_or(slice, |at| at.min(slice));
        let events = driver.wait(Some(end))?;
        let now = driver.transport().now();
        if now >= watch.looked + LOOK {
            watch.looked = now;
            let result = watch.look(driver, now);
            driver.note(result)?;
        }
        if !events.is_empty() || deadline.is_some_and(|at| at <= now) {
            return Ok(events);
        }
    }
}

impl Watch {
    fn look<D: Access>(
        &mut self,
        driver: &mut Driver<VfioTransport<D>>,
        now: Picoseconds,
    ) -> Result<(), CardError> {
        if !driver.is_busy() {
            self.moved = None;
            return Ok(());
        }
        let counts = counts(driver)?;
        match self.moved {
            Some(since) if counts == self.counts => match now >= since + STOPPED {
                true => Err(stopped(driver, now - since)?),
                false => Ok(()),
            },
            _ => {
                self.counts = counts;
                self.moved = Some(now);
                Ok(())
            }
        }
    }
}

/// Reads every counter that advances while commands are outstanding.
fn counts<D: Access>(driver: &mut Driver<VfioTransport<D>>) -> Result<Vec<u32>, CardError> {
    let heads = (0..driver.description().queues)
        .map(|queue| reg::QUEUE.at(queue.into()) + reg::queue::HEAD);
    let counts = [
        reg::EVENT_TAIL,
        reg::ROWS_IN_LO,
        reg::ROWS_OUT_LO,
        reg::ROWS_ZEROED_LO,
        reg::WALK_READS_LO,
    ];
    let counts: Vec<u32> = counts.into_iter().chain(heads).collect();
    counts
        .into_iter()
        .map(|register| driver.read_register(register))
        .collect()
}

fn stopped<D: Access>(
    driver: &mut Driver<VfioTransport<D>>,
    since: Picoseconds,
) -> Result<CardError, CardError> {
    let name = driver.description().name.clone();
    let status = driver.read_register(reg::STATUS)?;
    let mut queues = Vec::new();
    for queue in 0..driver.description().queues {
        let base = reg::QUEUE.at(queue.into());
        let head = driver.read_register(base + reg::queue::HEAD)?;
        let tail = driver.read_register(base + reg::queue::TAIL)?;
        if head != tail {
            queues.push(format!(
                ", QUEUE {queue} has fetched {head} of {tail} commands"
            ));
        }
    }
    let address = name.strip_prefix("vfio:").unwrap_or(&name);
    let seconds = since.get() / SECOND;
    Ok(CardError::Broken(format!(
        "{name}: commands do not end, and nothing has moved for {seconds} s: register STATUS reads 0x{status:08x}{}; the \
         card has stopped: reset it (`echo 1 > /sys/bus/pci/devices/{address}/reset`) and open it anew, or program it anew",
        queues.concat()
    )))
}
