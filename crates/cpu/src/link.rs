//! One direction of the link: latency, bandwidth, credits, and no ordering.
//!
//! Every lane has its own credits: a message takes one when it is sent, the receiver returns it when it accepts the
//! message, and it arrives one latency later. Credits travel in the link layer's own words, which the payload rate
//! already excludes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::message::Message;
use crate::random::Random;
use timing::platform::LinkFigures;
use units::line::BYTES;

/// Bytes of a message without data.
pub const HEADER_BYTES: u64 = 8;

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
    /// Arrival times of returned credits, earliest first.
    returning: VecDeque<u64>,
}

impl Lane {
    fn has_credit(&self, now: u64) -> bool {
        self.credits > 0 || self.returning.front().is_some_and(|&back| back <= now)
    }

    fn take_credit(&mut self, now: u64) {
        while self.returning.front().is_some_and(|&back| back <= now) {
            self.returning.pop_front();
            self.credits += 1;
        }
        self.credits -= 1;
    }
}

/// A direction with its lanes (one per class and slice).
#[derive(Debug)]
pub struct Link {
    lanes: Vec<Lane>,
    latency: u64,
    jitter: u64,
    data_ps: u64,
    header_ps: u64,
    /// Maximum lead of the sender over the wire, in picoseconds.
    ahead: u64,
    /// Time until which the wire is busy.
    busy: u64,
    random: Random,
    sent: u64,
    /// Number of data lines delivered to the receiver.
    delivered: u64,
}

impl Link {
    /// `has_data[lane]` marks the lanes that carry lines; `clock` is the period of the sender's clock.
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
                    returning: VecDeque::new(),
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
        self.lanes[lane].has_credit(now) && self.busy < now + self.ahead
    }

    /// Sends a message; the caller must have checked [`can_send`](Self::can_send). Returns its arrival time.
    pub fn send(&mut self, lane: usize, now: u64, message: Message) -> u64 {
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
        lane.take_credit(now);
        lane.flights.push(Reverse(flight));
        arrival
    }

    /// The message at the head of a lane, as the receiver sees it.
    #[must_use]
    pub fn head(&self, lane: usize, now: u64) -> Option<&Message> {
        let Reverse(flight) = self.lanes[lane].flights.peek()?;
        (flight.arrival <= now).then_some(&flight.message)
    }

    /// Removes that message and returns its credit.
    pub fn take(&mut self, lane: usize, now: u64) -> Option<Message> {
        self.head(lane, now)?;
        let Reverse(flight) = self.lanes[lane].flights.pop()?;
        let back = now + self.latency;
        self.lanes[lane].returning.push_back(back);
        self.delivered += u64::from(flight.message.data.is_some());
        Some(flight.message)
    }

    /// Resets the link: messages on it are lost, and every credit returns to its sender.
    pub fn reset(&mut self) {
        for lane in &mut self.lanes {
            lane.credits += lane.flights.len() + lane.returning.len();
            lane.flights.clear();
            lane.returning.clear();
        }
    }

    /// Number of data lines delivered so far.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether nothing is under way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.flights.is_empty())
    }

    /// Whether nothing is under way, every credit is back and the wire is free: the sender's limits do not change any
    /// more.
    #[must_use]
    pub fn is_settled(&self, now: u64) -> bool {
        let back = |lane: &Lane| lane.returning.back().is_none_or(|&back| back <= now);
        self.busy <= now && self.is_empty() && self.lanes.iter().all(back)
    }

    /// Number of lanes.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::spec::MsgId;
    use units::line::{FoldedLine, WORDS};

    fn figures(data_credits: usize) -> LinkFigures {
        LinkFigures {
            round_trip_ps: 200_000,
            payload_bytes_per_second: 128_000_000_000,
            header_bytes_per_second: 128_000_000_000,
            header_credits: 4,
            data_credits,
            transmit_ps: 10_000,
            jitter_ps: 0,
        }
    }

    fn message() -> Message {
        Message {
            id: MsgId(0),
            request: 0,
            parts: 0xf,
            line: FoldedLine(0),
            poisoned: false,
            data: Some(Box::new([0; WORDS])),
        }
    }

    #[test]
    fn a_credit_is_back_one_way_after_its_message_is_taken() {
        let mut link = Link::new(&figures(2), &[true], 1_000, 1);
        for _ in 0..2 {
            assert!(link.can_send(0, 0));
            link.send(0, 0, message());
        }
        assert!(!link.can_send(0, 500_000), "two of two are under way");
        assert!(link.take(0, 500_000).is_some());
        assert!(!link.can_send(0, 599_999));
        assert!(link.can_send(0, 600_000));
        link.send(0, 600_000, message());
        assert!(
            !link.can_send(0, 700_000),
            "one is not taken, one under way"
        );
    }

    /// Messages per microsecond of a sender and a receiver that never wait.
    fn rate(data_credits: usize) -> u64 {
        let mut link = Link::new(&figures(data_credits), &[true], 1_000, 1);
        for now in (0..10_000_000).step_by(1_000) {
            while link.take(0, now).is_some() {}
            if link.can_send(0, now) {
                link.send(0, now, message());
            }
        }
        link.delivered() / 10
    }

    #[test]
    fn few_credits_bound_the_rate() {
        // The wire carries a message a nanosecond, a round trip is 200 ns and 1 ns on the wire.
        assert!((9..=10).contains(&rate(2)), "{}", rate(2));
        assert!((95..=100).contains(&rate(20)), "{}", rate(20));
        assert!(rate(400) > 950, "{}", rate(400));
    }

    #[test]
    fn lanes_do_not_share_credits() {
        let mut link = Link::new(&figures(1), &[true, false], 1_000, 1);
        link.send(0, 0, message());
        assert!(!link.can_send(0, 0));
        assert!(link.can_send(1, 0));
    }
}
