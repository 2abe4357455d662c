//! The declarations at the top level of a script.
//!
//! QuickJS does not list `const`, `let` and `class`. So each word of the text is tried in the context that has evaluated it:
//! what can be read and not assigned is a constant or a function, what can be assigned would be state that one call leaves
//! to the next. Words in comments and texts are tried as well, which does no harm.

use std::collections::{BTreeMap, BTreeSet};

use rquickjs::object::Filter;
use rquickjs::{Ctx, Exception, Value};

use crate::calls::Fault;

/// Longest name that is tried.
const NAME_BYTES_MAX: usize = 100;

/// Names that a context has of itself.
pub(crate) fn built_in(ctx: &Ctx<'_>) -> BTreeSet<String> {
    let keys = ctx.globals();
    let keys = keys.own_keys::<String>(Filter::new().string());
    keys.filter_map(Result::ok).collect()
}

/// The names that a text declares at its top, in order. The context has evaluated it, and its global object is
/// frozen.
pub(crate) fn declared(
    ctx: &Ctx<'_>,
    text: &str,
    built_in: &BTreeSet<String>,
) -> Result<Vec<String>, Fault> {
    let mut found = Vec::new();
    for (word, at) in words(text) {
        // The global object's prototype is no variable, although it can be assigned to itself.
        if built_in.contains(word) || word == "__proto__" {
            continue;
        }
        match ctx.eval::<Value<'_>, _>(format!("{word} = {word}")) {
            Ok(value) if !is_class(&value) => return Err(assignable(text, word, at)),
            Ok(_) => found.push(word.to_owned()),
            Err(_) if is_constant(ctx) => found.push(word.to_owned()),
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Whether an assignment failed because it cannot be done, not for lack of a variable.
fn is_constant(ctx: &Ctx<'_>) -> bool {
    let thrown = ctx.catch().into_object();
    let exception = thrown.and_then(Exception::from_object);
    let name = exception.and_then(|exception| exception.as_object().get::<_, String>("name").ok());
    name.as_deref() == Some("TypeError")
}

/// The name of a class can be assigned, so each call finds it set back.
pub(crate) fn is_class(value: &Value<'_>) -> bool {
    let function = value.as_function();
    let text = function.and_then(|function| {
        let to_string: rquickjs::Function<'_> = function.get("toString").ok()?;
        let this = rquickjs::function::This(function.clone());
        to_string.call::<_, String>((this,)).ok()
    });
    text.is_some_and(|text| text.starts_with("class"))
}

/// Words that may be names, with where each stands first.
pub(crate) fn words(text: &str) -> BTreeMap<&str, usize> {
    let mut found = BTreeMap::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let is_part = c.is_alphanumeric() || matches!(c, '_' | '$');
        match start {
            None if is_part => start = Some(at),
            Some(from) if !is_part => {
                let word = &text[from..at];
                if !word.starts_with(|c: char| c.is_numeric()) && word.len() <= NAME_BYTES_MAX {
                    found.entry(word).or_insert(from);
                }
                start = None;
            }
            _ => {}
        }
    }
    found
}

/// Refuses a text with a literal of a `BigInt`, as `10n` or `0xFFn`: one operation on large ones takes longer than a call
/// may, and no operator looks at the time. Such a literal begins with a digit where no name goes on, so that none is missed;
/// words of comments and texts that look like one are refused as well.
pub(crate) fn refuse_big_integers(text: &str) -> Result<(), Fault> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    let mut at = 0;
    while let Some(from) = text[at..].find(is_part).map(|offset| at + offset) {
        let end =
            text[from..].find(|c: char| !is_part(c)).map_or(text.len(), |offset| from + offset);
        if is_big_integer(&text[from..end]) {
            return Err(Fault {
                message: format!(
                    "`{}` is a BigInt, which scripts do not have: one operation on large ones may take longer \
                     than a call; use numbers, or texts of digits",
                    &text[from..end]
                ),
                file: None,
                place: place(text, from),
            });
        }
        at = end;
    }
    Ok(())
}

fn is_big_integer(word: &str) -> bool {
    let Some(digits) =
        word.strip_suffix('n').filter(|_| word.starts_with(|c: char| c.is_ascii_digit()))
    else {
        return false;
    };
    digits.bytes().all(|byte| byte.is_ascii_hexdigit() || b"_xXoO".contains(&byte))
}

/// Line and column, from 1, of a position in a text.
pub(crate) fn place(text: &str, at: usize) -> Option<(u32, u32)> {
    let line_start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = text[..at].matches('\n').count() + 1;
    let column = text[line_start..at].chars().count() + 1;
    u32::try_from(line).ok().zip(u32::try_from(column).ok())
}

pub(crate) fn assignable(text: &str, word: &str, first: usize) -> Fault {
    let by_let = text.find(&format!("let {word}"));
    let at = by_let.map_or(first, |at| at + "let ".len());
    Fault {
        message: format!(
            "`{word}` can be assigned at the top of the script, so one call would leave it to the next of \
             another user; write `const`, and keep what a user needs in variables of the scenario"
        ),
        file: None,
        place: place(text, at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_once_each() {
        let found = words("const a1 = b_$(a1, 1e5) + \"ä\" // a1");
        let names: Vec<&str> = found.keys().copied().collect();
        assert_eq!(names, ["a1", "b_$", "const", "ä"]);
        assert_eq!(found["a1"], 6);
    }

    #[test]
    fn literals_of_big_integers_are_found() {
        for text in
            ["1n", "a=0n", "(1_0n)", "0xAfn", "0b1n", "0O7n", "x - 5n;", "`${7n}`", "'12n'", "1.5n"]
        {
            assert!(refuse_big_integers(text).is_err(), "{text}");
        }
        for text in ["a1n", "_1n", "$1n", "ä1n", "1 n", "n", "0xn0", "12 in x", "1e3", "2min", ""]
        {
            assert!(refuse_big_integers(text).is_ok(), "{text}");
        }
    }
}
