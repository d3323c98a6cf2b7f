//! FlexiMem's table I: features of FlexiMem and four other systems, compared with ours.

use std::fmt::Write;

/// The systems that the paper compares.
pub const SYSTEMS: [&str; 5] = ["FlexiMem", "Coyote", "FSRF", "Tapasco SVM", "Vogel 2017"];

/// A feature: the paper's entry for each system, and ours.
pub struct Feature {
    /// Name of the feature.
    pub name: &'static str,
    /// Entries as published, in the order of [`SYSTEMS`].
    pub paper: [&'static str; 5],
    /// Entry of Tombolo.
    pub ours: &'static str,
}

/// The eight rows.
pub const TABLE1: [Feature; 8] = [
    Feature {
        name: "Shared virtual memory",
        paper: ["Yes", "Yes", "No, VAs for files", "Yes", "Yes"],
        ours: "Yes, and VAs for files, in one space",
    },
    Feature {
        name: "Deployment",
        paper: [
            "PCIe-attached",
            "PCIe-attached",
            "PCIe-attached",
            "PCIe-attached",
            "SoC",
        ],
        ours: "PCIe-attached, simulated: RTL and models of platforms",
    },
    Feature {
        name: "On-device page storage",
        paper: ["Yes", "No, direct SVM", "Yes", "Yes", "No, direct SVM"],
        ours: "Yes",
    },
    Feature {
        name: "Memory limited by",
        paper: ["Host VM", "Host VM", "Disk storage", "Host VM", "Host VM"],
        ours: "Host VM; files: disk storage",
    },
    Feature {
        name: "Coherency protocol",
        paper: [
            "ESI",
            "None, direct",
            "None, not SVM",
            "Not mentioned",
            "None, direct",
        ],
        ours: "ESI",
    },
    Feature {
        name: "Host faults move data",
        paper: [
            "Yes",
            "Not needed",
            "No, sync explicitly",
            "Yes",
            "Not needed",
        ],
        ours: "Yes (mprotect or userfaultfd), or by call; files: sync explicitly",
    },
    Feature {
        name: "Page sizes",
        paper: [
            "Any page size",
            "4 KiB, 2 MiB",
            "4 KiB, 2 MiB",
            "4 KiB",
            "Host page size",
        ],
        ours: "Powers of two, 4 KiB to 1 GiB, mixed",
    },
    Feature {
        name: "Other frameworks",
        paper: ["No", "No", "AWS runtime", "No", "No"],
        ours: "No",
    },
];

/// The table, human-readable.
pub fn table() -> String {
    let mut text = format!("FlexiMem, table I, and Tombolo beside it\n\n{:<23}", "");
    for system in SYSTEMS {
        let _ = write!(text, "{system:<21}");
    }
    text.push_str("Tombolo\n");
    for feature in &TABLE1 {
        let _ = write!(text, "{:<23}", feature.name);
        for paper in feature.paper {
            let _ = write!(text, "{paper:<21}");
        }
        let _ = writeln!(text, "{}", feature.ours);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_word_has_its_column() {
        let table = super::table();
        assert_eq!(table.lines().count(), 3 + super::TABLE1.len());
        for feature in &super::TABLE1 {
            assert!(feature.name.len() < 23);
            assert!(feature.paper.iter().all(|word| word.len() < 21));
        }
    }
}
