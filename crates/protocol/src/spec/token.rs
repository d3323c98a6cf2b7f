//! Tokens of a specification, line by line.

use super::diagnostic::{Fault, Span};

/// One word or sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind<'a>,
    pub span: Span,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Word(&'a str),
    Number(u32),
    Arrow,
    Colon,
    Comma,
}

impl Kind<'_> {
    /// Name of the token in messages.
    pub fn describe(self) -> String {
        match self {
            Kind::Word(word) => format!("`{word}`"),
            Kind::Number(number) => format!("`{number}`"),
            Kind::Arrow => "`->`".to_owned(),
            Kind::Colon => "`:`".to_owned(),
            Kind::Comma => "`,`".to_owned(),
        }
    }
}

/// Splits text into rules: one per line; a line that ends with a comma is continued.
pub(super) fn scan(text: &str) -> Result<Vec<Vec<Token<'_>>>, Fault> {
    let mut rules: Vec<Vec<Token<'_>>> = Vec::new();
    let mut open = false;
    for (index, line) in text.lines().enumerate() {
        let tokens = scan_line(index + 1, line)?;
        let Some(last) = tokens.last() else { continue };
        let continues = last.kind == Kind::Comma;
        match rules.last_mut() {
            Some(rule) if open => rule.extend(tokens),
            _ => rules.push(tokens),
        }
        open = continues;
    }
    Ok(rules)
}

fn scan_line(line: usize, text: &str) -> Result<Vec<Token<'_>>, Fault> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        if first == '#' {
            break;
        }
        let (kind, bytes) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if first.is_ascii_alphabetic() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let word = &rest[..end.unwrap_or(rest.len())];
            (Some(Kind::Word(word)), word.len())
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            let digits = &rest[..end.unwrap_or(rest.len())];
            let span = Span {
                line,
                column,
                length: digits.len(),
            };
            let number = digits
                .parse()
                .map_err(|_| Fault::new(span, "this number is too large"))?;
            (Some(Kind::Number(number)), digits.len())
        } else if rest.starts_with("->") {
            (Some(Kind::Arrow), 2)
        } else if first == ':' {
            (Some(Kind::Colon), 1)
        } else if first == ',' {
            (Some(Kind::Comma), 1)
        } else {
            let span = Span {
                line,
                column,
                length: 1,
            };
            return Err(Fault::new(
                span,
                format!("`{}` means nothing here", first.escape_debug()),
            )
            .help("rules are made of names, numbers, `->`, `:` and `,`; `#` starts a comment"));
        };
        let length = rest[..bytes].chars().count();
        if let Some(kind) = kind {
            tokens.push(Token {
                kind,
                span: Span {
                    line,
                    column,
                    length,
                },
            });
        }
        column += length;
        rest = &rest[bytes..];
    }
    Ok(tokens)
}
