//! Devices that cannot be opened on any machine, and the error messages.

use vfio::{Device, VfioError};

#[test]
fn a_device_that_is_not_there_is_named() {
    let address = "ffff:ff:1f.7".parse().unwrap();
    let Err(error) = Device::open(address) else {
        panic!("opened");
    };
    assert!(matches!(error, VfioError::NoDevice(_)), "{error}");
    assert!(error.to_string().contains("ffff:ff:1f.7"), "{error}");
}

#[test]
fn a_device_of_this_machine_is_refused_with_the_way_out() {
    let devices = std::fs::read_dir("/sys/bus/pci/devices")
        .into_iter()
        .flatten()
        .flatten();
    let names = devices.map(|device| device.file_name().to_string_lossy().into_owned());
    let Some(first) = names.min() else {
        println!("skipped: a_device_of_this_machine_is_refused_with_the_way_out: no PCI devices (tombolo-vfio)");
        return;
    };
    // No machine has a shell as its first device, and few have it bound to vfio-pci.
    match Device::open(first.parse().unwrap()).err() {
        Some(VfioError::NoIommu(_) | VfioError::OtherDriver { .. }) => {}
        other => panic!("{first}: {other:?}"),
    }
}
