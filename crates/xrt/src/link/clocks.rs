//! Clock ratios of kernels with several clocks, from the frequencies in a configuration.

use super::LinkError;
use crate::design::{Design, KernelImage};
use card::kernel::{Manifest, Ratio};
use std::path::Path;

/// Frequency of a clock without a setting: the linker's default.
const DEFAULT_HZ: u64 = 300_000_000;

/// Frequency of a clock, and how it was selected.
#[derive(Clone, Copy)]
struct Frequency {
    hz: u64,
    /// Requested by the clock's name or number, or by the compute unit's name.
    is_named: bool,
}

/// Updates the manifests of kernels whose clocks have a setting; returns one line per clock.
pub(super) fn set_ratios(design: &mut Design) -> Result<Vec<String>, LinkError> {
    let mut notes = Vec::new();
    for number in 0..design.kernels.len() {
        let Some(manifest) = manifest_of(&design.kernels[number]) else {
            continue;
        };
        for (place, clock) in manifest.clocks.iter().enumerate() {
            let Some(ratio) = ratio_of(design, number, &manifest, place)? else {
                continue;
            };
            let kernel = &mut design.kernels[number];
            set_ratio(kernel, &clock.name, ratio);
            let (name, first) = (&kernel.name, &manifest.clock);
            notes.push(format!(
                "kernel {name}: {} runs at {ratio} of {first}",
                clock.name
            ));
        }
    }
    Ok(notes)
}

fn manifest_name(kernel: &KernelImage) -> String {
    format!("{}/kernel.toml", kernel.name)
}

pub(super) fn manifest_of(kernel: &KernelImage) -> Option<Manifest> {
    let name = manifest_name(kernel);
    let file = kernel.files.iter().find(|file| file.name == name)?;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    Manifest::parse(Path::new("kernel.toml"), text).ok()
}

/// Frequency of the last matching setting, in order of precedence: clock pin, clock number, compute unit, all units.
fn frequency(design: &Design, unit: &str, pin: &str, number: usize) -> Frequency {
    let of = |target: &str| {
        let mut clocks = design.clocks.iter().rev();
        clocks
            .find(|clock| clock.target == target)
            .map(|clock| clock.hz)
    };
    let named = of(&format!("{unit}.{pin}"))
        .or_else(|| of(&format!("clock {number}")))
        .or_else(|| of(unit));
    Frequency {
        hz: named.or_else(|| of("")).unwrap_or(DEFAULT_HZ),
        is_named: named.is_some(),
    }
}

/// Ratio of a kernel's further clock, if a setting selects it or the first clock.
fn ratio_of(
    design: &Design,
    kernel: usize,
    manifest: &Manifest,
    place: usize,
) -> Result<Option<Ratio>, LinkError> {
    let clock = &manifest.clocks[place].name;
    let broken = |rule: String| LinkError::Clock {
        kernel: manifest.name.clone(),
        clock: clock.clone(),
        rule,
    };
    let mut found: Option<(Ratio, &str)> = None;
    for unit in design.units.iter().filter(|unit| unit.kernel == kernel) {
        let first = frequency(design, &unit.name, &manifest.clock, 0);
        let own = frequency(design, &unit.name, clock, place + 1);
        if !first.is_named && !own.is_named {
            continue;
        }
        let both = u32::try_from(own.hz).ok().zip(u32::try_from(first.hz).ok());
        let ratio = both.and_then(|(own, first)| Ratio::new(own, first));
        let ratio = ratio.ok_or_else(|| {
            let (own, first) = (own.hz, first.hz);
            broken(format!(
                "{own} Hz over {first} Hz of {}: a ratio is of whole numbers from 1 to {}; take frequencies that have one",
                manifest.clock,
                Ratio::LARGEST
            ))
        })?;
        match &found {
            Some((other, with)) if *other != ratio => {
                return Err(broken(format!(
                    "{ratio} of {} in compute unit {}, {other} in {with}: the units of a kernel have the same ratio",
                    manifest.clock, unit.name
                )))
            }
            _ => found = Some((ratio, &unit.name)),
        }
    }
    Ok(found.map(|(ratio, _)| ratio))
}

/// Writes a ratio to the kernel's manifest, which has that clock.
fn set_ratio(kernel: &mut KernelImage, clock: &str, ratio: Ratio) {
    let name = manifest_name(kernel);
    let Some(file) = kernel.files.iter_mut().find(|file| file.name == name) else {
        return;
    };
    let text = String::from_utf8_lossy(&file.bytes);
    let Ok(mut table) = text.parse::<toml::Table>() else {
        return;
    };
    let clocks = table.get_mut("clock").and_then(toml::Value::as_array_mut);
    let is_it =
        |entry: &&mut toml::Value| entry.get("name").and_then(toml::Value::as_str) == Some(clock);
    let entry = clocks.and_then(|clocks| clocks.iter_mut().find(is_it));
    if let Some(entry) = entry.and_then(toml::Value::as_table_mut) {
        entry.insert("ratio".to_owned(), ratio.to_string().into());
        file.bytes = table.to_string().into_bytes();
    }
}
