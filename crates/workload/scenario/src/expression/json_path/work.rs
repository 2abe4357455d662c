//! The work of a search by JSONPath, from its text.
//!
//! A search looks at each value of the document once, and evaluates each filter for each value that it comes to. A
//! path from the root inside of a filter walks through the whole document for each of them, so each such path in
//! another multiplies the work by the document's size, which the target chooses.

/// The cost of compiling a regular expression, in values that could be looked at meanwhile: `match` and `search`
/// compile theirs for each value.
const PATTERN_VISITS: f64 = 2_000.0;
/// Functions whose second argument is a regular expression.
const PATTERN_FUNCTIONS: [&[u8]; 2] = [b"match", b"search"];

/// Work by powers of the document's size: the first number times the size, the second times its square, and so on.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Work(pub(super) Vec<f64>);

impl Work {
    fn add(&mut self, other: &Work) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0.0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own += other);
    }

    /// The work for each value of the document.
    fn for_each_value(mut self) -> Work {
        self.0.insert(0, 0.0);
        self
    }

    fn times(mut self, factor: f64) -> Work {
        self.0.iter_mut().for_each(|own| *own *= factor);
        self
    }
}

/// A path that was read.
#[derive(Debug, Default)]
pub(super) struct ReadPath {
    pub(super) work: Work,
    /// Regular expressions in it, in their quotes.
    pub(super) patterns: Vec<String>,
    /// A regular expression is computed, or stands in the document.
    pub(super) computes_pattern: bool,
}

/// Reads a path, which is JSONPath.
pub(super) fn read(path: &str) -> ReadPath {
    let mut reader = Reader {
        text: path.as_bytes(),
        at: 1,
        descends: path.contains(".."),
        found: ReadPath::default(),
    };
    let query = reader.query();
    let work = reader.work_of(&query);
    ReadPath { work, ..reader.found }
}

/// The part of a path behind a `$` or an `@`.
struct Query {
    /// True if it names one place at most.
    is_singular: bool,
    segments: usize,
    /// How often one place can be named: by several selectors in one pair of brackets.
    times: f64,
    /// The work of all filters for one value.
    filters: Work,
}

/// An open parenthesis.
#[derive(Clone, Copy)]
struct Parenthesis {
    is_call: bool,
    takes_pattern: bool,
    commas: usize,
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// The path searches all levels, so that one value is inside of several others that are looked at.
    descends: bool,
    found: ReadPath,
}

impl Reader<'_> {
    fn work_of(&self, query: &Query) -> Work {
        let levels = if self.descends { query.segments.max(1) } else { 1 };
        let mut work = Work(vec![1.0]);
        work.add(&query.filters);
        work.times(query.times * levels as f64)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip(&mut self, is_skipped: impl Fn(u8) -> bool) {
        while self.peek().is_some_and(&is_skipped) {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        self.skip(|byte| byte.is_ascii_whitespace());
    }

    /// Skips a text with its quotes, and returns it.
    fn quoted(&mut self, quote: u8) -> &str {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.at += 1,
                byte if byte == quote => break,
                _ => {}
            }
        }
        let end = self.at.min(self.text.len());
        std::str::from_utf8(&self.text[start..end]).unwrap_or_default()
    }

    fn query(&mut self) -> Query {
        let mut query =
            Query { is_singular: true, segments: 0, times: 1.0, filters: Work::default() };
        loop {
            let end = self.at;
            self.blanks();
            match self.peek() {
                Some(b'.') => self.dotted(&mut query),
                Some(b'[') => self.selectors(&mut query),
                _ => {
                    self.at = end;
                    return query;
                }
            }
            query.segments += 1;
        }
    }

    fn dotted(&mut self, query: &mut Query) {
        self.at += 1;
        if self.peek() == Some(b'.') {
            self.at += 1;
            query.is_singular = false;
        }
        match self.peek() {
            Some(b'[') => self.selectors(query),
            Some(b'*') => {
                self.at += 1;
                query.is_singular = false;
            }
            _ => self.skip(is_of_name),
        }
    }

    /// Reads the selectors in a pair of brackets.
    fn selectors(&mut self, query: &mut Query) {
        self.at += 1;
        let mut count = 0;
        loop {
            self.blanks();
            match self.peek() {
                None => break,
                Some(b']') => {
                    self.at += 1;
                    break;
                }
                Some(b',') => {
                    self.at += 1;
                    continue;
                }
                Some(quote @ (b'\'' | b'"')) => {
                    self.quoted(quote);
                }
                Some(b'?') => {
                    self.at += 1;
                    query.is_singular = false;
                    let filter = self.filter();
                    query.filters.add(&filter);
                }
                Some(_) => {
                    let start = self.at;
                    self.skip(|byte| !matches!(byte, b',' | b']'));
                    let selector = &self.text[start..self.at];
                    query.is_singular &= !selector.iter().any(|byte| matches!(byte, b'*' | b':'));
                }
            }
            count += 1;
        }
        query.is_singular &= count == 1;
        query.times *= f64::from(count.max(1));
    }

    /// A filter behind its question mark: its work for one value.
    fn filter(&mut self) -> Work {
        let mut work = Work::default();
        let mut open: Vec<Parenthesis> = Vec::new();
        let text = self.text;
        let mut name = &text[..0];
        while let Some(byte) = self.peek() {
            let before = std::mem::take(&mut name);
            let is_pattern = open.last().is_some_and(|call| call.takes_pattern && call.commas == 1);
            match byte {
                b']' | b',' if open.is_empty() => break,
                b',' => {
                    if let Some(call) = open.last_mut() {
                        call.commas += 1;
                    }
                    self.at += 1;
                }
                b'(' => {
                    let takes_pattern = PATTERN_FUNCTIONS.contains(&before);
                    if takes_pattern {
                        work.add(&Work(vec![PATTERN_VISITS]));
                    }
                    let is_call = !before.is_empty();
                    self.found.computes_pattern |= is_pattern && is_call;
                    open.push(Parenthesis { is_call, takes_pattern, commas: 0 });
                    self.at += 1;
                }
                b')' => {
                    open.pop();
                    self.at += 1;
                }
                b'\'' | b'"' => {
                    let literal = self.quoted(byte).to_owned();
                    if is_pattern {
                        self.found.patterns.push(literal);
                    }
                }
                b'$' | b'@' => {
                    self.at += 1;
                    self.found.computes_pattern |= is_pattern;
                    let query = self.query();
                    let own = self.work_of(&query);
                    // A function reads the whole text of the one place, too.
                    let is_one = query.is_singular && !open.iter().any(|call| call.is_call);
                    work.add(&if byte == b'$' && !is_one { own.for_each_value() } else { own });
                }
                byte if is_of_name(byte) => {
                    let start = self.at;
                    self.skip(is_of_name);
                    name = &text[start..self.at];
                }
                _ => self.at += 1,
            }
        }
        work
    }
}

/// Whether a byte may stand in a name without quotes (RFC 9535 §2.5.1.1).
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_from_the_root_in_filters_multiply_the_work() {
        for (path, expected) in [
            ("$.items[*].id", &[1.0][..]),
            ("$..id", &[1.0]),
            ("$..a[?@.b]", &[4.0]),
            ("$['a','b'][0,1].c", &[4.0]),
            ("$.a[?@.b == 1 && @.c['d'][0] != 'x[$.*]']", &[3.0]),
            ("$.a[?(@.b == $.c.d)].e", &[3.0]),
            ("$[?@.a[?@.b]]", &[3.0]),
            ("$[?$.a[*]]", &[1.0, 1.0]),
            ("$[?$[?@.id > 3]]", &[1.0, 2.0]),
            ("$[?$[?$[?$[?@.id > 3]]]]", &[1.0, 1.0, 1.0, 2.0]),
            ("$[?count($.a) > 1]", &[1.0, 1.0]),
            ("$[?length(@.a) > length($.b)]", &[2.0, 1.0]),
            ("$[?match(@.a, 'x')]", &[2.0 + PATTERN_VISITS]),
            ("$[?@['a]'] == 1, ?@.b]", &[6.0]),
        ] {
            assert_eq!(read(path).work.0, expected, "{path}");
        }
    }

    #[test]
    fn patterns_are_found() {
        let read_path = read("$[?match(@.a, 'x,\\'y') || search(@['b'], \"z(\")]");
        assert_eq!(read_path.patterns, ["'x,\\'y'", "\"z(\""]);
        assert!(!read_path.computes_pattern);
        for path in ["$[?match(@.a, $.b)]", "$[?search('x', @.b)]", "$[?match(@.a, value(@.b))]"] {
            assert!(read(path).computes_pattern, "{path}");
        }
        assert!(!read("$[?match($.a, 'b')]").computes_pattern);
    }
}
