//! The coherent CPU attached to the card.

use super::super::link_port::LinkPort;
use super::Machine;
use card::coherent::{AccessId, LineAccess};
use card::event::Event;
use card::history::History;
use card::CardError;
use units::Picoseconds;

impl Machine {
    pub(crate) fn link(&mut self) -> Result<&mut LinkPort, CardError> {
        let card = &self.description.name;
        match self.engine.coherent() {
            Some(link) => Ok(link),
            None => Err(CardError::NotCoherent { card: card.clone() }),
        }
    }

    pub(crate) fn start_access(&mut self, access: &LineAccess) -> Result<AccessId, CardError> {
        let now = self.engine.now();
        let id = self.link()?.access(now, access)?;
        self.collect_accesses();
        Ok(id)
    }

    /// Turns completed accesses into events at the times at which their cores
    /// continue.
    pub(super) fn collect_accesses(&mut self) {
        let done = self.engine.coherent().map(LinkPort::take_done);
        for (id, at, line) in done.into_iter().flatten() {
            self.accesses.insert((at, id), line);
        }
    }

    pub(super) fn next_access(&self) -> Option<Picoseconds> {
        self.accesses.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn end_accesses(&mut self, now: Picoseconds, events: &mut Vec<Event>) {
        while let Some(entry) = self.accesses.first_entry() {
            let (at, id) = *entry.key();
            if at > now {
                break;
            }
            let line = entry.remove();
            events.push(Event::AccessDone { id, line });
        }
    }

    /// The recorded history of lines.
    pub(crate) fn line_history(&self) -> History {
        self.engine.line_history()
    }

    pub(crate) fn has_link(&mut self) -> bool {
        self.engine.coherent().is_some()
    }
}
