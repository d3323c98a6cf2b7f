//! Outstanding commands and I/O, and their purposes.

use crate::action::{Action, Success};
use crate::error::{Direction, PagerError};
use crate::ids::{IoId, ObjectPage, RequestId};
use std::collections::BTreeMap;
use units::{Asid, CommandId, Operation};

/// Event that the completion of a command signals.
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
    /// A piece of the frame's data is in the buffer.
    PieceOut(ObjectPage, u8),
}

impl Meaning {
    /// The same event for a larger page that contains this one now.
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

/// A command to be issued.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    /// Space of the command, if the operation does not name it.
    pub(crate) space: Option<Asid>,
    pub(crate) fence: bool,
    /// Event that its completion signals; `None`: only failures matter.
    pub(crate) meaning: Option<Meaning>,
}

impl Step {
    /// The same command for a space.
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

/// Purpose of an I/O operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Io {
    /// Transfer between an object and a buffer.
    Move(Direction),
    /// Transfer of one of several pieces of a page between an object and a buffer.
    Piece(u8),
    /// Change of the protection of a page of host memory.
    Protect,
}

/// Actions of the event under way, and outstanding commands and I/O.
#[derive(Clone, Debug, Default)]
pub(crate) struct Issued {
    /// Empty between events.
    actions: Vec<Action>,
    next_operation: u32,
    next_io: u64,
    operations: BTreeMap<CommandId, Meaning>,
    io: BTreeMap<IoId, (ObjectPage, Io)>,
}

impl Issued {
    /// Exchanges the collected actions with a caller's: before an event, and again after it.
    pub(crate) fn exchange(&mut self, actions: &mut Vec<Action>) {
        std::mem::swap(&mut self.actions, actions);
    }

    /// Appends an action.
    pub(crate) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Replies to a request.
    pub(crate) fn answer(&mut self, request: RequestId, result: Result<Success, PagerError>) {
        self.push(Action::Complete { request, result });
    }

    /// Issues commands, in order.
    pub(crate) fn commands(&mut self, steps: impl IntoIterator<Item = Step>) {
        for step in steps {
            self.command(step);
        }
    }

    /// Issues a command. It requests a completion if it has a meaning.
    pub(crate) fn command(&mut self, step: Step) {
        let mut id = CommandId(self.next_operation);
        while self.operations.contains_key(&id) {
            id.0 = id.0.wrapping_add(1);
        }
        self.next_operation = id.0.wrapping_add(1);
        if let Some(meaning) = step.meaning {
            self.operations.insert(id, meaning);
        }
        self.push(Action::Command {
            id,
            operation: step.operation,
            space: step.space,
            fence: step.fence,
            notify: step.meaning.is_some(),
        });
    }

    /// New identifier for a transfer of a page.
    pub(crate) fn io(&mut self, page: ObjectPage, direction: Direction) -> IoId {
        self.begin_io(page, Io::Move(direction))
    }

    /// New identifier for the transfer of a piece.
    pub(crate) fn piece(&mut self, page: ObjectPage, number: u8) -> IoId {
        self.begin_io(page, Io::Piece(number))
    }

    /// Page of each outstanding transfer of a piece.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = ObjectPage> + '_ {
        let all = self.io.values();
        all.filter_map(|(page, io)| matches!(io, Io::Piece(_)).then_some(*page))
    }

    /// New identifier for a change of protection.
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

    /// Page of an outstanding I/O operation.
    pub(crate) fn page_of(&self, id: IoId) -> Option<ObjectPage> {
        self.io.get(&id).map(|(page, _)| *page)
    }

    pub(crate) fn io_count(&self) -> usize {
        self.io.len()
    }
}
