//! `kernels/hll`.

use super::reduce::{ReduceKernel, ReducePlan, Reduction};
use crate::kernel::{Arguments, KernelModel};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "hll",
    arguments: &[("input", 8), ("output", 8), ("length", 8)],
    ports: 2,
    create: || Box::new(ReduceKernel::new(plan)),
};

const PRECISION: u32 = 14;

/// Registers: the highest rank of their numbers.
struct Sketch(Vec<u8>);

/// The finalizer of MurmurHash3.
fn hash(mut number: u64) -> u64 {
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        number ^= number >> 33;
        number = number.wrapping_mul(factor);
    }
    number ^ number >> 33
}

impl Reduction for Sketch {
    fn take(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks_exact(8) {
            let mut number = [0; 8];
            number.copy_from_slice(chunk);
            let hash = hash(u64::from_le_bytes(number));
            let rest = hash << PRECISION | 1 << (PRECISION - 1);
            let register = &mut self.0[(hash >> (64 - PRECISION)) as usize];
            *register = (*register).max(rest.leading_zeros() as u8 + 1);
        }
    }

    fn result(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }
}

fn plan(arguments: &Arguments<'_>) -> ReducePlan {
    ReducePlan {
        input: arguments.number("input"),
        bytes: arguments.number("length").wrapping_mul(8),
        output: arguments.number("output"),
        reduction: Box::new(Sketch(vec![0; 1 << PRECISION])),
    }
}
