//! Register reads that take no virtual time: from a second, isolated instance of the shell's model, which lives
//! until the card is used.

use super::super::bus::Finder;
use super::super::model::{Instance, Model, ModelFailure, NumberPin, Pin};
use super::RESET_EDGES;
use crate::error::not_built;
use card::driver::Answer;
use card::{CardDescription, CardError};
use std::rc::Rc;
use units::Picoseconds;
use verilated::BuildError;

/// Maximum number of edges until the shell answers a register read.
const TIMEOUT_CYCLES: u32 = 64;

/// A shell that only answers register reads.
pub(super) struct ShellProbe {
    shell: Instance,
    araddr: NumberPin,
    arvalid: Pin<u8>,
    rready: Pin<u8>,
    rvalid: Pin<u8>,
    rdata: NumberPin,
    rresp: Pin<u8>,
}

impl ShellProbe {
    /// A shell that has just left reset.
    pub(super) fn new(model: &Rc<Model>, card: &CardDescription) -> Result<Self, CardError> {
        let shell = Instance::new(model).map_err(not_built)?;
        say_card(&shell, card).map_err(not_built)?;
        let find = Finder {
            shell: &shell,
            prefix: "bar",
            element: 0,
        };
        let pins = || -> Result<_, BuildError> {
            let reset = Finder {
                prefix: "rst",
                ..find
            };
            Ok((
                find.number("araddr_i")?,
                find.pin("arvalid_i")?,
                find.pin("rready_i")?,
                find.pin("rvalid_o")?,
                find.number("rdata_o")?,
                find.pin("rresp_o")?,
                reset.pin::<u8>("ni")?,
            ))
        };
        let (araddr, arvalid, rready, rvalid, rdata, rresp, reset) = pins().map_err(not_built)?;
        let mut probe = Self {
            shell,
            araddr,
            arvalid,
            rready,
            rvalid,
            rdata,
            rresp,
        };
        reset.set(0);
        probe.shell.start().map_err(failed)?;
        for _ in 0..RESET_EDGES {
            probe.edge()?;
        }
        reset.set(1);
        probe.rready.set(1);
        Ok(probe)
    }

    /// Reads a register.
    pub(super) fn read(&mut self, address: u32) -> Result<Answer, CardError> {
        self.araddr.set(address.into());
        self.arvalid.set(1);
        self.edge()?;
        self.arvalid.set(0);
        for _ in 0..TIMEOUT_CYCLES {
            self.edge()?;
            if self.rvalid.high() {
                let answer = Answer {
                    value: self.rdata.get() as u32,
                    error: self.rresp.get() != 0,
                    notes: None,
                };
                // The address is accepted.
                self.edge()?;
                return Ok(answer);
            }
        }
        Err(CardError::Broken(format!(
            "register 0x{address:06x}: the shell does not answer"
        )))
    }

    fn edge(&mut self) -> Result<(), CardError> {
        self.shell.settle(Picoseconds::ZERO).map_err(failed)?;
        self.shell.edge(Picoseconds::ZERO).map_err(failed)
    }
}

fn failed(failure: ModelFailure) -> CardError {
    CardError::Broken(format!("the shell failed: {}", failure.reason))
}

/// Ties the pins that describe the card, as the top of a board does.
pub(super) fn say_card(shell: &Instance, card: &CardDescription) -> Result<(), BuildError> {
    let find = Finder {
        shell,
        prefix: "card",
        element: 0,
    };
    find.number("clock_period_i")?.set(card.clock_period.get());
    find.number("channel_bytes_i")?.set(card.channel_bytes);
    Ok(())
}
