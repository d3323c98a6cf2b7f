//! Growth of page tables when a set is full and the table is not nearly empty.

use crate::config::MAX_SETS_LOG2;
use crate::issue::{Meaning, Step};
use crate::space::OldTable;
use crate::translate::Translation;
use units::{Asid, TableGeometry};
use units::{CommandStatus, Operation};

impl Translation<'_> {
    /// Moves a space's table to one twice as large, if it is full enough, below the size limit, and card memory has
    /// room. The image moves immediately: table commands run in order.
    pub(crate) fn grow_table(&mut self, asid: Asid, steps: &mut Vec<Step>) {
        let Some(space) = self.spaces.space_mut(asid) else {
            return;
        };
        let old = space.table.geometry();
        let capacity = (TableGeometry::WAYS as u64) << old.sets_log2();
        let entries = space.table.entries().len() as u64;
        let full = entries * 100 >= capacity * u64::from(self.config.grow_percent);
        let most = self.config.max_sets_log2.min(MAX_SETS_LOG2);
        let may = space.old_table.is_none() && old.sets_log2() < most;
        if !full || !may {
            return;
        }
        let channels = space.channels.clone();
        let Some((table, frame)) = self.memory.allocate_table(channels, old.sets_log2() + 1) else {
            return;
        };
        space.old_table = Some(OldTable {
            frame: space.table_frame,
            sets_log2: old.sets_log2(),
        });
        space.table_frame = frame;
        space.table.grow(table);
        self.counts.add(|total| total.tables_grown += 1);
        let grow = Operation::Grow { asid, table };
        steps.push(Step::new(grow, Some(Meaning::TableGrown(asid))));
    }

    /// Handles the end of a move: the old table's memory is freed. If the move failed, the card is broken, and both
    /// tables are kept.
    pub(crate) fn table_grown(&mut self, asid: Asid, status: CommandStatus) {
        let Some(space) = self.spaces.space_mut(asid) else {
            return;
        };
        if status != CommandStatus::Ok {
            return;
        }
        if let Some(old) = space.old_table.take() {
            self.memory.release_table(old.frame, old.sets_log2);
        }
    }
}
