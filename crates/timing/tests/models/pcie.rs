//! Checks that the link is as fast as packets, credits and tags allow, and in order.

use crate::common::{platform, Random};
use proptest::prelude::*;
use tombolo_timing::pcie::{Link, PcieLink, Transfer};
use tombolo_timing::platform::PcieFigures;
use units::Picoseconds;

fn figures() -> PcieFigures {
    *platform("f1").pcie()
}

fn wire(figures: &PcieFigures, bytes: u64) -> Picoseconds {
    Picoseconds::for_bytes(bytes, figures.wire_bytes_per_second)
}

fn overhead(figures: &PcieFigures) -> u64 {
    figures.tlp_overhead + figures.link_overhead
}

fn within(measured: f64, expected: f64, error: f64) {
    let off = measured / expected - 1.0;
    assert!(
        off.abs() <= error,
        "{measured:.4e}, expected {expected:.4e}: {:+.3} %",
        off * 100.0
    );
}

/// Asks for `count` bursts, each as soon as `depth` are not outstanding; bytes a second.
fn read_stream(link: &mut PcieLink, count: u64, bytes: u64, depth: usize) -> f64 {
    let mut ends = std::collections::VecDeque::new();
    let mut now = Picoseconds::ZERO;
    for _ in 0..count {
        if ends.len() == depth {
            now = now.max(ends.pop_front().expect("depth is not zero"));
        }
        ends.push_back(link.read_host(now, bytes).last);
    }
    let last = ends.pop_back().expect("at least one");
    (count * bytes) as f64 / last.as_seconds()
}

#[test]
fn idle_read_latency_by_hand() {
    let f = figures();
    let mut link = PcieLink::new(&f);
    let request = wire(&f, overhead(&f));
    let completion = wire(&f, 64 + overhead(&f));
    let by_hand = request + f.to_host_ps + f.host_read_ps + completion + f.to_card_ps;
    let read = link.read_host(Picoseconds::ZERO, 64);
    assert_eq!((read.first, read.last), (by_hand, by_hand));
    // Published: about 550 ns on Gen3 x8, up to 1 us.
    assert!((550_000..1_000_000).contains(&by_hand.get()), "{by_hand}");
}

#[test]
fn a_page_arrives_evenly() {
    let f = figures();
    let read = PcieLink::new(&f).read_host(Picoseconds::ZERO, 4096);
    let completions = 4096 / f.completion_bytes;
    let each = f.completion_bytes + overhead(&f);
    let span = (read.last - read.first).as_seconds();
    within(span, wire(&f, (completions - 1) * each).as_seconds(), 0.001);
}

#[test]
fn reads_are_bounded_by_completions() {
    let f = figures();
    let share = f.completion_bytes as f64 / (f.completion_bytes + overhead(&f)) as f64;
    let expected = f.wire_bytes_per_second as f64 * share;
    let measured = read_stream(&mut PcieLink::new(&f), 5000, 4096, 16);
    within(measured, expected, 0.005);
    // Published: Vitis cards reach 8.5 to 12 GB/s.
    assert!((10e9..12e9).contains(&measured), "{measured}");
}

#[test]
fn reads_are_bounded_by_tags() {
    let mut f = figures();
    f.read_tags = 8;
    let latency = PcieLink::new(&f)
        .read_host(Picoseconds::ZERO, f.max_read_request)
        .last;
    let expected = 8.0 * f.max_read_request as f64 / latency.as_seconds();
    let measured = read_stream(&mut PcieLink::new(&f), 5000, 4096, 64);
    within(measured, expected, 0.1);
}

#[test]
fn one_read_at_a_time_pays_the_latency() {
    let f = figures();
    let latency = PcieLink::new(&f).read_host(Picoseconds::ZERO, 4096).last;
    let measured = read_stream(&mut PcieLink::new(&f), 1000, 4096, 1);
    within(measured, 4096.0 / latency.as_seconds(), 0.001);
}

fn write_stream(link: &mut PcieLink, count: u64, bytes: u64) -> f64 {
    let mut now = Picoseconds::ZERO;
    for _ in 0..count {
        now = link.write_host(now, bytes).first;
    }
    (count * bytes) as f64 / now.as_seconds()
}

#[test]
fn writes_are_bounded_by_credits() {
    let f = figures();
    let packet = wire(&f, f.max_payload + overhead(&f));
    let turn = packet + f.credit_return_ps;
    let expected = f64::from(f.posted_credits) * f.max_payload as f64 / turn.as_seconds();
    let measured = write_stream(&mut PcieLink::new(&f), 5000, 4096);
    within(measured, expected, 0.01);
    assert!((10e9..12e9).contains(&measured), "{measured}");
}

#[test]
fn writes_with_enough_credits_are_bounded_by_the_wire() {
    let mut f = figures();
    f.posted_credits = 1000;
    let share = f.max_payload as f64 / (f.max_payload + overhead(&f)) as f64;
    let measured = write_stream(&mut PcieLink::new(&f), 5000, 4096);
    within(measured, f.wire_bytes_per_second as f64 * share, 0.005);
}

#[test]
fn directions_do_not_share_the_wire() {
    let f = figures();
    let alone = read_stream(&mut PcieLink::new(&f), 2000, 4096, 16);
    let mut link = PcieLink::new(&f);
    let mut ends = std::collections::VecDeque::from([Picoseconds::ZERO; 16]);
    let (mut last, mut written) = (Picoseconds::ZERO, Picoseconds::ZERO);
    for _ in 0..2000 {
        let now = ends.pop_front().expect("sixteen");
        last = link.read_host(now, 4096).last;
        ends.push_back(last);
        if written <= now {
            written = link.write_host(now, 4096).first;
        }
    }
    let both = 2000.0 * 4096.0 / last.as_seconds();
    // Requests wait behind posted packets, but are far ahead of their data.
    within(both, alone, 0.02);
}

#[test]
fn busy_is_the_time_of_packets_with_payload() {
    let f = figures();
    let mut link = PcieLink::new(&f);
    link.read_host(Picoseconds::ZERO, 4096);
    link.write_host(Picoseconds::ZERO, 256);
    let (to_card, to_host) = link.busy();
    let completions = 4096 / f.completion_bytes;
    let all = wire(&f, completions * (f.completion_bytes + overhead(&f)));
    within(to_card.as_seconds(), all.as_seconds(), 0.001);
    assert_eq!(to_host, wire(&f, 256 + overhead(&f)));
}

#[test]
fn an_interrupt_stays_behind_the_writes_it_announces() {
    let mut link = PcieLink::new(&figures());
    let record = link.write_host(Picoseconds::ZERO, 64);
    let bulk = link.write_host(Picoseconds::ZERO, 1 << 20);
    let interrupt = link.interrupt(Picoseconds::ZERO);
    assert!(record.last < bulk.last && bulk.last <= interrupt);
    assert!(link.register_read_response(Picoseconds::ZERO) >= bulk.last);
}

#[test]
fn register_accesses_cost_what_the_file_says() {
    let f = figures();
    let mut link = PcieLink::new(&f);
    let write = link.register_write(Picoseconds::ZERO);
    assert_eq!(
        write,
        f.register_ps + wire(&f, 4 + overhead(&f)) + f.to_card_ps
    );
    // A second write waits for the processor; a read stays behind both.
    let second = link.register_write(Picoseconds::ZERO);
    assert_eq!(second, write + f.register_ps);
    let read = link.register_read_request(Picoseconds::ZERO);
    assert!(read > second);
    let answer = link.register_read_response(read);
    assert_eq!(answer, read + wire(&f, 4 + overhead(&f)) + f.to_host_ps);
    assert!(
        link.register_write(Picoseconds::ZERO) > answer,
        "a load blocks the processor"
    );
}

#[test]
fn registers_do_not_wait_for_a_long_transfer() {
    let f = figures();
    let idle = PcieLink::new(&f).register_write(Picoseconds::ZERO);
    let mut link = PcieLink::new(&f);
    for _ in 0..64 {
        link.read_host(Picoseconds::ZERO, 4096);
    }
    let busy = link.register_write(Picoseconds::from_micros(5)) - Picoseconds::from_micros(5);
    let packet = wire(&f, f.completion_bytes + overhead(&f));
    assert!(
        busy > idle && busy <= idle + packet,
        "{busy} against {idle}"
    );
}

#[test]
fn registers_take_their_share_of_the_wire() {
    let f = figures();
    let finish = |at: Picoseconds, accesses: u64| {
        let mut link = PcieLink::new(&f);
        for _ in 0..64 {
            link.read_host(Picoseconds::ZERO, 4096);
        }
        for _ in 0..accesses {
            link.register_write(at);
        }
        link.read_host(Picoseconds::ZERO, 4096).last
    };
    let alone = finish(Picoseconds::ZERO, 0);
    let packets = wire(&f, 4 + overhead(&f)) * 10;
    let during = finish(Picoseconds::from_micros(5), 10);
    assert_eq!(
        during,
        alone + packets,
        "data move back by the packets between them"
    );
    let before = finish(Picoseconds::ZERO, 2);
    assert_eq!(
        before, alone,
        "nothing is on the wire before the first data"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..Default::default() })]

    /// Whatever is asked: nothing arrives before it could, and order is kept in each direction.
    #[test]
    fn order_is_kept(seed: u64) {
        let f = figures();
        let mut link = PcieLink::new(&f);
        let mut random = Random(seed);
        let mut now = Picoseconds::ZERO;
        let zero = Transfer { first: Picoseconds::ZERO, last: Picoseconds::ZERO };
        let (mut read, mut write) = (zero, zero);
        let mut register = Picoseconds::ZERO;
        for _ in 0..500 {
            now += Picoseconds::new(random.below(600_000));
            let bytes = (random.below(64) + 1) * 64;
            match random.below(5) {
                0 | 1 => {
                    let next = link.read_host(now, bytes);
                    prop_assert!(next.first <= next.last && next.first > read.last);
                    prop_assert!(next.first >= now + f.to_host_ps + f.host_read_ps + f.to_card_ps);
                    read = next;
                }
                2 => {
                    let next = link.write_host(now, bytes);
                    prop_assert!(next.first < next.last && next.first > write.first);
                    prop_assert!(next.last > write.last && next.last >= now + f.to_host_ps);
                    write = next;
                }
                3 => {
                    let next = link.interrupt(now);
                    prop_assert!(next > write.last);
                    write.last = next;
                }
                _ => {
                    let next = link.register_write(now);
                    prop_assert!(next > register && next >= now + f.register_ps + f.to_card_ps);
                    register = next;
                }
            }
        }
    }
}
