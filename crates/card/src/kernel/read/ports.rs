//! `[[port]]`.

use super::{RawPort, Reader};
use crate::kernel::error::{KernelError, ManifestRule};
use crate::kernel::manifest::{
    PacketOrder, Port, PortKind, RegisterPort, StreamPort, MAX_STREAM_ID_WIDTH,
};
use crate::stream::StreamDirection;
use std::collections::HashSet;
use std::ops::Range;
use toml::Spanned;

const MAX_PORTS: usize = 32;
/// Maximum number of ports that carry streams: the slot's registers have a bit for each
/// direction of each.
const MAX_CARRIERS: usize = 16;
const MAX_STREAMS: usize = 16;
const MAX_BUNDLES: usize = 2;
const MAX_STREAM_WIDTH: u32 = 4096;
/// Data width of memory ports that carry streams, in bits.
const CARRIED_WIDTH: u32 = 512;
/// Default address width of a memory port, in bits.
const ADDRESS_WIDTH: u32 = 64;

/// All ports except those for cache lines, each list in the order of the text.
pub(super) struct Listed {
    pub(super) ports: Vec<Port>,
    pub(super) streams: Vec<StreamPort>,
    pub(super) bundles: Vec<RegisterPort>,
}

/// Reads the ports of a kernel; their names are all different.
pub(super) struct PortReader<'a> {
    reader: &'a Reader<'a>,
    /// Names so far.
    seen: HashSet<String>,
}

impl<'a> PortReader<'a> {
    pub(super) fn new(reader: &'a Reader<'a>) -> Self {
        Self {
            reader,
            seen: HashSet::new(),
        }
    }

    fn broken(&self, key: &'static str, span: Range<usize>, rule: ManifestRule) -> KernelError {
        self.reader.broken(key, span, rule)
    }

    /// A name that no other port has.
    fn unique(&mut self, key: &'static str, name: Spanned<String>) -> Result<String, KernelError> {
        self.reader.unique(key, name, &mut self.seen)
    }

    /// Names of home ports, ports of line operations, and ports for the CPU's lines.
    pub(super) fn coherent(
        &mut self,
        raw: Vec<Spanned<RawPort>>,
    ) -> Result<[Vec<String>; 3], KernelError> {
        let [mut homes, mut lines, mut accesses] = [const { Vec::new() }; 3];
        let mut last = 0..0;
        for port in raw {
            last = port.span();
            let port = port.into_inner();
            let of_others = [
                port.data_width.is_some(),
                port.access.is_some(),
                port.direction.is_some(),
                port.members.is_some(),
                port.packets.is_some(),
                port.through.is_some(),
                port.drops.is_some(),
                port.tid_width.is_some(),
                port.tdest_width.is_some(),
                port.prefix.is_some(),
                port.address_width.is_some(),
            ];
            if of_others.contains(&true) {
                return Err(self.broken("port", last, ManifestRule::CoherentPort));
            }
            let name = self.unique("port.name", port.name)?;
            match port.kind {
                PortKind::Axi4Home => homes.push(name),
                PortKind::HostLines => accesses.push(name),
                _ => lines.push(name),
            }
        }
        // A kernel without home ports operates on lines that card memory serves.
        if !homes.is_empty() && homes.len() != lines.len() {
            let rule = ManifestRule::CoherentPairs {
                homes: homes.len(),
                lines: lines.len(),
            };
            return Err(self.broken("port", last, rule));
        }
        Ok([homes, lines, accesses])
    }

    /// A bundle of registers.
    fn bundle(&mut self, span: Range<usize>, port: RawPort) -> Result<RegisterPort, KernelError> {
        let of_others = [
            port.access.is_some(),
            port.direction.is_some(),
            port.members.is_some(),
            port.packets.is_some(),
            port.through.is_some(),
            port.drops.is_some(),
            port.tid_width.is_some(),
            port.tdest_width.is_some(),
            port.address_width.is_some(),
        ];
        if of_others.contains(&true) {
            return Err(self.broken("port", span, ManifestRule::BundleKeys));
        }
        let data_width = match &port.data_width {
            None => 32,
            Some(width) if matches!(width.get_ref(), 32 | 64) => *width.get_ref(),
            Some(width) => {
                let rule = ManifestRule::RegisterWidth(*width.get_ref());
                return Err(self.broken("port.data_width", width.span(), rule));
            }
        };
        Ok(RegisterPort {
            name: self.unique("port.name", port.name)?,
            prefix: self.prefix(port.prefix)?,
            data_width,
        })
    }

    /// Prefix of signal names.
    fn prefix(&self, raw: Option<Spanned<String>>) -> Result<Option<String>, KernelError> {
        let prefix = raw.map(|prefix| self.reader.identifier("port.prefix", prefix));
        prefix.transpose()
    }

    /// Width of TID or TDEST of a port; `own`: a stream with signals of its own.
    fn id_width(
        &self,
        key: &'static str,
        width: Option<Spanned<u8>>,
        own: bool,
    ) -> Result<u8, KernelError> {
        let Some(width) = width else {
            return Ok(0);
        };
        if !own || !(1..=MAX_STREAM_ID_WIDTH).contains(width.get_ref()) {
            return Err(self.broken(key, width.span(), ManifestRule::StreamIds));
        }
        Ok(width.into_inner())
    }

    /// Memory ports, stream ports and bundles of registers, each in the order of the text.
    pub(super) fn others(
        &mut self,
        raw: Vec<Spanned<RawPort>>,
        registers: bool,
    ) -> Result<Listed, KernelError> {
        let (mut ports, mut streams) = (Vec::<Port>::new(), Vec::<StreamPort>::new());
        let mut bundles = Vec::new();
        let mut carried = Vec::new();
        let count = |kind| {
            raw.iter()
                .filter(|port| port.get_ref().kind == kind)
                .count()
        };
        let (all_ports, all_streams) = (count(PortKind::Axi4), count(PortKind::Axi4Stream));
        for port in raw {
            let span = port.span();
            let port = port.into_inner();
            if port.kind == PortKind::Axi4Lite {
                if bundles.len() == MAX_BUNDLES {
                    return Err(self.broken("port", span, ManifestRule::TooManyBundles));
                }
                bundles.push(self.bundle(span, port)?);
                continue;
            }
            let name = self.unique("port.name", port.name)?;
            let prefix = self.prefix(port.prefix)?;
            let members = self.members(port.kind, port.members, &port.packets)?;
            let outgoing =
                matches!(&port.direction, Some(way) if *way.get_ref() == StreamDirection::Out);
            if let Some(drops) = &port.drops {
                if port.kind != PortKind::Axi4Stream || !outgoing || port.through.is_some() {
                    return Err(self.broken("port.drops", drops.span(), ManifestRule::Drops));
                }
            }
            let drops = port.drops.map(Spanned::into_inner).unwrap_or_default();
            let own =
                port.kind == PortKind::Axi4Stream && port.through.is_none() && members.is_empty();
            let tid_width = self.id_width("port.tid_width", port.tid_width, own)?;
            let tdest_width = self.id_width("port.tdest_width", port.tdest_width, own)?;
            if let Some(through) = port.through {
                let alone = members.is_empty()
                    && port.data_width.is_none()
                    && port.access.is_none()
                    && port.address_width.is_none()
                    && prefix.is_none();
                let rule = match (port.kind, port.direction) {
                    (PortKind::Axi4Stream, Some(direction)) if alone && registers => {
                        if streams.len() == MAX_STREAMS {
                            let rule = ManifestRule::TooManyStreams(all_streams);
                            return Err(self.broken("port", span, rule));
                        }
                        carried.push((streams.len(), through));
                        streams.push(StreamPort {
                            name,
                            prefix: None,
                            direction: direction.into_inner(),
                            data_width: CARRIED_WIDTH,
                            members,
                            packets: PacketOrder::default(),
                            through: None,
                            drops,
                            tid_width,
                            tdest_width,
                        });
                        continue;
                    }
                    (PortKind::Axi4Stream, Some(_)) if alone => {
                        "the slot's registers for it are in `s_axi_control`, which `ap_ctrl_none` has not"
                    }
                    _ => {
                        "it has kind `axi4_stream` and a `direction`, and nothing else: its width is what the kernel \
                         opens it with"
                    }
                };
                return Err(self.broken(
                    "port.through",
                    through.span(),
                    ManifestRule::Through(rule),
                ));
            }
            if let (Some(width), PortKind::Axi4Stream) = (&port.address_width, port.kind) {
                return Err(self.broken(
                    "port.address_width",
                    width.span(),
                    ManifestRule::StreamAddress,
                ));
            }
            if prefix.is_some() && !members.is_empty() {
                return Err(self.broken("port", span, ManifestRule::MemberPrefix));
            }
            let Some(data_width) = port.data_width else {
                return Err(self.broken("port", span, ManifestRule::NoDataWidth));
            };
            let width = *data_width.get_ref();
            let wrong_width = |rule| {
                let key = "port.data_width";
                Err(self.broken(key, data_width.span(), rule))
            };
            match (port.kind, port.access, port.direction) {
                (PortKind::Axi4, Some(access), None) => {
                    if !width.is_power_of_two() || !(32..=1024).contains(&width) {
                        return wrong_width(ManifestRule::DataWidth(width));
                    }
                    if ports.len() == MAX_PORTS {
                        let rule = ManifestRule::TooManyPorts(all_ports);
                        return Err(self.broken("port", span, rule));
                    }
                    let address_width = match &port.address_width {
                        None => ADDRESS_WIDTH,
                        Some(bits) if (32..=64).contains(bits.get_ref()) => *bits.get_ref(),
                        Some(bits) => {
                            let rule = ManifestRule::AddressWidth(*bits.get_ref());
                            return Err(self.broken("port.address_width", bits.span(), rule));
                        }
                    };
                    ports.push(Port {
                        name,
                        prefix,
                        kind: port.kind,
                        data_width: width,
                        address_width,
                        access: access.into_inner(),
                    });
                }
                (PortKind::Axi4Stream, None, Some(direction)) => {
                    if width == 0 || width % 8 != 0 || width > MAX_STREAM_WIDTH {
                        return wrong_width(ManifestRule::StreamWidth(width));
                    }
                    if streams.len() == MAX_STREAMS {
                        let rule = ManifestRule::TooManyStreams(all_streams);
                        return Err(self.broken("port", span, rule));
                    }
                    streams.push(StreamPort {
                        name,
                        prefix,
                        direction: direction.into_inner(),
                        data_width: width,
                        members,
                        packets: port.packets.map(Spanned::into_inner).unwrap_or_default(),
                        through: None,
                        drops,
                        tid_width,
                        tdest_width,
                    });
                }
                (PortKind::Axi4, _, _) => {
                    return Err(self.broken("port", span, ManifestRule::PortAccess));
                }
                (_, _, _) => {
                    return Err(self.broken("port", span, ManifestRule::StreamPortDirection));
                }
            }
        }
        for (number, name) in carried {
            streams[number].through = Some(self.carrier(&ports, &streams, number, name)?);
        }
        Ok(Listed {
            ports,
            streams,
            bundles,
        })
    }

    /// The memory port that carries a stream.
    fn carrier(
        &self,
        ports: &[Port],
        streams: &[StreamPort],
        number: usize,
        name: Spanned<String>,
    ) -> Result<usize, KernelError> {
        let broken = |rule| Err(self.broken("port.through", name.span(), rule));
        let Some(index) = ports.iter().position(|port| port.name == *name.get_ref()) else {
            return broken(ManifestRule::NoSuchPort(name.get_ref().clone()));
        };
        let (port, direction) = (&ports[index], streams[number].direction);
        let has_channel = match direction {
            StreamDirection::In => port.access.reads(),
            StreamDirection::Out => port.access.writes(),
        };
        let taken =
            |other: &StreamPort| other.through == Some(index) && other.direction == direction;
        if port.data_width != CARRIED_WIDTH {
            broken(ManifestRule::Through("its port has 512 bits"))
        } else if port.address_width != ADDRESS_WIDTH {
            broken(ManifestRule::Through("its port has addresses of 64 bits"))
        } else if !has_channel {
            let rule = "one into the kernel comes on the read channels of its port, one out of it on the write \
                        channels, and `access` says that the port has not these";
            broken(ManifestRule::Through(rule))
        } else if index >= MAX_CARRIERS {
            broken(ManifestRule::Through(
                "its port is one of the first sixteen",
            ))
        } else if streams.iter().any(taken) {
            broken(ManifestRule::Through("a port carries one of a direction"))
        } else {
            Ok(index)
        }
    }

    /// Names of the kernel's ports that share a stream; empty if the stream is itself a
    /// port.
    fn members(
        &mut self,
        kind: PortKind,
        raw: Option<Spanned<Vec<Spanned<String>>>>,
        packets: &Option<Spanned<PacketOrder>>,
    ) -> Result<Vec<String>, KernelError> {
        let Some(raw) = raw else {
            return match packets {
                Some(packets) => {
                    Err(self.broken("port.packets", packets.span(), ManifestRule::Members(0)))
                }
                None => Ok(Vec::new()),
            };
        };
        let span = raw.span();
        let count = raw.get_ref().len();
        if kind != PortKind::Axi4Stream || !(2..=MAX_STREAMS).contains(&count) {
            return Err(self.broken("port.members", span, ManifestRule::Members(count)));
        }
        let names = raw.into_inner().into_iter();
        names
            .map(|name| self.unique("port.members", name))
            .collect()
    }
}
