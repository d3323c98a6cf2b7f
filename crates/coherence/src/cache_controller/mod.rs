//! The other direction: lines whose home is the CPU, cached on the card by the Verilated cache
//! controller ([`controller`]), against the CPU as home
//! ([`cpu::home`]): its home directory, which runs
//! the generated table, its memory, and a cache agent that uses the same lines.

pub mod bars;
pub mod controller;
pub mod model;
pub mod mutants;
pub mod system;
pub mod torture;
