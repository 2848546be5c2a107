//! Tables as text for a terminal and as CSV for other programs.

use unicode_width::UnicodeWidthStr;

/// What stands for a value that is missing.
const DASH: &str = "–";

/// One cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A number; NaN is the same as missing.
    Number(f64),
    /// An integer.
    Integer(i64),
    /// Text.
    Text(String),
    /// No value.
    Missing,
}

/// Named columns and rows of cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    headers: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

impl Cell {
    fn to_text(&self, digits: usize) -> String {
        match self {
            Self::Number(value) => {
                // A number that is short by itself, such as a parameter, is left alone.
                let short = shortest(*value);
                if short.len() <= digits && !short.contains('e') && value.is_finite() {
                    short
                } else {
                    significant(*value, digits)
                }
            }
            Self::Integer(value) => value.to_string(),
            // A line break would tear the row apart.
            Self::Text(text) => text.replace(['\n', '\r', '\t'], " "),
            Self::Missing => DASH.to_owned(),
        }
    }

    fn to_csv(&self) -> String {
        match self {
            Self::Number(value) if value.is_nan() => String::new(),
            Self::Number(value) => shortest(*value),
            Self::Integer(value) => value.to_string(),
            Self::Text(text) => quoted(text),
            Self::Missing => String::new(),
        }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl Table {
    /// A table without rows.
    pub fn new<H: Into<String>>(headers: impl IntoIterator<Item = H>) -> Self {
        Self { headers: headers.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If the row has not one cell for every header.
    pub fn push(&mut self, row: Vec<Cell>) {
        assert_eq!(row.len(), self.headers.len(), "a row must have a cell for every column");
        self.rows.push(row);
    }

    /// The names of the columns.
    pub fn headers(&self) -> &[String] {
        &self.headers
    }

    /// The rows.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The table for a terminal: a line of headers, a rule, and the rows in
    /// aligned columns, every line ended. Numbers have `digits` significant
    /// digits, or fewer where these are all, in scientific notation below 10⁻⁴ and from 10⁷ on; the digits
    /// before the point are always all there.
    pub fn to_text(&self, digits: usize) -> String {
        let cells: Vec<Vec<String>> = self
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.to_text(digits)).collect())
            .collect();
        let widths: Vec<usize> = (0..self.headers.len())
            .map(|column| {
                let inside = cells.iter().map(|row| row[column].width());
                inside.chain([self.headers[column].width()]).max().unwrap_or(0)
            })
            .collect();
        let worded: Vec<bool> = (0..self.headers.len())
            .map(|column| self.rows.iter().any(|row| matches!(row[column], Cell::Text(_))))
            .collect();
        let mut text = String::new();
        let mut put = |parts: Vec<String>| {
            text.push_str(parts.join("  ").trim_end());
            text.push('\n');
        };
        let pad = |content: &str, column: usize, left: bool| {
            let space = " ".repeat(widths[column] - content.width());
            if left { format!("{content}{space}") } else { format!("{space}{content}") }
        };
        put(self.headers.iter().enumerate().map(|(c, header)| pad(header, c, worded[c])).collect());
        put(widths.iter().map(|&width| "─".repeat(width)).collect());
        for (row, shown) in self.rows.iter().zip(&cells) {
            let aligned = row.iter().zip(shown).enumerate().map(|(column, (cell, content))| {
                let left = match cell {
                    Cell::Text(_) => true,
                    Cell::Missing => worded[column],
                    Cell::Number(_) | Cell::Integer(_) => false,
                };
                pad(content, column, left)
            });
            put(aligned.collect());
        }
        text
    }

    /// The table as CSV, quoted as RFC 4180 says but with plain line ends, which
    /// every reader and the tools of a shell understand: numbers with the
    /// fewest digits that read back as the same number, missing ones empty.
    pub fn to_csv(&self) -> String {
        let headers =
            self.headers.iter().map(|header| quoted(header)).collect::<Vec<_>>().join(",");
        let rows =
            self.rows.iter().map(|row| row.iter().map(Cell::to_csv).collect::<Vec<_>>().join(","));
        [headers].into_iter().chain(rows).map(|line| line + "\n").collect()
    }
}

/// A field of CSV, in quotes if it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// The shortest decimal that reads back as the same number.
fn shortest(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) || !value.is_finite() {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

fn significant(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return DASH.to_owned();
    }
    if value == 0.0 || value.is_infinite() {
        return format!("{}", value + 0.0);
    }
    let digits = digits.clamp(1, 17);
    let scientific = format!("{value:.*e}", digits - 1);
    // The exponent after rounding: 9.9999 to three digits is 10.
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if (-4..7).contains(&exponent) {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        format!("{value:.decimals$}")
    } else {
        scientific
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_significant_digits() {
        let cases = [
            (0.5, "0.5000"),
            (-1.23456, "-1.235"),
            (9.99999, "10.00"),
            (123456.7, "123457"),
            (9_999_999.9, "1.000e7"),
            (1e-4, "0.0001000"),
            (9.9e-5, "9.900e-5"),
            (0.0, "0"),
            (-0.0, "0"),
            (f64::NAN, "–"),
            (f64::NEG_INFINITY, "-inf"),
        ];
        for (value, wanted) in cases {
            assert_eq!(significant(value, 4), wanted);
        }
    }

    #[test]
    fn text_is_aligned() {
        let mut table = Table::new(["ε_1", "name", "n"]);
        table.push(vec![0.25.into(), "alpha".into(), Cell::Integer(12345)]);
        table.push(vec![Cell::Number(f64::NAN), Cell::Missing, 7.into()]);
        let wanted =
            "  ε_1  name       n\n─────  ─────  ─────\n0.250  alpha  12345\n    –  –          7\n";
        assert_eq!(table.to_text(3), wanted);
    }

    #[test]
    fn csv_is_quoted_where_needed() {
        let mut table = Table::new(["a,b", "c"]);
        table.push(vec!["say \"x\"".into(), "two\nlines".into()]);
        table.push(vec![Cell::Missing, Cell::Number(f64::NAN)]);
        assert_eq!(table.to_csv(), "\"a,b\",c\n\"say \"\"x\"\"\",\"two\nlines\"\n,\n");
    }

    #[test]
    fn csv_numbers_read_back_as_they_were() {
        for value in [0.1 + 0.2, 1e-300, -2.5e17, f64::MAX, 5e-324, 1.0 / 3.0, f64::INFINITY] {
            let text = Cell::Number(value).to_csv();
            assert_eq!(text.parse::<f64>().unwrap(), value, "{text}");
            assert!(text.len() < 26, "{text}");
        }
    }

    #[test]
    #[should_panic(expected = "a cell for every column")]
    fn short_rows_are_refused() {
        Table::new(["a", "b"]).push(vec![Cell::Missing]);
    }
}
