use super::job::{PointFigures, PointOutcome};
use super::*;
use crate::experiment::cache::Kept;
use crate::experiment::workers::KeptWork;

const TEXT: &str = r#"
title = "lanes < all"
platform = "u280"

[workload]
kernel = "copy"

[workload.arguments]
input = { bytes = 65536 }
output = { bytes = 65536 }
bytes = 65536

[fields]
"shell.lanes" = [1, 2, 3]
"shell.read_buffer_rows" = [128, 512]
"#;

fn read(text: &str) -> Result<Sweep, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sweep.toml");
    std::fs::write(&path, text).unwrap();
    Sweep::read(&path).map_err(|error| error.to_string())
}

fn outcome(figures: PointFigures) -> Result<PointOutcome, Failure> {
    Ok(PointOutcome {
        processor_seconds: 1.0,
        figures,
    })
}

#[test]
fn every_combination_is_a_point_and_impossible_ones_are_refused() {
    let sweep = read(TEXT).unwrap();
    let names: Vec<&str> = sweep
        .points
        .iter()
        .map(|point| point.name.as_str())
        .collect();
    assert_eq!(names.len(), 6);
    assert_eq!(names[1], "shell.lanes=1 shell.read_buffer_rows=512");
    let setup = sweep.points[3].setup.as_ref().unwrap();
    assert_eq!((setup.shell.lanes, setup.shell.read_buffer_rows), (2, 512));
    // The shell's own rule; the others go on.
    for point in &sweep.points[4..] {
        let rule = point.setup.as_ref().unwrap_err();
        assert!(
            rule.starts_with("lanes = 3: must be a power of two"),
            "{rule}"
        );
    }
    assert_eq!(sweep.jobs(false).len(), 4);
    assert_eq!(sweep.jobs(true).len(), 8);
    // A value that no field of that type can have.
    let wide = read(&TEXT.replace("[1, 2, 3]", "[1, 300]")).unwrap();
    let refused = wide.points.iter().filter(|point| point.setup.is_err());
    assert_eq!(refused.count(), 2);
    let channels = read(&TEXT.replace("shell.lanes\" = [1, 2, 3]", "shell.channels\" = [2, 64]"));
    let rule = channels.unwrap().points[2].setup.clone().unwrap_err();
    assert!(rule.contains("64 channels"), "{rule}");
}

#[test]
fn fields_are_those_of_the_structs() {
    for (field, value) in [
        ("shell.l1.0.ways", "[2, 4]"),
        (
            "shell.l1",
            "[[{ page_bits = 21, sets_log2 = 3, ways = 8 }]]",
        ),
        ("shell.channel_policy", "[\"preferred\"]"),
        ("platform.memory.0.timing.cl", "[13, 14]"),
        ("platform.clock.period_ps", "[4000, 3333]"),
    ] {
        let text = TEXT.replace(
            "\"shell.lanes\" = [1, 2, 3]",
            &format!("\"{field}\" = {value}"),
        );
        let sweep = read(&text).unwrap();
        for point in &sweep.points {
            assert!(point.setup.is_ok(), "{field}: {:?}", point.setup);
        }
    }
    for (field, unknown, known) in [
        ("shell.lane", "`lane`", "lanes"),
        ("shell.l1.7.ways", "`7`", "0, 1"),
        ("shell.l1.0.way", "`way`", "ways"),
        ("platform.memory.0.timing.cas", "`cas`", "cl"),
        ("card.lanes", "`card`", "shell, platform"),
    ] {
        let text = TEXT.replace("shell.lanes", field);
        let error = read(&text).unwrap_err();
        assert!(error.contains(unknown) && error.contains(known), "{error}");
    }
    // A field of another platform is another result.
    let text = TEXT.replace(
        "\"shell.lanes\" = [1, 2, 3]",
        "\"platform.clock.period_ps\" = [4000, 3333]",
    );
    let sweep = read(&text).unwrap();
    let hashes: std::collections::BTreeSet<String> = sweep
        .jobs(false)
        .iter()
        .map(|job| job.cached(Path::new("/")).unwrap().hash())
        .collect();
    assert_eq!(hashes.len(), 4);
}

#[test]
fn a_file_that_is_wrong_says_where() {
    for (from, to, told) in [
        ("kernel = \"copy\"", "kernel = \"cpy\"", "kernel `cpy`"),
        ("kernel = \"copy\"", "", "either `kernel`"),
        (
            "input = { bytes = 65536 }",
            "input = 7",
            "a pointer takes a buffer",
        ),
        (
            "bytes = 65536\n\n",
            "size = 65536\n\n",
            "argument `size`: kernel `copy` has input",
        ),
        ("platform = \"u280\"", "platform = \"u281\"", "platform"),
        ("platform = \"u280\"", "", "platform: missing"),
        ("[1, 2, 3]", "[]", "has no values"),
        ("\"shell.lanes\"", "shell.lanes", "quote the whole name"),
        ("title", "titel", "unknown field `titel`"),
    ] {
        assert!(TEXT.contains(from), "{from}");
        let error = read(&TEXT.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(told), "{to}: {error}");
    }
    let many: Vec<String> = (0..70).map(|number| number.to_string()).collect();
    let many = format!("[{}]", many.join(", "));
    let text = TEXT
        .replace("[1, 2, 3]", &many)
        .replace("[128, 512]", &many);
    assert!(read(&text).unwrap_err().contains("4096 combinations"));
}

#[test]
fn a_cell_of_an_experiment_has_its_own_shell_and_platform() {
    let text = r#"
        title = "t"
        [workload]
        experiment = "fsrf-table2"
        cell = "rng_read.tombolo.hot_small"
        [fields]
        "shell.max_walks" = [16, 64]
    "#;
    let sweep = read(text).unwrap();
    let setup = sweep.points[0].setup.as_ref().unwrap();
    assert_eq!(
        (setup.shell.max_walks, setup.platform.name()),
        (16, "f1-mig")
    );
    assert_eq!(setup.shell.slots, 4);
    let hash = |place: usize| {
        sweep.jobs(false)[place]
            .cached(Path::new("/"))
            .unwrap()
            .hash()
    };
    assert_ne!(hash(0), hash(1));
    let error = read(&text.replace("rng_read", "rng_red")).unwrap_err();
    assert!(error.contains("no such cell"), "{error}");
}

#[test]
fn a_result_is_kept_and_a_damaged_one_is_named() {
    let sweep = read(TEXT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let jobs = sweep.jobs(true);
    let cached = jobs[0].cached(folder.path()).unwrap();
    let made = outcome(PointFigures::Throughput(1234.5)).unwrap();
    cached.write(&made).unwrap();
    assert_eq!(jobs[0].kept(folder.path()).unwrap(), Kept::Whole(made));
    assert_eq!(jobs[1].kept(folder.path()).unwrap(), Kept::Nothing);
    let text = std::fs::read_to_string(cached.path()).unwrap();
    std::fs::write(cached.path(), text.replace("1234.5", "1234.6")).unwrap();
    let Kept::Spoilt(why) = jobs[0].kept(folder.path()).unwrap() else {
        panic!("a changed figure is a result");
    };
    assert!(
        why.starts_with("shell.lanes=1 shell.read_buffer_rows=128: "),
        "{why}"
    );
}

#[test]
fn the_page_has_the_front_and_every_point_with_its_state() {
    let sweep = read(TEXT).unwrap();
    let name = |place: usize| sweep.points[place].name.clone();
    let throughput = |mib_per_s| outcome(PointFigures::Throughput(mib_per_s));
    let area = |lut| outcome(PointFigures::Area([lut, 1.0, lut / 100.0]));
    let done = [
        (name(0), throughput(100.0)),
        (name(0), area(1000.0)),
        (name(1), throughput(90.0)),
        (name(1), area(1100.0)),
        (name(2), throughput(200.0)),
        (name(2), area(2000.0)),
        (name(3), Err("killed".into())),
    ];
    let results = SweepResults::new(&sweep, true, done);
    assert_eq!(results.failed(), 1);
    let study = results.study();
    let front: Vec<&str> = study.sections[0]
        .rows
        .iter()
        .map(|row| row[0].as_str())
        .collect();
    assert_eq!(
        front,
        [sweep.points[0].name.as_str(), &sweep.points[2].name]
    );
    assert_eq!(study.sections[0].pictures[0].matches("<circle").count(), 3);
    let page = study.to_string();
    assert!(
        page.contains("6 points: 3 measured, 2 refused, 1 failed"),
        "{page}"
    );
    assert!(page.contains("lanes &lt; all"));
    let lines = results.comma_separated();
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(
        lines[0],
        "shell.lanes,shell.read_buffer_rows,MiB/s,LUT,FF,BRAM36,on-chip KiB,state"
    );
    assert!(
        lines[1].starts_with("1,128,100.0,1000,1,10,"),
        "{}",
        lines[1]
    );
    assert!(lines[4].ends_with("failed: killed"), "{}", lines[4]);
    assert!(lines[5].contains("refused: lanes = 3"), "{}", lines[5]);
    // Without area, against on-chip memory.
    let without = SweepResults::new(&sweep, false, [(name(0), throughput(1.0))]).study();
    assert_eq!(without.sections.len(), 2);
    assert!(without.sections[0].title.contains("on-chip"));
}

#[test]
fn the_example_of_the_pages_is_understood() {
    let path = simcard::home().join("experiments/sweeps/example.toml");
    let sweep = Sweep::read(&path).unwrap();
    assert!(sweep.points.iter().any(|point| point.setup.is_ok()));
    assert!(sweep.points.iter().any(|point| point.setup.is_err()));
}
