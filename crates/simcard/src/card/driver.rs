//! What a driver does with the shell's registers: start, doorbells, reads that take their time.

use super::super::engine::Stop;
use super::super::rings::{CommandRing, COMMANDS_LOG2, EVENTS_LOG2};
use super::SimCard;
use card::guard::KernelWord;
use card::registers as reg;
use card::{Card, CardError};
use units::Picoseconds;

/// Edges of the reset at start-up.
const RESET_EDGES: u32 = 16;
/// Commands below which the driver asks the shell how many it has fetched.
const LOW_ROOM: usize = CommandRing::size() / 4;

impl SimCard {
    /// Reset, identification, rings: what a driver does when it finds a card.
    pub(super) fn start(&mut self) -> Result<(), CardError> {
        self.engine.reset(RESET_EDGES)?;
        let id = self.read_register(reg::ID)?;
        let version = self.read_register(reg::VERSION)?;
        if id != reg::ID_MAGIC || reg::version::MAJOR.get(version) != reg::VERSION_MAJOR {
            return Err(CardError::Broken(format!(
                "it identifies itself as 0x{id:08x}, version 0x{version:08x}: no shell of this \
                 version"
            )));
        }
        for queue in 0..self.commands.len() {
            let ring = self.map_host(self.commands[queue].memory().clone())?.get();
            let base = reg::QUEUE.at(queue as u32);
            for (offset, value) in [
                (reg::queue::BASE_LO, ring as u32),
                (reg::queue::BASE_HI, (ring >> 32) as u32),
                (reg::queue::SIZE_LOG2, COMMANDS_LOG2),
            ] {
                self.write_register(base + offset, value)?;
            }
        }
        let records = self.map_host(self.records.memory().clone())?.get();
        for (address, value) in [
            (reg::EVENT_BASE_LO, records as u32),
            (reg::EVENT_BASE_HI, (records >> 32) as u32),
            (reg::EVENT_SIZE_LOG2, EVENTS_LOG2),
            (reg::CONTROL, reg::control::ENABLE.put(1)),
        ] {
            self.write_register(address, value)?;
        }
        // A read after the writes: they have arrived.
        self.read_register(reg::STATUS)?;
        Ok(())
    }

    /// Tells the shell of commands that it does not know of.
    pub(super) fn ring_doorbell(&mut self) {
        for queue in 0..self.commands.len() {
            if let Some(tail) = self.commands[queue].ring() {
                let base = reg::QUEUE.at(queue as u32);
                self.post_register(base + reg::queue::TAIL, tail);
            }
        }
    }

    pub(super) fn post_register(&mut self, address: u32, value: u32) {
        let arrives = self.engine.link.register_write(self.engine.now());
        self.engine.around.bar.write(arrives, address, value);
        self.register_writes += 1;
    }

    /// A register read with everything that it brings about.
    pub(super) fn read(&mut self, address: u32) -> Result<u32, CardError> {
        self.read_noted(address).map(|word| word.value)
    }

    /// The same, with what the shell knows of the slot whose window it is.
    pub(super) fn read_noted(&mut self, address: u32) -> Result<KernelWord, CardError> {
        self.ring_doorbell();
        let arrives = self.engine.link.register_read_request(self.engine.now());
        self.engine.around.bar.read(arrives, address);
        self.register_reads += 1;
        let answer = loop {
            match self.run(Picoseconds::MAX, false)? {
                Stop::Answered => {
                    if let Some(answer) = self.engine.take_answer() {
                        break answer;
                    }
                }
                Stop::Idle => {
                    return Err(CardError::Broken(format!(
                        "register 0x{address:06x}: the shell does not answer"
                    )));
                }
                Stop::Reached | Stop::Noticed | Stop::Rung => {}
            }
        };
        let back = self.engine.link.register_read_response(answer.at);
        self.run(back, false)?;
        if answer.error {
            return Err(CardError::Bus {
                address,
                what: "read; the shell or the kernel answered with an error",
            });
        }
        Ok(KernelWord {
            value: answer.value,
            notes: answer.notes,
        })
    }

    pub(super) fn refresh_room(&mut self) -> Result<(), CardError> {
        for queue in 0..self.commands.len() {
            if self.commands[queue].room() < LOW_ROOM {
                let base = reg::QUEUE.at(queue as u32);
                let head = self.read(base + reg::queue::HEAD)?;
                self.commands[queue].fetched(head);
            }
        }
        Ok(())
    }
}
