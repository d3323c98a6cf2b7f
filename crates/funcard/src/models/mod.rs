//! Reference models of the kernels in `kernels/`.

mod aes256ctr;
mod bfs;
mod conv;
mod copy;
mod dnn;
mod dnn_float;
mod flow;
mod gups;
mod gzip;
mod hash;
mod hash_probe;
mod hasty;
mod hll;
mod list_sum;
mod loopback;
mod nw_pairs;
mod packet;
mod pgrnk;
mod reduce;
mod rows;
mod sequential;
mod sha3;
mod traffic;
mod transform;
mod triangles;
mod vadd;

use super::kernel::{KernelModel, Step};

/// All of them.
pub(super) const ALL: [KernelModel; 31] = [
    aes256ctr::MODEL,
    bfs::MODEL,
    conv::MODEL,
    copy::MODEL,
    dnn::MODEL,
    dnn_float::MODEL,
    flow::MODEL,
    gups::MODEL,
    gzip::MODEL,
    hash::MD5,
    hash::SHA256,
    hash::SHA256_HLS,
    hash_probe::MODEL,
    hasty::MODEL,
    hll::MODEL,
    list_sum::MODEL,
    loopback::MODEL,
    nw_pairs::MODEL,
    packet::AES256CTR,
    packet::MATMUL,
    packet::MD5,
    packet::NW,
    packet::PERF,
    packet::RNG,
    packet::SHA256,
    pgrnk::MODEL,
    sha3::MODEL,
    traffic::MODEL,
    transform::MODEL,
    triangles::MODEL,
    vadd::MODEL,
];

/// The 64-bit number at a place of a row.
fn word(row: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&row[at..at + 8]);
    u64::from_le_bytes(word)
}

/// Goes on with a run; begins one if none is under way, and forgets one that is done.
fn go_on<R>(
    run: &mut Option<R>,
    begin: impl FnOnce() -> R,
    step: impl FnOnce(&mut R) -> Step,
) -> Step {
    let step = step(run.get_or_insert_with(begin));
    if step == Step::Done {
        *run = None;
    }
    step
}
