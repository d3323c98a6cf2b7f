//! Controller, link and CPU, clocked together.

use cpu::home::{Home, HomeError, HomeFigures};
use protocol::generate::GenerateError;

use super::controller::{Controller, ControllerError};
use super::model::{ControllerGeometry, ControllerModel};
use crate::link::Link;
use crate::model::ModelError;
use crate::platform::{LinkFigures, PlatformError};
use crate::system::{mesi, SystemError};

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// Failure of the controller.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// Failure of the CPU's home.
    #[error(transparent)]
    Cpu(#[from] HomeError),
    /// Failure of the model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// Invalid platform file.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// Violation of the protocol specification.
    #[error(transparent)]
    Protocol(#[from] Box<SystemError>),
    /// Failure of the table generator.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The system makes no progress.
    #[error("no progress in {cycles} cycles: {what}")]
    Stuck {
        /// Cycles waited.
        cycles: u64,
        /// The awaited event.
        what: String,
    },
}

/// Surroundings of a controller.
#[derive(Clone, Copy, Debug)]
pub struct SystemSetting<'a> {
    /// Size of the controller's cache.
    pub geometry: ControllerGeometry,
    /// Timing of the link.
    pub link: &'a LinkFigures,
    /// Timing of the CPU.
    pub cpu: HomeFigures,
    /// Period of the card's clock in picoseconds.
    pub period: u64,
    /// Probability of back-pressure on a port, in sixteenths.
    pub stalls: u64,
    /// Seed of jitter and back-pressure.
    pub seed: u64,
}

/// Controller, link and CPU.
pub struct CardSystem {
    /// The card's side.
    pub card: Controller,
    /// The CPU's side.
    pub cpu: Home,
    up: Link,
    down: Link,
    period: u64,
    cycle: u64,
}

impl CardSystem {
    /// Connects a controller, which is reset, and a CPU. The model may be in the middle of anything.
    ///
    /// # Errors
    /// [`CardError`].
    pub fn new(model: ControllerModel, setting: &SystemSetting<'_>) -> Result<Self, CardError> {
        let &SystemSetting {
            geometry,
            link,
            cpu,
            period,
            stalls,
            seed,
        } = setting;
        let spec = mesi().map_err(Box::new)?.spec;
        let data: Vec<bool> = spec.classes.iter().map(|class| class.data).collect();
        Ok(Self {
            card: Controller::new(model, geometry.sets, &spec, stalls, seed)?,
            cpu: Home::new(&spec, cpu, 1, seed ^ 0x5555),
            up: Link::new(link, &data, period, seed),
            down: Link::new(link, &data, period, !seed),
            period,
            cycle: 0,
        })
    }

    /// One clock of the card.
    ///
    /// # Errors
    /// [`CardError`].
    pub fn cycle(&mut self) -> Result<(), CardError> {
        let now = self.cycle * self.period;
        self.home_cycle(now)?;
        self.card.cycle(now, &mut self.up, &mut self.down)?;
        self.cycle += 1;
        Ok(())
    }

    /// The CPU takes what has arrived, works, and sends what the link takes.
    fn home_cycle(&mut self, now: u64) -> Result<(), HomeError> {
        self.cpu.set_time(now);
        for lane in 0..self.up.lanes() {
            while let Some(message) = self.up.take(lane, now) {
                self.cpu.receive(message);
            }
        }
        self.cpu.advance()?;
        for (lane, queue) in self.cpu.out.iter_mut().enumerate() {
            while !queue.is_empty() && self.down.can_send(lane, now) {
                if let Some(message) = queue.pop_front() {
                    self.down.send(lane, now, message);
                }
            }
        }
        Ok(())
    }

    /// Clocks since the start.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.cycle
    }

    /// Whether only the controller has work in progress.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.card.accesses.is_empty()
            && self.cpu.is_quiet()
            && self.up.is_empty()
            && self.down.is_empty()
    }
}
