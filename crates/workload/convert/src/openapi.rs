//! Descriptions of APIs (OpenAPI 3.0 and 3.1), as a scenario that calls each operation once.
//!
//! Safe methods only (RFC 9110, section 9.2.1), unless others are wanted. Values are the examples of the description,
//! or follow from its schemas (`samples`). Credentials come from the environment.

mod operations;
mod parameters;
mod samples;
mod security;

use std::collections::BTreeSet;
use std::ops::Range;

use scenario::document::node::Node;
use scenario::document::{Diagnostic, Source, yaml};

use crate::diagnostics::Diagnostics;
use crate::draft::{Draft, arrivals, file_name, head, thresholds};
use crate::json::{self, find, items, text};
use crate::request::{Url, percent_decoded, scheme_length};
use crate::secrets::Secrets;
use crate::template::{literal, url_text};
use crate::writer::{Item, Map};
use crate::{Conversion, Leniency};

/// Largest description, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
/// Most references that are followed one after the other.
const REFERENCES_MAX: usize = 16;

/// Which operations are the steps of one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Those of a tag, the first of an operation.
    Tag,
    /// Those of a path.
    Path,
    /// All.
    One,
}

/// Settings of a conversion.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    pub leniency: Leniency,
    pub by: By,
    /// Keep operations whose methods may change something.
    pub all_methods: bool,
}

/// Makes a scenario of a description. There is one exactly where no diagnostic is an error.
pub fn convert(source: Source<'_>, settings: &Settings) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut diagnostics = Diagnostics::new(source.text, settings.leniency);
    let document = document(source.text, &mut diagnostics);
    let converted = document.filter(|_| !diagnostics.has_errors()).and_then(|root| {
        let mut importer = Importer {
            root: &root,
            settings: *settings,
            diagnostics: &mut diagnostics,
            secrets: Secrets::default(),
            server: String::new(),
            schemes: BTreeSet::new(),
        };
        importer.convert(source.name)
    });
    let converted = converted.filter(|_| !diagnostics.has_errors());
    (converted, diagnostics.collector.finish())
}

/// The description as a tree.
fn document(text: &str, diagnostics: &mut Diagnostics<'_>) -> Option<Node> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the description has {} bytes", text.len());
        let hint = format!("at most {TEXT_BYTES_MAX} are read");
        diagnostics.error("too-large", 0..0, message).hint(hint);
        return None;
    }
    let plain = text.trim_start_matches('\u{feff}');
    if plain.trim_start().starts_with('{') {
        return match json::parse(text, &[]) {
            Ok(document) => Some(document),
            Err(error) => {
                let message = format!("this is not JSON: {error}");
                diagnostics.error("bad-description", error.at..error.at, message);
                None
            }
        };
    }
    if text.len() > yaml::TEXT_BYTES_MAX {
        let message = "descriptions in YAML have at most 4 MiB".to_owned();
        diagnostics.error("too-large", 0..0, message).hint("convert it to JSON");
        return None;
    }
    yaml::parse(text, &mut diagnostics.collector)
}

/// State of an import.
struct Importer<'a, 't> {
    root: &'a Node,
    settings: Settings,
    diagnostics: &'a mut Diagnostics<'t>,
    secrets: Secrets,
    /// Scheme, host, port and base path of the first server.
    server: String,
    /// Names of the security schemes that requests use.
    schemes: BTreeSet<String>,
}

impl<'a> Importer<'a, '_> {
    fn convert(&mut self, name: &str) -> Option<Conversion> {
        let version = text(self.root, "openapi");
        if !version.starts_with("3.") {
            let what = match text(self.root, "swagger") {
                "" => format!("the version `{version}` of OpenAPI"),
                swagger => format!("Swagger {swagger}"),
            };
            let message = format!("{what} is not read");
            let hint = "convert it to OpenAPI 3, for example with swagger2openapi";
            self.diagnostics.error("bad-version", 0..0, message).hint(hint);
            return None;
        }
        let target = self.target();
        let sessions = self.sessions();
        self.report_unused_schemes();
        if sessions.is_empty() {
            let message = "the description has no operation to send".to_owned();
            let hint = "operations other than GET, HEAD and OPTIONS need --all-methods";
            self.diagnostics.error("empty", 0..0, message).hint(hint);
            return None;
        }
        let mut programs = Map::new(0..0);
        for (name, steps) in sessions {
            programs.put(&name, Item::List(steps));
        }
        let title = text(self.root, "info/title");
        let title = if title.is_empty() { file_name(name) } else { title };
        let title: String = title.chars().filter(|c| !c.is_control()).collect();
        let top = head(&title, &target, &(0..0))
            .with("sessions", Item::Map(programs))
            .with("arrivals", arrivals("A description", 0.0))
            .with("thresholds", thresholds());
        let comment =
            format!("Converted from the description {}; see docs/importing.md.", file_name(name));
        let no_files = |_: &str| -> Result<String, String> { Err("there are no files".to_owned()) };
        Draft { comments: vec![comment], top }.finish(&self.secrets, &no_files, self.diagnostics)
    }

    /// The target: the first server.
    fn target(&mut self) -> String {
        let servers = items(self.root, "servers");
        let written = servers.first().map(server_url).unwrap_or_default();
        if servers.len() > 1 {
            let message = format!("the first of {} servers is the target", servers.len());
            let hint = "choose another with --set target=URL";
            self.diagnostics.ignored(servers[1].place.span.clone(), message).hint(hint);
        }
        self.server = written.clone();
        if scheme_length(&written) > 0 {
            let Url { origin, path, .. } = Url::parse(&written);
            return literal(&format!("{origin}{}", path.trim_end_matches('/')));
        }
        let message = "the description does not say where the server is".to_owned();
        let hint = "set the environment variable TARGET, or edit `target`";
        let at = servers.first().map_or(0..0, |server| server.place.span.clone());
        self.diagnostics.stand_in(at, message).hint(hint);
        let target = self.secrets.given("TARGET");
        self.secrets.begins_url("TARGET");
        let path = url_text(written.trim_end_matches('/'));
        format!("${{{target}}}{}", literal(&path))
    }

    /// The node that references lead to; where there is none, that is reported.
    fn follow(&mut self, node: &'a Node) -> Option<&'a Node> {
        let mut node = node;
        for _ in 0..REFERENCES_MAX {
            let Some(reference) = node.get("$ref") else {
                return Some(node);
            };
            let at = reference.place.span.clone();
            let written = reference.text().unwrap_or_default();
            let Some(pointer) = written.strip_prefix('#') else {
                let message = format!("`{written}` is in another file");
                self.diagnostics.lost(at, message).hint("bundle the description into one file");
                return None;
            };
            match at_pointer(self.root, pointer) {
                Some(found) => node = found,
                None => {
                    let message = format!("`{written}` leads nowhere");
                    self.diagnostics.error("bad-reference", at, message);
                    return None;
                }
            }
        }
        let message = "these references have no end".to_owned();
        self.diagnostics.error("bad-reference", node.place.span.clone(), message);
        None
    }
}

/// The node at a JSON pointer (RFC 6901) in a fragment of a URL.
fn at_pointer<'n>(root: &'n Node, pointer: &str) -> Option<&'n Node> {
    let mut node = root;
    for part in pointer.split('/').skip(1) {
        let key = percent_decoded(part).replace("~1", "/").replace("~0", "~");
        node = match node.sequence() {
            Some(items) => items.get(key.parse::<usize>().ok()?)?,
            None => node.get(&key)?,
        };
    }
    Some(node)
}

/// The URL of a server, with the first values of its variables.
fn server_url(server: &Node) -> String {
    let mut url = text(server, "url").to_owned();
    for variable in find(server, "variables").and_then(Node::mapping).unwrap_or_default() {
        let first = items(&variable.value, "enum").first().and_then(Node::text);
        let value = match text(&variable.value, "default") {
            "" => first.unwrap_or_default(),
            default => default,
        };
        url = url.replace(&format!("{{{}}}", variable.key), value);
    }
    url
}

/// Where a key stands.
fn key_place(node: &Node, key: &str) -> Range<usize> {
    let entry = node.mapping().unwrap_or_default().iter().find(|entry| entry.key == key);
    entry.map_or_else(|| node.place.span.clone(), |entry| entry.key_place.span.clone())
}
