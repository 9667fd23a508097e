//! Tables of text with aligned columns, and texts cut to one line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::grouped;

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For names and texts.
    Left,
    /// For numbers.
    Right,
}

/// Rows of cells. All rows are in memory until they are printed, because the widest cell of a
/// column sets the width of the column.
#[derive(Debug)]
pub struct Table {
    align: Vec<Align>,
    rows: Vec<Vec<String>>,
}

/// The blanks between two columns.
const GAP: &str = "  ";

impl Table {
    /// A table with these columns and no rows.
    pub fn new(align: &[Align]) -> Self {
        Self {
            align: align.to_vec(),
            rows: Vec::new(),
        }
    }

    /// A table of names, counts and remarks. A name that ends in ? is left out at 0.
    pub fn of_counts(counts: &[(&str, u64, &str)]) -> Self {
        let mut table = Self::new(&[Align::Left, Align::Right, Align::Left]);
        for (name, count, remark) in counts {
            if *count > 0 || !name.ends_with('?') {
                table.row([name.trim_end_matches('?'), &grouped(*count), remark]);
            }
        }
        table
    }

    /// Adds a row, which may have fewer cells than the table has columns.
    pub fn row<Cell: Into<String>>(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The lines of the table, without trailing blanks.
    pub fn lines(&self) -> impl Iterator<Item = String> + '_ {
        let mut widths = vec![0; self.align.len()];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width());
            }
        }
        self.rows.iter().map(move |row| {
            let mut line = String::new();
            for ((cell, width), align) in row.iter().zip(&widths).zip(&self.align) {
                if !line.is_empty() {
                    line.push_str(GAP);
                }
                let blanks = " ".repeat(width - cell.width());
                match align {
                    Align::Left => line.extend([cell.as_str(), &blanks]),
                    Align::Right => line.extend([blanks.as_str(), cell]),
                }
            }
            line.truncate(line.trim_end().len());
            line
        })
    }
}

/// The width of a line without a terminal, in columns.
const DEFAULT_COLUMNS: usize = 100;

/// The number of columns of standard output.
pub fn columns() -> usize {
    terminal_columns().unwrap_or(DEFAULT_COLUMNS)
}

/// The number of columns of the terminal; `None` if standard output is no terminal.
fn terminal_columns() -> Option<usize> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(width, _)| usize::from(width.0))
}

/// A text on one line behind `head`: cut to the width of the terminal, or whole without a terminal.
pub fn behind(head: &str, text: &str) -> String {
    // A line of a narrow terminal still shows the start of a text.
    let left = terminal_columns().map(|columns| columns.saturating_sub(head.len()).max(20));
    one_line(text, left.unwrap_or(usize::MAX))
}

/// At most 4 characters for each column of a line. Combining accents take no column, and a text may
/// have millions of accents on one letter.
const CHARACTERS_PER_COLUMN: usize = 4;

/// A text on one line of at most `columns` columns: runs of white space and control characters
/// become one blank, and an ellipsis replaces the rest.
pub fn one_line(text: &str, columns: usize) -> String {
    let most_characters = columns.saturating_mul(CHARACTERS_PER_COLUMN);
    let mut line = String::new();
    let (mut used, mut characters) = (0, 0);
    let mut blank = false;
    // The length of the line before the ellipsis, if there must be one.
    let mut cut = None;
    for c in text.trim().chars() {
        if is_unshown(c) {
            blank = true;
            continue;
        }
        let width = c.width().unwrap_or(0) + usize::from(blank);
        characters += 1 + usize::from(blank);
        // One column is kept for the ellipsis.
        if used + width >= columns && cut.is_none() {
            cut = Some(line.len());
        }
        if used + width > columns || characters > most_characters {
            line.truncate(cut.unwrap_or(line.len()));
            line.push('…');
            return line;
        }
        if blank {
            line.push(' ');
            blank = false;
        }
        line.push(c);
        used += width;
    }
    line
}

/// Returns `true` for white space, and for characters that move the cursor of a terminal or reverse
/// the direction of text.
fn is_unshown(c: char) -> bool {
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_whitespace() || c.is_control() || turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_for_wide_characters() {
        let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
        table.row(["名言", "7", "last"]);
        table.row(["a", "1,000", ""]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines, ["名言      7  last", "a     1,000"]);
    }

    #[test]
    fn long_text_is_cut_to_one_line() {
        assert_eq!(one_line(" a\n\tb  c ", 10), "a b c");
        assert_eq!(one_line("abcdefghij", 10), "abcdefghij");
        assert_eq!(one_line("abcdefghijk", 10), "abcdefghi…");
        assert_eq!(one_line("一二三四五六", 10), "一二三四…");
        assert_eq!(one_line("a\u{1b}[31mred", 20), "a [31mred");
        assert_eq!(one_line("a\u{202e}b", 20), "a b");
        assert_eq!(one_line("", 10), "");
    }

    #[test]
    fn combining_accents_do_not_lengthen_a_line() {
        let accents = "\u{301}".repeat(1_000_000);
        for text in [
            format!("a{accents}"),
            format!("abcdefghij{accents}"),
            format!("abcdefghi{accents}j"),
            format!("{}{accents}", " ".repeat(1_000_000)),
        ] {
            let line = one_line(&text, 10);
            assert!(line.chars().count() <= 4 * 10 + 1);
            assert!(line.width() <= 10 && line.ends_with('…'), "{line}");
        }
        // A few accents do not cut the line.
        assert_eq!(one_line("abcdefghij\u{301}", 10), "abcdefghij\u{301}");
    }
}
