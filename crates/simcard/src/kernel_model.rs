//! Conversion of a kernel's folder to a model with the slot's interface.

use super::interface::{KernelInterface, CLOCK};
use super::options::kernel_file_set;
use super::wrapper::{self, Wrapper};
use card::kernel::KernelPackage;
use std::path::Path;
use verilated::{BuildError, Builder, BuiltModel, Design, ModelInfo, ModelPort, ProgressSink};

/// The unmodified kernel as a model of its own.
pub(crate) fn kernel_design(kernel: &KernelPackage) -> Result<Design, BuildError> {
    Ok(Design {
        name: kernel.manifest.name.clone(),
        top: kernel.manifest.top.clone(),
        clock: kernel.manifest.clock.clone(),
        file_sets: vec![kernel_file_set(kernel)?],
        defines: kernel.manifest.defines.clone(),
        parameters: (kernel.manifest.parameters.iter())
            .map(|parameter| (parameter.name.clone(), parameter.value.clone()))
            .collect(),
        sleeping: Vec::new(),
        generated: None,
    })
}

/// The design for a slot: the kernel, or a wrapper with ports of the slot's width.
pub(crate) struct SlotDesign {
    pub(crate) design: Design,
    /// Known in advance for a wrapper and for kernels with streams; otherwise found in the RTL.
    interface: Option<KernelInterface>,
}

impl SlotDesign {
    /// Reads the RTL of kernels with narrow ports or streams; `home` has the RTL of wrappers.
    pub(crate) fn new(
        builder: &Builder,
        kernel: &KernelPackage,
        home: &Path,
    ) -> Result<Self, BuildError> {
        let design = kernel_design(kernel)?;
        let needed = wrapper::is_needed(&kernel.manifest);
        if !needed && kernel.manifest.streams.is_empty() {
            return Ok(Self {
                design,
                interface: None,
            });
        }
        let info = builder.inspect(&design)?;
        let inner = KernelInterface::of(&kernel.manifest, &info)?;
        let streams = kernel.manifest.streams.iter().zip(&inner.streams);
        let mut gathers =
            streams.map(|(port, (_, bus))| KernelInterface::takes_full_rows(port, bus));
        if !needed && inner.strobes.is_empty() && !gathers.any(|gathers| gathers) {
            return Ok(Self {
                design,
                interface: Some(inner),
            });
        }
        let Wrapper { text, interface } = Wrapper::new(&kernel.manifest, &inner);
        let mut file_sets = vec![wrapper::file_set(home)];
        file_sets.extend(design.file_sets);
        Ok(Self {
            design: Design {
                top: wrapper::WRAPPER.to_owned(),
                clock: CLOCK.to_owned(),
                // They belong to the instance of the kernel.
                parameters: Vec::new(),
                file_sets,
                generated: Some(text),
                ..design
            },
            interface: Some(interface),
        })
    }

    /// The interface of the design.
    pub(crate) fn interface(
        &self,
        kernel: &KernelPackage,
        info: &ModelInfo,
    ) -> Result<KernelInterface, BuildError> {
        match &self.interface {
            Some(interface) => Ok(interface.clone()),
            None => KernelInterface::of(&kernel.manifest, info),
        }
    }
}

/// Checks a kernel's manifest against its RTL, and parses the generated wrapper with Verilator; no C++ is
/// compiled.
///
/// # Errors
/// RTL that does not compile, or a [`BuildError::Mismatch`] that names signal and rule.
pub fn check_kernel(builder: &Builder, kernel: &KernelPackage) -> Result<(), BuildError> {
    let design = kernel_design(kernel)?;
    design.refuse_inline_code()?;
    KernelInterface::of(&kernel.manifest, &builder.inspect(&design)?)?;
    let slot = SlotDesign::new(builder, kernel, &super::home())?;
    match slot.design.generated {
        Some(_) => builder.inspect(&slot.design).map(|_| ()),
        None => Ok(()),
    }
}

/// The ports of a kernel's top module, as the RTL has them.
///
/// # Errors
/// RTL that does not compile.
pub fn kernel_ports(
    builder: &Builder,
    kernel: &KernelPackage,
) -> Result<Vec<ModelPort>, BuildError> {
    // The choice of the clock is irrelevant here.
    let design = Design {
        clock: String::new(),
        ..kernel_design(kernel)?
    };
    Ok(builder.inspect(&design)?.ports)
}

/// Builds a kernel's model, or finds it in the cache; `home` is the Tombolo checkout.
///
/// # Errors
/// As [`check_kernel`].
pub fn build_kernel(
    builder: &Builder,
    kernel: &KernelPackage,
    home: &Path,
    progress: &mut ProgressSink<'_>,
) -> Result<BuiltModel, BuildError> {
    Ok(build_for_slot(builder, kernel, home, progress)?.0)
}

/// As [`build_kernel`], and returns the interface.
pub(crate) fn build_for_slot(
    builder: &Builder,
    kernel: &KernelPackage,
    home: &Path,
    progress: &mut ProgressSink<'_>,
) -> Result<(BuiltModel, KernelInterface), BuildError> {
    let slot = SlotDesign::new(builder, kernel, home)?;
    let check = |info: &_| slot.interface(kernel, info).map(|_| ());
    let built = builder.model(&slot.design, &check, progress)?;
    let interface = slot.interface(kernel, &built.info)?;
    Ok((built, interface))
}
