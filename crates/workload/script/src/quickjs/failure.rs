//! Errors of scripts, in words, with their places.

use rquickjs::{Ctx, Error, Exception, Value};

use super::state::State;
use crate::calls::{Failure, Fault};

/// Longest text of an error that is passed on, in characters.
const TEXT_CHARS_MAX: usize = 300;

/// An exception that was thrown: its words, and the innermost place in one of some texts.
pub(crate) struct ScriptException {
    pub(crate) message: String,
    pub(crate) place: Option<Spot>,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl ScriptException {
    /// As what happened in a call.
    pub(crate) fn in_call(self, called: &str) -> Failure {
        let ScriptException { message, place } = self;
        Failure(match place {
            Some(Spot { file, line, column }) => {
                format!("{called}: {message}, at {file}:{line}:{column}")
            }
            None => format!("{called}: {message}"),
        })
    }

    /// As what is wrong with a text.
    pub(crate) fn in_text(self) -> Fault {
        Fault {
            message: self.message,
            place: self.place.as_ref().map(|spot| (spot.line, spot.column)),
            file: self.place.map(|spot| spot.file),
        }
    }
}

/// Limits as messages name them.
pub(crate) struct LimitTexts {
    pub(crate) time: String,
    /// The number alone.
    pub(crate) time_max: String,
    pub(crate) memory: String,
}

impl LimitTexts {
    /// A built-in function was not begun, because it might not end in time.
    pub(crate) fn too_much(&self, called: &str) -> String {
        let Self { time_max, .. } = self;
        format!(
            "`{called}` of this much may take longer than what is left of {time_max} (`options.script_time_max`)"
        )
    }
}

/// The exception behind an error of a call. `files`: the texts whose places are wanted.
pub(crate) fn thrown(
    ctx: &Ctx<'_>,
    error: Error,
    state: &State,
    limits: &LimitTexts,
    files: &[impl AsRef<str>],
) -> ScriptException {
    let Error::Exception = error else {
        let message = match error {
            Error::Allocation => limits.memory.clone(),
            Error::Utf8(_) => {
                "the text has half of a surrogate pair, which no other text can hold".to_owned()
            }
            Error::InvalidString(_) => "the text has a character of code 0".to_owned(),
            other => other.to_string(),
        };
        return ScriptException { message, place: None };
    };
    let value = ctx.catch();
    let exception = value.clone().into_object().and_then(Exception::from_object);
    let stack = exception.as_ref().and_then(Exception::stack);
    let place = stack.and_then(|stack| place_in(&stack, files));
    if state.exceeded() {
        let message = limits.time.clone();
        return ScriptException { message, place };
    }
    let message = match &exception {
        Some(exception) => described(exception, limits),
        // QuickJS throws it where no memory is left for an error.
        None if value.is_null() => limits.memory.clone(),
        None => format!("it threw {}", shown(ctx, &value)),
    };
    let message = shortened(&message);
    ScriptException { message, place }
}

fn described(exception: &Exception<'_>, limits: &LimitTexts) -> String {
    let message = exception.message().unwrap_or_default();
    if message == "out of memory" {
        return limits.memory.clone();
    }
    let name: Option<String> = exception.as_object().get("name").ok();
    let name = name.unwrap_or_else(|| "Error".to_owned());
    format!("{name}: {message}")
}

/// A thrown value that is no error.
fn shown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    let text = match value.as_string() {
        Some(text) => text.to_string().ok(),
        None => {
            let json = ctx.json_stringify(value.clone()).ok().flatten();
            json.and_then(|json| json.to_string().ok())
        }
    };
    text.unwrap_or_else(|| value.type_name().to_owned())
}

/// The first frame in one of the files: `    at name (file:3:7)`.
fn place_in(stack: &str, files: &[impl AsRef<str>]) -> Option<Spot> {
    let in_file = |line: &str, file: &str| {
        let at = line.rfind(&format!("{file}:"))?;
        // `a.js` is not meant by `lib/a.js`.
        if !line[..at].ends_with(['(', ' ']) {
            return None;
        }
        let mut numbers = line[at + file.len() + 1..].split(|c: char| !c.is_ascii_digit());
        Some(Spot {
            file: file.to_owned(),
            line: numbers.next()?.parse().ok()?,
            column: numbers.next()?.parse().ok()?,
        })
    };
    let mut spots =
        stack.lines().filter_map(|line| files.iter().find_map(|file| in_file(line, file.as_ref())));
    spots.next()
}

/// A text's beginning, on one line.
fn shortened(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    match text.char_indices().nth(TEXT_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_frame_of_a_file_is_the_place() {
        let stack = "    at parse (native)\n    at f (script.js:12:7)\n    at g (scenario:2:1)\n";
        let place = |stack: &str, files: &[&str]| {
            place_in(stack, files).map(|spot| (spot.file, spot.line, spot.column))
        };
        let both = ["script.js", "scenario"];
        assert_eq!(place(stack, &both), Some(("script.js".to_owned(), 12, 7)));
        assert_eq!(place(stack, &["scenario"]), Some(("scenario".to_owned(), 2, 1)));
        assert_eq!(place("    at script.js:3:5", &both), Some(("script.js".to_owned(), 3, 5)));
        assert_eq!(place("    at f (lib/script.js:3:5)", &both), None);
        assert_eq!(place(stack, &["other.js"]), None);
        assert_eq!(place("script.js:", &both), None);
    }

    #[test]
    fn long_texts_are_cut() {
        assert_eq!(shortened("a\nb"), "a b");
        assert_eq!(shortened(&"ä".repeat(400)).chars().count(), 301);
    }
}
