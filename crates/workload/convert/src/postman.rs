//! Collections of Postman (format 2.1, and 2.0 as far as it is the same), as a scenario.
//!
//! One session sends the requests in their order, as Postman's runner does. Variables become parameters, those that
//! scripts set variables of the user, and those without a value come from the environment. Of scripts the common forms
//! become `save`, `check` and `status` (`scripts`); what else they do stands in the scenario as a comment.

mod auth;
mod requests;
mod scripts;
mod variables;

use std::ops::Range;

use scenario::document::node::Node;
use scenario::document::{Diagnostic, Source};
use variables::Variables;
pub(crate) use variables::{Part, parts};

use crate::diagnostics::Diagnostics;
use crate::draft::{Draft, Files, arrivals, file_name, head, thresholds};
use crate::json::{self, find, items, text};
use crate::secrets::Secrets;
use crate::template::literal;
use crate::writer::{Item, Map};
use crate::{Conversion, Leniency};

/// Largest collection, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
/// Most requests of a collection.
const REQUESTS_MAX: usize = 5000;
/// Keys whose values are never read: saved responses.
const SKIPPED: &[&str] = &["response", "_postman_previewlanguage", "description"];

/// Settings of a conversion.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub leniency: Leniency,
    /// The text of an environment, or of global variables, as Postman exports it.
    pub environment: Option<&'a str>,
    /// Texts of files that the collection names, or why they cannot be read.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A script and when it runs.
#[derive(Debug, Clone)]
struct Script {
    text: String,
    at: Range<usize>,
}

/// What requests inherit from the folders around them.
#[derive(Debug, Clone, Default)]
struct Inherited<'n> {
    auth: Option<&'n Node>,
    before: Vec<Script>,
    after: Vec<Script>,
    /// Settings of how requests are sent, those of outer levels first.
    behaviours: Vec<&'n Node>,
}

impl Inherited<'_> {
    /// A setting of how requests are sent.
    fn behaviour(&self, key: &str) -> Option<&str> {
        self.behaviours.iter().rev().find_map(|own| own.get(key)).and_then(Node::text)
    }
}

/// Makes a scenario of a collection. There is one exactly where no diagnostic is an error.
pub fn convert(
    source: Source<'_>,
    settings: &Settings<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut importer =
        Importer::new(Diagnostics::new(source.text, settings.leniency), settings.files);
    importer.prunes = true;
    let converted = importer.convert(source, settings.environment);
    importer.finish(converted)
}

/// Makes a scenario of what another tool exported, once it has the form of a collection. `whose`: what the file is, as
/// "Postman's collection".
pub(crate) fn convert_collection(
    name: &str,
    whose: &str,
    collection: &Node,
    files: Files<'_>,
    diagnostics: Diagnostics<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut importer = Importer::new(diagnostics, files);
    let converted = importer.collection(name, whose, collection);
    importer.finish(converted)
}

/// State of an import.
struct Importer<'a> {
    diagnostics: Diagnostics<'a>,
    files: Files<'a>,
    secrets: Secrets,
    variables: Variables,
    /// Where the first request goes.
    target: Option<String>,
    requests_count: usize,
    /// Places of scripts that were reported as comments.
    commented: Vec<usize>,
    /// Some methods send no body.
    prunes: bool,
}

impl<'a> Importer<'a> {
    fn new(diagnostics: Diagnostics<'a>, files: Files<'a>) -> Importer<'a> {
        Importer {
            diagnostics,
            files,
            secrets: Secrets::default(),
            variables: Variables::default(),
            target: None,
            requests_count: 0,
            commented: Vec::new(),
            prunes: false,
        }
    }

    /// What was converted, unless there were errors, and what there is to say.
    fn finish(self, converted: Option<Conversion>) -> (Option<Conversion>, Vec<Diagnostic>) {
        let converted = converted.filter(|_| !self.diagnostics.has_errors());
        (converted, self.diagnostics.collector.finish())
    }
}

impl Importer<'_> {
    fn convert(&mut self, source: Source<'_>, environment: Option<&str>) -> Option<Conversion> {
        if source.text.len() > TEXT_BYTES_MAX {
            let message = format!("the collection has {} bytes", source.text.len());
            let hint = format!("at most {TEXT_BYTES_MAX} are read");
            self.diagnostics.error("too-large", 0..0, message).hint(hint);
            return None;
        }
        let document = match json::parse(source.text, SKIPPED) {
            Ok(document) => document,
            Err(error) => {
                let message = format!("this is not JSON: {error}");
                self.diagnostics.error("bad-collection", error.at..error.at, message);
                return None;
            }
        };
        let collection = document.get("collection").unwrap_or(&document);
        if find(collection, "item").and_then(Node::sequence).is_none() {
            let message = "the collection has no list `item`".to_owned();
            let hint = "export it in Postman as Collection v2.1";
            self.diagnostics.error("bad-collection", 0..0, message).hint(hint);
            return None;
        }
        if let Some(environment) = environment {
            match json::parse(environment, &[]) {
                Ok(node) => self.variables.declare(items(&node, "values"), true),
                Err(error) => {
                    let message = format!("the environment is not JSON: {error}");
                    self.diagnostics.error("bad-environment", 0..0, message);
                    return None;
                }
            }
        }
        self.collection(source.name, "Postman's collection", collection)
    }

    fn collection(&mut self, file: &str, whose: &str, collection: &Node) -> Option<Conversion> {
        self.variables.declare(items(collection, "variable"), false);
        self.find_set_variables(collection);
        self.behaviours(collection, None);
        let inherited = inherit(&Inherited::default(), collection);
        let mut steps = Vec::new();
        self.items(collection, &inherited, &mut steps);
        let Some(target) = self.target.clone() else {
            let message = "the collection has no request".to_owned();
            self.diagnostics.error("empty", 0..0, message);
            return None;
        };
        if let Some(set) = self.variables.initial(&mut self.secrets) {
            steps.insert(0, set);
        }
        let unread = self.variables.unread();
        if let Some((_, at)) = unread.first() {
            let names: Vec<&str> = unread.iter().map(|(name, _)| name.as_str()).collect();
            let message =
                format!("variables that no request reads are left out: {}", names.join(", "));
            self.diagnostics.ignored(at.clone(), message);
        }
        let name = text(collection, "info/name");
        let name = if name.is_empty() { file_name(file) } else { name };
        let mut top = head(name, &target, &(0..0));
        if let Some(params) = self.variables.params() {
            top.put("params", Item::Map(params));
        }
        let options = Map::single(0..0, "cookies", Item::Bare("true".to_owned()));
        let sessions = Map::single(0..0, "collection", Item::List(steps));
        let top = top
            .with("options", Item::Map(options))
            .with("sessions", Item::Map(sessions))
            .with("arrivals", arrivals("A collection", 0.0))
            .with("thresholds", thresholds());
        let comment = format!("Converted from {whose} {}; see docs/importing.md.", file_name(file));
        let files = self.files;
        Draft { comments: vec![comment], top }.finish(&self.secrets, files, &mut self.diagnostics)
    }

    /// Notes the variables that any script sets: they belong to the user.
    fn find_set_variables(&mut self, node: &Node) {
        for script in scripts_of(node, "prerequest").iter().chain(&scripts_of(node, "test")) {
            for name in scripts::names_set(&script.text) {
                self.variables.set_by_script(&name);
            }
        }
        for item in items(node, "item") {
            self.find_set_variables(item);
        }
    }

    fn items<'n>(&mut self, node: &'n Node, around: &Inherited<'n>, steps: &mut Vec<Map>) {
        for item in items(node, "item") {
            let inherited = inherit(around, item);
            if find(item, "item").is_none() {
                self.request(item, &inherited, steps);
                continue;
            }
            self.variables.declare(items(item, "variable"), false);
            let mut inner = Vec::new();
            self.items(item, &inherited, &mut inner);
            if inner.is_empty() {
                let message = format!("the folder `{}` has no requests", text(item, "name"));
                self.diagnostics.ignored(json::place(item, "name"), message);
                continue;
            }
            self.behaviours(item, None);
            let name: String = text(item, "name").chars().filter(|c| !c.is_control()).collect();
            let name = format!("{} (folder)", literal(name.trim()));
            let at = json::place(item, "name");
            let folder = Map::single(at, "transaction", Item::Text(name));
            steps.push(folder.with("steps", Item::List(inner)));
        }
    }
}

/// What the requests of a folder inherit.
fn inherit<'n>(around: &Inherited<'n>, node: &'n Node) -> Inherited<'n> {
    let mut inherited = around.clone();
    let auth = node.get("auth").filter(|auth| !auth.is_null());
    if let Some(auth) = auth.filter(|auth| text(auth, "type") != "inherit") {
        inherited.auth = Some(auth);
    }
    inherited.before.extend(scripts_of(node, "prerequest"));
    inherited.after.extend(scripts_of(node, "test"));
    inherited.behaviours.extend(node.get("protocolProfileBehavior"));
    inherited
}

/// The scripts of a collection, folder or request that run at this time.
fn scripts_of(node: &Node, listen: &str) -> Vec<Script> {
    let events = items(node, "event").iter().filter(|event| text(event, "listen") == listen);
    let scripts = events.filter_map(|event| {
        let exec = find(event, "script/exec").or_else(|| event.get("script"))?;
        let text = match exec.sequence() {
            Some(lines) => {
                let lines: Vec<&str> = lines.iter().filter_map(Node::text).collect();
                lines.join("\n")
            }
            None => exec.text()?.to_owned(),
        };
        let is_empty = text.trim().is_empty();
        (!is_empty).then(|| Script { text, at: exec.place.span.clone() })
    });
    scripts.collect()
}
