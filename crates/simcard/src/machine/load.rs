//! Loading of kernels into slots.

use super::super::engine::Engine;
use super::super::isolated::KernelHost;
use super::super::kernel_model::build_for_slot;
use super::super::model::{Instance, Model};
use super::super::options::{SimOptions, Waves};
use super::super::slot::KernelSlot;
use super::designs::SlotCapacity;
use super::ProgressCallback;
use crate::error::not_built;
use card::kernel::KernelPackage;
use card::{CardError, Preparation, SlotId};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use units::Picoseconds;
use verilated::{Builder, Limits, Progress};

/// Builds kernels for the slots of one card, and loads them.
pub(super) struct KernelLoader {
    builder: Builder,
    limits: Option<Limits>,
    home: PathBuf,
    waves: Option<Waves>,
    /// Program of the processes in which kernels' models are evaluated.
    host: Option<KernelHost>,
    progress: Arc<Mutex<ProgressCallback>>,
    /// The kernel that is part of the shell's model.
    monolithic: Option<KernelPackage>,
    slot: SlotCapacity,
    clock_period: Picoseconds,
}

impl KernelLoader {
    pub(super) fn new(options: SimOptions, builder: Builder, progress: ProgressCallback) -> Self {
        Self {
            builder,
            limits: options.kernel_limits,
            slot: SlotCapacity::of(&options.shell),
            clock_period: options.platform.clock().period_ps,
            home: options.home,
            waves: options.waves,
            host: options.kernel_host,
            progress: Arc::new(Mutex::new(progress)),
            monolithic: options.monolithic,
        }
    }

    /// Loads a kernel into a slot; see [`Machine::load`](super::Machine::load).
    pub(super) fn load(
        &self,
        engine: &mut Engine,
        slot: SlotId,
        kernel: &KernelPackage,
    ) -> Result<(), CardError> {
        if let Some(built_in) = &self.monolithic {
            return match built_in == kernel {
                true => {
                    engine.name_ports(slot, &kernel.manifest);
                    engine.set_identity(slot, kernel.identity()?)
                }
                false => Err(CardError::Configuration(format!(
                    "kernel {}: this card was built as one model with kernel {}",
                    kernel.manifest.name, built_in.manifest.name
                ))),
            };
        }
        self.slot.check(kernel).map_err(not_built)?;
        let mut report = |step| tell(&self.progress, step);
        let (built, interface) =
            build_for_slot(&self.kernel_builder(), kernel, &self.home, &mut report)
                .map_err(not_built)?;
        let instance = match &self.host {
            None => Model::load(&built).and_then(|model| Instance::new(&model)),
            Some(host) => Instance::hosted(&built, host),
        };
        let mut instance = instance.map_err(not_built)?;
        instance.speak();
        if let Some(waves) = self.kernel_waves() {
            let what = format!("kernel-{}", slot.0);
            instance
                .open_waves(&waves.wave_file(&what, self.clock_period, engine.activity()))
                .map_err(not_built)?;
        }
        let place = engine.place(slot);
        let joined =
            KernelSlot::new(engine.shell(), place, instance, &interface).map_err(not_built)?;
        engine.name_ports(slot, &kernel.manifest);
        engine.set_identity(slot, kernel.identity()?)?;
        engine.set_kernel(slot, Some(joined))
    }

    /// The slow part of [`load`](Self::load).
    pub(super) fn preparation(
        &self,
        kernel: &KernelPackage,
        limit: Option<Duration>,
    ) -> Option<Preparation> {
        // Refusals that need no build are left to `load`, which finds the model in the cache then.
        let at_once = self.monolithic.is_some() || self.slot.check(kernel).is_err();
        if at_once {
            return None;
        }
        let builder = self.kernel_builder();
        let builder = match limit {
            Some(limit) => builder.within(limit),
            None => builder,
        };
        let (kernel, home) = (kernel.clone(), self.home.clone());
        let progress = self.progress.clone();
        Some(Box::new(move |abandoned| {
            let builder = builder.unless(abandoned);
            let mut sink = |step| tell(&progress, step);
            build_for_slot(&builder, &kernel, &home, &mut sink).map_err(not_built)?;
            Ok(())
        }))
    }

    /// Waveforms of kernels, if they are recorded.
    fn kernel_waves(&self) -> Option<&Waves> {
        self.waves.as_ref().filter(|waves| waves.kernels)
    }

    fn kernel_builder(&self) -> Builder {
        let builder = match self.kernel_waves() {
            Some(_) => self.builder.with_waves(),
            None => self.builder.clone(),
        };
        match self.limits {
            Some(limits) => builder.confined(limits),
            None => builder,
        }
    }
}

/// Calls a user's callback; a panic in it does not poison the next call.
fn tell(progress: &Mutex<ProgressCallback>, step: Progress) {
    let mut callback = progress.lock().unwrap_or_else(PoisonError::into_inner);
    callback(step);
}
