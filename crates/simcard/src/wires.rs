//! Connections between two models in one direction: outputs of one, copied to inputs of the other.
//!
//! Most of them are idle while a kernel streams: addresses change once per burst, handshakes stay high. So
//! wires with adjacent outputs are compared together, and copied if any of these bytes has changed since the
//! last copy. No other code sets the inputs, so they hold the values copied last.

use super::model::{Instance, NumberPin, Pin, Row, Stretch, StretchBytes};

/// A connection from an output to an input.
pub(crate) enum Connection {
    Byte(Pin<u8>, Pin<u8>),
    Word(Pin<u64>, Pin<u64>),
    Row(Pin<Row>, Pin<Row>),
    Number(NumberPin, NumberPin),
}

impl Connection {
    /// Address and size of the output.
    fn place(&self) -> (usize, usize) {
        match self {
            Self::Byte(from, _) => (from.address(), 1),
            Self::Word(from, _) => (from.address(), 8),
            Self::Row(from, _) => (from.address(), size_of::<Row>()),
            Self::Number(from, _) => (from.address(), from.size()),
        }
    }

    /// Copies the value; returns whether that changed the input.
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

/// Wires with outputs in one piece of memory.
struct Bundle {
    stretch: Stretch,
    /// Content when the wires were last copied, if they were.
    seen: StretchBytes,
    copied: bool,
    wires: Vec<Connection>,
}

/// Wires in one direction.
#[derive(Default)]
pub(crate) struct Wires {
    bundles: Vec<Bundle>,
    /// Wires outside the bundles: rows, which change with each transfer.
    single: Vec<Connection>,
}

impl Wires {
    /// Adds a wire from an output of `instance`.
    pub(crate) fn add(&mut self, instance: &Instance, joint: Connection) {
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

    /// Copies all outputs to their inputs. Returns whether any input changed.
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
