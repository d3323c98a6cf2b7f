//! The library for C and C++: `include/tombolo.h`, and on top of it FSRF's interface as its paper prints it
//! (`include/fsrf.h`, with `fsrf_tombolo.h` for what the paper does not print), and vFPIO's (`include/vfpio.h`,
//! with `vfpio_ext.h`), and what the C++ headers for programs of XRT (`xrt/`) stand on (`include/tombolo_xrt.h`).
//!
//! Arguments from C are checked, never trusted: handles are numbers with the type of pointers, looked up in a table and
//! never reused, so a handle that was closed, or never was one, is an error; options carry their size; no panic crosses
//! the interface. The headers are written by hand, because they are the documentation that C programmers read;
//! `tests/headers.rs` compares every declaration with the function here, and every structure's layout, so the two
//! cannot drift.

// The rules for callers are in the headers: pointers are null or valid, strings end with a zero byte.
#![allow(clippy::missing_safety_doc)]

mod calls;
mod card;
mod coherent;
mod fsrf;
mod fsrf_kernel;
mod handles;
mod memory;
mod options;
mod pointers;
mod slot;
mod space;
mod status;
mod vfpio;
mod xrt;
