//! `kernels/copy`.

use super::sequential::{SequentialKernel, SequentialPlan};
use crate::kernel::{Arguments, KernelModel};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "copy",
    arguments: &[("input", 8), ("output", 8), ("bytes", 8)],
    ports: 2,
    create: || Box::new(SequentialKernel::new(plan)),
};

fn plan(arguments: &Arguments<'_>) -> SequentialPlan {
    SequentialPlan {
        inputs: vec![arguments.number("input")],
        output: arguments.number("output"),
        bytes: arguments.number("bytes"),
        combine: Box::new(|inputs, output| output.extend_from_slice(inputs[0])),
    }
}
