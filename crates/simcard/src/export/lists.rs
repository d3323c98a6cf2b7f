//! File lists of an exported shell: for tools that take `-f`, and for FuseSoC.

use super::{INCLUDED, TOP};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const MADE: [&str; 2] = ["tombolo_shell_arrays.sv", "tombolo_shell.v"];

fn is_waiver(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "vlt")
}

/// `tombolo_shell.f`: paths relative to the folder, in compilation order.
pub(super) fn file_list(rtl: &[PathBuf]) -> String {
    let mut text = "// Every file, in order, as seen from this folder (Verilator: -F, from anywhere).\n\
                    // Files that end in .vlt are waivers for Verilator; other tools leave them out.\n\
                    +incdir+rtl/lib\n"
        .to_owned();
    for path in rtl {
        let _ = writeln!(text, "{}", path.display());
    }
    for name in MADE {
        let _ = writeln!(text, "{name}");
    }
    text
}

/// `tombolo_shell.core`, CAPI version 2.
pub(super) fn core_file(rtl: &[PathBuf]) -> String {
    let mut text = format!(
        "CAPI=2:\n\nname: tombolo:shell:{TOP}:{}\ndescription: Virtual memory and I/O for FPGA kernels, \
         configured by shell.toml\n\nfilesets:\n  rtl:\n    file_type: systemVerilogSource\n    files:\n",
        env!("CARGO_PKG_VERSION")
    );
    for path in INCLUDED {
        let _ = writeln!(
            text,
            "      - {path}:\n          is_include_file: true\n          include_path: rtl/lib"
        );
    }
    for path in rtl.iter().filter(|path| !is_waiver(path)) {
        let _ = writeln!(text, "      - {}", path.display());
    }
    let [arrays, top] = MADE;
    let _ = writeln!(
        text,
        "      - {arrays}\n      - {top}:\n          file_type: verilogSource"
    );
    text.push_str("  waivers:\n    file_type: vlt\n    files:\n");
    for path in rtl.iter().filter(|path| is_waiver(path)) {
        let _ = writeln!(text, "      - {}", path.display());
    }
    let _ = write!(
        text,
        "\ntargets:\n  default:\n    filesets: [rtl]\n    toplevel: {TOP}\n  lint:\n    filesets: [waivers, \
         rtl]\n    toplevel: {TOP}\n    flow: lint\n    flow_options:\n      tool: verilator\n      \
         verilator_options: [-Wall]\n"
    );
    text
}
