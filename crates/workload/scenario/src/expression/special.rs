//! Functions that are more than a call when a scenario is compiled: they read the environment and files, are chosen by a
//! word, or have keys that are read once.

use std::ops::Range;
use std::sync::Arc;

use crate::document::suggest;
use plan::expr::{Expr, Func, Invention, Language, MessageType, Value};
use signing::{Algorithm, Signer, TokenError};

use crate::expression::lex::ExprError;
use crate::expression::parse::Scope;

/// Names of those that are not in the table of functions.
pub(crate) const SPECIAL: [&str; 5] = ["env", "file", "fake", "protobuf", "protobuf_decode"];
/// Largest file of an expression.
const FILE_BYTES_MAX: usize = 1 << 20;

/// Texts that an expression has from elsewhere, and what they are called.
#[derive(Debug, Default)]
pub(crate) struct Texts(Vec<(Arc<str>, String)>);

impl Texts {
    /// The text as a constant that is recognised later.
    fn constant(&mut self, text: &str, called: String) -> Expr {
        let text: Arc<str> = Arc::from(text);
        self.0.push((Arc::clone(&text), called));
        Expr::Const(Value::Text(text))
    }

    fn name(&self, value: &Value) -> &str {
        let is_it = |(text, _): &&(Arc<str>, String)| matches!(value, Value::Text(found) if Arc::ptr_eq(found, text));
        self.0.iter().find(is_it).map_or("the key", |(_, name)| name)
    }
}

/// `env('NAME')`.
pub(crate) fn env(
    scope: &dyn Scope,
    arguments: &[Expr],
    whole: Range<usize>,
    texts: &mut Texts,
) -> Result<Expr, ExprError> {
    let [Expr::Const(Value::Text(name))] = arguments else {
        return Err(
            ExprError::new(whole, "`env` takes one name in quotes").hint("write env('HOST')")
        );
    };
    match scope.env(name) {
        Some(value) => Ok(texts.constant(&value, format!("the environment variable `{name}`"))),
        None => {
            let message = format!("the environment variable `{name}` is not set");
            Err(ExprError::new(whole, message).code("missing-env"))
        }
    }
}

/// `file('NAME')`.
pub(crate) fn file(
    scope: &dyn Scope,
    arguments: &[Expr],
    whole: Range<usize>,
    texts: &mut Texts,
) -> Result<Expr, ExprError> {
    let [Expr::Const(Value::Text(name))] = arguments else {
        return Err(ExprError::new(whole, "`file` takes one name in quotes")
            .hint("write file('key.pem'); the name is relative to the scenario"));
    };
    let text = scope.file(name).and_then(|text| match text.len() {
        0..=FILE_BYTES_MAX => Ok(text),
        _ => Err("it is larger than 1 MiB".to_owned()),
    });
    match text {
        Ok(text) => Ok(texts.constant(&text, format!("`{name}`"))),
        Err(why) => {
            let message = format!("`{name}` cannot be read: {why}");
            Err(ExprError::new(whole, message).code("no-file"))
        }
    }
}

/// `fake('kind', count, 'language')`, with or without the last two.
pub(crate) fn fake(mut arguments: Vec<Expr>, whole: Range<usize>) -> Result<Expr, ExprError> {
    let refused = |message: String, hint: &str| {
        Err(ExprError::new(whole.clone(), message).hint(hint.to_owned()))
    };
    let kinds = Invention::ALL.iter().map(|(name, _)| *name);
    let kind = match arguments.first() {
        Some(Expr::Const(Value::Text(kind))) => Arc::clone(kind),
        _ => {
            let hint = suggest::hint("", "the kinds are", kinds).unwrap_or_default();
            return refused("`fake` takes a kind in quotes".to_owned(), &hint);
        }
    };
    let Some((_, what)) = Invention::ALL.iter().find(|(name, _)| **name == *kind) else {
        let hint = suggest::hint(&kind, "the kinds are", kinds).unwrap_or_default();
        return refused(format!("`fake` makes no `{kind}`"), &hint);
    };
    arguments.remove(0);
    let mut language = Language::English;
    if let Some(Expr::Const(Value::Text(code))) = arguments.last() {
        let Some((_, found)) = Language::ALL.iter().find(|(known, _)| **known == **code) else {
            let codes = Language::ALL.iter().map(|(code, _)| *code);
            let hint = suggest::hint(code, "the languages are", codes).unwrap_or_default();
            return refused(format!("`fake` knows no language `{code}`"), &hint);
        };
        language = *found;
        arguments.pop();
    }
    match (arguments.len(), what.count()) {
        (0, _) | (1, Some(_)) => Ok(Expr::Call(Func::Fake(*what, language), arguments)),
        (_, Some(_)) => refused(
            format!("`fake('{kind}')` takes a number and a language at most"),
            &format!("write fake('{kind}', 5, 'de')"),
        ),
        (_, None) => refused(
            format!("`fake('{kind}')` takes a language at most"),
            &format!("write fake('{kind}', 'de')"),
        ),
    }
}

/// `protobuf('package.Message', x)` and `protobuf_decode('package.Message', x)`.
pub(crate) fn protobuf(
    scope: &dyn Scope,
    function: &str,
    mut arguments: Vec<Expr>,
    whole: Range<usize>,
) -> Result<Expr, ExprError> {
    let value = arguments.pop();
    let [Expr::Const(Value::Text(name))] = &arguments[..] else {
        let message = format!("`{function}` takes the name of a message in quotes, and a value");
        let hint = format!("write {function}('shop.Order', x)");
        return Err(ExprError::new(whole, message).hint(hint));
    };
    match scope.message(name) {
        Ok((schema, message)) => {
            let value = value.unwrap_or(Expr::Const(Value::Nothing));
            let decodes = function == "protobuf_decode";
            let kind = MessageType { schema, message, decodes };
            Ok(Expr::Protobuf(Box::new(kind), Box::new(value)))
        }
        Err(why) => Err(ExprError::new(whole, why).code("unknown-message")),
    }
}

/// A token whose key is a pair of keys and the same for all users: it is read here. `None`: it is any other.
pub(crate) fn token(
    arguments: &[Expr],
    whole: &Range<usize>,
    texts: &Texts,
) -> Result<Option<Expr>, ExprError> {
    let [claims, Expr::Const(key), Expr::Const(algorithm), header @ ..] = arguments else {
        return Ok(None);
    };
    let refused = |error: TokenError| {
        let (message, hint) = match error {
            TokenError::Key(error) => {
                (format!("jwt: {} {error}", texts.name(key)), Some(error.hint()))
            }
            other => (format!("jwt: {other}"), None),
        };
        let refused = ExprError::new(whole.clone(), message).code("bad-key");
        match hint {
            Some(hint) => refused.hint(hint),
            None => refused,
        }
    };
    let algorithm = Algorithm::parse(&algorithm.to_text()).map_err(refused)?;
    if algorithm.is_keyed_hash() {
        return Ok(None);
    }
    let own = match header {
        [Expr::Const(Value::Nothing)] | [] => Some("{}".into()),
        [Expr::Const(header)] => Some(header.to_text()),
        _ => None,
    };
    let signer = Signer::new(algorithm, &key.to_text(), own.as_deref()).map_err(refused)?;
    let mut varying = vec![claims.clone()];
    if own.is_none() {
        varying.extend_from_slice(header);
    }
    match &varying[..] {
        // All signatures of it are equal, so one serves all.
        [Expr::Const(claims)] if algorithm.repeats() => {
            let token = signer.token(None, &claims.to_text()).map_err(refused)?;
            Ok(Some(Expr::Const(Value::text(&token))))
        }
        _ => Ok(Some(Expr::Token(Arc::new(signer), varying))),
    }
}
