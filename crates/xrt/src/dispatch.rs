//! Assignment of runs to compute units, and the queue of waiting runs.

use crate::command_state::{CommandState, Repeat};
use crate::error::XrtError;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use tombolo::{ErrorCode, Picoseconds, RunState, Slot};

/// A run, as the dispatcher sees it.
pub(crate) trait Dispatched: Debug + Send + Sync {
    fn state(&self) -> CommandState;

    fn set_state(&self, state: CommandState);

    fn kernel_name(&self) -> String;

    /// Compute units that can execute it.
    fn candidates(&self) -> &[usize];

    /// Captures the arguments for this start; later changes apply to the next one.
    fn freeze(&self);

    /// Sets the repetitions of a requested start.
    fn set_repeat(&self, repeat: Repeat);

    /// Whether it repeats after it ends.
    fn repeats(&self) -> bool;

    /// At the end of a run: whether it repeats, with the values that a mailbox has set.
    fn begins_anew(&self) -> bool;

    /// Writes the arguments to a compute unit. Arguments that were never set are zero.
    fn apply(&self, unit: usize, slot: &Slot) -> Result<(), XrtError>;
}

/// The compute units of a session.
#[derive(Debug)]
pub(crate) struct Dispatcher {
    units: Vec<Arc<Slot>>,
    board: Mutex<Board>,
    /// Signalled when a run ends.
    ended: Condvar,
}

#[derive(Debug)]
struct Board {
    running: Vec<Option<Arc<dyn Dispatched>>>,
    waiting: VecDeque<Arc<dyn Dispatched>>,
}

/// Virtual time per look at a run that the program waits for.
const SLICE: Picoseconds = Picoseconds::from_micros(100);
/// Virtual time that passes when a program polls a state, so that polling loops end.
pub(crate) const LOOK: Picoseconds = Picoseconds::from_micros(1);

impl Dispatcher {
    pub(crate) fn new(units: Vec<Arc<Slot>>) -> Self {
        let running = units.iter().map(|_| None).collect();
        let waiting = VecDeque::new();
        Self {
            units,
            board: Mutex::new(Board { running, waiting }),
            ended: Condvar::new(),
        }
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the compute unit has a run.
    pub(crate) fn is_busy(&self, unit: usize) -> bool {
        self.board().running[unit].is_some()
    }

    /// Puts a run on a free compute unit, or at the end of the queue. Never blocks.
    pub(crate) fn start(&self, run: &Arc<dyn Dispatched>, repeat: Repeat) -> Result<(), XrtError> {
        let mut board = self.board();
        if run.state().is_under_way() {
            return Err(XrtError::RunBusy {
                kernel: run.kernel_name(),
                call: "start",
            });
        }
        run.freeze();
        run.set_repeat(repeat);
        match board.free_unit(&**run) {
            Some(unit) => {
                let begun = self.launch(&mut board, unit, run);
                begun.inspect_err(|_| run.set_state(CommandState::Error))
            }
            None => {
                run.set_state(CommandState::Queued);
                board.waiting.push_back(run.clone());
                Ok(())
            }
        }
    }

    fn launch(
        &self,
        board: &mut Board,
        unit: usize,
        run: &Arc<dyn Dispatched>,
    ) -> Result<(), XrtError> {
        run.apply(unit, &self.units[unit])?;
        self.units[unit].start()?;
        run.set_state(CommandState::Running);
        board.running[unit] = Some(run.clone());
        Ok(())
    }

    /// Advances virtual time by at most `slice` while the run is under way, and returns the time that passed.
    pub(crate) fn advance(&self, run: &Arc<dyn Dispatched>, slice: Picoseconds) -> Picoseconds {
        let (unit, watched) = {
            let board = self.board();
            if !run.state().is_under_way() {
                return Picoseconds::ZERO;
            }
            let on = |one: &Option<Arc<dyn Dispatched>>| {
                one.as_ref().is_some_and(|one| Arc::ptr_eq(one, run))
            };
            let own = board.running.iter().position(on);
            // A queued run waits for several units; look at any busy one of them.
            let unit = own.or_else(|| {
                let busy = |unit: &&usize| board.running[**unit].is_some();
                run.candidates().iter().find(busy).copied()
            });
            let Some((unit, watched)) =
                unit.and_then(|unit| Some((unit, board.running[unit].clone()?)))
            else {
                return Picoseconds::ZERO;
            };
            (unit, watched)
        };
        let others = self.board().repeating(unit);
        let passed = match others.is_empty() {
            true => self.look(unit, &watched, slice.min(SLICE)),
            // Runs that repeat on other units restart soon after they end.
            false => self.look(unit, &watched, slice.min(LOOK)),
        };
        for (unit, run) in others {
            self.look(unit, &run, Picoseconds::ZERO);
        }
        passed
    }

    /// Advances virtual time by at most `slice` for a run that is on a unit.
    fn look(&self, unit: usize, watched: &Arc<dyn Dispatched>, slice: Picoseconds) -> Picoseconds {
        match self.units[unit].poll(slice) {
            Ok(RunState::Running(_)) => slice,
            Ok(RunState::Done(_)) => {
                self.end(unit, watched, CommandState::Completed, None);
                slice
            }
            // Another thread has received the end of the run and will record it shortly.
            Err(error) if error.code() == ErrorCode::SlotState => {
                let board = self.board();
                if board.running[unit]
                    .as_ref()
                    .is_some_and(|one| Arc::ptr_eq(one, watched))
                {
                    let moment = std::time::Duration::from_millis(10);
                    let _ = self.ended.wait_timeout(board, moment);
                }
                Picoseconds::ZERO
            }
            Err(error) => {
                self.end(unit, watched, CommandState::Error, Some(error));
                slice
            }
        }
    }

    /// Ends a run; it repeats, or the next queued run for its unit starts.
    fn end(
        &self,
        unit: usize,
        run: &Arc<dyn Dispatched>,
        mut state: CommandState,
        error: Option<tombolo::Error>,
    ) {
        let mut board = self.board();
        let here = board.running[unit]
            .as_ref()
            .is_some_and(|one| Arc::ptr_eq(one, run));
        if !here {
            return;
        }
        if state == CommandState::Completed && run.begins_anew() {
            match self.launch(&mut board, unit, run) {
                Ok(()) => return,
                Err(error) => {
                    eprintln!("[XRT] ERROR: kernel `{}`: {error}", run.kernel_name());
                    state = CommandState::Error;
                }
            }
        }
        board.running[unit] = None;
        if let Some(error) = &error {
            eprintln!("[XRT] ERROR: kernel `{}`: {error}", run.kernel_name());
        }
        run.set_state(state);
        while let Some(next) = board.take_waiting(unit) {
            match self.launch(&mut board, unit, &next) {
                Ok(()) => break,
                Err(error) => {
                    eprintln!("[XRT] ERROR: kernel `{}`: {error}", next.kernel_name());
                    next.set_state(CommandState::Error);
                }
            }
        }
        drop(board);
        self.ended.notify_all();
    }

    /// Removes a run from its unit or from the queue.
    pub(crate) fn abort(&self, run: &Arc<dyn Dispatched>) {
        run.set_repeat(Repeat::default());
        let unit = {
            let mut board = self.board();
            board.waiting.retain(|one| !Arc::ptr_eq(one, run));
            let on = |one: &Option<Arc<dyn Dispatched>>| {
                one.as_ref().is_some_and(|one| Arc::ptr_eq(one, run))
            };
            match board.running.iter().position(on) {
                Some(unit) => unit,
                None => {
                    if run.state().is_under_way() {
                        run.set_state(CommandState::Abort);
                    }
                    return;
                }
            }
        };
        // A wait whose callback returns `Stop` stops the kernel.
        let stopped = self.units[unit].wait(None, |_| tombolo::Continue::Stop);
        if let Err(error) = stopped {
            tracing::debug!(%error, "a run was aborted");
        }
        self.end(unit, run, CommandState::Abort, None);
    }
}

impl Board {
    /// Repeating runs on units other than this one.
    fn repeating(&self, unit: usize) -> Vec<(usize, Arc<dyn Dispatched>)> {
        let running = self.running.iter().enumerate();
        let others = running.filter_map(|(at, run)| Some((at, run.as_ref()?)));
        let others = others.filter(|(at, run)| *at != unit && run.repeats());
        others.map(|(at, run)| (at, run.clone())).collect()
    }

    fn free_unit(&self, run: &dyn Dispatched) -> Option<usize> {
        // Runs that are already queued go first.
        let waits = |unit: usize| {
            self.waiting
                .iter()
                .any(|one| one.candidates().contains(&unit))
        };
        let mut candidates = run.candidates().iter().copied();
        candidates.find(|unit| self.running[*unit].is_none() && !waits(*unit))
    }

    fn take_waiting(&mut self, unit: usize) -> Option<Arc<dyn Dispatched>> {
        let fits = |one: &Arc<dyn Dispatched>| one.candidates().contains(&unit);
        let at = self.waiting.iter().position(fits)?;
        self.waiting.remove(at)
    }
}
