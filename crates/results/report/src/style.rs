//! Colours and characters that a terminal may lack, and lines made of toned pieces.

use record::controls::is_control;

/// The width of text that does not depend on the terminal.
pub const COLUMNS: usize = 120;
/// Indent of the lines below a heading.
pub const INDENT: &str = "  ";

/// Capabilities of the terminal. No meaning depends on them: marks come with words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours may be used.
    pub colour: bool,
    /// Characters beyond ASCII may be used.
    pub unicode: bool,
}

impl Style {
    /// Neither colour nor anything beyond ASCII.
    pub const PLAIN: Style = Style { colour: false, unicode: false };

    /// The first if the terminal supports Unicode, else the second.
    pub(crate) fn pick<T>(self, unicode: T, ascii: T) -> T {
        if self.unicode { unicode } else { ascii }
    }

    /// The text without control characters, and with our own special characters spelled in ASCII if needed.
    /// Names from users stay as they are otherwise.
    fn spell(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '\t' | '\n' | '\r' => out.push(' '),
                c if is_control(c) => out.push(self.pick(char::REPLACEMENT_CHARACTER, '?')),
                c if self.unicode => out.push(c),
                'µ' => out.push('u'),
                '×' => out.push('x'),
                '…' => out.push_str("..."),
                '→' => out.push_str("->"),
                '–' | '—' | '·' | '−' => out.push('-'),
                'ρ' => out.push_str("rho"),
                c => out.push(c),
            }
        }
        out
    }
}

/// A text from elsewhere, which may have several lines and colours, without other control sequences. Texts of
/// this crate contain none.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let rendition = if c == '\x1b' { rendition(rest.as_str()) } else { None };
        if let Some(sequence) = rendition {
            out.push(c);
            out.push_str(sequence);
            rest = rest.as_str()[sequence.len()..].chars();
        } else if is_control(c) && !matches!(c, '\n' | '\t') {
            out.push(char::REPLACEMENT_CHARACTER);
        } else {
            out.push(c);
        }
    }
    out
}

/// The sequence after an escape if it selects a graphic rendition, ECMA-48 section 8.3.117.
fn rendition(rest: &str) -> Option<&str> {
    let parameters = rest.strip_prefix('[')?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let is_one = parameters[end..].starts_with('m');
    is_one.then(|| &rest[..end + "[m".len()])
}

/// The meaning of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Bad,
    Warning,
    Dim,
    Strong,
}

impl Tone {
    /// Parameter of the "select graphic rendition" sequence, ECMA-48 section 8.3.117.
    fn sgr(self) -> &'static str {
        match self {
            Tone::Good => "32",
            Tone::Bad => "31;1",
            Tone::Warning => "33",
            Tone::Dim => "2",
            Tone::Strong => "1",
        }
    }
}

/// A line of toned pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(Vec<(Option<Tone>, String)>);

impl Line {
    /// Adds plain text.
    pub fn text(mut self, text: impl Into<String>) -> Line {
        self.0.push((None, text.into()));
        self
    }

    /// Adds toned text.
    pub fn tone(self, tone: Tone, text: impl Into<String>) -> Line {
        self.maybe(Some(tone), text)
    }

    /// Adds text that may have a tone.
    pub fn maybe(mut self, tone: Option<Tone>, text: impl Into<String>) -> Line {
        self.0.push((tone, text.into()));
        self
    }

    /// The line without trailing blanks, cut to `columns` characters; no newline.
    pub fn render(&self, columns: usize, style: Style) -> String {
        let pieces: Vec<_> = self.0.iter().map(|(tone, text)| (*tone, style.spell(text))).collect();
        let whole: usize = pieces.iter().map(|(_, text)| text.trim_end().len()).sum();
        let mut out = String::with_capacity(whole);
        let mut left = columns;
        let mut blanks = String::new();
        for (tone, text) in pieces {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            let shown = text.trim_end();
            let trailing = &text[shown.len()..];
            if !shown.is_empty() {
                out.push_str(&blanks);
                blanks.clear();
                match tone.filter(|_| style.colour) {
                    Some(tone) => out.push_str(&format!("\x1b[{}m{shown}\x1b[0m", tone.sgr())),
                    None => out.push_str(shown),
                }
            }
            blanks.push_str(trailing);
        }
        out
    }
}

/// Words that belong to the number before them.
const UNITS: &[&str] = &["%", "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB"];

/// The text in lines of at most `columns` characters, broken at blanks where there are any. A number and its unit stay
/// together.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let unit = word.trim_end_matches(['.', ',', ';', ':', ')']);
        match pieces.last_mut() {
            Some(last) if last.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
    }
    let mut lines = vec![String::new()];
    let mut width = 0;
    for piece in pieces {
        let wide = piece.chars().count();
        if width > 0 && width + 1 + wide > columns {
            lines.push(String::new());
            width = 0;
        }
        let line = lines.last_mut().expect("it began with one line and only grew");
        if width > 0 {
            line.push(' ');
            width += 1;
        }
        line.push_str(&piece);
        width += wide;
    }
    lines
}

/// The text shortened to `columns` characters, with a mark at the end if it was cut.
pub(crate) fn shorten(text: &str, columns: usize, style: Style) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let mark = style.pick("…", "~");
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{kept}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLOUR: Style = Style { colour: true, unicode: true };

    #[test]
    fn lines_are_cut_before_they_are_coloured() {
        let line = Line::default().text("lag ").tone(Tone::Bad, "300 ms   ").text("  ");
        assert_eq!(line.render(80, COLOUR), "lag \x1b[31;1m300 ms\x1b[0m");
        assert_eq!(line.render(6, COLOUR), "lag \x1b[31;1m30\x1b[0m");
        assert_eq!(line.render(80, Style::PLAIN), "lag 300 ms");
        assert_eq!(line.render(0, COLOUR), "");
    }

    #[test]
    fn ascii_spells_our_characters_and_leaves_names() {
        let line = Line::default().text("p99 3 µs – Fußball …");
        assert_eq!(line.render(80, Style::PLAIN), "p99 3 us - Fußball ...");
    }

    #[test]
    fn control_characters_are_replaced() {
        let text = "a\x1b]0;title\x07b\x1b[31mc\u{9b}2Jd\u{202e}e\nf";
        let line = Line::default().tone(Tone::Good, text);
        assert_eq!(
            line.render(80, COLOUR),
            "\x1b[32ma\u{fffd}]0;title\u{fffd}b\u{fffd}[31mc\u{fffd}2Jd\u{fffd}e f\x1b[0m"
        );
        assert_eq!(line.render(80, Style::PLAIN), "a?]0;title?b?[31mc?2Jd?e f");
        assert_eq!(visible(text), "a\u{fffd}]0;title\u{fffd}b\x1b[31mc\u{fffd}2Jd\u{fffd}e\nf");
        assert_eq!(visible("\x1b[1;2H\x1b["), "\u{fffd}[1;2H\u{fffd}[");
    }

    #[test]
    fn text_is_wrapped_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(wrap("it took 11.7 s (30 %)", 12), ["it took", "11.7 s", "(30 %)"]);
        assert_eq!(shorten("handshake", 5, COLOUR), "hand…");
        assert_eq!(shorten("handshake", 9, COLOUR), "handshake");
    }
}
