//! The `.xclbin` file of a linked design, in Tombolo's own format, identified by its first bytes.
//!
//! The fields that host programs read directly (`axlf::m_header`) are where XRT's documentation puts them:
//!
//! | bytes | |
//! |---|---|
//! | 0…7 | [`MAGIC`] |
//! | 40…47 | bytes of the description, little-endian |
//! | 48…79 | SHA-256 of everything from byte 496 on |
//! | 304…311 | bytes of the whole file (`m_length`) |
//! | 352…415 | the platform's name (`m_platformVBNV`) |
//! | 416…431 | the UUID: the beginning of the hash |
//! | 496… | the description (JSON of [`Design`]), then the sizes of its files (8 bytes each), then their bytes |
//!
//! The other bytes of the header are zero, so it has no sections (`m_numSections`). Equal designs give equal bytes, and so
//! the same UUID.

use crate::design::Design;
use crate::error::XrtError;
use crate::uuid::Uuid;
use sha2::{Digest, Sha256};
use std::ops::Range;
use std::path::Path;

/// First bytes of files in this format.
pub const MAGIC: [u8; 8] = *b"TMBXCLB\x02";
/// First bytes of files from AMD's tools.
pub const FOREIGN_MAGIC: &[u8] = b"xclbin2\0";
/// Bytes of the header, which precedes the description.
pub const HEADER: usize = 496;
const TEXT: Range<usize> = 40..48;
const HASH: Range<usize> = 48..80;
const LENGTH: Range<usize> = 304..312;
const PLATFORM: Range<usize> = 352..416;
const UUID: Range<usize> = 416..432;
/// Maximum file size in bytes.
pub const LIMIT: u64 = 1 << 30;

/// A design with its UUID.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The beginning of the file's hash.
    pub uuid: Uuid,
    /// The linked design.
    pub design: Design,
}

/// Serialises a design to the bytes of its file.
pub fn write(design: &Design) -> Vec<u8> {
    // A structure of names and numbers always serialises.
    let text = serde_json::to_vec(design).unwrap_or_default();
    let files = || design.kernels.iter().flat_map(|kernel| &kernel.files);
    let mut bytes = vec![0; HEADER];
    bytes.extend_from_slice(&text);
    for file in files() {
        bytes.extend_from_slice(&(file.bytes.len() as u64).to_le_bytes());
    }
    for file in files() {
        bytes.extend_from_slice(&file.bytes);
    }
    let header = header_of(&design.platform, text.len() as u64, &bytes[HEADER..]);
    bytes[..HEADER].copy_from_slice(&header);
    bytes
}

/// The header of a file with a description of `text` bytes at the beginning of `body`.
fn header_of(platform: &str, text: u64, body: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    let hash = Sha256::digest(body);
    header[..8].copy_from_slice(&MAGIC);
    header[TEXT].copy_from_slice(&text.to_le_bytes());
    header[HASH].copy_from_slice(&hash);
    header[LENGTH].copy_from_slice(&((HEADER + body.len()) as u64).to_le_bytes());
    // With a null at its end.
    let name = format!("tombolo_{platform}");
    let name = &name.as_bytes()[..name.len().min(PLATFORM.len() - 1)];
    header[PLATFORM][..name.len()].copy_from_slice(name);
    header[UUID].copy_from_slice(&hash[..16]);
    header
}

/// Size in bytes of the file with this header, for a program that passes a pointer without a length. `None` if the file
/// is not in this format, or longer than [`LIMIT`].
pub fn length_of(header: &[u8; HEADER]) -> Option<u64> {
    let length = u64::from_le_bytes(header[LENGTH].try_into().ok()?);
    (header.starts_with(&MAGIC) && length <= LIMIT).then_some(length)
}

/// Reads a file.
///
/// # Errors
/// The file cannot be read; as [`parse`].
pub fn read(path: &Path) -> Result<Container, XrtError> {
    let bytes = std::fs::read(path).map_err(|source| XrtError::File {
        path: path.to_owned(),
        source,
    })?;
    parse(&path.display().to_string(), &bytes)
}

/// Parses a file's bytes; `origin` names them in errors.
///
/// # Errors
/// [`XrtError::ForeignXclbin`], [`XrtError::BadXclbin`].
pub fn parse(origin: &str, bytes: &[u8]) -> Result<Container, XrtError> {
    let origin = || origin.to_owned();
    if bytes.starts_with(FOREIGN_MAGIC) {
        return Err(XrtError::ForeignXclbin { origin: origin() });
    }
    let bad = |rule: String| XrtError::BadXclbin {
        origin: origin(),
        rule,
    };
    if !bytes.starts_with(&MAGIC) {
        let rule = match bytes.starts_with(&MAGIC[..7]) {
            true => "an .xclbin of another version of Tombolo",
            false => "no .xclbin: its first bytes are unknown",
        };
        return Err(bad(rule.to_owned()));
    }
    let number = |place: Range<usize>| {
        let word = bytes.get(place).and_then(|word| word.try_into().ok());
        word.map(u64::from_le_bytes)
    };
    let body = bytes.get(HEADER..);
    let (Some(length), Some(text), Some(body)) = (number(LENGTH), number(TEXT), body) else {
        return Err(bad("damaged: it ends in its header".to_owned()));
    };
    if length != bytes.len() as u64 {
        let there = bytes.len();
        return Err(bad(format!("damaged: {there} bytes of {length}")));
    }
    if Sha256::digest(body)[..] != bytes[HASH] {
        return Err(bad("damaged: its hash does not match its bytes".to_owned()));
    }
    let description = usize::try_from(text).ok();
    let description = description.and_then(|text| body.split_at_checked(text));
    let Some((description, rest)) = description else {
        return Err(bad(
            "damaged: the description is longer than the file".to_owned()
        ));
    };
    let mut design: Design = serde_json::from_slice(description)
        .map_err(|error| bad(format!("description: {error}")))?;
    if header_of(&design.platform, text, body) != bytes[..HEADER] {
        return Err(bad(
            "damaged: its header does not match its bytes".to_owned()
        ));
    }
    if let Some(rule) = design.broken_rule() {
        return Err(bad(rule));
    }
    let count: usize = design.kernels.iter().map(|kernel| kernel.files.len()).sum();
    let cut = || bad("damaged: a file is cut".to_owned());
    let Some((sizes, mut contents)) = rest.split_at_checked(count.saturating_mul(8)) else {
        return Err(cut());
    };
    let files = design
        .kernels
        .iter_mut()
        .flat_map(|kernel| &mut kernel.files);
    for (file, size) in files.zip(sizes.chunks_exact(8)) {
        let size = size.try_into().map_or(u64::MAX, u64::from_le_bytes);
        let size = usize::try_from(size).map_err(|_| cut())?;
        let (own, behind) = contents.split_at_checked(size).ok_or_else(cut)?;
        file.bytes = own.to_vec();
        contents = behind;
    }
    let mut uuid = Uuid::default();
    uuid.0.copy_from_slice(&bytes[UUID]);
    Ok(Container { uuid, design })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{ComputeUnit, File, KernelImage};
    use proptest::prelude::*;

    fn design() -> Design {
        Design {
            platform: "f1".to_owned(),
            kernels: vec![KernelImage {
                name: "k".to_owned(),
                control: "ap_ctrl_hs".to_owned(),
                arguments: Vec::new(),
                files: vec![
                    File {
                        name: "k/kernel.toml".to_owned(),
                        bytes: b"[kernel]".to_vec(),
                    },
                    File {
                        name: "k/k.sv".to_owned(),
                        bytes: Vec::new(),
                    },
                ],
            }],
            units: vec![ComputeUnit {
                name: "k_1".to_owned(),
                kernel: 0,
                base_address: 0,
                groups: Default::default(),
            }],
            ..Design::default()
        }
    }

    #[test]
    fn what_is_written_is_read_and_written_alike() {
        let bytes = write(&design());
        let read = parse("x", &bytes).unwrap();
        assert_eq!(read.design, design());
        assert_eq!(write(&read.design), bytes);
        assert_eq!(read.uuid.0, bytes[416..432]);
        assert_eq!(bytes[352..364], *b"tombolo_f1\0\0");
        let header = bytes[..HEADER].try_into().unwrap();
        assert_eq!(length_of(header), Some(bytes.len() as u64));
    }

    #[test]
    fn what_is_none_of_ours_is_refused_as_what_it_is() {
        let good = write(&design());
        let mut newer = good.clone();
        newer[7] = 3;
        let mut hole = design();
        hole.kernels[0].files[0].name = "../up".to_owned();
        let mut loose = design();
        loose.units[0].kernel = 1;
        for (bytes, words) in [
            (&b"xclbin2\0rest"[..], "made by v++"),
            (b"\x7fELF", "first bytes are unknown"),
            (b"", "first bytes are unknown"),
            (&newer, "another version"),
            (&good[..20], "ends in its header"),
            (&good[..good.len() - 1], "bytes of"),
            (&write(&hole), "plain relative name"),
            (&write(&loose), "of no kernel"),
        ] {
            let error = parse("x.xclbin", bytes).unwrap_err().to_string();
            assert!(
                error.contains(words) && error.contains("x.xclbin"),
                "{words}: {error}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn every_changed_bit_is_noticed(at in any::<usize>(), bit in 0u8..8) {
            let mut bytes = write(&design());
            let at = at % bytes.len();
            bytes[at] ^= 1 << bit;
            prop_assert!(parse("x", &bytes).is_err());
        }
    }
}
