//! Handlers of requests that wait: tasks. They access the rooms only through
//! methods.

mod files;
mod lines;
mod memory;
mod saving;
mod slots;
mod spaces;
mod streams;
