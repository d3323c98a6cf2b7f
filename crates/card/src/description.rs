//! Checks of requests against a card's description.

use crate::kernel::{KernelError, Manifest};
use crate::stream::{StreamDirection, StreamId, StreamSource};
use crate::{CardDescription, CardError, SlotId};
use units::Stripe;

/// Checks whether a card supports a request.
pub trait CheckedDescription {
    /// Checks that a slot, or the network, has the stream.
    ///
    /// # Errors
    /// [`CardError::NoSuchSlot`], [`CardError::NoSuchStream`].
    fn check_stream(&self, slot: SlotId, stream: StreamId) -> Result<(), CardError>;

    /// Checks that a slot has the ports that a kernel needs.
    ///
    /// # Errors
    /// [`CardError::Kernel`]: it lacks one.
    fn check_fit(&self, kernel: &Manifest) -> Result<(), CardError>;

    /// Checks that both ports of a connection exist. Returns the pair number of the incoming port,
    /// counted over all slots.
    ///
    /// # Errors
    /// [`CardError::NoSuchSlot`], [`CardError::NoSuchStream`].
    fn check_connection(
        &self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<u8, CardError>;

    /// The error for an interface that the card does not have.
    fn no_network(&self, interface: u8) -> CardError;

    /// Checks that the card supports a stripe.
    ///
    /// # Errors
    /// [`CardError::NoSuchStripe`]: it does not.
    fn check_stripe(&self, stripe: Stripe) -> Result<(), CardError>;
}

impl CheckedDescription for CardDescription {
    fn check_stream(&self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        if slot.0 >= self.slots && !(slot == self.network_slot() && self.network_pairs > 0) {
            return Err(CardError::NoSuchSlot {
                slot,
                card: self.name.clone(),
                last: self.slots.saturating_sub(1),
            });
        }
        let pairs = self.pairs_of(slot);
        if stream.pair >= pairs {
            return Err(CardError::NoSuchStream {
                slot,
                stream,
                pairs,
            });
        }
        Ok(())
    }

    fn check_fit(&self, kernel: &Manifest) -> Result<(), CardError> {
        let (slot_ports, slot_pairs) = (self.memory_ports_per_slot(), self.streams_per_slot);
        let name = kernel.name.clone();
        if kernel.ports.len() > slot_ports.into() {
            return Err(CardError::Kernel(KernelError::DoesNotFit {
                name,
                ports: kernel.ports.len(),
                slot_ports: slot_ports.into(),
            }));
        }
        if kernel.stream_pairs() > slot_pairs {
            return Err(CardError::Kernel(KernelError::StreamsDoNotFit {
                name,
                pairs: kernel.stream_pairs(),
                slot_pairs,
            }));
        }
        Ok(())
    }

    fn check_connection(
        &self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<u8, CardError> {
        let direction = StreamDirection::In;
        self.check_stream(slot, StreamId { pair, direction })?;
        if let StreamSource::Port { slot, pair } = source {
            let direction = StreamDirection::Out;
            self.check_stream(slot, StreamId { pair, direction })?;
        }
        Ok(slot.0 * self.streams_per_slot + pair)
    }

    fn no_network(&self, interface: u8) -> CardError {
        CardError::NoNetwork {
            card: self.name.clone(),
            interface,
            interfaces: self.network_pairs,
        }
    }

    fn check_stripe(&self, stripe: Stripe) -> Result<(), CardError> {
        if stripe.fits(self.channels, self.channel_bytes_log2) {
            return Ok(());
        }
        Err(CardError::NoSuchStripe {
            stripe,
            channels: self.channels,
            channel_bytes: 1 << self.channel_bytes_log2,
        })
    }
}
