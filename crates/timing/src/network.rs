// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! A network link of the card, and one-sided accesses to the memory of the peer at its other end.
//!
//! ```
//! use tombolo_timing::network::{Network, NetworkLink};
//! use units::Picoseconds;
//!
//! let mut link = NetworkLink::new(Network::ethernet_100().figures());
//! let sent = link.write(Picoseconds::ZERO, 4096, true);
//! assert!(sent.left < sent.acknowledged);
//! ```

use crate::hash::sha256_hex;
use crate::wire::Wire;
use serde::Deserialize;
use units::Picoseconds;

/// The default network of a card.
const ETHERNET_100: &str = include_str!("../../../platforms/networks/100gbe.toml");

/// Figures of a network link, with their sources in `platforms/networks/*.toml`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkFigures {
    /// Bytes per second and direction on the wire.
    pub wire_bytes_per_second: u64,
    /// Maximum payload of a packet in bytes.
    pub mtu: u64,
    /// Bytes of every packet in addition to its payload, from one packet to the next.
    pub packet_overhead: u64,
    /// Additional bytes of the first packet of a write, and of a read request.
    pub address_overhead: u64,
    /// Additional bytes of a response packet: an acknowledgement, or data of a read.
    pub answer_overhead: u64,
    /// Minimum bytes of a packet, from one packet to the next.
    pub smallest_packet: u64,
    /// Maximum bytes of one read request.
    pub read_request: u64,
    /// Buffer of the card for each direction, in bytes: sent and not acknowledged, or requested and not taken.
    pub buffer: u64,
    /// Latency from card to peer, without serialisation.
    pub to_peer_ps: Picoseconds,
    /// Latency from peer to card, without serialisation.
    pub to_card_ps: Picoseconds,
    /// From the arrival of a read request at the peer to its first data.
    pub peer_read_ps: Picoseconds,
    /// From the arrival of a write at the peer to its acknowledgement.
    pub peer_write_ps: Picoseconds,
    /// Time for which unanswered packets are sent again, before the peer is considered failed.
    pub retry_ps: Picoseconds,
}

impl NetworkFigures {
    /// Bytes per second of large transfers in one direction: the wire's, less framing and headers.
    pub fn payload_bytes_per_second(&self) -> f64 {
        let packet = self.mtu + self.packet_overhead;
        self.wire_bytes_per_second as f64 * self.mtu as f64 / packet as f64
    }

    fn broken_rule(&self) -> Option<String> {
        let rate = self.wire_bytes_per_second;
        if !(1_000_000..=10_000_000_000_000).contains(&rate) {
            return Some(format!(
                "wire_bytes_per_second = {rate}: 1 MB/s to 10 TB/s are possible"
            ));
        }
        if !self.mtu.is_power_of_two() || !(256..=4096).contains(&self.mtu) {
            let mtu = self.mtu;
            return Some(format!("mtu = {mtu}: a power of two from 256 to 4096"));
        }
        for (key, bytes) in [("read_request", self.read_request), ("buffer", self.buffer)] {
            if bytes % self.mtu != 0 || bytes == 0 || bytes > 1 << 30 {
                return Some(format!("{key} = {bytes}: a multiple of mtu, at most 1 GiB"));
            }
        }
        if self.read_request > self.buffer {
            return Some("read_request is larger than buffer".to_owned());
        }
        let bytes = [
            self.packet_overhead,
            self.address_overhead,
            self.answer_overhead,
            self.smallest_packet,
        ];
        if bytes.iter().any(|bytes| *bytes > 1024) {
            return Some("headers have at most 1024 bytes".to_owned());
        }
        let times = [
            self.to_peer_ps,
            self.to_card_ps,
            self.peer_read_ps,
            self.peer_write_ps,
            self.retry_ps,
        ];
        let second = Picoseconds::from_millis(1000);
        times
            .iter()
            .any(|time| *time > second)
            .then(|| "times are at most a second".to_owned())
    }

    /// Time on the wire of a packet.
    fn span(&self, payload: u64, more: u64) -> Picoseconds {
        let bytes = (payload + self.packet_overhead + more).max(self.smallest_packet);
        Picoseconds::for_bytes(bytes, self.wire_bytes_per_second)
    }
}

/// A network: a file of figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    figures: NetworkFigures,
    name: String,
    hash: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NetworkFileContents {
    format: u32,
    name: String,
    #[serde(rename = "description")]
    _description: String,
    network: NetworkFigures,
}

/// The file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("network: {0}")]
pub struct NetworkError(String);

impl Network {
    /// Two machines back to back with 100 Gb/s Ethernet, as in vFPIO.
    ///
    /// # Panics
    /// Never: a test reads the file.
    #[allow(
        clippy::expect_used,
        reason = "a file of this repository, read by a test"
    )]
    pub fn ethernet_100() -> Self {
        Self::parse(ETHERNET_100).expect("platforms/networks/100gbe.toml")
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// The text is no TOML, a key is missing or unknown, or a figure breaks a rule.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let read: NetworkFileContents =
            toml::from_str(text).map_err(|error| NetworkError(error.to_string()))?;
        if read.format != 1 {
            return Err(NetworkError("this version reads format 1".to_owned()));
        }
        if let Some(rule) = read.network.broken_rule() {
            return Err(NetworkError(rule));
        }
        Ok(Self {
            figures: read.network,
            name: read.name,
            hash: sha256_hex(text.as_bytes()),
        })
    }

    /// Figures of the network.
    pub fn figures(&self) -> &NetworkFigures {
        &self.figures
    }

    /// Name of the network, for example `100gbe`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256 of the file, in hexadecimal.
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

/// Times of a write's packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Time at which it has left the card.
    pub left: Picoseconds,
    /// Time at which the card knows that it is in the peer's memory.
    pub acknowledged: Picoseconds,
}

/// A full-duplex link. Packets of a direction are sent one after another; requests and acknowledgements are interleaved
/// with data packets. Nothing is lost while the link is up: two machines back to back, with flow control.
#[derive(Clone, Debug)]
pub struct NetworkLink {
    figures: NetworkFigures,
    to_peer: Wire,
    to_card: Wire,
    /// Arrival of the last packet of a write: packets stay in order.
    last_written: Picoseconds,
}

impl NetworkLink {
    /// A link that has always been idle.
    pub fn new(figures: &NetworkFigures) -> Self {
        Self {
            figures: *figures,
            to_peer: Wire::default(),
            to_card: Wire::default(),
            last_written: Picoseconds::ZERO,
        }
    }

    /// Figures of the link.
    pub fn figures(&self) -> &NetworkFigures {
        &self.figures
    }

    /// Sends a packet of a write, of at most `mtu` bytes; the first of a transfer carries the address.
    pub fn write(&mut self, now: Picoseconds, bytes: u64, first: bool) -> Sent {
        let figures = &self.figures;
        let more = if first { figures.address_overhead } else { 0 };
        let span = figures.span(bytes, more);
        let left = self.to_peer.send(now, span, true) + span;
        let written = left + figures.to_peer_ps + figures.peer_write_ps;
        self.last_written = self.last_written.max(written);
        let acknowledge = figures.span(0, figures.answer_overhead);
        let longest = figures.span(figures.mtu, figures.answer_overhead);
        let sent = self
            .to_card
            .interleave(self.last_written, acknowledge, longest, false);
        Sent {
            left,
            acknowledged: sent + figures.to_card_ps,
        }
    }

    /// Reads at most `read_request` bytes. `packet` receives the bytes of each packet, and the time of its arrival at
    /// the card.
    pub fn read(&mut self, now: Picoseconds, bytes: u64, mut packet: impl FnMut(u64, Picoseconds)) {
        let figures = self.figures;
        let request = figures.span(0, figures.address_overhead);
        let longest = figures.span(figures.mtu, figures.address_overhead);
        let asked = self.to_peer.interleave(now, request, longest, false);
        let ready = asked + figures.to_peer_ps + figures.peer_read_ps;
        let mut left = bytes;
        while left > 0 {
            let part = left.min(figures.mtu);
            left -= part;
            let span = figures.span(part, figures.answer_overhead);
            let arrives = self.to_card.send(ready, span, true) + span + figures.to_card_ps;
            packet(part, arrives);
        }
    }

    /// Time with data on the wire, (to the peer, to the card).
    pub fn busy(&self) -> (Picoseconds, Picoseconds) {
        (self.to_peer.busy(), self.to_card.busy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link() -> NetworkLink {
        NetworkLink::new(Network::ethernet_100().figures())
    }

    #[test]
    fn a_long_write_and_a_long_read_take_what_their_packets_take() {
        const PACKETS: u64 = 1000;
        let mut one = link();
        let mut last = Picoseconds::ZERO;
        for number in 0..PACKETS {
            last = one.write(Picoseconds::ZERO, 4096, number == 0).left;
        }
        // 4096 + 82 bytes at 12.5 GB/s are 334.24 ns, and the first has 16 bytes more.
        assert_eq!(last.get(), PACKETS * 334_240 + 1_280);
        let mut other = link();
        let mut packets = 0;
        for _ in 0..PACKETS / 16 {
            other.read(Picoseconds::ZERO, 65_536, |bytes, at| {
                assert_eq!(bytes, 4096);
                packets += 1;
                last = at;
            });
        }
        assert_eq!(packets, 992);
        let wire = 992 * 334_560;
        let latency = last.get() - wire;
        assert!((1_700_000..1_720_000).contains(&latency), "{latency}");
    }

    #[test]
    fn both_ways_at_once_keep_nearly_all_of_the_wire() {
        let mut link = link();
        let mut now = Picoseconds::ZERO;
        let (mut read, mut written) = (Picoseconds::ZERO, Picoseconds::ZERO);
        for number in 0..1024u64 {
            let sent = link.write(now, 4096, number == 0);
            if number % 16 == 0 {
                link.read(now, 65_536, |_, at| read = at);
            }
            now += Picoseconds::new(334_240);
            written = sent.acknowledged;
        }
        let rate = |at: Picoseconds| 1024.0 * 4096.0 / (at.get() as f64 / 1e12);
        let most = link.figures().payload_bytes_per_second();
        assert!((12.25e9..12.26e9).contains(&most), "{most}");
        assert!(rate(read) > 0.96 * most, "{}", rate(read));
        assert!(rate(written) > 0.96 * most, "{}", rate(written));
    }

    #[test]
    fn the_unloaded_round_trip_is_the_sum_of_its_parts() {
        let mut link = link();
        let mut at = Picoseconds::ZERO;
        link.read(Picoseconds::ZERO, 64, |_, arrives| at = arrives);
        // Request of 98 bytes, answer of 150: 7.84 ns and 12 ns.
        assert_eq!(at.get(), 7_840 + 550_000 + 600_000 + 12_000 + 550_000);
        let sent = link.write(Picoseconds::from_micros(10), 1, true);
        assert_eq!(sent.left.get(), 10_000_000 + 7_920);
        let acknowledged = sent.left.get() + 550_000 + 300_000 + 6_880 + 550_000;
        assert_eq!(sent.acknowledged.get(), acknowledged);
    }

    #[test]
    fn files_that_cannot_be_are_refused() {
        let with = |key: &str, value: &str| {
            let lines = ETHERNET_100
                .lines()
                .map(|line| match line.starts_with(key) {
                    true => format!("{key} = {value}\n"),
                    false => format!("{line}\n"),
                });
            Network::parse(&lines.collect::<String>())
        };
        assert_eq!(Network::parse(ETHERNET_100).unwrap().name(), "100gbe");
        for (key, value) in [
            ("mtu", "1500"),
            ("buffer", "0"),
            ("read_request", "1048576"),
            ("wire_bytes_per_second", "1"),
            ("packet_overhead", "9000"),
            ("retry_ps", "2000000000000"),
            ("format", "2"),
            ("mtu", "\"x\""),
        ] {
            assert!(with(key, value).is_err(), "{key} = {value}");
        }
    }
}
