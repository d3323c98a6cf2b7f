//! Description of a card, from its registers.

use crate::card_file::CardFile;
use card::registers as reg;
use card::{CardDescription, L1Reach};
use units::{PageSize, PageSizes};

/// A register with a geometry that no shell has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct GeometryError {
    what: String,
}

fn check(holds: bool, what: impl FnOnce() -> String) -> Result<(), GeometryError> {
    match holds {
        true => Ok(()),
        false => Err(GeometryError { what: what() }),
    }
}

/// Describes a shell from its registers, which `read` returns by byte address; `bar_bytes` is the size of its BAR.
///
/// # Errors
/// Not a shell of this version, or an invalid geometry.
pub(crate) fn describe(
    name: String,
    file: &CardFile,
    bar_bytes: u64,
    read: impl Fn(u32) -> u32,
) -> Result<CardDescription, GeometryError> {
    let (id, version) = (read(reg::ID), read(reg::VERSION));
    check(id == reg::ID_MAGIC, || match id {
        u32::MAX => {
            "every register reads all ones: the card is gone, held in reset, or does not answer"
                .into()
        }
        _ => format!(
            "register ID reads 0x{id:08x}, and a shell's 0x{:08x}",
            reg::ID_MAGIC
        ),
    })?;
    let major = reg::version::MAJOR.get(version);
    check(major == reg::VERSION_MAJOR, || {
        let ours = reg::VERSION_MAJOR;
        format!("its register map has version {major}, and this library knows version {ours}")
    })?;
    let geometry = read(reg::GEOMETRY);
    let memory = read(reg::MEMORY);
    let streams = read(reg::STREAM_GEOMETRY);
    let l1: Vec<(PageSize, u64)> = [reg::L1_0, reg::L1_1, reg::L1_2, reg::L1_3]
        .into_iter()
        .filter_map(|address| l1_of(read(address)))
        .collect();
    let translated = reg::geometry::TRANSLATOR.get(geometry) != IDENTITY;
    let paged = reg::geometry::TRANSLATOR.get(geometry) == PAGED;
    let smallest = l1.first().filter(|_| translated).map(|&(page, _)| page);
    let reach = l1.iter().filter(|_| paged).map(|&(page, entries)| L1Reach {
        page,
        bytes: entries << page.bits(),
    });
    let l1_reach: Vec<L1Reach> = reach.collect();
    let eight = |field: reg::Field, value: u32| field.get(value) as u8;
    let description = CardDescription {
        name,
        slots: eight(reg::geometry::SLOTS, geometry),
        ports_per_slot: eight(reg::geometry::PORTS_PER_SLOT, geometry),
        streams_per_slot: eight(reg::stream_geometry::PER_SLOT, streams),
        network_pairs: eight(reg::stream_geometry::NETWORK, streams),
        tid_width: eight(reg::stream_geometry::TID_WIDTH, streams),
        tdest_width: eight(reg::stream_geometry::TDEST_WIDTH, streams),
        channels: eight(reg::memory::CHANNELS, memory),
        channel_bytes_log2: eight(reg::memory::CHANNEL_BYTES_LOG2, memory),
        channel_bytes: file.channel_bytes,
        memories: file.memories.clone(),
        spaces: eight(reg::geometry::SPACES, geometry),
        queues: eight(reg::geometry::QUEUES, geometry),
        translated,
        page_sizes: smallest.map_or(PageSizes::ALL, PageSizes::from),
        l1_sizes: l1_reach
            .iter()
            .map(|l1| l1.page)
            .fold(PageSizes::default(), PageSizes::with),
        l1_reach,
        table_walks: reg::translation::MAX_WALKS.get(read(reg::TRANSLATION)) > 0,
        clock_period: file.clock_period(),
        host_channel: file.host_channel,
    };
    check_sense(&description)?;
    let needed = reg::SLOT_CONTROL.base + reg::SLOT_CONTROL.stride * u32::from(description.slots);
    check(bar_bytes >= needed.into(), || {
        let slots = description.slots;
        format!("BAR 0 has {bar_bytes} bytes, and {slots} slots need {needed}")
    })?;
    Ok(description)
}

const PAGED: u32 = 0;
const IDENTITY: u32 = 1;
/// Width of a card address in bits.
const ADDRESS_BITS: u32 = 37;

/// Page size and number of entries of an L1 TLB, if it exists.
fn l1_of(register: u32) -> Option<(PageSize, u64)> {
    let ways = reg::l1_0::WAYS.get(register);
    let class = (reg::l1_0::PAGE_BITS.get(register) as u8).checked_sub(12)?;
    let page = PageSize::from_class(class)?;
    (ways > 0).then(|| (page, u64::from(ways) << reg::l1_0::SETS_LOG2.get(register)))
}

fn check_sense(card: &CardDescription) -> Result<(), GeometryError> {
    let within = |what: &str, value: u8, most: u32| {
        check(value > 0 && u32::from(value) <= most, || {
            format!("its registers say {value} {what}: 1 to {most} are possible")
        })
    };
    within("slots", card.slots, reg::SLOT.count)?;
    within("address spaces", card.spaces, reg::SPACE.count)?;
    within("command queues", card.queues, reg::QUEUE.count)?;
    within(
        "ports a slot",
        card.ports_per_slot,
        reg::PORT.count / u32::from(card.slots),
    )?;
    within("memory channels", card.channels, 64)?;
    check(card.channels.is_power_of_two(), || {
        format!(
            "its registers say {} memory channels: a power of two is possible",
            card.channels
        )
    })?;
    check(card.streams_per_slot <= card.ports_per_slot, || {
        format!(
            "its registers say {} stream pairs of {} ports",
            card.streams_per_slot, card.ports_per_slot
        )
    })?;
    let bits = u32::from(card.channel_bytes_log2);
    check((12..=ADDRESS_BITS).contains(&bits), || {
        format!(
            "its registers say channels of 2^{bits} bytes: 2^12 to 2^{ADDRESS_BITS} are possible"
        )
    })?;
    let memories = card.memories.iter().map(|memory| memory.channel_bytes);
    let most = memories.chain([card.channel_bytes]).max().unwrap_or(0);
    check(most <= 1 << bits, || {
        format!(
            "its file says {most} bytes of memory a channel, and its registers have room for {}",
            1u64 << bits
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn shell() -> BTreeMap<u32, u32> {
        BTreeMap::from([
            (reg::ID, reg::ID_MAGIC),
            (reg::VERSION, reg::version::MAJOR.put(reg::VERSION_MAJOR)),
            (
                reg::GEOMETRY,
                reg::geometry::SLOTS.put(4)
                    | reg::geometry::PORTS_PER_SLOT.put(2)
                    | reg::geometry::SPACES.put(16)
                    | reg::geometry::QUEUES.put(17),
            ),
            (
                reg::MEMORY,
                reg::memory::CHANNELS.put(4) | reg::memory::CHANNEL_BYTES_LOG2.put(34),
            ),
            (reg::TRANSLATION, reg::translation::MAX_WALKS.put(16)),
            (
                reg::L1_0,
                reg::l1_0::PAGE_BITS.put(12) | reg::l1_0::SETS_LOG2.put(7) | reg::l1_0::WAYS.put(4),
            ),
        ])
    }

    fn file() -> CardFile {
        CardFile {
            channel_bytes: 16 << 30,
            clock_period_ps: 4000,
            host_channel: false,
            memories: Vec::new(),
        }
    }

    fn describe_with(
        change: impl Fn(&mut BTreeMap<u32, u32>),
    ) -> Result<CardDescription, GeometryError> {
        describe_in(2 << 20, change)
    }

    fn describe_in(
        bar_bytes: u64,
        change: impl Fn(&mut BTreeMap<u32, u32>),
    ) -> Result<CardDescription, GeometryError> {
        let mut registers = shell();
        change(&mut registers);
        describe("card".into(), &file(), bar_bytes, |address| {
            *registers.get(&address).unwrap_or(&0)
        })
    }

    #[test]
    fn registers_say_what_a_card_is() {
        let card = describe_with(|_| {}).unwrap();
        assert_eq!(
            (card.slots, card.ports_per_slot, card.spaces, card.queues),
            (4, 2, 16, 17)
        );
        assert_eq!((card.channels, card.channel_bytes), (4, 16 << 30));
        assert_eq!(card.page_sizes, PageSizes::ALL);
        assert!(card.table_walks && card.translated);
        assert_eq!(card.l1_reach[0].bytes, (4 << 7) * 4096);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_value() {
        let refused = |change: fn(&mut BTreeMap<u32, u32>), said: &str| {
            let error = describe_with(change).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        };
        refused(|all| _ = all.insert(reg::ID, 0x1234), "0x00001234");
        refused(|all| _ = all.insert(reg::ID, u32::MAX), "all ones");
        refused(|all| _ = all.insert(reg::VERSION, 0), "version 0");
        refused(|all| _ = all.insert(reg::GEOMETRY, 0), "0 slots");
        refused(|all| _ = all.insert(reg::GEOMETRY, u32::MAX), "255 slots");
        refused(
            |all| _ = all.insert(reg::MEMORY, 3 | 34 << 8),
            "3 memory channels",
        );
        refused(
            |all| _ = all.insert(reg::MEMORY, 4 | 33 << 8),
            "room for 8589934592",
        );
        refused(
            |all| _ = all.insert(reg::STREAM_GEOMETRY, 7),
            "7 stream pairs",
        );
        let error = describe_in(1 << 20, |_| {}).unwrap_err().to_string();
        assert!(error.contains("BAR 0 has 1048576 bytes"), "{error}");
    }
}
