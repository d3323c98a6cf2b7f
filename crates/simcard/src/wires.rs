//! Wires between two models in one direction: outputs of one, copied to inputs of the other.
//!
//! Most of them rest while a kernel streams: addresses change once a burst, handshakes stay high. So wires
//! whose outputs lie side by side are looked at together, and copied when any of these bytes is not what it
//! was when they were last copied. Nobody else sets the inputs while the wires are there, so these have what
//! was copied last.

use super::model::{Instance, NumberPin, Pin, Row, Stretch, StretchBytes};

/// From an output to an input.
pub(crate) enum Joint {
    Byte(Pin<u8>, Pin<u8>),
    Word(Pin<u64>, Pin<u64>),
    Row(Pin<Row>, Pin<Row>),
    Number(NumberPin, NumberPin),
}

impl Joint {
    /// Where the output is, and its bytes.
    fn place(&self) -> (usize, usize) {
        match self {
            Self::Byte(from, _) => (from.address(), 1),
            Self::Word(from, _) => (from.address(), 8),
            Self::Row(from, _) => (from.address(), size_of::<Row>()),
            Self::Number(from, _) => (from.address(), from.size()),
        }
    }

    /// Whether that changed the input.
    #[inline]
    fn copy(&self) -> bool {
        match self {
            Self::Byte(from, to) => to.set(from.get()),
            Self::Word(from, to) => to.set(from.get()),
            Self::Row(from, to) => to.copy(from),
            Self::Number(from, to) => to.set(from.get()),
        }
    }
}

/// Wires whose outputs lie in one stretch of memory.
struct Bundle {
    stretch: Stretch,
    /// As it was when the wires were last copied, if they ever were.
    seen: StretchBytes,
    copied: bool,
    wires: Vec<Joint>,
}

/// Wires in one direction.
#[derive(Default)]
pub(crate) struct Wires {
    bundles: Vec<Bundle>,
    /// In no stretch: rows, which change when they cross.
    single: Vec<Joint>,
}

impl Wires {
    /// Adds a wire from an output of `instance`.
    pub(crate) fn add(&mut self, instance: &Instance, joint: Joint) {
        let (address, size) = joint.place();
        let Some(stretch) = instance.stretch(address, size) else {
            self.single.push(joint);
            return;
        };
        let known = self.bundles.iter().position(|one| one.stretch == stretch);
        let index = known.unwrap_or(self.bundles.len());
        if known.is_none() {
            self.bundles.push(Bundle {
                stretch,
                seen: StretchBytes::default(),
                copied: false,
                wires: Vec::new(),
            });
        }
        self.bundles[index].wires.push(joint);
    }

    /// Lets every input have what its output has. Returns whether any input changed.
    #[inline]
    pub(crate) fn copy(&mut self) -> bool {
        let mut changed = false;
        for bundle in &mut self.bundles {
            let now = bundle.stretch.get();
            let differences = (now.iter().zip(&bundle.seen)).fold(0, |all, (a, b)| all | (a ^ b));
            if differences == 0 && bundle.copied {
                continue;
            }
            bundle.seen = now;
            bundle.copied = true;
            for wire in &bundle.wires {
                changed |= wire.copy();
            }
        }
        for wire in &self.single {
            changed |= wire.copy();
        }
        changed
    }
}
