//! Comma-separated values, strictly: RFC 4180, with any one-byte separator, and line ends with or
//! without a carriage return. What is wrong is reported with its line and column, which lenient readers
//! cannot: to them a quote that is never closed is a long cell.

use std::borrow::Cow;

/// An error in a file of data, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The message.
    pub message: String,
}

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row<'t> {
    /// The row's first line, from 1.
    pub line: usize,
    /// With the column in which each begins, in characters, from 1.
    pub cells: Vec<(usize, Cow<'t, str>)>,
}

/// The rows of a text; empty lines are none.
#[derive(Debug)]
pub struct Rows<'t> {
    rest: &'t str,
    separator: char,
    line: usize,
    column: usize,
    failed: bool,
    has_comments: bool,
}

impl<'t> Rows<'t> {
    /// `separator`: an ASCII character that is neither a quote nor a line end.
    pub fn new(text: &'t str, separator: char) -> Rows<'t> {
        Rows {
            rest: text.strip_prefix('\u{feff}').unwrap_or(text),
            separator,
            line: 1,
            column: 1,
            failed: false,
            has_comments: false,
        }
    }

    /// Lines that begin with `#` are skipped.
    pub fn commented(self) -> Rows<'t> {
        Rows { has_comments: true, ..self }
    }

    fn fault<T>(&self, message: &str) -> Result<T, Fault> {
        Err(Fault { line: self.line, column: self.column, message: message.to_owned() })
    }

    /// Takes this number of bytes, in which no line ends.
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.column += taken.chars().count();
        taken
    }

    /// Goes past a line end, if there is one here.
    fn end_line(&mut self) -> bool {
        let after = self.rest.strip_prefix("\r\n");
        let Some(rest) = after.or_else(|| self.rest.strip_prefix('\n')) else {
            return false;
        };
        self.rest = rest;
        self.line += 1;
        self.column = 1;
        true
    }

    fn row(&mut self) -> Result<Row<'t>, Fault> {
        let line = self.line;
        let mut cells = Vec::new();
        loop {
            let column = self.column;
            let cell = if self.rest.starts_with('"') {
                self.quoted()?
            } else {
                Cow::Borrowed(self.bare()?)
            };
            cells.push((column, cell));
            if self.rest.starts_with(self.separator) {
                self.take(1);
            } else if self.rest.is_empty() || self.end_line() {
                return Ok(Row { line, cells });
            } else {
                return self
                    .fault("the quotes must be followed by a separator or the end of the line");
            }
        }
    }

    fn bare(&mut self) -> Result<&'t str, Fault> {
        let end = self.rest.find([self.separator, '\n', '"']).unwrap_or(self.rest.len());
        let cell = self.take(end);
        if self.rest.starts_with('"') {
            return self.fault("a quote inside a cell that is not quoted");
        }
        // The line end's carriage return is not the cell's.
        match cell.strip_suffix('\r') {
            Some(cell) if self.rest.starts_with('\n') => Ok(cell),
            _ => Ok(cell),
        }
    }

    fn quoted(&mut self) -> Result<Cow<'t, str>, Fault> {
        let begin = (self.line, self.column);
        self.take(1);
        let mut cell = Cow::Borrowed("");
        loop {
            let Some(at) = self.rest.find(['"', '\n']) else {
                return Err(Fault {
                    line: begin.0,
                    column: begin.1,
                    message: "this quote is never closed".to_owned(),
                });
            };
            let piece = self.take(at);
            append(&mut cell, piece);
            if self.rest.starts_with("\"\"") {
                self.take(2);
                append(&mut cell, "\"");
            } else if self.rest.starts_with('"') {
                self.take(1);
                return Ok(cell);
            } else {
                self.end_line();
                append(&mut cell, "\n");
            }
        }
    }
}

fn append<'t>(cell: &mut Cow<'t, str>, piece: &'t str) {
    if cell.is_empty() {
        *cell = Cow::Borrowed(piece);
    } else {
        cell.to_mut().push_str(piece);
    }
}

impl<'t> Iterator for Rows<'t> {
    type Item = Result<Row<'t>, Fault>;

    fn next(&mut self) -> Option<Result<Row<'t>, Fault>> {
        loop {
            while self.end_line() {}
            if !self.has_comments || !self.rest.starts_with('#') {
                break;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end);
        }
        if self.rest.is_empty() || self.failed {
            return None;
        }
        let row = self.row();
        self.failed = row.is_err();
        Some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<Vec<String>> {
        let rows = Rows::new(text, ',').map(|row| row.expect("the text is sound"));
        rows.map(|row| row.cells.into_iter().map(|cell| cell.1.into_owned()).collect()).collect()
    }

    fn fault(text: &str) -> (usize, usize, String) {
        let fault = Rows::new(text, ',').find_map(Result::err).expect("a fault");
        (fault.line, fault.column, fault.message)
    }

    #[test]
    fn cells_are_bare_or_quoted() {
        assert_eq!(
            cells("\u{feff}a,b\r\n1,\"x, \"\"y\"\"\r\nz\"\n\n,\n"),
            [vec!["a", "b"], vec!["1", "x, \"y\"\r\nz"], vec!["", ""]]
        );
        assert_eq!(cells("a,b"), [["a", "b"]]);
        assert_eq!(cells(""), Vec::<Vec<String>>::new());
        let semicolon = Rows::new("a;b,c", ';').next().unwrap().unwrap();
        assert_eq!(semicolon.cells[1], (3, Cow::Borrowed("b,c")));
    }

    #[test]
    fn faults_have_places() {
        let diagnostics = |line, column, message: &str| (line, column, message.to_owned());
        assert_eq!(fault("a\n1,\"2\n3\n"), diagnostics(2, 3, "this quote is never closed"));
        assert_eq!(fault("ä,b\"c"), diagnostics(1, 4, "a quote inside a cell that is not quoted"));
        assert_eq!(
            fault("\"a\"b"),
            diagnostics(1, 4, "the quotes must be followed by a separator or the end of the line")
        );
    }
}
