//! Tokens to expressions (a Pratt parser), and text with `${…}` in it to templates.
//!
//! From loosest to tightest: `or`, `and`, `not`, comparisons, `+ -`, `* / %`, unary `-`.

use std::ops::Range;
use std::sync::Arc;

use grpc::Schema;
use plan::expr::eval;
use plan::expr::template::Builder;
use plan::expr::{Binary, Escape, Expr, Func, JsonSearch, Template, Unary, Value};
use plan::pointer_text;

use crate::document::suggest;
use crate::expression::functions::FUNCTIONS;
use crate::expression::json_path;
use crate::expression::lex::{ExprError, SpannedToken, Token, is_name_char, tokens};
use crate::expression::special::{self, SPECIAL, Texts};

/// The names that are known to an expression.
pub trait Scope {
    /// The variable or parameter of that name.
    fn lookup(&self, name: &str) -> Option<Expr>;
    /// Everything that can be looked up.
    fn names(&self) -> Vec<&str>;
    /// An environment variable.
    fn env(&self, name: &str) -> Option<String>;
    /// The text of a file. The error says why it cannot be read.
    fn file(&self, name: &str) -> Result<String, String>;
    /// The message of that name in the `.proto` files, by its number in their schema. The error says why there is none.
    fn message(&self, _name: &str) -> Result<(Arc<Schema>, u32), String> {
        Err("there are no `.proto` files here".to_owned())
    }
    /// The number of the function of that name in the scenario's script. The error says why it cannot be called here.
    fn script(&self, _name: &str) -> Result<Option<u16>, String> {
        Ok(None)
    }
    /// The functions of the scenario's script.
    fn script_names(&self) -> Vec<String> {
        Vec::new()
    }
    /// A hint for a name that is not there; `None`: the nearest known one.
    fn unknown_hint(&self, name: &str) -> Option<String>;
}

/// Deepest nesting of brackets, calls and signs in front: the parser recurses.
const DEPTH_MAX: usize = 64;

/// Characters of a path that a message shows.
const SHOWN_CHARS_MAX: usize = 60;

/// Words that cannot be variables.
const RESERVED: &[&str] = &["user", "iteration", "true", "false", "null", "and", "or", "not"];

/// The meaning that a word already has in expressions, so that it cannot be a variable, and a name
/// for a variable instead.
pub fn reserved_as(word: &str) -> Option<(String, String)> {
    let meaning = match word {
        "user" => "`user` is the user's number in expressions",
        "iteration" => "`iteration` counts the user's sessions in expressions",
        _ => "the word is part of expressions",
    };
    let instead = match word {
        "user" => "user_name".to_owned(),
        _ => format!("{word}_value"),
    };
    RESERVED.contains(&word).then(|| (meaning.to_owned(), instead))
}

/// Whether the language itself has a function of this name.
pub fn is_function(name: &str) -> bool {
    FUNCTIONS.iter().any(|f| f.name == name) || SPECIAL.contains(&name)
}

/// Whether a text can name a variable or parameter.
pub fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(is_name_char)
        && text.len() <= 100
        && !RESERVED.contains(&text)
}

/// A whole text as one expression; `${` and `}` around it may be written or left out.
pub fn expression(text: &str, scope: &dyn Scope) -> Result<Expr, ExprError> {
    let trimmed = text.trim_end();
    let inner = text.trim_start().strip_prefix("${");
    let start = if inner.is_some() { text.find("${").map_or(0, |at| at + 2) } else { 0 };
    let (expr, end) = expression_at(text, start, scope)?;
    let close = usize::from(inner.is_some());
    if end + close == trimmed.len() && trimmed[end..].len() == close {
        return Ok(expr);
    }
    if end >= trimmed.len() {
        return Err(ExprError::new(start.saturating_sub(2)..end, "the closing } is missing"));
    }
    Err(ExprError::new(end..end + 1, "the expression should end here"))
}

/// Text with `${…}` in it; `\${` stands for `${`.
pub fn template(text: &str, escape: Escape, scope: &dyn Scope) -> Result<Template, ExprError> {
    let mut template = Builder::default();
    for piece in pieces(text, scope)? {
        match piece {
            Piece::Text(text) => match escape {
                Escape::JsonText => {
                    let mut out = Vec::new();
                    plan::expr::value::write_json_text(&text, &mut out);
                    template.push_text(&String::from_utf8_lossy(&out));
                }
                Escape::None | Escape::Json | Escape::Url | Escape::UrlRaw => {
                    template.push_text(&text);
                }
            },
            Piece::Expr(Expr::Call(Func::Raw, mut inner)) if escape == Escape::Url => {
                template.push_expr(inner.remove(0), Escape::UrlRaw);
            }
            // What is constant the author wrote, in a URL as it has to stand there.
            Piece::Expr(expr @ Expr::Const(_))
                if escape == Escape::Url && !matches!(expr, Expr::Const(Value::Bytes(_))) =>
            {
                template.push_expr(expr, Escape::None);
            }
            Piece::Expr(expr) => template.push_expr(expr, escape),
        }
    }
    Ok(template.finish())
}

/// The expression, where a text is exactly one `${…}`.
pub fn lone_expression(text: &str, scope: &dyn Scope) -> Result<Option<Expr>, ExprError> {
    let mut pieces = pieces(text, scope)?;
    match (pieces.pop(), pieces.is_empty()) {
        (Some(Piece::Expr(expr)), true) => Ok(Some(expr)),
        _ => Ok(None),
    }
}

enum Piece {
    Text(String),
    Expr(Expr),
}

fn pieces(text: &str, scope: &dyn Scope) -> Result<Vec<Piece>, ExprError> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut at = 0;
    while let Some(found) = text[at..].find("${").map(|index| at + index) {
        if text[at..found].ends_with('\\') {
            plain.push_str(&text[at..found - 1]);
            plain.push_str("${");
            at = found + 2;
            continue;
        }
        plain.push_str(&text[at..found]);
        let (expr, end) = expression_at(text, found + 2, scope)?;
        if !text[end..].starts_with('}') {
            return Err(ExprError::new(found..end, "the closing } is missing"));
        }
        if !plain.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(Piece::Expr(expr));
        at = end + 1;
    }
    plain.push_str(&text[at..]);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// The expression that begins at a byte, and the byte where it ends.
fn expression_at(text: &str, at: usize, scope: &dyn Scope) -> Result<(Expr, usize), ExprError> {
    let mut parser =
        Parser { tokens: tokens(text, at)?, next: 0, depth: 0, scope, texts: Texts::default() };
    let expr = parser.binary(0)?;
    let end = parser.peek();
    if end.token != Token::End {
        return Err(ExprError::new(end.span.clone(), "an operator is missing before this"));
    }
    Ok((expr, end.span.start))
}

struct Parser<'s> {
    /// Never empty; the last one is [`Token::End`].
    tokens: Vec<SpannedToken>,
    next: usize,
    /// Operands that are being parsed inside of each other.
    depth: usize,
    scope: &'s dyn Scope,
    texts: Texts,
}

impl Parser<'_> {
    fn peek(&self) -> &SpannedToken {
        &self.tokens[self.next.min(self.tokens.len() - 1)]
    }

    fn take(&mut self) -> SpannedToken {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn take_sign(&mut self, sign: &'static str) -> bool {
        let found = self.peek().token == Token::Sign(sign);
        self.next += usize::from(found);
        found
    }

    /// Operators that bind at least as tightly as `floor`.
    fn binary(&mut self, floor: u8) -> Result<Expr, ExprError> {
        let start = self.peek().span.start;
        let mut left = self.operand()?;
        while let Some((op, power)) = operator(&self.peek().token) {
            if power < floor {
                break;
            }
            let sign = self.take().span;
            let right = self.binary(power + 1)?;
            if power == COMPARISON && operator(&self.peek().token).is_some_and(|o| o.1 == power) {
                let span = self.peek().span.clone();
                return Err(ExprError::new(span, "comparisons cannot be chained")
                    .hint("write `a < b and b < c`"));
            }
            left = match (left, right) {
                (Expr::Const(a), Expr::Const(b)) => {
                    let value = eval::binary(op, &a, &b).map_err(|error| {
                        let end = self.tokens[self.next.saturating_sub(1)].span.end;
                        let span = start.min(sign.start)..end;
                        ExprError::new(span, error.to_string())
                    })?;
                    Expr::Const(value)
                }
                (left, right) => Expr::Binary(op, Box::new(left), Box::new(right)),
            };
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expr, ExprError> {
        let SpannedToken { token, span } = self.take();
        if self.depth == DEPTH_MAX {
            let message = format!("nested too deeply ({DEPTH_MAX} levels at most)");
            return Err(ExprError::new(span, message));
        }
        self.depth += 1;
        let operand = self.operand_from(token, span);
        self.depth -= 1;
        operand
    }

    fn operand_from(&mut self, token: Token, span: Range<usize>) -> Result<Expr, ExprError> {
        match token {
            Token::Literal(value) => Ok(Expr::Const(value)),
            Token::Sign("!") => self.unary(Unary::Not, UNARY, span),
            Token::Sign("-") => self.unary(Unary::Negate, UNARY, span),
            Token::Name(name) if name == "not" => self.unary(Unary::Not, COMPARISON, span),
            Token::Name(name) if self.take_sign("(") => self.call(&name, &span),
            Token::Name(name) => self.name(&name, span),
            Token::Sign("(") => {
                let inner = self.binary(0)?;
                if self.take_sign(")") {
                    Ok(inner)
                } else {
                    Err(ExprError::new(self.peek().span.clone(), "a closing ) is missing here"))
                }
            }
            Token::Sign(sign) => {
                Err(ExprError::new(span, format!("`{sign}` needs a value before it")))
            }
            Token::End => Err(ExprError::new(span, "a value is missing here")),
        }
    }

    fn unary(&mut self, op: Unary, power: u8, span: Range<usize>) -> Result<Expr, ExprError> {
        match self.binary(power)? {
            Expr::Const(value) => eval::unary(op, &value)
                .map(Expr::Const)
                .map_err(|error| ExprError::new(span, error.to_string())),
            inner => Ok(Expr::Unary(op, Box::new(inner))),
        }
    }

    fn name(&self, name: &str, span: Range<usize>) -> Result<Expr, ExprError> {
        match name {
            "user" => return Ok(Expr::User),
            "iteration" => return Ok(Expr::Iteration),
            "true" => return Ok(Expr::Const(Value::Bool(true))),
            "false" => return Ok(Expr::Const(Value::Bool(false))),
            "null" => return Ok(Expr::Const(Value::Nothing)),
            _ => {}
        }
        if let Some(expr) = self.scope.lookup(name) {
            return Ok(expr);
        }
        let error = ExprError::new(span, format!("`{name}` is not defined"));
        let error = error.code("undefined-variable");
        if FUNCTIONS.iter().any(|f| f.name == name) || SPECIAL.contains(&name) {
            return Err(error.hint(format!("`{name}` is a function: write {name}(…)")));
        }
        let hint = self
            .scope
            .unknown_hint(name)
            .or_else(|| suggest::hint(name, "defined here", self.scope.names()));
        Err(match hint {
            Some(hint) => error.hint(hint),
            None => error.hint(format!("quote it if it is text: '{name}'")),
        })
    }

    /// The arguments and closing bracket of a call whose opening one has been taken.
    fn call(&mut self, name: &str, span: &Range<usize>) -> Result<Expr, ExprError> {
        let mut arguments = Vec::new();
        while !self.take_sign(")") {
            if !arguments.is_empty() && !self.take_sign(",") {
                let message = "a comma or a closing ) is missing here";
                return Err(ExprError::new(self.peek().span.clone(), message));
            }
            arguments.push(self.binary(0)?);
        }
        let end = self.tokens[self.next - 1].span.end;
        self.function(name, arguments, span.start..end, span)
    }

    fn function(
        &mut self,
        name: &str,
        mut arguments: Vec<Expr>,
        whole: Range<usize>,
        span: &Range<usize>,
    ) -> Result<Expr, ExprError> {
        match name {
            "env" => return special::env(self.scope, &arguments, whole, &mut self.texts),
            "file" => return special::file(self.scope, &arguments, whole, &mut self.texts),
            "fake" => return special::fake(arguments, whole),
            "protobuf" | "protobuf_decode" => {
                return special::protobuf(self.scope, name, arguments, whole);
            }
            _ => {}
        }
        let Some(function) = FUNCTIONS.iter().find(|f| f.name == name) else {
            match self.scope.script(name) {
                Ok(Some(function)) => return Ok(Expr::Script(function, arguments)),
                Ok(None) => {}
                Err(why) => return Err(ExprError::new(whole, why)),
            }
            let own = self.scope.script_names();
            let names = FUNCTIONS.iter().map(|f| f.name).chain(SPECIAL);
            let names = names.chain(own.iter().map(String::as_str));
            let error = ExprError::new(span.clone(), format!("there is no function `{name}`"));
            let hint = suggest::hint(name, "the functions are", names);
            return Err(error.code("unknown-function").hint(hint.unwrap_or_default()));
        };
        if !function.arguments.contains(&arguments.len()) {
            let message = match arguments.len() {
                0 => format!("`{name}` needs an argument"),
                1 => format!("`{name}` does not take one argument"),
                count => format!("`{name}` does not take {count} arguments"),
            };
            return Err(ExprError::new(whole, message).hint(format!("write {}", function.form)));
        }
        if let (Func::Json, [text, Expr::Const(path)]) = (function.func, &mut arguments[..]) {
            if let Some(path) = places(&path.to_text(), &whole)? {
                return Ok(Expr::Places(Box::new(path), Box::new(text.clone())));
            }
            *path = Value::text(&pointer(&path.to_text(), &whole)?);
        }
        if name == "jwt"
            && let Some(token) = special::token(&arguments, &whole, &self.texts)?
        {
            return Ok(token);
        }
        let constants: Option<Vec<Value>> = arguments
            .iter()
            .map(|a| if let Expr::Const(value) = a { Some(value.clone()) } else { None })
            .collect();
        match constants.and_then(|values| eval::fold_call(function.func, &values)) {
            Some(Ok(value)) => Ok(Expr::Const(value)),
            Some(Err(error)) => Err(ExprError::new(whole, error.to_string())),
            None => Ok(Expr::Call(function.func, arguments)),
        }
    }
}

/// Constant JSONPath that may name several places.
fn places(text: &str, span: &Range<usize>) -> Result<Option<JsonSearch>, ExprError> {
    json_path::places(text).map_err(|refused| {
        let shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
        ExprError::new(span.clone(), format!("`{shown}` {refused}"))
            .hint("write $.items[0].id for one place, $.items[*].id for a list")
    })
}

/// A constant pointer, also from JSONPath that names one place.
fn pointer(text: &str, span: &Range<usize>) -> Result<String, ExprError> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(text.to_owned());
    }
    if !json_path::is_path(text) {
        let error = ExprError::new(span.clone(), format!("`{text}` is not a JSON pointer"));
        return Err(error.hint("a pointer starts with a slash: json(text, '/items/0/id')"));
    }
    match json_path::tokens(text) {
        Ok(tokens) => Ok(pointer_text(&tokens)),
        Err(refused) => Err(ExprError::new(span.clone(), refused.message).hint(refused.hint)),
    }
}

const COMPARISON: u8 = 3;
const UNARY: u8 = 6;

fn operator(token: &Token) -> Option<(Binary, u8)> {
    Some(match token {
        Token::Name(name) if name == "or" => (Binary::Or, 1),
        Token::Name(name) if name == "and" => (Binary::And, 2),
        Token::Sign(sign) => match *sign {
            "||" => (Binary::Or, 1),
            "&&" => (Binary::And, 2),
            "==" => (Binary::Equal, COMPARISON),
            "!=" => (Binary::NotEqual, COMPARISON),
            "<" => (Binary::Less, COMPARISON),
            "<=" => (Binary::LessEqual, COMPARISON),
            ">" => (Binary::Greater, COMPARISON),
            ">=" => (Binary::GreaterEqual, COMPARISON),
            "+" => (Binary::Add, 4),
            "-" => (Binary::Subtract, 4),
            "*" => (Binary::Multiply, 5),
            "/" => (Binary::Divide, 5),
            "%" => (Binary::Remainder, 5),
            _ => return None,
        },
        Token::Literal(_) | Token::Name(_) | Token::End => return None,
    })
}
