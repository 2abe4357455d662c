//! Exports of Insomnia, as a scenario: format 4 (JSON), and collections of format 5 (YAML).
//!
//! They get the form of a collection of Postman: folders and requests in their order, and the variables of an environment.
//! Insomnia's scripts have the functions of Postman's under another name.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use scenario::document::node::{Node, NodeKind};
use scenario::document::{Diagnostic, Source, yaml};

use crate::collection::{list, mapping, pair, scalar, script, with_query};
use crate::diagnostics::Diagnostics;
use crate::json::{self, find, items, number, text};
use crate::{Conversion, Leniency, postman};

/// Largest export, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 20;
/// Most folders within folders.
const DEPTH_MAX: usize = 24;
/// Most names of other environments that are reported.
const NAMES_MAX: usize = 10;

/// A variable, `{{ _.name }}`.
static VARIABLE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{\{\s*_\.([^{}]*?)\s*\}\}"));
/// A tag, `{% name … %}`.
static TAG: LazyLock<Regex> = LazyLock::new(|| pattern(r"\{%-?\s*(\w+)([^%]*)%\}"));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is valid")
}

/// Settings of a conversion.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub leniency: Leniency,
    /// The name of the environment whose values come before those of the base environment.
    pub environment: Option<&'a str>,
    /// Texts of files that the export names, or why they cannot be read.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// Makes a scenario of an export. There is one exactly where no diagnostic is an error.
pub fn convert(
    source: Source<'_>,
    settings: &Settings<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut diagnostics = Diagnostics::new(source.text, settings.leniency);
    let document = document(source.text, &mut diagnostics);
    let collection = document.and_then(|document| {
        let mut reader = Reader { diagnostics: &mut diagnostics };
        reader.collection(&document, settings.environment)
    });
    match collection {
        None => (None, diagnostics.collector.finish()),
        Some(collection) => {
            let whose = "Insomnia's export";
            postman::convert_collection(
                source.name,
                whose,
                &collection,
                settings.files,
                diagnostics,
            )
        }
    }
}

/// The export as a tree.
fn document(text: &str, diagnostics: &mut Diagnostics<'_>) -> Option<Node> {
    let is_json = text.trim_start_matches('\u{feff}').trim_start().starts_with('{');
    let bytes_max = if is_json { TEXT_BYTES_MAX } else { yaml::TEXT_BYTES_MAX };
    if text.len() > bytes_max {
        let message = format!("the export has {} bytes", text.len());
        diagnostics.error("too-large", 0..0, message).hint(format!("at most {bytes_max} are read"));
        return None;
    }
    if !is_json {
        return yaml::parse(text, &mut diagnostics.collector);
    }
    match json::parse(text, &[]) {
        Ok(document) => Some(document),
        Err(error) => {
            let message = format!("this is not JSON: {error}");
            diagnostics.error("bad-export", error.at..error.at, message);
            None
        }
    }
}

/// An environment below the base environment.
struct Environment<'n> {
    name: &'n str,
    data: Option<&'n Node>,
    at: Range<usize>,
}

/// The resources of format 4.
struct Resources<'n> {
    /// By the one that they belong to, in their order.
    children: HashMap<&'n str, Vec<&'n Node>>,
    /// The folders and workspaces that were read.
    read: HashSet<&'n str>,
    requests_count: usize,
}

/// An export while it is read.
struct Reader<'d, 't> {
    diagnostics: &'d mut Diagnostics<'t>,
}

impl Reader<'_, '_> {
    fn collection(&mut self, document: &Node, environment: Option<&str>) -> Option<Node> {
        let at = 0..0;
        let mut variables = Vec::new();
        let (name, inner) = if find(document, "resources").and_then(Node::sequence).is_some() {
            self.of_resources(document, environment, &mut variables)?
        } else if find(document, "collection").and_then(Node::sequence).is_some() {
            let others = items(document, "environments/subEnvironments").iter();
            let others = others.map(|own| Environment {
                name: text(own, "name"),
                data: own.get("data"),
                at: own.place.span.clone(),
            });
            let base = find(document, "environments/data");
            self.environments(base, &others.collect::<Vec<_>>(), environment, &mut variables)?;
            let mut inner = Vec::new();
            for own in items(document, "collection") {
                inner.extend(self.item(own, 0));
            }
            (text(document, "name").to_owned(), inner)
        } else {
            let message = "the export has neither `resources` nor `collection`".to_owned();
            let hint = "export the collection in Insomnia as Insomnia v4 (JSON) or v5 (YAML)";
            self.diagnostics.error("bad-export", at, message).hint(hint);
            return None;
        };
        let info = mapping(&at, vec![("name", scalar(&name, &at))]);
        Some(mapping(
            &at,
            vec![("info", info), ("variable", list(&at, variables)), ("item", list(&at, inner))],
        ))
    }

    /// Name and items of format 4, where each resource names the one that it belongs to.
    fn of_resources(
        &mut self,
        document: &Node,
        environment: Option<&str>,
        variables: &mut Vec<Node>,
    ) -> Option<(String, Vec<Node>)> {
        let resources = items(document, "resources");
        let mut children: HashMap<&str, Vec<&Node>> = HashMap::new();
        for resource in resources {
            children.entry(text(resource, "parentId")).or_default().push(resource);
        }
        for own in children.values_mut() {
            let key = |node: &&Node| number(node, "metaSortKey").unwrap_or(0.0);
            own.sort_by(|a, b| key(a).total_cmp(&key(b)));
        }
        let mut tree = Resources { children, read: HashSet::new(), requests_count: 0 };
        let of_type = |kind: &'static str| {
            resources.iter().filter(move |resource| text(resource, "_type") == kind)
        };
        let ids: HashSet<&str> = of_type("environment").map(|own| text(own, "_id")).collect();
        let is_base = |own: &&Node| !ids.contains(text(own, "parentId"));
        let base = of_type("environment").find(is_base);
        let others = of_type("environment").filter(|own| !is_base(own)).map(|own| Environment {
            name: text(own, "name"),
            data: own.get("data"),
            at: own.place.span.clone(),
        });
        let others: Vec<Environment<'_>> = others.collect();
        let base = base.and_then(|own| own.get("data"));
        self.environments(base, &others, environment, variables)?;
        let known: HashSet<&str> = resources.iter().map(|own| text(own, "_id")).collect();
        let mut inner = Vec::new();
        for workspace in of_type("workspace") {
            self.resources_of(text(workspace, "_id"), &mut tree, 0, &mut inner)?;
        }
        // Of an export of some requests, the workspace need not be a part.
        let tops = resources.iter().map(|own| text(own, "parentId"));
        for top in tops.filter(|top| !known.contains(top)) {
            if !tree.read.contains(top) {
                self.resources_of(top, &mut tree, 0, &mut inner)?;
            }
        }
        let all_count = resources.iter().filter(|own| is_request(text(own, "_type"))).count();
        if tree.requests_count < all_count {
            let message = format!(
                "{} requests belong to folders that belong to each other",
                all_count - tree.requests_count
            );
            self.diagnostics.error("bad-export", 0..0, message).hint("export the collection again");
        }
        let name = of_type("workspace").next().map_or("", |own| text(own, "name"));
        Some((name.to_owned(), inner))
    }

    /// Reads what belongs to a workspace or a folder.
    fn resources_of<'n>(
        &mut self,
        parent: &'n str,
        tree: &mut Resources<'n>,
        depth: usize,
        found: &mut Vec<Node>,
    ) -> Option<()> {
        if depth > DEPTH_MAX || !tree.read.insert(parent) {
            let message = format!(
                "the folder `{parent}` stands in itself, twice, or below more than {DEPTH_MAX} others"
            );
            self.diagnostics.error("bad-export", 0..0, message);
            return None;
        }
        for resource in tree.children.remove(parent).unwrap_or_default() {
            match text(resource, "_type") {
                "request" => {
                    tree.requests_count += 1;
                    found.push(self.request(resource));
                }
                "request_group" => {
                    let mut inner = Vec::new();
                    self.resources_of(text(resource, "_id"), tree, depth + 1, &mut inner)?;
                    found.push(self.folder(resource, inner));
                }
                kind if is_request(kind) => {
                    tree.requests_count += 1;
                    let message = format!("a resource of the type `{kind}` is not carried over");
                    self.diagnostics.lost(resource.place.span.clone(), message);
                }
                // Workspaces and environments are read elsewhere; nothing else sends anything.
                _ => {}
            }
        }
        Some(())
    }

    /// Declares the variables of the base environment, then those of the environment that was chosen: the last one counts.
    fn environments(
        &mut self,
        base: Option<&Node>,
        others: &[Environment<'_>],
        chosen: Option<&str>,
        variables: &mut Vec<Node>,
    ) -> Option<()> {
        let names: Vec<&str> = others.iter().map(|own| own.name).take(NAMES_MAX).collect();
        let names = names.join(", ");
        if let Some(base) = base {
            flatten(base, "", variables);
        }
        match (chosen, others) {
            (Some(chosen), _) => {
                let Some(found) = others.iter().find(|own| own.name == chosen) else {
                    let message = format!("the export has no environment `{chosen}`");
                    let hint = format!("it has: {names}");
                    self.diagnostics.error("bad-environment", 0..0, message).hint(hint);
                    return None;
                };
                if let Some(data) = found.data {
                    flatten(data, "", variables);
                }
            }
            (None, [first, ..]) => {
                let message = "the values are those of the base environment".to_owned();
                let hint = format!("others are chosen with --environment NAME: {names}");
                self.diagnostics.ignored(first.at.clone(), message).hint(hint);
            }
            (None, []) => {}
        }
        Some(())
    }

    /// A folder or a request of format 5; nothing where it is neither.
    fn item(&mut self, node: &Node, depth: usize) -> Option<Node> {
        let at = node.place.span.clone();
        if depth > DEPTH_MAX {
            let message = format!("folders are nested more deeply than {DEPTH_MAX} levels");
            self.diagnostics.error("too-deep", at, message);
            return None;
        }
        if let Some(inner) = node.get("children").and_then(Node::sequence) {
            let inner = inner.iter().filter_map(|own| self.item(own, depth + 1)).collect();
            return Some(self.folder(node, inner));
        }
        if node.get("method").is_some() {
            return Some(self.request(node));
        }
        let is_folder = text(node, "meta/id").starts_with("fld_");
        if !is_folder {
            let message = "this is no request over HTTP: it is not carried over".to_owned();
            self.diagnostics.lost(at, message);
        }
        None
    }

    fn folder(&mut self, node: &Node, inner: Vec<Node>) -> Node {
        let at = &node.place.span;
        let mut variables = Vec::new();
        if let Some(data) = node.get("environment") {
            flatten(data, "", &mut variables);
        }
        let mut pairs = vec![
            ("name", scalar(text(node, "name"), at)),
            ("item", list(at, inner)),
            ("variable", list(at, variables)),
            ("event", list(at, scripts(node))),
        ];
        pairs.extend(auth(node).map(|auth| ("auth", auth)));
        mapping(at, pairs)
    }

    fn request(&mut self, node: &Node) -> Node {
        let at = &node.place.span;
        let query = enabled(node, "parameters");
        let query: Vec<(String, String)> = query.map(|own| (own.name, own.value)).collect();
        let url = with_query(&translated(text(node, "url")), &query);
        let variables = enabled(node, "pathParameters");
        let variables = variables.map(|own| pair(&own.name, &own.value, &own.at)).collect();
        let place = json::place(node, "url");
        let url = vec![("raw", scalar(&url, &place)), ("variable", list(at, variables))];
        let headers = enabled(node, "headers");
        let mut headers: Vec<Node> =
            headers.map(|own| pair(&own.name, &own.value, &own.at)).collect();
        let mut pairs =
            vec![("method", scalar(text(node, "method"), at)), ("url", mapping(&place, url))];
        if let Some(body) = body(node, &mut headers) {
            pairs.push(("body", body));
        }
        pairs.push(("header", list(at, headers)));
        pairs.extend(auth(node).map(|auth| ("auth", auth)));
        let redirects = match text(node, "settingFollowRedirects") {
            "" => text(node, "settings/followRedirects"),
            redirects => redirects,
        };
        let mut behaviour = Vec::new();
        if redirects == "off" {
            behaviour.push(("followRedirects", scalar("false", at)));
        }
        mapping(
            at,
            vec![
                ("name", scalar(text(node, "name"), at)),
                ("request", mapping(at, pairs)),
                ("event", list(at, scripts(node))),
                ("protocolProfileBehavior", mapping(at, behaviour)),
            ],
        )
    }
}

/// Whether resources of this type are requests.
fn is_request(kind: &str) -> bool {
    kind.ends_with("request")
}

/// A name and a value.
struct Named {
    name: String,
    value: String,
    at: Range<usize>,
}

/// The pairs of a list that are switched on.
fn enabled<'n>(node: &'n Node, path: &str) -> impl Iterator<Item = Named> + use<'n> {
    let listed = items(node, path).iter().filter(|own| text(own, "disabled") != "true");
    let named = listed.map(|own| Named {
        name: translated(text(own, "name")),
        value: translated(text(own, "value")),
        at: own.place.span.clone(),
    });
    named.filter(|own| !own.name.is_empty())
}

/// Text with the variables and tags of Postman.
fn translated(text: &str) -> String {
    let text = VARIABLE.replace_all(text, "{{$1}}");
    let tag = |found: &Captures<'_>| {
        let name = match (&found[1], &found[2]) {
            ("uuid", _) => "guid",
            ("now" | "timestamp", arguments) if arguments.contains("unix") => "timestamp",
            ("now" | "timestamp", arguments) if !arguments.contains("custom") => "isoTimestamp",
            (name, _) => name,
        };
        format!("{{{{${name}}}}}")
    };
    TAG.replace_all(&text, tag).into_owned()
}

/// The variables of an environment. Those within others have names with dots.
fn flatten(node: &Node, front: &str, variables: &mut Vec<Node>) {
    match &node.kind {
        NodeKind::Mapping(entries) => {
            for entry in entries {
                let dot = if front.is_empty() { "" } else { "." };
                flatten(&entry.value, &format!("{front}{dot}{}", entry.key), variables);
            }
        }
        NodeKind::Scalar(value) if !node.is_null() => {
            variables.push(pair(front, &translated(&value.text), &node.place.span));
        }
        // A list has no value as a text.
        NodeKind::Scalar(_) | NodeKind::Sequence(_) => {}
    }
}

/// The scripts of a folder or a request, of either format.
fn scripts(node: &Node) -> Vec<Node> {
    let mut found = Vec::new();
    for (listen, paths) in [
        ("prerequest", ["preRequestScript", "scripts/preRequest"]),
        ("test", ["afterResponseScript", "scripts/afterResponse"]),
    ] {
        for path in paths {
            let code = text(node, path);
            if !code.trim().is_empty() {
                let code = code.replace("insomnia.", "pm.");
                found.push(script(listen, &code, &json::place(node, path)));
            }
        }
    }
    found
}

/// The authorization; `None`: that of the folder around it.
fn auth(node: &Node) -> Option<Node> {
    let own = node.get("authentication")?;
    let at = &own.place.span;
    let kind = if text(own, "disabled") == "true" { "none" } else { text(own, "type") };
    let fields: &[(&'static str, &str)] = match kind {
        "" => return None,
        "none" => return Some(mapping(at, vec![("type", scalar("noauth", at))])),
        "bearer" => &[("token", "token")],
        "basic" | "digest" => &[("username", "username"), ("password", "password")],
        "apikey" => &[("key", "key"), ("value", "value"), ("in", "addTo")],
        "oauth2" => &[("accessToken", "accessToken")],
        "iam" => &[
            ("accessKey", "accessKeyId"),
            ("secretKey", "secretAccessKey"),
            ("region", "region"),
            ("service", "service"),
            ("sessionToken", "sessionToken"),
        ],
        _ => &[],
    };
    let fields = fields.iter().map(|(name, path)| {
        let value = match text(own, path) {
            "queryParams" => "query".to_owned(),
            value => translated(value),
        };
        (*name, scalar(&value, at))
    });
    let fields = mapping(at, fields.collect());
    let kind = if kind == "iam" { "awsv4" } else { kind };
    Some(mapping(at, vec![("type", scalar(kind, at)), (kind, fields)]))
}

/// The body. Its content type becomes a header, unless there is one.
fn body(node: &Node, headers: &mut Vec<Node>) -> Option<Node> {
    let own = node.get("body").filter(|body| body.mapping().is_some())?;
    let at = &own.place.span;
    let content_type = text(own, "mimeType");
    match content_type {
        "application/x-www-form-urlencoded" => {
            let fields = enabled(own, "params");
            let fields = fields.map(|own| pair(&own.name, &own.value, &own.at)).collect();
            let pairs = vec![("mode", scalar("urlencoded", at)), ("urlencoded", list(at, fields))];
            return Some(mapping(at, pairs));
        }
        "multipart/form-data" => {
            let fields = items(own, "params").iter();
            let fields = fields.filter(|own| text(own, "disabled") != "true").map(part).collect();
            let pairs = vec![("mode", scalar("formdata", at)), ("formdata", list(at, fields))];
            return Some(mapping(at, pairs));
        }
        _ => {}
    }
    let file = text(own, "fileName");
    if !file.is_empty() {
        let file = mapping(at, vec![("src", scalar(file, at))]);
        return Some(mapping(at, vec![("mode", scalar("file", at)), ("file", file)]));
    }
    let raw = text(own, "text");
    if raw.is_empty() {
        return None;
    }
    let content_type = match content_type {
        "application/graphql" => "application/json",
        content_type => content_type,
    };
    let is_typed = headers.iter().any(|own| text(own, "key").eq_ignore_ascii_case("content-type"));
    if !content_type.is_empty() && !is_typed {
        headers.push(pair("content-type", content_type, at));
    }
    Some(mapping(at, vec![("mode", scalar("raw", at)), ("raw", scalar(&translated(raw), at))]))
}

/// A part of a form.
fn part(own: &Node) -> Node {
    let at = &own.place.span;
    let mut pairs = vec![("key", scalar(&translated(text(own, "name")), at))];
    match text(own, "type") {
        "file" => {
            pairs.push(("type", scalar("file", at)));
            pairs.push(("src", scalar(text(own, "fileName"), at)));
        }
        _ => pairs.push(("value", scalar(&translated(text(own, "value")), at))),
    }
    mapping(at, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_tags_are_those_of_postman() {
        for (text, expected) in [
            ("{{ _.base }}/x/{{_.a.b}}", "{{base}}/x/{{a.b}}"),
            ("{{ base }}", "{{ base }}"),
            ("{% uuid 'v4' %}", "{{$guid}}"),
            ("{% now 'unix', '' %}-{% now 'iso-8601' %}", "{{$timestamp}}-{{$isoTimestamp}}"),
            ("{% response 'body', 'req_1' %}", "{{$response}}"),
            ("100 %} {%", "100 %} {%"),
        ] {
            assert_eq!(translated(text), expected);
        }
    }
}
