//! Collects a kernel's folder for a design.

use super::LinkError;
use crate::design::{Argument, ArgumentKind, File, KernelImage};
use card::kernel::{ControlProtocol, KernelPackage, Manifest, PortKind};
use std::path::Path;

/// File extensions that make up RTL.
const KINDS: [&str; 8] = ["v", "sv", "vh", "svh", "dat", "mem", "hex", "toml"];

/// Reads a kernel's folder, and the folders of its libraries. `arguments` are in the host's numbering; `None`: those of
/// `kernel.toml` in register order, then the streams.
///
/// # Errors
/// The manifest violates a rule; a file cannot be read; the kernel uses a coherence directory.
pub fn image_of(folder: &Path, arguments: Option<Vec<Argument>>) -> Result<KernelImage, LinkError> {
    let folder = folder.canonicalize().map_err(|source| LinkError::Io {
        path: folder.to_owned(),
        source,
    })?;
    let manifest = KernelPackage::open(&folder)?.manifest;
    let coherent = [&manifest.homes, &manifest.lines, &manifest.accesses];
    if coherent.iter().any(|ports| !ports.is_empty()) {
        return Err(LinkError::Coherent(manifest.name));
    }
    let mut files = Vec::new();
    collect(&folder, &manifest.name, &mut files)?;
    for library in &manifest.libraries {
        collect(&folder.join("..").join(library), library, &mut files)?;
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    let control = match manifest.control {
        ControlProtocol::ApCtrlHs => "ap_ctrl_hs",
        ControlProtocol::ApCtrlChain => "ap_ctrl_chain",
        ControlProtocol::ApCtrlNone => "ap_ctrl_none",
        ControlProtocol::UserManaged => "user_managed",
    };
    Ok(KernelImage {
        control: control.to_owned(),
        arguments: arguments.unwrap_or_else(|| arguments_of(&manifest)),
        name: manifest.name,
        files,
    })
}

fn arguments_of(manifest: &Manifest) -> Vec<Argument> {
    let mut registers: Vec<_> = manifest.arguments.iter().collect();
    registers.sort_by_key(|one| one.offset);
    let registers = registers.into_iter().map(|one| Argument {
        index: 0,
        name: one.name.clone(),
        kind: match one.port {
            Some(_) => ArgumentKind::Global,
            None => ArgumentKind::Scalar,
        },
        port: match one.port.and_then(|port| manifest.ports.get(port)) {
            Some(port) => port.name.clone(),
            None => "s_axi_control".to_owned(),
        },
        bytes: one.bytes,
        host_bytes: one.bytes,
        offset: one.offset,
        host_type: match one.port {
            Some(_) => "void*".to_owned(),
            None => format!("uint{}_t", 8 * one.bytes),
        },
    });
    let streams = manifest.streams.iter().map(|one| Argument {
        index: 0,
        name: one.name.clone(),
        kind: ArgumentKind::Stream,
        port: one.name.clone(),
        bytes: 0,
        host_bytes: 8,
        offset: 0,
        host_type: "stream".to_owned(),
    });
    let numbered = (0..).zip(registers.chain(streams));
    numbered
        .map(|(index, one)| Argument { index, ..one })
        .collect()
}

/// Collects the RTL files below a folder; symbolic links are not followed.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<(), LinkError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| LinkError::Io { path, source }
    };
    for entry in std::fs::read_dir(folder).map_err(failed(folder))? {
        let entry = entry.map_err(failed(folder))?;
        let path = entry.path();
        let own = entry.file_name().to_string_lossy().into_owned();
        let name = format!("{prefix}/{own}");
        let what = entry.file_type().map_err(failed(&path))?;
        if own.starts_with('.') {
            continue;
        }
        if what.is_dir() {
            collect(&path, &name, files)?;
        } else if what.is_file()
            && own
                .rsplit_once('.')
                .is_some_and(|(_, kind)| KINDS.contains(&kind))
        {
            let bytes = std::fs::read(&path).map_err(failed(&path))?;
            files.push(File { name, bytes });
        }
    }
    Ok(())
}

impl KernelImage {
    /// Whether the manifest lists a memory port of this name, even if no argument refers to it.
    pub(super) fn has_memory_port(&self, name: &str) -> bool {
        let manifest = self
            .files
            .iter()
            .find(|file| file.name == format!("{}/kernel.toml", self.name));
        let text = manifest.and_then(|file| std::str::from_utf8(&file.bytes).ok());
        let read = text.and_then(|text| Manifest::parse(Path::new("kernel.toml"), text).ok());
        let axi4 = |manifest: &Manifest| {
            let mut ports = manifest
                .ports
                .iter()
                .filter(|port| port.kind == PortKind::Axi4);
            ports.any(|port| port.name.eq_ignore_ascii_case(name))
        };
        read.as_ref().is_some_and(axi4)
    }
}
