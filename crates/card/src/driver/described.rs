//! Comparison of the shell's registers with the description that the driver was given.

use super::transport::{read, Transport};
use crate::registers as reg;
use crate::{CardDescription, CardError};
use reg::Field;
use units::PageSize;

/// The first minor version of the register map that describes the card beyond its geometry.
const SINCE: u32 = 6;
/// `GEOMETRY.TRANSLATOR` of a shell whose kernels use card addresses.
const IDENTITY: u32 = 1;
/// `GEOMETRY.TRANSLATOR` of a shell with L1 TLBs.
const PAGED: u32 = 0;
const WORD: Field = Field { lsb: 0, width: 32 };

const GEOMETRY: &str =
    "open the card with the description of the shell that is on it, or put that shell on it";
const CLOCK: &str =
    "give the description the clock of the board, or tie the shell's card_clock_period_i to the period that it says";
const MEMORY: &str =
    "give the description the memory of the board, or tie the shell's card_channel_bytes_i to the bytes that it says";

/// A property given twice: by a register's field, and by the description.
struct DeclaredProperty {
    register: &'static str,
    address: u32,
    field: Field,
    described: u64,
    remedy: &'static str,
}

impl DeclaredProperty {
    fn new(register: &'static str, address: u32, field: Field, described: impl Into<u64>) -> Self {
        Self {
            register,
            address,
            field,
            described: described.into(),
            remedy: GEOMETRY,
        }
    }
}

/// Reads the card's self-description, and compares it.
///
/// # Errors
/// [`CardError::Description`]: a register contradicts the description; [`CardError::Broken`]: it cannot be read.
pub(super) fn check<T: Transport>(
    transport: &mut T,
    description: &CardDescription,
) -> Result<(), CardError> {
    let mut read = |address| read(transport, address);
    // A shell with another register map, or none, is reported by the driver.
    let version = read(reg::VERSION)?;
    if read(reg::ID)? != reg::ID_MAGIC || reg::version::MAJOR.get(version) != reg::VERSION_MAJOR {
        return Ok(());
    }
    let differs = |fact: &DeclaredProperty, found: u64| CardError::Description {
        card: description.name.clone(),
        register: fact.register,
        read: found,
        described: fact.described,
        remedy: fact.remedy,
    };
    let mut facts = geometry(description);
    let knows_more = reg::version::MINOR.get(version) >= SINCE;
    if knows_more {
        facts.extend(features(description));
    }
    for fact in &facts {
        let found = u64::from(fact.field.get(read(fact.address)?));
        if found != fact.described {
            return Err(differs(fact, found));
        }
    }
    let bytes = DeclaredProperty {
        remedy: MEMORY,
        ..DeclaredProperty::new(
            "CHANNEL_BYTES",
            reg::CHANNEL_BYTES_LO,
            WORD,
            description.channel_bytes,
        )
    };
    let halves = (read(reg::CHANNEL_BYTES_LO)?, read(reg::CHANNEL_BYTES_HI)?);
    let found = u64::from(halves.1) << 32 | u64::from(halves.0);
    match knows_more && found != bytes.described {
        true => Err(differs(&bytes, found)),
        false => check_translation(&mut read, description),
    }
}

/// Properties that every shell of this major version reports.
fn geometry(card: &CardDescription) -> Vec<DeclaredProperty> {
    use reg::{geometry as g, memory as m, stream_geometry as s};
    vec![
        DeclaredProperty::new("GEOMETRY.SLOTS", reg::GEOMETRY, g::SLOTS, card.slots),
        DeclaredProperty::new(
            "GEOMETRY.PORTS_PER_SLOT",
            reg::GEOMETRY,
            g::PORTS_PER_SLOT,
            card.ports_per_slot,
        ),
        DeclaredProperty::new("GEOMETRY.SPACES", reg::GEOMETRY, g::SPACES, card.spaces),
        DeclaredProperty::new("GEOMETRY.QUEUES", reg::GEOMETRY, g::QUEUES, card.queues),
        DeclaredProperty::new("MEMORY.CHANNELS", reg::MEMORY, m::CHANNELS, card.channels),
        DeclaredProperty::new(
            "MEMORY.CHANNEL_BYTES_LOG2",
            reg::MEMORY,
            m::CHANNEL_BYTES_LOG2,
            card.channel_bytes_log2,
        ),
        DeclaredProperty::new(
            "STREAM_GEOMETRY.PER_SLOT",
            reg::STREAM_GEOMETRY,
            s::PER_SLOT,
            card.streams_per_slot,
        ),
        DeclaredProperty::new(
            "STREAM_GEOMETRY.NETWORK",
            reg::STREAM_GEOMETRY,
            s::NETWORK,
            card.network_pairs,
        ),
        // 0 in the shells of earlier minor versions, which carry none.
        DeclaredProperty::new(
            "STREAM_GEOMETRY.TID_WIDTH",
            reg::STREAM_GEOMETRY,
            s::TID_WIDTH,
            card.tid_width,
        ),
        DeclaredProperty::new(
            "STREAM_GEOMETRY.TDEST_WIDTH",
            reg::STREAM_GEOMETRY,
            s::TDEST_WIDTH,
            card.tdest_width,
        ),
    ]
}

/// Properties that only later minor versions report.
fn features(card: &CardDescription) -> Vec<DeclaredProperty> {
    let host_channel = reg::features::HOST_CHANNEL;
    vec![
        DeclaredProperty::new(
            "FEATURES.HOST_CHANNEL",
            reg::FEATURES,
            host_channel,
            card.host_channel,
        ),
        DeclaredProperty::new(
            "PAGE_SIZES.MASK",
            reg::PAGE_SIZES,
            reg::page_sizes::MASK,
            card.page_sizes.bits(),
        ),
        DeclaredProperty {
            remedy: CLOCK,
            ..DeclaredProperty::new(
                "CLOCK.PERIOD",
                reg::CLOCK,
                reg::clock::PERIOD,
                card.clock_period.get(),
            )
        },
    ]
}

/// Checks translator, walker and L1 TLBs.
fn check_translation(
    read: &mut impl FnMut(u32) -> Result<u32, CardError>,
    card: &CardDescription,
) -> Result<(), CardError> {
    let differs = |register, read, described| {
        Err(CardError::Description {
            card: card.name.clone(),
            register,
            read,
            described,
            remedy: GEOMETRY,
        })
    };
    let translator = reg::geometry::TRANSLATOR.get(read(reg::GEOMETRY)?);
    if (translator != IDENTITY) != card.translated {
        let described = u64::from(!card.translated);
        return differs("GEOMETRY.TRANSLATOR", translator.into(), described);
    }
    let walks = reg::translation::MAX_WALKS.get(read(reg::TRANSLATION)?);
    if (walks > 0) != card.table_walks {
        let described = u64::from(card.table_walks);
        return differs("TRANSLATION.MAX_WALKS", walks.into(), described);
    }
    if translator != PAGED {
        return Ok(());
    }
    let registers = [
        ("L1_0", reg::L1_0),
        ("L1_1", reg::L1_1),
        ("L1_2", reg::L1_2),
        ("L1_3", reg::L1_3),
    ];
    for (index, (register, address)) in registers.into_iter().enumerate() {
        let reach = l1_bytes(read(address)?);
        let described = card.l1_reach.get(index).map_or(0, |l1| l1.bytes);
        if reach != described {
            return differs(register, reach, described);
        }
    }
    Ok(())
}

/// Page size of an L1 TLB, in bytes; 0 if there is none.
fn l1_bytes(register: u32) -> u64 {
    let class = reg::l1_0::PAGE_BITS.get(register).checked_sub(12);
    let page = class.and_then(|class| PageSize::from_class(class as u8));
    let entries = u64::from(reg::l1_0::WAYS.get(register)) << reg::l1_0::SETS_LOG2.get(register);
    page.map_or(0, |page| entries * page.bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::{Answer, Until, Woken};
    use crate::event::Event;
    use crate::memory::HostMemory;
    use crate::L1Reach;
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::task::Poll;
    use units::{HostAddr, PageSizes, Picoseconds};

    /// A card of registers alone.
    struct Registers(BTreeMap<u32, u32>);

    impl Transport for Registers {
        fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError> {
            Ok(Poll::Ready(Answer {
                value: self.0.get(&address).copied().unwrap_or(0),
                error: false,
                notes: None,
            }))
        }

        fn write(&mut self, address: u32, _: u32) -> Result<(), CardError> {
            panic!("register 0x{address:06x} is written")
        }

        fn map(&mut self, _: Arc<HostMemory>) -> Result<HostAddr, CardError> {
            panic!("memory is mapped")
        }

        fn unmap(&mut self, _: HostAddr) -> Result<(), CardError> {
            panic!("memory is unmapped")
        }

        fn wait(&mut self, _: Until, _: &mut Vec<Event>) -> Result<Woken, CardError> {
            panic!("there is nothing to wait for")
        }
    }

    fn description() -> CardDescription {
        CardDescription {
            name: "card".into(),
            slots: 4,
            ports_per_slot: 2,
            streams_per_slot: 1,
            network_pairs: 1,
            tid_width: 4,
            tdest_width: 8,
            channels: 4,
            channel_bytes_log2: 34,
            channel_bytes: 0x3_0000_0000,
            memories: Vec::new(),
            spaces: 16,
            queues: 17,
            translated: true,
            page_sizes: PageSizes::ALL,
            l1_sizes: PageSizes::only(PageSize::KIB_4),
            l1_reach: vec![L1Reach {
                page: PageSize::KIB_4,
                bytes: (4 << 7) * 4096,
            }],
            table_walks: true,
            clock_period: Picoseconds::new(4000),
            host_channel: true,
        }
    }

    fn registers() -> BTreeMap<u32, u32> {
        use reg::{features, geometry, l1_0, memory, stream_geometry, translation, version};
        let geometry = geometry::SLOTS.put(4)
            | geometry::PORTS_PER_SLOT.put(2)
            | geometry::SPACES.put(16)
            | geometry::QUEUES.put(17);
        let l1 = l1_0::PAGE_BITS.put(12) | l1_0::SETS_LOG2.put(7) | l1_0::WAYS.put(4);
        let streams = stream_geometry::PER_SLOT.put(1)
            | stream_geometry::NETWORK.put(1)
            | stream_geometry::TID_WIDTH.put(4)
            | stream_geometry::TDEST_WIDTH.put(8);
        let memory = memory::CHANNELS.put(4) | memory::CHANNEL_BYTES_LOG2.put(34);
        let version = version::MAJOR.put(reg::VERSION_MAJOR) | version::MINOR.put(SINCE);
        BTreeMap::from([
            (reg::ID, reg::ID_MAGIC),
            (reg::VERSION, version),
            (reg::GEOMETRY, geometry),
            (reg::MEMORY, memory),
            (reg::STREAM_GEOMETRY, streams),
            (reg::TRANSLATION, translation::MAX_WALKS.put(16)),
            (reg::FEATURES, features::HOST_CHANNEL.put(1)),
            (reg::CLOCK, 4000),
            (reg::CHANNEL_BYTES_HI, 3),
            (reg::PAGE_SIZES, PageSizes::ALL.bits()),
            (reg::L1_0, l1),
        ])
    }

    fn checked(registers: BTreeMap<u32, u32>) -> Result<(), CardError> {
        check(&mut Registers(registers), &description())
    }

    #[test]
    fn a_card_that_is_what_it_is_said_to_be_passes() {
        checked(registers()).unwrap();
    }

    #[test]
    fn every_contradiction_names_register_both_values_and_remedy() {
        let slots = registers()[&reg::GEOMETRY];
        for (address, value, named, read, described) in [
            (reg::GEOMETRY, slots + 1, "GEOMETRY.SLOTS", 5, 4),
            (reg::GEOMETRY, slots | 1 << 24, "GEOMETRY.TRANSLATOR", 1, 0),
            (reg::MEMORY, 8 | 34 << 8, "MEMORY.CHANNELS", 8, 4),
            (reg::STREAM_GEOMETRY, 1, "STREAM_GEOMETRY.NETWORK", 0, 1),
            (reg::TRANSLATION, 0, "TRANSLATION.MAX_WALKS", 0, 1),
            (reg::FEATURES, 0, "FEATURES.HOST_CHANNEL", 0, 1),
            (reg::CLOCK, 3333, "CLOCK.PERIOD", 3333, 4000),
            (
                reg::CHANNEL_BYTES_LO,
                64,
                "CHANNEL_BYTES",
                0x3_0000_0040,
                0x3_0000_0000,
            ),
            (reg::PAGE_SIZES, 1, "PAGE_SIZES.MASK", 1, 0x7_ffff),
            (reg::L1_1, 21 | 1 << 16, "L1_1", 2 << 20, 0),
        ] {
            let mut changed = registers();
            changed.insert(address, value);
            let error = checked(changed).unwrap_err();
            let said = error.to_string();
            match error {
                CardError::Description {
                    register,
                    read: found,
                    described: said,
                    remedy,
                    ..
                } => assert_eq!(
                    (register, found, said, remedy.is_empty()),
                    (named, read, described, false)
                ),
                other => panic!("{other:?}"),
            }
            assert!(
                said.contains(named) && said.contains(&read.to_string()),
                "{said}"
            );
        }
    }

    #[test]
    fn an_older_shell_is_held_against_what_it_says() {
        let mut old = registers();
        old.insert(
            reg::VERSION,
            reg::version::MAJOR.put(reg::VERSION_MAJOR) | (SINCE - 1),
        );
        for address in [
            reg::FEATURES,
            reg::CLOCK,
            reg::CHANNEL_BYTES_HI,
            reg::PAGE_SIZES,
        ] {
            old.remove(&address);
        }
        checked(old.clone()).unwrap();
        old.insert(reg::MEMORY, 4 | 33 << 8);
        assert!(matches!(checked(old), Err(CardError::Description { .. })));
    }
}
