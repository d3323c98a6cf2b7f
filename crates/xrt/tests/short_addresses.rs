//! Is a bo whose address does not fit a kernel's memory port refused when the argument is set?

use std::path::Path;
use xrt::link::{image_of, link};
use xrt::{container, Buffer, BufferFlags, Device, Kernel, Run, UnitAccess, XrtError};

#[test]
fn a_bo_that_a_memory_port_of_32_bits_does_not_reach_is_refused() {
    std::env::set_var("TOMBOLO_XRT_CARD", "functional");
    let mut image = image_of(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels/vadd"),
        None,
    )
    .unwrap();
    let mut files = image.files.iter_mut();
    let file = files.find(|file| file.name == "vadd/kernel.toml").unwrap();
    // The registers of its pointers keep 64 bits.
    let text = String::from_utf8(file.bytes.clone()).unwrap();
    let short = text.replace("kind = \"axi4\"\n", "kind = \"axi4\"\naddress_width = 32\n");
    assert_ne!(short, text);
    file.bytes = short.into_bytes();

    let design = link(vec![image], &[]).unwrap().design;
    let device = Device::open(0).unwrap();
    let uuid = device.load_bytes(&container::write(&design)).unwrap();
    let kernel = Kernel::open(&device, uuid, "vadd", UnitAccess::Shared).unwrap();
    let group = u32::try_from(kernel.group_id(0).unwrap()).unwrap();
    let buffer = Buffer::new(&device, 4096, BufferFlags::NORMAL, group).unwrap();
    let run = Run::new(&kernel);
    let error = run.set_buffer(0, &buffer).unwrap_err();
    assert!(
        matches!(
            error,
            XrtError::AddressWidth {
                limit: 0xffff_ffff,
                ..
            }
        ),
        "{error}"
    );
    for words in ["up to 0xffffffff", "not cut", "64 bits"] {
        assert!(error.to_string().contains(words), "{error}");
    }
}
