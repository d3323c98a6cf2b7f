//! Places of a model's ports, and of everything else, in the words that two processes share.

use std::ops::Range;
use verilated::ModelInfo;

/// Longest output of an evaluation, in words.
const TEXT_WORDS: usize = 2176;

/// Words with one number each.
pub(super) mod word {
    /// Number of messages sent.
    pub(crate) const REQUEST: usize = 0;
    /// Number of messages answered.
    pub(crate) const REPLY: usize = 1;
    /// Parts of the evaluation.
    pub(crate) const COMMAND: usize = 2;
    pub(crate) const OUTCOME: usize = 3;
    /// Virtual time of the edge, and of the settling, in picoseconds.
    pub(crate) const EDGE_TIME: usize = 4;
    pub(crate) const SETTLE_TIME: usize = 5;
    /// Whether the state was equal before and after the edge.
    pub(crate) const EQUAL: usize = 6;
    /// Size of the model's state, in bytes.
    pub(crate) const STATE: usize = 7;
    pub(crate) const TEXT_BYTES: usize = 8;
    pub(crate) const SPEC_BYTES: usize = 9;
    /// Whether the process that waits for the request sleeps, and the one that waits for the reply.
    pub(crate) const SLEEPS: [usize; 2] = [10, 11];
    pub(super) const TEXT: usize = 16;
}

/// Number of the first reply: the model is loaded, or the reason why not is in the text.
pub(super) const LOADED: u64 = 1;

/// Words with output text.
pub(super) fn text() -> Range<usize> {
    word::TEXT..word::TEXT + TEXT_WORDS
}

/// Words with the description of the model.
pub(super) fn spec(bytes: usize) -> Range<usize> {
    let start = text().end;
    start..start + bytes.div_ceil(size_of::<u64>())
}

/// Position of a port in the words of a model's ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PortPlace {
    /// Offset in bytes.
    pub(crate) offset: usize,
    /// Size in bytes.
    pub(crate) bytes: usize,
    output: bool,
}

/// Positions of a model's ports: inputs, then outputs.
#[derive(Debug)]
pub(crate) struct Layout {
    /// In the order of [`ModelInfo::ports`].
    pub(crate) ports: Vec<PortPlace>,
    /// Bits that a value of an output can have.
    masks: Vec<u64>,
    inputs: usize,
}

impl Layout {
    pub(super) fn of(info: &ModelInfo) -> Self {
        let mut ports = vec![None; info.ports.len()];
        let mut masks = Vec::new();
        let mut inputs = 0;
        for output in [false, true] {
            for (port, place) in info.ports.iter().zip(&mut ports) {
                if port.is_output() != output {
                    continue;
                }
                let element = port.element_bytes();
                let align = element.next_power_of_two().min(size_of::<u64>());
                let offset = masks.len().next_multiple_of(align);
                masks.resize(offset, 0);
                for _ in 0..port.elements {
                    masks.extend((0..element).map(|byte| byte_mask(port.width, byte)));
                }
                *place = Some(PortPlace {
                    offset,
                    bytes: masks.len() - offset,
                    output,
                });
            }
            masks.resize(masks.len().next_multiple_of(size_of::<u64>()), 0);
            if !output {
                inputs = masks.len() / size_of::<u64>();
            }
        }
        let word =
            |bytes: &[u8]| (bytes.iter().rev()).fold(0, |all, byte| all << 8 | u64::from(*byte));
        Self {
            ports: ports.into_iter().flatten().collect(),
            masks: masks.chunks(size_of::<u64>()).map(word).collect(),
            inputs,
        }
    }

    /// Number of words of all ports.
    pub(crate) fn words(&self) -> usize {
        self.masks.len()
    }

    /// Words of the inputs.
    pub(super) fn inputs(&self) -> Range<usize> {
        0..self.inputs
    }

    /// Words of the outputs.
    pub(super) fn outputs(&self) -> Range<usize> {
        self.inputs..self.masks.len()
    }

    /// Bits that an output's word can have.
    pub(super) fn output_masks(&self) -> &[u64] {
        &self.masks[self.outputs()]
    }

    /// Positions of the inputs, or of the outputs, with the numbers of their ports.
    pub(super) fn of_direction(&self, output: bool) -> impl Iterator<Item = (usize, &PortPlace)> {
        let ports = self.ports.iter().enumerate();
        ports.filter(move |(_, place)| place.output == output)
    }

    /// Words in shared memory with the inputs at an edge, the settled inputs, and the outputs.
    pub(super) fn shared(&self, spec_bytes: usize) -> Shared {
        let edge = spec(spec_bytes).end;
        let settled = edge + self.inputs().len();
        let outputs = settled + self.inputs().len();
        Shared {
            edge: edge..settled,
            settled: settled..outputs,
            outputs: outputs..outputs + self.outputs().len(),
        }
    }
}

/// Words in shared memory.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    pub(super) edge: Range<usize>,
    pub(super) settled: Range<usize>,
    pub(super) outputs: Range<usize>,
}

/// Bits of a byte of a port that a value can have.
fn byte_mask(width: u32, byte: usize) -> u8 {
    match (width as usize).saturating_sub(byte * 8) {
        bits @ 0..8 => (1 << bits) - 1,
        _ => u8::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verilated::{Direction, ModelPort};

    #[test]
    fn ports_are_aligned_and_outputs_cut_to_their_width() {
        let port = |(name, width): (&str, u32)| ModelPort {
            name: name.to_owned(),
            member: name.to_owned(),
            direction: Direction::Unknown,
            width,
            elements: 1,
            array: false,
        };
        let ports = [
            ("clk", 1),
            ("valid_o", 1),
            ("row_i", 512),
            ("wide_o", 40),
            ("address_i", 64),
            ("odd_o", 70),
        ];
        let info = ModelInfo {
            name: "test".to_owned(),
            ports: ports.map(port).into(),
            clock_member: "clk".to_owned(),
            clock_history: None,
            phases: None,
            unskippable: None,
        };
        let layout = Layout::of(&info);
        let places: Vec<_> = layout
            .ports
            .iter()
            .map(|port| (port.offset, port.bytes))
            .collect();
        assert_eq!(
            places,
            [(0, 1), (80, 1), (8, 64), (88, 8), (72, 8), (96, 12)]
        );
        assert_eq!((layout.inputs(), layout.outputs()), (0..10, 10..14));
        assert_eq!(layout.output_masks(), [1, (1 << 40) - 1, u64::MAX, 0x3f]);
    }
}
