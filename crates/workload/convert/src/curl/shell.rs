//! Words of command lines (POSIX.1-2024, Shell Command Language, section 2): quotes, escapes, variables.
//!
//! Nothing is run. A variable becomes `${env('NAME')}` unless a line before gives it a value; the output of a command
//! has no value, and is reported.

use std::ops::Range;

/// The byte order mark.
const MARK: char = '\u{feff}';
/// Most words of a file.
const WORDS_MAX: usize = 100_000;

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    /// `$NAME` or `${NAME}`.
    Variable(String),
    /// The output of a command, as it is written.
    Output(String),
}

/// A word of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) parts: Vec<Part>,
    pub(super) at: Range<usize>,
}

impl Word {
    /// The text of a word that has nothing else.
    pub(super) fn plain(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }
}

/// A command: its words up to a line break or operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) words: Vec<Word>,
    /// A `|` stands before it: its input is the output of the command before.
    pub(super) is_piped: bool,
}

/// Why a text has no words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ShellError {
    /// Quotes, or the brackets of `$(`, are not closed.
    #[error("{0} is not closed")]
    Open(&'static str, Range<usize>),
    /// More words than are read.
    #[error("there are more than {WORDS_MAX} words")]
    TooMany(Range<usize>),
}

impl ShellError {
    pub(super) fn at(&self) -> Range<usize> {
        match self {
            ShellError::Open(_, at) | ShellError::TooMany(at) => at.clone(),
        }
    }
}

/// The commands of a text.
pub(super) fn commands(text: &str) -> Result<Vec<Command>, ShellError> {
    let mut lexer = Lexer {
        text,
        // Editors may put a byte order mark before it.
        at: if text.starts_with(MARK) { MARK.len_utf8() } else { 0 },
        words_count: 0,
        word: None,
        commands: Vec::new(),
        words: Vec::new(),
        is_piped: false,
    };
    lexer.run()?;
    Ok(lexer.commands)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    words_count: usize,
    /// The word at hand and its start.
    word: Option<(Vec<Part>, usize)>,
    words: Vec<Word>,
    is_piped: bool,
    commands: Vec<Command>,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn run(&mut self) -> Result<(), ShellError> {
        while let Some(c) = self.rest().chars().next() {
            let start = self.at;
            self.at += c.len_utf8();
            match c {
                ' ' | '\t' | '\r' => self.end_word()?,
                '\n' | ';' => self.end_command(false)?,
                '&' | '|' => {
                    let is_pipe = c == '|' && !self.rest().starts_with('|');
                    while self.rest().starts_with(['&', '|']) {
                        self.at += 1;
                    }
                    self.end_command(is_pipe)?;
                }
                '#' if self.word.is_none() => {
                    self.at += self.rest().find('\n').unwrap_or(self.rest().len());
                }
                '\\' | '^' if self.rest().starts_with('\n') => {
                    self.at += 1;
                    self.end_word()?;
                }
                '\\' | '^' if self.rest().starts_with("\r\n") => {
                    self.at += 2;
                    self.end_word()?;
                }
                '\\' => {
                    let escaped = self.rest().chars().next();
                    self.at += escaped.map_or(0, char::len_utf8);
                    self.push(start, &escaped.map(String::from).unwrap_or_default());
                }
                '\'' => {
                    let end = self.rest().find('\'');
                    let end = end.ok_or(ShellError::Open("a quote", start..start + 1))?;
                    let quoted = &self.rest()[..end];
                    self.at += end + 1;
                    self.push(start, quoted);
                }
                '"' => self.double(start)?,
                '$' if self.rest().starts_with('\'') => self.ansi(start)?,
                '$' => self.dollar(start)?,
                '`' => {
                    let end = self.rest().find('`');
                    let end = end.ok_or(ShellError::Open("a back quote", start..start + 1))?;
                    self.at += end + 1;
                    let written = self.text[start..self.at].to_owned();
                    self.part(start, Part::Output(written));
                }
                c => self.push(start, c.encode_utf8(&mut [0; 4])),
            }
        }
        self.end_command(false)
    }

    fn part(&mut self, start: usize, part: Part) {
        let (parts, _) = self.word.get_or_insert((Vec::new(), start));
        parts.push(part);
    }

    fn push(&mut self, start: usize, text: &str) {
        let (parts, _) = self.word.get_or_insert((Vec::new(), start));
        match parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => parts.push(Part::Text(text.to_owned())),
        }
    }

    fn end_word(&mut self) -> Result<(), ShellError> {
        let Some((parts, start)) = self.word.take() else {
            return Ok(());
        };
        self.words_count += 1;
        if self.words_count > WORDS_MAX {
            return Err(ShellError::TooMany(start..start));
        }
        let end = start + self.text[start..self.at].trim_end().len();
        self.words.push(Word { parts, at: start..end });
        Ok(())
    }

    fn end_command(&mut self, is_next_piped: bool) -> Result<(), ShellError> {
        self.end_word()?;
        let is_piped = std::mem::replace(&mut self.is_piped, is_next_piped);
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.commands.push(Command { words, is_piped });
        }
        Ok(())
    }

    /// Between `"` and `"`: variables are filled in, and a backslash escapes `$`, `` ` ``, `"`, itself and a line break.
    fn double(&mut self, start: usize) -> Result<(), ShellError> {
        self.push(start, "");
        while let Some(c) = self.rest().chars().next() {
            let begin = self.at;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(()),
                '\\' => match self.rest().chars().next() {
                    Some('\n') => self.at += 1,
                    Some(c @ ('$' | '`' | '"' | '\\')) => {
                        self.at += 1;
                        self.push(begin, c.encode_utf8(&mut [0; 4]));
                    }
                    _ => self.push(begin, "\\"),
                },
                '$' => self.dollar(begin)?,
                '`' => {
                    let end = self.rest().find('`');
                    let end = end.ok_or(ShellError::Open("a back quote", begin..begin + 1))?;
                    self.at += end + 1;
                    let written = self.text[begin..self.at].to_owned();
                    self.part(begin, Part::Output(written));
                }
                c => self.push(begin, c.encode_utf8(&mut [0; 4])),
            }
        }
        Err(ShellError::Open("a quote", start..start + 1))
    }

    /// Behind a `$`: a variable, the output of a command, or the sign itself.
    fn dollar(&mut self, start: usize) -> Result<(), ShellError> {
        let rest = self.rest();
        if rest.starts_with('(') {
            let mut depth = 0_usize;
            for (at, c) in rest.char_indices() {
                match c {
                    '(' => depth += 1,
                    ')' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    self.at += at + 1;
                    let written = self.text[start..self.at].to_owned();
                    self.part(start, Part::Output(written));
                    return Ok(());
                }
            }
            return Err(ShellError::Open("$(", start..start + 2));
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, length) = match rest.strip_prefix('{') {
            Some(inner) => {
                let end = inner.find('}');
                let end = end.ok_or(ShellError::Open("${", start..start + 2))?;
                // `${NAME:-default}` and the like.
                let name = &inner[..end];
                let name = &name[..name.find(|c: char| !is_name(c)).unwrap_or(name.len())];
                (name, end + 2)
            }
            None => {
                let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            self.push(start, "$");
            return Ok(());
        }
        self.at += length;
        self.part(start, Part::Variable(name.to_owned()));
        Ok(())
    }

    /// `$'…'`: escapes as in C.
    fn ansi(&mut self, start: usize) -> Result<(), ShellError> {
        self.at += 1;
        let mut out = String::new();
        while let Some(c) = self.rest().chars().next() {
            self.at += c.len_utf8();
            match c {
                '\'' => {
                    self.push(start, &out);
                    return Ok(());
                }
                '\\' => {
                    let Some(sign) = self.rest().chars().next() else { break };
                    self.at += sign.len_utf8();
                    match sign {
                        'n' => out.push('\n'),
                        'r' => out.push('\r'),
                        't' => out.push('\t'),
                        'u' => out.push(self.code(4)),
                        'U' => out.push(self.code(8)),
                        'x' => out.push(self.code(2)),
                        sign => out.push(sign),
                    }
                }
                c => out.push(c),
            }
        }
        Err(ShellError::Open("a quote", start..start + 1))
    }

    /// A character by up to so many hexadecimal digits.
    fn code(&mut self, digits_max: usize) -> char {
        let digits = self.rest().bytes().take(digits_max);
        let count = digits.take_while(u8::is_ascii_hexdigit).count();
        let code = u32::from_str_radix(&self.rest()[..count], 16).unwrap_or_default();
        self.at += count;
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        let shown = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(name) => format!("<{name}>"),
            Part::Output(written) => format!("[{written}]"),
        };
        let commands = commands(text).unwrap();
        let words = commands.iter().map(|command| {
            let words = command.words.iter();
            words.map(|word| word.parts.iter().map(shown).collect()).collect()
        });
        words.collect()
    }

    #[test]
    fn words_are_those_of_a_shell() {
        let text = "curl 'a b'\"c $X ${Y:-1} \\\"\" \\\n  -d $'it\\'s\\u00e9' # no\nNEXT=1; a|b && c $(d (e)) \"\"";
        assert_eq!(
            words(text),
            [
                vec!["curl", "a bc <X> <Y> \"", "-d", "it'sé"],
                vec!["NEXT=1"],
                vec!["a"],
                vec!["b"],
                vec!["c", "[$(d (e))]", ""]
            ]
        );
        let piped: Vec<bool> = commands("a|b||c").unwrap().iter().map(|c| c.is_piped).collect();
        assert_eq!(piped, [false, true, false]);
        for open in ["'a", "\"a", "$(a", "`a", "${a", "$'a", "\"`"] {
            assert!(commands(open).is_err(), "{open}");
        }
    }
}
