//! Tests of the library on functional and simulated cards, one question per file. They share one program, because each
//! test program is compiled and linked separately; tests that change the whole process (traps, killed children) have
//! their own.

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
mod priorities;
mod queues;
mod ranges;
mod slots;
mod small;
mod stream_memory;
mod system;
mod translation;
