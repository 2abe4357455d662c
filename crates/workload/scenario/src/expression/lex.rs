//! Expressions as tokens.

use std::ops::Range;
use std::sync::Arc;

use plan::expr::Value;

/// A piece of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// A number or quoted text.
    Literal(Value),
    /// A name or a word like `and`.
    Name(String),
    /// An operator or bracket.
    Sign(&'static str),
    /// A `}` or the end of the text.
    End,
}

/// A token and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SpannedToken {
    pub(crate) token: Token,
    pub(crate) span: Range<usize>,
}

/// An error in an expression, in bytes of the text around it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ExprError {
    /// The kind of problem, as diagnostics name it.
    pub code: &'static str,
    pub span: Range<usize>,
    /// Lower-case, without a full stop.
    pub message: String,
    /// Advice on what to write instead.
    pub hint: Option<String>,
}

impl ExprError {
    pub(crate) fn new(span: Range<usize>, message: impl Into<String>) -> ExprError {
        ExprError { code: "bad-expression", span, message: message.into(), hint: None }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> ExprError {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn code(mut self, code: &'static str) -> ExprError {
        self.code = code;
        self
    }
}

/// Most tokens of one expression; it bounds how deep evaluation can recurse.
pub(crate) const TOKENS_MAX: usize = 500;

/// Longer signs first, so that `<=` is not read as `<`.
const SIGNS: &[&str] =
    &["==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "(", ")", ","];

/// The tokens from `start` up to an unquoted `}` or the text's end; the last one is
/// [`Token::End`] and stands where the expression ends.
pub(crate) fn tokens(text: &str, start: usize) -> Result<Vec<SpannedToken>, ExprError> {
    let mut found = Vec::new();
    let mut at = start;
    loop {
        at += text[at..].len() - text[at..].trim_start().len();
        let (token, length) = token(text, at)?;
        let end = token == Token::End;
        found.push(SpannedToken { token, span: at..at + length });
        if end {
            return Ok(found);
        }
        if found.len() == TOKENS_MAX {
            return Err(ExprError::new(start..at, "this expression is too long")
                .hint(format!("an expression has at most {TOKENS_MAX} words and operators")));
        }
        at += length;
    }
}

fn token(text: &str, at: usize) -> Result<(Token, usize), ExprError> {
    let rest = &text[at..];
    let Some(first) = rest.chars().next() else {
        return Ok((Token::End, 0));
    };
    match first {
        '}' => Ok((Token::End, 0)),
        '\'' | '"' => quoted(rest, first, at),
        '0'..='9' | '.' => number(rest, at),
        'a'..='z' | 'A'..='Z' | '_' => {
            let end = rest.find(|c: char| !is_name_char(c)).unwrap_or(rest.len());
            Ok((Token::Name(rest[..end].to_owned()), end))
        }
        _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            Some(sign) => Ok((Token::Sign(sign), sign.len())),
            None => {
                let span = at..at + first.len_utf8();
                let error = ExprError::new(span, format!("`{first}` is no part of an expression"));
                Err(if first == '=' { error.hint("write == to compare") } else { error })
            }
        },
    }
}

/// Whether a name may have this character after its first.
pub(crate) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), ExprError> {
    let end = rest.find(|c: char| !is_name_char(c) && c != '.').unwrap_or(rest.len());
    let Some(literal) = Value::from_number(&rest[..end]) else {
        let message = format!("`{}` is not a number", &rest[..end]);
        return Err(ExprError::new(at..at + end, message)
            .hint("numbers in expressions have no unit; quote text: '10ms'"));
    };
    Ok((Token::Literal(literal), end))
}

fn quoted(rest: &str, quote: char, at: usize) -> Result<(Token, usize), ExprError> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((index, c)) = chars.next() {
        if c == quote {
            check_text(&text, at..at + index + 1)?;
            return Ok((Token::Literal(Value::Text(Arc::from(text))), index + 1));
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some((_, 'n')) => text.push('\n'),
            Some((_, 't')) => text.push('\t'),
            Some((_, 'r')) => text.push('\r'),
            Some((_, escaped @ ('\\' | '\'' | '"'))) => text.push(escaped),
            _ => {
                let span = at + index..at + index + 1;
                return Err(ExprError::new(span, "unknown escape in quoted text")
                    .hint(r#"the escapes are \\ \' \" \n \t \r"#));
            }
        }
    }
    Err(ExprError::new(at..at + rest.len(), format!("the closing {quote} is missing")))
}

/// Fails for a text that seems to be a template, since it would be compared as it stands.
fn check_text(text: &str, span: Range<usize>) -> Result<(), ExprError> {
    match text.contains("${") {
        true => Err(ExprError::new(span, "${…} is not replaced within an expression")
            .hint("join texts with +: 'user ' + name; the characters themselves are '$' + '{'")),
        false => Ok(()),
    }
}
