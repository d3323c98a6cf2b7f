//! Streams: movers and the switch, over the shell's registers.

use super::{Driver, Transport};
use crate::registers as reg;
use crate::stream::{
    self, StreamId, StreamSource, StreamState, StreamWaiting, SwitchState, Transfer,
};
use crate::{CardError, CheckedDescription, SlotId, Streams};

impl<T: Transport> Streams for Driver<T> {
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError> {
        let mover = self.mover(slot, stream)?;
        for (address, value) in stream::start_registers(mover, &transfer) {
            self.write_register(address, value)?;
        }
        Ok(())
    }

    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        let (address, value) = stream::stop_register(self.mover(slot, stream)?);
        self.write_register(address, value)
    }

    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError> {
        let mover = self.mover(slot, stream)?;
        StreamState::read(mover, |address| self.read_register(address))
    }

    /// Bytes that do not fill a beat yet are invisible from outside.
    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamWaiting, CardError> {
        let state = self.stream_state(slot, stream)?;
        Ok(StreamWaiting {
            beat: state.valid,
            ..StreamWaiting::default()
        })
    }

    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError> {
        self.check_alive()?;
        let port = self.description.check_connection(slot, pair, source)?;
        let address = reg::SWITCH.at(port.into()) + reg::switch::SOURCE;
        self.write_register(address, source.register(self.description.streams_per_slot))
    }

    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError> {
        self.check_alive()?;
        let mover = StreamSource::Mover;
        let port = self.description.check_connection(slot, pair, mover)?;
        let value = self.read_register(reg::SWITCH.at(port.into()) + reg::switch::STATE)?;
        Ok(SwitchState::from_register(value, &self.description))
    }
}

impl<T: Transport> Driver<T> {
    fn mover(&self, slot: SlotId, stream: StreamId) -> Result<u8, CardError> {
        self.check_alive()?;
        self.description.check_stream(slot, stream)?;
        Ok(stream.mover(slot, self.description.streams_per_slot))
    }
}
