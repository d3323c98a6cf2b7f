//! A simulated card of two slots with a stream pair each.

use tombolo::{ShellConfig, SimOptions};

pub fn simulated() -> SimOptions {
    let mut options = SimOptions::named("u280").unwrap();
    options.shell = ShellConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        ..ShellConfig::default()
    };
    options
}
