//! Scripts of Postman: the common forms, line by line.
//!
//! A line that is none of them stands in the scenario as a comment. A script with conditions, loops or functions of its
//! own is a comment as a whole, since its lines do not run one after the other.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use scenario::is_token_byte;

use super::{Importer, Script};
use crate::template::{literal, quoted};
use crate::writer::{Item, Line, Map, scalar};

static SET: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:pm\.(?:environment|collectionVariables|globals|variables)\.set|postman\.set(?:Environment|Global)Variable)\(\s*["']([^"']+)["']\s*,\s*(.+)\)$"#,
    )
});
static SET_NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?:pm\.(?:environment|collectionVariables|globals|variables)\.set|postman\.set(?:Environment|Global)Variable)\(\s*["']([^"']+)["']"#,
    )
});
static ALIAS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:(?:const|let|var)\s+)?([A-Za-z_$][\w$]*)\s*=\s*(.+)$"));
static PATH: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(pm\.response\.json\(\)|JSON\.parse\(\s*(?:responseBody|pm\.response\.text\(\))\s*\)|[A-Za-z_$][\w$]*)((?:\.[A-Za-z_$][\w$]*|\[\d+\]|\[["'][^"'\]]+["']\])*)$"#,
    )
});
static KEY: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"\.([A-Za-z_$][\w$]*)|\[(\d+)\]|\[["']([^"'\]]+)["']\]"#));
static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:pm\.response\.headers\.get|postman\.getResponseHeader)\(\s*["']([^"']+)["']\s*\)$"#,
    )
});
static TEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^pm\.test\(\s*(?:"[^"]*"|'[^']*'|`[^`]*`)\s*,\s*(?:async\s+)?(?:function\s*\w*\s*\(\w*\)|\(?\w*\)?\s*=>)\s*\{?(.*)$"#,
    )
});
static OLD_TEST: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^tests\[(?:"[^"]*"|'[^']*')\]\s*=\s*(.+)$"#));
static STATUS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:pm\.response\.to\.have\.status\(\s*(\d{3})\s*\)|pm\.expect\(\s*(?:pm\.response\.code|responseCode\.code)\s*\)\.to\.(?:be\.)?(?:eql|equal|equals|eq)\(\s*(\d{3})\s*\)|(?:pm\.response\.code|responseCode\.code)\s*={2,3}\s*(\d{3}))$"#,
    )
});
static STATUSES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^pm\.expect\(\s*pm\.response\.code\s*\)\.to\.be\.oneOf\(\s*\[([\d\s,]+)\]\s*\)$")
});
static SUCCESS: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^pm\.response\.to\.be\.(?:ok|success)(?:\(\))?$"));
static FAST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:pm\.expect\(\s*pm\.response\.responseTime\s*\)\.to\.be\.(?:below|lessThan)\(\s*(\d+)\s*\)|responseTime\s*<\s*(\d+))$",
    )
});
static HAS_HEADER: LazyLock<Regex> =
    LazyLock::new(|| pattern(r#"^pm\.response\.to\.have\.header\(\s*["']([^"']+)["']\s*\)$"#));
static INCLUDES: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^(?:pm\.expect\(\s*(?:pm\.response\.text\(\)|responseBody)\s*\)\.to\.(?:include|contain)|responseBody\.has)\(\s*(?:"([^"]*)"|'([^']*)')\s*\)$"#,
    )
});
static EQUALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^pm\.expect\(\s*([^()]+(?:\(\)[^()]*)?)\s*\)\.to\.(?:be\.)?(?:eql|equal|equals|eq)\(\s*(.+?)\s*\)$",
    )
});
static EXISTS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^pm\.expect\(\s*([^()]+(?:\(\)[^()]*)?)\s*\)\.to\.(?:exist|not\.be\.(?:undefined|null|empty)|be\.ok)(?:\(\))?$",
    )
});
/// Control flow, and functions that scripts declare.
static FLOW: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:if|else|for|while|do|switch|try|catch|return|throw)\b|\bfunction\s+\w+|\.forEach\(|\.map\(",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("a pattern that is always the same")
}

/// What tests of a request become.
#[derive(Debug, Default)]
pub(super) struct After {
    status: Vec<String>,
    save: Option<Map>,
    checks: Vec<String>,
    /// Steps behind the request.
    pub(super) steps: Vec<Map>,
}

impl After {
    /// The keys of the request's step.
    pub(super) fn keys(&self) -> Vec<(String, Item)> {
        let mut keys = Vec::new();
        match self.status.as_slice() {
            [] => {}
            [one] => keys.push(("status".to_owned(), Item::Bare(one.clone()))),
            several => {
                let list = format!("[{}]", several.join(", "));
                keys.push(("status".to_owned(), Item::Bare(list)));
            }
        }
        if let Some(save) = &self.save {
            keys.push(("save".to_owned(), Item::Map(save.clone())));
        }
        if !self.checks.is_empty() {
            let lines = self.checks.iter().map(|check| Line::new(scalar(check)));
            keys.push(("check".to_owned(), Item::Lines(lines.collect())));
        }
        keys
    }
}

/// A value in a script.
enum Value {
    /// A place of the response, and the name that its variable would have.
    Place(Item, String),
    /// A template.
    Template(String),
}

/// Names that a script gives to parts of the response: JSON pointers, or headers.
#[derive(Default)]
struct Aliases {
    pointers: HashMap<String, String>,
    headers: HashMap<String, String>,
}

impl Aliases {
    fn count(&self) -> usize {
        self.pointers.len() + self.headers.len()
    }
}

/// The variables that a script sets.
pub(super) fn names_set(script: &str) -> Vec<String> {
    SET_NAME.captures_iter(script).map(|found| found[1].to_owned()).collect()
}

/// The statements of a script, each on its line, without comments and the signs around them.
fn statements(script: &str) -> Vec<String> {
    let mut statements = Vec::new();
    for line in script.lines() {
        let line = line.trim();
        let is_comment = line.starts_with("//") || line.starts_with("/*") || line.starts_with('*');
        if is_comment {
            continue;
        }
        // A test on one line has its statements in braces, or is one.
        let inner = match TEST.captures(line).and_then(|found| found.get(1)) {
            None => line,
            Some(inner) => {
                let inner = inner.as_str().trim().trim_end_matches(';');
                match inner.strip_suffix("})") {
                    Some(inner) => inner,
                    None if closes_more(inner) => &inner[..inner.len() - 1],
                    None => inner,
                }
            }
        };
        for statement in inner.split(';').map(str::trim) {
            if statement.chars().any(char::is_alphanumeric) {
                statements.push(statement.to_owned());
            }
        }
    }
    statements
}

/// Whether a text ends with a bracket that it does not open.
fn closes_more(text: &str) -> bool {
    text.ends_with(')') && text.matches(')').count() > text.matches('(').count()
}

impl Importer<'_> {
    /// The steps that a script before a request becomes.
    pub(super) fn before(&mut self, script: &Script, comments: &mut Vec<String>) -> Vec<Map> {
        let mut set = Map::new(script.at.clone());
        if self.is_code(script, comments) {
            self.keep_set(script, &mut set);
        } else {
            for statement in statements(&script.text) {
                let value = SET.captures(&statement).and_then(|found| {
                    let value = self.value(&found[2], &Aliases::default(), script)?;
                    Some((found[1].to_owned(), value))
                });
                match value {
                    Some((name, Value::Template(template))) => {
                        let name = self.variables.variable(&name);
                        let value = Item::Text(template);
                        match set.get_mut(&name) {
                            Some(known) => *known = value,
                            None => set.put(&name, value),
                        }
                    }
                    Some((_, Value::Place(..))) | None => {
                        self.comment(&statement, script, comments);
                    }
                }
            }
        }
        match set.entries.is_empty() {
            true => Vec::new(),
            false => vec![Map::single(script.at.clone(), "set", Item::Map(set))],
        }
    }

    /// What scripts behind a request become.
    pub(super) fn after(&mut self, scripts: &[Script], comments: &mut Vec<String>) -> After {
        let mut after = After::default();
        for script in scripts {
            if self.is_code(script, comments) {
                let mut set = Map::new(script.at.clone());
                self.keep_set(script, &mut set);
                if !set.entries.is_empty() {
                    after.steps.push(Map::single(script.at.clone(), "set", Item::Map(set)));
                }
                continue;
            }
            let mut aliases = Aliases::default();
            // Names that lines give, for those which stay as they are.
            let mut given: Vec<String> = Vec::new();
            let mut is_idle = true;
            for statement in statements(&script.text) {
                let known = aliases.count();
                if !self.statement(&statement, &mut aliases, script, &mut after) {
                    for statement in given.drain(..) {
                        self.comment(&statement, script, comments);
                    }
                    self.comment(&statement, script, comments);
                    is_idle = false;
                } else if aliases.count() > known {
                    given.push(statement);
                } else {
                    is_idle = false;
                }
            }
            if is_idle && !self.commented.contains(&script.at.start) {
                self.commented.push(script.at.start);
                let message = "this script changes nothing".to_owned();
                self.diagnostics.ignored(script.at.clone(), message);
            }
        }
        after
    }

    /// Whether a script is more than a list of statements; it is a comment then.
    fn is_code(&mut self, script: &Script, comments: &mut Vec<String>) -> bool {
        let is_code = statements(&script.text).iter().any(|line| FLOW.is_match(line));
        if is_code {
            for line in script.text.lines().filter(|line| !line.trim().is_empty()) {
                self.comment(line, script, comments);
            }
        }
        is_code
    }

    /// Variables that only code sets have some value, so that the steps which read them can be checked.
    fn keep_set(&mut self, script: &Script, set: &mut Map) {
        for name in names_set(&script.text) {
            let own = self.variables.variable(&name);
            if set.get_mut(&own).is_none() {
                set.put(&own, Item::Text(format!("${{{own}}}")));
            }
        }
    }

    fn comment(&mut self, line: &str, script: &Script, comments: &mut Vec<String>) {
        if line.contains("pm.sendRequest(") || line.contains("setNextRequest(") {
            let what = match line.contains("pm.sendRequest(") {
                true => "a request that a script sends",
                false => "another order of the requests",
            };
            self.diagnostics.lost(script.at.clone(), what.to_owned());
        }
        if line.trim_start().starts_with("console.") {
            return;
        }
        comments.push(format!("script: {line}"));
        if !self.commented.contains(&script.at.start) {
            self.commented.push(script.at.start);
            let message = "what this script does stands in the scenario as a comment".to_owned();
            let hint =
                "write `save`, `check` or `set` for it: docs/scenario.md#variables-and-checks";
            self.diagnostics.stand_in(script.at.clone(), message).hint(hint);
        }
    }

    /// Adds what a statement becomes; false if it is none of the common forms.
    fn statement(
        &mut self,
        statement: &str,
        aliases: &mut Aliases,
        script: &Script,
        after: &mut After,
    ) -> bool {
        let statement = OLD_TEST
            .captures(statement)
            .map_or(statement, |found| found.get(1).map_or(statement, |inner| inner.as_str()));
        if statement.starts_with("console.") {
            return true;
        }
        if let Some(found) = STATUS.captures(statement) {
            let status = found.iter().skip(1).flatten().next();
            after.add_status(status.map_or("", |status| status.as_str()));
            return true;
        }
        if let Some(found) = STATUSES.captures(statement) {
            for status in found[1].split(',').map(str::trim) {
                after.add_status(status);
            }
            return true;
        }
        if SUCCESS.is_match(statement) {
            after.add_status("2xx");
            return true;
        }
        if let Some(found) = FAST.captures(statement) {
            let limit = found.iter().skip(1).flatten().next().map_or("0", |limit| limit.as_str());
            let variable = self.saved(after, &Item::Text("time".to_owned()), "response_time");
            after.checks.push(format!("{variable} < {limit}"));
            return true;
        }
        if let Some(found) = HAS_HEADER.captures(statement) {
            return self.saved_header(&found[1], after).is_some();
        }
        if let Some(found) = INCLUDES.captures(statement) {
            let part = found.iter().skip(1).flatten().next().map_or("", |part| part.as_str());
            let variable = self.saved(after, &Item::Text("body".to_owned()), "body_text");
            after.checks.push(format!("contains({variable}, {})", quoted(part)));
            return true;
        }
        if let Some(found) = SET.captures(statement) {
            let name = self.variables.variable(&found[1]);
            return match self.value(&found[2], aliases, script) {
                Some(Value::Place(item, _)) => {
                    after.add_save(&name, item);
                    true
                }
                Some(Value::Template(template)) => {
                    let set = Map::single(script.at.clone(), &name, Item::Text(template));
                    let step = Map::single(script.at.clone(), "set", Item::Map(set));
                    after.steps.push(step);
                    true
                }
                None => false,
            };
        }
        if let Some(found) = EXISTS.captures(statement) {
            return match self.value(found[1].trim(), aliases, script) {
                Some(Value::Place(item, hint)) => {
                    self.saved(after, &item, &hint);
                    true
                }
                Some(Value::Template(_)) | None => false,
            };
        }
        if let Some(found) = EQUALS.captures(statement) {
            let left = self.value(found[1].trim(), aliases, script);
            let (Some(Value::Place(item, hint)), Some(right)) = (left, constant(found[2].trim()))
            else {
                return false;
            };
            let variable = self.saved(after, &item, &hint);
            after.checks.push(format!("{variable} == {right}"));
            return true;
        }
        if let Some(found) = ALIAS.captures(statement) {
            return aliases.add(&found[1], found[2].trim());
        }
        false
    }

    /// The variable that a place of the response is saved in for a check.
    fn saved(&mut self, after: &mut After, item: &Item, hint: &str) -> String {
        let same = |entry: &&(String, Item)| match (&entry.1, item) {
            (Item::Text(known), Item::Text(wanted)) => known == wanted,
            _ => false,
        };
        let entries = after.save.as_ref().map_or(&[][..], |save| save.entries.as_slice());
        if let Some((known, _)) = entries.iter().find(same) {
            return known.clone();
        }
        let name = self.variables.helper(&hint.to_lowercase());
        after.add_save(&name, item.clone());
        name
    }

    fn saved_header(&mut self, name: &str, after: &mut After) -> Option<String> {
        let item = header_item(name)?;
        Some(self.saved(after, &item, name))
    }

    /// The value of an expression.
    fn value(&mut self, text: &str, aliases: &Aliases, script: &Script) -> Option<Value> {
        let text = text.trim();
        if let Some(found) = HEADER.captures(text) {
            return Some(Value::Place(header_item(&found[1])?, found[1].to_owned()));
        }
        if let Some(name) = aliases.headers.get(text) {
            return Some(Value::Place(header_item(name)?, name.clone()));
        }
        match text {
            "pm.response.text()" | "responseBody" => {
                return Some(Value::Place(Item::Text("body".to_owned()), "body_text".to_owned()));
            }
            "pm.response.code" | "responseCode.code" => {
                return Some(Value::Place(Item::Text("status".to_owned()), "status".to_owned()));
            }
            "Date.now()" | "new Date().getTime()" | "(new Date()).getTime()" | "+new Date()" => {
                return Some(Value::Template("${now()}".to_owned()));
            }
            "new Date().toISOString()" | "(new Date()).toISOString()" => {
                return Some(Value::Template("${date(now(), 'rfc3339')}".to_owned()));
            }
            _ => {}
        }
        if let Some(pointer) = aliases.pointer(text) {
            let hint = pointer.rsplit('/').find(|part| part.parse::<u64>().is_err());
            let hint = hint.filter(|hint| !hint.is_empty()).unwrap_or("value").to_owned();
            // The whole document has no pointer.
            let item = if pointer.is_empty() { "body" } else { pointer.as_str() };
            return Some(Value::Place(Item::Text(literal(item)), hint));
        }
        let inner = text.strip_prefix("pm.variables.replaceIn(").and_then(|t| t.strip_suffix(')'));
        let text = inner.unwrap_or(text).trim();
        if is_number(text) || text == "true" || text == "false" {
            return Some(Value::Template(text.to_owned()));
        }
        let quote = text.chars().next().filter(|c| "\"'".contains(*c))?;
        let inner = text[1..].strip_suffix(quote)?;
        let is_plain = !inner.contains(quote) && !inner.contains('\\');
        is_plain.then(|| Value::Template(self.template(inner, &script.at)))
    }
}

impl After {
    fn add_status(&mut self, status: &str) {
        if !status.is_empty() && !self.status.iter().any(|known| known == status) {
            self.status.push(status.to_owned());
        }
    }

    fn add_save(&mut self, name: &str, item: Item) {
        let save = self.save.get_or_insert_with(Map::default);
        match save.get_mut(name) {
            Some(known) => *known = item,
            None => save.put(name, item),
        }
    }
}

impl Aliases {
    /// Notes what a name stands for; false if it is no part of the response.
    fn add(&mut self, name: &str, value: &str) -> bool {
        if let Some(found) = HEADER.captures(value) {
            self.headers.insert(name.to_owned(), found[1].to_owned());
            return true;
        }
        match self.pointer(value) {
            Some(pointer) => {
                self.pointers.insert(name.to_owned(), pointer);
                true
            }
            None => false,
        }
    }

    /// The JSON pointer of an expression such as `pm.response.json().a[0].b`.
    fn pointer(&self, text: &str) -> Option<String> {
        let found = PATH.captures(text)?;
        let mut pointer = match &found[1] {
            whole if whole.starts_with("pm.response") || whole.starts_with("JSON.parse") => {
                String::new()
            }
            alias => self.pointers.get(alias)?.clone(),
        };
        for key in KEY.captures_iter(&found[2]) {
            let key = key.iter().skip(1).flatten().next()?.as_str();
            pointer.push('/');
            pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
        }
        // The number of items is no part of a document.
        (!pointer.ends_with("/length")).then_some(pointer)
    }
}

fn header_item(name: &str) -> Option<Item> {
    let is_sound = !name.is_empty() && name.bytes().all(is_token_byte);
    is_sound.then(|| Item::Map(Map::single(0..0, "header", Item::Text(name.to_owned()))))
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && digits.parse::<f64>().is_ok()
}

/// A constant of JavaScript as one of expressions.
fn constant(text: &str) -> Option<String> {
    if is_number(text) || ["true", "false", "null"].contains(&text) {
        return Some(text.to_owned());
    }
    let quote = text.chars().next().filter(|c| "\"'".contains(*c))?;
    let inner = text[1..].strip_suffix(quote)?;
    let is_plain = !inner.contains(quote) && !inner.contains('\\');
    is_plain.then(|| quoted(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_found_within_tests() {
        let script = "// x\nconst a = pm.response.json();\npm.test(\"Status\", function () {\n  pm.response.to.have.status(200);\n});\n\
                      pm.test('b', () => { pm.expect(a.b).to.eql(1); });\npm.test(\"c\", () => pm.response.to.be.ok);\n";
        assert_eq!(
            statements(script),
            [
                "const a = pm.response.json()",
                "pm.response.to.have.status(200)",
                "pm.expect(a.b).to.eql(1)",
                "pm.response.to.be.ok"
            ]
        );
    }

    #[test]
    fn paths_become_pointers() {
        let mut aliases = Aliases::default();
        assert!(aliases.add("body", "pm.response.json()"));
        assert!(aliases.add("first", "body.items[0]"));
        assert_eq!(aliases.pointer("first['a/b'].c").as_deref(), Some("/items/0/a~1b/c"));
        assert_eq!(aliases.pointer("JSON.parse(responseBody).id").as_deref(), Some("/id"));
        assert_eq!(aliases.pointer("other.id"), None);
        assert_eq!(aliases.pointer("body.items.length"), None);
    }
}
