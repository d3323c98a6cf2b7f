//! What tasks do for requests that wait. They reach rooms by their methods alone.

mod lines;
mod memory;
mod slots;
mod spaces;
mod streams;
