//! Checks outputs with independent implementations.

use super::plan::Subject;
use super::Failure;
use crate::tools;
use serde::Serialize;
use std::process::Command;

/// Result of a transfer.
#[derive(Clone, Debug)]
pub struct TransferResult {
    /// Index of the subject's packet that was sent.
    pub packet: usize,
    /// The device that sent it; `None` if the kernel has no input.
    pub from: Option<usize>,
    /// The device that received the output.
    pub to: usize,
    /// Bytes received.
    pub bytes: Vec<u8>,
}

/// Input of `judge.py`, in addition to the files `data` and `came`.
#[derive(Serialize)]
struct JudgeInput<'a> {
    kernel: &'a str,
    /// Hexadecimal, in register byte order.
    arguments: Vec<(&'a str, String)>,
    transfers: Vec<JudgedTransfer>,
}

#[derive(Serialize)]
struct JudgedTransfer {
    offset: u64,
    bytes: u64,
    set: Option<(&'static str, u64)>,
    came: usize,
}

/// Indices of the results that differ from those of openssl, hashlib, numpy and zlib in `judge.py`.
pub fn wrong(subject: &Subject, all: &[TransferResult]) -> Result<Vec<usize>, Failure> {
    let folder = tempfile::tempdir()?;
    let arguments = subject.arguments.iter().map(|(name, value)| {
        let digits = value.iter().map(|byte| format!("{byte:02x}"));
        (name.as_str(), digits.collect())
    });
    let transfers = all.iter().map(|came| {
        let packet = &subject.packets[came.packet];
        JudgedTransfer {
            offset: packet.offset,
            bytes: packet.bytes,
            set: packet.set,
            came: came.bytes.len(),
        }
    });
    let question = JudgeInput {
        kernel: &subject.kernel,
        arguments: arguments.collect(),
        transfers: transfers.collect(),
    };
    let came: Vec<u8> = all.iter().flat_map(|came| came.bytes.clone()).collect();
    std::fs::write(folder.path().join("data"), &subject.data)?;
    std::fs::write(folder.path().join("came"), came)?;
    let text = serde_json::to_vec(&question)?;
    std::fs::write(folder.path().join("question.json"), text)?;
    let home = simcard::home();
    let output = Command::new(tools::python(&home))
        .arg(home.join("crates/lab/src/bars/vio_kernels/judge.py"))
        .arg(folder.path())
        .output()?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the judge of {}: {told}", subject.kernel).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
