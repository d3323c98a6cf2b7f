//! The state machine's outside.

use crate::action::Action;
use crate::config::Config;
use crate::error::ConfigError;
use crate::event::Event;

/// The pager of one card.
#[derive(Debug)]
pub struct Pager {}

impl Pager {
    /// A pager with the default policies.
    ///
    /// # Errors
    /// [`ConfigError`] names the figure that is not possible.
    pub fn new(_config: Config) -> Result<Self, ConfigError> {
        Ok(Self {})
    }

    /// Takes one event and appends what has to be done, in order.
    pub fn handle(&mut self, _event: Event, _actions: &mut Vec<Action>) {}
}
