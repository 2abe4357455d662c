//! `handleSummary`: called once, after the run, in a context of its own.

use std::rc::Rc;
use std::sync::Arc;

use plan::K6Script;
use rquickjs::{Ctx, Exception, Value};

use super::host::{Phase, State, bytes_of};
use super::memory::Unlimited;
use super::modules::Modules;
use super::user::{Common, context, load, thrown};
use crate::exchange::{Console, Fault, Memory, Surroundings};
use crate::summary::Written;

/// Most files that it wants written, and most bytes of all of them.
const FILES_MAX: usize = 100;
const BYTES_MAX: usize = 64 << 20;

/// Calls the script's `handleSummary` with this summary; returns what it wants written and what it has written to the console.
/// `None`: the script has none, or wants nothing.
///
/// # Errors
/// If it throws, or returns something else than texts by their paths.
pub fn handle_summary(
    script: &Arc<K6Script>,
    summary: &serde_json::Value,
    around: &mut Surroundings<'_>,
) -> (Result<Option<Vec<Written>>, Fault>, Console) {
    let main = script.files.first().map_or(&[][..], |file| &file.bytes[..]);
    if !main.windows(NAME.len()).any(|word| word == NAME.as_bytes()) {
        return (Ok(None), Console::default());
    }
    let memory: Arc<dyn Memory> = Arc::new(Unlimited);
    let Common { script, options, shared, texts } = &Common::new(script, &memory);
    let state = Rc::new(State::new(script, options, shared, texts, 0));
    state.enter(around, true);
    let written = context(&state, &Modules::new(&state)).and_then(|context| {
        context.1.with(|ctx| {
            let exports = load(&ctx, &state)?;
            state.phase.set(Phase::Call);
            let called = || {
                let function: Value<'_> = exports.get(NAME)?;
                let Some(function) = function.into_function() else {
                    return Ok(None);
                };
                let data = ctx.json_parse(summary.to_string())?;
                let mut value: Value<'_> = function.call((data,))?;
                if let Some(promise) = value.clone().into_promise() {
                    value = promise.finish()?;
                }
                written(&ctx, &value)
            };
            called().map_err(|error| thrown(&ctx, error, &state))
        })
    });
    (written, state.take_yielded().console)
}

/// The function's name.
const NAME: &str = "handleSummary";

fn written<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> rquickjs::Result<Option<Vec<Written>>> {
    if value.is_undefined() || value.is_null() {
        return Ok(None);
    }
    let Some(object) = value.as_object() else {
        return Err(Exception::throw_type(
            ctx,
            "handleSummary() should return an object of texts by their paths",
        ));
    };
    let mut all = Vec::new();
    let mut total = 0;
    for entry in object.props::<String, Value<'js>>() {
        let (path, content) = entry?;
        let bytes = bytes_of(ctx, &content).map_err(|_| {
            ctx.catch();
            Exception::throw_type(
                ctx,
                &format!("handleSummary() has no text for {path:?}: write JSON.stringify(…)"),
            )
        })?;
        total += bytes.len();
        all.push(Written { path, bytes });
        if all.len() > FILES_MAX || total > BYTES_MAX {
            let message = format!(
                "handleSummary() wants more than {FILES_MAX} files written, or {} MiB",
                BYTES_MAX >> 20
            );
            return Err(Exception::throw_range(ctx, &message));
        }
    }
    Ok(Some(all))
}
