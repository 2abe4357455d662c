//! Recordings of browsers (HTTP Archive 1.2, W3C draft of 2012), as scenarios.
//!
//! Requests become steps in their order, and the pauses between them think times. A value that an
//! earlier response brought and a later request sends is taken from the response (`reuse`), since
//! the next user gets another one. What belongs to the browser alone is left out.

mod limits;
mod read;
mod reuse;

use std::collections::{BTreeMap, BTreeSet};

use read::{Exchange, exchanges};
use reuse::Reuse;
use scenario::document::{Diagnostic, Source};

use crate::diagnostics::Diagnostics;
use crate::writer::{Item, Map, Writer, literal};
use crate::{Conversion, Leniency};

/// Largest recording, in bytes: bodies are kept in it.
pub const TEXT_BYTES_MAX: usize = 256 << 20;
/// A shorter pause is the browser's own, not a person's, in milliseconds.
const PAUSE_MS_MIN: f64 = 100.0;
/// How long the last user gets to finish beyond the recording's own pauses.
const FINISH_S_MIN: f64 = 60.0;

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
    let converted = converted.filter(|_| !diagnostics.collector.has_errors());
    (converted, diagnostics.collector.finish())
}

fn scenario_of(
    name: &str,
    all: Vec<Exchange>,
    settings: Settings,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Conversion> {
    let origin = all.first()?.origin.clone();
    let others: BTreeSet<String> = all
        .iter()
        .filter(|exchange| exchange.origin != origin)
        .map(|exchange| exchange.origin.clone())
        .collect();
    let mut kept: Vec<Exchange> = all
        .into_iter()
        .filter(|exchange| settings.third_parties || exchange.origin == origin)
        .filter(|exchange| settings.statics != Statics::Skip || !exchange.is_static)
        .collect();
    if !others.is_empty() {
        let hosts = others.iter().cloned().collect::<Vec<_>>().join(", ");
        let what = if settings.third_parties { "kept" } else { "left out" };
        let message = format!("requests to other hosts are {what}: {hosts}");
        diagnostics.ignored(0..0, message);
    }
    let has_jar = leave_to_jar(&mut kept);
    let reuse = Reuse::find(&kept);
    if !reuse.has_all() {
        let message = "the recording is large: not every value was searched for".to_owned();
        diagnostics.ignored(0..0, message);
    }
    let (steps, length_s) = steps_of(&kept, &origin, settings.statics, &reuse);
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let options = options_of(&kept, has_jar);
    let thresholds = limits::thresholds(&kept, &steps);
    let top = document(file, &origin, options, steps, length_s).with("thresholds", thresholds);
    let mut writer = Writer::default();
    let comment = format!("Converted from the recording {file}; see docs/har.md.");
    writer.comment(&(0..0), 0, &comment);
    for host in &others {
        let what = if settings.third_parties { "Kept" } else { "Left out" };
        writer.comment(&(0..0), 0, &format!("{what}: requests to {host}"));
    }
    writer.map(&top, 0);
    Some(Conversion { text: writer.text, lines: writer.lines, requests: Vec::new() })
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

/// The scenario; `length_s` is the length of its pauses.
fn document(file: &str, origin: &str, options: Map, steps: Vec<Map>, length_s: f64) -> Map {
    let mut top = Map::new(0..0);
    let stem = file.strip_suffix(".har").unwrap_or(file);
    top.put("name", Item::Text(literal(stem)));
    top.put("target", Item::Text(literal(origin)));
    top.put("options", Item::Map(options));
    top.put("sessions", Item::Map(Map::single(0..0, "recorded", Item::List(steps))));
    let rate = Map::single(0..0, "constant", Item::Bare("1/s".to_owned()))
        .with("for", Item::Bare("1m".to_owned()))
        .comment("A recording does not say how many users arrive: choose the rate here.");
    let hold_s = (length_s + FINISH_S_MIN).ceil();
    let finish = Map::single(0..0, "hold", Item::Bare(format!("{hold_s}s")))
        .with("until", Item::Text("done".to_owned()));
    top.put("arrivals", Item::List(vec![rate, finish]));
    top
}

/// Takes out of requests the cookies that responses before them have set: each user gets its own.
/// True where there are any.
fn leave_to_jar(exchanges: &mut [Exchange]) -> bool {
    let mut jar = BTreeMap::new();
    for exchange in exchanges {
        exchange.cookies.retain(|(name, value)| jar.get(name) != Some(value));
        jar.extend(exchange.set_cookies.iter().cloned());
    }
    !jar.is_empty()
}

/// The steps, and how long their pauses are together.
fn steps_of(kept: &[Exchange], origin: &str, statics: Statics, reuse: &Reuse) -> (Vec<Map>, f64) {
    let mut steps = Vec::new();
    let mut group: Vec<Map> = Vec::new();
    let mut page = String::new();
    let mut end_ms = f64::NEG_INFINITY;
    let mut length_s = 0.0;
    for (index, exchange) in kept.iter().enumerate() {
        let pause_ms = exchange.start_ms - end_ms;
        end_ms = end_ms.max(exchange.start_ms + exchange.length_ms);
        let grouped = statics == Statics::Group && exchange.is_static;
        if !grouped || pause_ms.is_finite() && pause_ms >= PAUSE_MS_MIN {
            close_group(&mut group, &page, &mut steps);
        }
        if pause_ms.is_finite() && pause_ms >= PAUSE_MS_MIN {
            let pause_s = (pause_ms / 10.0).round() / 100.0;
            length_s += pause_s;
            steps.push(Map::single(0..0, "think", Item::Bare(format!("{pause_s}s"))));
        }
        let step = step_of(exchange, index, origin, reuse);
        if grouped {
            group.push(step);
        } else {
            page = exchange.path.split('?').next().unwrap_or_default().to_owned();
            steps.push(step);
        }
    }
    close_group(&mut group, &page, &mut steps);
    (steps, length_s)
}

fn close_group(group: &mut Vec<Map>, page: &str, steps: &mut Vec<Map>) {
    if group.is_empty() {
        return;
    }
    let mut name = format!("static of {page}");
    while name.len() > 200 {
        name.pop();
    }
    let inner = Item::List(std::mem::take(group));
    steps.push(Map::single(0..0, "transaction", Item::Text(literal(&name))).with("steps", inner));
}

fn step_of(exchange: &Exchange, index: usize, origin: &str, reuse: &Reuse) -> Map {
    let path = reuse.filled_url(index, &exchange.path);
    let url = if exchange.origin == origin { path } else { format!("{}{path}", exchange.origin) };
    let verbs = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    let mut step = if verbs.contains(&exchange.method.as_str()) {
        Map::single(0..0, &exchange.method.to_ascii_lowercase(), Item::Text(url))
    } else {
        Map::single(0..0, "http", Item::Text(format!("{} {url}", exchange.method)))
    };
    let written = format!("{} {}", exchange.method, exchange.path);
    let short = written.split('?').next().unwrap_or_default();
    let short: String = short.chars().filter(|c| !c.is_control()).take(60).collect();
    if short.len() < written.len() {
        step.put("as", Item::Text(literal(&short)));
    }
    let mut headers = Map::new(0..0);
    for (name, value) in &exchange.headers {
        headers.put(name, Item::Text(reuse.filled(index, value)));
    }
    if !headers.entries.is_empty() {
        step.put("headers", Item::Map(headers));
    }
    let mut cookies = Map::new(0..0);
    for (name, value) in &exchange.cookies {
        let value = Item::Text(reuse.filled(index, value));
        match cookies.get_mut(name) {
            Some(known) => *known = value,
            None => cookies.put(name, value),
        }
    }
    if !cookies.entries.is_empty() {
        step.put("cookies", Item::Map(cookies));
    }
    if let Some(body) = &exchange.body {
        step.put("body", Item::Text(reuse.filled(index, body)));
    }
    if !(100..400).contains(&exchange.status) {
        step.put("status", Item::Bare(exchange.status.to_string()));
    }
    let saves = reuse.saves(index);
    if !saves.entries.is_empty() {
        step.put("save", Item::Map(saves));
    }
    step
}
