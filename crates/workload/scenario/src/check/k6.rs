//! Scripts of k6: their files, and the step that runs one of their functions.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k6::{Names, names};
use plan::expr::{Escape, Expr, Template, TemplatePart};
use plan::{
    Branch, EndpointId, HttpOp, Jitter, K6File, K6Metric, K6Name, K6Next, K6Op, K6Script, K6Socket,
    MeasureId, MeasureKind, Op, Parallel, Pc, Register, Retry, Slot, StatusRule, WsOpen,
};

use super::Checker;
use super::fields::Fields;
use super::multipart::BINARY;
use super::program::Program;
use crate::document::node::{Node, Place};
use crate::keys::K6;

/// The measure of requests whose names the script's texts do not have.
const OTHER_REQUESTS: &str = "http (other)";
/// The measure of such checks.
const OTHER_CHECKS: &str = "check (other)";
/// Redirects that a request may follow; how many it does, the script says.
const REDIRECTS: u8 = 10;

/// What a script's text has if it begins tasks.
const TASK_WORDS: [&str; 2] = ["batch", "asyncRequest"];

/// The measure of the handshakes of WebSockets.
const HANDSHAKES: &str = "handshake";
/// How long one may take, as in k6.
const HANDSHAKE_NS: u64 = 60_000_000_000;

/// The status of a WebSocket that has done what it was for (RFC 6455 §7.4.1).
const NORMAL: u16 = 1000;

/// Registers of attempts, of which there is one each.
#[derive(Debug, Clone, Copy)]
struct Attempts {
    attempts: Register,
    draws: Register,
}

/// A script while its scenario is compiled.
#[derive(Debug)]
pub(super) struct LoadedScript {
    files: Vec<K6File>,
    env: Vec<(String, String)>,
    options: String,
    names: Names,
}

impl LoadedScript {
    /// Whether it begins what runs beside its functions.
    fn has_tasks(&self) -> bool {
        let has = |file: &K6File, word: &str| {
            file.bytes.windows(word.len()).any(|bytes| bytes == word.as_bytes())
        };
        self.has_sockets()
            || self.files.iter().any(|file| TASK_WORDS.iter().any(|word| has(file, word)))
    }

    fn has_sockets(&self) -> bool {
        self.files.iter().any(|file| k6::has_sockets(&String::from_utf8_lossy(&file.bytes)))
    }
}

impl Checker<'_> {
    /// `k6`: reads the files.
    pub(super) fn k6_script(&mut self, node: &Node) {
        let Some(fields) = self.fields(node, &K6, "`k6`") else {
            return;
        };
        let mut files = Vec::new();
        let named = fields.get("files").map_or(&[][..], |node| self.one_or_more(node));
        for node in named {
            let Some(name) = node.text().filter(|_| !node.is_null()) else {
                self.expected(node, "a file's name");
                continue;
            };
            let read = (self.settings.files)(&format!("{BINARY}{name}"));
            let bytes =
                read.and_then(|text| STANDARD.decode(text).map_err(|error| error.to_string()));
            match bytes {
                Ok(bytes) => files.push(K6File { name: name.to_owned(), bytes: bytes.into() }),
                Err(reason) => {
                    let message = format!("`{name}` cannot be read: {reason}");
                    self.diagnostics.error("no-file", &node.place, message);
                }
            }
        }
        let mut env = Vec::new();
        for entry in fields.get("env").and_then(Node::mapping).unwrap_or_default() {
            let value = match entry.value.text() {
                // What is given for the script may have any characters.
                Some(text) if text.starts_with("${env('") && text.ends_with("')}") => {
                    self.word(&entry.value, "a text").map(|word| word.text)
                }
                Some(text) => Some(text.to_owned()),
                None => {
                    self.expected(&entry.value, "a text");
                    None
                }
            };
            self.note_variable(&entry.key, &entry.value);
            env.extend(value.map(|value| (entry.key.clone(), value)));
        }
        let options = fields.get("options").and_then(Node::text).unwrap_or("{}").to_owned();
        if serde_json::from_str::<serde_json::Value>(&options).is_err() {
            let place = fields.key_place("options").unwrap_or(&node.place);
            self.diagnostics.error("bad-json", place, "the options are no JSON");
        }
        let texts: Vec<_> = files.iter().map(|file| String::from_utf8_lossy(&file.bytes)).collect();
        let names = names(texts.iter().map(AsRef::as_ref));
        self.k6 = Some(LoadedScript { files, env, options, names });
    }

    /// The script that users run; `None`: there is none.
    pub(super) fn finish_k6(&mut self) -> Option<Arc<K6Script>> {
        let LoadedScript { files, env, options, .. } = self.k6.take()?;
        let metrics = (0..).zip(&self.metrics).filter_map(|(at, metric)| {
            let (base, tags) = k6::part_of(&metric.name)?;
            Some(K6Metric { base, tags, id: plan::MetricId::from(at) })
        });
        Some(Arc::new(K6Script {
            metrics: metrics.collect(),
            files,
            env,
            options,
            time_max_ns: k6::TIME_NS_MAX,
            memory_bytes_max: k6::MEMORY_BYTES_MAX,
        }))
    }

    /// A step that runs a function of the script: its instruction, and behind it a request for each name, which leads back.
    pub(super) fn k6_step(&mut self, node: &Node, fields: &Fields<'_>, program: &mut Program) {
        let place = &node.place;
        let Some(function) = self.word(node, "the name of a function") else {
            return;
        };
        let text = |key: &str| fields.get(key).and_then(Node::text).map(str::to_owned);
        let scenario = text("scenario").unwrap_or_default();
        let data = match text("data") {
            Some(name) => match self.shared.iter().position(|known| *known == name) {
                Some(at) => Some(Expr::Shared(super::index::<Slot>(at))),
                None => {
                    let message = format!("`setup` sets no variable `{name}`");
                    self.diagnostics.error("unknown-variable", place, message);
                    None
                }
            },
            None => None,
        };
        let result = text("result").and_then(|name| self.variable(&name, place, program));
        let Some(script) = &self.k6 else {
            self.diagnostics
                .error("bad-script", place, "the scenario has no script of k6")
                .hint("write `k6: { files: [ script.js ] }` beside `sessions`, or run the script itself: throng run script.js");
            return;
        };
        let has_tasks = script.has_tasks();
        let has_sockets = script.has_sockets();
        let users = users_of(&script.options, &scenario);
        let Names { requests, checks, .. } = script.names.clone();
        let mut named = Vec::new();
        for (label, pattern) in requests {
            named.push((pattern, self.k6_measure(&label, MeasureKind::Request, place)));
        }
        let any = K6Name { parts: vec![String::new(); 2] };
        named.push((any, self.k6_measure(OTHER_REQUESTS, MeasureKind::Request, place)));
        let mut check_measures = Vec::new();
        for name in checks {
            let measure = self.k6_measure(&format!("check {name}"), MeasureKind::Check, place);
            check_measures.push((name, measure));
        }
        let handshakes =
            has_sockets.then(|| self.k6_measure(HANDSHAKES, MeasureKind::Handshake, place));
        let other_checks = self.k6_measure(OTHER_CHECKS, MeasureKind::Check, place);

        let attempts = program.register();
        let draws = program.retry_draws();
        program.push(Op::RetryStart { attempts });
        let start = program.push(Op::K6(Box::new(K6Op {
            function: function.text,
            scenario,
            data,
            result,
            requests: Vec::new(),
            tasks: None,
            end: 0,
            checks: check_measures,
            other_checks,
            records: self.between.alone.is_none(),
            users_ready: users.ready,
            users_max: users.most,
        })));
        let back = Pc::try_from(start).unwrap_or_default();
        let attempts = Attempts { attempts, draws };
        let requests = self.k6_requests(&named, back, attempts, program);
        let tasks = has_tasks.then(|| self.k6_tasks(&named, handshakes, attempts, back, program));
        let behind = program.pc();
        if let Op::K6(op) = &mut program.ops[start] {
            op.requests = requests;
            op.tasks = tasks;
            op.end = behind;
        }
    }

    /// A request for each name, behind which the instruction `back` follows, whatever came of it.
    fn k6_requests(
        &self,
        named: &[(K6Name, MeasureId)],
        back: Pc,
        registers: Attempts,
        program: &mut Program,
    ) -> Vec<(K6Name, Pc)> {
        let mut requests = Vec::new();
        for (pattern, measure) in named {
            let pc = program.pc();
            requests.push((pattern.clone(), pc));
            program.push(Op::Http(Box::new(self.k6_request(*measure))));
            lead_back(pc, *measure, back, registers, program);
        }
        requests
    }

    /// The function in a branch, to which tasks are added that run the same instructions. Returns where it is begun.
    fn k6_tasks(
        &self,
        named: &[(K6Name, MeasureId)],
        handshakes: Option<MeasureId>,
        registers: Attempts,
        script: Pc,
        program: &mut Program,
    ) -> Pc {
        let draws = program.branch_draws();
        let at =
            program.push(Op::Parallel(Box::new(Parallel { branches: Vec::new(), end: 0, draws })));
        let begins = program.pc();
        let next = K6Next { script, requests: Vec::new(), socket: None, end: 0 };
        let next = program.push(Op::K6Next(Box::new(next)));
        let requests = self.k6_requests(named, begins, registers, program);
        let socket = handshakes.map(|measure| k6_socket(measure, begins, registers, program));
        let last = program.pc();
        program.push(Op::BranchEnd);
        let ends = program.pc();
        program.push(Op::Jump(script));
        if let Op::K6Next(op) = &mut program.ops[next] {
            op.requests = requests;
            op.socket = socket;
            op.end = last;
        }
        if let Op::Parallel(parallel) = &mut program.ops[at] {
            parallel.branches = vec![Branch {
                instructions: begins..ends,
                first: None,
                sets: Vec::new(),
                retry_draws: None,
            }];
            parallel.end = ends;
        }
        Pc::try_from(at).unwrap_or_default()
    }

    /// A measure whose name the script has; one that a metric has as well is told apart.
    fn k6_measure(&mut self, name: &str, kind: MeasureKind, place: &Place) -> MeasureId {
        let is_taken = self.metric(name).is_some()
            || self.measures.iter().any(|measure| measure.name == name && measure.kind != kind);
        match is_taken {
            true => self.measure(&format!("{name} (k6)"), kind, place),
            false => self.measure(name, kind, place),
        }
    }

    /// The request that a script asks for: all but its measure is in the script.
    fn k6_request(&self, measure: MeasureId) -> HttpOp {
        HttpOp {
            endpoint: EndpointId(0),
            method: "GET".to_owned(),
            // It is another for every request.
            path: Template { parts: vec![TemplatePart::Expr(Expr::User, Escape::None)] },
            located_by: None,
            by_script: true,
            headers: Vec::new(),
            own_cookies: Vec::new(),
            body: None,
            continue_ns: 0,
            call: None,
            graphql: None,
            redirects: REDIRECTS,
            decodes: true,
            digest: None,
            sign: None,
            measure,
            status: StatusRule::BelowFourHundred,
            save: Vec::new(),
            check: Vec::new(),
            timeout_ns: self.timeout_ns,
        }
    }
}

/// Behind the instruction `at` follows the instruction `back`, whatever came of it.
fn lead_back(at: Pc, measure: MeasureId, back: Pc, registers: Attempts, program: &mut Program) {
    program.retries.push(Retry {
        instructions: at..program.pc(),
        measure,
        attempts: registers.attempts,
        attempts_max: 1,
        failures: None,
        when: None,
        pause_ns: 0,
        factor: 1.0,
        pause_max_ns: 0,
        jitter: Jitter::None,
        draws: registers.draws,
        otherwise: Some(back),
        opens_stream: false,
    });
    program.push(Op::Jump(back));
}

/// Where a branch opens the WebSocket that its script asks for, and closes it.
fn k6_socket(measure: MeasureId, back: Pc, registers: Attempts, program: &mut Program) -> K6Socket {
    let open = program.pc();
    program.push(Op::WsOpen(Box::new(WsOpen {
        endpoint: EndpointId(0),
        by_script: true,
        path: Template { parts: vec![TemplatePart::Expr(Expr::User, Escape::None)] },
        headers: Vec::new(),
        compress: None,
        records: None,
        protocol: None,
        first: None,
        mqtt: None,
        reconnect: None,
        measure,
        timeout_ns: HANDSHAKE_NS,
    })));
    lead_back(open, measure, back, registers, program);
    let close = program.pc();
    program.push(Op::Close { code: NORMAL });
    program.push(Op::Jump(back));
    K6Socket { open, close }
}

/// The users of a scenario of a script's options.
struct ScenarioUsers {
    /// Those that are there from the start.
    ready: u64,
    /// Where its iterations begin at a rate.
    most: Option<u64>,
}

fn users_of(options: &str, scenario: &str) -> ScenarioUsers {
    let options: serde_json::Value = serde_json::from_str(options).unwrap_or_default();
    let scenario = &options["scenarios"][scenario];
    let number = |key: &str| scenario[key].as_u64();
    let is_at_rate =
        scenario["executor"].as_str().is_some_and(|executor| executor.ends_with("-arrival-rate"));
    if is_at_rate {
        let ready = number("preAllocatedVUs").unwrap_or(1);
        return ScenarioUsers { ready, most: Some(number("maxVUs").unwrap_or(ready).max(ready)) };
    }
    let stages = scenario["stages"].as_array().map_or(&[][..], Vec::as_slice);
    let stages = stages.iter().filter_map(|stage| stage["target"].as_u64());
    let ready = stages.chain(number("startVUs")).chain(number("vus")).max();
    // A scenario that says nothing has one.
    let is_one = scenario.is_object();
    ScenarioUsers { ready: ready.unwrap_or(u64::from(is_one)), most: None }
}
