//! The text of selectors (Selectors Level 4, CSS Syntax Level 3).

use std::ops::Range;

use crate::selector::{Compound, CompoundStep, Holds, Relation, Selector, Test};

/// Longest selector, in bytes.
const SELECTOR_BYTES_MAX: usize = 1_000;
/// Most elements that a list of selectors names: each has a bit while a page is searched.
const PARTS_MAX: usize = 64;

/// The pseudo-classes, for hints.
const PSEUDO: &str =
    ":first-child, :last-child, :only-child, :nth-child(2n+1), :not(…), :empty and :root";

/// Why a text is no selector.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct BadSelector {
    /// The problem.
    pub message: String,
    /// The bytes of the text that are to blame.
    pub at: Range<usize>,
    /// The correct form.
    pub hint: String,
}

impl Selector {
    /// Reads a list of selectors: elements by name, `*`, `#id`, `.class` and attribute (`[name]`, `=`, `~=`, `|=`, `^=`,
    /// `$=`, `*=`, with `i` behind the value for any case), the pseudo-classes `:first-child`, `:last-child`,
    /// `:only-child`, `:nth-child(an+b)`, `:not(…)`, `:empty` and `:root`, and the combinators space, `>`, `+` and `~`.
    /// The error says where it is no such list.
    pub fn parse(text: &str) -> Result<Selector, BadSelector> {
        let mut parser = Parser { text, at: 0 };
        if text.len() > SELECTOR_BYTES_MAX {
            let message = format!("a selector is at most {SELECTOR_BYTES_MAX} bytes long");
            return Err(parser.bad(0..text.len(), message, "name the element by an id or a class"));
        }
        let mut parts = Vec::new();
        let mut last = 0;
        loop {
            parser.space();
            parser.complex(&mut parts)?;
            last |= 1 << (parts.len() - 1);
            if !parser.take(',') {
                break;
            }
        }
        match parser.peek() {
            None => Ok(Selector { text: text.to_owned(), parts, last }),
            Some(c) => {
                let at = parser.at..parser.at + c.len_utf8();
                Err(parser.bad(at, format!("`{c}` has no meaning here"), HINT))
            }
        }
    }
}

const HINT: &str = "write it like input[name=csrf], #total or ul.items > li:first-child";

/// How an attribute is compared, by the sign for it.
type Operator = (&'static str, fn(String) -> Holds);

const OPERATORS: [Operator; 6] = [
    ("=", Holds::Equal),
    ("~=", Holds::Word),
    ("|=", Holds::Dash),
    ("^=", Holds::Begin),
    ("$=", Holds::End),
    ("*=", Holds::Part),
];

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn bad(&self, at: Range<usize>, message: impl Into<String>, hint: &str) -> BadSelector {
        BadSelector { message: message.into(), at, hint: hint.to_owned() }
    }

    /// At the next character, or at the end.
    fn bad_here(&self, message: impl Into<String>, hint: &str) -> BadSelector {
        let end = self.at + self.peek().map_or(0, char::len_utf8);
        self.bad(self.at..end, message, hint)
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    fn take_text(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips space; true if there was any.
    fn space(&mut self) -> bool {
        let after = self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        let length = self.rest().len() - after.len();
        self.at += length;
        length > 0
    }

    /// Compounds with combinators between them.
    fn complex(&mut self, parts: &mut Vec<CompoundStep>) -> Result<(), BadSelector> {
        let mut relation = Relation::First;
        loop {
            let start = self.at;
            let compound = self.compound(false)?;
            if parts.len() == PARTS_MAX {
                let message = format!("a selector names at most {PARTS_MAX} elements");
                return Err(self.bad(start..self.at, message, "leave out what stands around it"));
            }
            parts.push(CompoundStep { relation, compound });
            let spaced = self.space();
            relation = match self.peek() {
                Some('>') => Relation::Child,
                Some('+') => Relation::Next,
                Some('~') => Relation::Later,
                None | Some(',') => return Ok(()),
                Some(_) if spaced => Relation::Inside,
                Some(_) => return Ok(()),
            };
            if relation != Relation::Inside {
                self.at += 1;
                self.space();
            }
        }
    }

    /// Tests of one element without space between them.
    fn compound(&mut self, negated: bool) -> Result<Compound, BadSelector> {
        let mut tests = Vec::new();
        let start = self.at;
        if !self.take('*') && self.begins_name() {
            tests.push(Test::Name(self.name("an element")?));
        }
        loop {
            let test = match self.peek() {
                Some('#') => {
                    self.at += 1;
                    Test::Id(self.name("an id")?)
                }
                Some('.') => {
                    self.at += 1;
                    Test::Class(self.name("a class")?)
                }
                Some('[') => self.attribute()?,
                Some(':') => {
                    self.pseudo(negated, &mut tests)?;
                    continue;
                }
                _ => break,
            };
            tests.push(test);
        }
        if self.at == start {
            return Err(self.bad_here("an element is missing here", HINT));
        }
        Ok(Compound { tests })
    }

    /// `[name]`, `[name=value]`, `[name="value" i]`.
    fn attribute(&mut self) -> Result<Test, BadSelector> {
        self.at += 1;
        self.space();
        let name = self.name("an attribute")?;
        self.space();
        let mut holds = Holds::Anything;
        let mut any_case = false;
        if self.peek() != Some(']') {
            let found = OPERATORS.iter().find(|(sign, _)| self.take_text(sign));
            let Some((_, make)) = found else {
                return Err(self.bad_here(
                    "here stands `]`, or how the attribute is compared",
                    "write [name], [name=value], [name^=value], [name$=value] or [name*=value]",
                ));
            };
            self.space();
            let mut value = self.value()?;
            self.space();
            any_case = self.take('i') || self.take('I');
            if !any_case && !self.take('s') {
                self.take('S');
            }
            if any_case {
                value.make_ascii_lowercase();
            }
            holds = make(value);
            self.space();
        }
        if !self.take(']') {
            return Err(self.bad_here("a `]` is missing here", "write [name=\"value\"]"));
        }
        Ok(Test::Attribute { name, holds, any_case })
    }

    /// A name, or a text in quotes.
    fn value(&mut self) -> Result<String, BadSelector> {
        let start = self.at;
        let Some(quote) = self.peek().filter(|c| matches!(c, '"' | '\'')) else {
            return self.name("the value");
        };
        self.at += 1;
        let mut value = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                c if c == quote => return Ok(value),
                '\\' => value.extend(self.escaped()),
                c => value.push(c),
            }
        }
        let hint = format!("close it with {quote}");
        Err(self.bad(start..self.at, "this text has no end", &hint))
    }

    /// True if a name begins here.
    fn begins_name(&self) -> bool {
        let rest = self.rest();
        let after = rest.strip_prefix('-').unwrap_or(rest);
        let begins = |c: char| is_name(c) && !c.is_ascii_digit() || c == '\\';
        after.starts_with(begins)
    }

    fn name(&mut self, what: &str) -> Result<String, BadSelector> {
        if !self.begins_name() {
            let message = match self.peek() {
                Some(c) => format!("`{c}` cannot begin the name of {what}"),
                None => format!("the name of {what} is missing here"),
            };
            let hint = "put a value that is no plain word into quotes, and write other names with \\: \\31 a for 1a";
            return Err(self.bad_here(message, hint));
        }
        let mut name = String::new();
        while let Some(c) = self.peek().filter(|&c| is_name(c) || c == '\\') {
            self.at += c.len_utf8();
            match c {
                '\\' => name.extend(self.escaped()),
                c => name.push(c),
            }
        }
        Ok(name)
    }

    /// The character that a backslash stands for: one by its number, or the next one (CSS Syntax §4.3.7).
    fn escaped(&mut self) -> Option<char> {
        let rest = self.rest();
        let digits = rest.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        if digits == 0 {
            let c = self.peek()?;
            self.at += c.len_utf8();
            return Some(c);
        }
        self.at += digits;
        if self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
        let number = u32::from_str_radix(&rest[..digits], 16).ok()?;
        let c = char::from_u32(number).filter(|&c| c != '\0');
        Some(c.unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn pseudo(&mut self, negated: bool, tests: &mut Vec<Test>) -> Result<(), BadSelector> {
        let start = self.at;
        self.at += 1;
        if self.peek() == Some(':') {
            let message = "an answer has no pseudo-elements (`::`)";
            return Err(self.bad(start..self.at + 1, message, "name an element"));
        }
        let name = self.name("a pseudo-class")?.to_ascii_lowercase();
        let place = Test::Place { a: 0, b: 1 };
        match name.as_str() {
            "first-child" => tests.push(place),
            "last-child" => tests.push(Test::LastChild),
            "only-child" => tests.extend([place, Test::LastChild]),
            "empty" => tests.push(Test::Empty),
            "root" => tests.push(Test::Root),
            "nth-child" => {
                let inside = self.inside(start)?;
                let Some((a, b)) = nth(inside.trim()) else {
                    let message = format!("`{}` is no place among children", inside.trim());
                    let hint = "write :nth-child(2), :nth-child(odd) or :nth-child(3n+1)";
                    return Err(self.bad(start..self.at, message, hint));
                };
                tests.push(Test::Place { a, b });
            }
            "not" if negated => {
                let message = "`:not` cannot stand inside of `:not`";
                return Err(self.bad(start..self.at, message, "write one behind the other"));
            }
            "not" => tests.push(self.not(start)?),
            _ => {
                let message = format!("the pseudo-class `:{name}` is not known");
                return Err(self.bad(start..self.at, message, &format!("there are {PSEUDO}")));
            }
        }
        Ok(())
    }

    fn not(&mut self, start: usize) -> Result<Test, BadSelector> {
        let hint = "write it like a:not(.external, [href^=\"#\"])";
        if !self.take('(') {
            return Err(self.bad(start..self.at, "`:not` names what the element is not", hint));
        }
        let mut compounds = Vec::new();
        loop {
            self.space();
            compounds.push(self.compound(true)?);
            self.space();
            if !self.take(',') {
                break;
            }
        }
        if !self.take(')') {
            return Err(self.bad_here("a `)` is missing here", hint));
        }
        Ok(Test::Not(compounds))
    }

    /// The text in parentheses.
    fn inside(&mut self, start: usize) -> Result<&'t str, BadSelector> {
        let rest = self.rest();
        let inside = rest.strip_prefix('(').and_then(|inside| inside.split_once(')'));
        let Some((inside, _)) = inside else {
            let hint = "write :nth-child(2)";
            return Err(self.bad(start..self.at, "what stands in parentheses is missing", hint));
        };
        self.at += inside.len() + 2;
        Ok(inside)
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_' || !c.is_ascii()
}

/// The numbers of `an+b` (CSS Syntax §6).
fn nth(text: &str) -> Option<(i32, i32)> {
    let text: String = text.to_ascii_lowercase().split_whitespace().collect();
    match text.as_str() {
        "odd" => return Some((2, 1)),
        "even" => return Some((2, 0)),
        _ => {}
    }
    let Some((a, b)) = text.split_once('n') else {
        return Some((0, text.parse().ok()?));
    };
    let a = match a {
        "" | "+" => 1,
        "-" => -1,
        a => a.parse().ok()?,
    };
    let b = match b {
        "" => 0,
        b if b.starts_with(['+', '-']) => b.parse().ok()?,
        _ => return None,
    };
    Some((a, b))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_wrong_has_a_place() {
        for (text, at, message) in [
            ("", 0..0, "an element is missing here"),
            ("a,", 2..2, "an element is missing here"),
            ("a > > b", 4..5, "an element is missing here"),
            ("a)", 1..2, "`)` has no meaning here"),
            ("#1a", 1..2, "`1` cannot begin the name of an id"),
            ("a.", 2..2, "the name of a class is missing here"),
            ("[a", 2..2, "here stands `]`, or how the attribute is compared"),
            ("[a=b", 4..4, "a `]` is missing here"),
            ("[a=1]", 3..4, "`1` cannot begin the name of the value"),
            ("[a='b]", 3..6, "this text has no end"),
            ("[a!=b]", 2..3, "here stands `]`, or how the attribute is compared"),
            ("a:hover", 1..7, "the pseudo-class `:hover` is not known"),
            ("p::before", 1..3, "an answer has no pseudo-elements (`::`)"),
            ("p:nth-child(x)", 1..14, "`x` is no place among children"),
            ("p:nth-child", 1..11, "what stands in parentheses is missing"),
            ("p:not(:not(a))", 6..10, "`:not` cannot stand inside of `:not`"),
            ("p:not(a", 7..7, "a `)` is missing here"),
            ("p:not", 1..5, "`:not` names what the element is not"),
        ] {
            let bad = Selector::parse(text).unwrap_err();
            assert_eq!((bad.at, bad.message.as_str()), (at, message), "{text}");
        }
        let long = "a ".repeat(PARTS_MAX + 1);
        assert!(Selector::parse(&long).is_err());
        assert!(Selector::parse(&"a".repeat(SELECTOR_BYTES_MAX + 1)).is_err());
        assert!(Selector::parse("a ".repeat(PARTS_MAX).trim()).is_ok());
    }

    #[test]
    fn places_among_children_are_read() {
        for (text, expected) in [
            ("3", Some((0, 3))),
            ("odd", Some((2, 1))),
            ("EVEN", Some((2, 0))),
            ("2n+1", Some((2, 1))),
            ("-n + 3", Some((-1, 3))),
            ("n", Some((1, 0))),
            ("+3n-2", Some((3, -2))),
            ("", None),
            ("n3", None),
            ("99999999999", None),
        ] {
            assert_eq!(nth(text), expected, "{text}");
        }
    }

    #[test]
    fn escapes_stand_for_characters() {
        let parts = |text: &str| Selector::parse(text).unwrap().parts;
        let id = |name: &str| vec![Test::Id(name.to_owned())];
        assert_eq!(parts(r"#a\:b")[0].compound.tests, id("a:b"));
        assert_eq!(parts(r"#\31 23")[0].compound.tests, id("123"));
        assert_eq!(parts(r"#\0")[0].compound.tests, id("\u{fffd}"));
    }

    proptest! {
        /// Any text is a selector or has an error within it.
        #[test]
        fn any_text_is_read_or_refused(text in "[a1 .#*>+~,:()=\\[\\]\"'\\\\ n-]{0,24}|\\PC{0,12}") {
            if let Err(bad) = Selector::parse(&text) {
                prop_assert!(bad.at.end <= text.len() && text.get(bad.at.clone()).is_some());
            }
        }
    }
}
