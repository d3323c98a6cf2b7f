//! Pins of the shell's buses, looked up by name once.

use super::model::{Instance, NumberPin, Pin, PinValue, Row};
use verilated::BuildError;

/// Looks up pins of one bus of the shell.
pub(crate) struct Finder<'a> {
    pub(crate) shell: &'a Instance,
    pub(crate) prefix: &'static str,
    pub(crate) element: u32,
}

impl Finder<'_> {
    fn missing(&self, name: &str) -> BuildError {
        BuildError::Mismatch {
            kernel: self.shell.info().name.clone(),
            rule: format!("the shell has no port `{name}` of the expected width"),
        }
    }

    /// The pin `<prefix>_<name>`.
    pub(crate) fn pin<T: PinValue>(&self, name: &str) -> Result<Pin<T>, BuildError> {
        let name = format!("{}_{name}", self.prefix);
        self.shell
            .pin(&name, self.element)
            .ok_or_else(|| self.missing(&name))
    }

    /// The pin `<prefix>_<name>`, of at most 64 bits.
    pub(crate) fn number(&self, name: &str) -> Result<NumberPin, BuildError> {
        let name = format!("{}_{name}", self.prefix);
        self.shell
            .number_pin(&name, self.element)
            .ok_or_else(|| self.missing(&name))
    }
}

/// An AXI4 manager of the shell (a memory channel, the host), seen from its subordinate.
pub(crate) struct ManagerBus {
    pub(crate) araddr: Pin<u64>,
    pub(crate) arlen: Pin<u8>,
    pub(crate) arvalid: Pin<u8>,
    pub(crate) arready: Pin<u8>,
    pub(crate) rdata: Pin<Row>,
    pub(crate) rresp: Pin<u8>,
    pub(crate) rlast: Pin<u8>,
    pub(crate) rvalid: Pin<u8>,
    pub(crate) rready: Pin<u8>,
    pub(crate) awaddr: Pin<u64>,
    pub(crate) awlen: Pin<u8>,
    pub(crate) awvalid: Pin<u8>,
    pub(crate) awready: Pin<u8>,
    pub(crate) wdata: Pin<Row>,
    pub(crate) wstrb: Pin<u64>,
    pub(crate) wlast: Pin<u8>,
    pub(crate) wvalid: Pin<u8>,
    pub(crate) wready: Pin<u8>,
    pub(crate) bresp: Pin<u8>,
    pub(crate) bvalid: Pin<u8>,
    pub(crate) bready: Pin<u8>,
}

impl ManagerBus {
    pub(crate) fn find(find: &Finder<'_>) -> Result<Self, BuildError> {
        Ok(Self {
            araddr: find.pin("araddr_o")?,
            arlen: find.pin("arlen_o")?,
            arvalid: find.pin("arvalid_o")?,
            arready: find.pin("arready_i")?,
            rdata: find.pin("rdata_i")?,
            rresp: find.pin("rresp_i")?,
            rlast: find.pin("rlast_i")?,
            rvalid: find.pin("rvalid_i")?,
            rready: find.pin("rready_o")?,
            awaddr: find.pin("awaddr_o")?,
            awlen: find.pin("awlen_o")?,
            awvalid: find.pin("awvalid_o")?,
            awready: find.pin("awready_i")?,
            wdata: find.pin("wdata_o")?,
            wstrb: find.pin("wstrb_o")?,
            wlast: find.pin("wlast_o")?,
            wvalid: find.pin("wvalid_o")?,
            wready: find.pin("wready_i")?,
            bresp: find.pin("bresp_i")?,
            bvalid: find.pin("bvalid_i")?,
            bready: find.pin("bready_o")?,
        })
    }

    /// Whether the shell offers a transfer.
    #[inline]
    pub(crate) fn any_offered(&self) -> bool {
        (self.arvalid.get() | self.awvalid.get() | self.wvalid.get()) != 0
    }

    /// Whether the shell offers a transfer or is offered one: the cycle counts as active then.
    #[inline]
    pub(crate) fn any_valid(&self) -> bool {
        (self.arvalid.get()
            | self.rvalid.get()
            | self.awvalid.get()
            | self.wvalid.get()
            | self.bvalid.get())
            != 0
    }
}

/// Codes of AXI responses.
pub(crate) mod response {
    pub(crate) const OKAY: u8 = 0;
    pub(crate) const DECODE_ERROR: u8 = 3;
}
