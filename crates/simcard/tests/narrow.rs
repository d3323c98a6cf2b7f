//! Kernels with ports of 32 and 128 bits fit a slot.

mod sim;

use card::kernel::KernelPackage;
use card::{Card, Loader};
use sim::{open, options, pattern, Driver, SLOT, SPACE};
use simcard::{check_kernel, home};
use std::path::Path;
use units::Picoseconds;
use verilated::{BuildError, Builder};

const MANIFEST: &str = r#"
[kernel]
name = "prefix_sum"
top = "prefix_sum"
sources = ["prefix_sum.v", "prefix_sum_control_s_axi.v", "prefix_sum_fifo.v"]
control = "ap_ctrl_chain"
interrupt = true

[[port]]
name = "m_axi_gmem0"
kind = "axi4"
data_width = 32
access = "read"

[[port]]
name = "m_axi_gmem1"
kind = "axi4"
data_width = 128
access = "write"
"#;

/// The tutorial's exported kernel, with a manifest.
fn prefix_sum(folder: &Path, manifest: &str) -> KernelPackage {
    let rtl = home().join("docs/tutorials/hls-export/hdl/verilog");
    for file in std::fs::read_dir(rtl).unwrap() {
        let path = file.unwrap().path();
        std::fs::copy(&path, folder.join(path.file_name().unwrap())).unwrap();
    }
    std::fs::write(folder.join("kernel.toml"), manifest).unwrap();
    KernelPackage::open(folder).unwrap()
}

#[test]
fn a_kernel_with_narrow_ports_reads_and_writes_the_right_bytes() {
    const BYTES: u64 = 1 << 16;
    let folder = tempfile::tempdir().unwrap();
    let mut driver = Driver::new(open(options()));
    driver
        .card
        .load(SLOT, &prefix_sum(folder.path(), MANIFEST))
        .unwrap();
    driver.table();
    driver.install(1, true);
    let (memory, host) = driver.map(BYTES as usize);
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    let mut rows = 0;
    // Any start in a row, any end in a word; bursts at 4 KiB boundaries.
    for (count, values, sums) in [(5003usize, 0x0fc4usize, 0x8ff0usize), (1, 0x3c, 0x8010)] {
        let before = pattern(BYTES as usize);
        memory.write(0, &before).unwrap();
        driver.copy(host, 0, BYTES, true);
        driver.set_argument(0x10, values as u64);
        driver.set_argument(0x18, sums as u64);
        driver.set_argument(0x20, count as u64);
        driver.start();
        driver.wait_for_kernel(Picoseconds::from_millis(1));
        let control = card::registers::SLOT_CONTROL.at(0);
        assert_eq!(driver.card.read_register(control).unwrap() & 2, 2, "done");
        driver.card.write_register(control, 1 << 4).unwrap();
        driver.card.write_register(control + 0xc, 1).unwrap();
        driver.copy(host, 0, BYTES, false);
        let mut after = vec![0; BYTES as usize];
        memory.read(0, &mut after).unwrap();

        let mut expected = before.clone();
        let mut sum = 0u32;
        for index in 0..count {
            let value = &before[values + 4 * index..][..4];
            sum = sum.wrapping_add(u32::from_le_bytes(value.try_into().unwrap()));
            expected[sums + 4 * index..][..4].copy_from_slice(&sum.to_le_bytes());
        }
        let wrong = expected.iter().zip(&after).position(|(a, b)| a != b);
        assert_eq!(wrong, None, "{count} values");
        rows += count as u64;
        let requesters = driver.card.statistics().unwrap().requesters;
        assert_eq!(requesters[0].bytes, 4 * rows, "payload read");
    }
}

#[test]
fn the_width_of_the_manifest_is_held_against_the_rtl() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = MANIFEST.replace("= 128", "= 64");
    let package = prefix_sum(folder.path(), &wrong);
    let error = check_kernel(&Builder::locate().unwrap(), &package).unwrap_err();
    assert!(matches!(error, BuildError::Mismatch { .. }), "{error}");
    let text = error.to_string();
    assert!(
        text.contains("m_axi_gmem1_RDATA") || text.contains("m_axi_gmem1_WDATA"),
        "{text}"
    );
    assert!(text.contains("128 bits, not 64"), "{text}");
}
