//! `kernels/vadd`.

use super::sequential::{SequentialKernel, SequentialPlan};
use crate::kernel::{Arguments, KernelModel};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "vadd",
    arguments: &[("a", 8), ("b", 8), ("c", 8), ("length", 8)],
    ports: 2,
    create: || Box::new(SequentialKernel::new(plan)),
};

fn plan(arguments: &Arguments<'_>) -> SequentialPlan {
    SequentialPlan {
        inputs: vec![arguments.number("a"), arguments.number("b")],
        output: arguments.number("c"),
        bytes: arguments.number("length").wrapping_mul(4),
        combine: Box::new(add),
    }
}

fn add(inputs: &[&[u8]], output: &mut Vec<u8>) {
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |word, &byte| word << 8 | u32::from(byte))
    };
    for (a, b) in inputs[0].chunks(4).zip(inputs[1].chunks(4)) {
        output.extend_from_slice(&word(a).wrapping_add(word(b)).to_le_bytes());
    }
}
