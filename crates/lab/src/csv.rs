//! Comma-separated values (RFC 4180).

use std::borrow::Cow;

/// One line of cells. A cell with a comma, a quote or a line break is quoted.
pub(crate) fn line<Cell: AsRef<str>>(cells: impl IntoIterator<Item = Cell>) -> String {
    let mut line = String::new();
    for (number, cell) in cells.into_iter().enumerate() {
        if number > 0 {
            line.push(',');
        }
        line.push_str(&quoted(cell.as_ref()));
    }
    line.push('\n');
    line
}

fn quoted(cell: &str) -> Cow<'_, str> {
    match cell.contains([',', '"', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", cell.replace('"', "\"\""))),
        false => Cow::Borrowed(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cells_that_need_quotes_have_them() {
        let cells = ["a b", "", "1,5", "the \"best\"", "two\nlines"];
        assert_eq!(
            line(cells),
            "a b,,\"1,5\",\"the \"\"best\"\"\",\"two\nlines\"\n"
        );
    }
}
