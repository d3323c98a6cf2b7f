//! The other direction: lines whose home is the CPU, cached on the card by the Verilated cache
//! controller ([`controller`]), against a model of the CPU ([`cpu`]): its home directory, which runs
//! the generated table, its memory, and a cache agent that uses the same lines.

pub mod bars;
pub mod controller;
pub mod cpu;
pub mod model;
pub mod mutants;
pub mod system;
pub mod torture;
