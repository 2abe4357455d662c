//! Tsung's files: an XML document that says clients, servers, load, options and sessions.
//!
//! The semantics are Tsung's (its manual, version 1.7, and `tsung-1.0.dtd`): users arrive as a
//! Poisson process within each phase, a user's session and server are drawn by weight, a random
//! think time is exponential, the first `match` that comes true acts, and the test is over when
//! the last user has finished. [`convert`] makes a scenario of it; what each part becomes is
//! documented in `docs/tsung.md`.

mod attributes;
mod control;
mod data;
mod load;
mod matching;
mod mqtt;
mod oauth;
mod options;
mod places;
mod raw;
mod requests;
mod sessions;
mod text;
mod variables;

use std::ops::Range;

use options::Think;
use places::Server;
use roxmltree::Node;
use scenario::document::{Diagnostic, Source};
use sessions::Session;

use crate::diagnostics::Diagnostics;
use crate::template::literal;
use crate::writer::{Item, Map, Writer};
use crate::{Conversion, Leniency, xml};

/// Settings of a conversion.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub leniency: Leniency,
    /// Texts of files that the document names, or why they cannot be read.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Properties of a request in Tsung's own log, by the name of its measure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// The measure in the scenario.
    pub measure: String,
    /// `tag` of the request.
    pub tag: String,
    /// The innermost transaction around it.
    pub transaction: String,
    /// For a request with a `match` that does something: whether the first such acts where its
    /// pattern is found.
    pub acts_on_match: Option<bool>,
}

/// State of an import.
struct Importer<'a> {
    diagnostics: Diagnostics<'a>,
    files: &'a dyn Fn(&str) -> Result<String, String>,
    servers: Vec<Server>,
    /// `option name="thinktime"`.
    think: Option<Think>,
    /// `option name="user_agent"`: weights and names.
    agents: Vec<(f64, String)>,
    /// The path of a WebSocket where the request says none.
    websocket_path: String,
    /// Whether WebSocket messages are text where the request does not say.
    websocket_text: bool,
    requests: Vec<Request>,
    /// Files of which steps take lines.
    data: data::Files,
    /// The session at hand.
    session: Session,
    /// A session has made an HTTP request.
    has_http: bool,
    /// The sessions have plain connections and nothing else.
    is_plain: bool,
}

/// Makes a scenario of a Tsung document. There is one exactly where no diagnostic is an error.
pub fn convert(
    source: Source<'_>,
    settings: &Settings<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut importer = Importer {
        diagnostics: Diagnostics::new(source.text, settings.leniency),
        files: settings.files,
        servers: Vec::new(),
        think: None,
        agents: Vec::new(),
        websocket_path: "/".to_owned(),
        websocket_text: false,
        requests: Vec::new(),
        data: data::Files::default(),
        session: Session::default(),
        has_http: false,
        is_plain: false,
    };
    let converted = xml::parse(source.text, &mut importer.diagnostics)
        .and_then(|document| importer.document(document.root_element(), source.name));
    let converted = converted.filter(|_| !importer.diagnostics.has_errors());
    (converted, importer.diagnostics.collector.finish())
}

impl Importer<'_> {
    fn document(&mut self, root: Node<'_, '_>, name: &str) -> Option<Conversion> {
        if root.tag_name().name() != "tsung" {
            let message = format!("the document is a `{}`", root.tag_name().name());
            self.diagnostics
                .error("bad-document", opening(root), message)
                .hint("Tsung's files begin with `<tsung>`");
            return None;
        }
        self.known_attributes(root);
        let mut clients = None;
        let mut servers = None;
        let mut load = None;
        let mut options = None;
        let mut sessions = None;
        for part in elements(root) {
            let place = match part.tag_name().name() {
                "clients" => &mut clients,
                "servers" => &mut servers,
                "load" => &mut load,
                "options" => &mut options,
                "sessions" => &mut sessions,
                "information" => continue,
                "monitoring" => {
                    let message = "Tsung's server monitoring is not used".to_owned();
                    self.diagnostics.ignored(opening(part), message);
                    continue;
                }
                _ => {
                    self.unknown_element(part);
                    continue;
                }
            };
            *place = Some(part);
        }
        for (name, part) in [("servers", servers), ("load", load), ("sessions", sessions)] {
            if part.is_none() {
                let message = format!("`<{name}>` is missing");
                self.diagnostics.error("missing-element", opening(root), message);
            }
        }
        let servers = servers?;
        let load = load?;
        let sessions = sessions?;
        let mut settings = Map::new(options.map_or(0..0, opening));
        settings.put("timeout", Item::Bare("10m".to_owned()));
        let mut retries = options::Retries::default();
        if let Some(clients) = clients {
            self.clients(clients, &mut settings);
        }
        self.read_servers(servers);
        let mut seed = None;
        if let Some(options) = options {
            seed = self.read_options(options, &mut settings, &mut retries);
        }
        retries.write(&mut settings);
        let programs = self.read_sessions(sessions);
        if self.has_http {
            settings.put("cookies", Item::Bare("true".to_owned()));
            // Tsung accepts no codings and follows no redirects.
            settings.put("accept_encoding", Item::Bare("none".to_owned()));
            settings.put("redirects", Item::Bare("0".to_owned()));
        }
        let arrivals = self.arrivals(load, &programs);
        Some(self.written(name, root, seed, settings, &programs, arrivals))
    }

    /// All of it as a scenario's text.
    fn written(
        &mut self,
        name: &str,
        root: Node<'_, '_>,
        seed: Option<String>,
        settings: Map,
        programs: &[sessions::Program],
        arrivals: Vec<Map>,
    ) -> Conversion {
        let mut top = Map::new(opening(root));
        let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let stem = file.strip_suffix(".xml").unwrap_or(file);
        top.put("name", Item::Text(literal(stem)));
        self.put_target(&mut top);
        if let Some(seed) = seed {
            top.put("seed", Item::Bare(seed));
        }
        top.put("options", Item::Map(settings));
        if let Some(data) = self.data.written(opening(root)) {
            top.put("data", Item::Map(data));
        }
        let mut sessions = Map::new(opening(root));
        for program in programs {
            let steps = Item::List(program.steps.clone());
            let body = Map::new(program.at.clone())
                .with("weight", Item::Bare(text::number(program.weight)))
                .with("steps", steps);
            sessions.put(&program.name, Item::Map(body));
        }
        top.put("sessions", Item::Map(sessions));
        top.put("arrivals", Item::List(arrivals));
        let mut writer = Writer::default();
        let made = format!("Converted from Tsung's {file}; see docs/tsung.md.");
        writer.comment(&(0..0), 0, &made);
        writer.map(&top, 0);
        Conversion {
            text: writer.text,
            lines: writer.lines,
            requests: std::mem::take(&mut self.requests),
        }
    }
}

/// An element's name in its start tag.
fn opening(node: Node<'_, '_>) -> Range<usize> {
    let range = node.range();
    let end = range.start + 1 + node.tag_name().name().len();
    range.start..end.min(range.end)
}

fn elements<'d, 'i: 'd>(node: Node<'d, 'i>) -> impl Iterator<Item = Node<'d, 'i>> {
    node.children().filter(Node::is_element)
}
