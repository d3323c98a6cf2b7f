//! `tombolo-bench`: measures the bars.

use std::process::ExitCode;

fn main() -> ExitCode {
    tombolo_lab::bench::main()
}
