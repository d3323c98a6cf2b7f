//! An experiment of a paper as one page: each figure with its verdict, a picture, and its values.

use crate::document;
use crate::text::Text;
use std::fmt::{self, Display, Formatter};

/// Result of a figure compared with the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All statements of the paper about it hold here.
    AsPublished,
    /// Some of them hold.
    PartlyAsPublished,
    /// None of them hold.
    Otherwise,
    /// The paper makes no statement that could be compared.
    Shown,
    /// It was skipped, or failed.
    NotMeasured,
}

impl Verdict {
    /// The verdict if `holds` of `of` statements hold.
    pub fn of(holds: usize, of: usize) -> Self {
        match holds {
            _ if of == 0 => Self::Shown,
            holds if holds == of => Self::AsPublished,
            0 => Self::Otherwise,
            _ => Self::PartlyAsPublished,
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::AsPublished => "as-published",
            Self::PartlyAsPublished => "partly",
            Self::Otherwise => "otherwise",
            Self::Shown | Self::NotMeasured => "shown",
        }
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AsPublished => "as published",
            Self::PartlyAsPublished => "partly as published",
            Self::Otherwise => "otherwise than published",
            Self::Shown => "shown",
            Self::NotMeasured => "not measured",
        })
    }
}

/// A figure or a table of the paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Anchor for links: `figure7`.
    pub id: String,
    /// The paper's number for it, and its subject.
    pub title: String,
    /// The result of the comparison.
    pub verdict: Verdict,
    /// Reason for the verdict.
    pub because: String,
    /// Pictures, as safe SVG.
    pub pictures: Vec<String>,
    /// Names of columns; the first one is that of the row names.
    pub head: Vec<String>,
    /// Rows of the table.
    pub rows: Vec<Vec<String>>,
    /// Remarks below the table.
    pub notes: Vec<String>,
}

/// A page; write it with [`Display`].
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Subject of the comparison.
    pub title: String,
    /// Command that reproduces this page.
    pub command: String,
    /// Why figures may differ although the model is correct.
    pub known_differences: Vec<String>,
    /// Sections in the order of the paper.
    pub sections: Vec<Section>,
}

impl Study {
    /// One line per measured figure, for a terminal.
    pub fn verdicts(&self) -> String {
        let line = |section: &Section| {
            let name = section.title.split(':').next().unwrap_or_default();
            format!("{name:<12}{:<26}{}\n", section.verdict, section.because)
        };
        let measured = self.sections.iter().filter(|section| section.is_measured());
        measured.map(line).collect()
    }
}

impl Display for Study {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        document::head(&self.title, f)?;
        f.write_str("<div class=table><table><thead><tr><th>figure<th>verdict<th></thead><tbody>")?;
        for section in &self.sections {
            write!(
                f,
                "<tr><th><a href=\"#{}\">{}</a><td class={}>{}<td class=why>{}",
                section.id,
                Text(&section.title),
                section.verdict.class(),
                section.verdict,
                Text(&section.because)
            )?;
        }
        write!(
            f,
            "</tbody></table></div><p class=note>Made by <code>{}</code>. Times are virtual: the same on every \
             machine.</p></header>\n<main>\n",
            Text(&self.command)
        )?;
        if !self.known_differences.is_empty() {
            f.write_str("<section id=known><h2>Known to differ</h2><ul>")?;
            for difference in &self.known_differences {
                write!(f, "<li>{}", Text(difference))?;
            }
            f.write_str("</ul></section>")?;
        }
        for section in &self.sections {
            section.write(f)?;
        }
        f.write_str("\n</main>\n</body>\n</html>\n")
    }
}

impl Section {
    /// Whether there are results.
    pub fn is_measured(&self) -> bool {
        self.verdict != Verdict::NotMeasured
    }

    /// Title, values and verdict, for a terminal.
    pub fn text(&self) -> String {
        let columns = self.head.len();
        let lines = || std::iter::once(&self.head).chain(&self.rows);
        let width = |column: usize| {
            let cells = lines().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = format!("{}\n", self.title);
        for row in lines() {
            let mut line = String::new();
            for (cell, &width) in row.iter().zip(&widths) {
                line += &match line.is_empty() {
                    true => format!("  {cell:<width$}"),
                    false => format!("  {cell:>width$}"),
                };
            }
            text += line.trim_end();
            text.push('\n');
        }
        text + &format!("  {}: {}\n", self.verdict, self.because)
    }

    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "<section id={}><h2>{}</h2><p class=\"verdict {}\"><b>{}</b>: {}</p>",
            self.id,
            Text(&self.title),
            self.verdict.class(),
            self.verdict,
            Text(&self.because)
        )?;
        for picture in &self.pictures {
            write!(f, "<figure class=chart>{picture}</figure>")?;
        }
        if !self.rows.is_empty() {
            f.write_str("<div class=table><table><thead><tr>")?;
            for cell in &self.head {
                write!(f, "<th>{}", Text(cell))?;
            }
            f.write_str("</thead><tbody>")?;
            for row in &self.rows {
                for (place, cell) in row.iter().enumerate() {
                    let tag = if place == 0 { "<tr><th>" } else { "<td>" };
                    write!(f, "{tag}{}", Text(cell))?;
                }
            }
            f.write_str("</tbody></table></div>")?;
        }
        for note in &self.notes {
            write!(f, "<p class=note>{}</p>", Text(note))?;
        }
        f.write_str("</section>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn study() -> Study {
        Study {
            title: "a <paper>".to_owned(),
            command: "tombolo lab a".to_owned(),
            known_differences: vec!["one & another".to_owned()],
            sections: vec![Section {
                id: "figure1".into(),
                title: "Figure 1: time".to_owned(),
                verdict: Verdict::of(1, 2),
                because: "1 of 2 values".to_owned(),
                pictures: vec![picture::Chart::lines("t", "s").to_string()],
                head: vec!["pages".to_owned(), "ours".to_owned()],
                rows: vec![vec!["2m".to_owned(), "<1>".to_owned()]],
                notes: Vec::new(),
            }],
        }
    }

    #[test]
    fn a_verdict_a_figure_and_what_is_said_is_only_text() {
        let page = study().to_string();
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
        assert!(page.contains("a &lt;paper&gt;") && page.contains("<td>&lt;1&gt;"));
        assert!(
            page.contains("<b>partly as published</b>: 1 of 2 values"),
            "{page}"
        );
        assert_eq!(page.matches("<svg").count(), 1);
        // It loads nothing; the namespace is only a name.
        let fetched = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!fetched.contains("http:"), "{fetched}");
        assert!(!fetched.contains("https:"), "{fetched}");
        let line = "Figure 1    partly as published       1 of 2 values\n";
        assert_eq!(study().verdicts(), line);
    }

    #[test]
    fn a_section_is_a_table_for_a_terminal_too() {
        let text = study().sections[0].text();
        let wanted =
            "Figure 1: time\n  pages  ours\n  2m      <1>\n  partly as published: 1 of 2 values\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn all_some_and_none() {
        assert_eq!(Verdict::of(2, 2), Verdict::AsPublished);
        assert_eq!(Verdict::of(0, 2), Verdict::Otherwise);
        assert_eq!(Verdict::of(0, 0), Verdict::Shown);
    }
}
