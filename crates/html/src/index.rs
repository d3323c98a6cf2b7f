//! Several studies on one page: a verdict for each paper and figure, with links to their pages.

use crate::document;
use crate::text::Text;
use crate::Verdict;
use std::fmt::{self, Display, Formatter};

/// A figure on the index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexFigure {
    /// Anchor on the paper's page.
    pub id: String,
    /// The paper's number for it, and its subject.
    pub title: String,
    /// Verdict of the paper's page.
    pub verdict: Verdict,
    /// Reproduced values, of those that are counted.
    pub values: String,
    /// Reason for the verdict.
    pub because: String,
}

/// A published value that is not reproduced.
#[derive(Clone, Debug, PartialEq)]
pub struct Miss {
    /// Name of the value.
    pub what: String,
    /// The published value.
    pub paper: String,
    /// Our value.
    pub ours: String,
    /// Ours over the paper's.
    pub ratio: String,
    /// Reason for the deviation, as far as it is known.
    pub why: String,
}

/// A paper on the index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexPaper {
    /// Anchor on the index: `fsrf`.
    pub id: String,
    /// Name of the paper.
    pub title: String,
    /// Its page, relative to the index.
    pub page: String,
    /// Verdict over all its values and rankings.
    pub verdict: Verdict,
    /// Reason for the verdict: counts of values and rankings.
    pub because: String,
    /// Figures in the order of the paper.
    pub figures: Vec<IndexFigure>,
    /// Values that are not reproduced.
    pub misses: Vec<Miss>,
    /// Work that failed.
    pub failures: Vec<String>,
}

/// The index; write it with [`Display`].
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Subject of the pages.
    pub title: String,
    /// Command that makes the pages.
    pub command: String,
    /// Date, commit, and time taken.
    pub made: Vec<String>,
    /// Papers, in the order of their pages.
    pub papers: Vec<IndexPaper>,
}

impl Index {
    /// One line per paper, for a terminal.
    pub fn verdicts(&self) -> String {
        let line = |paper: &IndexPaper| {
            let failed = match paper.failures.len() {
                0 => String::new(),
                failed => format!("; {failed} failed"),
            };
            let (title, verdict, because) = (&paper.title, paper.verdict, &paper.because);
            format!("{title:<12}{verdict:<26}{because}{failed}\n")
        };
        self.papers.iter().map(line).collect()
    }
}

impl Display for Index {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        document::head(&self.title, f)?;
        f.write_str("<div class=table><table><thead><tr><th>paper<th>verdict<th></thead><tbody>")?;
        for paper in &self.papers {
            write!(
                f,
                "<tr><th><a href=\"#{}\">{}</a><td class={}>{}<td class=why>{}",
                Text(&paper.id),
                Text(&paper.title),
                paper.verdict.class(),
                paper.verdict,
                Text(&paper.because)
            )?;
        }
        write!(
            f,
            "</tbody></table></div><p class=note>Made by <code>{}</code>, {}. Times are virtual: the same on every \
             machine.</p></header>\n<main>\n",
            Text(&self.command),
            Text(self.made.join(", "))
        )?;
        for paper in &self.papers {
            paper.write(f)?;
        }
        f.write_str("\n</main>\n</body>\n</html>\n")
    }
}

impl IndexPaper {
    fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "<section id={}><h2><a href=\"{}\">{}</a></h2><p class=\"verdict {}\"><b>{}</b>: {}</p>",
            Text(&self.id),
            Text(&self.page),
            Text(&self.title),
            self.verdict.class(),
            self.verdict,
            Text(&self.because)
        )?;
        for failure in &self.failures {
            write!(f, "<p class=failure>failed: {}</p>", Text(failure))?;
        }
        f.write_str(
            "<div class=table><table><thead><tr><th>figure<th>verdict<th>values<th></thead><tbody>",
        )?;
        for figure in &self.figures {
            write!(
                f,
                "<tr><th><a href=\"{}#{}\">{}</a><td class={}>{}<td>{}<td class=why>{}",
                Text(&self.page),
                Text(&figure.id),
                Text(&figure.title),
                figure.verdict.class(),
                figure.verdict,
                Text(&figure.values),
                Text(&figure.because)
            )?;
        }
        f.write_str("</tbody></table></div>")?;
        if !self.misses.is_empty() {
            write!(
                f,
                "<details><summary>{} values are not reproduced</summary><div class=table><table><thead><tr>\
                 <th>value<th>paper<th>ours<th>ratio<th>why</thead><tbody>",
                self.misses.len()
            )?;
            for miss in &self.misses {
                write!(f, "<tr><th>{}", Text(&miss.what))?;
                for cell in [&miss.paper, &miss.ours, &miss.ratio] {
                    write!(f, "<td>{}", Text(cell))?;
                }
                write!(f, "<td class=why>{}", Text(&miss.why))?;
            }
            f.write_str("</tbody></table></div></details>")?;
        }
        f.write_str("</section>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_and_figures_are_linked_and_names_are_only_text() {
        let index = Index {
            title: "all".to_owned(),
            command: "tombolo lab all".to_owned(),
            made: vec!["commit <b>".to_owned(), "3 min".to_owned()],
            papers: vec![IndexPaper {
                id: "fsrf".to_owned(),
                title: "FSRF".to_owned(),
                page: "fsrf.html".to_owned(),
                verdict: Verdict::of(1, 2),
                because: "1 of 2 values".to_owned(),
                figures: vec![IndexFigure {
                    id: "figure5".to_owned(),
                    title: "Figure 5: a < b".to_owned(),
                    verdict: Verdict::of(1, 2),
                    values: "1 of 2".to_owned(),
                    because: "so".to_owned(),
                }],
                misses: vec![Miss {
                    what: "rng".to_owned(),
                    paper: "2".to_owned(),
                    ours: "1".to_owned(),
                    ratio: "0.50".to_owned(),
                    why: "a < b".to_owned(),
                }],
                failures: vec!["a cell: killed".to_owned()],
            }],
        };
        let page = index.to_string();
        assert!(page.contains("href=\"fsrf.html#figure5\">Figure 5: a &lt; b</a>"));
        assert!(page.contains("commit &lt;b&gt;, 3 min"), "{page}");
        assert!(page.contains("1 values are not reproduced") && page.contains("failed: a cell"));
        let line = "FSRF        partly as published       1 of 2 values; 1 failed\n";
        assert_eq!(index.verdicts(), line);
    }
}
