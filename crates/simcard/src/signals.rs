//! The signals of AXI4, AXI4-Lite and line operations at the slot boundary, and those of the coherent link, in
//! one place.

/// A signal of a bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    /// Name in lower case.
    pub(crate) name: &'static str,
    /// Width at the shell, in bits.
    pub(crate) width: u32,
    /// Driven by the manager (a kernel's memory port; the shell's control port).
    pub(crate) manager: bool,
    /// The value for the shell if the kernel lacks the signal.
    pub(crate) absent: u64,
    /// Whether a kernel that has the channel must have the signal.
    pub(crate) need: Need,
}

impl Signal {
    /// Whether it belongs to AR or R.
    pub(crate) fn is_of_reads(&self) -> bool {
        self.name.starts_with("ar") || self.name.starts_with('r')
    }

    /// Width at a port of this data width, in bits.
    pub(crate) fn width_at(&self, data_width: u32) -> u32 {
        match self.name {
            "rdata" | "wdata" => data_width,
            "wstrb" => data_width / 8,
            "tdata" => data_width,
            "tkeep" => data_width / 8,
            _ => self.width,
        }
    }
}

/// Whether a kernel must have a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Required in every case.
    Bus,
    /// Required if the kernel reads.
    Reads,
    /// Required if the kernel writes.
    Writes,
    /// Not required.
    Optional,
}

const fn signal(name: &'static str, width: u32, manager: bool, absent: u64, need: Need) -> Signal {
    Signal {
        name,
        width,
        manager,
        absent,
        need,
    }
}

/// AXI4, the kernel being the manager.
pub(crate) const AXI4: &[Signal] = &[
    signal("arid", 16, true, 0, Need::Optional),
    signal("araddr", 64, true, 0, Need::Reads),
    signal("arlen", 8, true, 0, Need::Reads),
    signal("arsize", 3, true, 6, Need::Optional),
    signal("arburst", 2, true, 1, Need::Optional),
    signal("arvalid", 1, true, 0, Need::Reads),
    signal("arready", 1, false, 0, Need::Reads),
    signal("rid", 16, false, 0, Need::Optional),
    signal("rdata", 512, false, 0, Need::Reads),
    signal("rresp", 2, false, 0, Need::Optional),
    signal("rlast", 1, false, 0, Need::Optional),
    signal("rvalid", 1, false, 0, Need::Reads),
    signal("rready", 1, true, 1, Need::Reads),
    signal("awid", 16, true, 0, Need::Optional),
    signal("awaddr", 64, true, 0, Need::Writes),
    signal("awlen", 8, true, 0, Need::Writes),
    signal("awsize", 3, true, 6, Need::Optional),
    signal("awburst", 2, true, 1, Need::Optional),
    signal("awvalid", 1, true, 0, Need::Writes),
    signal("awready", 1, false, 0, Need::Writes),
    signal("wdata", 512, true, 0, Need::Writes),
    signal("wstrb", 64, true, u64::MAX, Need::Optional),
    signal("wlast", 1, true, 0, Need::Writes),
    signal("wvalid", 1, true, 0, Need::Writes),
    signal("wready", 1, false, 0, Need::Writes),
    signal("bid", 16, false, 0, Need::Optional),
    signal("bresp", 2, false, 0, Need::Optional),
    signal("bvalid", 1, false, 0, Need::Writes),
    signal("bready", 1, true, 1, Need::Writes),
];

/// AXI4-Lite control, the shell being the manager.
pub(crate) const CONTROL: &[Signal] = &[
    signal("awaddr", 16, true, 0, Need::Bus),
    signal("awvalid", 1, true, 0, Need::Bus),
    signal("awready", 1, false, 0, Need::Bus),
    signal("wdata", 32, true, 0, Need::Bus),
    signal("wstrb", 4, true, 0, Need::Optional),
    signal("wvalid", 1, true, 0, Need::Bus),
    signal("wready", 1, false, 0, Need::Bus),
    signal("bresp", 2, false, 0, Need::Optional),
    signal("bvalid", 1, false, 0, Need::Bus),
    signal("bready", 1, true, 0, Need::Bus),
    signal("araddr", 16, true, 0, Need::Bus),
    signal("arvalid", 1, true, 0, Need::Bus),
    signal("arready", 1, false, 0, Need::Bus),
    signal("rdata", 32, false, 0, Need::Bus),
    signal("rresp", 2, false, 0, Need::Optional),
    signal("rvalid", 1, false, 0, Need::Bus),
    signal("rready", 1, true, 0, Need::Bus),
];

/// AXI4-Stream. The shell is the manager of a stream into the kernel, the kernel of one out of it.
pub(crate) const AXI4_STREAM: &[Signal] = &[
    signal("tdata", 512, true, 0, Need::Bus),
    signal("tkeep", 64, true, u64::MAX, Need::Optional),
    signal("tlast", 1, true, 0, Need::Optional),
    signal("tvalid", 1, true, 0, Need::Bus),
    signal("tready", 1, false, 0, Need::Bus),
];

/// TID and TDEST of AXI4-Stream, of shells and kernels that have them; at most as wide as here.
pub(crate) const STREAM_IDS: &[Signal] = &[
    signal("tid", 16, true, 0, Need::Bus),
    signal("tdest", 16, true, 0, Need::Bus),
];

/// Additional signals of a memory port for a stream that it carries into the kernel (FSRF §4.8).
pub(crate) const CARRIED_IN: &[Signal] = &[
    signal("rstream", 1, false, 0, Need::Bus),
    signal("rkeep", 64, false, 0, Need::Optional),
];

/// Additional signals of a memory port for a stream that it carries out of the kernel.
pub(crate) const CARRIED_OUT: &[Signal] = &[signal("wstream", 1, true, 0, Need::Bus)];

/// The network interfaces at the shell: (name, width, into the shell, one for each direction of an interface).
pub(crate) const NETWORK: &[(&str, u32, bool, bool)] = &[
    ("drain", 1, false, false),
    ("quiet", 1, true, false),
    ("send_tdata", 512, false, false),
    ("send_tkeep", 64, false, false),
    ("send_tlast", 1, false, false),
    ("send_tvalid", 1, false, false),
    ("send_tready", 1, true, false),
    ("receive_tdata", 512, true, false),
    ("receive_tkeep", 64, true, false),
    ("receive_tlast", 1, true, false),
    ("receive_tvalid", 1, true, false),
    ("receive_tready", 1, false, false),
    ("start", 1, false, true),
    ("address", 48, false, true),
    ("bytes", 48, false, true),
    ("last", 1, false, true),
    ("stop", 1, false, true),
    ("busy", 1, true, true),
    ("moved", 48, true, true),
    ("done_valid", 1, true, true),
    ("done_ready", 1, false, true),
    ("done_bytes", 48, true, true),
    ("done_last", 1, true, true),
    ("done_status", 2, true, true),
];

/// Signal of a kernel that marks the data bytes of a beat. The shell has TKEEP alone: a wrapper combines the
/// two.
pub(crate) const STROBE: &str = "tstrb";

/// AXI4 of a home port, the shell being the manager: `manager` signals are driven by the shell. A kernel may
/// lack signals with constant values.
pub(crate) const HOME: &[Signal] = &[
    signal("arid", 16, true, 0, Need::Bus),
    signal("araddr", 64, true, 0, Need::Bus),
    signal("arlen", 8, true, 0, Need::Optional),
    signal("arsize", 3, true, 0, Need::Optional),
    signal("arburst", 2, true, 0, Need::Optional),
    signal("arvalid", 1, true, 0, Need::Bus),
    signal("arready", 1, false, 0, Need::Bus),
    signal("rid", 16, false, 0, Need::Bus),
    signal("rdata", 512, false, 0, Need::Bus),
    signal("rresp", 2, false, 0, Need::Optional),
    signal("rlast", 1, false, 0, Need::Bus),
    signal("rvalid", 1, false, 0, Need::Bus),
    signal("rready", 1, true, 0, Need::Bus),
    signal("awid", 16, true, 0, Need::Bus),
    signal("awaddr", 64, true, 0, Need::Bus),
    signal("awlen", 8, true, 0, Need::Optional),
    signal("awsize", 3, true, 0, Need::Optional),
    signal("awburst", 2, true, 0, Need::Optional),
    signal("awvalid", 1, true, 0, Need::Bus),
    signal("awready", 1, false, 0, Need::Bus),
    signal("wdata", 512, true, 0, Need::Bus),
    signal("wstrb", 64, true, 0, Need::Bus),
    signal("wlast", 1, true, 0, Need::Optional),
    signal("wvalid", 1, true, 0, Need::Bus),
    signal("wready", 1, false, 0, Need::Bus),
    signal("bid", 16, false, 0, Need::Bus),
    signal("bresp", 2, false, 0, Need::Optional),
    signal("bvalid", 1, false, 0, Need::Bus),
    signal("bready", 1, true, 0, Need::Bus),
];

/// Line operations: requests driven by the kernel (`manager`), acknowledgements by the shell.
pub(crate) const LINE: &[Signal] = &[
    signal("req_valid", 1, true, 0, Need::Bus),
    signal("req_ready", 1, false, 0, Need::Bus),
    signal("req_operation", 3, true, 0, Need::Bus),
    signal("req_tag", 6, true, 0, Need::Bus),
    signal("req_line", 33, true, 0, Need::Bus),
    signal("req_parts", 4, true, 0, Need::Optional),
    signal("req_row", 512, true, 0, Need::Optional),
    signal("req_last", 1, true, 1, Need::Optional),
    signal("ack_valid", 1, false, 0, Need::Bus),
    signal("ack_ready", 1, true, 1, Need::Bus),
    signal("ack_tag", 6, false, 0, Need::Bus),
    signal("ack_row", 512, false, 0, Need::Optional),
    signal("ack_last", 1, false, 0, Need::Optional),
];

/// Accesses to the CPU's lines: requests driven by the kernel (`manager`), answers by the shell.
pub(crate) const ACCESS: &[Signal] = &[
    signal("req_valid", 1, true, 0, Need::Bus),
    signal("req_ready", 1, false, 0, Need::Bus),
    signal("req_access", 3, true, 0, Need::Bus),
    signal("req_held", 1, true, 0, Need::Optional),
    signal("req_hold", 3, true, 0, Need::Optional),
    signal("req_tag", 5, true, 0, Need::Bus),
    signal("req_line", 33, true, 0, Need::Bus),
    signal("req_second", 1, true, 0, Need::Optional),
    signal("req_row", 512, true, 0, Need::Optional),
    signal("req_strobe", 64, true, u64::MAX, Need::Optional),
    signal("rsp_valid", 1, false, 0, Need::Bus),
    signal("rsp_ready", 1, true, 1, Need::Bus),
    signal("rsp_tag", 5, false, 0, Need::Bus),
    signal("rsp_status", 2, false, 0, Need::Optional),
    signal("rsp_hold", 3, false, 0, Need::Optional),
    signal("rsp_row", 512, false, 0, Need::Optional),
];

/// The link to the CPU as home, at the shell: (name, width, into the shell).
pub(crate) const CACHE: &[(&str, u32, bool)] = &[
    ("request_valid", 1, false),
    ("request_ready", 1, true),
    ("request", 64, false),
    ("response_valid", 1, false),
    ("response_ready", 1, true),
    ("response", 64, false),
    ("response_data_valid", 1, false),
    ("response_data_ready", 1, true),
    ("response_data_header", 64, false),
    ("response_data_row", 512, false),
    ("response_data_last", 1, false),
    ("forward_valid", 1, true),
    ("forward_ready", 1, false),
    ("forward", 64, true),
    ("response_valid", 1, true),
    ("response_ready", 1, false),
    ("response", 64, true),
    ("response_data_valid", 1, true),
    ("response_data_ready", 1, false),
    ("response_data_header", 64, true),
    ("response_data_row", 512, true),
    ("response_data_last", 1, true),
];

/// The link to the CPU at the shell: (name, width, into the shell).
pub(crate) const LINK: &[(&str, u32, bool)] = &[
    ("request_valid", 1, true),
    ("request", 64, true),
    ("request_data_valid", 1, true),
    ("request_data_header", 64, true),
    ("request_data_row", 512, true),
    ("request_data_last", 1, true),
    ("response_valid", 1, true),
    ("response", 64, true),
    ("response_data_valid", 1, true),
    ("response_data_header", 64, true),
    ("response_data_row", 512, true),
    ("response_data_last", 1, true),
    ("forward_ready", 1, true),
    ("response_ready", 1, true),
    ("response_data_ready", 1, true),
    ("request_ready", 1, false),
    ("request_data_ready", 1, false),
    ("response_ready", 1, false),
    ("response_data_ready", 1, false),
    ("forward_valid", 1, false),
    ("forward", 64, false),
    ("response_valid", 1, false),
    ("response", 64, false),
    ("response_data_valid", 1, false),
    ("response_data_header", 64, false),
    ("response_data_row", 512, false),
    ("response_data_last", 1, false),
];

/// Signals of AXI4 that a kernel may have and the shell does not: ignored.
pub(crate) const AXI4_IGNORED: &[&str] = &[
    "arlock", "arcache", "arprot", "arqos", "arregion", "aruser", "awlock", "awcache", "awprot",
    "awqos", "awregion", "awuser", "wid", "wuser", "ruser", "buser",
];

/// Signals of AXI4-Lite likewise.
pub(crate) const CONTROL_IGNORED: &[&str] = &["arprot", "awprot"];
