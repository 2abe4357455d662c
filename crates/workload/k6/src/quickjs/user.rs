//! A user's stack and context.

use std::fmt;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use plan::K6Script;
use rquickjs::{Context, Ctx, Error, Exception, Function, Module, Object, Runtime, Value};

use super::host::{Phase, Shared, State, host};
use super::memory::Counted;
use super::modules::{CORE, Modules, Texts, texts};
use crate::commonjs::EXPORTS;
use crate::exchange::{Answer, Ask, Begin, Fault, Memory, Surroundings, Yielded};

/// A user's stack. Its pages are the kernel's until they are used.
const STACK_BYTES: usize = 512 << 10;
/// The part of it that QuickJS may use; the rest is for the host's functions.
const QUICKJS_BYTES: usize = 384 << 10;
/// Longest text of an error, in characters.
const TEXT_CHARS_MAX: usize = 500;

/// What all users of a loop share: the script's files and options, and the items of shared arrays.
pub struct Common {
    pub(super) script: Arc<K6Script>,
    pub(super) options: Rc<serde_json::Value>,
    pub(super) shared: Rc<Shared>,
    pub(super) texts: Texts,
}

impl fmt::Debug for Common {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Common").field("env", &self.script.env.len()).finish_non_exhaustive()
    }
}

impl Common {
    /// `memory`: what all users' contexts take part of.
    pub fn new(script: &Arc<K6Script>, memory: &Arc<dyn Memory>) -> Common {
        Common {
            script: Arc::clone(script),
            options: Rc::new(serde_json::from_str(&script.options).unwrap_or_default()),
            shared: Rc::new(Shared::new(memory)),
            texts: texts(&script.files),
        }
    }

    /// Says which part of the run's requests are this loop's, 0 to 1, where the options limit their number by second.
    #[must_use]
    pub fn with_part(self, part: f64) -> Common {
        self.shared.part.set(part);
        self
    }
}

/// A user of a script. Between its iterations it keeps what the script's top level has made.
pub struct User {
    state: Rc<State>,
    /// It returns what ended it.
    stack: Coroutine<Answer, Ask, Fault, DefaultStack>,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("vu", &self.state.vu).finish_non_exhaustive()
    }
}

impl User {
    /// A user that has begun nothing. `vu`: its number, from 1.
    ///
    /// # Errors
    /// If there is no memory for its stack.
    pub fn new(common: &Common, vu: u64) -> Result<User, Fault> {
        let Common { script, options, shared, texts } = common;
        let state = Rc::new(State::new(script, options, shared, texts, vu));
        let stack = DefaultStack::new(STACK_BYTES)
            .map_err(|error| Fault::new(format!("there is no stack for another user: {error}")))?;
        let own = Rc::clone(&state);
        let stack = Coroutine::with_stack(stack, move |yielder: &Yielder<Answer, Ask>, first| {
            own.yielder.set(Some(NonNull::from(yielder)));
            live(&own, yielder, first)
        });
        Ok(User { state, stack })
    }

    /// Evaluates the script's top level, for iterations of this scenario. What is wrong with it, its first iteration says.
    pub fn prepare(&mut self, scenario: &str, around: &mut Surroundings<'_>) {
        let begin = Begin { scenario: scenario.to_owned(), ..Begin::default() };
        self.resume(Answer::Begin(Box::new(begin)), around);
        self.state.take_yielded();
    }

    /// Continues with what it waited for, until it waits again or its function has ended.
    pub fn resume(&mut self, answer: Answer, around: &mut Surroundings<'_>) -> Ask {
        if self.stack.done() {
            return Ask::Done(Err(Fault::new("the script's context is gone")));
        }
        // What is there at once is nothing to have waited for: a script that does nothing else ends by its limit.
        let waited = !matches!(answer, Answer::Cookies(_));
        self.state.enter(around, waited);
        let result = self.stack.resume(answer);
        self.state.leave(around);
        match result {
            CoroutineResult::Yield(ask) => ask,
            CoroutineResult::Return(fault) => Ask::Done(Err(fault)),
        }
    }

    /// Whether it can begin no function any more: the script's top level has failed.
    pub fn is_over(&self) -> bool {
        self.stack.done()
    }

    /// What it has recorded since this was last called.
    pub fn take_yielded(&mut self) -> Yielded {
        self.state.take_yielded()
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // A stack with frames of QuickJS cannot be unwound: its functions are interrupted, and return.
        self.state.ends.set(true);
        while self.stack.started() && !self.stack.done() {
            let _ = self.stack.resume(Answer::End);
        }
    }
}

/// A user's life, on its own stack.
fn live(state: &Rc<State>, yielder: &Yielder<Answer, Ask>, first: Answer) -> Fault {
    let Answer::Begin(begin) = first else {
        return ended();
    };
    begin_with(state, &begin);
    let context = match context(state, &Modules::new(state)) {
        Ok(context) => context,
        Err(fault) => return fault,
    };
    context.1.with(|ctx| {
        let exports = match load(&ctx, state) {
            Ok(exports) => exports,
            Err(fault) => return fault,
        };
        state.phase.set(Phase::Call);
        let mut begin = begin;
        loop {
            let began_ms = state.elapsed_ms.get();
            let result = match begin.function.is_empty() {
                true => Ok(None),
                false => call(&ctx, state, &exports, &begin),
            };
            if state.ends.get() {
                return ended();
            }
            if begin.is_iteration() {
                state.shared.iterations.set(state.shared.iterations.get() + 1);
                let tags = [
                    "scenario".to_owned(),
                    begin.scenario.clone(),
                    "group".to_owned(),
                    String::new(),
                ];
                state.sample("iterations", 1.0, &tags);
                state.sample("iteration_duration", state.elapsed_ms.get() - began_ms, &tags);
            }
            begin = match yielder.suspend(Ask::Done(result)) {
                Answer::Begin(begin) => begin,
                Answer::Woken
                | Answer::Response(_)
                | Answer::Cookies(_)
                | Answer::News(_)
                | Answer::End => return ended(),
            };
            begin_with(state, &begin);
        }
    })
}

fn ended() -> Fault {
    Fault::new("interrupted")
}

fn begin_with(state: &State, begin: &Begin) {
    *state.begin.borrow_mut() = begin.clone();
    if begin.is_iteration() {
        state.iteration.set(state.iteration.get() + 1);
    }
}

/// A runtime whose stack is the one that this is called on, and its context.
pub(crate) fn context(state: &Rc<State>, modules: &Modules) -> Result<(Runtime, Context), Fault> {
    let fault = |error: Error| Fault::new(format!("a context of QuickJS cannot be made: {error}"));
    let memory = Counted::new(&state.shared.memory, &state.exhausted).ok_or_else(exhausted)?;
    let runtime = Runtime::new_with_alloc(memory).map_err(fault)?;
    runtime.set_memory_limit(state.script.memory_bytes_max);
    runtime.set_max_stack_size(QUICKJS_BYTES);
    runtime.set_loader(modules.clone(), modules.clone());
    let seen = Rc::clone(state);
    runtime.set_interrupt_handler(Some(Box::new(move || seen.is_over())));
    runtime.set_host_promise_rejection_tracker(Some(Box::new(note_rejection)));
    let context = Context::full(&runtime).map_err(fault)?;
    Ok((runtime, context))
}

/// The fault of a user for whom there is no memory.
fn exhausted() -> Fault {
    let message = "the generator's memory for users of scripts is used up".to_owned();
    Fault { message, is_no_memory: true, ..Fault::default() }
}

/// Tells the modules that a promise is rejected, or that somebody handles that by now.
#[expect(clippy::needless_pass_by_value, reason = "QuickJS calls it with what it owns")]
fn note_rejection<'js>(ctx: Ctx<'js>, promise: Value<'js>, reason: Value<'js>, is_handled: bool) {
    // Without the function the modules have not been evaluated yet.
    if let Ok(note) = ctx.globals().get::<_, Function<'js>>("__rejected") {
        let _ = note.call::<_, ()>((promise, reason, is_handled));
    }
}

/// Evaluates the script's top level; returns its exports.
pub(crate) fn load<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>, Fault> {
    let loaded = || {
        ctx.globals().set("__host", host(ctx, state)?)?;
        let core = super::modules::core();
        Module::declare(ctx.clone(), CORE, core)?.eval()?.1.finish::<()>()?;
        let files = state.script.files.first();
        let file = files.ok_or_else(|| Exception::throw_message(ctx, "there is no script"))?;
        let globals = ctx.globals();
        globals.set("__VU", state.vu)?;
        globals.set("__ITER", 0)?;
        let text = state.texts.borrow().get(&file.name).cloned();
        let text = text.unwrap_or_else(|| Arc::clone(&file.bytes)).to_vec();
        let module = Module::declare(ctx.clone(), file.name.as_str(), text)?;
        let (module, done) = module.eval()?;
        done.finish::<()>()?;
        let exports = module.namespace()?;
        // Those of CommonJS are one object.
        match exports.get::<_, Option<Object<'js>>>(EXPORTS)? {
            Some(all) => Ok(all),
            None => Ok(exports),
        }
    };
    loaded().map_err(|error| thrown(ctx, error, state))
}

/// Calls an exported function, and waits for its promise if it returns one.
fn call<'js>(
    ctx: &Ctx<'js>,
    state: &Rc<State>,
    exports: &Object<'js>,
    begin: &Begin,
) -> Result<Option<String>, Fault> {
    let called = || {
        let function: Value<'js> = exports.get(begin.function.as_str())?;
        let Some(function) = function.into_function() else {
            let message = format!("function '{}' not found in exports", begin.function);
            return Err(Exception::throw_message(ctx, &message));
        };
        ctx.globals().set("__ITER", state.iteration.get().saturating_sub(1))?;
        begin_iteration(ctx, state, begin)?;
        let data = match begin.data.is_empty() {
            true => Value::new_undefined(ctx.clone()),
            false => ctx.json_parse(begin.data.as_str())?,
        };
        let mut value: Value<'js> = function.call((data,))?;
        run_events(ctx, state)?;
        if let Some(promise) = value.clone().into_promise() {
            value = promise.result().unwrap_or(Err(Error::WouldBlock))?;
        }
        match value.is_undefined() {
            true => Ok(None),
            false => Ok(ctx.json_stringify(value)?.map(|json| json.to_string()).transpose()?),
        }
    };
    called().map_err(|error| thrown(ctx, error, state))
}

/// The event loop: runs what is due, until nothing is left that could be.
fn run_events(ctx: &Ctx<'_>, state: &State) -> rquickjs::Result<()> {
    let turn: Function<'_> = ctx.globals().get("__turn")?;
    loop {
        while ctx.execute_pending_job() {
            // The next job would run as if the one that was interrupted had ended.
            if state.exceeded.get() || state.ends.get() {
                return Err(Exception::throw_internal(ctx, "interrupted"));
            }
        }
        if !turn.call::<_, bool>(())? {
            return Ok(());
        }
    }
}

/// Tells the modules that an iteration begins, with its tags.
fn begin_iteration<'js>(ctx: &Ctx<'js>, state: &State, begin: &Begin) -> rquickjs::Result<()> {
    let mut tags = serde_json::Map::new();
    let scenario = &state.options["scenarios"][&begin.scenario];
    for from in [&state.options["tags"], &scenario["tags"]] {
        tags.extend(from.as_object().cloned().into_iter().flatten());
    }
    if !begin.scenario.is_empty() {
        tags.insert("scenario".to_owned(), begin.scenario.clone().into());
    }
    let group = match begin.scenario.is_empty() {
        true => format!("::{}", begin.function),
        false => String::new(),
    };
    let begins: Function<'js> = ctx.globals().get("__begin")?;
    let tags = ctx.json_parse(serde_json::Value::Object(tags).to_string())?;
    begins.call::<_, ()>((tags, group))
}

/// An error of QuickJS in words, with the innermost place in one of the script's files.
pub(crate) fn thrown(ctx: &Ctx<'_>, error: Error, state: &State) -> Fault {
    let is_no_memory = state.exhausted.replace(false);
    let memory = || {
        if is_no_memory {
            return exhausted().message;
        }
        let most = units::bytes(state.script.memory_bytes_max as u64);
        format!("the script needs more memory than {most}")
    };
    let too_long = || {
        let most_ns = state.time_max_ns.get();
        let most = units::duration(most_ns as f64);
        let why = if most_ns < state.script.time_max_ns { ", and the run is over" } else { "" };
        format!("it ran for longer than {most} without waiting{why}")
    };
    let Error::Exception = error else {
        let message = match error {
            Error::Allocation => memory(),
            Error::WouldBlock => "it waits for a promise that nothing settles".to_owned(),
            other => other.to_string(),
        };
        return Fault { is_no_memory, ..Fault::new(message) };
    };
    let value = ctx.catch();
    let exception = value.clone().into_object().and_then(Exception::from_object);
    let message = if state.exceeded.replace(false) {
        too_long()
    } else if let Some(exception) = &exception {
        let message = exception.message().unwrap_or_default();
        let name: Option<String> = exception.as_object().get("name").ok();
        match message.as_str() {
            "out of memory" => memory(),
            _ => format!("{}: {message}", name.unwrap_or_else(|| "Error".to_owned())),
        }
    } else if value.is_null() {
        // QuickJS throws it where no memory is left for an error.
        memory()
    } else {
        let json = ctx.json_stringify(value).ok().flatten();
        let text = json.and_then(|json| json.to_string().ok());
        format!("it threw {}", text.unwrap_or_default())
    };
    let stack = exception.as_ref().and_then(Exception::stack).unwrap_or_default();
    let texts = state.texts.borrow();
    let mut spots = stack.lines().filter_map(|line| {
        texts.keys().find_map(|file| spot(line, file).map(|place| (file.clone(), place)))
    });
    let spot = spots.next();
    Fault {
        message: message.chars().take(TEXT_CHARS_MAX).collect(),
        place: spot.as_ref().map(|(_, place)| *place),
        file: spot.map(|(file, _)| file),
        is_no_memory,
    }
}

/// Line and column of a frame in this file: `    at name (file:3:7)`.
fn spot(line: &str, file: &str) -> Option<(u32, u32)> {
    let at = line.rfind(&format!("{file}:"))?;
    // `a.js` is not meant by `lib/a.js`.
    if !line[..at].ends_with(['(', ' ']) {
        return None;
    }
    let mut numbers = line[at + file.len() + 1..].split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
