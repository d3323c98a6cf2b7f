//! Objects behind the handles of XRT's interface.

use std::sync::Arc;
use xrt::container::Container;
use xrt::{Buffer, Device, Ip, Kernel, Run};

/// The object behind a handle of XRT's interface.
pub enum Object {
    Device(Device),
    Buffer(Buffer),
    Kernel(Kernel),
    Run(Run),
    Ip(Ip),
    Xclbin(Arc<Container>),
}
