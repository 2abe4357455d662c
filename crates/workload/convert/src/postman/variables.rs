//! Variables of Postman: `{{name}}` and `{{$dynamic}}`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use scenario::document::node::Node;

use crate::json::text;
use crate::names::Names;
use crate::secrets::Secrets;
use crate::template::literal;
use crate::writer::{Item, Map};

/// Variables may stand for texts with variables.
const DEPTH_MAX: usize = 8;
/// Longest text that variables stand for: each may stand for many.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Dynamic variables, and the expressions that make such values.
const DYNAMIC: &[(&str, &str)] = &[
    ("$guid", "uuid()"),
    ("$randomUUID", "uuid()"),
    ("$timestamp", "int(now() / 1000)"),
    ("$isoTimestamp", "date(now(), 'rfc3339')"),
    ("$randomInt", "random(0, 1000)"),
    ("$randomBoolean", "pick(true, false)"),
    ("$randomAlphaNumeric", "random_string(1)"),
    ("$randomPassword", "random_string(15)"),
    ("$randomFirstName", "fake('first_name')"),
    ("$randomLastName", "fake('last_name')"),
    ("$randomFullName", "fake('name')"),
    ("$randomUserName", "fake('user_name')"),
    ("$randomEmail", "fake('email')"),
    ("$randomExampleEmail", "fake('email')"),
    ("$randomPhoneNumber", "fake('phone')"),
    ("$randomCompanyName", "fake('company')"),
    ("$randomJobTitle", "fake('job')"),
    ("$randomCity", "fake('city')"),
    ("$randomCountry", "fake('country')"),
    ("$randomCountryCode", "fake('country_code')"),
    ("$randomStreetAddress", "fake('street')"),
    ("$randomStreetName", "fake('street')"),
    ("$randomLatitude", "fake('latitude')"),
    ("$randomLongitude", "fake('longitude')"),
    ("$randomIP", "fake('ipv4')"),
    ("$randomIPV6", "fake('ipv6')"),
    ("$randomWord", "fake('word')"),
    ("$randomWords", "fake('words')"),
    ("$randomLoremWord", "fake('word')"),
    ("$randomLoremWords", "fake('words')"),
    ("$randomLoremSentence", "fake('sentence')"),
    ("$randomLoremParagraph", "fake('paragraph')"),
];

/// A declared value.
#[derive(Debug, Clone)]
struct Declared {
    value: String,
    is_secret: bool,
    /// Where the collection declares it; `None`: an environment does.
    at: Option<Range<usize>>,
}

/// The variables of a collection and its environment.
#[derive(Debug, Default)]
pub(super) struct Variables {
    declared: HashMap<String, Declared>,
    /// Those that scripts set.
    set: BTreeSet<String>,
    names: Names,
    /// Names in the scenario of parameters and of users' variables, with the original ones.
    used: BTreeMap<String, String>,
    /// Those whose values are read.
    read: RefCell<BTreeSet<String>>,
    /// Values that another declaration of the name hides.
    hidden: Vec<(String, Range<usize>)>,
}

/// A part of a text.
pub(crate) enum Part<'t> {
    Text(&'t str),
    Name(&'t str),
}

/// The parts of a text with variables.
pub(crate) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(end) = rest[from..].find("}}").map(|at| from + at) {
        // A name has no braces: of `{{a{{b}}}}` Postman sees the inner variable.
        let begin = rest[from..end].rfind("{{").map(|at| from + at);
        let Some(begin) = begin.filter(|&begin| !rest[begin + 2..end].contains(['{', '}'])) else {
            from = end + 1;
            continue;
        };
        if begin > 0 {
            parts.push(Part::Text(&rest[..begin]));
        }
        parts.push(Part::Name(rest[begin + 2..end].trim()));
        rest = &rest[end + 2..];
        from = 0;
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest));
    }
    parts
}

impl Variables {
    /// Declares variables; those that were declared before stay, since environments come before collections.
    /// Of one list the last declaration of a name counts.
    pub(super) fn declare(&mut self, list: &[Node], is_environment: bool) {
        for node in list.iter().rev() {
            let name = match text(node, "key") {
                "" => text(node, "id"),
                key => key,
            };
            let is_off = text(node, "disabled") == "true" || text(node, "enabled") == "false";
            if name.is_empty() || is_off || text(node, "value").is_empty() {
                continue;
            }
            let at = (!is_environment).then(|| node.place.span.clone());
            if self.declared.contains_key(name) {
                self.hidden.extend(at.map(|at| (name.to_owned(), at)));
                continue;
            }
            let value = text(node, "value").to_owned();
            let is_secret = text(node, "type") == "secret";
            self.declared.insert(name.to_owned(), Declared { value, is_secret, at });
        }
    }

    /// The collection's variables whose values nothing reads, with their places.
    pub(super) fn unread(&self) -> Vec<(String, Range<usize>)> {
        let read = self.read.borrow();
        let is_used =
            |name: &String| read.contains(name) || self.used.values().any(|used| used == name);
        let unread = self.declared.iter().filter(|(name, _)| !is_used(name));
        let unread = unread.filter_map(|(name, own)| Some((name.clone(), own.at.clone()?)));
        let mut unread: Vec<_> = unread.chain(self.hidden.iter().cloned()).collect();
        unread.sort_by_key(|(_, at)| at.start);
        unread
    }

    pub(super) fn set_by_script(&mut self, name: &str) {
        self.set.insert(name.to_owned());
    }

    /// The user's variable of this name.
    pub(super) fn variable(&mut self, name: &str) -> String {
        let own = self.names.of(name);
        self.used.insert(own.clone(), name.to_owned());
        own
    }

    /// A variable of the conversion's own.
    pub(super) fn helper(&mut self, hint: &str) -> String {
        self.names.unused(hint)
    }

    /// The expression for a variable.
    pub(super) fn expression(&mut self, name: &str, secrets: &mut Secrets) -> Expression {
        if name.starts_with('$') {
            let known = DYNAMIC.iter().find(|(dynamic, _)| *dynamic == name);
            return match known {
                Some((_, expression)) => Expression::Known((*expression).to_owned()),
                None => Expression::Unknown("random_string(8)".to_owned()),
            };
        }
        if self.set.contains(name) {
            return Expression::Known(self.variable(name));
        }
        match self.declared.get(name).cloned() {
            Some(declared) if declared.is_secret || secrets.is_secret(name) => {
                self.read.borrow_mut().insert(name.to_owned());
                Expression::Known(secrets.expression(name, &declared.value, &(0..0)))
            }
            Some(_) => Expression::Known(self.variable(name)),
            None => Expression::Known(secrets.given(&environment_name(name))),
        }
    }

    /// Text with the variables of a URL's host filled in, as far as they have values and no script sets them.
    pub(super) fn filled(&self, text: &str) -> String {
        self.filled_within(text, 0)
    }

    fn filled_within(&self, text: &str, depth: usize) -> String {
        let mut out = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Name(name) => {
                    let declared = self.declared.get(name).filter(|_| !self.set.contains(name));
                    match declared {
                        Some(declared) if depth < DEPTH_MAX && out.len() < TEXT_BYTES_MAX => {
                            self.read.borrow_mut().insert(name.to_owned());
                            out.push_str(&self.filled_within(&declared.value, depth + 1));
                        }
                        _ => out.push_str(&format!("{{{{{name}}}}}")),
                    }
                }
            }
        }
        out
    }

    /// The parameters that were used, with their values.
    pub(super) fn params(&self) -> Option<Map> {
        let mut params = Map::new(0..0);
        for (own, name) in self.used.iter().filter(|(_, name)| !self.set.contains(*name)) {
            let value = self.filled(&format!("{{{{{name}}}}}"));
            params.put(own, Item::Text(literal(&value)));
        }
        (!params.entries.is_empty()).then_some(params)
    }

    /// The step that gives the users' variables their first values.
    pub(super) fn initial(&self, secrets: &mut Secrets) -> Option<Map> {
        let mut values = Map::new(0..0);
        for (own, name) in self.used.iter().filter(|(_, name)| self.set.contains(*name)) {
            let declared = self.declared.get(name);
            let value = declared.map(|declared| declared.value.as_str()).unwrap_or_default();
            let is_secret = declared.is_some_and(|declared| declared.is_secret);
            let value = match is_secret {
                true => secrets.template(name, value, &(0..0)),
                false => secrets.named(name, &literal(value), &(0..0)),
            };
            values.put(own, Item::Text(value));
        }
        (!values.entries.is_empty()).then(|| {
            Map::single(0..0, "set", Item::Map(values)).comment("Scripts set these later.")
        })
    }
}

/// An expression for a variable.
pub(super) enum Expression {
    Known(String),
    /// One that stands for a dynamic variable without a counterpart.
    Unknown(String),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variables_have_no_braces() {
        for (written, expected) in [
            ("a{{b}}c", "a<b>c"),
            ("{{ b }}{{c}}", "<b><c>"),
            ("{{a{{b}}}}", "{{a<b>}}"),
            ("{{{a}}}", "{<a>}"),
            ("{{a}b}}{{c}}", "{{a}b}}<c>"),
            ("}}{{a", "}}{{a"),
            ("{\"a\":{\"b\":{{c}}}}", "{\"a\":{\"b\":<c>}}"),
        ] {
            let shown = |part| match part {
                Part::Text(text) => text.to_owned(),
                Part::Name(name) => format!("<{name}>"),
            };
            let found: String = parts(written).into_iter().map(shown).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn variables_are_parameters_secrets_or_of_the_environment() {
        let mut variables = Variables::default();
        let list = r#"[{"key":"base","value":"http://{{host}}"},{"key":"host","value":"a.test"},
            {"key":"token","value":"t1"},{"key":"id","value":"7"},{"key":"off","value":"x","disabled":true}]"#;
        let list = crate::json::parse(list, &[]).unwrap();
        variables.declare(list.sequence().unwrap(), false);
        variables.set_by_script("id");
        let mut secrets = Secrets::default();
        let mut expression = |name: &str| match variables.expression(name, &mut secrets) {
            Expression::Known(text) | Expression::Unknown(text) => text,
        };
        assert_eq!(expression("host"), "host");
        assert_eq!(expression("token"), "env('TOKEN')");
        assert_eq!(expression("id"), "id");
        assert_eq!(expression("off"), "env('OFF')");
        assert_eq!(expression("$guid"), "uuid()");
        assert_eq!(expression("$randomAbbreviation"), "random_string(8)");
        assert_eq!(variables.filled("{{base}}/x/{{id}}"), "http://a.test/x/{{id}}");
        assert_eq!(variables.params().unwrap().entries.len(), 1);
        assert_eq!(variables.initial(&mut secrets).unwrap().entries.len(), 1);
    }
}
