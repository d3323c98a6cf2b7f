//! What tasks do for requests that wait. They reach rooms by their methods alone.

mod files;
mod lines;
mod memory;
mod saving;
mod slots;
mod spaces;
mod streams;
