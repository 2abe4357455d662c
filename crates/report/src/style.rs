//! Colour and characters, both of which may be missing, and lines made of toned pieces.

/// What the reader's terminal can show. Meaning never hangs on either: marks come with words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// ANSI colours may be used.
    pub colour: bool,
    /// Characters beyond ASCII may be used.
    pub unicode: bool,
}

impl Style {
    /// Neither colour nor anything beyond ASCII.
    pub const PLAIN: Style = Style {
        colour: false,
        unicode: false,
    };

    /// The first where the terminal knows Unicode, else the second.
    pub(crate) fn pick<T>(self, unicode: T, ascii: T) -> T {
        if self.unicode { unicode } else { ascii }
    }

    /// The text with our own special characters spelled in ASCII where need be. Names that people
    /// gave stay as they are.
    fn spell(self, text: &str) -> String {
        if self.unicode {
            return text.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                'µ' => out.push('u'),
                '×' => out.push('x'),
                '…' => out.push_str("..."),
                '–' | '—' | '·' | '−' => out.push('-'),
                'ρ' => out.push_str("rho"),
                c => out.push(c),
            }
        }
        out
    }
}

/// What a piece of text is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
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
pub(crate) struct Line(Vec<(Option<Tone>, String)>);

impl Line {
    /// Adds plain text.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Line {
        self.0.push((None, text.into()));
        self
    }

    /// Adds toned text.
    pub(crate) fn tone(self, tone: Tone, text: impl Into<String>) -> Line {
        self.maybe(Some(tone), text)
    }

    /// Adds text that may have a tone.
    pub(crate) fn maybe(mut self, tone: Option<Tone>, text: impl Into<String>) -> Line {
        self.0.push((tone, text.into()));
        self
    }

    /// The line without trailing blanks, cut to `columns` characters; no newline.
    pub(crate) fn render(&self, columns: usize, style: Style) -> String {
        let pieces: Vec<_> = self
            .0
            .iter()
            .map(|(tone, text)| (*tone, style.spell(text)))
            .collect();
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

/// The text in lines of at most `columns` characters, broken at blanks where there are any.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut width = 0;
    for word in text.split_whitespace() {
        let wide = word.chars().count();
        if width > 0 && width + 1 + wide > columns {
            lines.push(String::new());
            width = 0;
        }
        let line = lines
            .last_mut()
            .expect("it began with one line and only grew");
        if width > 0 {
            line.push(' ');
            width += 1;
        }
        line.push_str(word);
        width += wide;
    }
    lines
}

/// The text cut to so many characters, its end replaced where something is missing.
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

    const COLOUR: Style = Style {
        colour: true,
        unicode: true,
    };

    #[test]
    fn lines_are_cut_before_they_are_coloured() {
        let line = Line::default()
            .text("lag ")
            .tone(Tone::Bad, "300 ms   ")
            .text("  ");
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
    fn text_is_wrapped_at_blanks() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(wrap("", 4), [""]);
        assert_eq!(shorten("handshake", 5, COLOUR), "hand…");
        assert_eq!(shorten("handshake", 9, COLOUR), "handshake");
    }
}
