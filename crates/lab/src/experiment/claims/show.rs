//! Published values and ours, one per line, for terminal, page and comma-separated values.

use super::{Count, Share, Value, ValueState};
use crate::experiment::table::digits;
use crate::experiment::{Cell, Experiment, Outcome};
use html::{Section, Verdict};

/// Column headings of [`section`].
const HEAD: [&str; 7] = [
    "printed value",
    "system",
    "paper",
    "ours",
    "ratio",
    "state",
    "why",
];

fn of(share: Share) -> String {
    match share.of {
        0 => "none".to_owned(),
        of => format!("{} of {of} ({:.3})", share.holds, share.value()),
    }
}

impl Value<'_> {
    /// Cells of [`HEAD`]; a predicted value within the relative deviation `within` is reproduced.
    fn line(&self, within: f64) -> Vec<String> {
        let columns = self.columns.iter();
        let columns: Vec<String> = columns
            .map(|(temperature, size)| format!("{} {}", temperature.name(), size.short()))
            .collect();
        let paper: Vec<String> = self.paper.iter().map(f64::to_string).collect();
        let (state, why) = match self.state {
            ValueState::Predicted if self.is_within(within) == Some(false) => {
                let why = match self.reasons.is_empty() {
                    true => "not known why".to_owned(),
                    false => self.reasons.join("; "),
                };
                ("not reproduced", why)
            }
            ValueState::Predicted => ("predicted", String::new()),
            ValueState::Calibrated(constant) => (
                "calibrated",
                format!("{} in {}: {}", constant.name, constant.file, constant.how),
            ),
            ValueState::NotComparable(sentence) => ("not comparable", sentence.to_owned()),
            ValueState::Identity(why) => ("identity", why.to_owned()),
            ValueState::NotRun(why) => ("not run", why.to_owned()),
        };
        let shown = |value: Option<f64>| value.map_or("–".to_owned(), digits);
        let ratio = self.ratio();
        vec![
            format!("{}, {}", self.row, columns.join(" and ")),
            self.system.to_owned(),
            paper.join(", "),
            shown(self.ours),
            ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
            state.to_owned(),
            why,
        ]
    }
}

impl Count<'_> {
    fn summary(&self) -> String {
        format!(
            "predicted values within the bound: {}; FSRF’s own: {}; the others’: {}; \
             never counted: {} calibrated, {} not comparable; not run: {} of {} printed; \
             systems in the paper’s order: {} rows and columns",
            of(self.predicted),
            of(self.own),
            of(self.rivals),
            self.calibrated,
            self.apart,
            self.printed.1,
            self.printed.0 + self.printed.1,
            of(self.ranking),
        )
    }
}

/// The comparison value by value; `None` without claims.
pub fn section(
    experiment: &Experiment,
    outcomes: &[(Cell<'_>, Option<Outcome>)],
) -> Option<Section> {
    let claims = experiment.claims.as_ref()?;
    let count = Count::new(experiment, outcomes)?;
    let measured = count.values.iter().filter(|value| value.ours.is_some());
    let not_run = claims.not_run().map(|(row, values, reason)| {
        let line = [row, "all", "", "", "", "not run"].map(str::to_owned);
        let mut line = line.to_vec();
        line[2] = format!("{values} values");
        line.push(reason.to_owned());
        line
    });
    let rankings = count.rankings.iter();
    let rankings = rankings.filter(|ranking| !ranking.swapped.is_empty());
    let rankings = rankings.map(|ranking| {
        let (temperature, size) = ranking.at;
        let pairs: Vec<String> = ranking
            .swapped
            .iter()
            .map(|(fast, slow)| format!("{fast} before {slow}"))
            .collect();
        format!(
            "{}, {} {}: the paper has {}",
            ranking.row,
            temperature.name(),
            size.short(),
            pairs.join(", ")
        )
    });
    let means = claims.means().map(|(row, without)| {
        format!(
            "{row}: our mean is without {}, which the paper’s has",
            without.join(", ")
        )
    });
    Some(Section {
        id: "claims".into(),
        title: format!("Values: {}, each printed value once", claims.source()),
        verdict: Verdict::of(
            count.predicted.holds + count.ranking.holds,
            count.predicted.of + count.ranking.of,
        ),
        because: count.summary(),
        pictures: Vec::new(),
        head: HEAD.map(str::to_owned).to_vec(),
        rows: measured
            .map(|value| value.line(claims.within()))
            .chain(not_run)
            .collect(),
        notes: means.chain(rankings).collect(),
    })
}

/// Formats a section for a terminal: reasons at the end of a line, notes below.
pub(in crate::experiment) fn text(section: &Section) -> String {
    let width = |column: usize| {
        let lines = section.rows.iter().chain([&section.head]);
        let widths = lines.filter_map(|line| Some(line.get(column)?.chars().count()));
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..HEAD.len() - 1).map(width).collect();
    let mut text = format!("{}\n", section.title);
    for line in [&section.head].into_iter().chain(&section.rows) {
        for (cell, width) in line.iter().zip(&widths) {
            text += &format!("  {cell:<width$}");
        }
        let why = line.last().map_or("", String::as_str);
        text += &format!("  {why}");
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text += &format!("  {}: {}\n", section.verdict, section.because);
    let notes = section.notes.iter();
    text + &notes.map(|note| format!("  {note}\n")).collect::<String>()
}

/// The value that a cell belongs to, with its state and reason, as [`section`] prints them.
pub(in crate::experiment) fn described(
    experiment: &Experiment,
    count: &Count<'_>,
    cell: &Cell<'_>,
) -> Option<[String; 3]> {
    let within = experiment.claims.as_ref()?.within();
    let value = count.values.iter().find(|value| {
        (value.row, value.system) == (cell.workload.paper.as_str(), cell.system.name.as_str())
            && value.columns.contains(&(cell.temperature, cell.size))
    })?;
    let mut line = value.line(within);
    let why = line.pop()?;
    let state = line.pop()?;
    Some([line.swap_remove(0), state, why])
}
