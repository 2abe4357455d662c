//! Recordings of browsers (HTTP Archive 1.2, W3C draft of 2012), as scenarios.
//!
//! Requests become steps in their order, those that were in flight at the same time branches of `parallel`, and the pauses
//! between them think times. A value that an earlier response brought and a later request sends is taken from the
//! response (`reuse`), since the next user gets another one. What belongs to the browser alone is left out.

mod limits;
mod read;
mod reuse;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};

use read::{Exchange, Param, WebSocket, exchanges};
use reuse::Reuse;
use scenario::document::{Diagnostic, Source};
use serde_json::Value;
use timeline::{Cluster, Lane, Part};

use crate::diagnostics::Diagnostics;
use crate::draft::{Draft, arrivals, file_name, head, stem};
use crate::request::{self, Body, Content, Field, Header, Purpose, Request, basic, short_name};
use crate::secrets::Secrets;
use crate::template::literal;
use crate::writer::{Item, Map, flow};
use crate::{Conversion, Leniency};

/// Largest recording, in bytes: bodies are kept in it.
pub const TEXT_BYTES_MAX: usize = 256 << 20;
/// A shorter pause is the browser's own, not a person's, in milliseconds.
const PAUSE_MS_MIN: f64 = 100.0;
/// What browsers write for the content of a file.
const BINARY: &str = "(binary)";

/// Treatment of images, styles, scripts and fonts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statics {
    /// Steps like all others.
    Keep,
    /// One transaction for those that follow one another.
    Group,
    /// Left out.
    Skip,
}

/// How a recording is taken.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub statics: Statics,
    /// Keep requests to hosts other than the first request's.
    pub third_parties: bool,
    /// Keep requests that the browser answered from its cache.
    pub cached: bool,
}

/// Makes a scenario of a recording. There is one exactly where no diagnostic is an error.
pub fn convert(source: Source<'_>, settings: &Settings) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut diagnostics = Diagnostics::new(source.text, Leniency::Strict);
    let converted = exchanges(source.text, settings.cached, &mut diagnostics)
        .and_then(|all| scenario_of(source.name, all, *settings, &mut diagnostics));
    let converted = converted.filter(|_| !diagnostics.has_errors());
    (converted, diagnostics.collector.finish())
}

fn scenario_of(
    name: &str,
    all: Vec<Exchange>,
    settings: Settings,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Conversion> {
    let origin = all.first()?.origin.clone();
    let mut others: BTreeSet<String> = BTreeSet::new();
    let mut first_other = None;
    for exchange in all.iter().filter(|exchange| exchange.origin != origin) {
        others.insert(exchange.origin.clone());
        first_other.get_or_insert(exchange.at.clone());
    }
    let mut kept: Vec<Exchange> = all
        .into_iter()
        .filter(|exchange| settings.third_parties || exchange.origin == origin)
        .filter(|exchange| settings.statics != Statics::Skip || !exchange.is_static)
        .collect();
    if let Some(at) = first_other {
        let hosts = others.iter().cloned().collect::<Vec<_>>().join(", ");
        let what = if settings.third_parties { "kept" } else { "left out" };
        let message = format!("requests to other hosts are {what}: {hosts}");
        diagnostics.ignored(at, message);
    }
    let has_jar = leave_to_jar(&mut kept);
    let reuse = Reuse::find(&kept);
    if !reuse.has_all() {
        let message = "the recording is large: not every value was searched for".to_owned();
        diagnostics.ignored(0..0, message);
    }
    let mut session = Session {
        kept: &kept,
        origin: &origin,
        statics: settings.statics,
        reuse: &reuse,
        secrets: Secrets::default(),
        names: vec![None; kept.len()],
        steps: Vec::new(),
        group: Vec::new(),
        page: String::new(),
        length_s: 0.0,
        stream_end_ms: None,
        stream: None,
        has_lost_message: false,
    };
    session.run(diagnostics);
    let Session { secrets, names, steps, length_s, .. } = session;
    let sessions = Map::single(0..0, "recorded", Item::List(steps));
    let top = head(stem(name), &literal(&origin), &(0..0))
        .with("options", Item::Map(options_of(&kept, has_jar)))
        .with("sessions", Item::Map(sessions))
        .with("arrivals", arrivals("A recording", length_s))
        .with("thresholds", limits::thresholds(&kept, &names));
    let file = file_name(name);
    let mut comments = vec![format!("Converted from the recording {file}; see docs/har.md.")];
    for host in &others {
        let what = if settings.third_parties { "Kept" } else { "Left out" };
        comments.push(format!("{what}: requests to {host}"));
    }
    let no_files =
        |_: &str| -> Result<String, String> { Err("a recording has no files".to_owned()) };
    Draft { comments, top }.finish(&secrets, &no_files, diagnostics)
}

/// Headers and cookies of all requests.
fn options_of(exchanges: &[Exchange], has_jar: bool) -> Map {
    let mut options = Map::new(0..0);
    let agent = exchanges.iter().find_map(|exchange| exchange.user_agent.as_ref());
    if let Some(agent) = agent {
        let headers = Map::single(0..0, "user-agent", Item::Text(literal(agent)));
        options.put("headers", Item::Map(headers));
    }
    if has_jar {
        options.put("cookies", Item::Bare("true".to_owned()));
    }
    // The recording has what browsers requested after a redirect.
    options.put("redirects", Item::Bare("0".to_owned()));
    options
}

/// Takes out of requests the cookies that responses before them have set: each user gets its own.
/// True where there are any.
fn leave_to_jar(exchanges: &mut [Exchange]) -> bool {
    let mut jar = BTreeMap::new();
    for exchange in exchanges {
        exchange.cookies.retain(|cookie| jar.get(&cookie.name) != Some(&cookie.value));
        jar.extend(exchange.set_cookies.iter().cloned());
    }
    !jar.is_empty()
}

/// The recorded session while its steps are made.
struct Session<'a> {
    kept: &'a [Exchange],
    origin: &'a str,
    statics: Statics,
    reuse: &'a Reuse,
    secrets: Secrets,
    /// The measure of each exchange, if a threshold can name it.
    names: Vec<Option<String>>,
    steps: Vec<Map>,
    /// Steps for static files that follow one another.
    group: Vec<Map>,
    /// Path of the last request that was for none.
    page: String,
    /// The length of all pauses.
    length_s: f64,
    /// The end of the stream or WebSocket that is open.
    stream_end_ms: Option<f64>,
    /// The exchange that opened it.
    stream: Option<usize>,
    /// A message that cannot be sent was reported.
    has_lost_message: bool,
}

impl Session<'_> {
    fn run(&mut self, diagnostics: &mut Diagnostics<'_>) {
        let mut end_ms = f64::NEG_INFINITY;
        for part in timeline::parts(self.kept, self.reuse) {
            match part {
                Part::Cluster(cluster) => {
                    self.pause(cluster.start_ms - end_ms);
                    end_ms = end_ms.max(cluster.end_ms);
                    self.cluster(&cluster, diagnostics);
                }
                Part::Stream(index) => {
                    let start_ms = self.kept[index].start_ms;
                    self.pause(start_ms - end_ms);
                    end_ms = end_ms.max(start_ms);
                    self.stream(index, diagnostics);
                }
                Part::Send { exchange, message } => {
                    let kept = self.kept;
                    let websocket = kept[exchange].websocket.as_ref();
                    let sent = websocket.and_then(|websocket| websocket.messages.get(message));
                    if let Some(sent) = sent {
                        self.pause(sent.at_ms - end_ms);
                        end_ms = end_ms.max(sent.at_ms);
                        self.send(exchange, sent, diagnostics);
                    }
                }
            }
        }
        if let Some(stream_end_ms) = self.stream_end_ms.take() {
            self.pause(stream_end_ms - end_ms);
            self.close_group();
            self.steps.push(Map::single(0..0, "close", Item::Nothing));
        }
        self.close_group();
    }

    fn pause(&mut self, pause_ms: f64) {
        if let Some(think) = think(pause_ms, &mut self.length_s) {
            self.close_group();
            self.steps.push(think);
        }
    }

    /// A user has one stream: the next one closes the one before.
    fn stream(&mut self, index: usize, diagnostics: &mut Diagnostics<'_>) {
        self.close_group();
        let exchange = &self.kept[index];
        let end_ms = exchange.start_ms + exchange.length_ms;
        if self.stream_end_ms.replace(end_ms).is_some() {
            let message =
                "a user has one stream of events or WebSocket: the one before is closed".to_owned();
            diagnostics.ignored(exchange.at.clone(), message);
            self.steps.push(Map::single(0..0, "close", Item::Nothing));
        }
        self.stream = Some(index);
        let step = self.step(index, diagnostics);
        self.steps.push(step);
    }

    /// A message over the WebSocket that is open.
    fn send(&mut self, index: usize, sent: &read::Message, diagnostics: &mut Diagnostics<'_>) {
        let is_open = self.stream == Some(index);
        let at = sent.at.clone();
        let step = match &sent.content {
            read::Content::Text(text) if is_open => {
                let text = self.reuse.filled(index, text);
                Map::single(at.clone(), "send", Item::Text(self.secrets.text(&text, &at)))
            }
            read::Content::Binary(Some(hex)) if is_open => {
                let part = Map::single(at.clone(), "hex", Item::Text(hex.clone()));
                Map::single(at, "send", Item::Nothing).with("bytes", Item::List(vec![part]))
            }
            read::Content::Text(_) | read::Content::Binary(_) => {
                if !self.has_lost_message {
                    self.has_lost_message = true;
                    let message = "messages are left out whose WebSocket another one has closed, or that the \
                                   recording does not hold"
                        .to_owned();
                    diagnostics.ignored(at, message);
                }
                return;
            }
        };
        self.close_group();
        self.steps.push(step);
    }

    fn cluster(&mut self, cluster: &Cluster, diagnostics: &mut Diagnostics<'_>) {
        let mut all = cluster.lanes.iter().flat_map(|lane| &lane.exchanges);
        let is_grouped =
            self.statics == Statics::Group && all.all(|index| self.kept[*index].is_static);
        if !is_grouped {
            self.close_group();
        }
        let step = match cluster.lanes.as_slice() {
            [Lane { exchanges, .. }] if exchanges.len() == 1 => {
                self.step(exchanges[0], diagnostics)
            }
            lanes => {
                let mut longest_s: f64 = 0.0;
                let mut branches = Vec::new();
                for lane in lanes {
                    let mut length_s = 0.0;
                    branches.push(self.branch(lane, cluster.start_ms, &mut length_s, diagnostics));
                    longest_s = longest_s.max(length_s);
                }
                self.length_s += longest_s;
                Map::single(0..0, "parallel", Item::Branches(branches))
            }
        };
        if is_grouped {
            self.group.push(step);
            return;
        }
        let mut all = cluster.lanes.iter().flat_map(|lane| &lane.exchanges);
        if let Some(index) = all.find(|index| !self.kept[**index].is_static) {
            let path = &self.kept[*index].path;
            self.page = path.split('?').next().unwrap_or_default().to_owned();
        }
        self.steps.push(step);
    }

    fn branch(
        &mut self,
        lane: &Lane,
        start_ms: f64,
        length_s: &mut f64,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Vec<Map> {
        let mut steps = Vec::new();
        let mut end_ms = start_ms;
        for index in &lane.exchanges {
            let exchange = &self.kept[*index];
            steps.extend(think(exchange.start_ms - end_ms, length_s));
            end_ms = exchange.start_ms + exchange.length_ms;
            steps.push(self.step(*index, diagnostics));
        }
        steps
    }

    fn close_group(&mut self) {
        if self.group.is_empty() {
            return;
        }
        let name: String = format!("static of {}", self.page).chars().take(200).collect();
        let inner = Item::List(std::mem::take(&mut self.group));
        let step = Map::single(0..0, "transaction", Item::Text(literal(&name)));
        self.steps.push(step.with("steps", inner));
    }

    fn step(&mut self, index: usize, diagnostics: &mut Diagnostics<'_>) -> Map {
        let exchange = &self.kept[index];
        let path = self.reuse.filled_url(index, &exchange.path);
        let is_websocket = exchange.websocket.is_some();
        let url = match exchange.origin.strip_prefix("http") {
            _ if exchange.origin == self.origin => path,
            Some(rest) if is_websocket => format!("ws{}{path}", literal(rest)),
            Some(_) | None => format!("{}{path}", literal(&exchange.origin)),
        };
        let header = |(name, value): &(String, String)| Header {
            name: name.clone(),
            value: self.reuse.filled(index, value),
            at: exchange.at.clone(),
        };
        let cookie = |cookie: &Field| Field {
            name: cookie.name.clone(),
            value: self.reuse.filled(index, &cookie.value),
        };
        let mut request = Request {
            at: exchange.at.clone(),
            method: exchange.method.clone(),
            purpose: match (is_websocket, exchange.is_stream) {
                (true, _) => Purpose::WebSocket,
                (false, true) => Purpose::Events,
                (false, false) => Purpose::Response,
            },
            url,
            name: None,
            headers: exchange.headers.iter().map(header).collect(),
            cookies: exchange.cookies.iter().map(cookie).collect(),
            body: self.body(index, diagnostics),
            more: Vec::new(),
            comments: Vec::new(),
        };
        let has_authorization = exchange.headers.iter().any(|(name, _)| name == "authorization");
        if let (Some((user, password)), false) = (&exchange.credentials, has_authorization) {
            let user = literal(user);
            let auth = basic("basic", &user, password, &exchange.at, &mut self.secrets);
            request.more.push(("auth".to_owned(), auth));
        }
        if let Some(WebSocket { subprotocols, .. }) = &exchange.websocket {
            for_websocket(subprotocols, &mut request, diagnostics);
        }
        if exchange.is_stream {
            return request.step(&mut self.secrets, diagnostics);
        }
        request.name = short_name(&exchange.method, &exchange.path);
        if let Some(status) = exchange.status.filter(|status| !(100..400).contains(status)) {
            request.more.push(("status".to_owned(), Item::Bare(status.to_string())));
        }
        let saves = self.reuse.saves(index);
        if !saves.entries.is_empty() {
            request.more.push(("save".to_owned(), Item::Map(saves)));
        }
        let step = request.step(&mut self.secrets, diagnostics);
        self.names[index] = limits::measure(&step);
        step
    }

    fn body(&self, index: usize, diagnostics: &mut Diagnostics<'_>) -> Body {
        let exchange = &self.kept[index];
        match &exchange.body {
            read::Body::None => Body::None,
            read::Body::Text(text) => {
                let mut headers = exchange.headers.iter();
                let is_form = headers.any(|(name, value)| {
                    name == "content-type" && value.contains("x-www-form-urlencoded")
                });
                Body::Text(match is_form {
                    true => self.reuse.filled_form(index, text),
                    false => self.reuse.filled(index, text),
                })
            }
            read::Body::Params { is_multipart: false, params } => {
                let field = |param: &Param| Field {
                    name: param.name.clone(),
                    value: self.reuse.filled(index, param.value.as_deref().unwrap_or_default()),
                };
                Body::Form(params.iter().map(field).collect())
            }
            read::Body::Params { is_multipart: true, params } => {
                Body::Multipart(params.iter().map(|p| self.part(index, p, diagnostics)).collect())
            }
        }
    }

    fn part(
        &self,
        index: usize,
        param: &Param,
        diagnostics: &mut Diagnostics<'_>,
    ) -> request::Part {
        let recorded = param.value.as_deref().filter(|value| *value != BINARY);
        let value = match (&param.file_name, recorded) {
            (Some(file), None) => {
                let message = format!(
                    "the recording does not hold the file `{file}`: a text stands in its place"
                );
                let hint = format!("write `file: {file}` instead of `value` and `name`");
                diagnostics.stand_in(param.at.clone(), message).hint(hint);
                literal(&format!("(contents of {file})"))
            }
            (_, recorded) => self.reuse.filled(index, recorded.unwrap_or_default()),
        };
        request::Part {
            name: param.name.clone(),
            content: Content::Value(value),
            file_name: param.file_name.clone(),
            content_type: param.content_type.clone(),
        }
    }
}

/// Gives a request what the opening of a WebSocket has, and takes from it what that cannot have.
fn for_websocket(
    subprotocols: &[String],
    request: &mut Request,
    diagnostics: &mut Diagnostics<'_>,
) {
    if !subprotocols.is_empty() {
        let listed = Value::from(subprotocols.to_vec());
        request.more.push(("subprotocols".to_owned(), Item::Bare(flow(&listed))));
    }
    if !std::mem::take(&mut request.cookies).is_empty() {
        let message =
            "of cookies, a WebSocket gets those that responses have set: others are left out";
        diagnostics.ignored(request.at.clone(), message.to_owned());
    }
    request.body = Body::None;
}

/// A pause, if a person made it; adds its length.
fn think(pause_ms: f64, length_s: &mut f64) -> Option<Map> {
    if !pause_ms.is_finite() || pause_ms < PAUSE_MS_MIN {
        return None;
    }
    let pause_s = (pause_ms / 10.0).round() / 100.0;
    *length_s += pause_s;
    Some(Map::single(0..0, "think", Item::Bare(format!("{pause_s}s"))))
}
