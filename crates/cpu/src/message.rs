//! Messages of the link and their 64-bit header.

use protocol::spec::{MsgId, Spec};

use units::line::{Data, FoldedLine};

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Identifier of the message.
    pub id: MsgId,
    /// Number of the request, in a request and its answer.
    pub request: u8,
    /// Mask of the line's parts in the data.
    pub parts: u8,
    /// Folded number of the line.
    pub line: FoldedLine,
    /// The home answered with an error: the data is invalid.
    pub poisoned: bool,
    /// The line's data, for messages that carry it.
    pub data: Option<Box<Data>>,
}

impl Message {
    /// The header on the link: message `[63:59]`, poisoned `[58]`, request `[57:50]`, parts `[49:46]`, address `[39:0]`.
    #[must_use]
    pub fn header(&self) -> u64 {
        u64::from(self.id.0) << 59
            | u64::from(self.poisoned) << 58
            | u64::from(self.request) << 50
            | u64::from(self.parts & 0xf) << 46
            | (self.line.0 << 7) & 0xff_ffff_ffff
    }

    /// A message without data from its header.
    #[must_use]
    pub fn from_header(header: u64) -> Self {
        Self {
            id: MsgId((header >> 59) as u8),
            request: (header >> 50 & 0xff) as u8,
            parts: (header >> 46 & 0xf) as u8,
            line: FoldedLine((header & 0xff_ffff_ffff) >> 7),
            poisoned: header >> 58 & 1 == 1,
            data: None,
        }
    }

    /// The link's lane: one per class and slice.
    #[must_use]
    pub fn lane(&self, spec: &Spec, slices: usize) -> usize {
        self.line.slice(slices) * spec.classes.len() + spec.message(self.id).class.index()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_holds_every_field() {
        let message = Message {
            id: MsgId(21),
            request: 0b1101_0011,
            parts: 0b1010,
            line: FoldedLine(0x1_2345_6789),
            poisoned: true,
            data: None,
        };
        assert_eq!(Message::from_header(message.header()), message);
        assert_eq!(message.header() >> 59, 21);
        assert_eq!(message.header() >> 50 & 0xff, 0b1101_0011);
    }
}
