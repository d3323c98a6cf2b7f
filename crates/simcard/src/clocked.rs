//! A model that is clocked, and left alone where an edge would change nothing.
//!
//! A model whose inputs stay the same and whose state an edge leaves the same has reached a *fixed
//! point*: no further edge changes anything until an input changes. After some edges without
//! visible movement the state is compared over one edge, byte for byte. Equal: fixed. Not equal (a
//! counter runs inside): the next comparison waits twice as long.

use super::model::{Instance, ModelFailure};
use units::Picoseconds;

/// A comparison costs about as much as evaluating an edge for each of so many bytes of state.
const BYTES_PER_EDGE: usize = 16 << 10;
const SHORTEST_WAIT: u32 = 8;
const LONGEST_WAIT: u32 = 4096;

/// A model and what is known of its movement.
pub(crate) struct Clocked {
    instance: Instance,
    skippable: bool,
    fixed: bool,
    /// Inputs changed since the last evaluation.
    unsettled: bool,
    /// Edges since something moved.
    quiet: u32,
    /// Quiet edges before the next comparison.
    wait: u32,
    first_wait: u32,
    snapshot: Vec<u8>,
    /// Edges that were evaluated.
    pub(crate) evaluated: u64,
    /// Another model of the same RTL, which gets the same inputs and must have the same outputs.
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
            snapshot: vec![0; bytes],
            evaluated: 0,
            witness: None,
        }
    }

    /// A model that is never left alone.
    pub(crate) fn restless(instance: Instance) -> Self {
        Self {
            skippable: false,
            ..Self::new(instance)
        }
    }

    /// Runs another model of the same RTL beside this one. The first difference of outputs ends the run.
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

    /// Whether no edge changes anything until an input changes.
    #[inline]
    pub(crate) fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// An input changed.
    #[inline]
    pub(crate) fn touch(&mut self) {
        self.fixed = false;
        self.unsettled = true;
        self.quiet = 0;
        self.wait = self.first_wait;
    }

    /// Something moved that can be seen from outside, without an input having changed.
    #[inline]
    pub(crate) fn moved(&mut self) {
        self.quiet = 0;
    }

    /// One rising edge; skipped at a fixed point if `skip`.
    #[inline]
    pub(crate) fn edge(&mut self, now: Picoseconds, skip: bool) -> Result<(), ModelFailure> {
        // Assertions look at values from before the edge, so what follows from the inputs must be
        // there before it.
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

    /// The same edge in the other model.
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
        self.instance.save_state(&mut self.snapshot);
        self.evaluated += 1;
        self.instance.edge(now)?;
        self.fixed = self.instance.state_equals(&self.snapshot);
        if !self.fixed {
            self.quiet = 0;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
        }
        Ok(())
    }

    /// The first evaluation.
    pub(crate) fn start(&mut self) -> Result<(), ModelFailure> {
        self.unsettled = false;
        if let Some(witness) = &mut self.witness {
            witness.copy_inputs(&self.instance);
            witness.start()?;
        }
        self.instance.start()
    }

    /// Lets outputs follow inputs that changed.
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
