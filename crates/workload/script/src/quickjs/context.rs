//! QuickJS with the functions and steps of one scenario.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use machine::clock::monotonic_ns;
use plan::expr::Value;
use plan::{Script, ScriptFile, ScriptStep};
use rquickjs::context::EvalOptions;
use rquickjs::context::intrinsic::{
    Date, Eval, Json, MapSet, Promise, RegExp, RegExpCompiler, TypedArrays,
};
use rquickjs::function::Args;
use rquickjs::{
    Ctx, Exception, Function, Module, Object, Persistent, Result, Runtime, Value as JsValue,
};

use super::bindings::{assignable, built_in, declared, is_class, refuse_big_integers, words};
use super::failure::{LimitTexts, ScriptException, thrown};
use super::modules::{self, FoundImports, Import, Names, PROBE, Texts, is_module, plain_name};
use super::state::{Look, State};
use super::step::{self, STEP_FILE};
use super::values::{from_js, to_js};
use crate::calls::{Console, Failure, Fault, IMPORTS_MAX, Limits, SCRIPT_BYTES_MAX, Surroundings};

/// Time that evaluating a script may take when it is loaded.
const LOADING_NS_MAX: u64 = 2_000_000_000;
/// Stack of a call. Loops are threads with 2 MiB.
const STACK_BYTES_MAX: usize = 256 << 10;
/// How long a byte of a text may take that is copied to a script, nanoseconds: one that is decoded to UTF-16.
const COPIED_BYTE_NS: u64 = 3;
/// Arguments of up to this many bytes together are copied in no time that counts.
const COPIED_BYTES: usize = 16 << 10;
/// Jobs of promises that are run to be rid of them.
const JOBS_MAX: u32 = 1000;
/// The error of calls of scripts that use promises.
const PROMISES: &str = "it uses promises, which nothing waits for: write functions without `async`";

type Intrinsics = (Date, Eval, RegExpCompiler, RegExp, Json, MapSet, TypedArrays, Promise);

/// A scenario's functions and steps, for one thread.
pub struct Context {
    // Values are dropped before their context.
    functions: Vec<(String, Persistent<Function<'static>>)>,
    steps: Vec<Persistent<Function<'static>>>,
    /// Sets back what a call can change and cannot be frozen, if the script keeps anything of the kind: where regular
    /// expressions stopped, elements of typed arrays, names of classes.
    reset: Option<Persistent<Function<'static>>>,
    context: rquickjs::Context,
    runtime: Runtime,
    state: Rc<State>,
    limits: Limits,
    named: Rc<LimitTexts>,
    /// The names of the files whose places errors name: those of functions, and those that have steps.
    files: Vec<String>,
    declared: Vec<String>,
    calls: u64,
    used_ns: u64,
    /// Jobs of promises are left that cannot be run.
    is_stuck: bool,
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.functions.iter().map(|(name, _)| name).collect();
        f.debug_struct("Context")
            .field("files", &self.files)
            .field("functions", &names)
            .finish_non_exhaustive()
    }
}

impl Context {
    /// The modules that these files import, and that these import: `read` gives the text of a file by its name, or says why
    /// there is none.
    ///
    /// # Errors
    /// If one cannot be read, is no path or outside of the scenario's folder, has a syntax error, or if they are too many.
    pub fn imports(
        files: &[ScriptFile],
        limits: Limits,
        read: &dyn Fn(&str) -> std::result::Result<String, String>,
    ) -> std::result::Result<Vec<ScriptFile>, Fault> {
        let mut found: Vec<ScriptFile> = Vec::new();
        if !files.iter().any(is_module) {
            return Ok(found);
        }
        loop {
            let missing = Context::bare(files, &found, limits)?.missing(files, &found)?;
            if missing.is_empty() {
                return Ok(found);
            }
            for import in missing {
                if found.iter().any(|file| file.name == import.name) {
                    continue;
                }
                let bytes: usize = files.iter().chain(&found).map(|file| file.text.len()).sum();
                if found.len() >= IMPORTS_MAX || bytes > SCRIPT_BYTES_MAX {
                    let message = format!(
                        "more than {IMPORTS_MAX} modules, or {} KiB, are imported",
                        SCRIPT_BYTES_MAX >> 10
                    );
                    return Err(import.fault(message, files.iter().chain(&found)));
                }
                let text = read(&import.name).map_err(|reason| {
                    let message = format!("`{}` cannot be read: {reason}", import.name);
                    import.fault(message, files.iter().chain(&found))
                })?;
                found.push(ScriptFile { name: import.name, text: text.into() });
            }
        }
    }

    /// Reads scripts one after the other, and finds what they declare at their tops, or export. They share one scope: each
    /// finds what those before it declare. `imports`: what [`Context::imports`] found.
    ///
    /// # Errors
    /// If one cannot be loaded: a syntax error, an exception of its top level, a variable there that can be assigned, a
    /// name that another one declares.
    pub fn load(
        files: &[ScriptFile],
        imports: &[ScriptFile],
        limits: Limits,
    ) -> std::result::Result<Context, Fault> {
        let mut context = Context::bare(files, imports, limits)?;
        context.declared = context.evaluate(files, imports, None)?;
        Ok(context)
    }

    /// The context of a loop: its functions and steps have the numbers that they have in the plan.
    ///
    /// # Errors
    /// As those of [`Context::load`]. The plan was compiled from the same texts, so they come from limits.
    pub fn new(script: &Script) -> std::result::Result<Context, Fault> {
        let limits =
            Limits { time_max_ns: script.time_max_ns, memory_bytes_max: script.memory_bytes_max };
        let mut context = Context::bare(&script.files, &script.imports, limits)?;
        context.declared =
            context.evaluate(&script.files, &script.imports, Some(&script.declared))?;
        for name in &script.functions {
            if context.function(name).is_none() {
                let message = format!("`{name}` is no function any more");
                return Err(Fault { message, file: None, place: None });
            }
        }
        for step in &script.steps {
            context.step(step)?;
        }
        Ok(context)
    }

    fn bare(
        files: &[ScriptFile],
        imports: &[ScriptFile],
        limits: Limits,
    ) -> std::result::Result<Context, Fault> {
        let fault = |error: rquickjs::Error| Fault {
            message: format!("a context of QuickJS cannot be made: {error}"),
            file: None,
            place: None,
        };
        let runtime = Runtime::new().map_err(fault)?;
        runtime.set_memory_limit(limits.memory_bytes_max);
        runtime.set_max_stack_size(STACK_BYTES_MAX);
        let context = rquickjs::Context::custom::<Intrinsics>(&runtime).map_err(fault)?;
        let state = Rc::new(State::default());
        let seen = Rc::clone(&state);
        runtime.set_interrupt_handler(Some(Box::new(move || seen.is_over())));
        let time = round(&units::duration(limits.time_max_ns as f64));
        let memory = round(&units::bytes(limits.memory_bytes_max as u64));
        let named = LimitTexts {
            time: format!("it took longer than {time} (`options.script_time_max`)"),
            time_max: time,
            memory: format!("it needs more memory than {memory} (`options.script_memory_max`)"),
        };
        Ok(Context {
            functions: Vec::new(),
            steps: Vec::new(),
            reset: None,
            context,
            runtime,
            state,
            limits,
            named: Rc::new(named),
            files: files.iter().chain(imports).map(name_of).collect(),
            declared: Vec::new(),
            calls: 0,
            used_ns: 0,
            is_stuck: false,
        })
    }

    /// The imports of modules that are not among these texts.
    fn missing(
        &self,
        files: &[ScriptFile],
        imports: &[ScriptFile],
    ) -> std::result::Result<Vec<Import>, Fault> {
        let modules = || files.iter().filter(|file| is_module(file)).chain(imports);
        let texts = Texts::new(modules(), false);
        let found = Rc::new(RefCell::new(FoundImports::default()));
        self.runtime.set_loader(Names::new(&texts, &found), texts);
        self.state.begin_loading(LOADING_NS_MAX);
        let text = in_turn(modules());
        let declared = self.context.with(|ctx| {
            let declared = Module::declare(ctx.clone(), modules::root("imports"), text);
            let fault =
                |error| thrown(&ctx, error, &self.state, &self.named, &self.files).in_text();
            declared.map(|_| ()).map_err(fault)
        });
        let found = std::mem::take(&mut *found.borrow_mut());
        match (found.refused, declared) {
            (Some((import, message)), _) => Err(import.fault(message, files.iter().chain(imports))),
            (None, Err(fault)) => Err(fault),
            (None, Ok(())) => Ok(found.missing),
        }
    }

    /// Evaluates each text once and freezes what they made; returns what they declare, which is sought if it is not
    /// known.
    fn evaluate(
        &mut self,
        files: &[ScriptFile],
        imports: &[ScriptFile],
        known: Option<&[String]>,
    ) -> std::result::Result<Vec<String>, Fault> {
        for file in files.iter().chain(imports) {
            refuse_big_integers(&file.text).map_err(|fault| in_file(fault, file))?;
        }
        let modules: Vec<&ScriptFile> =
            files.iter().filter(|file| is_module(file)).chain(imports).collect();
        if !modules.is_empty() {
            let texts = Texts::new(modules.iter().copied(), true);
            self.runtime.set_loader(Names::new(&texts, &Rc::default()), texts);
        }
        self.state.begin_loading(LOADING_NS_MAX);
        let state = Rc::clone(&self.state);
        let named = Rc::clone(&self.named);
        let found = self.context.with(|ctx| {
            let file_names = &self.files;
            let fault = |error| thrown(&ctx, error, &state, &named, file_names).in_text();
            let kit = prelude(&ctx, &state, &named).map_err(fault)?;
            let before = built_in(&ctx);
            let settle: Function<'_> = kit.get("settle").map_err(fault)?;
            if !modules.is_empty() {
                let text = in_turn(modules.iter().copied());
                let declared = Module::declare(ctx.clone(), modules::root("imports"), text);
                declared.map_err(fault)?;
            }
            let mut exported = Vec::new();
            for file in files {
                // What those before have declared cannot be declared again.
                settle.call::<_, JsValue<'_>>(()).map_err(fault)?;
                if is_module(file) {
                    let name = name_of(file);
                    let exports = namespace(&ctx, &name, &fault, file)?;
                    exported.extend(declare_exports(&ctx, &kit, &exports, &fault, file)?);
                    continue;
                }
                let evaluated = eval::<JsValue<'_>>(&ctx, &file.text, &file.name);
                evaluated.map_err(|error| in_file(fault(error), file))?;
            }
            for file in &modules {
                survey(&ctx, &kit, &fault, file)?;
            }
            let call = |name: &str| {
                let called = kit.get::<_, Function<'_>>(name);
                called.and_then(|called| called.call::<_, JsValue<'_>>(())).map_err(fault)
            };
            call("close")?;
            call("fixSurveyed")?;
            let names = match known {
                Some(names) => names.to_vec(),
                None => {
                    let mut names = exported;
                    for file in files.iter().filter(|file| !is_module(file)) {
                        let found = declared(&ctx, &file.text, &before);
                        for name in found.map_err(|fault| in_file(fault, file))? {
                            // Whoever uses a name of another file has its word, too.
                            if !names.contains(&name) {
                                names.push(name);
                            }
                        }
                    }
                    names
                }
            };
            let reset = fix(&ctx, &kit, &names).map_err(fault)?;
            Ok((names, reset))
        });
        let (names, reset) = found?;
        self.reset = reset;
        if self.has_left_jobs() {
            return Err(Fault { message: PROMISES.to_owned(), file: None, place: None });
        }
        Ok(names)
    }

    /// The names that the script declares at its top.
    pub fn declared(&self) -> &[String] {
        &self.declared
    }

    /// The number of the function of that name, which is looked up once. `None`: there is none.
    pub fn function(&mut self, name: &str) -> Option<usize> {
        if let Some(at) = self.functions.iter().position(|(known, _)| known == name) {
            return Some(at);
        }
        if !self.declared.iter().any(|declared| declared == name) {
            return None;
        }
        let found = self.context.with(|ctx| {
            let value: JsValue<'_> = ctx.eval(name).ok()?;
            let function = value.into_function()?;
            Some(Persistent::save(&ctx, function))
        })?;
        self.functions.push((name.to_owned(), found));
        Some(self.functions.len() - 1)
    }

    /// Those of the declared names that are functions.
    pub fn function_names(&self) -> Vec<String> {
        self.context.with(|ctx| {
            let is_function = |name: &&String| {
                let value = ctx.eval::<JsValue<'_>, _>(name.as_str());
                value.is_ok_and(|value| value.is_function())
            };
            self.declared.iter().filter(is_function).cloned().collect()
        })
    }

    /// Compiles a step and returns its number.
    ///
    /// # Errors
    /// If its text is wrong; lines are those of the scenario.
    pub fn step(&mut self, step: &ScriptStep) -> std::result::Result<usize, Fault> {
        let file = step.file.as_deref().unwrap_or(STEP_FILE);
        refuse_big_integers(&step.text).map_err(|fault| step::placed(fault, step.line))?;
        self.state.begin_loading(LOADING_NS_MAX);
        let state = Rc::clone(&self.state);
        let named = Rc::clone(&self.named);
        let made = self.context.with(|ctx| {
            let fault = |error| thrown(&ctx, error, &state, &named, &[file]).in_text();
            let body = step::body(&step.text, step.line);
            let body: Function<'_> = eval(&ctx, &body, file).map_err(fault)?;
            let whole = source_of(&body).map_err(fault)?;
            if whole != step::function(&step.text) {
                return Err(Fault {
                    message: "a closing brace has no opening one".to_owned(),
                    file: None,
                    place: None,
                });
            }
            let around = step::around(&step.inputs, &step.outputs);
            let around: Function<'_> = eval(&ctx, &around, "around").map_err(fault)?;
            let made: Function<'_> = around.call((body,)).map_err(fault)?;
            Ok(Persistent::save(&ctx, made))
        })?;
        self.steps.push(made);
        if !self.files.iter().any(|known| known == file) {
            self.files.push(file.to_owned());
        }
        Ok(self.steps.len() - 1)
    }

    /// Calls the function of this number.
    ///
    /// # Errors
    /// If it threw, or exceeded a limit.
    pub fn call(
        &mut self,
        function: usize,
        arguments: &[Value],
        surroundings: &mut Surroundings<'_>,
    ) -> std::result::Result<Value, Failure> {
        let since_ns = monotonic_ns();
        let found = self.enter(&self.functions[function].1, arguments, surroundings, from_js);
        let found = self.leave(found, since_ns);
        found.map_err(|thrown| thrown.in_call(&format!("`{}`", self.functions[function].0)))
    }

    /// Runs the step of this number; the values are those of its outputs.
    ///
    /// # Errors
    /// As those of [`Context::call`].
    pub fn run(
        &mut self,
        step: usize,
        inputs: &[Value],
        surroundings: &mut Surroundings<'_>,
    ) -> std::result::Result<Vec<Value>, Failure> {
        let all = |list: &JsValue<'_>| match list.as_array() {
            Some(list) => list.iter::<JsValue<'_>>().map(|item| from_js(&item?)).collect(),
            None => Ok(Vec::new()),
        };
        let since_ns = monotonic_ns();
        let found = self.enter(&self.steps[step], inputs, surroundings, all);
        let found = self.leave(found, since_ns);
        found.map_err(|thrown| thrown.in_call("`js`"))
    }

    /// How many calls there were since this was last called, and how many nanoseconds they took.
    pub fn take_used(&mut self) -> (u64, u64) {
        let calls = std::mem::take(&mut self.calls);
        (calls, std::mem::take(&mut self.used_ns))
    }

    /// The lines that calls have written since this was last called.
    pub fn take_console(&mut self) -> Console {
        self.state.take_console()
    }

    fn enter<T>(
        &self,
        function: &Persistent<Function<'static>>,
        arguments: &[Value],
        surroundings: &mut Surroundings<'_>,
        read: impl Fn(&JsValue<'_>) -> Result<T>,
    ) -> std::result::Result<T, ScriptException> {
        if self.is_stuck {
            return Err(ScriptException { message: PROMISES.to_owned(), place: None });
        }
        self.state.begin(surroundings, self.limits.time_max_ns);
        let bytes: usize = arguments.iter().map(text_bytes).sum();
        let ahead_ns = COPIED_BYTE_NS * bytes as u64;
        if bytes > COPIED_BYTES && self.state.look(ahead_ns) != Look::Fits {
            let message = format!("RangeError: {}", self.named.too_much("arguments"));
            return Err(ScriptException { message, place: None });
        }
        let found = self.context.with(|ctx| {
            let call = || {
                if let Some(reset) = &self.reset {
                    reset.clone().restore(&ctx)?.call::<_, JsValue<'_>>(())?;
                }
                let function = function.clone().restore(&ctx)?;
                let mut given = Args::new(ctx.clone(), arguments.len());
                for value in arguments {
                    given.push_arg(to_js(&ctx, value)?)?;
                }
                read(&function.call_arg::<JsValue<'_>>(given)?)
            };
            call().map_err(|error| thrown(&ctx, error, &self.state, &self.named, &self.files))
        });
        self.state.end(surroundings);
        found
    }

    /// The end of a call, which may have left jobs of promises.
    fn leave<T>(
        &mut self,
        found: std::result::Result<T, ScriptException>,
        since_ns: u64,
    ) -> std::result::Result<T, ScriptException> {
        let has_left_jobs = self.has_left_jobs();
        self.calls += 1;
        self.used_ns += monotonic_ns().saturating_sub(since_ns);
        match has_left_jobs {
            true => Err(ScriptException { message: PROMISES.to_owned(), place: None }),
            false => found,
        }
    }

    /// Whether there were jobs of promises, which are run so that none is left to the next call.
    fn has_left_jobs(&mut self) -> bool {
        if !self.runtime.is_job_pending() {
            return false;
        }
        let mut left = JOBS_MAX;
        while left > 0 && self.runtime.is_job_pending() {
            // What a job throws concerns nobody.
            let _ = self.runtime.execute_pending_job();
            left -= 1;
        }
        self.is_stuck = self.runtime.is_job_pending();
        true
    }
}

/// The name of a file in the stacks of exceptions.
fn name_of(file: &ScriptFile) -> String {
    match is_module(file) {
        true => plain_name(&file.name),
        false => file.name.clone(),
    }
}

/// A text that imports these modules, those that were found last first: a long chain of imports is not one of calls.
fn in_turn<'a>(modules: impl Iterator<Item = &'a ScriptFile>) -> String {
    let mut names: Vec<String> = modules.map(name_of).collect();
    names.reverse();
    modules::importing(names.iter().map(String::as_str))
}

/// The exports of a module, which is evaluated unless it was before. `fault` makes an error of an exception.
fn namespace<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    fault: &dyn Fn(rquickjs::Error) -> Fault,
    file: &ScriptFile,
) -> std::result::Result<Object<'js>, Fault> {
    let in_file = |error| in_file(fault(error), file);
    let text = modules::importing(std::iter::once(name));
    let root = Module::declare(ctx.clone(), modules::root(name), text).map_err(in_file)?;
    let (root, promise) = root.eval().map_err(in_file)?;
    match promise.result::<JsValue<'js>>() {
        Some(ended) => ended.map_err(in_file)?,
        None => {
            let message =
                "a module waits at its top (`await`), and nothing waits for it".to_owned();
            return Err(Fault { message, file: Some(file.name.clone()), place: None });
        }
    };
    root.get("m0").map_err(in_file)
}

/// Declares what a module exports, but for its default, for expressions, steps and the files after it.
fn declare_exports<'js>(
    ctx: &Ctx<'js>,
    kit: &Object<'js>,
    exports: &Object<'js>,
    fault: &dyn Fn(rquickjs::Error) -> Fault,
    file: &ScriptFile,
) -> std::result::Result<Vec<String>, Fault> {
    let in_file = |error| in_file(fault(error), file);
    let declare: Function<'js> = kit.get("declare").map_err(in_file)?;
    let names: Result<Vec<String>> = exports.keys::<String>().collect();
    let mut declared = Vec::new();
    for name in names.map_err(in_file)? {
        let is_word = words(&name).keys().eq([&name.as_str()]);
        if name == "default" || name == PROBE || !is_word {
            continue;
        }
        let kind: String = eval(ctx, &format!("typeof {name}"), "exports").map_err(in_file)?;
        if kind != "undefined" {
            let message =
                format!("`{name}` is exported, and there is something of that name already");
            return Err(Fault { message, file: Some(file.name.clone()), place: None });
        }
        let value: JsValue<'js> = exports.get(name.as_str()).map_err(in_file)?;
        declare.call::<_, JsValue<'js>>((name.as_str(), value)).map_err(in_file)?;
        declared.push(name);
    }
    Ok(declared)
}

/// Looks for what a module that was evaluated declares at its top; what can be assigned there is an error.
fn survey<'js>(
    ctx: &Ctx<'js>,
    kit: &Object<'js>,
    fault: &dyn Fn(rquickjs::Error) -> Fault,
    file: &ScriptFile,
) -> std::result::Result<(), Fault> {
    let exports = namespace(ctx, &plain_name(&file.name), fault, file)?;
    let look = || {
        let probe: Function<'js> = exports.get(PROBE)?;
        let survey: Function<'js> = kit.get("survey")?;
        let names: Vec<&str> =
            words(&file.text).into_keys().filter(|word| *word != "eval").collect();
        survey.call::<_, Option<String>>((exports.clone(), probe, names))
    };
    let found = look().map_err(|error| in_file(fault(error), file))?;
    match found {
        None => Ok(()),
        Some(word) => {
            let first = file.text.find(&word).unwrap_or_default();
            Err(in_file(assignable(&file.text, &word, first), file))
        }
    }
}

/// A fault that was found in a file, unless it is in another one that this calls.
fn in_file(fault: Fault, file: &ScriptFile) -> Fault {
    Fault { file: fault.file.or_else(|| Some(file.name.clone())), ..fault }
}

/// How long the text of a value is.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Number(digits) => digits.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Nothing | Value::Bool(_) | Value::Int(_) | Value::Float(_) => 0,
    }
}

/// `10 ms` for `10.0 ms`: limits are numbers that people wrote.
fn round(quantity: &str) -> String {
    quantity.replace(".00 ", " ").replace(".0 ", " ")
}

fn eval<'js, T: rquickjs::FromJs<'js>>(ctx: &Ctx<'js>, text: &str, file: &str) -> Result<T> {
    let mut options = EvalOptions::default();
    options.filename = Some(file.to_owned());
    ctx.eval_with_options(text, options)
}

/// The object that the prelude returns.
fn prelude<'js>(ctx: &Ctx<'js>, state: &Rc<State>, named: &Rc<LimitTexts>) -> Result<Object<'js>> {
    const TEXT: &str = include_str!("prelude.js");
    let not_now = |ctx: &Ctx<'_>| {
        let message = "there is no time, random number and console at the top of a script, which no user runs";
        Exception::throw_type(ctx, message)
    };
    let clock = Rc::clone(state);
    let now = Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
        clock.now_ms().map(|ms| ms as f64).ok_or_else(|| not_now(&ctx))
    })?;
    let dice = Rc::clone(state);
    let random = Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
        dice.random().ok_or_else(|| not_now(&ctx))
    })?;
    let watch = Rc::clone(state);
    let named = Rc::clone(named);
    let look = Function::new(ctx.clone(), move |ctx: Ctx<'js>, ahead_ns: f64, called: String| {
        match watch.look(ahead_ns as u64) {
            Look::Fits => Ok(()),
            // The message of a call that is over is that of its limit.
            Look::Over => Err(Exception::throw_internal(&ctx, "interrupted")),
            Look::TooMuch => Err(Exception::throw_range(&ctx, &named.too_much(&called))),
        }
    })?;
    let watch = Rc::clone(state);
    let left = Function::new(ctx.clone(), move || watch.left_ns() as f64)?;
    let console = Rc::clone(state);
    let write =
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, text: String| match console.write(text) {
            true => Ok(()),
            false => Err(not_now(&ctx)),
        })?;
    eval::<Function<'js>>(ctx, TEXT, "prelude.js")?.call((now, random, look, left, write))
}

/// Freezes the values of these names; returns what sets back the rest, if there is any.
fn fix<'js>(
    ctx: &Ctx<'js>,
    kit: &Object<'js>,
    names: &[String],
) -> Result<Option<Persistent<Function<'static>>>> {
    let fix: Function<'js> = kit.get("fix")?;
    let keep: Function<'js> = kit.get("keep")?;
    for name in names {
        let value: JsValue<'js> = ctx.eval(name.as_str())?;
        if is_class(&value) {
            let assign = format!("(value) => {{ {name} = value; }}");
            let assign: Function<'js> = eval(ctx, &assign, "keep")?;
            match assign.call::<_, JsValue<'js>>((value.clone(),)) {
                Ok(_) => {
                    keep.call::<_, JsValue<'js>>((value.clone(), assign))?;
                }
                // The class of a `const`. Its exception concerns nobody.
                Err(_) => {
                    ctx.catch();
                }
            }
        }
        fix.call::<_, JsValue<'js>>((value,))?;
    }
    let is_keeping: bool = kit.get::<_, Function<'js>>("isKeeping")?.call(())?;
    if !is_keeping {
        return Ok(None);
    }
    let reset: Function<'js> = kit.get("reset")?;
    Ok(Some(Persistent::save(ctx, reset)))
}

/// The source text of a function.
fn source_of(function: &Function<'_>) -> Result<String> {
    let to_string: Function<'_> = function.get("toString")?;
    to_string.call((rquickjs::function::This(function.clone()),))
}
