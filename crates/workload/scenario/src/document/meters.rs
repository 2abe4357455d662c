//! Meters files: which figures a meter is made of, in which order, unit and direction.

use plan::meters::{From, INPUTS_MIN, Input, Meter, Meters, SourceWeights};

use crate::document::Source;
use crate::document::diagnostic::Diagnostic;
use crate::document::node::Node;
use crate::document::reader::{DocumentReader, Map};
use crate::document::suggest;

/// Reads a meters file. All problems are reported at once; there are meters exactly where none of them is
/// an error.
pub fn meters(source: Source<'_>) -> (Option<Meters>, Vec<Diagnostic>) {
    let (root, mut reader) = DocumentReader::open(source.text);
    let meters = root.and_then(|root| reader.meters(&root));
    reader.close(meters)
}

impl DocumentReader<'_> {
    fn meters(&mut self, root: &Node) -> Option<Meters> {
        let map =
            self.map(root, "the meters file", &["meters", "reference", "window", "hosts"], 1)?;
        let reference = map.get("reference").and_then(|node| self.text(node, "the name of a run"));
        let window_s = map.get("window").and_then(|node| self.seconds(node));
        let hosts = match map.get("hosts") {
            Some(node) => self.hosts_of_runs(node),
            None => Vec::new(),
        };
        let mut meters = Vec::new();
        for entry in self.entries(map.get("meters")?, "meters by name")? {
            let called = format!("the meter `{}`", entry.key);
            let keys = ["inputs", "scale", "states"];
            let Some(map) = self.map(&entry.value, &called, &keys, 1) else {
                continue;
            };
            let scale = map.get("scale").and_then(|node| self.number(node, "a factor"));
            let states = [("extremes", false), ("moments", true)];
            let each_moment = map.get("states").and_then(|node| self.word(node, &states));
            let Some(list) = map.get("inputs") else {
                continue;
            };
            let items = self.items(list, "inputs in order");
            if items.len() < INPUTS_MIN {
                let message = format!("{called} has fewer than {INPUTS_MIN} inputs");
                self.diagnostics
                    .error("few-inputs", &list.place, message)
                    .hint("a polygon needs at least three");
            }
            let each_moment = each_moment.unwrap_or(false);
            let inputs: Vec<Input> =
                items.iter().filter_map(|item| self.input(item, &meters, each_moment)).collect();
            meters.push(Meter {
                name: entry.key.clone(),
                scale: scale.unwrap_or(1.0),
                each_moment,
                inputs,
            });
        }
        Some(Meters { reference: reference.map(str::to_owned), window_s, hosts, meters })
    }

    /// The hosts of each run's system.
    fn hosts_of_runs(&mut self, node: &Node) -> Vec<(String, Vec<String>)> {
        let mut hosts = Vec::new();
        for entry in self.entries(node, "hosts by run").unwrap_or_default() {
            let items = self.items(&entry.value, "names of hosts").iter();
            let names = items.filter_map(|item| Some(self.text(item, "a host")?.to_owned()));
            hosts.push((entry.key.clone(), names.collect()));
        }
        hosts
    }

    fn input(&mut self, node: &Node, before: &[Meter], each_moment: bool) -> Option<Input> {
        let keys = [
            "name", "figure", "worst", "best", "probe", "per", "weigh", "value", "meter", "cost",
            "unit", "scale", "invert", "better", "weight",
        ];
        let map = self.map(node, "an input", &keys, 0)?;
        let source = self.source_key(&map)?;
        let at = map.get(source)?;
        if each_moment && source != "probe" {
            self.diagnostics
                .error("bad-input", &at.place, "`states: moments` allows only probes")
                .hint("remove `states: moments`, or give a `probe`");
        }
        let from = self.from(source, &map, before)?;
        let unit = self.text_of(&map, "unit");
        let own_name = self.text_of(&map, "name");
        let shown = own_name.unwrap_or_else(|| at.text().unwrap_or(source).to_owned());
        let flags = [("true", true), ("false", false)];
        let better = [("higher", false), ("lower", true)];
        let weight = map.get("weight").map(|node| (node, self.number(node, "a weight")));
        if let Some((node, Some(_))) = weight.filter(|(_, weight)| weight.is_some_and(|w| w < 0.0))
        {
            let message = "a weight is 0 or more";
            self.diagnostics.error("bad-number", &node.place, message);
        }
        let invert = map.get("invert").and_then(|node| self.word(node, &flags)).unwrap_or(false);
        let lower = map.get("better").and_then(|node| self.word(node, &better));
        let scale = map.get("scale").and_then(|node| self.number(node, "a factor"));
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

    /// The one key that names the input's source.
    fn source_key(&mut self, map: &Map<'_>) -> Option<&'static str> {
        let sources = ["figure", "probe", "value", "meter", "cost"];
        let mut given = sources.into_iter().filter(|key| map.get(key).is_some());
        let source = given.next();
        let another = given.next();
        if source.is_none() || another.is_some() {
            self.diagnostics
                .error("bad-input", map.place, "an input needs exactly one source")
                .hint("give one of `figure`, `probe`, `value`, `meter` and `cost`");
            return None;
        }
        source
    }

    fn text_of(&mut self, map: &Map<'_>, key: &str) -> Option<String> {
        self.text(map.get(key)?, "a word").map(str::to_owned)
    }

    fn from(&mut self, source: &str, map: &Map<'_>, before: &[Meter]) -> Option<From> {
        let at = map.get(source)?;
        Some(match source {
            "figure" => From::Figure {
                mean: self.text(at, "a figure like mean(request)")?.to_owned(),
                worst: self.text_of(map, "worst"),
                best: self.text_of(map, "best"),
            },
            "probe" => From::Probe {
                metrics: self.metrics(at)?,
                per: self.text_of(map, "per"),
                weigh: match map.get("weigh") {
                    Some(node) => self.weights(node)?,
                    None => Vec::new(),
                },
            },
            "value" => From::Value(match at.mapping() {
                Some(_) => self.numbers(at, "values by run")?,
                None => vec![(String::new(), self.number(at, "a number")?)],
            }),
            "meter" => From::Meter(self.meter_before(at, before)?),
            _ => self.word(at, &[("hours-per-dollar", ())]).map(|()| From::HoursPerMoney)?,
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

    /// Weights by role, or those of runs by their names.
    fn weights(&mut self, node: &Node) -> Option<Vec<SourceWeights>> {
        let entries = self.entries(node, "weights by role, or those of each run")?;
        let (of_runs, of_all): (Vec<_>, Vec<_>) =
            entries.iter().partition(|entry| entry.value.mapping().is_some());
        let mut found = Vec::new();
        for entry in of_runs {
            let weights = self.numbers(&entry.value, "weights by role")?;
            found.push(SourceWeights { run: Some(entry.key.clone()), weights });
        }
        let mut weights = Vec::new();
        for entry in of_all {
            weights.push((entry.key.clone(), self.number(&entry.value, "a number")?));
        }
        if !weights.is_empty() {
            found.push(SourceWeights { run: None, weights });
        }
        Some(found)
    }

    fn meter_before(&mut self, node: &Node, before: &[Meter]) -> Option<String> {
        let name = self.text(node, "the name of a meter")?;
        let known = before.iter().map(|meter| meter.name.as_str());
        if !known.clone().any(|known| known == name) {
            let hint = suggest::hint(name, "the meters before it are", known.collect::<Vec<_>>());
            let message = format!("there is no meter `{name}` before this one");
            self.diagnostics.error("unknown-meter", &node.place, message).hint_some(hint);
            return None;
        }
        Some(name.to_owned())
    }
}

#[cfg(test)]
mod tests;
