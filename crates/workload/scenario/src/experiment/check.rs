//! An experiment's tree, checked.

use std::collections::HashMap;

use crate::keys::{COMPARE, DESIGNS, EXPERIMENT, FACTOR, RESPONSE};
use units::parse::{self, UnitError};

use super::{
    CONFIDENCE, Compare, Design, Experiment, FACTORS_MAX, Factor, LEVELS_MAX, Level,
    PublishedResponse, REPETITIONS_MAX, RUN_VARIABLE, RUNS_MAX, Response,
};
use crate::check::{Checker, Fields, stem};
use crate::document::node::{Entry, Node, Place};

/// Longest name of a factor, in bytes.
const NAME_MAX: usize = 100;

impl Checker<'_> {
    /// The experiment; sound where no error was reported.
    pub(super) fn experiment(&mut self, root: &Node, source_name: &str) -> Option<Experiment> {
        if root.is_null() {
            self.diagnostics
                .error("empty", &root.place, "the experiment is empty")
                .hint("it needs `scenario`, `factors` and `responses`");
            return None;
        }
        let scenario = "this is a scenario, not an experiment";
        let hint = "run it with `throng run FILE`";
        if self.is_another_file(root, "sessions", "factors", scenario, hint) {
            return None;
        }
        let fields = self.fields(root, &EXPERIMENT, "the experiment")?;
        let name = fields.get("name").and_then(|node| self.word(node, "a name"));
        let scenario = fields.get("scenario");
        let scenario = scenario.and_then(|node| self.word(node, "a scenario's file"));
        let sets = self.sets(fields.get("set"));
        // Looked at whether it is run in full or not.
        self.sets(fields.get("full"));
        let factors = fields.get("factors").map_or_else(Vec::new, |node| self.factors(node, &sets));
        let design = self.design(&fields, &factors);
        let responses = fields.get("responses").map_or_else(Vec::new, |node| {
            self.responses(node, &factors, combinations(&design, &factors))
        });
        let found = Experiment {
            name: name.map_or_else(|| stem(source_name).to_owned(), |word| word.text),
            scenario: scenario?.text,
            sets: sets.into_iter().map(|(key, value, _)| (key, value)).collect(),
            design,
            factors,
            responses,
            repetitions: self.counted(&fields, "repetitions", 1..=REPETITIONS_MAX) as u32,
            seed: self.counted(&fields, "seed", 0..=u64::MAX),
            warm_up: self.counted(&fields, "warm_up", 0..=REPETITIONS_MAX) as u32,
            pause_ns: self.option_ns_or_none(&fields, "pause"),
            before: self.text(&fields, "before"),
            after: self.text(&fields, "after"),
            keeps_untrusted: self.option_choice(&EXPERIMENT, &fields, "untrusted") == 1,
            confidence: self.confidence(&fields),
            time_max_ns: self.option_ns(&fields, "time_max"),
            compare: fields.get("compare").and_then(|node| self.compare(node)),
        };
        self.runs(&found, &root.place);
        self.variables(&found);
        Some(found)
    }

    fn sets(&mut self, node: Option<&Node>) -> Vec<(String, String, Place)> {
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return Vec::new();
        };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of places and values");
            return Vec::new();
        };
        let pairs = entries.iter().filter_map(|entry| {
            let value = self.value(&entry.value)?;
            Some((entry.key.clone(), value, entry.key_place.clone()))
        });
        pairs.collect()
    }

    fn factors(&mut self, node: &Node, sets: &[(String, String, Place)]) -> Vec<Factor> {
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of factors and their levels");
            return Vec::new();
        };
        if entries.is_empty() {
            self.diagnostics
                .error("no-factors", &node.place, "there is no factor")
                .hint("say what changes between runs, like `factors: { rate: [20/s, 40/s] }`");
        }
        if entries.len() > FACTORS_MAX {
            let message =
                format!("{} factors; an experiment has at most {FACTORS_MAX}", entries.len());
            self.diagnostics
                .error("too-many-factors", &node.place, message)
                .hint("leave out those that matter least, or try them in another experiment");
            return Vec::new();
        }
        let mut taken: HashMap<String, &str> =
            sets.iter().map(|(key, _, _)| (key.clone(), "`set`")).collect();
        let mut factors = Vec::new();
        for entry in entries {
            let Some(factor) = self.factor(entry) else {
                continue;
            };
            let sets = factor.levels.iter().flat_map(|level| &level.sets);
            let mut places: Vec<&String> = sets.map(|(place, _)| place).collect();
            places.sort_unstable();
            places.dedup();
            for place in places {
                if let Some(by) = taken.insert(place.clone(), "another factor") {
                    let message = format!("`{place}` is also changed by {by}");
                    self.diagnostics
                        .error("same-place", &entry.key_place, message)
                        .hint("change each path with one factor, or one value in `set`");
                }
            }
            factors.push(factor);
        }
        factors
    }

    fn factor(&mut self, entry: &Entry) -> Option<Factor> {
        if entry.key.is_empty()
            || entry.key.len() > NAME_MAX
            || entry.key.chars().any(char::is_control)
        {
            self.diagnostics
                .error("bad-name", &entry.key_place, "this cannot be the name of a factor")
                .hint("a name has 1 to 100 characters and no line breaks");
        }
        let (set, levels) = if entry.value.mapping().is_some() {
            let fields = self.fields(&entry.value, &FACTOR, "the factor")?;
            let levels = fields.get("levels")?;
            if let (Some(_), Some(set)) = (levels.mapping(), fields.get("set")) {
                self.diagnostics
                    .error("bad-levels", &set.place, "the variants define what they set")
                    .hint("leave out `set`, or write the levels as a list");
            }
            let set = fields.get("set");
            let set = set.and_then(|node| self.word(node, "a place"));
            (set.map(|word| word.text), levels)
        } else {
            (None, &entry.value)
        };
        let set = set.unwrap_or_else(|| entry.key.clone());
        Some(Factor {
            name: entry.key.clone(),
            levels: self.levels(levels, &entry.key, &set),
            place: entry.key_place.span.clone(),
        })
    }

    /// Levels are values of one place, or variants: names with what each sets.
    fn levels(&mut self, node: &Node, factor: &str, set: &str) -> Vec<Level> {
        let found: Vec<(Place, Option<Level>)> = match (node.sequence(), node.mapping()) {
            (Some(items), _) => items
                .iter()
                .take(LEVELS_MAX + 1)
                .map(|item| (item.place.clone(), self.level(item, set)))
                .collect(),
            (None, Some(entries)) => entries
                .iter()
                .take(LEVELS_MAX + 1)
                .map(|entry| (entry.key_place.clone(), Some(self.variant(entry))))
                .collect(),
            (None, None) => {
                self.expected(node, "a list of levels, or names with what each sets");
                return Vec::new();
            }
        };
        if found.len() < 2 || found.len() > LEVELS_MAX {
            let message = match found.len() {
                0 => format!("`{factor}` has no level"),
                1 => format!("`{factor}` has only one level"),
                _ => format!("`{factor}` has more than {LEVELS_MAX} levels"),
            };
            self.diagnostics.error("bad-levels", &node.place, message).hint(
                "a factor needs levels to compare; put what is the same in all runs into `set`",
            );
        }
        let mut levels: Vec<Level> = Vec::new();
        for (place, level) in found {
            let Some(level) = level else {
                continue;
            };
            if levels.iter().any(|other| other.sets == level.sets) {
                let message = format!("the level `{}` is given twice", level.text);
                self.diagnostics
                    .error("duplicate-level", &place, message)
                    .hint("use `repetitions` to repeat runs");
            }
            levels.push(level);
        }
        levels
    }

    fn level(&mut self, node: &Node, set: &str) -> Option<Level> {
        let value = self.value(node)?;
        Some(Level {
            text: node.scalar().map_or_else(String::new, |s| s.text.clone()),
            sets: vec![(set.to_owned(), value)],
            place: node.place.span.clone(),
        })
    }

    fn variant(&mut self, entry: &Entry) -> Level {
        let sets = self.sets(Some(&entry.value));
        Level {
            text: entry.key.clone(),
            sets: sets.into_iter().map(|(key, value, _)| (key, value)).collect(),
            place: entry.key_place.span.clone(),
        }
    }

    /// A value as an override has it. What stands in `${…}` is the scenario's to fill in.
    fn value(&mut self, node: &Node) -> Option<String> {
        let Some(scalar) = node.scalar().filter(|_| !node.is_null()) else {
            self.expected(node, "a single value");
            self.diagnostics
                .last_hint("use a parameter of the scenario for longer values".to_owned());
            return None;
        };
        Some(if scalar.quoted {
            serde_json::Value::from(scalar.text.as_str()).to_string()
        } else {
            scalar.text.clone()
        })
    }

    fn design(&mut self, fields: &Fields<'_>, factors: &[Factor]) -> Design {
        let design = DESIGNS[self.option_choice(&EXPERIMENT, fields, "design")];
        let place = fields.key_place("design").unwrap_or(fields.place()).clone();
        let generators = fields.get("generators");
        if design.starts_with("2^") {
            self.two_levels(design, factors);
        }
        if let (Some(node), false) = (generators, design == "2^(k-r)") {
            self.diagnostics
                .error("bad-design", &node.place, "only a fraction has generators")
                .hint("write `design: 2^(k-r)`");
        }
        match (design, generators) {
            ("2^k", _) => Design::TwoLevel,
            ("2^(k-r)", Some(node)) => Design::Fraction(self.generators(node, factors)),
            ("2^(k-r)", None) => {
                self.diagnostics
                    .error("bad-design", &place, "the fraction of the design is not defined")
                    .hint("write it like `generators: [D=ABC]`");
                Design::TwoLevel
            }
            ("sweep", _) => {
                if factors.len() > 1 {
                    let message =
                        format!("a sweep has one factor, but there are {}", factors.len());
                    self.diagnostics
                        .error("bad-design", &place, message)
                        .hint("write `design: full`");
                }
                Design::Sweep
            }
            _ => Design::Full,
        }
    }

    fn two_levels(&mut self, design: &str, factors: &[Factor]) {
        for factor in factors.iter().filter(|factor| factor.levels.len() > 2) {
            let count = factor.levels.len();
            let message = format!("`{}` has {count} levels, but `{design}` needs two", factor.name);
            self.diagnostics
                .error("bad-levels", &Place::at(factor.place.clone()), message)
                .hint("keep the lowest and the highest, or write `design: full`");
        }
    }

    fn responses(&mut self, node: &Node, factors: &[Factor], cells: usize) -> Vec<Response> {
        let items = self.one_or_more(node);
        if items.is_empty() {
            self.diagnostics
                .error("no-response", &node.place, "there is no response")
                .hint("list figures as in thresholds, such as `p99(request)`");
        }
        let mut found: Vec<Response> = Vec::new();
        for item in items {
            let Some(response) = self.response(item, factors, cells) else {
                continue;
            };
            if found.iter().any(|other| other.figure == response.figure) {
                let message = format!("`{}` is given twice", response.figure);
                self.diagnostics.error("duplicate-response", &item.place, message);
            }
            found.push(response);
        }
        found
    }

    fn response(&mut self, node: &Node, factors: &[Factor], cells: usize) -> Option<Response> {
        if node.mapping().is_none() {
            let word = self.word(node, "a figure, such as `p99(request)`")?;
            return Some(Response {
                figure: word.text,
                multiplicative: false,
                published: PublishedResponse::default(),
                place: word.place.span,
            });
        }
        let fields = self.fields(node, &RESPONSE, "the response")?;
        let word = self.word(fields.get("figure")?, "a figure")?;
        Some(Response {
            figure: word.text,
            multiplicative: self.option_choice(&RESPONSE, &fields, "model") == 1,
            published: match fields.get("published") {
                Some(node) => self.published(node, factors, cells),
                None => PublishedResponse::default(),
            },
            place: word.place.span,
        })
    }

    fn compare(&mut self, node: &Node) -> Option<Compare> {
        let fields = self.fields(node, &COMPARE, "`compare`")?;
        let measures = fields.get("measures");
        let words = measures.map_or_else(Vec::new, |node| self.one_or_more(node).to_vec());
        if let (Some(node), true) = (measures, words.is_empty()) {
            self.diagnostics
                .error("no-measures", &node.place, "there is no measure")
                .hint("name the measures to compare, or remove `compare`");
        }
        let words = words.iter().filter_map(|node| {
            let word = self.word(node, "the name of a measure")?;
            Some((word.text, word.place.span))
        });
        Some(Compare {
            measures: words.collect(),
            bin_ns: self.option_ns(&fields, "bin"),
            skip_ns: match fields.get("skip") {
                Some(_) => self.option_ns_or_none(&fields, "skip"),
                None => 0,
            },
        })
    }

    fn counted(
        &mut self,
        fields: &Fields<'_>,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> u64 {
        let least = *range.start();
        let node = fields.get_or_default(key);
        node.and_then(|node| self.count_within(&node, range)).unwrap_or(least)
    }

    fn text(&mut self, fields: &Fields<'_>, key: &str) -> Option<String> {
        let word = self.word(fields.get(key)?, "a command")?;
        Some(word.text)
    }

    /// A duration that may be 0.
    fn option_ns_or_none(&mut self, fields: &Fields<'_>, key: &str) -> u64 {
        match fields.get(key).and_then(Node::text) {
            Some("0" | "0s") => 0,
            _ => self.option_ns(fields, key),
        }
    }

    fn confidence(&mut self, fields: &Fields<'_>) -> f64 {
        let code = "bad-share";
        let what = "a percentage";
        let node = fields.get_or_default("confidence");
        let found = node.and_then(|node| {
            self.unit(&node, code, what, |text| match parse::share(text) {
                Ok(share) if CONFIDENCE.contains(&share) => Ok(share),
                Ok(_) => Err(UnitError {
                    message: format!("`{text}` is out of range"),
                    hint: "write 50% to 99.99%".to_owned(),
                }),
                Err(error) => Err(match parse::number(text) {
                    // Of 1, as others write it.
                    Ok(share) if CONFIDENCE.contains(&share) => UnitError {
                        hint: format!("write {}%", (1e6 * share).round() / 1e4),
                        ..error
                    },
                    _ => error,
                }),
            })
        });
        found.unwrap_or(*CONFIDENCE.start())
    }

    /// Commands find each factor's level, and the run's number, under a name of its own.
    fn variables(&mut self, experiment: &Experiment) {
        if experiment.before.is_none() && experiment.after.is_none() {
            return;
        }
        let number = (RUN_VARIABLE.to_owned(), "the run's number".to_owned());
        let mut taken = HashMap::from([number]);
        for factor in &experiment.factors {
            let variable = factor.variable();
            if let Some(by) = taken.get(&variable) {
                let message = format!(
                    "`before` and `after` would find `{}` as {variable}, which is {by}",
                    factor.name
                );
                let place = Place::at(factor.place.clone());
                self.diagnostics
                    .error("same-variable", &place, message)
                    .hint("give the factor another name, and its path with `set`");
            }
            taken.insert(variable, format!("the level of `{}`", factor.name));
        }
    }

    /// The number of runs must be bounded before combinations are listed.
    fn runs(&mut self, experiment: &Experiment, place: &Place) {
        let cells = combinations(&experiment.design, &experiment.factors);
        let runs = cells.saturating_mul(experiment.repetitions as usize);
        if runs > RUNS_MAX {
            let message =
                format!("{cells} combinations, {runs} runs; an experiment has at most {RUNS_MAX}");
            self.diagnostics
                .error("too-many-runs", place, message)
                .hint("use two levels each, a fraction (`2^(k-r)`) or fewer repetitions");
        }
    }
}

/// How many combinations of levels a design has, without listing them.
fn combinations(design: &Design, factors: &[Factor]) -> usize {
    let free = match design {
        Design::Fraction(generators) => factors.len() - generators.len().min(factors.len()),
        Design::Full | Design::TwoLevel | Design::Sweep => factors.len(),
    };
    let levels = factors.iter().take(free).map(|factor| factor.levels.len());
    levels.fold(1, usize::saturating_mul)
}
