//! Kernels that read an array through port 0 and write their result at the end, through port 1 or the same.

use super::go_on;
use super::sequential::Requests;
use crate::kernel::{Access, Arguments, FunctionalKernel, Step, VirtualMemory};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;
/// Bursts announced behind a blocked one.
const AHEAD: usize = 16;

/// Takes the next bytes of the array, and returns the result at its end.
pub(super) trait Reduction: Send {
    /// The next bytes: a multiple of 64, but for the last ones.
    fn take(&mut self, bytes: &[u8]);

    /// The bytes to write at the end of a run.
    fn result(&mut self) -> Vec<u8>;
}

/// Parameters of a run.
pub(super) struct ReducePlan {
    pub(super) input: u64,
    pub(super) bytes: u64,
    pub(super) output: u64,
    pub(super) reduction: Box<dyn Reduction>,
}

/// A kernel that follows a plan made from its arguments.
pub(super) struct ReduceKernel {
    plan: fn(&Arguments<'_>) -> ReducePlan,
    write_port: usize,
    run: Option<ReduceRun>,
}

impl ReduceKernel {
    pub(super) fn new(plan: fn(&Arguments<'_>) -> ReducePlan) -> Self {
        Self {
            plan,
            write_port: WRITE_PORT,
            run: None,
        }
    }

    /// Writes through the port that it reads through.
    pub(super) fn through_one_port(self) -> Self {
        Self {
            write_port: READ_PORT,
            ..self
        }
    }
}

struct ReduceRun {
    reader: Requests,
    output: u64,
    write_port: usize,
    reduction: Box<dyn Reduction>,
    /// The remaining result, and its address.
    writer: Option<(Requests, Vec<u8>)>,
}

impl ReduceRun {
    fn new(plan: ReducePlan, write_port: usize) -> Self {
        Self {
            reader: Requests::new(&[plan.input], plan.bytes),
            output: plan.output,
            write_port,
            reduction: plan.reduction,
            writer: None,
        }
    }

    fn step(&mut self, memory: &mut dyn VirtualMemory) -> Step {
        if !self.reader.is_done() {
            let mut burst = vec![0; self.reader.burst()];
            if memory.read(READ_PORT, self.reader.address(), &mut burst) == Access::Blocked {
                memory.announce(READ_PORT, false, &self.reader.following(AHEAD));
                return Step::Blocked;
            }
            self.reduction.take(&burst);
            self.reader.advance();
            return Step::Working;
        }
        let (writer, left) = self.writer.get_or_insert_with(|| {
            let result = self.reduction.result();
            (Requests::new(&[self.output], result.len() as u64), result)
        });
        if writer.is_done() {
            return Step::Done;
        }
        let length = writer.burst();
        if memory.write(self.write_port, writer.address(), &left[..length]) == Access::Blocked {
            memory.announce(self.write_port, true, &writer.following(AHEAD));
            return Step::Blocked;
        }
        left.drain(..length);
        writer.advance();
        Step::Working
    }
}

impl FunctionalKernel for ReduceKernel {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        let begin = || ReduceRun::new((self.plan)(arguments), self.write_port);
        go_on(&mut self.run, begin, |run| run.step(memory))
    }
}
