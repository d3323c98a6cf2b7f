//! The evaluation as a page: a picture, the values and one verdict per figure.

use super::table::{bar, number, or_dash};
use super::{Cckit, Figure, Measurements};
use crate::claim::State;
use html::{Section, Study, Verdict};
use std::collections::BTreeSet;

/// The page of the measured figures.
pub fn study(experiment: &Cckit, chosen: &[&Figure], measured: &Measurements) -> Study {
    let sections = experiment.figure.iter().map(|figure| {
        let has = chosen.iter().any(|one| one.name == figure.name);
        section(experiment, figure, has.then_some(measured))
    });
    Study {
        title: "CCKit’s evaluation on Tombolo".to_owned(),
        command: "tombolo lab cckit --html FILE".to_owned(),
        known_differences: experiment.known_differences.clone(),
        sections: sections.collect(),
    }
}

fn section(experiment: &Cckit, figure: &Figure, measured: Option<&Measurements>) -> Section {
    let empty = Section {
        id: figure.name.clone(),
        title: figure.title.clone(),
        verdict: Verdict::NotMeasured,
        because: format!("left out; `--figure {}` measures it", figure.name),
        pictures: Vec::new(),
        head: Vec::new(),
        rows: Vec::new(),
        notes: Vec::new(),
    };
    let Some(measured) = measured else {
        return empty;
    };
    let (mut rows, mut notes) = (Vec::new(), BTreeSet::new());
    // Published values that can be missed, and our own targets.
    let (mut near, mut of, mut met, mut targets) = (0, 0, 0, 0);
    for point in &figure.points {
        let Some(judged) = measured.row(&point.row) else {
            let mut row = vec![point.label.clone(), "not measured".to_owned()];
            row.resize(5, String::new());
            rows.push(row);
            continue;
        };
        let published = judged.published();
        let paper = published.map(|published| published.value);
        if let Some(published) = published {
            if !published.why.is_empty() {
                notes.insert(format!("{}: {}", published.state.name(), published.why));
            }
            if let State::Predicted | State::NotReproduced = published.state {
                of += 1;
                near += usize::from(published.is_met(judged.row.value) == Some(true));
            }
        }
        targets += usize::from(judged.met.is_some());
        met += usize::from(judged.met == Some(true));
        rows.push(vec![
            point.label.clone(),
            number(judged.row.value),
            or_dash(paper.map(number)),
            or_dash(paper.map(|paper| format!("{:.2}", judged.row.value / paper))),
            bar(judged),
        ]);
    }
    let failed = measured.failures.iter().filter(|failure| {
        figure
            .points
            .iter()
            .filter_map(|point| experiment.bar(&point.row)?.names.first())
            .any(|name| failure.starts_with(&format!("cckit.{name}: ")))
    });
    let failed: Vec<String> = failed.map(|failure| format!("failed: {failure}")).collect();
    if rows.iter().all(|row| row[1] == "not measured") {
        return Section {
            because: failed.first().cloned().unwrap_or(empty.because),
            ..empty
        };
    }
    let own = format!("{met} of {targets} of our own targets met");
    Section {
        verdict: Verdict::of(near, of),
        because: match of {
            0 => format!("no published value is comparable; {own}"),
            _ => format!("{near} of {of} values within a quarter of the paper’s; {own}"),
        },
        pictures: vec![figure.picture(&experiment.rows, measured)],
        head: [figure.unit.as_str(), "ours", "paper", "ratio", "bar"]
            .map(str::to_owned)
            .to_vec(),
        rows,
        notes: notes.into_iter().chain(failed).collect(),
        ..empty
    }
}
