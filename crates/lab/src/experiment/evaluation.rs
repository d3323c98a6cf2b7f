//! The outcome of a paper's evaluation: its page, its published values next to ours, and its entry on the index page.

use super::claims::Share;
use super::ComparedValue;
use crate::{csv, tree};
use html::{IndexFigure, IndexPaper, Miss, Study, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Heading of [`Evaluation::comma_separated`].
pub const CSV_HEAD: &str = "paper,figure,value,ours,published,ratio,state,reproduced,why\n";

/// The outcome of a paper's evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Name of the subcommand and of the page: `fsrf`.
    pub id: &'static str,
    /// Name of the paper.
    pub title: &'static str,
    /// Page with one section per figure.
    pub study: Study,
    /// Published values that were measured here, each once.
    pub compared: Vec<ComparedValue>,
    /// Rankings of systems, if the paper has any.
    pub rankings: Option<Share>,
    /// Work that failed, with the reason.
    pub failures: Vec<String>,
}

/// Reproduced values, of those that count, and those that do not count by state.
#[derive(Default)]
struct ValueCount {
    holds: usize,
    of: usize,
    apart: BTreeMap<&'static str, usize>,
}

impl ValueCount {
    fn of<'a>(values: impl Iterator<Item = &'a ComparedValue>) -> Self {
        let mut tally = Self::default();
        for value in values {
            match value.holds {
                Some(holds) => {
                    tally.holds += usize::from(holds);
                    tally.of += 1;
                }
                None => *tally.apart.entry(value.state).or_default() += 1,
            }
        }
        tally
    }

    fn text(&self) -> String {
        match self.of {
            0 => "–".to_owned(),
            of => format!("{} of {of}", self.holds),
        }
    }
}

/// At most four significant digits.
fn digits(value: f64) -> String {
    match value.abs() {
        1000.0.. => format!("{value:.0}"),
        100.0.. => format!("{value:.1}"),
        10.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

impl Evaluation {
    /// File name of its page.
    pub fn page(&self) -> String {
        format!("{}.html", self.id)
    }

    /// Its entry on the index page.
    pub fn indexed(&self) -> IndexPaper {
        let tally = ValueCount::of(self.compared.iter());
        let ranked = self.rankings.unwrap_or_default();
        let mut because = match tally.of {
            0 => "no value that counts was measured".to_owned(),
            of => format!(
                "{} of {of} values within a quarter of the paper’s",
                tally.holds
            ),
        };
        if ranked.of > 0 {
            let _ = write!(
                because,
                "; {} of {} rankings right",
                ranked.holds, ranked.of
            );
        }
        if !tally.apart.is_empty() {
            let apart = tally.apart.iter();
            let apart: Vec<String> = apart
                .map(|(state, count)| format!("{count} {state}"))
                .collect();
            let _ = write!(because, "; not counted: {}", apart.join(", "));
        }
        let measured = self.study.sections.iter();
        let measured: Vec<_> = measured.filter(|section| section.is_measured()).collect();
        let published = measured.iter();
        let published = published.filter(|section| section.verdict == Verdict::AsPublished);
        let (published, sections) = (published.count(), self.study.sections.len());
        let _ = write!(
            because,
            "; {} of {sections} figures measured, {published} as published",
            measured.len()
        );
        let figure = |section: &html::Section| IndexFigure {
            id: section.id.clone(),
            title: section.title.clone(),
            verdict: section.verdict,
            values: ValueCount::of(self.compared.iter().filter(|one| one.figure == section.id))
                .text(),
            because: section.because.clone(),
        };
        let missed = self.compared.iter().filter(|one| one.holds == Some(false));
        IndexPaper {
            id: self.id.to_owned(),
            title: self.title.to_owned(),
            page: self.page(),
            verdict: match measured.is_empty() {
                true => Verdict::NotMeasured,
                false => Verdict::of(tally.holds + ranked.holds, tally.of + ranked.of),
            },
            because,
            figures: self.study.sections.iter().map(figure).collect(),
            misses: missed
                .map(|one| Miss {
                    what: one.what.clone(),
                    paper: digits(one.paper),
                    ours: digits(one.ours),
                    ratio: format!("{:.2}", one.ours / one.paper),
                    why: one.why.clone(),
                })
                .collect(),
            failures: self.failures.clone(),
        }
    }

    /// One line per published value, without the heading.
    pub fn comma_separated(&self) -> String {
        let mut text = String::new();
        for one in &self.compared {
            let holds = one
                .holds
                .map_or("", |holds| if holds { "yes" } else { "no" });
            let numbers = [one.ours, one.paper].map(|value| value.to_string());
            let [ours, paper] = numbers.each_ref().map(String::as_str);
            let ratio = format!("{:.4}", one.ours / one.paper);
            text.push_str(&csv::line([
                self.id,
                &one.figure,
                &one.what,
                ours,
                paper,
                &ratio,
                one.state,
                holds,
                &one.why,
            ]));
        }
        text
    }
}

/// Day (UTC) and commit of the checkout, in words.
pub fn made() -> [String; 2] {
    let date = tree::today().unwrap_or_else(|_| "on an unknown day".to_owned());
    let commit = match (
        tree::git(&["rev-parse", "--short=12", "HEAD"]),
        tree::Tree::now(),
    ) {
        (Ok(commit), Ok(_)) => format!("commit {commit}"),
        (Ok(commit), Err(_)) => format!("commit {commit} with changes"),
        (Err(_), _) => format!("version {}", env!("CARGO_PKG_VERSION")),
    };
    [date, commit]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars;
    use crate::experiment::cckit::{self, Cckit};
    use crate::experiment::PartFigures;
    use crate::results;
    use crate::row::Row;
    use html::Index;

    fn experiment() -> Cckit {
        Cckit::read(&simcard::home().join("experiments"), bars::ALL).unwrap()
    }

    /// CCKit's evaluation from the stored results of the bench.
    fn stored(experiment: &Cckit, change: f64) -> Evaluation {
        let rows: Vec<Row> = results::all()
            .unwrap()
            .iter()
            .map(|one| one.row())
            .collect();
        let rows = rows.into_iter().map(|row| Row {
            value: row.value * change,
            ..row
        });
        let figures = experiment.figures(false);
        let done = [
            (
                "cckit.rows".to_owned(),
                Ok(PartFigures::Rows(rows.collect())),
            ),
            ("cckit.broken".to_owned(), Err("killed".into())),
        ];
        let measured = experiment.measured(done);
        Evaluation {
            id: "cckit",
            title: "CCKit",
            study: cckit::study(experiment, &figures, &measured),
            compared: measured.compared(&figures),
            rankings: None,
            failures: measured.failures.clone(),
        }
    }

    #[test]
    fn the_index_counts_each_value_once_and_names_the_misses() {
        let experiment = experiment();
        let evaluation = stored(&experiment, 1.0);
        let counted = evaluation.compared.iter().filter(|one| one.holds.is_some());
        let (all, counted) = (evaluation.compared.len(), counted.count());
        assert!(all > counted && counted > 0, "{all} {counted}");
        let names: std::collections::BTreeSet<_> =
            evaluation.compared.iter().map(|one| &one.what).collect();
        assert_eq!(names.len(), all);
        let paper = evaluation.indexed();
        assert!(
            paper.because.contains(&format!("of {counted} values")),
            "{}",
            paper.because
        );
        assert_eq!(paper.figures.len(), experiment.figure.len());
        assert_eq!(paper.failures, ["cckit.broken: killed"]);
        // Values that are far from the published ones are all missed, with a reason each.
        let far = stored(&experiment, 1e3).indexed();
        assert_eq!(far.misses.len(), counted);
        assert!(far.misses.iter().all(|miss| !miss.why.is_empty()));
        assert_eq!(far.verdict, Verdict::Otherwise);
        let index = Index {
            title: "t".to_owned(),
            command: "c".to_owned(),
            made: made().to_vec(),
            papers: vec![paper],
        };
        let page = index.to_string();
        assert!(page.contains("href=\"cckit.html#table2\""), "{page}");
        let lines = evaluation.comma_separated();
        assert_eq!(lines.lines().count(), all);
        assert!(lines.lines().all(|line| line.starts_with("cckit,")));
    }

    #[test]
    fn without_results_nothing_is_measured() {
        let experiment = experiment();
        let measured = experiment.measured([]);
        let evaluation = Evaluation {
            id: "cckit",
            title: "CCKit",
            study: cckit::study(&experiment, &[], &measured),
            compared: measured.compared(&experiment.figures(true)),
            rankings: None,
            failures: Vec::new(),
        };
        let paper = evaluation.indexed();
        assert_eq!(paper.verdict, Verdict::NotMeasured);
        assert!(paper.because.contains("no value"), "{}", paper.because);
        assert!(paper.misses.is_empty());
    }
}
