//! Controller, link and CPU, clocked together.

use std::path::Path;

use cpu::home::{Home, HomeError, HomeFigures};
use protocol::generate::GenerateError;

use super::controller::{Controller, ControllerError};
use super::model::Geometry;
use crate::link::Link;
use crate::model::ModelError;
use crate::platform::{LinkFigures, PlatformError};
use crate::system::{mesi, SystemError};

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum CardError {
    /// The controller.
    #[error(transparent)]
    Controller(#[from] ControllerError),
    /// The CPU.
    #[error(transparent)]
    Cpu(#[from] HomeError),
    /// The model.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The platform file.
    #[error(transparent)]
    Platform(#[from] PlatformError),
    /// The specification.
    #[error(transparent)]
    Protocol(#[from] Box<SystemError>),
    /// The generator.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// Nothing ends any more.
    #[error("no progress in {cycles} cycles: {what}")]
    Stuck {
        /// How long was waited.
        cycles: u64,
        /// For what.
        what: String,
    },
}

/// Controller, link and CPU.
pub struct CardSystem {
    /// The card.
    pub card: Controller,
    /// The CPU.
    pub cpu: Home,
    up: Link,
    down: Link,
    period: u64,
    cycle: u64,
}

impl CardSystem {
    /// Joins a controller of `library` and a CPU.
    ///
    /// # Errors
    /// [`CardError`].
    pub fn new(
        library: &Path,
        geometry: Geometry,
        link: &LinkFigures,
        cpu: HomeFigures,
        period: u64,
        stalls: u64,
        seed: u64,
    ) -> Result<Self, CardError> {
        let spec = mesi().map_err(Box::new)?.spec;
        let data: Vec<bool> = spec.classes.iter().map(|class| class.data).collect();
        Ok(Self {
            card: Controller::new(library, geometry.sets, &spec, stalls, seed)?,
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

    /// Nothing is under way but what the controller has in hand.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.card.accesses.is_empty()
            && self.cpu.is_quiet()
            && self.up.is_empty()
            && self.down.is_empty()
    }
}
