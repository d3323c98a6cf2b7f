//! `tombolo devices`

use crate::print::{print, NotPrinted};
use clap::Args;
use tombolo::Device;

/// Lists what a stream port can be plugged into, and how to write it.
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
        "A stream port is plugged in with `tombolo run KERNEL --connect PORT=DEVICE`. DEVICE is one of\n".to_owned();
    let kinds = Device::KINDS.iter().map(|kind| (kind.form, kind.what));
    for (form, what) in std::iter::once(FILE).chain(kinds) {
        text += &format!("  {form}\n      {what}\n");
    }
    text += "and behind each but file:\n";
    for option in Device::OPTIONS {
        text += &format!("  {}\n      {}\n", option.form, option.what);
    }
    text += "A socket goes both ways: the same one may be at a port in and at a port out. Ports of kernels are \
             joined by programs (Card::connect). See docs/devices.md.\n";
    text
}
