//! Meters files: which figures a meter is made of, in which order, unit and direction.

use plan::meters::{From, INPUTS_MIN, Input, Meter, Meters};

use crate::Source;
use crate::diagnostic::Diagnostic;
use crate::node::Node;
use crate::sheet::Sheet;
use crate::suggest;

/// Reads a meters file. All problems are told at once; there are meters exactly where none of them is
/// an error.
pub fn meters(source: Source<'_>) -> (Option<Meters>, Vec<Diagnostic>) {
    let (root, mut sheet) = Sheet::open(source.text);
    let meters = root.and_then(|root| sheet.meters(&root));
    sheet.close(meters)
}

impl Sheet<'_> {
    fn meters(&mut self, root: &Node) -> Option<Meters> {
        let map = self.map(
            root,
            "the meters file",
            &["meters", "reference", "window"],
            1,
        )?;
        let reference = map
            .get("reference")
            .and_then(|node| self.text(node, "the name of a run"));
        let window_s = map.get("window").and_then(|node| self.seconds(node));
        let mut meters = Vec::new();
        for entry in self.entries(map.get("meters")?, "meters by name")? {
            let called = format!("the meter `{}`", entry.key);
            let keys = ["inputs", "scale", "states"];
            let Some(map) = self.map(&entry.value, &called, &keys, 1) else {
                continue;
            };
            let scale = map
                .get("scale")
                .and_then(|node| self.number(node, "a factor"));
            let states = [("extremes", false), ("moments", true)];
            let each_moment = map.get("states").and_then(|node| self.word(node, &states));
            let Some(list) = map.get("inputs") else {
                continue;
            };
            let items = self.items(list, "inputs in order");
            if items.len() < INPUTS_MIN {
                let message = format!("{called} has fewer than {INPUTS_MIN} inputs");
                self.told
                    .error("few-inputs", &list.place, message)
                    .hint("a polygon of fewer encloses nothing");
            }
            let each_moment = each_moment.unwrap_or(false);
            let inputs: Vec<Input> = items
                .iter()
                .filter_map(|item| self.input(item, &meters, each_moment))
                .collect();
            meters.push(Meter {
                name: entry.key.clone(),
                scale: scale.unwrap_or(1.0),
                each_moment,
                inputs,
            });
        }
        Some(Meters {
            reference: reference.map(str::to_owned),
            window_s,
            meters,
        })
    }

    fn input(&mut self, node: &Node, before: &[Meter], each_moment: bool) -> Option<Input> {
        let keys = [
            "name", "figure", "worst", "best", "probe", "per", "weigh", "value", "meter", "cost",
            "unit", "scale", "invert", "better", "weight",
        ];
        let map = self.map(node, "an input", &keys, 0)?;
        let sources = ["figure", "probe", "value", "meter", "cost"];
        let given: Vec<&str> = sources
            .into_iter()
            .filter(|key| map.get(key).is_some())
            .collect();
        let [source] = given[..] else {
            self.told
                .error("bad-input", map.place, "an input comes from one place")
                .hint("give one of `figure`, `probe`, `value`, `meter` and `cost`");
            return None;
        };
        let at = map.get(source)?;
        if each_moment && source != "probe" {
            self.told
                .error(
                    "bad-input",
                    &at.place,
                    "at each moment there are probes only",
                )
                .hint("take `states: moments` away, or give a `probe`");
        }
        let mut text = |key: &str| {
            let node = map.get(key)?;
            self.text(node, "a word").map(str::to_owned)
        };
        let (worst, best, per, unit) = (text("worst"), text("best"), text("per"), text("unit"));
        let own_name = text("name");
        let from = match source {
            "figure" => From::Figure {
                mean: self.text(at, "a figure like mean(request)")?.to_owned(),
                worst,
                best,
            },
            "probe" => From::Probe {
                metrics: self.metrics(at)?,
                per,
                weigh: match map.get("weigh") {
                    Some(node) => self.numbers(node, "weights by role")?,
                    None => Vec::new(),
                },
            },
            "value" => From::Value(match at.mapping() {
                Some(_) => self.numbers(at, "values by run")?,
                None => vec![(String::new(), self.number(at, "a number")?)],
            }),
            "meter" => From::Meter(self.meter_before(at, before)?),
            _ => self
                .word(at, &[("hours-per-dollar", ())])
                .map(|()| From::HoursPerMoney)?,
        };
        let shown = own_name.unwrap_or_else(|| at.text().unwrap_or(source).to_owned());
        let flags = [("true", true), ("false", false)];
        let better = [("higher", false), ("lower", true)];
        let weight = map
            .get("weight")
            .map(|node| (node, self.number(node, "a weight")));
        if let Some((node, Some(_))) = weight.filter(|(_, weight)| weight.is_some_and(|w| w < 0.0))
        {
            let message = "a weight is 0 or more";
            self.told.error("bad-number", &node.place, message);
        }
        let invert = map
            .get("invert")
            .and_then(|node| self.word(node, &flags))
            .unwrap_or(false);
        let lower = map.get("better").and_then(|node| self.word(node, &better));
        let scale = map
            .get("scale")
            .and_then(|node| self.number(node, "a factor"));
        Some(Input {
            name: shown,
            from,
            unit,
            scale: scale.unwrap_or(1.0),
            invert,
            // What is inverted is meant to be small.
            lower_is_better: lower.unwrap_or(invert),
            weight: weight.and_then(|(_, weight)| weight).unwrap_or(1.0),
        })
    }

    /// A metric, or several with their factors.
    fn metrics(&mut self, node: &Node) -> Option<Vec<(String, f64)>> {
        match node.mapping() {
            Some(_) => self.numbers(node, "factors by metric"),
            None => Some(vec![(self.text(node, "a metric")?.to_owned(), 1.0)]),
        }
    }

    fn numbers(&mut self, node: &Node, called: &str) -> Option<Vec<(String, f64)>> {
        let mut numbers = Vec::new();
        for entry in self.entries(node, called)? {
            numbers.push((entry.key.clone(), self.number(&entry.value, "a number")?));
        }
        Some(numbers)
    }

    fn meter_before(&mut self, node: &Node, before: &[Meter]) -> Option<String> {
        let name = self.text(node, "the name of a meter")?;
        let known = before.iter().map(|meter| meter.name.as_str());
        if !known.clone().any(|known| known == name) {
            let hint = suggest::hint(name, "the meters before it are", known.collect::<Vec<_>>());
            let message = format!("there is no meter `{name}` before this one");
            self.told
                .error("unknown-meter", &node.place, message)
                .hint_some(hint);
            return None;
        }
        Some(name.to_owned())
    }
}

#[cfg(test)]
mod tests;
