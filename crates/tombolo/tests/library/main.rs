//! Tests of the library on functional and simulated cards, one file a question. One program, because each
//! program of tests is compiled and linked by itself; programs of their own have what changes the whole
//! process: traps, children that are killed.

mod arguments;
mod clients;
mod cold;
#[path = "../common/mod.rs"]
mod common;
mod created;
mod direct;
mod error_codes;
mod finish;
mod hot;
mod loading;
mod managed;
mod memories;
mod network;
mod not_included;
mod page_sizes;
mod policies;
mod queues;
mod ranges;
mod slots;
mod small;
mod stream_memory;
mod system;
mod translation;
