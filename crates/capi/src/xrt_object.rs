//! What the handles of XRT's interface stand for.

use std::sync::Arc;
use xrt::container::Container;
use xrt::{Buffer, Device, Ip, Kernel, Run};

/// What a handle of XRT's interface stands for.
pub enum Object {
    Device(Device),
    Buffer(Buffer),
    Kernel(Kernel),
    Run(Run),
    Ip(Ip),
    Xclbin(Arc<Container>),
}
