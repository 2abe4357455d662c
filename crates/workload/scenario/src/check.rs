//! The tree, checked and compiled.
//!
//! Every function here reports what is wrong and goes on, so that one compilation finds all
//! problems; it returns `None` if nothing is left to check. This file holds what the
//! parts share and the order of the work; each part has a file of its own.

mod arrivals;
mod auth;
mod cast;
mod channels;
mod data;
mod defaults;
mod dist;
mod document;
mod elements;
mod fields;
mod files;
mod flow;
mod graphql;
mod grpc;
mod headers;
mod http;
mod include;
mod items;
mod k6;
mod library;
mod location;
mod markov;
mod matching;
mod meetings;
mod messages;
mod metrics;
mod mqtt;
mod multipart;
mod names;
mod once;
mod options;
mod parallel;
mod pointers;
mod poll;
mod populations;
mod probes;
mod program;
mod proxies;
mod reconnect;
mod records;
mod redirects;
mod regions;
mod retry;
mod scripts;
mod secrets;
mod servers;
mod sessions;
mod sign;
mod sse;
mod steps;
mod tags;
mod tcp;
mod templates;
mod thresholds;
mod translation;
mod unix;
mod until;
mod words;
mod ws;

pub use arrivals::USERS_MAX;
pub use thresholds::figure;

pub(crate) use self::document::stem;
pub(crate) use self::steps::{STEPS, is_step};
pub(crate) use fields::Fields;
pub use http::is_token_byte;
pub use multipart::BINARY;
pub use proxies::PROXY_VARIABLES;
pub(crate) use proxies::percent_decoded;
pub(crate) use words::Word;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ::grpc::Schema;

use crate::document::diagnostic::{Collector, Diagnostic};
use crate::document::node::Place;
use crate::document::{Source, suggest, yaml};
use crate::overrides;
use auth::Auth;
use data::DataTable;
use defaults::Defaults;
use library::Scripts;
use meetings::Declarations;
use names::Param;
use plan::expr::Template;
use plan::probes::Probe;
use plan::{
    Aws, Endpoint, EndpointId, Measure, MeasureId, MeasureKind, Metric, Plan, Region, Tags,
};
use proxies::Proxies;
use secrets::Secrets;
use stats::dist::Dist;

/// Settings beside the scenario's text that a compilation depends on.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    /// `--set key=value`, in order.
    pub overrides: &'a [(String, String)],
    /// Environment variables.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Texts of files that the scenario names, or why they cannot be read. Behind [`BINARY`] stands a file whose bytes
    /// are wanted, in base64.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Problem with the settings of a built-in system, of which this crate knows the names only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemProblem {
    /// The setting at fault.
    pub about: SystemPart,
    /// The problem in words.
    pub message: String,
    /// Advice on what to write instead.
    pub hint: Option<String>,
}

/// The part of a built-in system's settings that a problem is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SystemPart {
    /// The name of the setting of this number, from 0.
    Key(usize),
    /// The value of the setting of this number.
    Value(usize),
    /// They do not go together.
    Together,
}

/// Looks at the settings of the system of this name, each a key and a value.
pub type CheckSystem<'a> = dyn Fn(&str, &[(String, String)]) -> Vec<SystemProblem> + 'a;

/// Checks a scenario and compiles it. All problems are reported at once, in the order of the text;
/// there is a plan exactly where none of them is an error.
pub fn compile(source: Source<'_>, settings: &Settings<'_>) -> (Option<Plan>, Vec<Diagnostic>) {
    compile_checking(source, settings, &|_, _| Vec::new())
}

/// As [`compile`], and has the settings of a built-in system looked at.
pub fn compile_checking(
    source: Source<'_>,
    settings: &Settings<'_>,
    check_system: &CheckSystem<'_>,
) -> (Option<Plan>, Vec<Diagnostic>) {
    let mut diagnostics = Collector::new(source.text, settings.overrides);
    let Some(mut root) = yaml::parse(source.text, &mut diagnostics) else {
        return (None, diagnostics.finish());
    };
    let folder = unix::folder_of(source.name);
    let included = include::merge(&mut root, folder, source.name, settings, &mut diagnostics);
    overrides::apply(&mut root, settings.overrides, &mut diagnostics);
    let mut checker = Checker::new(diagnostics, settings);
    checker.check_system = check_system;
    let plan = checker.document(&root, source.name);
    let plan = plan.filter(|_| !checker.diagnostics.has_errors());
    (plan.map(|plan| Plan { included, ..plan }), checker.diagnostics.finish())
}

/// Checks a list of probes that stands by itself, as the value of a scenario's `probes`.
pub fn probes(source: Source<'_>, settings: &Settings<'_>) -> (Vec<Probe>, Vec<Diagnostic>) {
    let mut diagnostics = Collector::new(source.text, settings.overrides);
    let Some(root) = yaml::parse(source.text, &mut diagnostics) else {
        return (Vec::new(), diagnostics.finish());
    };
    let mut checker = Checker::new(diagnostics, settings);
    let probes = checker.probes(&root);
    (probes, checker.diagnostics.finish())
}

/// Checks a distribution of durations that stands by itself.
pub(crate) fn distribution(text: &str, settings: &Settings<'_>) -> (Option<Dist>, Vec<Diagnostic>) {
    let mut diagnostics = Collector::new(text, settings.overrides);
    let Some(root) = yaml::parse(text, &mut diagnostics) else {
        return (None, diagnostics.finish());
    };
    let mut checker = Checker::new(diagnostics, settings);
    let dist = checker.dist(&root);
    (dist, checker.diagnostics.finish())
}

/// A checker for an experiment, which has no overrides and no parameters of its own.
pub(crate) fn experiment_checker<'a>(
    source: Source<'a>,
    settings: &'a Settings<'a>,
) -> Checker<'a> {
    Checker::new(Collector::new(source.text, &[]), settings)
}

/// State that the parts of a compilation share.
pub(crate) struct Checker<'a> {
    pub(crate) diagnostics: Collector<'a>,
    settings: &'a Settings<'a>,
    check_system: &'a CheckSystem<'a>,
    params: Vec<Param>,
    endpoints: Vec<Endpoint>,
    /// `target.servers`: endpoint and weight.
    servers: Vec<(EndpointId, f64)>,
    /// The regions that users connect from.
    regions: Vec<Region>,
    /// Users are of populations with names, which are tags of what they measure.
    has_populations: bool,
    /// Names of phases that are none of the run, but of other populations than the first.
    phases_beside: Vec<String>,
    measures: Vec<Measure>,
    /// The place where each measure stands first.
    measure_places: Vec<Place>,
    /// Numbers of the scenario's own that are no times.
    metrics: Vec<Metric>,
    /// Any of the messages that the server pushes has a number.
    has_numbers: bool,
    /// Tags of the session, the groups and the step that are being compiled.
    tags: Tags,
    /// All tags so far.
    totals: BTreeSet<(String, String)>,
    /// Run-wide headers.
    headers: Vec<(String, Template)>,
    /// `options.timeout`.
    timeout_ns: u64,
    /// `options.continue_timeout`.
    continue_ns: u64,
    /// `options.accept_encoding`.
    accept_encoding: Option<Template>,
    /// `options.accept_encoding` names the coding of event streams.
    streams_accept_gzip: bool,
    /// `options.redirects`.
    redirects: u8,
    /// The run's seed, for what is drawn already now.
    seed: u64,
    data: Vec<DataTable>,
    /// `options.auth`.
    auth: Option<Auth>,
    /// `options.sign`.
    sign: Option<Box<Aws>>,
    /// `options.cookies`.
    cookies: bool,
    /// What the file says of defaults that older versions did not have.
    defaults: Defaults,
    /// The schema that `grpc` defines.
    schema: Option<Arc<Schema>>,
    /// It defines nothing, because a file is wrong.
    has_bad_protos: bool,
    /// The script of k6.
    k6: Option<k6::LoadedScript>,
    /// The scenario's JavaScript.
    scripts: RefCell<Scripts>,
    /// Files of bodies so far, by name.
    uploads: Vec<(String, Arc<[u8]>)>,
    /// Values that reach secret places.
    secrets: Secrets,
    /// The proxies, and the hosts that are reached without one.
    proxies: Proxies,
    /// The scenario's folder.
    folder: PathBuf,
    /// Variables that `setup` sets for all users.
    shared: Vec<String>,
    /// State that users share while they run.
    between: Declarations,
}

/// Every count of numbered things fits its type, for each takes several of the limited nodes.
const _: () = assert!(yaml::NODES_MAX / 2 < u16::MAX as usize);

/// A count of things as a plan's index of the next one.
fn index<T: From<u16>>(count: usize) -> T {
    let count = u16::try_from(count);
    T::from(count.expect("the limit on nodes bounds what a scenario can number"))
}

/// The first measure: connections.
fn connects() -> Measure {
    Measure {
        name: "connect".to_owned(),
        kind: MeasureKind::Connect,
        tags: Tags::new(),
        shared_name: None,
    }
}

impl<'a> Checker<'a> {
    fn new(diagnostics: Collector<'a>, settings: &'a Settings<'a>) -> Checker<'a> {
        Checker {
            diagnostics,
            settings,
            check_system: &|_, _| Vec::new(),
            params: Vec::new(),
            endpoints: Vec::new(),
            regions: Vec::new(),
            has_populations: false,
            phases_beside: Vec::new(),
            measures: vec![connects()],
            measure_places: vec![Place::at(0..0)],
            metrics: Vec::new(),
            tags: Tags::new(),
            totals: BTreeSet::new(),
            headers: Vec::new(),
            has_numbers: false,
            servers: Vec::new(),
            timeout_ns: 0,
            continue_ns: 0,
            accept_encoding: None,
            streams_accept_gzip: false,
            redirects: 0,
            seed: 1,
            data: Vec::new(),
            auth: None,
            sign: None,
            cookies: false,
            defaults: Defaults::default(),
            schema: None,
            has_bad_protos: false,
            k6: None,
            scripts: RefCell::default(),
            uploads: Vec::new(),
            secrets: Secrets::default(),
            proxies: Proxies::default(),
            folder: PathBuf::new(),
            shared: Vec::new(),
            between: Declarations::default(),
        }
    }
}

impl Checker<'_> {
    /// The measure of that name with the tags of the step that is being compiled; it is made where there is none
    /// yet. Pushed messages have no step, and so no tags.
    fn measure(&mut self, name: &str, kind: MeasureKind, place: &Place) -> MeasureId {
        if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
            self.diagnostics
                .error("bad-name", place, "this cannot be the name of a measure")
                .hint("a name has 1 to 200 characters and no line breaks");
        }
        if self.metric(name).is_some() {
            let message = format!("`{name}` is already the name of a metric");
            self.diagnostics
                .error("measure-conflict", place, message)
                .hint("give it another name with `as`");
        }
        let tags = match kind {
            MeasureKind::Message => Tags::new(),
            _ => self.tags.clone(),
        };
        let mut same_name = (0..).zip(&self.measures).filter(|(_, m)| m.name == name);
        let first = same_name.clone().next().map(|(at, m)| (at, m.kind));
        if let Some((at, found)) = first.filter(|(_, found)| *found != kind) {
            let message = format!("`{name}` already measures {}", kind_name(found));
            self.diagnostics
                .error("measure-conflict", place, message)
                .hint("give it another name with `as`");
            return index(at);
        }
        if let Some((at, _)) = same_name.find(|(_, m)| m.tags == tags) {
            return index(at);
        }
        let mut known = self.measures.iter().map(|m| m.name.as_str());
        let mistaken = |known| mistaken(name, known).or_else(|| mistaken(known, name));
        if let Some(message) = known.find_map(mistaken) {
            self.diagnostics
                .error("measure-conflict", place, message)
                .hint("give it another name with `as`");
        }
        self.measures.push(Measure { name: name.to_owned(), kind, tags, shared_name: None });
        self.measure_places.push(place.clone());
        index(self.measures.len() - 1)
    }

    /// The endpoint's number; equal ones are one.
    fn endpoint(&mut self, endpoint: Endpoint) -> EndpointId {
        let at = self.endpoints.iter().position(|e| *e == endpoint).unwrap_or_else(|| {
            self.endpoints.push(endpoint);
            self.endpoints.len() - 1
        });
        index(at)
    }

    /// Reports a name that is not among the known ones; `introduction` begins the list of those.
    pub(crate) fn unknown<'n>(
        &mut self,
        code: &'static str,
        place: &Place,
        message: String,
        written: &str,
        introduction: &str,
        known: impl IntoIterator<Item = &'n str> + Clone,
    ) {
        let hint = suggest::hint(written, introduction, known);
        self.diagnostics.error(code, place, message).hint_some(hint);
    }
}

/// The error about a name that thresholds and the run directory use for some of the times of the
/// measure `whole`.
fn mistaken(name: &str, whole: &str) -> Option<String> {
    let times = match name.strip_prefix(whole)? {
        ".succeeded" => "times of successes",
        ".failed" => "times of failures that were answered",
        ".censored" => "times of operations that were never answered",
        ".service" => "service times",
        ".lag" => "lag",
        ".late" => "lag of late answers",
        _ => return None,
    };
    Some(format!("`{name}` also means the {times} of `{whole}`"))
}

fn kind_name(kind: MeasureKind) -> &'static str {
    match kind {
        MeasureKind::Connect => "connections",
        MeasureKind::Request => "requests",
        MeasureKind::Handshake => "handshakes",
        MeasureKind::Message => "messages",
        MeasureKind::Redirect => "redirects",
        MeasureKind::Meeting => "waits for other users",
        MeasureKind::Transaction => "a transaction",
        MeasureKind::Check => "a check",
        MeasureKind::Value => "times of a `measure` step",
        MeasureKind::Step => "steps that failed of themselves",
    }
}
