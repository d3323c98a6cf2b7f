//! Reference models of the kernels in `kernels/`.

mod aes256ctr;
mod copy;
mod list_sum;
mod loopback;
mod stream;
mod vadd;

use super::kernel::KernelModel;

/// All of them.
pub(super) const ALL: [KernelModel; 5] = [
    aes256ctr::MODEL,
    copy::MODEL,
    list_sum::MODEL,
    loopback::MODEL,
    vadd::MODEL,
];
