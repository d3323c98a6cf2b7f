//! Reference models of the kernels in `kernels/`.

mod aes256ctr;
mod copy;
mod gups;
mod hash;
mod list_sum;
mod loopback;
mod reduce;
mod stream;
mod vadd;

use super::kernel::KernelModel;

/// All of them.
pub(super) const ALL: [KernelModel; 8] = [
    aes256ctr::MODEL,
    copy::MODEL,
    gups::MODEL,
    hash::MD5,
    hash::SHA256,
    list_sum::MODEL,
    loopback::MODEL,
    vadd::MODEL,
];
