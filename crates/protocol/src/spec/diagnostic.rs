//! Errors that point at a line and a word.

use std::fmt;

/// Position of a word in a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// Length in characters.
    pub length: usize,
}

/// A fault of a word, before the file's name is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Position of the word.
    pub span: Span,
    /// The rule it broke.
    pub message: String,
    /// Suggested remedy.
    pub help: Option<String>,
}

impl Fault {
    /// A fault without a remedy.
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: None,
        }
    }

    /// The same fault with a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A specification that breaks a rule of the language, shown with the line and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// Name of the file as the caller gave it.
    pub file: String,
    /// The line's text.
    pub line_text: String,
    /// Broken rule and its position.
    pub fault: Fault,
}

impl SpecError {
    pub(super) fn new(file: &str, text: &str, fault: Fault) -> Self {
        let line_text = text
            .lines()
            .nth(fault.span.line.saturating_sub(1))
            .unwrap_or("");
        Self {
            file: file.to_owned(),
            line_text: line_text.to_owned(),
            fault,
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span {
            line,
            column,
            length,
        } = self.fault.span;
        writeln!(f, "{}:{line}:{column}: {}", self.file, self.fault.message)?;
        let shown: String = self.line_text.replace('\t', " ");
        writeln!(f, "{line:>5} | {shown}")?;
        let (space, caret) = (
            " ".repeat(column.saturating_sub(1)),
            "^".repeat(length.max(1)),
        );
        write!(f, "      | {space}{caret}")?;
        if let Some(help) = &self.fault.help {
            write!(f, "\n      = {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecError {}
