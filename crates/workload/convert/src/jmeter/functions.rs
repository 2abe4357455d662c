//! JMeter's `${variable}` and `${__function(…)}`, as expressions, and the conditions of controllers.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Importer;
use crate::template::{literal, quoted};

/// Deepest nesting of functions in arguments of functions.
const DEPTH_MAX: usize = 8;

/// Letters of Java's `SimpleDateFormat`, and the signs of `strftime`.
const DATE_SIGNS: &[(&str, &str)] = &[
    ("yyyy", "%Y"),
    ("yy", "%y"),
    ("MMMM", "%B"),
    ("MMM", "%b"),
    ("MM", "%m"),
    ("dd", "%d"),
    ("EEEE", "%A"),
    ("EEE", "%a"),
    ("HH", "%H"),
    ("hh", "%I"),
    ("mm", "%M"),
    ("ss", "%S"),
    ("SSS", "%3f"),
    (concat!("XX", "X"), "%:z"),
    ("Z", "%z"),
    ("a", "%p"),
];

/// How a value stands in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `${x}`.
    Plain,
    /// `${raw(x)}`: in a URL, not encoded again.
    Raw,
}

/// A part of JMeter's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    /// What stands between `${` and its `}`.
    Reference(String),
}

/// The parts of a text.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let Some(length) = reference_length(&rest[at + 2..]) else { break };
        if at > 0 {
            parts.push(Part::Text(rest[..at].to_owned()));
        }
        parts.push(Part::Reference(rest[at + 2..at + 2 + length].to_owned()));
        rest = &rest[at + 3 + length..];
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    parts
}

/// The bytes up to the brace that ends a reference.
fn reference_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The arguments of a function: separated by commas, of which `\,` is none.
fn split_arguments(text: &str) -> Vec<String> {
    let mut arguments = vec![String::new()];
    let mut depth = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&',') => {
                chars.next();
                arguments.last_mut().expect("there is always one").push(',');
                continue;
            }
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        arguments.last_mut().expect("there is always one").push(c);
    }
    arguments
}

/// A format of Java as one of `strftime`; `None`: it has letters without a counterpart.
fn date_format(java: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = java;
    'text: while let Some(c) = rest.chars().next() {
        if c == '\'' {
            let inner = &rest[1..];
            let end = inner.find('\'')?;
            out.push_str(if end == 0 { "'" } else { &inner[..end] });
            rest = &inner[end + 1..];
            continue;
        }
        if !c.is_ascii_alphabetic() {
            out.push_str(if c == '%' { "%%" } else { &rest[..c.len_utf8()] });
            rest = &rest[c.len_utf8()..];
            continue;
        }
        for (letters, sign) in DATE_SIGNS {
            if let Some(after) = rest.strip_prefix(letters)
                && !after.starts_with(c)
            {
                out.push_str(sign);
                rest = after;
                continue 'text;
            }
        }
        return None;
    }
    Some(out)
}

static COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r#"^\s*(.+?)\s*(==|!=|<=|>=|<|>|\beq\b|\bne\b|\blt\b|\bgt\b|\ble\b|\bge\b)\s*(.+?)\s*$"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});
static VARS_GET: LazyLock<Regex> = LazyLock::new(|| {
    let pattern =
        r#"^vars\.get\(\s*["']([^"']+)["']\s*\)(?:\.toInteger\(\)|\.toString\(\)|\.trim\(\))?$"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});
static EQUALS_CALL: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^(!?)\s*(.+?)\.equals\(\s*(.+?)\s*\)$"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});

impl Importer<'_> {
    /// JMeter's text as a template.
    pub(super) fn template(&mut self, text: &str, form: Form, at: &Range<usize>) -> String {
        let mut out = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => out.push_str(&literal(&text)),
                Part::Reference(inner) => {
                    let expression = self.expression(&inner, at, 0);
                    match form {
                        Form::Plain => out.push_str(&format!("${{{expression}}}")),
                        Form::Raw => out.push_str(&format!("${{raw({expression})}}")),
                    }
                }
            }
        }
        out
    }

    /// The number that a text is, or the expression for one.
    pub(super) fn number(&mut self, text: &str, at: &Range<usize>) -> Option<String> {
        let text = text.trim();
        match parts(text).as_slice() {
            [Part::Text(plain)] => {
                plain.trim().parse::<f64>().ok().filter(|n| n.is_finite()).map(|n| format!("{n}"))
            }
            [Part::Reference(inner)] => Some(self.expression(inner, at, 0)),
            _ => None,
        }
    }

    /// A number that has to be known here; variables that have a fixed value are filled in.
    pub(super) fn fixed(&mut self, text: &str) -> Option<f64> {
        let text = self.filled(text, 0);
        text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
    }

    /// Text with the values of variables and properties filled in, as far as they are known.
    pub(super) fn filled(&mut self, text: &str, depth: usize) -> String {
        let mut out = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => out.push_str(&text),
                Part::Reference(inner) => {
                    let known = match property_of(&inner) {
                        Some((_, default)) => Some(default),
                        None => self.variables.value(&inner),
                    };
                    match known {
                        Some(value) if depth < DEPTH_MAX && out.len() < 1 << 20 => {
                            out.push_str(&self.filled(&value, depth + 1));
                        }
                        _ => out.push_str(&format!("${{{inner}}}")),
                    }
                }
            }
        }
        out
    }

    /// The expression for a reference.
    fn expression(&mut self, inner: &str, at: &Range<usize>, depth: usize) -> String {
        if let Some((name, default)) = property_of(inner) {
            return self.variables.parameter(&name, &default);
        }
        if !inner.starts_with("__") {
            return self.variable(inner, at);
        }
        let (name, rest) = inner.split_once('(').unwrap_or((inner, ")"));
        let rest = rest.trim_end();
        let arguments = split_arguments(rest.strip_suffix(')').unwrap_or(rest));
        match self.function(name, &arguments, at, depth) {
            Some(expression) => expression,
            None => {
                let message =
                    format!("`${{{inner}}}` has no counterpart: a parameter stands in its place");
                let hint = "write an expression, or a function in a script: docs/scripts.md";
                self.diagnostics.stand_in(at.clone(), message).hint(hint);
                self.variables.stub(name.trim_start_matches('_'), inner)
            }
        }
    }

    /// An argument as an expression: a text, or one reference.
    fn argument(&mut self, text: &str, at: &Range<usize>, depth: usize) -> Option<String> {
        match parts(text).as_slice() {
            [] => Some("''".to_owned()),
            [Part::Text(plain)] => Some(quoted(plain)),
            [Part::Reference(inner)] => Some(self.expression(inner, at, depth + 1)),
            _ => None,
        }
    }

    fn function(
        &mut self,
        name: &str,
        arguments: &[String],
        at: &Range<usize>,
        depth: usize,
    ) -> Option<String> {
        if depth > DEPTH_MAX {
            return None;
        }
        let get = |index: usize| arguments.get(index).map_or("", |text| text.trim());
        let whole = |text: &str| text.parse::<i64>().ok();
        match name {
            "__UUID" => Some("uuid()".to_owned()),
            "__threadNum" => Some("user + 1".to_owned()),
            "__Random" => {
                let low = self.limit(get(0), at, depth)?;
                let high = self.limit(get(1), at, depth)?;
                let both = (whole(&low), whole(&high));
                if let (Some(low), Some(high)) = both
                    && low > high
                {
                    return None;
                }
                get(2).is_empty().then(|| format!("random({low}, {high})"))
            }
            "__RandomString" if get(2).is_empty() => {
                if !get(1).is_empty() {
                    let message = "random texts have the characters a to z and 0 to 9";
                    self.diagnostics.differs("random-string", at.clone(), message);
                }
                let count = whole(get(0)).filter(|count| (0..=65_536).contains(count))?;
                Some(format!("random_string({count})"))
            }
            "__time" if get(1).is_empty() => match get(0) {
                "" => Some("now()".to_owned()),
                "/1000" => Some("int(now() / 1000)".to_owned()),
                format => Some(format!("date(now(), {})", quoted(&date_format(format)?))),
            },
            "__env" => {
                let name = get(0);
                let is_name =
                    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                is_name.then(|| self.secrets.given(name))
            }
            "__urlencode" => Some(format!("url({})", self.argument(get(0), at, depth)?)),
            "__urldecode" => Some(format!("url_decode({})", self.argument(get(0), at, depth)?)),
            "__base64Encode" => Some(format!("base64({})", self.argument(get(0), at, depth)?)),
            "__base64Decode" => {
                Some(format!("base64_decode({})", self.argument(get(0), at, depth)?))
            }
            "__uppercase" | "__toUpperCase" => {
                Some(format!("upper({})", self.argument(get(0), at, depth)?))
            }
            "__lowercase" | "__toLowerCase" => {
                Some(format!("lower({})", self.argument(get(0), at, depth)?))
            }
            "__digest" if get(2).is_empty() && get(3).is_empty() => {
                let hash = match get(0).to_ascii_uppercase().as_str() {
                    "MD5" => "md5",
                    "SHA-1" => "sha1",
                    "SHA-256" => "sha256",
                    "SHA-384" => "sha384",
                    "SHA-512" => "sha512",
                    _ => return None,
                };
                Some(format!("{hash}({})", self.argument(get(1), at, depth)?))
            }
            "__FileToString" => {
                let file = get(0);
                let is_read = (self.files)(file).is_ok();
                is_read.then(|| format!("file({})", quoted(file)))
            }
            _ => None,
        }
    }

    /// A limit of a random number: a whole number, or a reference.
    fn limit(&mut self, text: &str, at: &Range<usize>, depth: usize) -> Option<String> {
        match parts(text).as_slice() {
            [Part::Text(plain)] => plain.parse::<i64>().ok().map(|number| number.to_string()),
            [Part::Reference(inner)] => {
                let inner = self.expression(inner, at, depth + 1);
                Some(format!("int({inner})"))
            }
            _ => None,
        }
    }

    /// The expression for a condition, where it is one of the common forms.
    pub(super) fn condition(&mut self, text: &str, at: &Range<usize>) -> Option<String> {
        let mut text = text.trim();
        if let [Part::Reference(inner)] = parts(text).as_slice() {
            let wrapped = ["__jexl3(", "__jexl2(", "__groovy(", "__javaScript(", "__BeanShell("];
            let start = wrapped.iter().find(|name| inner.starts_with(**name));
            if let Some(start) = start {
                let inner = inner[start.len()..].trim_end();
                let inner = inner.strip_suffix(')').unwrap_or(inner).trim_end();
                let inner = inner.trim_end_matches(',').to_owned();
                return self.condition(&inner, at);
            }
            return Some(format!("str({}) == 'true'", self.expression(inner, at, 0)));
        }
        while let Some(inner) = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')) {
            if inner.contains(['(', ')']) {
                break;
            }
            text = inner.trim();
        }
        for (sign, word) in [("||", "or"), ("&&", "and")] {
            let several: Vec<&str> = text.split(sign).collect();
            if several.len() > 1 {
                let several: Option<Vec<String>> =
                    several.into_iter().map(|one| self.condition(one, at)).collect();
                let several: Vec<String> =
                    several?.into_iter().map(|one| format!("({one})")).collect();
                return Some(several.join(&format!(" {word} ")));
            }
        }
        if text == "true" || text == "false" {
            return Some(text.to_owned());
        }
        if let Some(found) = EQUALS_CALL.captures(text) {
            let left = self.operand(&found[2], at)?;
            let right = self.operand(&found[3], at)?;
            let sign = if found[1].is_empty() { "==" } else { "!=" };
            return Some(format!("{left} {sign} {right}"));
        }
        let found = COMPARISON.captures(text)?;
        let left = self.operand(&found[1], at)?;
        let right = self.operand(&found[3], at)?;
        let sign = match &found[2] {
            "eq" => "==",
            "ne" => "!=",
            "lt" => "<",
            "gt" => ">",
            "le" => "<=",
            "ge" => ">=",
            sign => sign,
        };
        Some(format!("{left} {sign} {right}"))
    }

    /// A side of a comparison: a variable with or without quotes, a text, a number.
    fn operand(&mut self, text: &str, at: &Range<usize>) -> Option<String> {
        let text = text.trim();
        if let Some(found) = VARS_GET.captures(text) {
            return Some(self.variable(&found[1], at));
        }
        let is_quoted =
            |quote: char| text.len() >= 2 && text.starts_with(quote) && text.ends_with(quote);
        let inner = match is_quoted('"') || is_quoted('\'') {
            true => &text[1..text.len() - 1],
            false => text,
        };
        match parts(inner).as_slice() {
            [] => Some("''".to_owned()),
            [Part::Reference(reference)] => Some(self.expression(reference, at, 0)),
            [Part::Text(plain)] if inner.len() < text.len() => Some(quoted(plain)),
            [Part::Text(plain)] => {
                let is_word = matches!(plain.as_str(), "true" | "false" | "null");
                let is_number = plain.parse::<i64>().is_ok();
                (is_word || is_number).then(|| plain.clone())
            }
            _ => None,
        }
    }
}

/// Name and default of `__P(name,default)` and `__property(name,variable,default)`.
fn property_of(inner: &str) -> Option<(String, String)> {
    let (name, rest) = inner.split_once('(')?;
    let arguments = split_arguments(rest.trim_end().strip_suffix(')')?);
    let get = |index: usize| arguments.get(index).map(|text| text.trim().to_owned());
    match name {
        // JMeter takes 1 where there is no default.
        "__P" => Some((get(0)?, get(1).unwrap_or_else(|| "1".to_owned()))),
        "__property" => Some((get(0)?, get(2).unwrap_or_default())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_with_what_is_in_them() {
        let text = |text: &str| Part::Text(text.to_owned());
        let reference = |text: &str| Part::Reference(text.to_owned());
        assert_eq!(
            parts("a${b}c${__P(x,${y})}"),
            [text("a"), reference("b"), text("c"), reference("__P(x,${y})")]
        );
        assert_eq!(parts("${open"), [text("${open")]);
        assert_eq!(split_arguments("a\\,b,${__Random(1,2)},"), ["a,b", "${__Random(1,2)}", ""]);
        assert_eq!(property_of("__P(host,a.test)"), Some(("host".into(), "a.test".into())));
        assert_eq!(property_of("__property(n)"), Some(("n".into(), String::new())));
    }

    #[test]
    fn formats_of_dates_are_those_of_strftime() {
        let format = date_format("yyyy-MM-dd'T'HH:mm:ss.SSS''");
        assert_eq!(format.as_deref(), Some("%Y-%m-%dT%H:%M:%S.%3f'"));
        assert_eq!(date_format("ww"), None);
    }
}
