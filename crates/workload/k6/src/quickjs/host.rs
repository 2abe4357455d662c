//! What the modules call: the host's functions, and the state that they share with whoever drives the user.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use corosensei::Yielder;
use machine::clock::thread_cpu_ns;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use plan::K6Script;
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, IntoJs, Object, Result, Value};
use stats::rng::{Purpose, Rng};

use super::digests;
use super::modules::Texts;
use super::pages::Pages;
use super::tasks::{self, Tasks};
use crate::exchange::{
    Answer, Ask, Begin, Checked, ConsoleLine, CookieAsk, Memory, Message, Outgoing, Request,
    Response, Sample, Surroundings, Yielded,
};
use crate::files;
use crate::progress::progress;

/// Lines of the console that are kept until they are taken.
const LINES_MAX: usize = 100;
/// Longest line of the console, in characters.
const LINE_CHARS_MAX: usize = 1000;
/// Most redirects that a request follows where neither it nor the options say how many, as in k6.
const REDIRECTS: u8 = 10;
/// Longest time of a request, in milliseconds.
const TIMEOUT_MS_MAX: f64 = 3_600_000.0;
/// Most random bytes of one call.
const RANDOM_BYTES_MAX: usize = 1 << 20;
/// What a URL cannot contain as it is; percent signs are left alone.
const ODD: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`').add(b'{').add(b'}');

/// A part of a script's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its top level is evaluated.
    Init,
    /// A function runs.
    Call,
}

/// State that all users of a loop share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) memory: Arc<dyn Memory>,
    /// Items of shared arrays as JSON, by the arrays' names, and their bytes.
    arrays: RefCell<BTreeMap<String, Vec<String>>>,
    arrays_bytes: Cell<usize>,
    pages: Pages,
    /// Whether the script's texts name what looks at pages, once that is known.
    pub(crate) looks_at_pages: Cell<Option<bool>>,
    /// Iterations that have ended.
    pub(crate) iterations: Cell<u64>,
    /// The loop's part of the requests by second that the options allow.
    pub(crate) part: Cell<f64>,
    /// When the next request may be made, in milliseconds since the run's start.
    next_ms: Cell<f64>,
}

impl Shared {
    pub(crate) fn new(memory: &Arc<dyn Memory>) -> Shared {
        Shared {
            memory: Arc::clone(memory),
            arrays: RefCell::default(),
            arrays_bytes: Cell::new(0),
            pages: Pages::default(),
            looks_at_pages: Cell::new(None),
            iterations: Cell::new(0),
            part: Cell::new(0.0),
            next_ms: Cell::new(0.0),
        }
    }

    /// Takes the turn of a request, of which this many come by second; returns the seconds until then.
    fn turn(&self, now_ms: f64, per_s: f64) -> f64 {
        if per_s <= 0.0 {
            return 0.0;
        }
        let turn_ms = self.next_ms.get().max(now_ms);
        self.next_ms.set(turn_ms + 1e3 / per_s);
        (turn_ms - now_ms) / 1e3
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.memory.give_back(self.arrays_bytes.get());
    }
}

/// A metric that a script declares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetricDeclared {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) is_time: bool,
}

/// State of one user.
pub(crate) struct State {
    pub(crate) script: Arc<K6Script>,
    pub(crate) options: Rc<serde_json::Value>,
    pub(crate) shared: Rc<Shared>,
    pub(crate) texts: Texts,
    pub(crate) vu: u64,
    /// Where the user's stack can be suspended; `None`: it runs on the stack of its caller, and cannot wait.
    pub(crate) yielder: Cell<Option<NonNull<Yielder<Answer, Ask>>>>,
    pub(crate) phase: Cell<Phase>,
    unix_ms: Cell<f64>,
    pub(crate) elapsed_ms: Cell<f64>,
    rng: Cell<Rng>,
    /// CPU time that the call may take.
    pub(crate) time_max_ns: Cell<u64>,
    began_ns: Cell<Option<u64>>,
    pub(crate) exceeded: Cell<bool>,
    /// There was no memory left of what all users share.
    pub(crate) exhausted: Rc<Cell<bool>>,
    /// Bytes that the host keeps for what the script does until it waits, and what it does next.
    kept_bytes: Cell<usize>,
    /// All that runs is to end.
    pub(crate) ends: Cell<bool>,
    pub(crate) begin: RefCell<Begin>,
    /// Iterations that the user has begun.
    pub(crate) iteration: Cell<u64>,
    yielded: RefCell<Yielded>,
    /// Metrics that the top level has declared.
    pub(crate) metrics: RefCell<Vec<MetricDeclared>>,
    /// Files that the top level wanted and that were not given.
    pub(crate) wanted: RefCell<Vec<String>>,
    pub(crate) tasks: Tasks,
}

impl State {
    pub(crate) fn new(
        script: &Arc<K6Script>,
        options: &Rc<serde_json::Value>,
        shared: &Rc<Shared>,
        texts: &Texts,
        vu: u64,
    ) -> State {
        State {
            script: Arc::clone(script),
            options: Rc::clone(options),
            shared: Rc::clone(shared),
            texts: Rc::clone(texts),
            vu,
            yielder: Cell::new(None),
            phase: Cell::new(Phase::Init),
            unix_ms: Cell::new(0.0),
            elapsed_ms: Cell::new(0.0),
            rng: Cell::new(Rng::new(vu, 0, Purpose::Value)),
            time_max_ns: Cell::new(script.time_max_ns),
            began_ns: Cell::new(None),
            exceeded: Cell::new(false),
            exhausted: Rc::default(),
            kept_bytes: Cell::new(0),
            ends: Cell::new(false),
            begin: RefCell::default(),
            iteration: Cell::new(0),
            yielded: RefCell::default(),
            metrics: RefCell::default(),
            wanted: RefCell::default(),
            tasks: Tasks::default(),
        }
    }

    /// The user continues. `waited`: its time of computing begins anew.
    pub(crate) fn enter(&self, around: &Surroundings<'_>, waited: bool) {
        self.unix_ms.set(around.unix_ms);
        self.elapsed_ms.set(around.elapsed_ms);
        self.rng.set(*around.rng);
        self.time_max_ns.set(around.time_max_ns);
        if waited {
            self.began_ns.set(None);
        }
        self.exhausted.set(false);
        self.shared.memory.give_back(self.kept_bytes.replace(0));
    }

    /// Counts bytes that the host is to keep for the script, of which QuickJS knows nothing.
    fn keep(&self, ctx: &Ctx<'_>, bytes: usize) -> Result<()> {
        let kept = self.kept_bytes.get().saturating_add(bytes);
        if kept > self.script.memory_bytes_max {
            let most = units::bytes(self.script.memory_bytes_max as u64);
            let message = format!("what it requests and records takes more memory than {most}");
            return Err(Exception::throw_range(ctx, &message));
        }
        if !self.shared.memory.take(bytes) {
            self.exhausted.set(true);
            return Err(rquickjs::Error::Allocation);
        }
        self.kept_bytes.set(kept);
        Ok(())
    }

    /// It waits, or has ended.
    pub(crate) fn leave(&self, around: &mut Surroundings<'_>) {
        *around.rng = self.rng.get();
    }

    /// True if what runs is to be interrupted. QuickJS looks every 10,000 jumps and calls.
    pub(crate) fn is_over(&self) -> bool {
        let now_ns = thread_cpu_ns();
        let began_ns = self.began_ns.get().unwrap_or(now_ns);
        self.began_ns.set(Some(began_ns));
        let over = now_ns.saturating_sub(began_ns) > self.time_max_ns.get();
        self.exceeded.set(self.exceeded.get() || over);
        over || self.ends.get()
    }

    pub(crate) fn take_yielded(&self) -> Yielded {
        let tasks = self.tasks.take_begun();
        Yielded { tasks, outgoing: self.tasks.take_outgoing(), ..self.yielded.take() }
    }

    /// Suspends the user until its answer is there.
    #[expect(unsafe_code, reason = "QuickJS calls the host without what its stack was begun with")]
    pub(crate) fn wait(&self, ctx: &Ctx<'_>, ask: Ask) -> Result<Answer> {
        let interrupted = || Exception::throw_internal(ctx, "interrupted");
        if self.ends.get() {
            return Err(interrupted());
        }
        let Some(yielder) = self.yielder.get() else {
            return Err(Exception::throw_message(ctx, "nothing can be waited for here"));
        };
        // SAFETY: the pointer is set as the first thing on the user's own stack, to what lives there as long as the stack
        // runs. Whoever calls this runs on that stack: the context is never entered from any other.
        let answer = unsafe { yielder.as_ref() }.suspend(ask);
        match answer {
            Answer::End => {
                self.ends.set(true);
                Err(interrupted())
            }
            answer => Ok(answer),
        }
    }

    fn records(&self, name: &str) -> bool {
        self.script.metrics.iter().any(|metric| metric.base == name)
    }

    /// Records a number of a metric.
    pub(crate) fn sample(&self, name: &str, value: f64, tags: &[String]) {
        self.record(&self.places(name, tags), value);
    }

    fn record(&self, places: &[usize], value: f64) {
        let samples = places.iter().map(|&metric| Sample { metric, value });
        self.yielded.borrow_mut().samples.extend(samples);
    }

    /// The places of the metrics that a number of this name and these tags belongs to.
    fn places(&self, name: &str, tags: &[String]) -> Vec<usize> {
        let has = |(key, wanted): &(String, String)| {
            tags.chunks_exact(2).any(|pair| pair[0] == *key && pair[1] == *wanted)
        };
        let metrics = self.script.metrics.iter().enumerate();
        let meant =
            metrics.filter(|(_, metric)| metric.base == name && metric.tags.iter().all(has));
        meant.map(|(place, _)| place).collect()
    }

    fn write(&self, level: &str, text: &str) {
        let text: String = match level {
            "info" => text.chars().take(LINE_CHARS_MAX).collect(),
            level => format!("{level}: {text}").chars().take(LINE_CHARS_MAX).collect(),
        };
        let console = &mut self.yielded.borrow_mut().console;
        match console.lines.len() < LINES_MAX {
            true => {
                let unix_ms = self.unix_ms.get() as i64;
                console.lines.push(ConsoleLine { unix_ms, text });
            }
            false => console.dropped += 1,
        }
    }

    /// Where the user is, as JSON.
    fn place(&self) -> String {
        let begin = self.begin.borrow();
        let scenario = &self.options["scenarios"][&begin.scenario];
        serde_json::json!({
            "vu": self.vu,
            "iteration": self.iteration.get().saturating_sub(1),
            "iterationInTest": begin.number,
            "iterationsOfLoop": self.shared.iterations.get(),
            "elapsed": self.elapsed_ms.get(),
            "startTime": self.unix_ms.get() - self.elapsed_ms.get(),
            "scenario": begin.scenario,
            "executor": scenario["executor"],
            "progress": progress(
                scenario,
                self.elapsed_ms.get(),
                self.iteration.get().saturating_sub(1),
                begin.number,
            ),
        })
        .to_string()
    }

    /// The answer to a request, as the modules take it.
    pub(crate) fn answer<'js>(
        &self,
        ctx: &Ctx<'js>,
        response: &Response,
        request: &Request,
        kind: &str,
    ) -> Result<Object<'js>> {
        let hops = response.hops.iter();
        let (out, back) = hops.fold((response.bytes_out, response.bytes_in), |sum, hop| {
            (sum.0 + hop.bytes_out, sum.1 + hop.bytes_in)
        });
        self.sample("data_sent", out as f64, &[]);
        self.sample("data_received", back as f64, &[]);
        response_of(ctx, response, request, kind)
    }

    fn cookies(&self, ctx: &Ctx<'_>, ask: CookieAsk) -> Result<Vec<(String, String)>> {
        match self.wait(ctx, Ask::Cookies(ask))? {
            Answer::Cookies(cookies) => Ok(cookies),
            _ => Err(Exception::throw_internal(ctx, "the answer is none of cookies")),
        }
    }

    /// Sends something over a WebSocket.
    fn send(&self, ctx: &Ctx<'_>, id: u32, message: Message) -> Result<()> {
        let bytes = match &message {
            Message::Text(text) => framed_bytes(text.len()),
            Message::Binary(bytes) | Message::Ping(bytes) | Message::Pong(bytes) => {
                framed_bytes(bytes.len())
            }
            Message::Close { reason, .. } => framed_bytes(2 + reason.len()),
        };
        self.keep(ctx, size_of::<Outgoing>() + bytes)?;
        self.sample("data_sent", bytes as f64, &[]);
        self.tasks.send(Outgoing { id, message });
        Ok(())
    }

    fn open(&self, ctx: &Ctx<'_>, path: &str) -> Result<Arc<[u8]>> {
        let refuse = |message: String| Exception::throw_message(ctx, &message);
        // As in k6 since 1.0: relative to the script.
        let base = self.script.files.first().map_or("", |file| file.name.as_str());
        let name = files::resolve(base, path).map_err(refuse)?;
        if let Some(bytes) = self.texts.borrow().get(&name) {
            return Ok(Arc::clone(bytes));
        }
        self.keep(ctx, size_of::<String>() + name.len())?;
        self.wanted.borrow_mut().push(name.clone());
        Err(refuse(format!("open {name}: no such file")))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.shared.memory.give_back(self.kept_bytes.get());
    }
}

/// A text's UTF-8, or the bytes of a buffer.
#[expect(unsafe_code, reason = "a buffer's bytes are copied before anything else can run")]
pub(crate) fn bytes_of(ctx: &Ctx<'_>, value: &Value<'_>) -> Result<Vec<u8>> {
    if let Some(text) = value.as_string() {
        return text.to_string().map(String::into_bytes);
    }
    let buffer = ArrayBuffer::from_value(value.clone());
    let Some(buffer) = buffer else {
        return Err(Exception::throw_type(ctx, "a text or an ArrayBuffer is expected"));
    };
    // SAFETY: no script runs, and so nothing changes or detaches the buffer, until the copy is made.
    let bytes = unsafe { buffer.as_slice::<u8>() };
    let bytes = bytes.map(<[u8]>::to_vec);
    bytes.map_err(|_| Exception::throw_type(ctx, "the ArrayBuffer is detached"))
}

/// Bytes of a client's frame with so many bytes in it (RFC 6455 §5.2).
fn framed_bytes(bytes: usize) -> usize {
    let head = match bytes {
        0..=125 => 6,
        126..=0xffff => 8,
        _ => 14,
    };
    head + bytes
}

fn milliseconds(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// A URL without credentials and fragment, with all that it cannot contain encoded; and the value of a header
/// `Authorization` for its credentials.
fn url_of(written: &str) -> std::result::Result<(String, Option<String>), String> {
    let rest = written.strip_prefix("http://").or_else(|| written.strip_prefix("https://"));
    let Some(rest) = rest.filter(|rest| !rest.is_empty() && !rest.starts_with('/')) else {
        return Err(format!(
            "invalid URL: {written:?}: it begins with http:// or https:// and a host"
        ));
    };
    let scheme = &written[..written.len() - rest.len()];
    let rest = rest.split('#').next().unwrap_or_default();
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let (credentials, host) = match authority.rsplit_once('@') {
        Some((credentials, host)) => (Some(credentials), host),
        None => (None, authority),
    };
    let target = utf8_percent_encode(target, ODD);
    let basic = credentials.map(|text| {
        let plain: Vec<u8> = percent_decode_str(text).collect();
        format!("Basic {}", STANDARD.encode(plain))
    });
    Ok((format!("{scheme}{host}{target}"), basic))
}

/// The header fields that HTTP itself needs are made with the request.
fn is_made(name: &str) -> bool {
    ["content-length", "connection", "transfer-encoding"]
        .iter()
        .any(|made| name.eq_ignore_ascii_case(made))
}

/// A request, as the modules describe it: method, URL, headers, body, and how its answer is to be taken.
pub(crate) fn request_of<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    described: &Object<'js>,
) -> Result<Request> {
    let method: String = described.get("method")?;
    let url: String = described.get("url")?;
    let headers: Vec<String> = described.get("headers")?;
    let body: Value<'js> = described.get("body")?;
    let given: Object<'js> = described.get("given")?;
    let refuse = |message: String| Exception::throw_message(ctx, &message);
    let (url, basic) = url_of(&url).map_err(refuse)?;
    let pairs = headers.chunks_exact(2);
    let pairs = pairs.map(|pair| (pair[0].clone(), pair[1].clone()));
    let mut headers: Vec<(String, String)> = pairs.filter(|(name, _)| !is_made(name)).collect();
    let has = |headers: &[(String, String)], wanted: &str| {
        headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    if let Some(basic) = basic.filter(|_| !has(&headers, "authorization")) {
        headers.push(("Authorization".to_owned(), basic));
    }
    // An upgrade has a connection of its own.
    if state.options["noConnectionReuse"] == true && !is_socket(described)? {
        headers.push(("Connection".to_owned(), "close".to_owned()));
    }
    if let Some(agent) = state.options["userAgent"].as_str()
        && !has(&headers, "user-agent")
    {
        headers.push(("User-Agent".to_owned(), agent.to_owned()));
    }
    if !given.get::<_, String>("compression")?.is_empty() {
        return Err(refuse(
            "compression of request bodies (`compression`) is not supported here".to_owned(),
        ));
    }
    let timeout_ms: f64 = given.get("timeout")?;
    let redirects: i32 = given.get("redirects")?;
    let of_options = state.options["maxRedirects"].as_u64();
    let of_options = of_options.map_or(REDIRECTS, |most| most.min(50) as u8);
    let expected: Vec<i32> = given.get("expected")?;
    let status = |value: i32| value.clamp(0, i32::from(u16::MAX)) as u16;
    let body = match body.is_null() || body.is_undefined() {
        true => None,
        false => Some(bytes_of(ctx, &body)?),
    };
    // The request is kept twice: until its answer is there, and to be sent.
    let fields: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    let own = size_of::<Request>() + url.len() + fields + body.as_ref().map_or(0, Vec::len);
    state.keep(ctx, 2 * own)?;
    Ok(Request {
        method,
        url,
        name: given.get("name")?,
        bare: given.get("bare")?,
        headers,
        body,
        timeout_ns: (timeout_ms.clamp(1.0, TIMEOUT_MS_MAX) * 1e6) as u64,
        redirects: u8::try_from(redirects).map_or(of_options, |most| most.min(50)),
        expected: expected.chunks_exact(2).map(|pair| (status(pair[0]), status(pair[1]))).collect(),
    })
}

/// What the modules want of the answer's body.
pub(crate) fn kind_of(described: &Object<'_>) -> Result<String> {
    described.get::<_, Object<'_>>("given")?.get("kind")
}

/// Whether it opens a WebSocket.
pub(crate) fn is_socket(described: &Object<'_>) -> Result<bool> {
    let given: Object<'_> = described.get("given")?;
    Ok(given.get::<_, Option<bool>>("isSocket")? == Some(true))
}

fn response_of<'js>(
    ctx: &Ctx<'js>,
    response: &Response,
    request: &Request,
    kind: &str,
) -> Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("status", response.status)?;
    object.set("proto", response.protocol)?;
    object.set("url", if response.url.is_empty() { &request.url } else { &response.url })?;
    let headers = response.headers.iter();
    let headers: Vec<&str> =
        headers.flat_map(|(name, value)| [name.as_str(), value.as_str()]).collect();
    object.set("headers", headers)?;
    let body = match kind {
        _ if response.status == 0 => Value::new_null(ctx.clone()),
        "none" => Value::new_null(ctx.clone()),
        "binary" => ArrayBuffer::new_copy(ctx.clone(), &response.body)?.into_value(),
        _ => String::from_utf8_lossy(&response.body).into_owned().into_js(ctx)?,
    };
    object.set("body", body)?;
    let parts = response.timings;
    let timings = [
        parts.blocked_ns,
        0,
        parts.connecting_ns,
        parts.tls_ns,
        parts.sending_ns,
        parts.waiting_ns,
        parts.receiving_ns,
    ];
    object.set("timings", timings.map(milliseconds).to_vec())?;
    let hops = response.hops.iter().map(|hop| {
        let parts = hop.timings;
        let times =
            [parts.blocked_ns, 0, parts.connecting_ns, parts.tls_ns, 0, parts.waiting_ns, 0];
        let mut numbers = vec![f64::from(hop.status)];
        numbers.extend(times.map(milliseconds));
        numbers
    });
    object.set("hops", hops.collect::<Vec<Vec<f64>>>())?;
    let failure = response.failure.as_ref();
    object.set("error", failure.map_or("", |(_, text)| text.as_str()))?;
    object.set("error_code", failure.map_or(0, |(code, _)| *code))?;
    object.set("isExpected", response.status > 0 && request.expects(response.status))?;
    Ok(object)
}

/// The host's functions, as one object.
pub(crate) fn host<'js>(ctx: &Ctx<'js>, state: &Rc<State>) -> Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    macro_rules! function {
        ($name:literal, $own:ident, $function:expr) => {{
            let $own = Rc::clone(state);
            host.set($name, Function::new(ctx.clone(), $function)?)?;
        }};
    }
    function!("now", own, move || own.unix_ms.get());
    function!("random", own, move || {
        let mut rng = own.rng.get();
        let drawn = rng.unit();
        own.rng.set(rng);
        drawn
    });
    function!("seed", own, move |seed: f64| {
        own.rng.set(Rng::new(seed.to_bits(), own.vu, Purpose::Value));
    });
    function!("randomBytes", own, move |ctx: Ctx<'js>, count: f64| {
        let count = (count.max(0.0) as usize).min(RANDOM_BYTES_MAX);
        let mut rng = own.rng.get();
        let words = (0..count.div_ceil(8)).flat_map(|_| rng.next_u64().to_le_bytes());
        let bytes: Vec<u8> = words.take(count).collect();
        own.rng.set(rng);
        ArrayBuffer::new_copy(ctx, &bytes)
    });
    function!("log", own, move |level: String, text: String| own.write(&level, &text));
    function!("env", own, move || {
        let pairs = own.script.env.iter();
        let mut values: serde_json::Map<String, serde_json::Value> =
            pairs.map(|(name, value)| (name.clone(), value.clone().into())).collect();
        let of_scenario = &own.options["scenarios"][&own.begin.borrow().scenario]["env"];
        for (name, value) in of_scenario.as_object().into_iter().flatten() {
            values.insert(name.clone(), value.clone());
        }
        serde_json::Value::Object(values).to_string()
    });
    function!("where", own, move || own.place());
    function!("phase", own, move || match own.phase.get() {
        Phase::Init => "init",
        Phase::Call => "call",
    });
    function!("options", own, move || own.options.to_string());
    function!("turn", own, move || {
        let rate = own.options["rps"].as_f64().unwrap_or(0.0) * own.shared.part.get();
        own.shared.turn(own.elapsed_ms.get(), rate)
    });
    function!("discards", own, move || own.options["discardResponseBodies"] == true);
    function!("throws", own, move || own.options["throw"] == true);
    function!("open", own, move |ctx: Ctx<'js>, path: String, binary: bool| {
        let bytes = own.open(&ctx, &path)?;
        match binary {
            true => ArrayBuffer::new_copy(ctx, &bytes).map(ArrayBuffer::into_value),
            false => String::from_utf8_lossy(&bytes).into_owned().into_js(&ctx),
        }
    });
    function!("metric", own, move |ctx: Ctx<'js>, name: String, kind: String, is_time: bool| {
        own.keep(&ctx, size_of::<MetricDeclared>() + name.len() + kind.len())?;
        own.metrics.borrow_mut().push(MetricDeclared { name, kind, is_time });
        Ok::<_, rquickjs::Error>(())
    });
    function!("records", own, move |name: String| own.records(&name));
    function!("sample", own, move |ctx: Ctx<'js>, name: String, value: f64, tags: Vec<String>| {
        let places = own.places(&name, &tags);
        own.keep(&ctx, places.len() * size_of::<Sample>())?;
        own.record(&places, value);
        Ok::<_, rquickjs::Error>(())
    });
    function!("check", own, move |ctx: Ctx<'js>, name: String, holds: bool| {
        own.keep(&ctx, size_of::<Checked>() + name.len())?;
        own.yielded.borrow_mut().checks.push(Checked { name, holds });
        Ok::<_, rquickjs::Error>(())
    });
    function!("shared", own, move |name: String| {
        own.shared.arrays.borrow().get(&name).map(|items| items.len() as f64)
    });
    function!("share", own, move |ctx: Ctx<'js>, name: String, items: Vec<String>| {
        let bytes =
            items.iter().map(|item| size_of::<String>() + item.len()).sum::<usize>() + name.len();
        let all = own.shared.arrays_bytes.get().saturating_add(bytes);
        if all > own.script.memory_bytes_max {
            let most = units::bytes(own.script.memory_bytes_max as u64);
            let message = format!("all shared arrays together take more memory than {most}");
            return Err(Exception::throw_range(&ctx, &message));
        }
        if !own.shared.memory.take(bytes) {
            own.exhausted.set(true);
            return Err(rquickjs::Error::Allocation);
        }
        own.shared.arrays_bytes.set(all);
        own.shared.arrays.borrow_mut().insert(name, items);
        Ok(())
    });
    function!("item", own, move |name: String, place: f64| {
        let arrays = own.shared.arrays.borrow();
        arrays.get(&name).and_then(|items| items.get(place as usize)).cloned()
    });
    function!("sleep", own, move |ctx: Ctx<'js>, seconds: f64| {
        let ns = (seconds * 1e9).min(u64::MAX as f64) as u64;
        own.wait(&ctx, Ask::Sleep(ns)).map(|_| ())
    });
    function!("http", own, move |ctx: Ctx<'js>, described: Object<'js>| {
        let request = request_of(&ctx, &own, &described)?;
        let kind = kind_of(&described)?;
        match own.wait(&ctx, Ask::Request(Box::new(request.clone())))? {
            Answer::Response(response) => own.answer(&ctx, &response, &request, &kind),
            _ => Err(Exception::throw_internal(&ctx, "the answer is none to a request")),
        }
    });
    function!("abort", own, move |text: String| {
        own.write("error", &format!("test aborted: {text}"));
        own.yielded.borrow_mut().aborts = true;
    });
    function!("cookies", own, move |ctx: Ctx<'js>, url: String| {
        let cookies = own.cookies(&ctx, CookieAsk::Of(url))?;
        let flat = cookies.into_iter().flat_map(|(name, value)| [name, value]);
        Ok::<Vec<String>, rquickjs::Error>(flat.collect())
    });
    function!("setCookie", own, move |ctx: Ctx<'js>, url: String, line: String| {
        own.cookies(&ctx, CookieAsk::Set { url, line }).map(|_| ())
    });
    function!("page", own, move |ctx: Ctx<'js>, text: String| {
        own.shared.pages.outline(&text).map_err(|why| Exception::throw_message(&ctx, &why))
    });
    function!("select", own, move |ctx: Ctx<'js>, text: String, selector: String| {
        let found = own.shared.pages.select(&text, &selector);
        found.map_err(|why| Exception::throw_message(&ctx, &why))
    });
    function!("elapsed", own, move || own.elapsed_ms.get());
    function!("begin", own, move |ctx: Ctx<'js>, described: Object<'js>| {
        tasks::begin(&ctx, &own, &described)
    });
    function!("hasTasks", own, move || own.tasks.are_left());
    function!("forgetTasks", own, move || own.tasks.forget());
    function!("sendMessage", own, move |ctx: Ctx<'js>, id: u32, data: Value<'js>| {
        let bytes = bytes_of(&ctx, &data)?;
        let message = match data.is_string() {
            true => Message::Text(String::from_utf8_lossy(&bytes).into_owned()),
            false => Message::Binary(bytes),
        };
        own.send(&ctx, id, message)
    });
    function!("sendPing", own, move |ctx: Ctx<'js>, id: u32, data: String| {
        own.send(&ctx, id, Message::Ping(data.into_bytes()))
    });
    function!("closeSocket", own, move |ctx: Ctx<'js>, id: u32, code: f64, reason: String| {
        let code = code.clamp(0.0, f64::from(u16::MAX)) as u16;
        own.send(&ctx, id, Message::Close { code, reason })
    });
    function!("news", own, move |ctx: Ctx<'js>, until_ms: f64| tasks::news(&ctx, &own, until_ms));
    function!("encode", _own, move |ctx: Ctx<'js>, text: String| {
        ArrayBuffer::new_copy(ctx, text.as_bytes())
    });
    function!("decode", _own, move |ctx: Ctx<'js>, bytes: Value<'js>| {
        let bytes = bytes_of(&ctx, &bytes)?;
        Ok::<_, rquickjs::Error>(String::from_utf8_lossy(&bytes).into_owned())
    });
    function!("digest", _own, move |ctx: Ctx<'js>,
                                    kind: String,
                                    data: Value<'js>,
                                    key: Value<'js>| {
        let data = bytes_of(&ctx, &data)?;
        let key = match key.is_undefined() {
            true => None,
            false => Some(bytes_of(&ctx, &key)?),
        };
        match digests::digest(&kind, &data, key.as_deref()) {
            Some(digest) => ArrayBuffer::new_copy(ctx, &digest),
            None => Err(Exception::throw_message(
                &ctx,
                &format!("the hash `{kind}` is not supported here"),
            )),
        }
    });
    function!("base64", _own, move |ctx: Ctx<'js>, bytes: Value<'js>, kind: String| {
        let bytes = bytes_of(&ctx, &bytes)?;
        digests::base64(&kind, &bytes).ok_or_else(|| {
            Exception::throw_message(&ctx, &format!("invalid base64 encoding: {kind}"))
        })
    });
    function!("unbase64", _own, move |ctx: Ctx<'js>, text: String, kind: String| {
        match digests::unbase64(&kind, &text) {
            Ok(bytes) => ArrayBuffer::new_copy(ctx, &bytes),
            Err(message) => Err(Exception::throw_message(&ctx, &message)),
        }
    });
    Ok(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_take_turns() {
        let memory: Arc<dyn Memory> = Arc::new(crate::quickjs::memory::Unlimited);
        let shared = Shared::new(&memory);
        // Four a second: at once, and then every quarter of a second.
        let waits = [0.0, 0.0, 100.0, 2000.0].map(|now_ms| shared.turn(now_ms, 4.0));
        assert_eq!(waits, [0.0, 0.25, 0.4, 0.0]);
        assert_eq!(shared.turn(2000.0, 0.0), 0.0);
    }

    #[test]
    fn urls_lose_what_is_not_sent() {
        let of = |url: &str| url_of(url).unwrap();
        assert_eq!(of("http://a.test/x y#z"), ("http://a.test/x%20y".to_owned(), None));
        let (url, basic) = of("https://u:p%40@a.test:8443?q={}");
        assert_eq!(url, "https://a.test:8443?q=%7B%7D");
        assert_eq!(basic.unwrap(), "Basic dTpwQA==");
        for wrong in ["", "a.test", "ftp://a.test", "http:///x"] {
            assert!(url_of(wrong).unwrap_err().contains("invalid URL"), "{wrong}");
        }
    }
}
