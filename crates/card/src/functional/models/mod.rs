//! Reference models of the kernels in `kernels/`.

mod aes256ctr;
mod copy;
mod gups;
mod list_sum;
mod loopback;
mod stream;
mod vadd;

use super::kernel::KernelModel;

/// All of them.
pub(super) const ALL: [KernelModel; 6] = [
    aes256ctr::MODEL,
    copy::MODEL,
    gups::MODEL,
    list_sum::MODEL,
    loopback::MODEL,
    vadd::MODEL,
];
