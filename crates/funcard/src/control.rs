//! A kernel's `s_axi_control` with the ap_ctrl_hs protocol (docs/kernels.md, "Register map").

use card::kernel::Manifest;

const CONTROL: u32 = 0x00;
const GLOBAL_ENABLE: u32 = 0x04;
const ENABLE: u32 = 0x08;
const STATUS: u32 = 0x0c;
const FIRST_ARGUMENT: u32 = 0x10;

const AUTO_RESTART: u32 = 1 << 7;

/// The registers, and the run state of the kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlRegisters {
    start: bool,
    running: bool,
    done: bool,
    ready: bool,
    auto_restart: bool,
    global_enable: bool,
    enable: u32,
    status: u32,
    arguments: Vec<u32>,
}

impl ControlRegisters {
    pub(super) fn new(manifest: &Manifest) -> Self {
        let end = manifest
            .arguments
            .iter()
            .map(|argument| argument.offset + argument.bytes)
            .max()
            .unwrap_or(FIRST_ARGUMENT);
        Self {
            arguments: vec![0; ((end - FIRST_ARGUMENT) / 4) as usize],
            ..Self::default()
        }
    }

    /// A read by the host, with its side effects. `offset` is a multiple of 4.
    pub(super) fn read(&mut self, offset: u32) -> u32 {
        match offset {
            CONTROL => {
                let word = u32::from(self.start)
                    | u32::from(self.done) << 1
                    | u32::from(!self.start && !self.running) << 2
                    | u32::from(self.ready) << 3
                    | u32::from(self.auto_restart) << 7
                    | u32::from(self.interrupt()) << 9;
                (self.done, self.ready) = (false, false);
                word
            }
            GLOBAL_ENABLE => u32::from(self.global_enable),
            ENABLE => self.enable,
            STATUS => self.status,
            _ => self.argument(offset),
        }
    }

    /// A write by the host.
    pub(super) fn write(&mut self, offset: u32, value: u32) {
        match offset {
            CONTROL => {
                self.start |= value & 1 != 0;
                self.auto_restart = value & AUTO_RESTART != 0;
            }
            GLOBAL_ENABLE => self.global_enable = value & 1 != 0,
            ENABLE => self.enable = value & 3,
            STATUS => self.status ^= value & 3,
            _ => {
                let word = self
                    .arguments
                    .get_mut(((offset - FIRST_ARGUMENT) / 4) as usize);
                if let Some(word) = word {
                    *word = value;
                }
            }
        }
    }

    /// A word of the arguments; zero where there is none.
    pub(super) fn argument(&self, offset: u32) -> u32 {
        let index = offset
            .checked_sub(FIRST_ARGUMENT)
            .map(|from| (from / 4) as usize);
        index
            .and_then(|index| self.arguments.get(index))
            .copied()
            .unwrap_or(0)
    }

    /// The interrupt line.
    pub(super) fn interrupt(&self) -> bool {
        self.global_enable && self.status != 0
    }

    /// Whether the kernel has work.
    pub(super) fn wants_to_run(&self) -> bool {
        self.start || self.running
    }

    /// The kernel accepts the start.
    pub(super) fn begin(&mut self) {
        self.running = true;
    }

    /// Ends the run; the kernel is ready for the next one.
    pub(super) fn finish(&mut self) {
        self.running = false;
        self.start = self.auto_restart;
        (self.done, self.ready) = (true, true);
        self.status |= self.enable;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn registers() -> ControlRegisters {
        let text = "[kernel]\nname = \"k\"\ntop = \"k\"\nsources = [\"k.sv\"]\n\
                    control = \"ap_ctrl_hs\"\n\
                    [[argument]]\nname = \"a\"\noffset = 0x20\nbytes = 8\n";
        ControlRegisters::new(&Manifest::parse(Path::new("kernel.toml"), text).unwrap())
    }

    #[test]
    fn done_clears_on_read() {
        let mut registers = registers();
        assert_eq!(registers.read(CONTROL), 4);
        registers.write(CONTROL, 1);
        assert_eq!(registers.read(CONTROL), 1);
        registers.begin();
        registers.finish();
        assert_eq!(registers.read(CONTROL), 0b1110);
        assert_eq!(registers.read(CONTROL), 4);
    }

    #[test]
    fn auto_restart_keeps_start() {
        let mut registers = registers();
        registers.write(CONTROL, 0x81);
        registers.begin();
        registers.finish();
        assert!(registers.wants_to_run());
        registers.write(CONTROL, 0);
        registers.begin();
        registers.finish();
        assert!(!registers.wants_to_run());
    }

    #[test]
    fn interrupts_need_both_enables_and_toggle() {
        let mut registers = registers();
        registers.write(ENABLE, 1);
        registers.finish();
        assert!(!registers.interrupt());
        registers.write(GLOBAL_ENABLE, 1);
        assert!(registers.interrupt());
        assert_eq!(registers.read(STATUS), 1);
        registers.write(STATUS, 1);
        assert!(!registers.interrupt());
    }

    #[test]
    fn arguments_end_where_the_manifest_says() {
        let mut registers = registers();
        registers.write(0x24, 7);
        registers.write(0x28, 8);
        registers.write(0xfffc, 9);
        assert_eq!((registers.read(0x24), registers.read(0x28)), (7, 0));
        assert_eq!(registers.read(0xfffc), 0);
    }
}
