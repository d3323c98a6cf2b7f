//! `kernels/aes256ctr`, with the cipher of the RustCrypto project as an independent judge.

use super::sequential::{SequentialKernel, SequentialPlan};
use crate::kernel::{Arguments, KernelModel};
use ctr::cipher::{KeyIvInit, StreamCipher};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "aes256ctr",
    arguments: &[
        ("input", 8),
        ("output", 8),
        ("bytes", 8),
        ("key", 32),
        ("iv", 16),
    ],
    ports: 2,
    create: || Box::new(SequentialKernel::new(plan)),
};

fn plan(arguments: &Arguments<'_>) -> SequentialPlan {
    let key: [u8; 32] = arguments.array("key");
    let iv: [u8; 16] = arguments.array("iv");
    let mut cipher = ctr::Ctr128BE::<aes::Aes256>::new(&key.into(), &iv.into());
    SequentialPlan {
        inputs: vec![arguments.number("input")],
        output: arguments.number("output"),
        bytes: arguments.number("bytes"),
        combine: Box::new(move |inputs, output| {
            let start = output.len();
            output.extend_from_slice(inputs[0]);
            cipher.apply_keystream(&mut output[start..]);
        }),
    }
}
