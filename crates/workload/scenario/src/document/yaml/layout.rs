//! Probable mistakes in the layout of a text that is not YAML: the indentation of lines, blanks and
//! colons that are missing, text that needs quotes.
//!
//! The parser says where it stopped and what it expected; the mistake is often in the line before.

/// Advice on what to write instead, as far as the text shows it. `at`: the byte at which the parser
/// stopped, `info`: its message.
pub(super) fn hint(text: &str, at: usize, info: &str) -> Option<String> {
    let lines = Lines::new(text);
    let here = lines.number(at);
    if let Some(hint) = lines.tab(here) {
        return Some(hint);
    }
    if info.starts_with("mapping values are not allowed") {
        return lines.second_colon(here, at).or_else(|| lines.key_after_text(here));
    }
    if info.contains("flow ") {
        return flow(&lines, at);
    }
    if info.contains("quoted scalar") && !info.contains("trailing content") {
        let line = here + 1;
        return Some(format!("the quote in line {line} is not closed"));
    }
    if info.contains("anchor") || info.contains("unexpected character") {
        let sign = text[at..].chars().next().filter(|c| !c.is_whitespace())?;
        return Some(format!("quote text that begins with {sign}"));
    }
    if lines.before(here, at).trim().is_empty() {
        return lines.column(here, info);
    }
    let before = lines.before(here, at).trim_end();
    if before.ends_with(['}', ']', '"', '\'']) {
        return Some("quote the complete value".to_owned());
    }
    None
}

/// A line that is not blank and not a comment.
#[derive(Debug, Clone, Copy)]
struct Line<'t> {
    /// Number of the line, from 0.
    number: usize,
    /// Blanks before it.
    indent: usize,
    /// Without them.
    content: &'t str,
}

impl<'t> Line<'t> {
    fn is_item(&self) -> bool {
        self.content == "-" || self.content.starts_with("- ")
    }

    /// The column of the content behind the signs of list items, and that content.
    fn inner(&self) -> (usize, &'t str) {
        let mut content = self.content;
        while let Some(rest) = content.strip_prefix("- ") {
            content = rest.trim_start();
        }
        let signs = self.content.len() - content.len();
        (self.indent + signs, content)
    }

    /// The key in it, and its value.
    fn pair(&self) -> Option<(&'t str, &'t str)> {
        let (_, content) = self.inner();
        match content.split_once(": ") {
            Some((key, value)) => Some((key, value.trim())),
            None => content.strip_suffix(':').map(|key| (key, "")),
        }
    }
}

struct Lines<'t> {
    text: &'t str,
    /// Bytes at which the lines begin.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Lines<'t> {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        Lines { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|&start| start <= at) - 1
    }

    fn raw(&self, number: usize) -> &'t str {
        let start = self.starts.get(number).copied().unwrap_or(self.text.len());
        self.text[start..].lines().next().unwrap_or_default()
    }

    /// The text of a line up to a byte.
    fn before(&self, number: usize, at: usize) -> &'t str {
        &self.text[self.starts[number]..at]
    }

    /// `None` for a blank line or a comment.
    fn line(&self, number: usize) -> Option<Line<'t>> {
        let raw = self.raw(number);
        let content = raw.trim();
        let indent = raw.len() - raw.trim_start().len();
        (!content.is_empty() && !content.starts_with('#')).then_some(Line {
            number,
            indent,
            content,
        })
    }

    /// The lines before, from the last one up.
    fn above(&self, number: usize) -> impl Iterator<Item = Line<'t>> {
        (0..number).rev().filter_map(|number| self.line(number))
    }

    fn tab(&self, here: usize) -> Option<String> {
        let is_tabbed = |number: &usize| {
            let raw = self.raw(*number);
            let blanks = &raw[..raw.len() - raw.trim_start().len()];
            blanks.contains('\t')
        };
        let line = [here, here + 1].into_iter().find(is_tabbed)?;
        let what = "indent with spaces: YAML forbids tabs there";
        Some(match line == here {
            true => what.to_owned(),
            false => format!("{what} (line {})", line + 1),
        })
    }

    /// `as: a: b`: the value must be quoted.
    fn second_colon(&self, here: usize, at: usize) -> Option<String> {
        let line = self.line(here)?;
        let (key, value) = line.pair()?;
        let (column, _) = line.inner();
        let first = self.starts[here] + column + key.len();
        if at <= first || value.is_empty() {
            return None;
        }
        if value.ends_with(':') {
            return Some(format!(
                "write `{value}` in a line of its own below `{key}:`, indented deeper"
            ));
        }
        Some(format!("quote the value: `{key}: {}`", quoted(value)))
    }

    /// A key below something that has no keys.
    fn key_after_text(&self, here: usize) -> Option<String> {
        let line = self.line(here)?;
        let above = self.above(here).next()?;
        let number = above.number + 1;
        let (column, content) = above.inner();
        let Some((key, _)) = above.pair() else {
            let word = content.split([' ', ':']).next().unwrap_or_default();
            return Some(match content[word.len()..].starts_with(':') {
                true => format!("line {number}: write a blank after `{word}:`"),
                false => format!("line {number}: a colon is missing after `{word}`"),
            });
        };
        let (found, _) = line.inner();
        (found > column).then(|| {
            format!(
                "begin this line in column {}, as `{key}` in line {number}; it begins in column {}",
                column + 1,
                found + 1
            )
        })
    }

    /// A line that begins in a column in which nothing can stand.
    fn column(&self, here: usize, info: &str) -> Option<String> {
        let line = self.line(here)?;
        let above = self.above(here).next()?;
        let first = (0..here).find_map(|number| self.line(number))?;
        if info.contains("document start") && first.indent > line.indent {
            let number = first.number + 1;
            let column = line.indent + 1;
            return Some(format!("begin line {number} in column {column}, as this one"));
        }
        let found = line.indent + 1;
        if line.is_item() {
            if let Some((key, "")) = above.pair() {
                let (column, _) = above.inner();
                let column = column + 3;
                return Some(format!(
                    "begin the list in column {column}, deeper than `{key}` above it; it begins in column {found}"
                ));
            }
            let item =
                self.nearest(here, line.indent, |one| one.is_item().then_some(one.indent))?;
            let column = item.0 + 1;
            let number = item.1 + 1;
            return Some(format!(
                "begin this item in column {column}, as the item in line {number}; it begins in column {found}"
            ));
        }
        let key = |one: &Line<'_>| one.pair().map(|_| one.inner().0);
        let (column, number) = self.nearest(here, line.indent, key)?;
        let column = column + 1;
        let number = number + 1;
        Some(format!(
            "begin this line in column {column}, as the key in line {number}; it begins in column {found}"
        ))
    }

    /// The column nearest to `indent` among the lines that enclose this one or stand beside it, and
    /// the line with that column.
    fn nearest(
        &self,
        here: usize,
        indent: usize,
        column: impl Fn(&Line<'_>) -> Option<usize>,
    ) -> Option<(usize, usize)> {
        let mut outer = usize::MAX;
        let mut best: Option<(usize, usize)> = None;
        for line in self.above(here) {
            if line.indent >= outer {
                continue;
            }
            outer = line.indent;
            if let Some(found) = column(&line)
                && best.is_none_or(|(best, _)| found.abs_diff(indent) < best.abs_diff(indent))
            {
                best = Some((found, line.number));
            }
        }
        best
    }
}

/// A value in the quotes that it does not contain itself.
fn quoted(value: &str) -> String {
    match value.contains(['"', '\\']) {
        true => format!("'{}'", value.replace('\'', "''")),
        false => format!("\"{value}\""),
    }
}

/// A value of a line that begins with `${` and is not quoted.
fn bare_template(line: &str) -> Option<&str> {
    let start = line.find(": ${")? + 2;
    let value = &line[start..];
    let close = value.find('}')? + 1;
    let end = value[close..].find([',', '}', ']']).map_or(value.len(), |end| close + end);
    Some(value[..end].trim_end())
}

/// Inside `{ }` or `[ ]`.
fn flow(lines: &Lines<'_>, at: usize) -> Option<String> {
    let mut open = Vec::new();
    let mut quote = None;
    let mut before = ' ';
    for (place, c) in lines.text[..at].char_indices() {
        let begins = before.is_whitespace() || "{[,:".contains(before);
        before = c;
        match (quote, c) {
            (Some(closing), c) if c == closing => quote = None,
            (Some(_), _) => {}
            // An apostrophe within a word is none.
            (None, '"' | '\'') if begins => quote = Some(c),
            (None, '{' | '[') => open.push((place, c)),
            (None, '}' | ']') => drop(open.pop()),
            _ => {}
        }
    }
    let (place, sign) = open.last()?;
    let line = lines.number(*place);
    let here = lines.number(at);
    if line == here {
        let template = bare_template(lines.raw(here));
        let hint = template.map(|value| format!("quote the value: {}", quoted(value)));
        return hint.or_else(|| Some("quote a value that contains [ ] { } or a comma".to_owned()));
    }
    Some(format!("the {sign} in line {} is not closed", line + 1))
}
