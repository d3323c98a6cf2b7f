//! Does `tombolo kernel import` take a kernel with `axis` ports and no registers, as an HLS tool exports it?

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const XML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<root versionMajor="1" versionMinor="6">
  <kernel name="scale" language="ip_c" vlnv="xilinx.com:hls:scale:1.0" hwControlProtocol="ap_ctrl_none">
    <ports>
      <port name="IN_R" mode="read_only" range="" dataWidth="32" portType="stream" base="0x0"/>
      <port name="OUT_R" mode="write_only" range="" dataWidth="32" portType="stream" base="0x0"/>
    </ports>
    <args>
      <arg name="in" addressQualifier="4" id="0" port="IN_R" size="0x4" offset="0x00" type="stream"/>
      <arg name="out" addressQualifier="4" id="1" port="OUT_R" size="0x4" offset="0x00" type="stream"/>
    </args>
  </kernel>
</root>
"#;

/// Signals in capitals, side-band signals that are not carried, as a tool makes them.
const RTL: &str = "module scale (
  input  wire        ap_clk,
  input  wire        ap_rst_n,
  input  wire [31:0] IN_R_TDATA,
  input  wire [3:0]  IN_R_TKEEP,
  input  wire [3:0]  IN_R_TSTRB,
  input  wire [0:0]  IN_R_TLAST,
  input  wire        IN_R_TVALID,
  output wire        IN_R_TREADY,
  output wire [31:0] OUT_R_TDATA,
  output wire [3:0]  OUT_R_TKEEP,
  output wire [3:0]  OUT_R_TSTRB,
  output wire [0:0]  OUT_R_TLAST,
  input  wire [1:0]  IN_R_TUSER,
  output wire [1:0]  OUT_R_TUSER,
  output wire        OUT_R_TVALID,
  input  wire        OUT_R_TREADY
);
  assign OUT_R_TDATA = IN_R_TDATA << 1;
  assign OUT_R_TKEEP = IN_R_TKEEP;
  assign OUT_R_TSTRB = IN_R_TSTRB;
  assign OUT_R_TLAST = IN_R_TLAST;
  assign OUT_R_TUSER = IN_R_TUSER;
  assign OUT_R_TVALID = IN_R_TVALID;
  assign IN_R_TREADY = OUT_R_TREADY;
endmodule
";

fn import(folder: &Path, xml: &str, into: &str) -> Output {
    fs::create_dir_all(folder.join("hdl")).unwrap();
    fs::write(folder.join("kernel.xml"), xml).unwrap();
    fs::write(folder.join("hdl/scale.v"), RTL).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    let words = [
        "kernel",
        "import",
        "kernel.xml",
        "--rtl",
        "hdl",
        "--into",
        into,
    ];
    command.current_dir(folder).args(words).output().unwrap()
}

#[test]
fn a_kernel_with_streams_alone_is_imported() {
    let folder = tempfile::tempdir().unwrap();
    let output = import(folder.path(), XML, "scale");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let manifest = fs::read_to_string(folder.path().join("scale/kernel.toml")).unwrap();
    let ports = "[[port]]\nname = \"in_r\"\nkind = \"axi4_stream\"\ndirection = \"in\"\ndata_width = 32\n\n\
                 [[port]]\nname = \"out_r\"\nkind = \"axi4_stream\"\ndirection = \"out\"\ndata_width = 32\n\
                 # No device gets what the kernel sends there.\ndrops = [\"tuser\"]\n";
    assert!(manifest.contains(ports), "{manifest}");
    assert!(manifest.contains("control = \"ap_ctrl_none\"") && !manifest.contains("[[argument]]"));

    // Side-band signals are dropped only if the manifest lists them.
    let silent = manifest.replace("drops = [\"tuser\"]\n", "");
    fs::write(folder.path().join("scale/kernel.toml"), silent).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    let check = ["kernel", "check", "scale"];
    let output = command.current_dir(folder.path()).args(check).output();
    let output = output.unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success() && told.contains("`OUT_R_TUSER`") && told.contains("drops"),
        "{told}"
    );

    // A described port that the RTL lacks is named.
    let wider = XML.replace("dataWidth=\"32\"", "dataWidth=\"64\"");
    let output = import(folder.path(), &wider, "wide");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success()
            && told.contains("described with 64 data bits, and module scale has 32"),
        "{told}"
    );
}

#[test]
fn a_named_file_comes_before_others_of_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Earlier versions: one of the same file name in a folder below, one with another file name.
    fs::create_dir(path("before")).unwrap();
    for earlier in ["before/scale.v", "a.v"] {
        fs::write(path(earlier), RTL).unwrap();
    }
    fs::write(path("scale.v"), RTL.replace("<< 1", "<< 2")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tombolo"))
        .current_dir(folder.path())
        .args(["kernel", "import", "scale.v", "--into", "imported"])
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let manifest = fs::read_to_string(path("imported/kernel.toml")).unwrap();
    let copied = fs::read_dir(path("imported/rtl")).unwrap();
    let copied: Vec<_> = copied.map(|file| file.unwrap().path()).collect();
    assert_eq!(copied.len(), 1, "{copied:?} {manifest}");
    assert!(fs::read_to_string(&copied[0]).unwrap().contains("<< 2"));
}

/// Imports one Verilog file; the standard error.
fn import_module(folder: &Path, rtl: &str) -> (bool, String) {
    fs::write(folder.join("add.v"), rtl).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_tombolo"));
    command.args(["kernel", "import", "add.v", "--into", "made"]);
    let output = command.current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), said)
}

const ADD: &str = "module add (input ap_clk, input ap_rst_n, input [31:0] in_tdata, input in_tvalid, output in_tready,
  output [31:0] out_tdata, output out_tvalid, input out_tready);
  wire in_tready;
  wire [31:0] out_tdata;
  reg out_tvalid;
  reg [31:0] held;
  assign in_tready = !out_tvalid || out_tready;
  assign out_tdata = held;
  always @(posedge ap_clk)
    if (!ap_rst_n) out_tvalid <= 0;
    else if (in_tready) begin out_tvalid <= in_tvalid; held <= in_tdata + 1; end
endmodule
";

#[test]
fn ports_that_are_declared_twice_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let (is_made, said) = import_module(folder.path(), ADD);
    assert!(is_made, "{said}");
    assert!(
        said.contains("second declarations of ports (in_tready, out_tdata, out_tvalid) are blank"),
        "{said}"
    );
    let made = fs::read_to_string(folder.path().join("made/rtl/add.v")).unwrap();
    assert!(made.contains("output reg out_tvalid"), "{made}");
}

#[test]
fn a_stream_without_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rtl = ADD.replace("input [31:0] in_tdata, ", "");
    let rtl = rtl.replace("in_tdata + 1", "held + 1");
    let (is_made, said) = import_module(folder.path(), &rtl);
    assert!(
        !is_made && said.contains("`in_…` is a stream without TDATA"),
        "{said}"
    );
}
