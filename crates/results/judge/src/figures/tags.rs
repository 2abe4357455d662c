//! Groups and tags, and the requests that have them.
//!
//! Tags are known before a run, so a tag is a set of measures, and its figures are those of their histograms
//! added up.

use plan::{GROUP, all_tags, has_tag};

use super::Figures;

/// A tag, and the requests that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) key: String,
    pub(crate) value: String,
    /// Ascending.
    pub(crate) measures: Vec<usize>,
}

impl Figures {
    /// All tags: groups first, then by key; those of one key as the scenario has them.
    pub(crate) fn all_tags(&self) -> Vec<Tag> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        let requests = self.requests();
        for pair in requests.clone().flat_map(|m| all_tags(&self.info.measures[m].tags)) {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        pairs.sort_by_key(|(key, _)| (*key != GROUP, *key));
        let tags = pairs.into_iter().map(|(key, value)| {
            let has_it = |m: &usize| has_tag(&self.info.measures[*m].tags, key, value);
            Tag {
                key: key.to_owned(),
                value: value.to_owned(),
                measures: requests.clone().filter(has_it).collect(),
            }
        });
        tags.collect()
    }
}
