//! Streaming kernels in the whole system: every byte of every transfer is compared, from each device and to each, while
//! devices change under a running kernel.

mod judge;
mod place;
mod plan;

use super::Failure;
use crate::experiment::vfpio::Vfpio;
use crate::random::Random;
use crate::row::Row;
use card::kernel::ControlProtocol;
use judge::{wrong, TransferResult};
use place::{DataPart, Port, StreamDevice, TestBench};
use plan::{subjects, Packet, Subject};
use std::path::Path;
use std::time::Instant;
use tombolo::{
    AddressSpace, Card, Continue, Flow, FunctionalCard, FunctionalConfig, OwnerOptions,
    Picoseconds, SharedMemory, SimOptions, Slot, SlotId,
};

/// Names, in the order of measurement.
pub const NAMES: &[&str] = &[
    "vio.kernels.lost",
    "vio.kernels.transfers",
    "vio.kernels.least_of_a_pair",
    "vio.kernels.rtl.transfers",
];

/// Transfers of a kernel from devices, and as many to devices.
const TRANSFERS: usize = 200;
/// Maximum virtual time of a transfer: a hundred times that of the slowest.
const LONGEST: Picoseconds = Picoseconds::from_millis(500);

fn experiment() -> Result<Vfpio, Failure> {
    Ok(Vfpio::read(&simcard::home().join("experiments"))?)
}

/// RTL of the shell and the kernels, with both HBM and DRAM, and a network interface.
fn simulated(experiment: &Vfpio) -> Result<Card, Failure> {
    let both = SimOptions::named("u280-both")?;
    let mut options = experiment.options()?;
    options.platform = both.platform;
    options.shell.network_pairs = 1;
    Ok(Card::simulated(options, OwnerOptions::default(), |_| {})?)
}

/// Models of the kernels, whose commands complete out of order.
fn functional() -> Result<Card, Failure> {
    let card = FunctionalCard::new(FunctionalConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        seed: Some(15),
        ..FunctionalConfig::default()
    });
    Ok(Card::new(Box::new(card), OwnerOptions::default())?)
}

/// Devices that take part.
#[derive(Clone, Copy, Debug)]
struct Devices<'a> {
    /// Include devices whose data is transferred by the host.
    by_host: bool,
    /// The command that serves memory; `None`: without remote memory.
    tombolo: Option<&'a Path>,
}

/// A kernel that is loaded once, with a loopback in the other slot.
struct LoopbackBench<'a> {
    card: &'a Card,
    subject: &'a Subject,
    loopback: Slot,
    slot: Slot,
    _memory: Option<SharedMemory>,
    space: AddressSpace,
}

impl<'a> LoopbackBench<'a> {
    fn new(card: &'a Card, subject: &'a Subject) -> Result<Self, Failure> {
        let space = card.create_space()?;
        let kernels = simcard::home().join("kernels");
        let load = |slot: u8, kernel: &str| card.load(SlotId(slot), kernels.join(kernel), &space);
        let slot = load(0, &subject.kernel)?;
        let loopback = load(1, "loopback")?;
        for (name, value) in &subject.arguments {
            slot.set_bytes(name, value)?;
        }
        let memory = |name| -> Result<SharedMemory, Failure> {
            let memory = space.alloc(64)?;
            slot.set_pointer(name, memory.address())?;
            Ok(memory)
        };
        let memory = subject.memory.map(memory).transpose()?;
        Ok(Self {
            card,
            subject,
            loopback,
            slot,
            _memory: memory,
            space,
        })
    }

    /// Sends each packet from every device to some device, and to every device from some, in an order that never
    /// repeats. Returns the names of the devices, and the received packets.
    fn run(&self, devices: Devices<'_>) -> Result<(Vec<String>, Vec<TransferResult>), Failure> {
        let folder = tempfile::tempdir()?;
        let site = TestBench {
            card: self.card,
            space: &self.space,
            folder: folder.path(),
            subject: self.subject,
            loopback: &self.loopback,
            tombolo: devices.tombolo,
        };
        let mut places = place::all(&site, devices.by_host)?;
        let names: Vec<String> = places.iter().map(|place| place.name().to_owned()).collect();
        let mut random = Random(self.subject.packets.len() as u64);
        let mut order: Vec<Vec<(usize, Option<usize>)>> = vec![Vec::new(); places.len()];
        for (number, packet) in self.subject.packets.iter().enumerate() {
            for (from, to) in pairs(&mut random, &places) {
                let from = self.subject.input.is_some().then_some(from);
                self.transfer(&mut places, (from, to), packet)
                    .map_err(|error| {
                        let from = from.map_or("itself", |from| names[from].as_str());
                        let Packet { offset, bytes, .. } = packet;
                        format!(
                            "{}, {bytes} bytes from {offset}, from {from} to {}: {error}",
                            self.subject.kernel, names[to]
                        )
                    })?;
                order[to].push((number, from));
            }
        }
        let mut all = Vec::new();
        for (to, (place, order)) in places.iter_mut().zip(order).enumerate() {
            let got = place
                .collect()
                .map_err(|error| format!("{}, {}: {error}", self.subject.kernel, names[to]))?;
            if got.len() != order.len() {
                return Err(format!("{}: {} of {}", names[to], got.len(), order.len()).into());
            }
            all.extend(
                got.into_iter()
                    .zip(order)
                    .map(|(bytes, (packet, from))| TransferResult {
                        packet,
                        from,
                        to,
                        bytes,
                    }),
            );
        }
        Ok((names, all))
    }

    /// Opens devices, transfers one packet, and closes them.
    fn transfer(
        &self,
        places: &mut [Box<dyn StreamDevice + '_>],
        (from, to): (Option<usize>, usize),
        packet: &Packet,
    ) -> Result<(), Failure> {
        let port = |name| Port {
            slot: &self.slot,
            name,
        };
        if let Some((name, value)) = packet.set {
            self.slot.set(name, value)?;
        }
        let mut flow = Flow::new(&self.space);
        if let (Some(from), Some(input)) = (from, self.subject.input) {
            let given = DataPart {
                offset: packet.offset,
                bytes: self.subject.bytes(packet),
            };
            places[from].give(&mut flow, port(input), given)?;
        }
        places[to].take(&mut flow, port(self.subject.output), packet.room)?;
        let starts = self.slot.manifest().control != ControlProtocol::ApCtrlNone;
        if starts {
            self.slot.start()?;
        }
        let flowed = flow.run(Some(LONGEST), |_| Continue::Yes)?;
        if let Some(one) = flowed.iter().find(|one| one.packets != 1) {
            return Err(format!("{} packets at port {}", one.packets, one.port).into());
        }
        let came = flowed.last().ok_or("nothing flowed")?.bytes;
        if let Some(from) = from {
            if flowed[0].bytes != packet.bytes {
                return Err(format!("{} bytes were taken", flowed[0].bytes).into());
            }
            places[from].given()?;
        }
        places[to].taken(came)?;
        if starts {
            self.slot.wait(Some(LONGEST), |_| Continue::Yes)?;
        }
        Ok(())
    }
}

/// Pairs of devices in which every device occurs once at each end.
fn pairs(random: &mut Random, places: &[Box<dyn StreamDevice + '_>]) -> Vec<(usize, usize)> {
    let mut shuffled = || {
        let mut order: Vec<usize> = (0..places.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, random.below(last as u64 + 1) as usize);
        }
        order
    };
    let (from, mut to) = (shuffled(), shuffled());
    let alone = (0..to.len()).find(|n| from[*n] == to[*n] && places[to[*n]].is_one_way());
    if let Some(n) = alone {
        let other = (n + 1) % to.len();
        to.swap(n, other);
    }
    from.into_iter().zip(to).collect()
}

/// Results of all transfers.
#[derive(Debug, Default)]
struct Tally {
    lost: usize,
    transfers: usize,
    /// Fewest transfers of any kernel and device, at one end.
    least: Option<usize>,
}

impl Tally {
    /// Runs all of these kernels on a card.
    fn of<'a>(
        card: &Card,
        subjects: impl Iterator<Item = &'a Subject>,
        devices: Devices<'_>,
    ) -> Result<Self, Failure> {
        let mut tally = Self::default();
        for subject in subjects {
            tally.add(card, subject, devices)?;
        }
        Ok(tally)
    }

    /// Runs a kernel on a card, from each of its devices and to each.
    fn add(&mut self, card: &Card, subject: &Subject, devices: Devices<'_>) -> Result<(), Failure> {
        let since = Instant::now();
        let (names, all) = LoopbackBench::new(card, subject)?.run(devices)?;
        let ran = since.elapsed();
        let wrong = wrong(subject, &all)?;
        for (number, name) in names.iter().enumerate() {
            let from = all.iter().filter(|came| came.from == Some(number)).count();
            let to = all.iter().filter(|came| came.to == number).count();
            let least = match subject.input {
                Some(_) => from.min(to),
                None => to,
            };
            self.least = Some(self.least.map_or(least, |before| before.min(least)));
            let bad = |came: &&usize| all[**came].to == number || all[**came].from == Some(number);
            let bad = wrong.iter().filter(bad).count();
            if bad > 0 {
                eprintln!("{}: {bad} wrong, from or to {name}", subject.kernel);
            }
        }
        eprintln!(
            "{}: {} wrong of {}, {} devices, {ran:.1?} and {:.1?} to judge",
            subject.kernel,
            wrong.len(),
            all.len(),
            names.len(),
            since.elapsed() - ran
        );
        self.lost += wrong.len();
        self.transfers += all.len();
        Ok(())
    }
}

/// Every kernel with every device, on both cards.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let experiment = experiment()?;
    let subjects = subjects(&experiment, TRANSFERS)?;
    let tombolo = super::the_command()?;
    let devices = |by_host| Devices {
        by_host,
        tombolo: Some(&tombolo),
    };
    // Concurrently: with the models, the devices are the bottleneck.
    let (models, rtl) = std::thread::scope(|scope| {
        let models = scope.spawn(|| {
            let with_models = subjects.iter().filter(|one| one.has_model);
            Tally::of(&functional()?, with_models, devices(true))
        });
        let rtl = simulated(&experiment)
            .and_then(|card| Tally::of(&card, subjects.iter(), devices(false)));
        let models = models.join();
        (models.unwrap_or_else(|_| Err("a panic".into())), rtl)
    });
    let (models, rtl) = (models?, rtl?);
    let number = |count: usize| count as f64;
    let row = |name, count| Row::new(name, number(count), "transfers");
    Ok(vec![
        row(NAMES[0], models.lost + rtl.lost),
        row(NAMES[1], models.transfers + rtl.transfers),
        row(NAMES[2], models.least.min(rtl.least).unwrap_or(0)),
        row(NAMES[3], rtl.transfers),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every kernel from each device to some other, on models; and the check detects a wrong byte.
    #[test]
    fn few_packets_of_every_kernel_and_a_wrong_byte() {
        let card = functional().unwrap();
        let devices = Devices {
            by_host: true,
            tombolo: None,
        };
        let all = subjects(&experiment().unwrap(), 2).unwrap();
        for subject in all.into_iter().filter(|one| one.has_model) {
            let (names, mut all) = LoopbackBench::new(&card, &subject)
                .unwrap()
                .run(devices)
                .unwrap();
            assert_eq!(all.len(), 2 * names.len());
            assert_eq!(wrong(&subject, &all).unwrap(), [] as [usize; 0]);
            let bad = all.iter().position(|came| !came.bytes.is_empty()).unwrap();
            all[bad].bytes[0] ^= 1;
            let last = all.len() - 1;
            all[last].bytes.push(0);
            assert_eq!(wrong(&subject, &all).unwrap(), [bad, last]);
        }
    }
}
