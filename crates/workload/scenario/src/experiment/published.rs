//! Values that others published for a response, checked.

use stats::finite::{MAGNITUDE_MAX, is_measurable};
use units::parse;

use super::{Claim, Factor, PublishedResponse, PublishedValue};
use crate::check::{Checker, Word};
use crate::document::node::Node;
use crate::keys::{CLAIM, PUBLISHED, PUBLISHED_VALUE};

/// Most claims on a response, and most values with their levels.
const CLAIMS_MAX: usize = 50;
const VALUES_MAX: usize = 1000;

impl Checker<'_> {
    /// The published values of a response of an experiment with `cells` combinations.
    pub(super) fn published(
        &mut self,
        node: &Node,
        factors: &[Factor],
        cells: usize,
    ) -> PublishedResponse {
        let mut published = PublishedResponse::default();
        if node.mapping().is_none() {
            published.values = self.published_values(node, cells);
            return published;
        }
        let Some(fields) = self.fields(node, &PUBLISHED, "`published`") else {
            return published;
        };
        let source = fields.get("source");
        let source = source.and_then(|node| self.word(node, "a source"));
        published.source = source.map_or_else(String::new, |word| word.text);
        let values = fields.get("values");
        let claims = fields.get("claims");
        if values.is_none() && claims.is_none() {
            self.diagnostics
                .error(
                    "published-nothing",
                    &node.place,
                    "`published` has neither values nor claims",
                )
                .hint("add `values`, or `claims: [{ order: [the greatest, the next] }]`");
        }
        if let Some(node) = values {
            let items = self.one_or_more(node);
            if items.iter().any(|item| item.mapping().is_some()) {
                published.values_at = self.values_at(node, factors);
            } else {
                published.values = self.published_values(node, cells);
            }
        }
        if let Some(node) = claims {
            let items = self.one_or_more(node);
            if self.is_within(node, items.len(), CLAIMS_MAX, "claims") {
                let claims = items.iter().filter_map(|item| self.claim(item, factors));
                published.claims = claims.collect();
            }
        }
        published
    }

    fn is_within(&mut self, node: &Node, count: usize, max: usize, what: &str) -> bool {
        if count > max {
            let message = format!("{count} {what}; a response has at most {max}");
            self.diagnostics
                .error("published-too-many", &node.place, message)
                .hint("leave out those that matter least");
        }
        count <= max
    }

    /// A value for each of `cells` combinations.
    fn published_values(&mut self, node: &Node, cells: usize) -> Vec<f64> {
        let items = self.one_or_more(node);
        if items.len() != cells {
            let message = format!("{} values were published for {cells} combinations", items.len());
            self.diagnostics
                .error("published-values", &node.place, message)
                .hint(
                    "list one for each combination of levels, the first factor changing fastest, or some with their \
                     levels: `{ at: { factor: level }, value: 5ms }`",
                );
            return Vec::new();
        }
        let values = items.iter().filter_map(|item| self.published_value(item));
        values.collect()
    }

    fn published_value(&mut self, node: &Node) -> Option<f64> {
        self.unit(node, "bad-value", "a number, a duration, a rate or a percentage", |text| {
            if text.contains('%') {
                return parse::share(text);
            }
            if text.contains('/') {
                return parse::rate(text);
            }
            parse::number(text).or_else(|_| parse::duration(text).map(|seconds| 1e9 * seconds))
        })
        .and_then(|value| self.measurable(node, value))
    }

    /// A value that statistics can be computed of.
    fn measurable(&mut self, node: &Node, value: f64) -> Option<f64> {
        if is_measurable(value) {
            return Some(value);
        }
        let message = format!("a published value is {MAGNITUDE_MAX:e} at most");
        self.diagnostics.error("bad-value", &node.place, message);
        None
    }

    /// Values of some combinations.
    fn values_at(&mut self, node: &Node, factors: &[Factor]) -> Vec<PublishedValue> {
        let items = self.one_or_more(node);
        let mut found: Vec<PublishedValue> = Vec::new();
        if !self.is_within(node, items.len(), VALUES_MAX, "values with their levels") {
            return found;
        }
        for item in items {
            let Some(fields) = self.fields(item, &PUBLISHED_VALUE, "the value") else {
                continue;
            };
            let at = self.places(fields.get("at"), factors);
            let value = fields.get("value").and_then(|node| self.published_value(node));
            let (Some(at), Some(value)) = (at, value) else {
                continue;
            };
            let meets = |other: &PublishedValue| {
                let mut both = other.at.iter().zip(&at);
                both.all(|(a, b)| a == b || a.is_none() || b.is_none())
            };
            if found.iter().any(meets) {
                self.diagnostics
                    .error(
                        "published-values",
                        &item.place,
                        "another value was published for the same combination",
                    )
                    .hint("give the levels of more factors in `at`");
            }
            found.push(PublishedValue { at, value });
        }
        found
    }

    /// The level of each factor that is named, and `None` of the others.
    fn places(&mut self, node: Option<&Node>, factors: &[Factor]) -> Option<Vec<Option<usize>>> {
        let mut places = vec![None; factors.len()];
        let Some(node) = node else {
            return Some(places);
        };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of factors and a level of each");
            return None;
        };
        let mut is_right = true;
        for entry in entries {
            let found = factors.iter().position(|factor| factor.name == entry.key);
            let Some(factor) = found else {
                let message = format!("there is no factor `{}`", entry.key);
                let names = factors.iter().map(|factor| factor.name.as_str());
                let written = entry.key.as_str();
                let introduction = "the factors are";
                self.unknown(
                    "unknown-factor",
                    &entry.key_place,
                    message,
                    written,
                    introduction,
                    names,
                );
                is_right = false;
                continue;
            };
            let word = self.word(&entry.value, "a level");
            places[factor] = word.and_then(|word| self.level_of(&word, &factors[factor]));
            is_right &= places[factor].is_some();
        }
        is_right.then_some(places)
    }

    fn level_of(&mut self, word: &Word, factor: &Factor) -> Option<usize> {
        let levels = factor.levels.iter().map(|level| level.text.as_str());
        let found = levels.clone().position(|level| level == word.text);
        if found.is_none() {
            let message = format!("`{}` has no level `{}`", factor.name, word.text);
            let written = word.text.as_str();
            let introduction = "its levels are";
            self.unknown("unknown-level", &word.place, message, written, introduction, levels);
        }
        found
    }

    fn claim(&mut self, node: &Node, factors: &[Factor]) -> Option<Claim> {
        let fields = self.fields(node, &CLAIM, "the claim")?;
        let text = fields.get("claim");
        let text = text.and_then(|node| self.word(node, "the claim in words"));
        let order = fields.get("order")?;
        let mut groups: Vec<Vec<Word>> = Vec::new();
        for item in self.one_or_more(order) {
            let words = self.one_or_more(item).iter();
            groups.push(words.filter_map(|level| self.word(level, "a level")).collect());
        }
        if groups.len() < 2 || groups.iter().any(Vec::is_empty) {
            self.diagnostics
                .error("published-order", &order.place, "an order needs two levels at least")
                .hint(
                    "write the greatest first: `order: [a, b, [c, d]]`; levels in a list of their own are not ordered \
                     among each other",
                );
            return None;
        }
        let number = match fields.get("of") {
            Some(node) => self.factor_named(node, factors)?,
            None => self.factor_with(&groups, order, factors)?,
        };
        let at = self.places(fields.get("at"), factors);
        let mut seen: Vec<usize> = Vec::new();
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for group in &groups {
            let mut found = Vec::new();
            for word in group {
                let level = self.level_of(word, &factors[number])?;
                if seen.contains(&level) {
                    let message = format!("the level `{}` is in the order twice", word.text);
                    self.diagnostics.error("published-order", &word.place, message);
                }
                seen.push(level);
                found.push(level);
            }
            levels.push(found);
        }
        let at = at?;
        if let (Some(_), Some(node)) = (at[number], fields.get("at")) {
            let message = format!("the levels of `{}` are ordered already", factors[number].name);
            self.diagnostics
                .error("published-order", &node.place, message)
                .hint("name the levels of other factors in `at`");
        }
        Some(Claim {
            text: text.map_or_else(String::new, |word| word.text),
            factor: number,
            order: levels,
            at,
        })
    }

    fn factor_named(&mut self, node: &Node, factors: &[Factor]) -> Option<usize> {
        let word = self.word(node, "a factor")?;
        let names = factors.iter().map(|factor| factor.name.as_str());
        let found = names.clone().position(|name| name == word.text);
        if found.is_none() {
            let message = format!("there is no factor `{}`", word.text);
            let written = word.text.as_str();
            let introduction = "the factors are";
            self.unknown("unknown-factor", &word.place, message, written, introduction, names);
        }
        found
    }

    /// The factor that has these levels, or most of them: then the others are reported.
    fn factor_with(
        &mut self,
        groups: &[Vec<Word>],
        order: &Node,
        factors: &[Factor],
    ) -> Option<usize> {
        let known = factors.iter().enumerate().map(|(number, factor)| {
            let is_level = |word: &&Word| factor.levels.iter().any(|l| l.text == word.text);
            (groups.iter().flatten().filter(is_level).count(), number)
        });
        let known: Vec<(usize, usize)> = known.filter(|(count, _)| *count > 0).collect();
        let most = known.iter().map(|(count, _)| *count).max().unwrap_or(0);
        let mut best = known.iter().filter(|(count, _)| *count == most);
        match (best.next(), best.next()) {
            (Some((_, number)), None) => Some(*number),
            (Some(_), Some(_)) => {
                self.diagnostics
                    .error("published-order", &order.place, "several factors have these levels")
                    .hint("name the factor, like `of: users`");
                None
            }
            _ => {
                self.diagnostics
                    .error("published-order", &order.place, "no factor has these levels")
                    .hint("write levels as they stand in `factors`");
                None
            }
        }
    }
}
