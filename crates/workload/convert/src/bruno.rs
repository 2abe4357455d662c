//! Requests of Bruno (`.bru`), as a scenario.
//!
//! Bruno keeps each request in a file of its own. Several are read one behind the other, as `cat` writes them: a request
//! begins with its block `meta`, and a block `vars` in front of all is that of an environment. They get the form of a
//! collection of Postman.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use scenario::document::node::Node;
use scenario::document::{Diagnostic, Source};

use crate::collection::{list, mapping, pair, scalar, script, with_query};
use crate::diagnostics::Diagnostics;
use crate::draft::{Files, stem};
use crate::{Conversion, Leniency, postman};

/// Largest text, in bytes.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
/// Blocks that hold the method and the URL.
const METHODS: [&str; 9] =
    ["get", "post", "put", "delete", "patch", "options", "head", "connect", "trace"];
/// Blocks that send nothing.
const SILENT: [&str; 4] = ["docs", "settings", "example", "vars:secret"];
/// Bodies of text: the mode, the block and the content type.
const TEXTS: [(&str, &str, &str); 4] = [
    ("json", "body:json", "application/json"),
    ("text", "body:text", "text/plain"),
    ("xml", "body:xml", "application/xml"),
    ("sparql", "body:sparql", "application/sparql-query"),
];

/// Functions of Bruno's scripts, and those of Postman's that do the same.
static FUNCTIONS: LazyLock<[(Regex, &str); 5]> = LazyLock::new(|| {
    let pattern = |text: &str| Regex::new(text).expect("the pattern is valid");
    [
        (pattern(r"\bbru\.set(?:EnvVar|GlobalEnvVar|Var)\("), "pm.environment.set("),
        (pattern(r"\bres\.(?:getBody\(\)|body\b)"), "pm.response.json()"),
        (pattern(r"\bres\.(?:getStatus\(\)|status\b)"), "pm.response.code"),
        (pattern(r"\bres\.(?:getResponseTime\(\)|responseTime\b)"), "pm.response.responseTime"),
        (pattern(r"(?m)(^|[^\w.])(test|expect)\("), "${1}pm.${2}("),
    ]
});

/// Settings of a conversion.
#[derive(Clone, Copy)]
pub struct Settings<'a> {
    pub leniency: Leniency,
    /// Texts of files that the requests name, or why they cannot be read.
    pub files: &'a dyn Fn(&str) -> Result<String, String>,
}

/// A block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block<'t> {
    name: &'t str,
    /// The lines between its brackets.
    content: &'t str,
    /// Where the content begins.
    start: usize,
    at: Range<usize>,
}

/// A line of a block: a key with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Pair {
    key: String,
    value: String,
    at: Range<usize>,
}

/// Whether a text is one of Bruno's.
pub(crate) fn is_bruno(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().map(str::trim_end).find(|line| !line.is_empty());
    matches!(first, Some("meta {" | "vars {"))
}

/// Makes a scenario of requests. There is one exactly where no diagnostic is an error.
pub fn convert(
    source: Source<'_>,
    settings: &Settings<'_>,
) -> (Option<Conversion>, Vec<Diagnostic>) {
    let mut diagnostics = Diagnostics::new(source.text, settings.leniency);
    let collection = collection(source, &mut diagnostics);
    let files: Files<'_> = settings.files;
    match collection {
        None => (None, diagnostics.collector.finish()),
        Some(collection) => {
            let whose = "Bruno's requests";
            postman::convert_collection(source.name, whose, &collection, files, diagnostics)
        }
    }
}

fn collection(source: Source<'_>, diagnostics: &mut Diagnostics<'_>) -> Option<Node> {
    if source.text.len() > TEXT_BYTES_MAX {
        let message = format!("the requests have {} bytes", source.text.len());
        let hint = format!("at most {TEXT_BYTES_MAX} are read");
        diagnostics.error("too-large", 0..0, message).hint(hint);
        return None;
    }
    let blocks = match blocks(source.text) {
        Ok(blocks) => blocks,
        Err(at) => {
            let message = "here no block of Bruno begins, or one does not end".to_owned();
            let hint = "a block is `name {`, its lines, and `}` at the beginning of a line";
            diagnostics.error("bad-bru", at, message).hint(hint);
            return None;
        }
    };
    let begins: Vec<usize> = blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| block.name == "meta")
        .map(|(at, _)| at)
        .collect();
    let first = begins.first().copied().unwrap_or(blocks.len());
    let mut variables = Vec::new();
    for block in &blocks[..first] {
        match block.name {
            "vars" => {
                let pairs = pairs(block).into_iter();
                variables.extend(pairs.map(|own| pair(&own.key, &own.value, &own.at)));
            }
            name if SILENT.contains(&name) => {}
            _ => unknown(block, diagnostics),
        }
    }
    let mut found = Vec::new();
    let mut last_seq: f64 = 0.0;
    for (index, begin) in begins.iter().enumerate() {
        let end = begins.get(index + 1).copied().unwrap_or(blocks.len());
        let own = &blocks[*begin..end];
        let seq: f64 = value_of(&pairs(&own[0]), "seq").parse().unwrap_or(last_seq);
        if seq < last_seq {
            let message = "the requests are sent as they stand in the text, not by `seq`";
            diagnostics.differs("order", own[0].at.clone(), message);
        }
        last_seq = seq;
        found.extend(item(own, diagnostics));
    }
    let at = 0..0;
    let info = mapping(&at, vec![("name", scalar(stem(source.name), &at))]);
    Some(mapping(
        &at,
        vec![("info", info), ("variable", list(&at, variables)), ("item", list(&at, found))],
    ))
}

/// The blocks of a text; the error is the place of what is none.
fn blocks(text: &str) -> Result<Vec<Block<'_>>, Range<usize>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, &str, usize, usize)> = None;
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    for line in text[at..].split_inclusive('\n') {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        match open {
            None if line.is_empty() => {}
            None => {
                let (name, sign) = line.rsplit_once(' ').ok_or(start..at)?;
                let end = match sign {
                    "{" => "}",
                    "[" => "]",
                    _ => return Err(start..at),
                };
                open = Some((name, end, start, at));
            }
            Some((name, end, begin, content)) if line == end => {
                let content_text = &text[content..start];
                blocks.push(Block { name, content: content_text, start: content, at: begin..at });
                open = None;
            }
            Some(_) => {}
        }
    }
    match open {
        None => Ok(blocks),
        Some((_, _, begin, content)) => Err(begin..content),
    }
}

/// The pairs of a block that are switched on.
fn pairs(block: &Block<'_>) -> Vec<Pair> {
    /// The beginning and the end of a value of several lines.
    const SEVERAL: &str = "'''";
    let mut pairs: Vec<Pair> = Vec::new();
    let mut at = block.start;
    let mut is_open = false;
    for line in block.content.split_inclusive('\n') {
        let place = at..at + line.trim_end().len();
        at += line.len();
        let line = line.trim();
        if is_open {
            is_open = line != SEVERAL;
            if let Some(pair) = pairs.last_mut().filter(|_| is_open) {
                let gap = if pair.value.is_empty() { "" } else { "\n" };
                pair.value.push_str(gap);
                pair.value.push_str(line);
            }
            continue;
        }
        // A key in quotes may contain colons.
        let (key, value) = match line.strip_prefix('"').and_then(|rest| rest.split_once("\":")) {
            Some(quoted) => quoted,
            None => match line.split_once(':') {
                Some(plain) => plain,
                None => continue,
            },
        };
        let value = value.trim();
        is_open = value == SEVERAL;
        let value = if is_open { "" } else { value };
        pairs.push(Pair { key: key.trim().to_owned(), value: variables(value), at: place });
    }
    pairs.retain(|pair| !pair.key.is_empty() && !pair.key.starts_with('~'));
    pairs
}

/// The variables of the process are those of the environment.
fn variables(text: &str) -> String {
    text.replace("{{process.env.", "{{")
}

fn value_of(pairs: &[Pair], key: &str) -> String {
    let found = pairs.iter().find(|pair| pair.key == key);
    found.map(|pair| pair.value.clone()).unwrap_or_default()
}

/// A text without the blanks with which Bruno indents it.
fn unindented(block: &Block<'_>) -> String {
    let lines = block.content.lines().map(|line| line.strip_prefix("  ").unwrap_or(line));
    variables(&lines.collect::<Vec<_>>().join("\n"))
}

fn unknown(block: &Block<'_>, diagnostics: &mut Diagnostics<'_>) {
    let message = format!("the block `{}` is not carried over", block.name);
    diagnostics.lost(block.at.clone(), message);
}

/// The request of these blocks; nothing where it is none over HTTP.
fn item(blocks: &[Block<'_>], diagnostics: &mut Diagnostics<'_>) -> Option<Node> {
    let meta = pairs(blocks.first()?);
    let at = &blocks.first()?.at;
    let kind = value_of(&meta, "type");
    if !["", "http", "graphql"].contains(&kind.as_str()) {
        let message = format!("a request of the type `{kind}` is not carried over");
        diagnostics.lost(at.clone(), message);
        return None;
    }
    let of_name = |name: &str| blocks.iter().find(|block| block.name == name);
    let Some(method) = blocks.iter().find(|block| METHODS.contains(&block.name)) else {
        let message = "this request has no block with its method, as `get { … }`".to_owned();
        diagnostics.lost(at.clone(), message);
        return None;
    };
    let head = pairs(method);
    let url = head.iter().find(|own| own.key == "url");
    let (url, place) = url.map_or(("", at), |own| (own.value.as_str(), &own.at));
    let query = of_name("params:query").filter(|_| !url.contains('?'));
    let query = query.map(pairs).unwrap_or_default().into_iter();
    let query: Vec<(String, String)> = query.map(|own| (own.key, own.value)).collect();
    let path = of_name("params:path").map(pairs).unwrap_or_default();
    let url =
        vec![("raw", scalar(&with_query(url, &query), place)), ("variable", listed(&path, at))];
    let mut headers = of_name("headers").map(pairs).unwrap_or_default();
    let body = body(&value_of(&head, "body"), &of_name, &mut headers, method, diagnostics);
    let mut request = vec![
        ("method", scalar(&method.name.to_ascii_uppercase(), &method.at)),
        ("url", mapping(place, url)),
        ("header", listed(&headers, at)),
    ];
    request.extend(body.map(|body| ("body", body)));
    request.extend(auth(&value_of(&head, "auth"), &of_name, at).map(|auth| ("auth", auth)));
    let mut events = Vec::new();
    for block in &blocks[1..] {
        events.extend(event(block));
        let is_read = METHODS.contains(&block.name)
            || SILENT.contains(&block.name)
            || ["headers", "assert", "tests"].contains(&block.name)
            || ["params:", "auth:", "body:", "script:", "vars:"]
                .iter()
                .any(|front| block.name.starts_with(front));
        if !is_read {
            unknown(block, diagnostics);
        }
    }
    Some(mapping(
        at,
        vec![
            ("name", scalar(&value_of(&meta, "name"), at)),
            ("request", mapping(at, request)),
            ("event", list(at, events)),
        ],
    ))
}

/// Keys and values as a list of pairs.
fn listed(pairs: &[Pair], at: &Range<usize>) -> Node {
    let pairs = pairs.iter().map(|own| pair(&own.key, &own.value, &own.at));
    list(at, pairs.collect())
}

/// What a block does before the request or behind its response, as a script.
fn event(block: &Block<'_>) -> Option<Node> {
    let of_pairs = |line: fn(&Pair) -> String| {
        let lines: Vec<String> = pairs(block).iter().map(line).collect();
        lines.join("\n")
    };
    let (listen, code) = match block.name {
        "script:pre-request" => ("prerequest", with_functions(&unindented(block))),
        "script:post-response" | "tests" => ("test", with_functions(&unindented(block))),
        "vars:pre-request" => {
            let line = |own: &Pair| {
                let value = serde_json::Value::from(own.value.as_str());
                format!("pm.variables.set('{}', {value});", own.key)
            };
            ("prerequest", of_pairs(line))
        }
        "vars:post-response" => {
            let line = |own: &Pair| {
                format!("pm.environment.set('{}', {});", own.key, with_functions(&own.value))
            };
            ("test", of_pairs(line))
        }
        "assert" => ("test", of_pairs(assertion)),
        _ => return None,
    };
    (!code.trim().is_empty()).then(|| script(listen, &code, &block.at))
}

fn with_functions(code: &str) -> String {
    FUNCTIONS.iter().fold(code.to_owned(), |code, (pattern, instead)| {
        pattern.replace_all(&code, *instead).into_owned()
    })
}

/// A line of a block `assert` as one of a script. What is none of the common forms becomes a comment.
fn assertion(own: &Pair) -> String {
    let (operator, operand) = own.value.split_once(' ').unwrap_or((&own.value, ""));
    let operand = operand.trim();
    match (own.key.as_str(), operator) {
        ("res.status", "eq") => format!("pm.response.to.have.status({operand});"),
        ("res.responseTime", "lt") => {
            format!("pm.expect(pm.response.responseTime).to.be.below({operand});")
        }
        (key, "eq") if key.starts_with("res.body") => {
            let is_bare = operand.parse::<f64>().is_ok() || ["true", "false"].contains(&operand);
            let value = match is_bare {
                true => operand.to_owned(),
                false => serde_json::Value::from(operand.trim_matches(['"', '\''])).to_string(),
            };
            format!("pm.expect({}).to.eql({value});", with_functions(key))
        }
        (key, "isDefined") if key.starts_with("res.body") => {
            format!("pm.expect({}).to.exist;", with_functions(key))
        }
        (key, _) => format!("assert {key}: {}", own.value),
    }
}

/// The authorization; `None`: there is none here.
fn auth<'t>(
    mode: &str,
    of_name: &dyn Fn(&str) -> Option<&'t Block<'t>>,
    at: &Range<usize>,
) -> Option<Node> {
    let fields: &[(&'static str, &str)] = match mode {
        "" | "none" | "inherit" => return None,
        "bearer" => &[("token", "token")],
        "basic" | "digest" => &[("username", "username"), ("password", "password")],
        "apikey" => &[("key", "key"), ("value", "value"), ("in", "placement")],
        "awsv4" => &[
            ("accessKey", "accessKeyId"),
            ("secretKey", "secretAccessKey"),
            ("region", "region"),
            ("service", "service"),
            ("sessionToken", "sessionToken"),
        ],
        // Bruno fetches the token of OAuth 2 itself; others are refused by their names.
        _ => &[],
    };
    let own = of_name(&format!("auth:{mode}")).map(pairs).unwrap_or_default();
    let fields = fields.iter().map(|(name, key)| {
        let value = match value_of(&own, key).as_str() {
            "queryparams" => "query".to_owned(),
            value => value.to_owned(),
        };
        (*name, scalar(&value, at))
    });
    let fields = mapping(at, fields.collect());
    Some(mapping(at, vec![("type", scalar(mode, at)), (mode, fields)]))
}

/// The body that the method's block chooses. Its content type becomes a header, unless there is one.
fn body<'t>(
    mode: &str,
    of_name: &dyn Fn(&str) -> Option<&'t Block<'t>>,
    headers: &mut Vec<Pair>,
    method: &Block<'_>,
    diagnostics: &mut Diagnostics<'_>,
) -> Option<Node> {
    let at = &method.at;
    if let Some((_, name, content_type)) = TEXTS.iter().find(|(known, ..)| *known == mode) {
        let block = of_name(name)?;
        if !headers.iter().any(|own| own.key.eq_ignore_ascii_case("content-type")) {
            let key = "content-type".to_owned();
            headers.push(Pair { key, value: (*content_type).to_owned(), at: block.at.clone() });
        }
        let raw = scalar(&unindented(block), &block.at);
        return Some(mapping(&block.at, vec![("mode", scalar("raw", at)), ("raw", raw)]));
    }
    match mode {
        "" | "none" => None,
        "formUrlEncoded" => {
            let own = of_name("body:form-urlencoded").map(pairs).unwrap_or_default();
            let mode = ("mode", scalar("urlencoded", at));
            Some(mapping(at, vec![mode, ("urlencoded", listed(&own, at))]))
        }
        "multipartForm" => {
            let own = of_name("body:multipart-form").map(pairs).unwrap_or_default();
            let parts = own.iter().map(part).collect();
            let mode = ("mode", scalar("formdata", at));
            Some(mapping(at, vec![mode, ("formdata", list(at, parts))]))
        }
        "graphql" => {
            let query = of_name("body:graphql").map(unindented).unwrap_or_default();
            let variables = of_name("body:graphql:vars").map(unindented).unwrap_or_default();
            let graphql =
                vec![("query", scalar(&query, at)), ("variables", scalar(&variables, at))];
            let mode = ("mode", scalar("graphql", at));
            Some(mapping(at, vec![mode, ("graphql", mapping(at, graphql))]))
        }
        mode => {
            let message = format!("a body of the mode `{mode}` is not carried over");
            diagnostics.lost(at.clone(), message);
            None
        }
    }
}

/// A part of a form: a value, or `@file(a.png|b.png)`.
fn part(own: &Pair) -> Node {
    let at = &own.at;
    let mut pairs = vec![("key", scalar(&own.key, at))];
    let inner = |front: &str| Some(own.value.split_once(front)?.1.split_once(')')?.0);
    match inner("@file(") {
        Some(files) => {
            let files = files.split('|').map(|file| scalar(file, at));
            pairs.push(("type", scalar("file", at)));
            pairs.push(("src", list(at, files.collect())));
        }
        None => pairs.push(("value", scalar(&own.value, at))),
    }
    if let Some(content_type) = inner("@contentType(") {
        pairs.push(("contentType", scalar(content_type, at)));
    }
    mapping(at, pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_lines_and_pairs() {
        let text = "meta {\n  name: a: b\n  ~off: 1\n  \"x:y\": 2\n  long: '''\n    c\n    d\n  '''\n}\n\n\
                    vars:secret [\n  t\n]\nbody:json {\n  {\n    \"a\": {}\n  }\n}\n";
        let blocks = blocks(text).unwrap();
        let names: Vec<&str> = blocks.iter().map(|block| block.name).collect();
        assert_eq!(names, ["meta", "vars:secret", "body:json"]);
        let found = pairs(&blocks[0]);
        let found: Vec<(&str, &str)> =
            found.iter().map(|pair| (pair.key.as_str(), pair.value.as_str())).collect();
        assert_eq!(found, [("name", "a: b"), ("x:y", "2"), ("long", "c\nd")]);
        assert_eq!(&text[pairs(&blocks[0])[0].at.clone()], "  name: a: b");
        assert_eq!(unindented(&blocks[2]), "{\n  \"a\": {}\n}");
        for wrong in ["meta {\n", "meta\n", "meta (\n)\n"] {
            assert!(super::blocks(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn scripts_have_the_functions_of_postman() {
        for (code, expected) in [
            (
                "bru.setEnvVar(\"t\", res.body.token);",
                "pm.environment.set(\"t\", pm.response.json().token);",
            ),
            (
                "test(\"a\", () => expect(res.getStatus()).to.eql(200));",
                "pm.test(\"a\", () => pm.expect(pm.response.code).to.eql(200));",
            ),
            ("pm.test(x); latest(y); res.bodyLength", "pm.test(x); latest(y); res.bodyLength"),
        ] {
            assert_eq!(with_functions(code), expected);
        }
        let pair = |key: &str, value: &str| Pair {
            key: key.to_owned(),
            value: value.to_owned(),
            at: 0..0,
        };
        for (own, expected) in [
            (pair("res.status", "eq 200"), "pm.response.to.have.status(200);"),
            (pair("res.body.a", "eq x"), "pm.expect(pm.response.json().a).to.eql(\"x\");"),
            (pair("res.body.a", "isDefined"), "pm.expect(pm.response.json().a).to.exist;"),
            (pair("res.body.a", "matches x"), "assert res.body.a: matches x"),
        ] {
            assert_eq!(assertion(&own), expected);
        }
    }
}
