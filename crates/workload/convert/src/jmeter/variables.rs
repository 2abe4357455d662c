//! Variables of a test plan: those with a fixed value are parameters, those that elements set belong to the user.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use roxmltree::Node;

use super::Importer;
use super::functions::{Form, Part, parts};
use super::properties::{arguments, is_on, kind, opening, text};
use crate::names::Names;
use crate::template::literal;
use crate::writer::{Item, Map};

static VARS_PUT: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"vars\.put(?:Object)?\(\s*["']([^"']+)["']"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});

/// A variable that the plan declares.
#[derive(Debug, Clone)]
struct Declared {
    value: String,
    at: Range<usize>,
}

/// The variables of a test plan.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Values that the plan gives them, and where.
    declared: HashMap<String, Declared>,
    /// Those of them that something reads.
    read: BTreeSet<String>,
    /// Those that some element sets while users run.
    set: BTreeSet<String>,
    /// The lists that `ForEach` controllers go through.
    gone_through: BTreeSet<String>,
    names: Names,
    /// Parameters with their values, by their names in the scenario.
    parameters: BTreeMap<String, String>,
    /// What stubs stand for.
    stubs: Vec<String>,
    /// Users' variables that are read, by their names in the scenario, with the original ones.
    users: BTreeMap<String, String>,
    /// Names that no element sets, once reported.
    unknown: BTreeSet<String>,
    /// Before the names of variables of the groups that run before or after the others.
    prefix: &'static str,
}

impl Variables {
    /// Notes a declared variable; the last declaration counts.
    pub(super) fn declare(&mut self, name: &str, value: &str, at: Range<usize>) {
        if !name.is_empty() {
            let declared = Declared { value: value.to_owned(), at };
            self.declared.insert(name.to_owned(), declared);
        }
    }

    /// Variables that nothing reads, and where they are declared.
    pub(super) fn unread(&self) -> Vec<(&str, Range<usize>)> {
        let unread = self.declared.iter().filter(|(name, _)| !self.read.contains(*name));
        let mut unread: Vec<(&str, Range<usize>)> =
            unread.map(|(name, declared)| (name.as_str(), declared.at.clone())).collect();
        unread.sort_by_key(|(_, at)| at.start);
        unread
    }

    /// Notes a variable that an element sets.
    pub(super) fn set_by_element(&mut self, name: &str) {
        if !name.is_empty() {
            self.set.insert(name.to_owned());
        }
    }

    /// Whether a `ForEach` controller goes through the matches that this variable numbers.
    pub(super) fn is_gone_through(&self, name: &str) -> bool {
        self.gone_through.contains(name)
    }

    /// The value of a variable that nothing changes.
    pub(super) fn value(&mut self, name: &str) -> Option<String> {
        self.read.insert(name.to_owned());
        let declared = self.declared.get(name).filter(|_| !self.set.contains(name));
        declared.map(|declared| declared.value.clone())
    }

    /// A parameter for a property of JMeter.
    pub(super) fn parameter(&mut self, name: &str, value: &str) -> String {
        // A variable of the same name is another one.
        let own = match self.declared.contains_key(name) || self.set.contains(name) {
            true => self.names.of(&format!("property {name}")),
            false => self.names.of(name),
        };
        self.parameters.entry(own.clone()).or_insert_with(|| value.to_owned());
        own
    }

    /// A parameter for what has no counterpart.
    pub(super) fn stub(&mut self, hint: &str, original: &str) -> String {
        let own = self.names.unused(hint);
        self.stubs.push(format!("{own} stands for ${{{original}}}"));
        self.parameters.insert(own.clone(), String::new());
        own
    }

    /// The name of a user's variable.
    pub(super) fn of_user(&mut self, name: &str) -> String {
        let own = self.names.of(&format!("{}{name}", self.prefix));
        self.users.insert(own.clone(), name.to_owned());
        own
    }

    /// Begins a group whose variables no other group has; returns those of the others.
    pub(super) fn enter(&mut self, prefix: &'static str) -> BTreeMap<String, String> {
        self.prefix = prefix;
        std::mem::take(&mut self.users)
    }

    /// Ends such a group.
    pub(super) fn leave(&mut self, others: BTreeMap<String, String>) {
        self.prefix = "";
        self.users = others;
    }

    /// A variable of the conversion's own.
    pub(super) fn helper(&mut self, hint: &str) -> String {
        self.names.unused(hint)
    }

    pub(super) fn params(&self) -> Option<Map> {
        let mut params = Map::new(0..0);
        for stub in &self.stubs {
            params = params.comment(stub.clone());
        }
        for (name, value) in &self.parameters {
            params.put(name, Item::Text(literal(value)));
        }
        (!params.entries.is_empty()).then_some(params)
    }
}

impl Importer<'_> {
    /// The expression for a variable.
    pub(super) fn variable(&mut self, name: &str, at: &Range<usize>) -> String {
        self.variables.read.insert(name.to_owned());
        if self.variables.set.contains(name) {
            return self.variables.of_user(name);
        }
        let declared = self.variables.declared.get(name);
        let Some(value) = declared.map(|declared| declared.value.clone()) else {
            if self.variables.unknown.insert(name.to_owned()) {
                let message = format!("no element sets `{name}`: it is read from the environment");
                self.diagnostics.stand_in(at.clone(), message);
            }
            return self.secrets.given(&environment_name(name));
        };
        if self.secrets.is_secret(name) {
            return self.secrets.expression(name, &value, at);
        }
        let filled = self.filled(&value, 0);
        let is_fixed = !parts(&filled).iter().any(|part| matches!(part, Part::Reference(_)));
        if is_fixed {
            let own = self.variables.names.of(name);
            self.variables.parameters.entry(own.clone()).or_insert(filled);
            return own;
        }
        self.variables.of_user(name)
    }

    /// The step that gives the users' variables their first values.
    pub(super) fn first_values(&mut self) -> Option<Map> {
        let mut found: Vec<(String, String)> = Vec::new();
        // Values may use variables that are noted meanwhile.
        loop {
            let is_new = |own: &String| !found.iter().any(|(known, _)| known == own);
            let next = self.variables.users.iter().find(|(own, _)| is_new(own));
            let Some((own, name)) = next.map(|(own, name)| (own.clone(), name.clone())) else {
                break;
            };
            let declared = self.variables.declared.get(&name);
            let declared = declared.map(|declared| declared.value.clone()).unwrap_or_default();
            let value = self.filled(&declared, 0);
            let value = self.template(&value, Form::Plain, &(0..0));
            let value = self.secrets.named(&name, &value, &(0..0));
            found.push((own, value));
        }
        let mut values = Map::new(0..0);
        while !found.is_empty() {
            let is_ready = |value: &String| {
                !value.contains("${") || !found.iter().any(|(own, _)| mentions(value, own))
            };
            // Where all that is left needs another one, the first has no value before.
            let next = found.iter().position(|(_, value)| is_ready(value));
            let (own, value) = found.remove(next.unwrap_or(0));
            let value = if next.is_some() { value } else { String::new() };
            values.put(&own, Item::Text(value));
        }
        (!values.entries.is_empty()).then(|| Map::single(0..0, "set", Item::Map(values)))
    }

    /// Notes all variables of a tree before its steps are made.
    pub(super) fn find_variables(&mut self, tree: Node<'_, '_>) {
        for node in tree.descendants().filter(|node| node.is_element() && is_on(*node)) {
            match kind(node) {
                "TestPlan" => {
                    for argument in arguments(node, "TestPlan.user_defined_variables") {
                        self.declare(argument);
                    }
                }
                "Arguments" => {
                    for argument in arguments(node, "Arguments") {
                        self.declare(argument);
                    }
                }
                "RegexExtractor" => {
                    self.variables.set_by_element(text(node, "RegexExtractor.refname").trim());
                }
                "BoundaryExtractor" => {
                    self.variables.set_by_element(text(node, "BoundaryExtractor.refname").trim());
                }
                "HtmlExtractor" => {
                    self.variables.set_by_element(text(node, "HtmlExtractor.refname").trim());
                }
                "XPathExtractor" => {
                    self.variables.set_by_element(text(node, "XPathExtractor.refname").trim());
                }
                "XPath2Extractor" => {
                    self.variables.set_by_element(text(node, "XPathExtractor2.refname").trim());
                }
                "JSONPostProcessor" => {
                    for name in text(node, "JSONPostProcessor.referenceNames").split(';') {
                        self.variables.set_by_element(name.trim());
                    }
                }
                "JMESPathExtractor" => {
                    self.variables.set_by_element(text(node, "JMESExtractor.referenceName").trim());
                }
                "CSVDataSet" => {
                    for name in text(node, "variableNames").split(',') {
                        self.variables.set_by_element(name.trim());
                    }
                }
                "CounterConfig" => {
                    self.variables.set_by_element(text(node, "CounterConfig.name").trim());
                }
                "RandomVariableConfig" => {
                    self.variables.set_by_element(text(node, "variableName").trim());
                }
                "ForeachController" => {
                    let list = text(node, "ForeachController.inputVal").trim();
                    self.variables.gone_through.insert(list.to_owned());
                    self.variables.set_by_element(text(node, "ForeachController.returnVal").trim());
                }
                _ => {
                    for found in VARS_PUT.captures_iter(node.text().unwrap_or_default()) {
                        self.variables.set_by_element(&found[1]);
                    }
                }
            }
        }
    }

    fn declare(&mut self, argument: Node<'_, '_>) {
        let name = text(argument, "Argument.name").trim();
        self.variables.declare(name, text(argument, "Argument.value"), opening(argument));
    }
}

/// Whether a name stands in an expression of a template.
fn mentions(template: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    template.match_indices(name).any(|(at, _)| {
        !template[..at].ends_with(is_part) && !template[at + name.len()..].starts_with(is_part)
    })
}

/// The name of an environment variable.
fn environment_name(name: &str) -> String {
    let fits = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }
    };
    let plain: String = name.chars().take(60).map(fits).collect();
    match plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => plain,
        false => format!("VARIABLE_{plain}"),
    }
}
