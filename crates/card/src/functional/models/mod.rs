//! Reference models of the kernels in `kernels/`.

mod aes256ctr;
mod conv;
mod copy;
mod gups;
mod hash;
mod hll;
mod list_sum;
mod loopback;
mod reduce;
mod stream;
mod vadd;

use super::kernel::KernelModel;

/// All of them.
pub(super) const ALL: [KernelModel; 10] = [
    aes256ctr::MODEL,
    conv::MODEL,
    copy::MODEL,
    gups::MODEL,
    hash::MD5,
    hash::SHA256,
    hll::MODEL,
    list_sum::MODEL,
    loopback::MODEL,
    vadd::MODEL,
];
