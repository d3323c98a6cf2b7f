//! One direction of the link: latency, bandwidth, credits, and no order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::line::BYTES;
use crate::message::Message;
use crate::platform::LinkFigures;
use crate::random::Random;

/// Bytes of a message without data.
const HEADER_BYTES: u64 = 8;

#[derive(Debug)]
struct Flight {
    arrival: u64,
    tie: u64,
    message: Message,
}

impl PartialEq for Flight {
    fn eq(&self, other: &Self) -> bool {
        (self.arrival, self.tie) == (other.arrival, other.tie)
    }
}
impl Eq for Flight {}
impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Flight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.arrival, self.tie).cmp(&(other.arrival, other.tie))
    }
}

#[derive(Debug, Default)]
struct Lane {
    flights: BinaryHeap<Reverse<Flight>>,
    credits: usize,
}

/// A direction with its lanes (one for each class and slice).
#[derive(Debug)]
pub struct Link {
    lanes: Vec<Lane>,
    latency: u64,
    jitter: u64,
    data_ps: u64,
    header_ps: u64,
    /// A sender may be ahead of the wire by this much.
    ahead: u64,
    /// The wire is busy until then.
    busy: u64,
    random: Random,
    sent: u64,
    /// Lines of data handed to the receiver.
    delivered: u64,
}

impl Link {
    /// `has_data[lane]` says which lanes carry lines; `clock` is the period of whoever sends.
    #[must_use]
    pub fn new(figures: &LinkFigures, has_data: &[bool], clock: u64, seed: u64) -> Self {
        let credits = |&data: &bool| {
            if data {
                figures.data_credits
            } else {
                figures.header_credits
            }
        };
        let picoseconds = |bytes: u64, rate: u64| bytes * 1_000_000_000_000 / rate;
        Self {
            lanes: has_data
                .iter()
                .map(|data| Lane {
                    flights: BinaryHeap::new(),
                    credits: credits(data),
                })
                .collect(),
            latency: figures.round_trip_ps / 2,
            jitter: figures.jitter_ps,
            data_ps: picoseconds(BYTES, figures.payload_bytes_per_second),
            header_ps: picoseconds(HEADER_BYTES, figures.header_bytes_per_second),
            ahead: clock.max(figures.transmit_ps),
            busy: 0,
            random: Random::new(seed),
            sent: 0,
            delivered: 0,
        }
    }

    /// Whether a message of this lane can start in the clock that begins at `now`.
    #[must_use]
    pub fn can_send(&self, lane: usize, now: u64) -> bool {
        self.lanes[lane].credits > 0 && self.busy < now + self.ahead
    }

    /// Sends a message; the caller asked [`can_send`](Self::can_send).
    pub fn send(&mut self, lane: usize, now: u64, message: Message) {
        let length = if message.data.is_some() {
            self.data_ps
        } else {
            self.header_ps
        };
        self.busy = self.busy.max(now) + length;
        let arrival = self.busy + self.latency + self.random.below(self.jitter + 1);
        self.sent += 1;
        let flight = Flight {
            arrival,
            tie: self.sent,
            message,
        };
        let lane = &mut self.lanes[lane];
        lane.credits -= 1;
        lane.flights.push(Reverse(flight));
    }

    /// The message that the receiver sees at the end of a lane.
    #[must_use]
    pub fn head(&self, lane: usize, now: u64) -> Option<&Message> {
        let Reverse(flight) = self.lanes[lane].flights.peek()?;
        (flight.arrival <= now).then_some(&flight.message)
    }

    /// Takes that message; its credit is back at once (the return path is not what is studied).
    pub fn take(&mut self, lane: usize, now: u64) -> Option<Message> {
        self.head(lane, now)?;
        let Reverse(flight) = self.lanes[lane].flights.pop()?;
        self.lanes[lane].credits += 1;
        self.delivered += u64::from(flight.message.data.is_some());
        Some(flight.message)
    }

    /// Lines of data delivered so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Nothing is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.flights.is_empty())
    }

    /// Number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }
}
