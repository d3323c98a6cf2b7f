//! FlexiMem's table II: the area of its interconnect and of ours, mapped by Yosys.
//!
//! Yosys cannot hold the whole interconnect of 32 engines and 32 channels in memory, so ours is the sum of its parts,
//! each mapped once and multiplied by its number of instances.

use super::super::Failure;
use super::lanes::{narrow_package, ENGINES, LANES, PACKAGE};
use super::FlexiMem;
use crate::synthesis::{self, Report};
use serde::{Deserialize, Serialize};
use simcard::home;
use std::fmt::Write;

const LIST: &str = "rtl/fabric/tests/lanes_synth.f";
/// Number of mapped parts: four that are always present, and a lane for each lane count.
pub const STEPS: usize = 4 + LANES.len();

/// A part of the interconnect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InterconnectPart {
    /// Name of the part.
    pub name: String,
    /// Number of instances.
    pub count: u32,
    /// LUT of one instance.
    pub lut: f64,
    /// FF of one instance.
    pub ff: f64,
}

/// The interconnect with a given number of lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Area {
    /// Address lanes per direction.
    pub lanes: u32,
    /// All parts of the interconnect.
    pub parts: Vec<InterconnectPart>,
}

impl Area {
    /// Total LUT.
    pub fn lut(&self) -> f64 {
        self.parts
            .iter()
            .map(|part| part.lut * f64::from(part.count))
            .sum()
    }

    /// Total FF.
    pub fn ff(&self) -> f64 {
        self.parts
            .iter()
            .map(|part| part.ff * f64::from(part.count))
            .sum()
    }
}

/// The file list with the package of narrow rows instead of the shell's, written to a folder that Yosys can read.
fn narrow_list() -> Result<String, Failure> {
    let root = home();
    let folder = root.join("build/lanes");
    std::fs::create_dir_all(&folder)?;
    let package = "build/lanes/tmb_pkg.sv";
    std::fs::write(root.join(package), narrow_package()?)?;
    let list = std::fs::read_to_string(root.join(LIST))?.replace(PACKAGE, package);
    let name = "build/lanes/lanes_synth.f";
    std::fs::write(root.join(name), list)?;
    Ok(name.to_owned())
}

/// Maps each part, which takes about a minute each the first time. `tell` is called for each part.
///
/// # Errors
/// The tools are missing, or the checkout is not writable.
pub fn measure(mut tell: impl FnMut(&str)) -> Result<Vec<Area>, Failure> {
    let list = narrow_list()?;
    let mut map = |top: &str, parameters: &[String]| -> Result<Report, Failure> {
        tell(&format!("{top} {}", parameters.join(" ")));
        synthesis::synthesize_with(&list, top, parameters)
    };
    let part = |name: &str, count, report: &Report| InterconnectPart {
        name: name.to_owned(),
        count,
        lut: report.lut,
        ff: report.ff,
    };
    let channel = map(
        "tmb_channel",
        &[
            format!("Requesters=tmb_fabric_pkg::unscheduled({ENGINES},{ENGINES})"),
            "Cfg='{Policy:tmb_pkg::ArbiterPreferred,Share:4,BytesLog2:20,MaxReads:64,MaxWrites:32,MaxReadRows:128}"
                .to_owned(),
        ],
    )?;
    let channels = format!("Cfg='{{NumChannels:{ENGINES},ChannelBytesLog2:20,HostChannel:0}}");
    let router = map("tmb_fabric_router", &[channels])?;
    let returns = map("lanes_synth_return", &[format!("NumChannels={ENGINES}")])?;
    let park = map(
        "tmb_park",
        &["Cfg='{Depth:16,LookAhead:0,HostChannel:0}".to_owned()],
    )?;
    let mut areas = Vec::new();
    for lanes in LANES {
        let lane = map(
            "lanes_synth_lane",
            &[format!("NumRequesters={}", ENGINES / lanes)],
        )?;
        let parts = vec![
            part("channels", ENGINES, &channel),
            part("returns", ENGINES, &returns),
            part("routers", 2 * ENGINES, &router),
            part("parks", 2 * ENGINES, &park),
            part("lanes", 2 * lanes, &lane),
        ];
        areas.push(Area { lanes, parts });
    }
    Ok(areas)
}

/// Table II with the paper's values and ours.
pub fn table(experiment: &FlexiMem, areas: &[Area]) -> String {
    let mut text = format!(
        "FlexiMem, table II: {ENGINES} x {ENGINES}, 128-bit data. Ours is the sum of its parts, with parks (which hold \
         bursts\nthat miss or fault) and a TLB of 8 entries a lane; without the writers' order queues\n\n\
         {:<10}{:>12}{:>12}{:>12}{:>12}",
        "Ax/c", "LUT", "paper", "FF", "paper"
    );
    let parts = areas.first().map_or(&[][..], |area| &area.parts);
    for part in parts {
        let _ = write!(text, "{:>12}", part.name);
    }
    text.push('\n');
    for area in areas {
        let [lut, ff] = experiment.interconnect(area.lanes).unwrap_or_default();
        let _ = write!(
            text,
            "{:<10}{:>12.0}{lut:>12}{:>12.0}{ff:>12}",
            area.lanes,
            area.lut(),
            area.ff()
        );
        for part in &area.parts {
            let _ = write!(text, "{:>12.0}", part.lut * f64::from(part.count));
        }
        text.push('\n');
    }
    text.push_str("BRAM: none, as in the paper.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_added_as_often_as_they_are_there() {
        let part = |name: &str, count, lut| InterconnectPart {
            name: name.to_owned(),
            count,
            lut,
            ff: 1.0,
        };
        let area = Area {
            lanes: 4,
            parts: vec![part("channels", 32, 100.0), part("lanes", 8, 10.0)],
        };
        assert_eq!((area.lut(), area.ff()), (3280.0, 40.0));
        let experiment = FlexiMem::read(&home().join("experiments")).unwrap();
        let table = table(&experiment, &[area]);
        assert!(
            table.contains("123545") && table.contains("3280"),
            "{table}"
        );
    }
}
