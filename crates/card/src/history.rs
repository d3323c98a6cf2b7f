//! The history of lines: messages between parties, with their times. Rendered by
//! [`History::to_svg`], or as text.

mod picture;

use units::line::PlainLine;
use units::Picoseconds;

/// A party in the coherence of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The program on a core.
    Program,
    /// The CPU's cache.
    Cache,
    /// The directory of the card.
    Directory,
    /// The kernel behind the directory.
    Kernel,
}

impl Party {
    /// All parties, in the order of their columns.
    pub const ALL: [Self; 4] = [Self::Program, Self::Cache, Self::Directory, Self::Kernel];

    /// Name of the party in pictures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Cache => "CPU cache",
            Self::Directory => "directory",
            Self::Kernel => "kernel",
        }
    }

    /// Index of the party's column, from the left.
    #[must_use]
    pub fn column(self) -> usize {
        self as usize
    }
}

/// A message from one party to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time of departure.
    pub sent: Picoseconds,
    /// Time of arrival.
    pub arrived: Picoseconds,
    /// Sender of the message.
    pub from: Party,
    /// Receiver of the message.
    pub to: Party,
    /// Description: a message of the protocol, an operation, an access.
    pub what: String,
    /// Line that the message concerns.
    pub line: PlainLine,
    /// The message carries the data of the line.
    pub data: bool,
}

/// Recorded messages about some lines.
#[derive(Clone, Debug, Default)]
pub struct History {
    lines: Vec<(PlainLine, String)>,
    steps: Vec<Step>,
}

impl History {
    /// Creates an empty history that records these lines, under these names.
    #[must_use]
    pub fn of(lines: &[(PlainLine, &str)]) -> Self {
        Self {
            lines: lines
                .iter()
                .map(|(line, name)| (*line, (*name).to_owned()))
                .collect(),
            steps: Vec::new(),
        }
    }

    /// Whether the line is recorded.
    #[must_use]
    pub fn records(&self, line: PlainLine) -> bool {
        self.lines.iter().any(|(known, _)| *known == line)
    }

    /// Adds a step, if its line is recorded.
    pub fn add(&mut self, step: Step) {
        if self.records(step.line) {
            self.steps.push(step);
        }
    }

    /// The recorded lines and their names.
    #[must_use]
    pub fn lines(&self) -> &[(PlainLine, String)] {
        &self.lines
    }

    /// The recorded messages, in the order of departure.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = self.steps.clone();
        steps.sort_by_key(|step| (step.sent, step.arrived));
        steps
    }

    /// The name of a line.
    #[must_use]
    pub fn name(&self, line: PlainLine) -> &str {
        let found = self.lines.iter().find(|(known, _)| *known == line);
        found.map_or("?", |(_, name)| name)
    }

    /// Renders a picture: a column per party, time downwards, an arrow per message.
    #[must_use]
    pub fn to_svg(&self, title: &str) -> String {
        picture::svg(self, title)
    }

    /// Renders text: a line per message, times in nanoseconds from the first.
    #[must_use]
    pub fn to_text(&self) -> String {
        let steps = self.steps();
        let start = steps.first().map_or(Picoseconds::ZERO, |step| step.sent);
        let nanoseconds = |at: Picoseconds| (at - start).get() as f64 / 1000.0;
        let mut text = String::new();
        for step in &steps {
            text += &format!(
                "{:8.1} {:8.1}  {}  {:9} -> {:9}  {}{}\n",
                nanoseconds(step.sent),
                nanoseconds(step.arrived),
                self.name(step.line),
                step.from.name(),
                step.to.name(),
                step.what,
                if step.data { " +line" } else { "" },
            );
        }
        text
    }
}
