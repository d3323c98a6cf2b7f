//! A clocked model that is skipped while an edge would change nothing.
//!
//! A model with constant inputs and a state that an edge leaves unchanged has reached a *fixed point*:
//! no further edge changes anything until an input changes. After some edges without visible activity
//! the state is compared over one edge, byte for byte. If it is equal, the model is at a fixed point. If
//! not (a counter runs inside), the interval to the next comparison doubles.

use super::model::{Instance, ModelFailure};
use units::Picoseconds;

/// State bytes whose comparison costs about as much as evaluating one edge.
const BYTES_PER_EDGE: usize = 16 << 10;
const SHORTEST_WAIT: u32 = 8;
const LONGEST_WAIT: u32 = 4096;

/// A model, and its state of activity.
pub(crate) struct Clocked {
    instance: Instance,
    skippable: bool,
    fixed: bool,
    /// Inputs changed since the last evaluation.
    unsettled: bool,
    /// Number of edges since the last activity.
    quiet: u32,
    /// Number of quiet edges before the next comparison.
    wait: u32,
    first_wait: u32,
    snapshot: Vec<u8>,
    /// Number of edges evaluated.
    pub(crate) evaluated: u64,
    /// Another model of the same RTL, with the same inputs; its outputs must be equal.
    witness: Option<Instance>,
}

impl Clocked {
    pub(crate) fn new(instance: Instance) -> Self {
        let bytes = instance.state_bytes();
        let first_wait = ((bytes / BYTES_PER_EDGE) as u32).clamp(SHORTEST_WAIT, 64);
        Self {
            skippable: instance.info().unskippable.is_none(),
            instance,
            fixed: false,
            unsettled: true,
            quiet: 0,
            wait: first_wait,
            first_wait,
            snapshot: Vec::new(),
            evaluated: 0,
            witness: None,
        }
    }

    /// A model that is never skipped.
    pub(crate) fn restless(instance: Instance) -> Self {
        Self {
            skippable: false,
            ..Self::new(instance)
        }
    }

    /// Runs another model of the same RTL in lockstep. The first difference of outputs ends the run.
    pub(crate) fn with_witness(self, witness: Option<Instance>) -> Self {
        Self { witness, ..self }
    }

    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// See [`Instance::begin_waves`].
    pub(crate) fn begin_waves(&mut self, activity: Picoseconds, period: Picoseconds) {
        self.instance.begin_waves(activity, period);
    }

    /// Whether the model is at a fixed point: no edge changes anything until an input changes.
    #[inline]
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// Records a change of an input.
    #[inline]
    pub(crate) fn touch(&mut self) {
        self.fixed = false;
        self.unsettled = true;
        self.quiet = 0;
        self.wait = self.first_wait;
    }

    /// Records activity that is visible from outside, without a change of inputs.
    #[inline]
    pub(crate) fn moved(&mut self) {
        self.quiet = 0;
    }

    /// Evaluates one rising edge; skips it at a fixed point if `skip`.
    #[inline]
    pub(crate) fn edge(&mut self, now: Picoseconds, skip: bool) -> Result<(), ModelFailure> {
        // Assertions sample values from before the edge, so combinational results of the inputs must be
        // settled first.
        self.settle(now)?;
        if self.fixed {
            if skip {
                return Ok(());
            }
        } else {
            self.quiet += 1;
            if self.quiet > self.wait && self.skippable {
                self.compare_over_edge(now)?;
                return self.ask_witness(now);
            }
        }
        self.evaluated += 1;
        self.instance.edge(now)?;
        self.ask_witness(now)
    }

    /// Evaluates the same edge in the other model, and compares.
    #[inline]
    fn ask_witness(&mut self, now: Picoseconds) -> Result<(), ModelFailure> {
        match &mut self.witness {
            None => Ok(()),
            Some(witness) => {
                witness.edge(now)?;
                Self::compare(&self.instance, witness, now)
            }
        }
    }

    fn compare(
        instance: &Instance,
        witness: &Instance,
        now: Picoseconds,
    ) -> Result<(), ModelFailure> {
        match instance.different_output(witness) {
            None => Ok(()),
            Some(port) => Err(ModelFailure {
                reason: format!("at {now}, `{port}` is not what the asserting model has there"),
            }),
        }
    }

    fn compare_over_edge(&mut self, now: Picoseconds) -> Result<(), ModelFailure> {
        self.evaluated += 1;
        self.fixed = self.instance.edge_compared(now, &mut self.snapshot)?;
        if !self.fixed {
            self.quiet = 0;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
        }
        Ok(())
    }

    /// Evaluates the model for the first time.
    pub(crate) fn start(&mut self) -> Result<(), ModelFailure> {
        self.unsettled = false;
        if let Some(witness) = &mut self.witness {
            witness.copy_inputs(&self.instance);
            witness.start()?;
        }
        self.instance.start()
    }

    /// See [`Instance::complete`].
    #[inline]
    pub(crate) fn complete(&mut self) -> Result<(), ModelFailure> {
        self.instance.complete()
    }

    /// Propagates changed inputs to outputs.
    #[inline]
    pub(crate) fn settle(&mut self, now: Picoseconds) -> Result<(), ModelFailure> {
        if !self.unsettled {
            return Ok(());
        }
        self.unsettled = false;
        self.instance.settle(now)?;
        if let Some(witness) = &mut self.witness {
            witness.copy_inputs(&self.instance);
            witness.settle(now)?;
            Self::compare(&self.instance, witness, now)?;
        }
        Ok(())
    }
}
