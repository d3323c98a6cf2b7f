//! Loading of kernels into slots.

use super::super::kernel_model::build_for_slot;
use super::super::model::{Instance, Model};
use super::super::slot::KernelSlot;
use super::designs::{fits, fits_cache};
use super::{Machine, ProgressCallback};
use crate::error::not_built;
use card::kernel::KernelPackage;
use card::{CardError, Preparation, SlotId};
use std::sync::{Mutex, PoisonError};
use verilated::{BuildError, Progress};

impl Machine {
    /// Builds the kernel's model, or finds it in the cache, and loads it into a slot, which is in
    /// reset.
    ///
    /// # Errors
    /// A kernel that does not fit the slot, or one that does not build.
    pub fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        if let Some(built_in) = &self.monolithic {
            return match built_in == kernel {
                true => {
                    self.engine.name_ports(slot, &kernel.manifest);
                    self.engine.set_identity(slot, kernel.identity()?)
                }
                false => Err(CardError::Configuration(format!(
                    "kernel {}: this card was built as one model with kernel {}",
                    kernel.manifest.name, built_in.manifest.name
                ))),
            };
        }
        self.check_fit(kernel).map_err(not_built)?;
        let waves = self.waves.as_ref().filter(|waves| waves.kernels);
        let builder = waves.map_or_else(|| self.builder.clone(), |_| self.builder.with_waves());
        let (built, interface) = build_for_slot(&builder, kernel, &self.home, &mut |step| {
            tell(&self.progress, step);
        })
        .map_err(not_built)?;
        let mut instance =
            Instance::new(&Model::load(&built).map_err(not_built)?).map_err(not_built)?;
        instance.speak();
        if let Some(waves) = waves {
            let what = format!("kernel-{}", slot.0);
            let period = self.description.clock_period;
            instance
                .open_waves(&waves.wave_file(&what, period, self.engine.activity()))
                .map_err(not_built)?;
        }
        let place = self.engine.place(slot);
        let joined =
            KernelSlot::new(self.engine.shell(), place, instance, &interface).map_err(not_built)?;
        self.engine.name_ports(slot, &kernel.manifest);
        self.engine.set_identity(slot, kernel.identity()?)?;
        self.engine.set_kernel(slot, Some(joined))
    }

    /// The slow part of [`load`](Self::load) that needs no machine: run it first, on any thread.
    pub fn preparation(&self, kernel: &KernelPackage) -> Option<Preparation> {
        // Refusals that need no build are left to `load`, which finds the model in the cache then.
        let at_once = self.monolithic.is_some() || self.check_fit(kernel).is_err();
        if at_once {
            return None;
        }
        let waves = self.waves.as_ref().filter(|waves| waves.kernels);
        let builder = waves.map_or_else(|| self.builder.clone(), |_| self.builder.with_waves());
        let (kernel, home) = (kernel.clone(), self.home.clone());
        let progress = self.progress.clone();
        Some(Box::new(move || {
            let mut sink = |step| tell(&progress, step);
            build_for_slot(&builder, &kernel, &home, &mut sink).map_err(not_built)?;
            Ok(())
        }))
    }

    /// Whether a slot can hold the kernel.
    fn check_fit(&self, kernel: &KernelPackage) -> Result<(), BuildError> {
        let memory_ports = self.description.memory_ports_per_slot();
        let pairs = self.description.streams_per_slot;
        fits(kernel, memory_ports, pairs, self.slices)?;
        fits_cache(kernel, self.caches)
    }
}

/// Calls a user's callback; a panic in it does not poison the next call.
fn tell(progress: &Mutex<ProgressCallback>, step: Progress) {
    let mut callback = progress.lock().unwrap_or_else(PoisonError::into_inner);
    callback(step);
}
