//! Checks that each resource of the host serves as many requests concurrently as it should, and no more.

use crate::common::platform;
use tombolo_timing::host::{Host, HostModel};
use tombolo_timing::platform::HostFigures;
use units::{Picoseconds, ServiceEvents};

const MIB_2: u64 = 2 << 20;

fn f1() -> (HostFigures, HostModel) {
    let figures = *platform("f1").host();
    (figures, HostModel::new(&figures))
}

#[test]
fn one_thread_serves_events_one_after_another() {
    let (f, mut host) = f1();
    let first = host.serve_events(Picoseconds::ZERO, ServiceEvents::faults(3));
    assert_eq!(first, f.service_batch_ps + f.service_event_ps * 3);
    let second = host.serve_events(Picoseconds::new(1), ServiceEvents::faults(1));
    assert_eq!(second, first + f.service_batch_ps + f.service_event_ps);
    let later = Picoseconds::from_millis(1);
    assert_eq!(
        host.serve_events(later, ServiceEvents::default()),
        later + f.service_batch_ps
    );
    assert_eq!(
        host.busy().0,
        f.service_batch_ps * 3 + f.service_event_ps * 4
    );
}

#[test]
fn a_fault_may_cost_more_than_a_completion() {
    let (mut f, _) = f1();
    f.service_fault_ps = Some(f.service_event_ps * 3);
    let mut host = HostModel::new(&f);
    let events = ServiceEvents {
        faults: 2,
        others: 5,
    };
    assert_eq!(
        host.serve_events_of(Picoseconds::ZERO, 1, events),
        f.service_batch_ps + f.service_event_ps * (2 * 3 + 5)
    );
}

#[test]
fn copies_run_on_as_many_threads_as_there_are() {
    let (f, mut host) = f1();
    let one = f.copy_setup_ps + Picoseconds::for_bytes(MIB_2, f.copy_bytes_per_second);
    for _ in 0..f.copy_threads {
        assert_eq!(host.page_cache_copy(Picoseconds::ZERO, MIB_2), one);
    }
    assert_eq!(host.page_cache_copy(Picoseconds::ZERO, MIB_2), one * 2);
    assert_eq!(host.busy().1, one * (u64::from(f.copy_threads) + 1));
}

#[test]
fn a_cold_stream_is_bounded_by_the_storage() {
    let (f, mut host) = f1();
    let single = host.storage_read(Picoseconds::ZERO, 4096);
    let rate = f.storage_read_bytes_per_second;
    assert_eq!(
        single,
        f.storage_read_ps + Picoseconds::for_bytes(4096, rate)
    );
    let (_, mut host) = f1();
    let mut last = Picoseconds::ZERO;
    for _ in 0..500 {
        last = host.storage_read(Picoseconds::ZERO, MIB_2);
    }
    let mib_per_second = 1000.0 / last.as_seconds();
    // FSRF: 1.6 to 1.7 GiB/s cold.
    assert!(
        (1.6 * 1024.0..1.7 * 1024.0).contains(&mib_per_second),
        "{mib_per_second}"
    );
    assert_eq!(host.busy().2, Picoseconds::for_bytes(MIB_2, rate) * 500);
}

#[test]
fn latencies_overlap_up_to_the_queue_depth() {
    let (mut f, _) = f1();
    f.storage_queue = 4;
    let mut host = HostModel::new(&f);
    let span = Picoseconds::for_bytes(4096, f.storage_read_bytes_per_second);
    let ends: Vec<_> = (0..5)
        .map(|_| host.storage_read(Picoseconds::ZERO, 4096))
        .collect();
    assert_eq!(ends[0], f.storage_read_ps + span);
    assert_eq!(ends[3], f.storage_read_ps + span * 4);
    assert_eq!(ends[4], ends[0] + f.storage_read_ps + span);
}

#[test]
fn reads_and_writes_share_the_device() {
    let (f, mut host) = f1();
    let read = host.storage_read(Picoseconds::ZERO, MIB_2);
    let write = host.storage_write(Picoseconds::ZERO, MIB_2);
    let span = Picoseconds::for_bytes(MIB_2, f.storage_write_bytes_per_second);
    assert_eq!(write, read + span);
}

#[test]
fn waking_takes_time() {
    let (f, mut host) = f1();
    let now = Picoseconds::from_micros(3);
    assert_eq!(host.wake(now), now + f.wake_ps);
}
