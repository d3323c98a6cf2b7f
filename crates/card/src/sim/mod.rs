//! The simulated card: Verilated shell and kernels in deterministic virtual time.
