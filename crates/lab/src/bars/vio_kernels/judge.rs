//! Asks others what should have come out.

use super::plan::Subject;
use super::Failure;
use crate::tools;
use serde::Serialize;
use std::process::Command;

/// What came out of a transfer.
#[derive(Clone, Debug)]
pub struct Came {
    /// Which of the subject's packets went in.
    pub packet: usize,
    /// The device that it came from; none: the kernel takes nothing.
    pub from: Option<usize>,
    /// The device that it went to.
    pub to: usize,
    /// What that got.
    pub bytes: Vec<u8>,
}

/// What `judge.py` reads beside `data` and `came`.
#[derive(Serialize)]
struct Question<'a> {
    kernel: &'a str,
    /// Hexadecimal, as they lie in registers.
    arguments: Vec<(&'a str, String)>,
    transfers: Vec<Asked>,
}

#[derive(Serialize)]
struct Asked {
    offset: u64,
    bytes: u64,
    set: Option<(&'static str, u64)>,
    came: usize,
}

/// Which of these are not what others make of the packets: `judge.py` has openssl, hashlib, numpy, zlib.
pub fn wrong(subject: &Subject, all: &[Came]) -> Result<Vec<usize>, Failure> {
    let folder = tempfile::tempdir()?;
    let arguments = subject.arguments.iter().map(|(name, value)| {
        let digits = value.iter().map(|byte| format!("{byte:02x}"));
        (name.as_str(), digits.collect())
    });
    let transfers = all.iter().map(|came| {
        let packet = &subject.packets[came.packet];
        Asked {
            offset: packet.offset,
            bytes: packet.bytes,
            set: packet.set,
            came: came.bytes.len(),
        }
    });
    let question = Question {
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
