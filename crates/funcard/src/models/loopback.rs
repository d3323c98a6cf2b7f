//! `kernels/loopback`.

use crate::kernel::{Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "loopback",
    arguments: &[],
    ports: 0,
    create: || Box::new(Loopback::default()),
};

/// Bytes taken at a time.
const PIECE: usize = 1024;

/// Sends what it receives.
#[derive(Default)]
struct Loopback {
    held: Option<(Vec<u8>, bool)>,
}

impl FunctionalKernel for Loopback {
    fn step(&mut self, _: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        if self.held.is_none() {
            self.held = memory.receive(0, PIECE);
        }
        match &self.held {
            Some((bytes, last)) if memory.send(0, bytes, *last) => {
                self.held = None;
                Step::Working
            }
            _ => Step::Blocked,
        }
    }
}
