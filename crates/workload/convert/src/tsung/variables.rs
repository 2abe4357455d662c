//! Dynamic variables: their names, `<setdynvars>`, and where responses have them.

use std::ops::Range;

use roxmltree::Node;
use scenario::is_name;

use super::attributes::value_at;
use super::text::Form;
use super::{Importer, Item, Map, elements, opening};
use crate::template::quoted;

/// Expression for Tsung's `tsung_userid`, which counts from 1.
const USER_ID: &str = "user + 1";

impl Importer<'_> {
    /// A variable's name in the scenario, where a step sets it.
    pub(super) fn set_variable(&mut self, name: &str) -> String {
        let name = sound(name);
        if !self.session.defined.contains(&name) {
            self.session.defined.push(name.clone());
        }
        name
    }

    /// The expression for a variable's value, where a step reads it.
    pub(super) fn read_variable(&mut self, name: &str, at: &Range<usize>) -> String {
        if name == "tsung_userid" {
            return USER_ID.to_owned();
        }
        if name.contains('[') {
            let message = format!("`{name}`: an item of a list cannot be named");
            self.diagnostics.lost(at.clone(), message);
            return "''".to_owned();
        }
        let name = sound(name);
        if !self.session.defined.contains(&name) {
            let message =
                format!("no earlier step sets `{name}`: its value is the word `undefined`");
            self.diagnostics.ignored(at.clone(), message);
            self.session.defined.push(name.clone());
            self.session.undefined.push(name.clone());
        }
        name
    }

    /// A name for what the scenario needs and Tsung has not.
    pub(super) fn helper(&mut self, what: &str) -> String {
        self.session.helpers += 1;
        format!("{what}_{}", self.session.helpers)
    }

    pub(super) fn set_variables(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        const TYPES: [&str; 9] = [
            "random_number",
            "random_string",
            "urandom_string",
            "value",
            "jsonpath",
            "server",
            "file",
            "erlang",
            "eval",
        ];
        self.required(node, "sourcetype");
        let kind = self.word(node, "sourcetype", &TYPES);
        let mut names = Vec::new();
        for var in elements(node) {
            self.known_attributes(var);
            if var.tag_name().name() != "var" {
                self.unknown_element(var);
            } else if let Some(name) = self.required(var, "name") {
                names.push((name.to_owned(), opening(var)));
            }
        }
        let Some(kind) = kind else { return };
        if kind == "file" {
            let variables: Vec<String> = names.iter().map(|(n, _)| self.set_variable(n)).collect();
            match self.feed_step(node, &variables) {
                Some(step) => steps.push(step),
                None => self.session.undefined.extend(variables),
            }
            return;
        }
        let values = self.values(node, kind, names.len());
        if values.is_none() {
            // The variables are set all the same, so that reading them is not reported as well.
            for (name, _) in &names {
                self.set_variable(name);
                let name = sound(name);
                self.session.undefined.push(name);
            }
            return;
        }
        let mut set = Map::new(opening(node));
        for ((name, at), value) in names.iter().zip(values.unwrap_or_default()) {
            let name = self.set_variable(name);
            set.sub("set").at = at.clone();
            set.sub("set").put(&name, value);
        }
        if !set.entries.is_empty() {
            steps.push(set);
        }
    }

    /// A value for each of the variables; `None`: there are none, which is reported.
    fn values(&mut self, node: Node<'_, '_>, kind: &str, count: usize) -> Option<Vec<Item>> {
        let same = |text: String| Some(vec![Item::Text(text); count]);
        match kind {
            "random_number" => {
                self.required(node, "start")?;
                self.required(node, "end")?;
                let start = self.count(node, "start")?;
                let end = self.count(node, "end")?;
                if start > end {
                    let message = format!("{start} is more than {end}");
                    self.diagnostics.error("bad-number", value_at(node, "start"), message);
                    return None;
                }
                same(format!("${{random({start}, {end})}}"))
            }
            "random_string" | "urandom_string" => {
                self.required(node, "length")?;
                let length = self.count(node, "length")?;
                same(format!("${{random_string({length})}}"))
            }
            "value" => {
                let value = self.required(node, "value")?;
                let at = value_at(node, "value");
                let text = self.template(value, true, Form::Plain, &at);
                same(text)
            }
            "jsonpath" => {
                let from = self.required(node, "from");
                let path = self.required(node, "jsonpath");
                let from = from?;
                let path = path?;
                let from = self.read_variable(from, &value_at(node, "from"));
                let at = value_at(node, "jsonpath");
                let (pointer, rest) = self.pointer(path, &at)?;
                if rest.is_some() {
                    let message = "a list made of a variable is not supported".to_owned();
                    self.diagnostics.lost(at, message);
                    return None;
                }
                same(format!("${{json({from}, {})}}", quoted(&pointer)))
            }
            "server" => {
                let [server] = &self.servers[..] else {
                    let message =
                        "a user does not know to which of several servers it was assigned";
                    self.diagnostics.lost(value_at(node, "sourcetype"), message.to_owned());
                    return None;
                };
                Some(vec![Item::Text(server.host.clone()), Item::Bare(server.port.to_string())])
            }
            _ => {
                if node.attribute("callback") == Some("ts_user_server:get_unique_id") {
                    return same(format!("${{{USER_ID}}}"));
                }
                if node.attribute("callback") == Some("ts_user_server:get_really_unique_id") {
                    return same(format!("${{int(now() / 1000)}}-${{{USER_ID}}}"));
                }
                let message = "Erlang code is not supported".to_owned();
                self.diagnostics.lost(value_at(node, "sourcetype"), message);
                None
            }
        }
    }

    /// Tsung's JSONPath (`$.a.b[3].c`) as a JSON pointer. Where it goes through all items of a
    /// list (`[*]`) there are two: the list's, and what of each item is meant.
    pub(super) fn pointer(
        &mut self,
        path: &str,
        at: &Range<usize>,
    ) -> Option<(String, Option<String>)> {
        let plain = path.strip_prefix("$.").unwrap_or(path);
        let dotted = plain.replace('[', ".").replace(']', "");
        let mut pointer = String::new();
        let mut of_items = None;
        for key in dotted.split('.').filter(|key| !key.is_empty()) {
            if key == "*" && of_items.is_none() {
                of_items = Some(String::new());
                continue;
            }
            if key.starts_with('?') || key == "*" {
                let message = format!("`{path}`: searching items of a list is not supported");
                self.diagnostics.lost(at.clone(), message);
                return None;
            }
            let token = key.replace('~', "~0").replace('/', "~1");
            let place = of_items.as_mut().unwrap_or(&mut pointer);
            place.push('/');
            place.push_str(&token);
        }
        Some((pointer, of_items))
    }
}

/// A name that can stand in an expression.
pub(super) fn sound(name: &str) -> String {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }
    };
    let name: String = name.chars().take(90).map(fits).collect();
    if is_name(&name) {
        return name;
    }
    format!("v_{name}")
}
