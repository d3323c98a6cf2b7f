//! Accesses of the coherent CPU attached to the card.

use super::super::link_port::LinkPort;
use card::coherent::{AccessEnd, AccessId, LineAccess};
use card::event::Event;
use card::CardError;
use std::collections::BTreeMap;
use units::Picoseconds;

/// Completed accesses until the times at which their cores continue.
#[derive(Default)]
pub(super) struct CpuAccesses {
    ends: BTreeMap<(Picoseconds, AccessId), AccessEnd>,
}

impl CpuAccesses {
    /// Starts an access.
    pub(super) fn start(
        &mut self,
        link: &mut LinkPort,
        now: Picoseconds,
        access: &LineAccess,
    ) -> Result<AccessId, CardError> {
        let id = link.access(now, access)?;
        self.collect(link);
        Ok(id)
    }

    /// Takes the accesses that the link has completed.
    pub(super) fn collect(&mut self, link: &mut LinkPort) {
        for (id, at, line) in link.take_done() {
            self.ends.insert((at, id), line);
        }
    }

    /// The next time at which a core continues.
    pub(super) fn next_event(&self) -> Option<Picoseconds> {
        self.ends.first_key_value().map(|((at, _), _)| *at)
    }

    /// Reports the accesses that have ended.
    pub(super) fn end(&mut self, now: Picoseconds, events: &mut Vec<Event>) {
        while let Some(entry) = self.ends.first_entry() {
            let (at, id) = *entry.key();
            if at > now {
                break;
            }
            let line = entry.remove();
            events.push(Event::AccessDone { id, line });
        }
    }
}
