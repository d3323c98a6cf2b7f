//! `kernels/sha256`, `kernels/sha256_hls` and `kernels/md5`, with the hashes of the RustCrypto project as independent judges.

use super::reduce::{ReduceKernel, ReducePlan, Reduction};
use crate::kernel::{Arguments, KernelModel};
use sha2::Digest;

/// Arguments of all.
const ARGUMENTS: &[(&str, u32)] = &[("input", 8), ("output", 8), ("bytes", 8), ("lanes", 8)];

pub(super) const SHA256: KernelModel = KernelModel {
    name: "sha256",
    arguments: ARGUMENTS,
    ports: 2,
    create: || Box::new(ReduceKernel::new(plan::<sha2::Sha256>)),
};

pub(super) const SHA256_HLS: KernelModel = KernelModel {
    name: "sha256_hls",
    arguments: ARGUMENTS,
    ports: 1,
    create: || Box::new(ReduceKernel::new(plan::<sha2::Sha256>).through_one_port()),
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
pub(super) struct HashLanes<Hash> {
    lanes: Vec<Hash>,
    bytes: usize,
}

impl<Hash: Digest> HashLanes<Hash> {
    pub(super) fn new(arguments: &Arguments<'_>) -> Self {
        let lanes = arguments.number("lanes").clamp(1, MAX_LANES);
        Self {
            lanes: (0..lanes).map(|_| Hash::new()).collect(),
            bytes: 0,
        }
    }

    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (row, rest) = bytes.split_at((ROW - self.bytes % ROW).min(bytes.len()));
            let lane = self.bytes / ROW % self.lanes.len();
            self.lanes[lane].update(row);
            self.bytes += row.len();
            bytes = rest;
        }
    }

    /// Ends the messages: the hashes of all lanes, in order.
    pub(super) fn finalize(&mut self) -> Vec<u8> {
        let lanes = self.lanes.drain(..);
        lanes.flat_map(|lane| lane.finalize().to_vec()).collect()
    }
}

impl<Hash: Digest + Send> Reduction for HashLanes<Hash> {
    fn take(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn result(&mut self) -> Vec<u8> {
        self.finalize()
    }
}

fn plan<Hash: Digest + Send + 'static>(arguments: &Arguments<'_>) -> ReducePlan {
    ReducePlan {
        input: arguments.number("input"),
        bytes: arguments.number("bytes"),
        output: arguments.number("output"),
        reduction: Box::new(HashLanes::<Hash>::new(arguments)),
    }
}
