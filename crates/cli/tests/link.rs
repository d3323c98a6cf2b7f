//! `tombolo link`: from .xo files and a configuration to an .xclbin that a program of XRT runs.

use std::fs;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;
use xrt::{Buffer, BufferFlags, CommandState, Device, Direction, Kernel, Run, UnitAccess};

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels")
}

/// A kernel.xml as packagers write it for `kernels/vadd`.
const VADD_XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<root versionMajor="1" versionMinor="6">
  <kernel name="vadd" language="ip_c" vlnv="example.com:kernel:vadd:1.0" hwControlProtocol="ap_ctrl_hs" interrupt="true">
    <ports>
      <port name="M_AXI_GMEM0" mode="master" range="0xFFFFFFFFFFFFFFFF" dataWidth="512" portType="addressable" base="0x0"/>
      <port name="M_AXI_GMEM1" mode="master" range="0xFFFFFFFFFFFFFFFF" dataWidth="512" portType="addressable" base="0x0"/>
      <port name="S_AXI_CONTROL" mode="slave" range="0x1000" dataWidth="32" portType="addressable" base="0x0"/>
    </ports>
    <args>
      <arg name="in1" addressQualifier="1" id="0" port="M_AXI_GMEM0" size="0x8" offset="0x10" hostOffset="0x0" hostSize="0x8" type="int*"/>
      <arg name="in2" addressQualifier="1" id="1" port="M_AXI_GMEM0" size="0x8" offset="0x18" hostOffset="0x0" hostSize="0x8" type="int*"/>
      <arg name="out" addressQualifier="1" id="2" port="M_AXI_GMEM1" size="0x8" offset="0x20" hostOffset="0x0" hostSize="0x8" type="int*"/>
      <arg name="size" addressQualifier="0" id="3" port="S_AXI_CONTROL" size="0x8" offset="0x28" hostOffset="0x0" hostSize="0x8" type="ulong"/>
    </args>
  </kernel>
</root>
"#;

/// Packs `kernels/vadd` and the library it uses, as a packager does.
fn vadd_xo(folder: &Path) -> PathBuf {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    let mut add = |name: String, bytes: &[u8]| {
        writer.start_file(name, options).unwrap();
        writer.write_all(bytes).unwrap();
    };
    add("vadd/kernel.xml".to_owned(), VADD_XML.as_bytes());
    for place in ["vadd", "lib"] {
        for entry in fs::read_dir(kernels().join(place)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if name.ends_with(".sv") {
                add(
                    format!("ip_repo/vadd_1_0/src/{name}"),
                    &fs::read(&path).unwrap(),
                );
            }
        }
    }
    let path = folder.join("vadd.xo");
    fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
    path
}

fn tombolo(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn works(output: &Output) -> String {
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    said
}

fn refuses(output: &Output, words: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains(words), "{words}: {said}");
}

#[test]
fn a_vadd_from_an_xo_runs_on_the_simulated_card() {
    let folder = TempDir::new().unwrap();
    vadd_xo(folder.path());
    let configuration = "platform=f1\n[connectivity]\nnk=vadd:1:adder\nsp=adder.in1:DDR[0]\nsp=adder.m_axi_gmem1:DDR[1]\n\
                         slr=adder:SLR0\n[vivado]\nprop=run.impl_1.strategy=Fast\n";
    fs::write(folder.path().join("vadd.cfg"), configuration).unwrap();
    let output = tombolo(
        folder.path(),
        &[
            "link",
            "-l",
            "-t",
            "hw_emu",
            "-c",
            "vadd.cfg",
            "vadd.xo",
            "-o",
            "vadd.xclbin",
        ],
    );
    let said = works(&output);
    for words in [
        "compute unit vadd:adder: ap_ctrl_hs",
        "argument 2 out: buffer, m_axi_gmem1 to DDR[1]",
        "argument 3 size: 8 bytes",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let notes = text(&output.stderr);
    for words in [
        "vadd.cfg:6: connectivity.slr: accepted",
        "vadd.cfg:8: vivado.prop: accepted",
    ] {
        assert!(notes.contains(words), "{notes}");
    }
    // Packaging, a step of its own elsewhere: the same bytes, with the options that Makefiles give there.
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    let packages = [
        &["-o", "again.xclbin"][..],
        &[
            "-t",
            "hw_emu",
            "--platform",
            "f1",
            "--package.out_dir",
            "package",
            "-o",
            "again.xclbin",
        ],
    ];
    for options in packages {
        let all = [&["link", "-p", "vadd.xclbin"], options].concat();
        works(&tombolo(folder.path(), &all));
        assert!(read("vadd.xclbin") == read("again.xclbin"));
        fs::remove_file(folder.path().join("again.xclbin")).unwrap();
    }
    let other = tombolo(
        folder.path(),
        &[
            "link",
            "-p",
            "vadd.xclbin",
            "--platform",
            "u280",
            "--connectivity.nk",
            "vadd:2",
            "-o",
            "again.xclbin",
        ],
    );
    works(&other);
    assert!(read("vadd.xclbin") == read("again.xclbin"));
    for words in [
        "connectivity.nk: accepted, without effect: packaging",
        "stays linked for f1",
    ] {
        let notes = text(&other.stderr);
        assert!(notes.contains(words), "{notes}");
    }

    let device = Device::open(0).unwrap();
    let uuid = device
        .load_file(&folder.path().join("vadd.xclbin"))
        .unwrap();
    let kernel = Kernel::open(&device, uuid, "vadd:{adder}", UnitAccess::Shared).unwrap();
    let count = 1000usize;
    let group = |index| kernel.group_id(index).unwrap() as u32;
    assert_eq!(
        (group(0), group(2), kernel.group_id(3).unwrap()),
        (0, 1, i32::MAX)
    );
    let buffer =
        |index| Buffer::new(&device, 4 * count, BufferFlags::NORMAL, group(index)).unwrap();
    let buffers = [buffer(0), buffer(1), buffer(2)];
    let bytes_of = |values: &dyn Fn(u32) -> u32| -> Vec<u8> {
        (0..count as u32)
            .flat_map(|at| values(at).to_le_bytes())
            .collect()
    };
    let left = |at: u32| at.wrapping_mul(0x9e37_79b9);
    buffers[0].write_bytes(&bytes_of(&left), 0).unwrap();
    buffers[1].write_bytes(&bytes_of(&|at| at), 0).unwrap();
    for buffer in &buffers[..2] {
        buffer.sync(Direction::ToDevice, buffer.len(), 0).unwrap();
    }
    let run = Run::new(&kernel);
    for (index, buffer) in (0..).zip(&buffers) {
        run.set_buffer(index, buffer).unwrap();
    }
    run.set_bytes(3, &(count as u64).to_le_bytes()).unwrap();
    run.start().unwrap();
    assert_eq!(run.wait(0).unwrap(), CommandState::Completed);
    let mut sums = vec![1; 4 * count];
    buffers[2].read_bytes(&mut sums, 0).unwrap();
    assert!(
        sums.iter().all(|byte| *byte == 0),
        "the host's copy changes by sync alone"
    );
    buffers[2]
        .sync(Direction::FromDevice, 4 * count, 0)
        .unwrap();
    buffers[2].read_bytes(&mut sums, 0).unwrap();
    assert!(sums == bytes_of(&|at| left(at).wrapping_add(at)));
}

#[test]
fn settings_may_be_options() {
    let folder = TempDir::new().unwrap();
    let vadd = kernels().join("vadd");
    let vadd = vadd.to_str().unwrap();
    let arguments = [
        "link",
        "--platform=u280",
        "--connectivity.nk=vadd:2",
        "--connectivity.sp",
        "vadd_2.a:HBM[4:7]",
        "--advanced.param",
        "compiler.x=y",
        "--profile.data=all:all:all",
        "-R2",
        "--slr",
        "vadd_1:SLR0",
        vadd,
        "-o",
        "two.xclbin",
    ];
    let output = tombolo(folder.path(), &arguments);
    let said = works(&output);
    for words in [
        "advanced.param: accepted",
        "profile.data: accepted",
        "connectivity.slr: accepted",
    ] {
        assert!(
            text(&output.stderr).contains(words),
            "{}",
            text(&output.stderr)
        );
    }
    assert!(
        said.contains("vadd:vadd_2") && said.contains("m_axi_gmem0 to HBM[4:7]"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_linked_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let vadd = kernels().join("vadd");
    let vadd = vadd.to_str().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    write(
        "bad.cfg",
        b"[connectivity]\nnk=vadd:1\nspp=vadd_1.a:DDR[0]\n",
    );
    write("real.xclbin", b"xclbin2\0and so on");
    write("noise.xclbin", b"noise");
    write("noise.xo", b"noise");
    for (arguments, words) in [
        (
            &["-c", "bad.cfg", vadd][..],
            "bad.cfg:3: connectivity.spp = vadd_1.a:DDR[0]: no such key",
        ),
        (&["-c", "none.cfg", vadd], "none.cfg: No such file"),
        (&["real.xclbin"], "real.xclbin: made by v++ for a real card"),
        (&["noise.xclbin"], "its first bytes are unknown"),
        (&["noise.xo"], "not a good .xo"),
        (&["nothing"], "no kernel `nothing`"),
        (&["-t", "sw_emu", vadd], "C models"),
        (&[vadd, vadd], "kernel `vadd` is given twice"),
    ] {
        let all = [&["link", "-o", "out.xclbin"], arguments].concat();
        refuses(&tombolo(folder.path(), &all), words);
        assert!(!folder.path().join("out.xclbin").exists(), "{words}");
    }
}
