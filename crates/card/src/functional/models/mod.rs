//! Reference models of the kernels in `kernels/`.

mod aes256ctr;
mod copy;
mod loopback;
mod stream;
mod vadd;

use super::kernel::KernelModel;

/// All of them.
pub(super) const ALL: [KernelModel; 4] =
    [aes256ctr::MODEL, copy::MODEL, loopback::MODEL, vadd::MODEL];
