//! The few messages of Perfetto's trace format that a timeline needs, with the field numbers of its
//! published protocol definitions (`protos/perfetto/trace`).

/// The root message: a file is one trace.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(crate) packet: Vec<TracePacket>,
}

/// One packet of a trace.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TracePacket {
    /// Time in nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(crate) timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    pub(crate) trusted_packet_sequence_id: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(crate) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "60")]
    pub(crate) track_descriptor: Option<TrackDescriptor>,
}

/// Declares a row of the timeline, or a group of rows.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    pub(crate) uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    pub(crate) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(crate) counter: Option<CounterDescriptor>,
}

/// Marks a track as a counter.
#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct CounterDescriptor {}

/// An event on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub(crate) debug_annotations: Vec<DebugAnnotation>,
    /// One of [`event_type`].
    #[prost(int32, optional, tag = "9")]
    pub(crate) kind: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    pub(crate) track_uuid: Option<u64>,
    #[prost(string, optional, tag = "23")]
    pub(crate) name: Option<String>,
    #[prost(int64, optional, tag = "30")]
    pub(crate) counter_value: Option<i64>,
    /// Events with a common number are connected by arrows, in the order of their times.
    #[prost(fixed64, repeated, tag = "47")]
    pub(crate) flow_ids: Vec<u64>,
}

/// Kinds of track events.
pub(crate) mod event_type {
    pub(crate) const SLICE_BEGIN: i32 = 1;
    pub(crate) const SLICE_END: i32 = 2;
    pub(crate) const INSTANT: i32 = 3;
    pub(crate) const COUNTER: i32 = 4;
}

/// An argument of an event.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct DebugAnnotation {
    #[prost(string, optional, tag = "10")]
    pub(crate) name: Option<String>,
    #[prost(oneof = "debug_annotation::Value", tags = "3, 6, 7")]
    pub(crate) value: Option<debug_annotation::Value>,
}

/// Parts of [`DebugAnnotation`].
pub(crate) mod debug_annotation {
    /// Type and value of an annotation.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub(crate) enum Value {
        #[prost(uint64, tag = "3")]
        Uint(u64),
        #[prost(string, tag = "6")]
        String(String),
        #[prost(uint64, tag = "7")]
        Pointer(u64),
    }
}
