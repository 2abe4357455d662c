//! Extractors and assertions: what a request saves and checks.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use roxmltree::Node;

use super::Importer;
use super::functions::{Form, Part, parts};
use super::properties::{flag, items, kind, label, opening, place, text};
use crate::template::{literal, quoted};
use crate::writer::{Item, Line, Map, scalar};
use crate::xpath;

/// Every status of HTTP.
const ANY_STATUS: &str = "100..599";

/// Paths that name one place.
static SINGLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"^\$(?:\.[A-Za-z_][\w-]*|\[\d+\]|\['[^'\\]+'\])*$"#;
    Regex::new(pattern).expect("a pattern that is always the same")
});

/// What a request saves and checks.
#[derive(Debug, Default)]
pub(super) struct Results {
    statuses: Vec<String>,
    saves: Map,
    checks: Vec<String>,
    /// Steps behind the request.
    pub(super) steps: Vec<Map>,
    /// Variables that places of the response are saved in for checks, by the place.
    known: BTreeMap<String, String>,
}

impl Results {
    pub(super) fn keys(&self) -> Vec<(String, Item)> {
        let mut keys = Vec::new();
        if !self.statuses.is_empty() {
            let list = match self.statuses.as_slice() {
                [one] => one.clone(),
                several => format!("[{}]", several.join(", ")),
            };
            keys.push(("status".to_owned(), Item::Bare(list)));
        }
        keys.extend(self.message_keys());
        keys
    }

    /// The keys that a message has, too.
    pub(super) fn message_keys(&self) -> Vec<(String, Item)> {
        let mut keys = Vec::new();
        if !self.saves.entries.is_empty() {
            keys.push(("save".to_owned(), Item::Map(self.saves.clone())));
        }
        if !self.checks.is_empty() {
            let lines = self.checks.iter().map(|check| Line::new(scalar(check)));
            keys.push(("check".to_owned(), Item::Lines(lines.collect())));
        }
        keys
    }

    fn save(&mut self, name: &str, source: Item) {
        match self.saves.get_mut(name) {
            Some(known) => *known = source,
            None => self.saves.put(name, source),
        }
    }
}

impl<'d, 'i: 'd> Importer<'_> {
    /// What extractors and assertions make of a response.
    pub(super) fn results(&mut self, elements: &[Node<'d, 'i>]) -> Results {
        let mut results = Results::default();
        for node in elements {
            let node = *node;
            match kind(node) {
                "RegexExtractor" => self.regex_extractor(node, &mut results),
                "BoundaryExtractor" => self.boundary_extractor(node, &mut results),
                "HtmlExtractor" => self.html_extractor(node, &mut results),
                "XPathExtractor" | "XPath2Extractor" => self.xpath_extractor(node, &mut results),
                "JSONPostProcessor" => self.json_extractor(node, &mut results),
                "JMESPathExtractor" => self.jmespath_extractor(node, &mut results),
                "ResponseAssertion" => self.response_assertion(node, &mut results),
                "JSONPathAssertion" => self.json_assertion(node, &mut results),
                "XPathAssertion" => self.xpath_assertion(node, &mut results),
                _ => self.duration_assertion(node, &mut results),
            }
        }
        results
    }

    /// The variable of an extractor. One that is not found has its default, and the user continues.
    fn save_or_default(
        &mut self,
        node: Node<'d, 'i>,
        name: &str,
        default: &str,
        mut source: Map,
        results: &mut Results,
    ) {
        if name.is_empty() {
            let message = format!("the extractor `{}` names no variable", label(node));
            self.diagnostics.ignored(opening(node), message);
            return;
        }
        let own = self.variables.of_user(name);
        let default = self.template(default, Form::Plain, &opening(node));
        source.put("default", Item::Text(default));
        results.save(&own, Item::Map(source));
    }

    /// Reports a number of a match that is not the first.
    fn first_match(&mut self, node: Node<'d, 'i>, property: &str) -> bool {
        match text(node, property).trim() {
            "" | "1" => true,
            "0" => {
                let message = "the first match is taken, not one by chance";
                self.diagnostics.differs("random-match", place(node, property), message);
                true
            }
            number => {
                let message = format!("the match with the number {number} is not carried over");
                self.diagnostics.lost(place(node, property), message);
                false
            }
        }
    }

    /// A pattern that the scenario can use: Perl has forms that are not there.
    fn pattern(&mut self, pattern: &str, at: Range<usize>) -> Option<String> {
        if parts(pattern).iter().any(|part| matches!(part, Part::Reference(_))) {
            let message = format!("the pattern `{pattern}` differs between users");
            self.diagnostics.lost(at, message);
            return None;
        }
        match Regex::new(pattern) {
            Ok(_) => Some(pattern.to_owned()),
            Err(_) => {
                let message = format!("the pattern `{pattern}` is none of those that are searched");
                let hint = "look-around and back-references have no counterpart";
                self.diagnostics.lost(at, message).hint(hint);
                None
            }
        }
    }

    fn regex_extractor(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let name = text(node, "RegexExtractor.refname").trim();
        let default = text(node, "RegexExtractor.default");
        let template = text(node, "RegexExtractor.template").trim();
        let group = template.strip_prefix('$').and_then(|rest| rest.strip_suffix('$'));
        let group = match template {
            "" => Some(1),
            _ => group.and_then(|group| group.parse::<u32>().ok()),
        };
        let (Some(group), true) = (group, self.first_match(node, "RegexExtractor.match_number"))
        else {
            if group.is_none() {
                let message = format!("the template `{template}` is not carried over");
                self.diagnostics.lost(place(node, "RegexExtractor.template"), message);
            }
            self.variables.of_user(name);
            return;
        };
        let place_in = match text(node, "RegexExtractor.useHeaders") {
            "" | "false" | "unescaped" | "as_document" => "body",
            "true" => "response",
            field => {
                let message = format!("the field `{field}` of a response is not searched");
                self.diagnostics.lost(place(node, "RegexExtractor.useHeaders"), message);
                self.variables.of_user(name);
                return;
            }
        };
        let at = place(node, "RegexExtractor.regex");
        let Some(pattern) = self.pattern(text(node, "RegexExtractor.regex"), at) else {
            self.variables.of_user(name);
            return;
        };
        let mut source = Map::single(opening(node), "regex", Item::Text(literal(&pattern)));
        source.put("group", Item::Bare(group.to_string()));
        if place_in == "response" {
            source.put("in", Item::Text(place_in.to_owned()));
        }
        self.save_or_default(node, name, default, source, results);
    }

    fn boundary_extractor(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let name = text(node, "BoundaryExtractor.refname").trim();
        let default = text(node, "BoundaryExtractor.default");
        if !self.first_match(node, "BoundaryExtractor.match_number") {
            self.variables.of_user(name);
            return;
        }
        let left = self.filled(text(node, "BoundaryExtractor.lboundary"), 0);
        let right = self.filled(text(node, "BoundaryExtractor.rboundary"), 0);
        let pattern = format!("(?s){}(.*?){}", regex::escape(&left), regex::escape(&right));
        let mut source = Map::single(opening(node), "regex", Item::Text(literal(&pattern)));
        if text(node, "BoundaryExtractor.useHeaders") == "true" {
            source.put("in", Item::Text("response".to_owned()));
        }
        self.save_or_default(node, name, default, source, results);
    }

    fn html_extractor(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let name = text(node, "HtmlExtractor.refname").trim();
        let is_all = text(node, "HtmlExtractor.match_number").trim() == "-1";
        if !is_all && !self.first_match(node, "HtmlExtractor.match_number") {
            self.variables.of_user(name);
            return;
        }
        let selector = literal(text(node, "HtmlExtractor.expr"));
        let mut source = Map::single(opening(node), "css", Item::Text(selector));
        let attribute = text(node, "HtmlExtractor.attribute").trim();
        if !attribute.is_empty() {
            source.put("attr", Item::Text(literal(attribute)));
        }
        if is_all {
            source.put("all", Item::Bare("true".to_owned()));
            self.lists.push(name.to_owned());
        }
        let default = text(node, "HtmlExtractor.default");
        let default = if is_all && default.is_empty() { "[]" } else { default };
        self.save_or_default(node, name, default, source, results);
    }

    /// What a path finds, as the source of a variable.
    fn xpath(&mut self, path: &str, at: Range<usize>) -> Option<Map> {
        let Some(found) = xpath::found(path) else {
            let message = format!("`{path}`: a selector of CSS cannot say this");
            let hint = "write `save` with `css` or `regex`";
            self.diagnostics.lost(at, message).hint(hint);
            return None;
        };
        let message =
            "paths of XPath become selectors of CSS, and responses are read as pages of HTML";
        self.diagnostics.differs("xpath", at.clone(), message);
        Some(found.source(at))
    }

    fn xpath_extractor(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let property = match kind(node) {
            "XPath2Extractor" => "XPathExtractor2",
            _ => "XPathExtractor",
        };
        let name = text(node, &format!("{property}.refname")).trim();
        let number = format!("{property}.matchNumber");
        // By default JMeter numbers all matches, for a ForEach controller; the variable itself has the first one.
        let is_numbered = text(node, &number).trim() == "-1";
        let is_all = is_numbered && self.variables.is_gone_through(name);
        let query = format!("{property}.xpathQuery");
        let is_known = is_numbered || self.first_match(node, &number);
        let source = self.xpath(text(node, &query), place(node, &query)).filter(|_| is_known);
        let Some(mut source) = source else {
            self.variables.of_user(name);
            return;
        };
        if is_all {
            source.put("all", Item::Bare("true".to_owned()));
            self.lists.push(name.to_owned());
        }
        let default = text(node, &format!("{property}.default"));
        let default = if is_all && default.is_empty() { "[]" } else { default };
        self.save_or_default(node, name, default, source, results);
    }

    fn xpath_assertion(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let path = text(node, "XPath.xpath");
        let Some(source) = self.xpath(path, place(node, "XPath.xpath")) else {
            return;
        };
        let source = source.with("default", Item::Bare("null".to_owned()));
        let name = self.saved(&format!("xpath {path}"), "found", Item::Map(source), results);
        let sign = if flag(node, "XPath.negate") { "==" } else { "!=" };
        results.checks.push(format!("{name} {sign} null"));
    }

    fn json_extractor(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let names: Vec<&str> = text(node, "JSONPostProcessor.referenceNames").split(';').collect();
        let paths: Vec<&str> = text(node, "JSONPostProcessor.jsonPathExprs").split(';').collect();
        let numbers: Vec<&str> = text(node, "JSONPostProcessor.match_numbers").split(';').collect();
        let defaults: Vec<&str> =
            text(node, "JSONPostProcessor.defaultValues").split(';').collect();
        for (index, name) in names.iter().enumerate() {
            let name = name.trim();
            let path = paths.get(index).map_or("", |path| path.trim());
            let number = numbers.get(index).map_or("", |number| number.trim());
            let default = defaults.get(index).copied().unwrap_or_default();
            let at = place(node, "JSONPostProcessor.jsonPathExprs");
            if parts(path).iter().any(|part| matches!(part, Part::Reference(_))) {
                let message = format!("the path `{path}` differs between users");
                self.diagnostics.lost(at, message);
                self.variables.of_user(name);
                continue;
            }
            let source = Map::single(opening(node), "pointer", Item::Text(literal(path)));
            if SINGLE.is_match(path) && path != "$" {
                self.save_or_default(node, name, default, source, results);
                continue;
            }
            if path == "$" {
                let source = Map::single(opening(node), "from", Item::Text("body".to_owned()));
                self.save_or_default(node, name, default, source, results);
                continue;
            }
            if number == "-1" {
                self.lists.push(name.to_owned());
                self.save_or_default(node, name, "[]", source, results);
                continue;
            }
            let Some(index) = number.parse::<usize>().ok().or(number.is_empty().then_some(1))
            else {
                let message = format!("the match with the number {number} is not carried over");
                self.diagnostics.lost(place(node, "JSONPostProcessor.match_numbers"), message);
                continue;
            };
            if index == 0 {
                let message = "the first match is taken, not one by chance";
                let at = place(node, "JSONPostProcessor.match_numbers");
                self.diagnostics.differs("random-match", at, message);
            }
            // The list of all matches, and one of them.
            let list = self.variables.helper(&format!("{}_list", name.to_lowercase()));
            let source = source.with("default", Item::Text("[]".to_owned()));
            results.save(&list, Item::Map(source));
            let own = self.variables.of_user(name);
            let value = format!("${{json({list}, '/{}')}}", index.saturating_sub(1));
            let set = Map::single(opening(node), &own, Item::Text(value));
            results.steps.push(Map::single(opening(node), "set", Item::Map(set)));
        }
    }

    fn jmespath_extractor(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let name = text(node, "JMESExtractor.referenceName").trim();
        let path = text(node, "JMESExtractor.jmesPathExpr").trim();
        let path_as_json = format!("$.{path}");
        if !SINGLE.is_match(&path_as_json) || !self.first_match(node, "JMESExtractor.matchNumber") {
            let message = format!("the expression `{path}` of JMESPath is not carried over");
            self.diagnostics.lost(place(node, "JMESExtractor.jmesPathExpr"), message);
            self.variables.of_user(name);
            return;
        }
        let source = Map::single(opening(node), "pointer", Item::Text(path_as_json));
        self.save_or_default(node, name, text(node, "JMESExtractor.defaultValue"), source, results);
    }

    /// The variable that a part of the response is saved in for checks.
    fn saved(&mut self, key: &str, hint: &str, source: Item, results: &mut Results) -> String {
        if let Some(known) = results.known.get(key) {
            return known.clone();
        }
        let name = self.variables.helper(hint);
        results.save(&name, source);
        results.known.insert(key.to_owned(), name.clone());
        name
    }

    fn response_assertion(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        // Bits of `ResponseAssertion`: match, contains, not, equals, substring, or.
        let kinds = text(node, "Assertion.test_type").trim().parse::<u32>().unwrap_or(2);
        let is_not = kinds & 4 != 0;
        let is_any = kinds & 32 != 0;
        let field = text(node, "Assertion.test_field");
        let scope = text(node, "Assertion.scope");
        if !matches!(scope, "" | "parent") {
            let message = "assertions on parts of a sample are checked on its response";
            self.diagnostics.differs("assertion-scope", place(node, "Assertion.scope"), message);
        }
        let strings = ["Asserion.test_strings", "Assertion.test_strings"];
        let strings = strings.iter().map(|name| items(node, name)).find(|list| !list.is_empty());
        let texts: Vec<(String, Range<usize>)> = strings
            .unwrap_or_default()
            .into_iter()
            .map(|item| (self.filled(item.text().unwrap_or_default(), 0), opening(item)))
            .collect();
        if field == "Assertion.response_code" {
            let codes = texts.iter().map(|(text, _)| text.trim());
            let are_codes = codes
                .clone()
                .all(|code| code.len() == 3 && code.parse::<u16>().is_ok_and(|code| code >= 100));
            if are_codes && !is_not && (texts.len() == 1 || is_any) {
                results.statuses.retain(|status| status != ANY_STATUS);
                results.statuses.extend(codes.map(str::to_owned));
                return;
            }
        }
        // A status of 400 or above is no failure then.
        if flag(node, "Assertion.assume_success") && results.statuses.is_empty() {
            results.statuses.push(ANY_STATUS.to_owned());
        }
        let mut conditions = Vec::new();
        for (wanted, at) in &texts {
            match self.condition_on(node, field, kinds, wanted, at, results) {
                Some(condition) if is_not => conditions.push(format!("not ({condition})")),
                Some(condition) => conditions.push(condition),
                None => return,
            }
        }
        match is_any && !conditions.is_empty() {
            true => results.checks.push(conditions.join(" or ")),
            false => results.checks.extend(conditions),
        }
    }

    /// The condition that a field of a response has a text.
    fn condition_on(
        &mut self,
        node: Node<'d, 'i>,
        field: &str,
        kinds: u32,
        wanted: &str,
        at: &Range<usize>,
        results: &mut Results,
    ) -> Option<String> {
        let word = |word: &str| Item::Text(word.to_owned());
        let is_text = kinds & (8 | 16) != 0;
        let place_in = match field {
            "" | "Assertion.response_data" | "Assertion.response_data_as_document" => "body",
            "Assertion.response_headers" => "response",
            "Assertion.response_code" => "status",
            _ => {
                let message = format!("the assertion on `{field}` is not carried over");
                self.diagnostics.lost(place(node, "Assertion.test_field"), message);
                return None;
            }
        };
        if is_text && place_in != "response" {
            let hint = if place_in == "body" { "body_text" } else { "status_code" };
            let name = self.saved(place_in, hint, word(place_in), results);
            let value = match parts(wanted).as_slice() {
                [] => "''".to_owned(),
                [Part::Text(plain)] => quoted(plain),
                _ => {
                    let message = "an assertion with variables is not carried over".to_owned();
                    self.diagnostics.lost(at.clone(), message);
                    return None;
                }
            };
            return Some(match kinds & 8 != 0 {
                true => format!("str({name}) == {value}"),
                false => format!("contains({name}, {value})"),
            });
        }
        let pattern = match is_text {
            true => regex::escape(wanted),
            false => wanted.to_owned(),
        };
        // The status line is the first of a response.
        let pattern = match (place_in, kinds & 1 != 0) {
            ("status", _) => format!(r"(?s)\AHTTP/\S+ (?:{pattern})"),
            ("body", true) => format!(r"\A(?s:{pattern})\z"),
            _ => pattern,
        };
        let pattern = self.pattern(&pattern, at.clone())?;
        let mut source = Map::single(at.clone(), "regex", Item::Text(literal(&pattern)))
            .with("group", Item::Bare("0".to_owned()));
        if place_in != "body" {
            source.put("in", Item::Text("response".to_owned()));
        }
        source.put("default", Item::Bare("null".to_owned()));
        let key = format!("{place_in} {pattern}");
        let name = self.saved(&key, "found", Item::Map(source), results);
        Some(format!("{name} != null"))
    }

    fn json_assertion(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let path = text(node, "JSON_PATH").trim();
        let at = place(node, "JSON_PATH");
        let is_inverted = flag(node, "INVERT");
        let expected = text(node, "EXPECTED_VALUE");
        if !SINGLE.is_match(path) || path == "$" {
            let message = format!("the assertion on `{path}` is not carried over");
            self.diagnostics.lost(at, message).hint("write `save` and `check` for it");
            return;
        }
        let source = Map::single(at.clone(), "pointer", Item::Text(literal(path)))
            .with("default", Item::Bare("null".to_owned()));
        let hint = path.rsplit(['.', '\'']).find(|part| part.chars().any(char::is_alphanumeric));
        let hint = hint.unwrap_or("value").to_lowercase();
        let name = self.saved(&format!("json {path}"), &hint, Item::Map(source), results);
        let sign = if is_inverted { "!=" } else { "==" };
        let other = if is_inverted { "==" } else { "!=" };
        let condition = if !flag(node, "JSONVALIDATION") {
            format!("{name} {other} null")
        } else if flag(node, "EXPECT_NULL") {
            format!("{name} {sign} null")
        } else {
            let expected = self.filled(expected, 0);
            let is_plain = !expected.contains(['\\', '.', '*', '+', '?', '[', '(', '^', '$', '|']);
            if parts(&expected).iter().any(|part| matches!(part, Part::Reference(_)))
                || flag(node, "ISREGEX") && !is_plain && expected.parse::<f64>().is_err()
            {
                let message =
                    format!("the assertion on the value `{expected}` is not carried over");
                self.diagnostics.lost(place(node, "EXPECTED_VALUE"), message);
                return;
            }
            format!("str({name}) {sign} {}", quoted(&expected))
        };
        results.checks.push(condition);
    }

    fn duration_assertion(&mut self, node: Node<'d, 'i>, results: &mut Results) {
        let Some(limit_ms) = self.fixed(text(node, "DurationAssertion.duration")) else {
            let message = "the limit of this assertion is no number".to_owned();
            self.diagnostics.lost(place(node, "DurationAssertion.duration"), message);
            return;
        };
        if limit_ms > 0.0 {
            let time = Item::Text("time".to_owned());
            let name = self.saved("time", "response_time", time, results);
            results.checks.push(format!("{name} <= {limit_ms}"));
        }
    }
}
