//! CPU, link and home, clocked together.

use protocol::generate::Protocol;
use protocol::spec::Spec;

use crate::cache::{Cache, Unexpected};
use crate::home::{Directory, HomeError};
use crate::link::Link;
use crate::platform::{LinkFigures, PlatformError};

/// The home agent of the lines.
pub trait Home {
    /// One clock: takes messages from `up`, sends on `down`.
    ///
    /// # Errors
    /// [`HomeError`].
    fn cycle(&mut self, now: u64, up: &mut Link, down: &mut Link) -> Result<(), HomeError>;

    /// Nothing is under way.
    fn is_quiet(&self) -> bool;

    /// The protocol's rules.
    fn spec(&self) -> &Spec;
}

impl Home for Directory {
    fn cycle(&mut self, now: u64, up: &mut Link, down: &mut Link) -> Result<(), HomeError> {
        Directory::cycle(self, now, up, down)
    }

    fn is_quiet(&self) -> bool {
        Directory::is_quiet(self)
    }

    fn spec(&self) -> &Spec {
        self.rules()
    }
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum SystemError {
    /// Failure of the home agent.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The cache received an unexpected message.
    #[error(transparent)]
    Cache(#[from] Unexpected),
    /// The platform file.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// Invalid protocol table.
    #[error(transparent)]
    Protocol(#[from] cpu::ProtocolError),
    /// Nothing ends any more.
    #[error("no progress in {cycles} cycles: {what}")]
    Stuck {
        /// How long was waited.
        cycles: u64,
        /// For what.
        what: String,
    },
}

/// The MESI protocol of `protocols/mesi.protocol`, which the RTL was generated from.
///
/// # Errors
/// [`SystemError`], if the file of the protocol is not valid.
pub fn mesi() -> Result<Protocol, SystemError> {
    Ok(cpu::mesi()?)
}

/// CPU, link and home.
pub struct System<H> {
    /// The CPU's cache.
    pub cache: Cache,
    /// The home agent.
    pub home: H,
    up: Link,
    down: Link,
    period: u64,
    cycle: u64,
    /// The CPU's lane that may send next.
    turn: usize,
}

impl<H: Home> System<H> {
    /// Joins a cache and a home of the same number of slices.
    #[must_use]
    pub fn new(
        cache: Cache,
        home: H,
        link: &LinkFigures,
        period: u64,
        slices: usize,
        seed: u64,
    ) -> Self {
        let classes = &home.spec().classes;
        let data: Vec<bool> = (0..slices)
            .flat_map(|_| classes.iter().map(|class| class.data))
            .collect();
        let up = Link::new(link, &data, period, seed);
        let down = Link::new(link, &data, period, !seed);
        Self {
            cache,
            home,
            up,
            down,
            period,
            cycle: 0,
            turn: 0,
        }
    }

    /// One clock of the home.
    ///
    /// # Errors
    /// [`SystemError`].
    pub fn cycle(&mut self) -> Result<(), SystemError> {
        let now = self.cycle * self.period;
        for lane in 0..self.down.lanes() {
            while let Some(message) = self.down.take(lane, now) {
                self.cache.receive(message)?;
            }
        }
        self.send_up(now);
        self.home.cycle(now, &mut self.up, &mut self.down)?;
        self.cycle += 1;
        Ok(())
    }

    /// The CPU's lanes take turns at the wire, a message each.
    fn send_up(&mut self, now: u64) {
        let lanes = self.cache.out.len();
        let mut refused = 0;
        while refused < lanes {
            let lane = self.turn;
            self.turn = (self.turn + 1) % lanes;
            refused += 1;
            if !self.up.can_send(lane, now) {
                continue;
            }
            if let Some(message) = self.cache.out[lane].pop_front() {
                self.up.send(lane, now, message);
                refused = 0;
            }
        }
    }

    /// Virtual time.
    #[must_use]
    pub fn now_ps(&self) -> u64 {
        self.cycle * self.period
    }

    /// Clocks since the start.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Lines of data that reached the CPU, and the home.
    #[must_use]
    pub fn delivered(&self) -> (u64, u64) {
        (self.down.delivered(), self.up.delivered())
    }

    /// Clocks until nothing is under way.
    ///
    /// # Errors
    /// [`SystemError::Stuck`] after `most` cycles.
    pub fn drain(&mut self, most: u64) -> Result<(), SystemError> {
        for _ in 0..most {
            let quiet = self.cache.is_quiet() && self.up.is_empty() && self.down.is_empty();
            if quiet && self.home.is_quiet() {
                return Ok(());
            }
            self.cycle()?;
        }
        Err(SystemError::Stuck {
            cycles: most,
            what: "something is still under way".to_owned(),
        })
    }
}
