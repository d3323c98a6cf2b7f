//! `tombolo devices`

use crate::print::{print, NotPrinted};
use clap::Args;
use tombolo::Device;

/// Lists the devices that a stream port can be connected to, with their syntax.
#[derive(Args)]
pub(crate) struct Devices {}

const FILE: (&str, &str) = (
    "file:FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS]",
    "a file, or a range of one: mapped and paged; into a kernel it is one packet",
);

impl Devices {
    pub(crate) fn run(self) -> Result<(), NotPrinted> {
        print(text())
    }
}

fn text() -> String {
    let mut text =
        "Connect a stream port with `tombolo run KERNEL --connect PORT=DEVICE`. DEVICE is one of\n"
            .to_owned();
    let kinds = Device::KINDS.iter().map(|kind| (kind.form, kind.what));
    for (form, what) in std::iter::once(FILE).chain(kinds) {
        text += &format!("  {form}\n      {what}\n");
    }
    text += "Options after every device but file:\n";
    for option in Device::OPTIONS {
        text += &format!("  {}\n      {}\n", option.form, option.what);
    }
    text += "A socket is bidirectional: it may be connected to an input and to an output. Programs connect ports of \
             kernels to each other (Card::connect). See docs/devices.md.\n";
    text
}
