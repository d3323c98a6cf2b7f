//! Does the functional card keep the contract of `Card` and of docs/architecture.md?

mod bench;
mod commands;
mod description;
mod direct;
mod faults;
mod kernels;
mod oracle;
mod slots;
