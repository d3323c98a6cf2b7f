//! `kernels/transform`.

use super::sequential::{SequentialKernel, SequentialPlan};
use crate::kernel::{Arguments, KernelModel};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "transform",
    arguments: &[("data", 8), ("bytes", 8), ("addend", 4), ("pace", 4)],
    ports: 1,
    create: || Box::new(SequentialKernel::new(plan).through_one_port()),
};

fn plan(arguments: &Arguments<'_>) -> SequentialPlan {
    let data = arguments.number("data");
    let addend = arguments.number("addend") as u32;
    SequentialPlan {
        inputs: vec![data],
        output: data,
        bytes: arguments.number("bytes"),
        combine: Box::new(move |inputs, output| {
            for word in inputs[0].chunks(4) {
                let mut bytes = [0; 4];
                bytes[..word.len()].copy_from_slice(word);
                let changed = u32::from_le_bytes(bytes)
                    .wrapping_add(addend)
                    .rotate_left(7);
                output.extend_from_slice(&changed.to_le_bytes()[..word.len()]);
            }
        }),
    }
}
