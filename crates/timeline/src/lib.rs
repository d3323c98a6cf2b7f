//! Timelines of virtual time as Perfetto reads them (<https://ui.perfetto.dev>).
//!
//! ```
//! use tombolo_timeline::Timeline;
//! use units::Picoseconds;
//!
//! # fn main() -> std::io::Result<()> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("t.pftrace");
//! let timeline = Timeline::create(&path)?;
//! let card = timeline.group("card", None);
//! let bursts = timeline.lanes("port 0 reads", Some(card));
//! let (from, to) = (Picoseconds::from_nanos(10), Picoseconds::from_nanos(250));
//! timeline.slice(bursts, "read", from, to, &[("address", 0x1000.into())]);
//! timeline.finish()?;
//! # Ok(())
//! # }
//! ```
//! A track whose slices overlap has as many lanes as needed. Perfetto counts nanoseconds: picoseconds are truncated.

mod marks;
mod packet;
mod record;

pub use marks::{Mark, Marks};
pub use record::{Busy, Counts, Kind, Lengths, Places, Record, Touched, TrackRecord};

use packet::{debug_annotation, event_type, DebugAnnotation, Trace, TracePacket, TrackDescriptor};
use packet::{CounterDescriptor, TrackEvent};
use prost::Message;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use units::Picoseconds;

/// All packets belong to one sequence.
const SEQUENCE: u32 = 1;

/// A track for events, or a parent of further tracks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(usize);

/// A connection between events: they are shown with arrows, in the order of their times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow(u64);

/// An argument of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A decimal number.
    Number(u64),
    /// An address; shown in hexadecimal.
    Address(u64),
    /// Shown as it is.
    Text(String),
    /// No argument: connects the event with others of this flow.
    Flow(Flow),
}

impl From<Flow> for Value {
    fn from(flow: Flow) -> Self {
        Self::Flow(flow)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A timeline being written. Clones share the file and the record.
#[derive(Clone)]
pub struct Timeline {
    writer: Arc<Mutex<Writer>>,
}

impl fmt::Debug for Timeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Timeline")
    }
}

struct Writer {
    /// Without a file, only the record is kept.
    sink: Option<BufWriter<File>>,
    /// Contents of the tracks, in order.
    record: Option<Record>,
    /// The first failure; nothing is written after it.
    failed: Option<io::Error>,
    tracks: Vec<Lanes>,
    next_uuid: u64,
    next_flow: u64,
    buffer: Vec<u8>,
}

/// A track as its users see it: one lane, or several if slices overlap.
struct Lanes {
    name: String,
    /// Name with the names of its parents.
    path: String,
    parent: Option<u64>,
    /// Lanes, each with the end of its last slice.
    lanes: Vec<(u64, Picoseconds)>,
    /// Place in the record; counters have none.
    recorded: Option<usize>,
}

impl Timeline {
    /// Creates the file.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create(path: &Path) -> io::Result<Self> {
        let sink = BufWriter::with_capacity(1 << 18, File::create(path)?);
        Ok(Self::new(Some(sink), None))
    }

    /// As [`create`](Self::create), with a [`record`](Self::record) as well.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn create_and_record(path: &Path) -> io::Result<Self> {
        let sink = BufWriter::with_capacity(1 << 18, File::create(path)?);
        Ok(Self::new(Some(sink), Some(Record::default())))
    }

    /// A timeline without a file, which keeps only the [`record`](Self::record).
    pub fn recorder() -> Self {
        Self::new(None, Some(Record::default()))
    }

    fn new(sink: Option<BufWriter<File>>, record: Option<Record>) -> Self {
        Self {
            writer: Arc::new(Mutex::new(Writer {
                sink,
                record,
                failed: None,
                tracks: Vec::new(),
                next_uuid: 1,
                next_flow: 1,
                buffer: Vec::new(),
            })),
        }
    }

    /// The record so far, if one is kept.
    pub fn record(&self) -> Option<Record> {
        self.writer().record.clone()
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        // A writer that panicked has written whole packets only.
        self.writer
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// A track that holds instants or further tracks. The same name and parent give the same track.
    pub fn group(&self, name: &str, parent: Option<Track>) -> Track {
        let mut writer = self.writer();
        let track = writer.track(name, parent);
        writer.lane(track, Picoseconds::ZERO);
        track
    }

    /// A track for slices that may overlap: lanes are added as needed.
    pub fn lanes(&self, name: &str, parent: Option<Track>) -> Track {
        self.writer().track(name, parent)
    }

    /// A track for values over time.
    pub fn counter(&self, name: &str, parent: Option<Track>) -> Track {
        let mut writer = self.writer();
        let track = writer.add_track(name, parent, false);
        let uuid = writer.describe(track.0, true);
        writer.tracks[track.0].lanes.push((uuid, Picoseconds::ZERO));
        track
    }

    /// A flow without events so far.
    pub fn flow(&self) -> Flow {
        let mut writer = self.writer();
        let flow = Flow(writer.next_flow);
        writer.next_flow += 1;
        flow
    }

    /// Writes a slice: an event with a start and an end. Slices of a track must be written in the order of their ends.
    pub fn slice(
        &self,
        track: Track,
        name: &str,
        from: Picoseconds,
        to: Picoseconds,
        values: &[(&str, Value)],
    ) {
        let mut writer = self.writer();
        if let Some(record) = writer.recorded(track) {
            record.slice(name, from, to, values);
        }
        if writer.sink.is_none() {
            return;
        }
        let uuid = writer.lane(track, from);
        writer.busy_until(track, uuid, to);
        writer.event(
            from,
            TrackEvent::new(event_type::SLICE_BEGIN, uuid, name, values),
        );
        writer.event(to, TrackEvent::new(event_type::SLICE_END, uuid, "", &[]));
    }

    /// Writes an instant event.
    pub fn instant(&self, track: Track, name: &str, at: Picoseconds, values: &[(&str, Value)]) {
        let mut writer = self.writer();
        if let Some(record) = writer.recorded(track) {
            record.instant(name, at, values);
        }
        if writer.sink.is_none() {
            return;
        }
        let uuid = writer.lane(track, Picoseconds::MAX);
        writer.event(at, TrackEvent::new(event_type::INSTANT, uuid, name, values));
    }

    /// Sets the value of a counter from a time on.
    pub fn count(&self, track: Track, at: Picoseconds, value: i64) {
        let mut writer = self.writer();
        if writer.sink.is_none() {
            return;
        }
        let uuid = writer.lane(track, Picoseconds::MAX);
        let mut event = TrackEvent::new(event_type::COUNTER, uuid, "", &[]);
        event.counter_value = Some(value);
        writer.event(at, event);
    }

    /// Flushes buffered packets.
    ///
    /// # Errors
    /// The first error of any write.
    pub fn finish(&self) -> io::Result<()> {
        let mut writer = self.writer();
        match writer.failed.take() {
            Some(error) => Err(error),
            None => writer.sink.as_mut().map_or(Ok(()), Write::flush),
        }
    }
}

impl Writer {
    /// The track with this name and parent, which is part of the record.
    fn track(&mut self, name: &str, parent: Option<Track>) -> Track {
        self.add_track(name, parent, true)
    }

    fn add_track(&mut self, name: &str, parent: Option<Track>, is_recorded: bool) -> Track {
        let mut path = name.to_owned();
        if let Some(parent) = parent {
            path = format!("{}/{name}", self.tracks[parent.0].path);
        }
        let parent = parent.map(|parent| self.lane(parent, Picoseconds::MAX));
        let known = |lanes: &Lanes| lanes.parent == parent && lanes.name == name;
        if let Some(track) = self.tracks.iter().position(known) {
            return Track(track);
        }
        let record = self.record.as_mut().filter(|_| is_recorded);
        let recorded = record.map(|record| {
            record.tracks.push(TrackRecord::new(path.clone()));
            record.tracks.len() - 1
        });
        self.tracks.push(Lanes {
            name: name.to_owned(),
            path,
            parent,
            lanes: Vec::new(),
            recorded,
        });
        Track(self.tracks.len() - 1)
    }

    fn recorded(&mut self, track: Track) -> Option<&mut TrackRecord> {
        let place = self.tracks.get(track.0)?.recorded?;
        self.record.as_mut()?.tracks.get_mut(place)
    }

    /// Writes the description of a lane and returns its identity.
    fn describe(&mut self, track: usize, counter: bool) -> u64 {
        let uuid = self.next_uuid;
        self.next_uuid += 1;
        let lanes = &self.tracks[track];
        let descriptor = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(lanes.name.clone()),
            parent_uuid: lanes.parent,
            counter: counter.then(CounterDescriptor::default),
        };
        self.packet(TracePacket {
            track_descriptor: Some(descriptor),
            ..TracePacket::default()
        });
        uuid
    }

    /// The first lane without a slice at `from` or later.
    fn lane(&mut self, track: Track, from: Picoseconds) -> u64 {
        let free = self.tracks[track.0]
            .lanes
            .iter()
            .find(|lane| lane.1 <= from);
        if let Some((uuid, _)) = free {
            return *uuid;
        }
        let uuid = self.describe(track.0, false);
        self.tracks[track.0].lanes.push((uuid, Picoseconds::ZERO));
        uuid
    }

    fn busy_until(&mut self, track: Track, uuid: u64, to: Picoseconds) {
        let lanes = &mut self.tracks[track.0].lanes;
        if let Some(lane) = lanes.iter_mut().find(|lane| lane.0 == uuid) {
            lane.1 = to;
        }
    }

    fn event(&mut self, at: Picoseconds, event: TrackEvent) {
        self.packet(TracePacket {
            timestamp: Some(at.get() / 1000),
            track_event: Some(event),
            ..TracePacket::default()
        });
    }

    fn packet(&mut self, packet: TracePacket) {
        let Some(sink) = self.sink.as_mut().filter(|_| self.failed.is_none()) else {
            return;
        };
        // Concatenated traces form one trace.
        let trace = Trace {
            packet: vec![TracePacket {
                trusted_packet_sequence_id: Some(SEQUENCE),
                ..packet
            }],
        };
        self.buffer.clear();
        let written = trace
            .encode(&mut self.buffer)
            .map_err(io::Error::other)
            .and_then(|()| sink.write_all(&self.buffer));
        self.failed = written.err();
    }
}

impl TrackEvent {
    fn new(kind: i32, uuid: u64, name: &str, values: &[(&str, Value)]) -> Self {
        Self {
            kind: Some(kind),
            track_uuid: Some(uuid),
            name: (!name.is_empty()).then(|| name.to_owned()),
            debug_annotations: values.iter().filter_map(annotation).collect(),
            counter_value: None,
            flow_ids: values.iter().filter_map(flow).collect(),
        }
    }
}

fn annotation((name, value): &(&str, Value)) -> Option<DebugAnnotation> {
    let value = match value {
        Value::Number(number) => debug_annotation::Value::Uint(*number),
        Value::Address(address) => debug_annotation::Value::Pointer(*address),
        Value::Text(text) => debug_annotation::Value::String(text.clone()),
        Value::Flow(_) => return None,
    };
    Some(DebugAnnotation {
        name: Some((*name).to_owned()),
        value: Some(value),
    })
}

fn flow((_, value): &(&str, Value)) -> Option<u64> {
    match value {
        Value::Flow(Flow(number)) => Some(*number),
        _ => None,
    }
}

/// Reads a file back, for tests and tools: slices and instants with their tracks.
pub mod read {
    use super::packet::{debug_annotation, event_type, Trace};
    use prost::Message;
    use std::collections::BTreeMap;

    /// An event with its track and arguments.
    #[derive(Clone, Debug, PartialEq)]
    pub struct Event {
        /// Names of the track and its parents, outermost first, joined with `/`.
        pub track: String,
        /// The track's identity.
        pub lane: u64,
        /// Name of the event.
        pub name: String,
        /// Start in nanoseconds.
        pub from: u64,
        /// End in nanoseconds; equal to `from` for instants and counters.
        pub to: u64,
        /// Arguments; addresses as `0x…`.
        pub values: BTreeMap<String, String>,
        /// Numbers of its flows.
        pub flows: Vec<u64>,
    }

    /// Reads a trace: its events in the order of their ends.
    ///
    /// # Errors
    /// A description of the defect: not a protocol buffer, a track without description, slices that overlap on a track,
    /// an end without a beginning.
    pub fn events(bytes: &[u8]) -> Result<Vec<Event>, String> {
        let trace = Trace::decode(bytes).map_err(|error| error.to_string())?;
        let mut tracks: BTreeMap<u64, String> = BTreeMap::new();
        let mut open: BTreeMap<u64, Event> = BTreeMap::new();
        let mut ended: BTreeMap<u64, u64> = BTreeMap::new();
        let mut events = Vec::new();
        for packet in trace.packet {
            if let Some(track) = packet.track_descriptor {
                let name = track.name.unwrap_or_default();
                let name = match track.parent_uuid {
                    None => name,
                    Some(parent) => match tracks.get(&parent) {
                        Some(parent) => format!("{parent}/{name}"),
                        None => return Err(format!("{name}: its parent comes later")),
                    },
                };
                tracks.insert(track.uuid.unwrap_or(0), name);
            }
            let (Some(event), Some(at)) = (packet.track_event, packet.timestamp) else {
                continue;
            };
            let lane = event.track_uuid.unwrap_or(0);
            let Some(track) = tracks.get(&lane) else {
                return Err(format!("track {lane} has no description"));
            };
            let mut this = Event {
                track: track.clone(),
                lane,
                name: event.name.unwrap_or_default(),
                from: at,
                to: at,
                values: event
                    .debug_annotations
                    .into_iter()
                    .map(|value| (value.name.unwrap_or_default(), text(value.value)))
                    .collect(),
                flows: event.flow_ids,
            };
            match event.kind {
                Some(event_type::SLICE_BEGIN) => {
                    if ended.get(&lane).is_some_and(|end| *end > at) || open.contains_key(&lane) {
                        return Err(format!("{track}: slices overlap at {at} ns"));
                    }
                    open.insert(lane, this);
                }
                Some(event_type::SLICE_END) => {
                    let begun = open.remove(&lane);
                    this = begun.ok_or(format!("{track}: an end at {at} ns without beginning"))?;
                    if at < this.from {
                        return Err(format!("{track}: ends at {at} ns before it begins"));
                    }
                    this.to = at;
                    ended.insert(lane, at);
                    events.push(this);
                }
                _ => {
                    if let Some(value) = event.counter_value {
                        this.values.insert("value".to_owned(), value.to_string());
                    }
                    events.push(this);
                }
            }
        }
        match open.into_values().next() {
            Some(event) => Err(format!("{}: {} never ends", event.track, event.name)),
            None => Ok(events),
        }
    }

    fn text(value: Option<debug_annotation::Value>) -> String {
        match value {
            None => String::new(),
            Some(debug_annotation::Value::Uint(number)) => number.to_string(),
            Some(debug_annotation::Value::String(text)) => text,
            Some(debug_annotation::Value::Pointer(address)) => format!("0x{address:x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.pftrace");
        let timeline = Timeline::create(&path).unwrap();
        let ns = Picoseconds::from_nanos;
        let card = timeline.group("card", None);
        let reads = timeline.lanes("reads", Some(card));
        timeline.slice(
            reads,
            "first",
            ns(10),
            ns(30),
            &[("address", Value::Address(16))],
        );
        timeline.slice(reads, "second", ns(20), ns(40), &[("bytes", 64.into())]);
        timeline.slice(reads, "third", ns(30), ns(40), &[("why", "later".into())]);
        let flow = timeline.flow();
        timeline.instant(card, "interrupt", ns(50), &[("", flow.into())]);
        let counter = timeline.counter("parked", Some(card));
        timeline.count(counter, ns(60), -3);
        timeline.finish().unwrap();
        let events = read::events(&std::fs::read(&path).unwrap()).unwrap();
        let seen: Vec<_> = events
            .iter()
            .map(|e| (e.track.as_str(), e.name.as_str(), e.from, e.to))
            .collect();
        let expected = [
            ("card/reads", "first", 10, 30),
            ("card/reads", "second", 20, 40),
            ("card/reads", "third", 30, 40),
            ("card", "interrupt", 50, 50),
            ("card/parked", "", 60, 60),
        ];
        assert_eq!(seen, expected);
        assert_eq!(events[0].values["address"], "0x10");
        assert_eq!(events[4].values["value"], "-3");
        assert_eq!((events[3].flows.len(), events[0].flows.len()), (1, 0));
        assert!(events[3].values.is_empty());
        assert_ne!(timeline.flow(), flow);
        // The third begins where the first ended; the second needs a lane of its own.
        assert_eq!(events[0].lane, events[2].lane);
        assert_ne!(events[0].lane, events[1].lane);
    }

    #[test]
    fn a_record_is_the_same_with_a_file_and_without() {
        let folder = tempfile::tempdir().unwrap();
        let with = Timeline::create_and_record(&folder.path().join("t")).unwrap();
        assert!(Timeline::create(&folder.path().join("u"))
            .unwrap()
            .record()
            .is_none());
        let told = [with, Timeline::recorder()].map(|timeline| {
            let ns = Picoseconds::from_nanos;
            let card = timeline.group("card", None);
            let counter = timeline.counter("waiting", Some(card));
            let reads = timeline.lanes("reads", Some(card));
            timeline.count(counter, ns(5), 1);
            let values = [("address", Value::Address(0x5010)), ("bytes", 64.into())];
            timeline.slice(reads, "read", ns(10), ns(30), &values);
            timeline.slice(reads, "read", ns(20), ns(40), &values);
            timeline.instant(card, "interrupt", ns(50), &[]);
            timeline.finish().unwrap();
            timeline.record().unwrap()
        });
        for record in &told {
            let reads = record.track("card/reads").unwrap();
            assert_eq!(reads.busy.total(), Picoseconds::from_nanos(30));
            assert_eq!((reads.kinds.len(), reads.kinds[0].begins.total()), (1, 2));
            let cells = reads.places.cells(0x4000, 4096, 2);
            assert_eq!(
                (cells[0].slices, cells[1].slices, cells[1].bytes),
                (0, 2, 128)
            );
            assert_eq!(record.track("card").unwrap().kinds[0].name, "interrupt");
            assert!(record.track("card/waiting").is_none());
            assert_eq!(record.end(), Picoseconds::from_nanos(40));
        }
        assert_eq!(format!("{:?}", told[0]), format!("{:?}", told[1]));
    }

    #[test]
    fn a_full_disk_is_an_error_at_the_end() {
        let Ok(timeline) = Timeline::create(Path::new("/dev/full")) else {
            return;
        };
        let track = timeline.group("card", None);
        for n in 0..100_000 {
            timeline.instant(track, "again", Picoseconds::from_nanos(n), &[]);
        }
        assert!(timeline.finish().is_err());
    }

    #[test]
    fn damaged_traces_are_refused() {
        assert!(read::events(&[0xff; 40]).is_err());
    }
}
