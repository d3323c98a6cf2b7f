//! A card that answers reads and does nothing any more is found out: nobody waits for it without end.
//!
//! What a card has been given it ends by itself; commands wait for no kernel and no host. So while one is under way some
//! count moves, and where none does for long the card has stopped.

use crate::access::Access;
use crate::transport::VfioTransport;
use card::driver::Driver;
use card::event::Event;
use card::registers as reg;
use card::CardError;
use units::Picoseconds;

/// Between two looks.
const LOOK: Picoseconds = Picoseconds::from_millis(1000);
/// Without a count that moves. A card that is simulated, on a machine that does other things, needs some seconds for the
/// largest table.
const STOPPED: Picoseconds = Picoseconds::from_millis(120_000);
const SECOND: u64 = 1_000_000_000_000;

/// What was seen when a count moved last.
#[derive(Default)]
pub(crate) struct Watch {
    /// When the card was looked at last.
    looked: Picoseconds,
    /// When the counts moved last; none: the card has had nothing to do.
    moved: Option<Picoseconds>,
    counts: Vec<u32>,
}

/// Waits as [`Driver::wait`] does, and fails where the card has stopped.
///
/// # Errors
/// [`CardError::Broken`], with registers and remedy; those of the driver.
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
        driver.transport().check_present()?;
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

/// Everything that moves while commands are under way.
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
