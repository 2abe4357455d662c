//! `<sessions>`: what users do, one program a session.

use std::collections::BTreeMap;
use std::ops::Range;

use roxmltree::Node;

use super::attributes::value_at;
use super::options::Pause;
use super::places::{Server, bracketed};
use super::raw::Plain;
use super::text;
use super::{Importer, Item, Map, elements, opening};
use crate::template::literal;

/// A session as a program of the scenario.
#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) at: Range<usize>,
    pub(super) weight: f64,
    pub(super) steps: Vec<Map>,
    /// How long its pauses can be expected to last, at most.
    pub(super) longest_s: f64,
}

/// State of the session that is being converted.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Variables that a step has set so far, by their names in the scenario.
    pub(super) defined: Vec<String>,
    /// Variables that were read before anything set them.
    pub(super) undefined: Vec<String>,
    /// Lists: what of each item is meant, as a JSON pointer.
    pub(super) lists: BTreeMap<String, String>,
    /// Base of relative URLs, if that is not the target.
    pub(super) base: Option<String>,
    /// State of the connection of `ts_raw`.
    pub(super) plain: Plain,
    /// A step has made an HTTP request.
    pub(super) has_http: bool,
    /// How many helper variables there are.
    pub(super) helpers: usize,
    pub(super) transactions: Vec<String>,
    pub(super) longest_s: f64,
    /// How often the steps at hand are done.
    pub(super) rounds: f64,
}

/// An exponential pause is longer than this multiple of its mean once in 22,000.
const EXPONENTIAL_MEANS: f64 = 10.0;

/// Sum of the probabilities of all sessions.
const PROBABILITY_SUM: f64 = 100.0;
/// Three sessions of 33.3 % are a third each.
const PROBABILITY_ROUNDING: f64 = 0.5;

impl Importer<'_> {
    pub(super) fn read_sessions(&mut self, node: Node<'_, '_>) -> Vec<Program> {
        let speaks = |name: &str| node.descendants().any(|p| p.tag_name().name() == name);
        let is_bare = speaks("raw") || speaks("mqtt");
        self.is_plain = is_bare && !speaks("http") && !speaks("websocket");
        let mut programs: Vec<Program> = Vec::new();
        for session in elements(node) {
            if session.tag_name().name() != "session" {
                self.unknown_element(session);
                continue;
            }
            let Some(mut program) = self.read_session(session) else {
                continue;
            };
            let is_taken = |name: &str| programs.iter().any(|other| other.name == name);
            if is_taken(&program.name) {
                let numbered = (2..).map(|n| format!("{}-{n}", program.name));
                let name = numbered.into_iter().find(|name| !is_taken(name));
                let name = name.expect("there are more numbers than sessions");
                let message =
                    format!("another session is called `{}`: this one is `{name}`", program.name);
                self.diagnostics.renamed(value_at(session, "name"), message);
                program.name = name;
            }
            programs.push(program);
        }
        self.check_probabilities(node, &programs);
        if programs.is_empty() {
            let message = "there is no session".to_owned();
            self.diagnostics.error("missing-element", opening(node), message);
        }
        programs
    }

    /// Tsung takes probabilities as they are, in per cent.
    fn check_probabilities(&mut self, node: Node<'_, '_>, programs: &[Program]) {
        let Some(first) = elements(node).find(|session| session.attribute("probability").is_some())
        else {
            return;
        };
        let sum: f64 = programs.iter().map(|program| program.weight).sum();
        if (sum - PROBABILITY_SUM).abs() > PROBABILITY_ROUNDING {
            let message = format!(
                "the probabilities of all sessions sum to {}, not 100: they are taken as weights",
                text::number(sum)
            );
            self.diagnostics.differs("probabilities", value_at(first, "probability"), &message);
        }
    }

    /// A session; `None`: it is of a protocol that is not spoken, which is reported.
    fn read_session(&mut self, node: Node<'_, '_>) -> Option<Program> {
        self.known_attributes(node);
        let name = self.required(node, "name").unwrap_or_default().to_owned();
        let weight = match self.number(node, "probability") {
            None => self.number(node, "weight"),
            found => found,
        };
        self.session = Session { rounds: 1.0, ..Session::default() };
        self.required(node, "type");
        if !self.known_protocol(node, "type") {
            return None;
        }
        if !self.flag(node, "persistent", true) {
            let message = "connections stay open as long as the server keeps them".to_owned();
            self.diagnostics.lost(value_at(node, "persistent"), message);
        }
        let mut steps = self.agent_step(node);
        self.steps(node, &mut steps);
        let mut undefined = std::mem::take(&mut self.session.undefined);
        undefined.sort();
        undefined.dedup();
        if !undefined.is_empty() {
            let mut set = Map::new(opening(node))
                .comment("Read before any step sets them: Tsung uses this word.");
            for name in &undefined {
                set.sub("set").put(name, Item::Text("undefined".to_owned()));
            }
            steps.insert(0, set);
        }
        if steps.is_empty() {
            let message = format!("the session `{name}` does nothing");
            self.diagnostics.error("empty", opening(node), message);
        }
        Some(Program {
            name,
            at: opening(node),
            weight: weight.unwrap_or(0.0),
            steps,
            longest_s: self.session.longest_s,
        })
    }

    /// Reports a protocol that is not spoken; false: it is one of Tsung's.
    fn known_protocol(&mut self, node: Node<'_, '_>, attribute: &str) -> bool {
        const TYPES: [&str; 13] = [
            "ts_http",
            "ts_websocket",
            "ts_raw",
            "ts_jabber",
            "ts_pgsql",
            "ts_ldap",
            "ts_webdav",
            "ts_mysql",
            "ts_fs",
            "ts_shell",
            "ts_job",
            "ts_amqp",
            "ts_mqtt",
        ];
        let kind = node.attribute(attribute).unwrap_or_default();
        let protocol = match kind {
            "ts_http" | "http" | "ts_webdav" | "ts_websocket" | "websocket" | "ts_raw" => {
                return true;
            }
            // Which connection a later step would use, cannot be said.
            "ts_mqtt" if attribute == "type" => return true,
            "ts_mqtt" => "MQTT",
            "ts_jabber" => "XMPP",
            "ts_pgsql" => "PostgreSQL",
            "ts_mysql" => "MySQL",
            "ts_ldap" => "LDAP",
            "ts_amqp" => "AMQP",
            "ts_fs" => "file systems",
            "ts_shell" => "shell commands",
            "ts_job" => "batch jobs",
            _ => {
                self.word(node, attribute, &TYPES);
                return true;
            }
        };
        let message = format!("sessions of {protocol} (`{kind}`) are not supported");
        self.diagnostics.lost(value_at(node, attribute), message);
        false
    }

    /// Draws the user's agent, where the options name several.
    fn agent_step(&mut self, node: Node<'_, '_>) -> Vec<Map> {
        let at = opening(node);
        let set = |name: &str| {
            let value = Item::Text(literal(name));
            let value = Map::single(at.clone(), "user_agent", value);
            Map::single(at.clone(), "set", Item::Map(value))
        };
        if self.agents.len() < 2 {
            return Vec::new();
        }
        let branches = self.agents.iter().map(|(weight, name)| {
            Map::single(at.clone(), "weight", Item::Bare(text::number(*weight)))
                .with("steps", Item::List(vec![set(name)]))
        });
        let branches = Item::List(branches.collect());
        self.session.defined.push("user_agent".to_owned());
        vec![Map::single(at.clone(), "choose", branches)]
    }

    /// Compiles the elements inside one to steps.
    pub(super) fn steps(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let is_session = node.tag_name().name() == "session";
        for step in elements(node) {
            let before = steps.len();
            self.known_attributes(step);
            match step.tag_name().name() {
                "request" => self.request(step, steps),
                "thinktime" => self.think_step(step, steps),
                "transaction" => self.transaction(step, steps),
                "setdynvars" => self.set_variables(step, steps),
                "for" => self.for_loop(step, steps),
                "repeat" => self.repeat(step, steps),
                "foreach" => self.for_each(step, steps),
                "if" => self.if_step(step, steps),
                "change_type" => self.change_type(step),
                "abort" => self.abort(step, steps),
                // The condition of the `repeat` around it.
                "while" | "until" if node.tag_name().name() == "repeat" => {}
                _ => self.unknown_element(step),
            }
            if is_session && let Some(opening) = self.session.plain.opening.take() {
                steps.insert(before, opening);
            }
        }
    }

    fn think_step(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let at = opening(node);
        let value = node.attribute("value").unwrap_or_default();
        let default = self.think.clone();
        let overridden = default.as_ref().filter(|think| think.is_override);
        let pause = match overridden {
            Some(think) => think.pause.clone(),
            None if value == "wait_global" || value == "wait_bidi" => {
                let message = format!("`{value}` is not supported: users do not wait for others");
                self.diagnostics.lost(value_at(node, "value"), message);
                return;
            }
            None if value.contains("%%") => {
                return self.think_variable(node, value, steps);
            }
            None if node.attributes().len() == 0 => match default {
                Some(think) => think.pause,
                None => {
                    self.required(node, "value");
                    return;
                }
            },
            None => match self.pause(node) {
                Some(pause) => pause,
                None => return,
            },
        };
        let (item, longest_s) = match pause {
            Pause::Fixed(value) => (Item::Bare(text::seconds(value)), value),
            Pause::Random(0.0) => return,
            Pause::Random(mean) => {
                let mean_text = Item::Bare(text::seconds(mean));
                let drawn = Map::single(at.clone(), "exponential", mean_text);
                (Item::Map(drawn), EXPONENTIAL_MEANS * mean)
            }
            Pause::Range(min, max) if min == max => (Item::Bare(text::seconds(max)), max),
            Pause::Range(min, max) => {
                let range = format!("{}..{}", text::seconds(min), text::seconds(max));
                (Item::Bare(range), max)
            }
        };
        if longest_s == 0.0 {
            return;
        }
        self.session.longest_s += longest_s * self.session.rounds;
        steps.push(Map::single(at, "think", item));
    }

    /// A pause that a variable says, in seconds.
    fn think_variable(&mut self, node: Node<'_, '_>, value: &str, steps: &mut Vec<Map>) {
        let at = value_at(node, "value");
        let inner = value.trim().strip_prefix("%%_").and_then(|v| v.strip_suffix("%%"));
        let Some(name) = inner else {
            let message = "a think time is one variable or a number".to_owned();
            self.diagnostics.error("bad-number", at, message);
            return;
        };
        let name = self.read_variable(name, &at);
        let step = Map::single(opening(node), "think_seconds", Item::Text(name));
        steps.push(step);
    }

    fn transaction(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let name = self.required(node, "name").unwrap_or_default().to_owned();
        self.session.transactions.push(name.clone());
        let mut inner = Vec::new();
        self.steps(node, &mut inner);
        self.session.transactions.pop();
        steps.push(
            Map::single(opening(node), "transaction", Item::Text(literal(&name)))
                .with("steps", Item::List(inner)),
        );
    }

    /// From here on the user speaks to another server, or another protocol.
    fn change_type(&mut self, node: Node<'_, '_>) {
        self.known_protocol(node, "new_type");
        let host = self.required(node, "host").map(bracketed);
        let port = self.port(node, "port");
        let scheme = self.scheme(node, "server_type");
        if self.flag(node, "store", false) || self.flag(node, "restore", false) {
            let message = "connections to other servers stay open by themselves".to_owned();
            self.diagnostics.ignored(opening(node), message);
        }
        if let (Some(host), Some(port), Some(scheme)) = (host, port, scheme) {
            if host.contains("%%") {
                let message = "a server that differs between users".to_owned();
                self.diagnostics.lost(value_at(node, "host"), message);
                return;
            }
            let server = Server { scheme, host, port, weight: 1.0 };
            match node.attribute("new_type") {
                Some("ts_raw") => self.go_to_plain(node, &server),
                _ => self.go_to(server.url()),
            }
        }
    }

    /// Relative URLs go there from here on.
    pub(super) fn go_to(&mut self, origin: String) {
        let is_target = matches!(&self.servers[..], [one] if one.url() == origin);
        self.session.base = (!is_target).then_some(origin);
    }

    fn abort(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        if self.word(node, "type", &["session", "all"]) == Some("all") {
            let message = "a user cannot end the whole run".to_owned();
            self.diagnostics.lost(value_at(node, "type"), message);
        }
        steps.push(Map::single(opening(node), "stop", Item::Nothing));
    }
}
