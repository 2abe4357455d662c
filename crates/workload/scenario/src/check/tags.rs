//! Tags of sessions, groups and steps, and how measures of one name with several tags are called.

use std::collections::BTreeMap;

use plan::{GROUP, GROUP_SEPARATOR, Measure, POPULATION, REGION, Tags, difference};

use super::Checker;
use super::mistaken;
use crate::document::node::{Entry, Node, Place};

/// Tags of a step, those of its session and groups included.
const TAGS_MAX: usize = 8;
/// Bytes of a key.
const KEY_BYTES_MAX: usize = 32;
/// Bytes of a value, and of the name of a group.
const VALUE_BYTES_MAX: usize = 64;
/// Different tags in a scenario: as many totals a result has at most.
const TOTALS_MAX: usize = 200;

/// Keys that exports use for something else.
const RESERVED: [&str; 6] = ["run", "scenario", "phase", "measure", "quantile", "le"];

/// Characters that have a meaning in thresholds.
const NOT_IN_VALUES: &str = "\"`=<>!(),";

impl Checker<'_> {
    /// Adds tags to those of the steps that follow; returns those that were there before.
    pub(super) fn enter_tags(&mut self, node: Option<&Node>) -> Tags {
        let before = self.tags.clone();
        let Some(node) = node.filter(|node| !node.is_null()) else {
            return before;
        };
        let Some(entries) = node.mapping() else {
            self.expected(node, "a mapping of tags (`area: checkout`)");
            return before;
        };
        for entry in entries {
            self.tag(entry);
        }
        let count = self.tags.len();
        if count > TAGS_MAX {
            let message = format!("{count} tags are too many: a step has at most {TAGS_MAX}");
            self.diagnostics.error("bad-tag", &node.place, message);
        }
        self.count_totals(&node.place);
        before
    }

    fn tag(&mut self, entry: &Entry) {
        let Entry { key, key_place, value } = entry;
        let sound = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if key == GROUP {
            self.diagnostics
                .error("bad-tag", key_place, "groups set the tag `group`")
                .hint("write a step `group: NAME` with `steps`");
            return;
        }
        if key == REGION && !self.regions.is_empty() {
            self.diagnostics
                .error("bad-tag", key_place, "`regions` set the tag `region`")
                .hint("choose another key");
            return;
        }
        if key == POPULATION && self.has_populations {
            self.diagnostics
                .error("bad-tag", key_place, "`populations` set the tag `population`")
                .hint("choose another key");
            return;
        }
        if RESERVED.contains(&key.as_str()) {
            let message = format!("exports have a label `{key}` of their own");
            self.diagnostics.error("bad-tag", key_place, message).hint("choose another key");
            return;
        }
        if !key.starts_with(|c: char| c.is_ascii_alphabetic())
            || !key.chars().all(sound)
            || key.len() > KEY_BYTES_MAX
        {
            let message = format!("`{key}` cannot be the key of a tag");
            let hint = format!(
                "a key starts with a letter and has up to {KEY_BYTES_MAX} letters, digits and _"
            );
            self.diagnostics.error("bad-tag", key_place, message).hint(hint);
            return;
        }
        let Some(word) = self.word(value, "a word or text") else {
            return;
        };
        if self.is_tag_value(&word.text, "the value of a tag", &word.place) {
            self.tags.insert(key.clone(), word.text);
        }
    }

    /// Whether a text can be the value of a tag, or the name of a group; reports it if not.
    pub(super) fn is_tag_value(&mut self, text: &str, what: &str, place: &Place) -> bool {
        let bad = |c: char| c.is_control() || NOT_IN_VALUES.contains(c);
        let sound = !text.is_empty()
            && text.len() <= VALUE_BYTES_MAX
            && text.trim() == text
            && !text.contains(bad);
        if !sound {
            let hint = format!(
                "it has 1 to {VALUE_BYTES_MAX} characters and none of {}",
                NOT_IN_VALUES.replace('`', "")
            );
            self.diagnostics.error("bad-tag", place, format!("this cannot be {what}")).hint(hint);
        }
        sound
    }

    /// Enters a group: the steps that follow belong to it. Returns its name, behind those of the groups around it.
    pub(super) fn enter_group(&mut self, name: &str, place: &Place) -> String {
        if name.contains(GROUP_SEPARATOR) {
            self.diagnostics
                .error("bad-tag", place, "the name of a group has no `/`")
                .hint("a group in a group is called `outer/inner`");
        } else {
            self.is_tag_value(name, "the name of a group", place);
        }
        let path = match self.tags.get(GROUP) {
            Some(outer) => format!("{outer}{GROUP_SEPARATOR}{name}"),
            None => name.to_owned(),
        };
        self.tags.insert(GROUP.to_owned(), path.clone());
        self.count_totals(place);
        path
    }

    /// Bounds the number of totals that results have.
    pub(super) fn count_totals(&mut self, place: &Place) {
        let before = self.totals.len();
        self.totals.extend(self.tags.clone());
        if before <= TOTALS_MAX && self.totals.len() > TOTALS_MAX {
            let message = format!("a scenario has at most {TOTALS_MAX} different tags");
            self.diagnostics
                .error("bad-tag", place, message)
                .hint("tags divide figures into few parts; use `as` for names of single steps");
        }
    }

    /// Gives measures of one name, whose tags differ, names of their own.
    pub(super) fn name_measures_by_tags(&mut self) {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, measure) in self.measures.iter().enumerate() {
            named.entry(measure.name.clone()).or_default().push(place);
        }
        for (name, of_name) in named.iter().filter(|(_, of_name)| of_name.len() > 1) {
            let tags = of_name.iter().map(|&m| self.measures[m].tags.clone());
            let tags: Vec<Tags> = tags.collect();
            for (&measure, own) in of_name.iter().zip(&tags) {
                let suffix = difference(own, &tags);
                self.measures[measure].name = format!("{name} ({suffix})");
                self.measures[measure].shared_name = Some(name.clone());
            }
        }
        let measures = self.measures.iter().zip(&self.measure_places);
        let conflicts: Vec<(String, Place)> = measures
            .filter_map(|(one, place)| {
                let pair = one.name.split_once('=');
                let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
                let message = match pair.is_some_and(|pair| self.totals.contains(&pair)) {
                    true => format!("`{}` is a tag and would be a measure, too", one.name),
                    false => conflict(one, &self.measures)?,
                };
                Some((message, place.clone()))
            })
            .collect();
        for (message, place) in conflicts {
            self.diagnostics
                .error("measure-conflict", &place, message)
                .hint("give the step another name with `as`");
        }
    }
}

/// The error about a measure whose name, made from its tags, is that of another.
fn conflict(one: &Measure, all: &[Measure]) -> Option<String> {
    one.shared_name.as_ref()?;
    let others = all.iter().filter(|other| !std::ptr::eq(*other, one));
    others
        .filter_map(|other| match other.name == one.name {
            true => Some(format!("two measures are called `{}`", one.name)),
            false => mistaken(&other.name, &one.name).or_else(|| mistaken(&one.name, &other.name)),
        })
        .next()
}
