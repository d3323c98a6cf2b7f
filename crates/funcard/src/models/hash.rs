//! `kernels/sha256` and `kernels/md5`, with the hashes of the RustCrypto project as independent judges.

use super::reduce::{Plan, ReduceKernel, Reduction};
use crate::kernel::{Arguments, KernelModel};
use sha2::Digest;

/// Arguments of both.
const ARGUMENTS: &[(&str, u32)] = &[("input", 8), ("output", 8), ("bytes", 8), ("lanes", 8)];

pub(super) const SHA256: KernelModel = KernelModel {
    name: "sha256",
    arguments: ARGUMENTS,
    ports: 2,
    create: || Box::new(ReduceKernel::new(plan::<sha2::Sha256>)),
};

pub(super) const MD5: KernelModel = KernelModel {
    name: "md5",
    arguments: ARGUMENTS,
    ports: 2,
    create: || Box::new(ReduceKernel::new(plan::<md5::Md5>)),
};

const ROW: usize = 64;
const MAX_LANES: u64 = 128;

/// Row i belongs to lane i mod lanes; the rows of a lane are a message.
struct Lanes<Hash> {
    lanes: Vec<Hash>,
    next: usize,
}

impl<Hash: Digest + Send> Reduction for Lanes<Hash> {
    fn take(&mut self, bytes: &[u8]) {
        for row in bytes.chunks(ROW) {
            self.lanes[self.next].update(row);
            self.next = (self.next + 1) % self.lanes.len();
        }
    }

    fn result(&mut self) -> Vec<u8> {
        let lanes = self.lanes.drain(..);
        lanes.flat_map(|lane| lane.finalize().to_vec()).collect()
    }
}

fn plan<Hash: Digest + Send + 'static>(arguments: &Arguments<'_>) -> Plan {
    let lanes = arguments.number("lanes").clamp(1, MAX_LANES);
    Plan {
        input: arguments.number("input"),
        bytes: arguments.number("bytes"),
        output: arguments.number("output"),
        reduction: Box::new(Lanes {
            lanes: (0..lanes).map(|_| Hash::new()).collect(),
            next: 0,
        }),
    }
}
