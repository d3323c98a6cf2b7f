//! Commands and I/O under way, and what they are for.

use crate::action::Action;
use crate::error::Direction;
use crate::ids::{IoId, ObjectPage};
use std::collections::BTreeMap;
use units::{Asid, CommandId, Operation};

/// What the completion of a command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Meaning {
    /// A page table is zeroed.
    TableZeroed(Asid),
    /// A page table has moved to a larger one.
    TableGrown(Asid),
    /// A part of a page's data is in its frame.
    Loaded(ObjectPage),
    /// The data is in the frame, the entries are written, the accesses answered.
    Installed(ObjectPage),
    /// An Invalidate or Protect has drained and reported.
    Reported(ObjectPage),
    /// A ReadClear has reported.
    Examined(ObjectPage),
    /// The frame's data is in the buffer.
    CopiedOut(ObjectPage),
    /// A piece of it is.
    PieceOut(ObjectPage, u8),
}

impl Meaning {
    /// The same of a page that this one is a part of now.
    pub(crate) fn of(self, page: ObjectPage) -> Self {
        match self {
            Self::Reported(_) => Self::Reported(page),
            other => other,
        }
    }

    pub(crate) fn page(self) -> Option<ObjectPage> {
        match self {
            Self::TableZeroed(_) | Self::TableGrown(_) => None,
            Self::Loaded(page)
            | Self::Installed(page)
            | Self::Reported(page)
            | Self::Examined(page)
            | Self::CopiedOut(page)
            | Self::PieceOut(page, _) => Some(page),
        }
    }
}

/// A command that is about to be issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    /// For which space, where the operation does not say it.
    pub(crate) space: Option<Asid>,
    pub(crate) fence: bool,
    /// What its completion means; `None`: only a failure is of interest.
    pub(crate) meaning: Option<Meaning>,
}

impl Step {
    /// The same for a space.
    pub(crate) fn of(self, space: Option<Asid>) -> Self {
        Self { space, ..self }
    }

    pub(crate) fn new(operation: Operation, meaning: Option<Meaning>) -> Self {
        Self {
            operation,
            space: operation.table(),
            fence: false,
            meaning,
        }
    }
}

/// What I/O is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Io {
    /// Bytes between an object and a buffer.
    Move(Direction),
    /// A piece of a page between an object and a buffer, beside others.
    Piece(u8),
    /// Another protection of a page of host memory.
    Protect,
}

/// What has been issued and not yet answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issued {
    next_operation: u32,
    next_io: u64,
    operations: BTreeMap<CommandId, Meaning>,
    io: BTreeMap<IoId, (ObjectPage, Io)>,
}

impl Issued {
    /// Issues a command. A completion is asked for when it has a meaning.
    pub(crate) fn command(&mut self, step: Step, out: &mut Vec<Action>) {
        let mut id = CommandId(self.next_operation);
        while self.operations.contains_key(&id) {
            id.0 = id.0.wrapping_add(1);
        }
        self.next_operation = id.0.wrapping_add(1);
        if let Some(meaning) = step.meaning {
            self.operations.insert(id, meaning);
        }
        out.push(Action::Command {
            id,
            operation: step.operation,
            space: step.space,
            fence: step.fence,
            notify: step.meaning.is_some(),
        });
    }

    /// A name for new I/O.
    pub(crate) fn io(&mut self, page: ObjectPage, direction: Direction) -> IoId {
        self.begin_io(page, Io::Move(direction))
    }

    /// A name for the read, or the write, of a piece.
    pub(crate) fn piece(&mut self, page: ObjectPage, number: u8) -> IoId {
        self.begin_io(page, Io::Piece(number))
    }

    /// Reads and writes of pieces under way, of each page.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = ObjectPage> + '_ {
        let all = self.io.values();
        all.filter_map(|(page, io)| matches!(io, Io::Piece(_)).then_some(*page))
    }

    /// A name for a change of protection.
    pub(crate) fn protect(&mut self, page: ObjectPage) -> IoId {
        self.begin_io(page, Io::Protect)
    }

    fn begin_io(&mut self, page: ObjectPage, what: Io) -> IoId {
        let id = IoId(self.next_io);
        self.next_io += 1;
        self.io.insert(id, (page, what));
        id
    }

    pub(crate) fn operation_done(&mut self, id: CommandId) -> Option<Meaning> {
        self.operations.remove(&id)
    }

    pub(crate) fn io_done(&mut self, id: IoId) -> Option<(ObjectPage, Io)> {
        self.io.remove(&id)
    }

    pub(crate) fn operations(&self) -> &BTreeMap<CommandId, Meaning> {
        &self.operations
    }

    /// The page of an I/O under way.
    pub(crate) fn page_of(&self, id: IoId) -> Option<ObjectPage> {
        self.io.get(&id).map(|(page, _)| *page)
    }

    pub(crate) fn io_count(&self) -> usize {
        self.io.len()
    }
}
