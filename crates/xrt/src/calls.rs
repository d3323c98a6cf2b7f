//! The table of XRT's calls, `calls.toml`: which calls work, how often programs use them, and which program
//! demonstrates each.

use serde::Deserialize;

/// Contents of `calls.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calls {
    /// Call sites counted.
    pub total_sites: u32,
    /// Programs for programmable logic alone.
    pub total_programs: u32,
    /// Groups of calls, most frequently used first.
    pub group: Vec<Group>,
    /// XRT's calls, one entry each.
    pub call: Vec<Call>,
}

/// A group of calls that were counted together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name of the group, referred to by [`Call::group`].
    pub name: String,
    /// Call sites of all its calls.
    pub sites: u32,
    /// Programs whose calls are all in this group and those before it, and not all in those before it.
    pub completes: u32,
}

/// Degree of support for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Behaves as XRT's documentation specifies.
    Works,
    /// Exists, and is refused with a reason.
    Refused,
    /// Missing: a program that uses it does not compile.
    Absent,
}

/// One call of XRT's interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Class and member.
    pub name: String,
    /// Name of its group.
    pub group: String,
    /// Programs that use it.
    pub programs: u32,
    /// Degree of support.
    pub is: Presence,
    /// The program that demonstrates it.
    pub program: Option<String>,
    /// Source text of the call in that program.
    pub shows: Option<String>,
    /// Why it does not work.
    pub why: Option<String>,
}

impl Calls {
    /// Parses the embedded table.
    ///
    /// # Errors
    /// Not TOML, or not of this schema.
    pub fn read() -> Result<Self, toml::de::Error> {
        toml::from_str(include_str!("../calls.toml"))
    }

    /// Share of the counted call sites whose calls work. The sites of a group are divided among its calls in proportion
    /// to the number of programs that use each.
    pub fn share_that_works(&self) -> f64 {
        let works = self.group.iter().map(|group| {
            let calls = self.call.iter().filter(|call| call.group == group.name);
            let (mut all, mut good) = (0, 0);
            for call in calls {
                all += call.programs;
                good += if call.is == Presence::Works {
                    call.programs
                } else {
                    0
                };
            }
            f64::from(group.sites) * f64::from(good) / f64::from(all.max(1))
        });
        works.sum::<f64>() / f64::from(self.total_sites.max(1))
    }

    /// Programs for programmable logic whose groups are complete: every call of theirs that any program has works. A
    /// group counts only if those before it are complete, too.
    pub fn complete_programs(&self) -> u32 {
        let complete = |group: &&Group| {
            let calls = self.call.iter().filter(|call| call.group == group.name);
            let mut used = calls.filter(|call| call.programs > 0);
            used.all(|call| call.is == Presence::Works)
        };
        let groups = self.group.iter().take_while(complete);
        groups.map(|group| group.completes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_call_is_shown_by_a_program_or_says_why_not() {
        let calls = Calls::read().unwrap();
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capi/xrt/programs");
        for call in &calls.call {
            let of_group = calls.group.iter().any(|group| group.name == call.group);
            assert!(of_group, "{}: group {}", call.name, call.group);
            let shown = call.program.as_ref().zip(call.shows.as_ref());
            if let Some((program, shows)) = shown {
                let file = match program.ends_with(".c") {
                    true => program.clone(),
                    false => format!("{program}.cpp"),
                };
                let text = std::fs::read_to_string(programs.join(file)).unwrap();
                assert!(
                    text.contains(shows.as_str()),
                    "{}: {program} lacks {shows}",
                    call.name
                );
            }
            match call.is {
                Presence::Works => assert!(shown.is_some() && call.why.is_none(), "{}", call.name),
                Presence::Refused => {
                    assert!(shown.is_some() && call.why.is_some(), "{}", call.name)
                }
                Presence::Absent => assert!(shown.is_none() && call.why.is_some(), "{}", call.name),
            }
        }
    }

    #[test]
    fn the_groups_add_up_and_nearly_all_sites_work() {
        let calls = Calls::read().unwrap();
        let sites: u32 = calls.group.iter().map(|group| group.sites).sum();
        assert_eq!(sites, calls.total_sites);
        let share = calls.share_that_works();
        assert!((0.97..=1.0).contains(&share), "{share}");
    }

    #[test]
    fn a_program_is_complete_with_all_groups_up_to_its_own() {
        let mut calls = Calls::read().unwrap();
        let all: u32 = calls.group.iter().map(|group| group.completes).sum();
        assert_eq!(all, calls.total_programs);
        assert_eq!(calls.complete_programs(), 46);
        let mut lose = |group: &str, programs: bool| {
            let call = calls.call.iter_mut().find(|call| {
                call.group == group && (call.programs > 0) == programs && call.is == Presence::Works
            });
            call.unwrap().is = Presence::Absent;
            calls.complete_programs()
        };
        // A call that no program has does not matter; one of a group ends the count before that group.
        assert_eq!(lose("xclbin", false), 46);
        assert_eq!(lose("rest", true), 43);
        assert_eq!(lose("ip", true), 29);
    }
}
