//! The description registers of a card, and settings that are read back as written.

use card::registers as reg;
use card::schedule::{Priority, SlotSchedule};
use card::stream::StreamId;
use card::CheckedDescription;
use card::{Card, CardDescription, CardError, SlotId};
use funcard::{FunctionalCard, FunctionalConfig};

#[test]
fn the_schedule_of_a_slot_is_read_back_as_given() {
    let config = FunctionalConfig {
        slots: 2,
        ..FunctionalConfig::default()
    };
    let mut card = FunctionalCard::new(config);
    card.schedule_slot(SlotId(1), Priority::High.into())
        .unwrap();
    let mut level = |slot| {
        let policy = card.read_register(reg::SCHEDULE.at(slot) + reg::schedule::POLICY);
        reg::schedule::policy::LEVEL.get(policy.unwrap())
    };
    assert_eq!((level(0), level(1)), (1, 2));
    let beyond = card.schedule_slot(SlotId(2), SlotSchedule::default());
    assert!(matches!(beyond, Err(CardError::NoSuchSlot { .. })));
}

#[test]
fn movers_are_numbered_by_slot_pair_and_direction() {
    for pairs in 1..4 {
        let card = CardDescription {
            streams_per_slot: pairs,
            network_pairs: 2,
            ..FunctionalCard::new(FunctionalConfig::default())
                .description()
                .clone()
        };
        let movers = 2 * (card.slots * pairs + card.network_pairs);
        for mover in 0..movers {
            let (slot, stream) = StreamId::of_mover(mover, &card);
            card.check_stream(slot, stream).unwrap();
            assert_eq!(stream.mover(slot, pairs), mover);
        }
        let (slot, stream) = StreamId::of_mover(movers - 1, &card);
        assert_eq!((slot, stream.pair), (card.network_slot(), 1));
    }
}
