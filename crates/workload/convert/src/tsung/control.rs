//! `<for>`, `<repeat>`, `<foreach>`, `<if>`.

use roxmltree::Node;

use super::attributes::value_at;
use super::{Importer, Item, Map, elements, opening};
use crate::template::quoted;

/// The comparisons of a condition, and the operators they are.
const COMPARISONS: [(&str, &str); 6] =
    [("eq", "=="), ("neq", "!="), ("gt", ">"), ("gte", ">="), ("lt", "<"), ("lte", "<=")];
/// How often a `repeat` goes round where it does not say (DTD).
const REPEAT_MAX: u64 = 20;

impl Importer<'_> {
    /// The condition that `var` and one comparison say.
    fn condition(&mut self, node: Node<'_, '_>) -> Option<String> {
        let variable = self.required(node, "var");
        let written = COMPARISONS
            .iter()
            .find_map(|(name, sign)| Some((*name, *sign, node.attribute(*name)?)));
        let Some((name, sign, value)) = written else {
            self.required(node, "eq");
            return None;
        };
        let at = value_at(node, "var");
        let variable = self.read_variable(variable?, &at);
        let value_range = value_at(node, name);
        let right = match value.strip_prefix("%%_").and_then(|v| v.strip_suffix("%%")) {
            Some(other) => self.read_variable(other, &value_range),
            None if units::parse::number(value).is_ok() => value.to_owned(),
            None if sign == "==" || sign == "!=" => quoted(value),
            None => {
                let message = format!("{value:?} is not a number and cannot be compared");
                self.diagnostics.error("bad-number", value_range, message);
                return None;
            }
        };
        Some(format!("{variable} {sign} {right}"))
    }

    pub(super) fn if_step(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let condition = self.condition(node);
        let mut inner = Vec::new();
        self.steps(node, &mut inner);
        if let Some(condition) = condition
            && !inner.is_empty()
        {
            steps.push(
                Map::single(opening(node), "if", Item::Text(condition))
                    .with("then", Item::List(inner)),
            );
        }
    }

    /// A number, or a variable, of an attribute that must be there.
    fn bound(&mut self, node: Node<'_, '_>, name: &str) -> Option<Result<u64, String>> {
        let text = self.required(node, name)?;
        match text.strip_prefix("%%_").and_then(|v| v.strip_suffix("%%")) {
            Some(variable) => {
                let at = value_at(node, name);
                Some(Err(self.read_variable(variable, &at)))
            }
            None => self.count(node, name).map(Ok),
        }
    }

    /// Tsung goes round at least once, and ends when the counter has reached `to`.
    pub(super) fn for_loop(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let at = opening(node);
        let counter = self.required(node, "var").map(|name| self.set_variable(name));
        let from = self.bound(node, "from");
        let to = self.bound(node, "to");
        let step = self.count(node, "incr").unwrap_or(1);
        if step == 0 {
            let message = "the loop would never end".to_owned();
            self.diagnostics.error("bad-number", value_at(node, "incr"), message);
            return;
        }
        let rounds = match (&from, &to) {
            (Some(Ok(from)), Some(Ok(to))) => Some(1 + to.saturating_sub(*from).div_ceil(step)),
            _ => None,
        };
        let before = self.session.rounds;
        self.session.rounds *= rounds.unwrap_or(1) as f64;
        let mut inner = Vec::new();
        self.steps(node, &mut inner);
        self.session.rounds = before;
        let (Some(counter), Some(from), Some(to)) = (counter, from, to) else {
            return;
        };
        if inner.is_empty() {
            return;
        }
        let text = |bound: &Result<u64, String>| match bound {
            Ok(number) => number.to_string(),
            Err(variable) => variable.clone(),
        };
        steps.push(set(&at, &counter, format!("${{{}}}", text(&from))));
        let times = match rounds {
            Some(rounds) => Item::Bare(rounds.to_string()),
            None => {
                let from = text(&from);
                let to = text(&to);
                let again = self.helper("rounds");
                // Rounded up, and one round at least.
                let rounds = format!("${{int(({to} - {from} + {step} - 1) / {step})}}");
                steps.push(set(&at, &again, rounds));
                let least = Map::single(at.clone(), "if", Item::Text(format!("{again} < 0")))
                    .with("then", Item::List(vec![set(&at, &again, "${0}".to_owned())]));
                steps.push(least);
                Item::Text(format!("{again} + 1"))
            }
        };
        inner.push(set(&at, &counter, format!("${{{counter} + {step}}}")));
        steps.push(Map::single(at, "loop", times).with("steps", Item::List(inner)));
    }

    /// Goes round once, and again while its last element says so, `max_repeat` times at most.
    pub(super) fn repeat(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let at = opening(node);
        let name = self.required(node, "name").unwrap_or("repeat");
        let times_max = self.count(node, "max_repeat").unwrap_or(REPEAT_MAX);
        let counter = self.set_variable(name);
        let again = self.helper("again");
        let before = self.session.rounds;
        self.session.rounds *= times_max.max(1) as f64;
        let mut inner = Vec::new();
        self.steps(node, &mut inner);
        self.session.rounds = before;
        let last = elements(node).last();
        let word = last.map_or("", |last| last.tag_name().name());
        if word != "while" && word != "until" {
            let message = "`<repeat>` does not end with a `<while>` or `<until>`".to_owned();
            self.diagnostics
                .error("missing-element", at, message)
                .hint("write <until var=\"…\" eq=\"…\"/> as its last element");
            return;
        }
        let Some(condition) = last.and_then(|last| self.condition(last)) else {
            return;
        };
        let holds = if word == "while" { condition } else { format!("not ({condition})") };
        inner.push(set(&at, &again, format!("${{{counter} <= {times_max} and {holds}}}")));
        inner.push(set(&at, &counter, format!("${{{counter} + 1}}")));
        steps.push(set(&at, &counter, "${1}".to_owned()));
        steps.push(set(&at, &again, "${true}".to_owned()));
        steps.push(Map::single(at, "while", Item::Text(again)).with("steps", Item::List(inner)));
    }

    /// One round for each item of a list.
    pub(super) fn for_each(&mut self, node: Node<'_, '_>, steps: &mut Vec<Map>) {
        let at = opening(node);
        let name = self.required(node, "name");
        let list = self.required(node, "in");
        for filter in ["include", "exclude"] {
            if node.has_attribute(filter) {
                let message = "items of a list cannot be filtered".to_owned();
                self.diagnostics.lost(value_at(node, filter), message);
            }
        }
        let (Some(name), Some(list)) = (name, list) else {
            return;
        };
        let list_at = value_at(node, "in");
        let list = self.read_variable(list, &list_at);
        let of_item = self.session.lists.get(&list).cloned();
        if of_item.is_none() {
            let message = format!("`{list}` is not known to be a list");
            self.diagnostics.lost(list_at, message).hint("use a jsonpath with [*] for a list");
        }
        let item = self.set_variable(name);
        let index = self.helper("index");
        let mut inner = Vec::new();
        let mut rest = Vec::new();
        self.steps(node, &mut rest);
        let Some(of_item) = of_item.filter(|_| !rest.is_empty()) else {
            return;
        };
        let tail =
            if of_item.is_empty() { String::new() } else { format!(" + {}", quoted(&of_item)) };
        inner.push(set(&at, &item, format!("${{json({list}, '/' + {index}{tail})}}")));
        inner.append(&mut rest);
        inner.push(set(&at, &index, format!("${{{index} + 1}}")));
        steps.push(set(&at, &index, "${0}".to_owned()));
        let condition = Item::Text(format!("{index} < items({list})"));
        steps.push(Map::single(at, "while", condition).with("steps", Item::List(inner)));
    }
}

/// A step that sets one variable.
pub(super) fn set(at: &std::ops::Range<usize>, name: &str, value: String) -> Map {
    let value = Map::single(at.clone(), name, Item::Text(value));
    Map::single(at.clone(), "set", Item::Map(value))
}
