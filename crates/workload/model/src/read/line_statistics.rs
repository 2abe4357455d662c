//! Statistics of lines: which options matched, and which parts are missing.

use std::collections::BTreeSet;

use crate::entry::Entry;
use crate::robots::RobotCounts;
use crate::settings::Settings;

/// Which options matched lines, and which parts lines lack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LineStatistics {
    /// Lines that brought names of their own, where names were given for fields.
    pub(crate) named: u64,
    /// How many of them had each of those.
    pub(crate) fields: Vec<u64>,
    /// Names of the first lines, where names were given.
    pub(crate) names: BTreeSet<String>,
    /// How many requests each rule for classes matched.
    pub(crate) rules: Vec<u64>,
    /// Which of the parts that leave lines out matched.
    pub(crate) without: Vec<bool>,
    /// Whether any request has a segment.
    pub(crate) segmented: bool,
    /// Requests without a method.
    pub(crate) no_method: u64,
    /// Requests without a status.
    pub(crate) no_status: u64,
    /// Requests without an agent.
    pub(crate) no_agent: u64,
    /// Times without a zone.
    pub(crate) no_zone: u64,
    /// Requests of robots.
    pub(crate) robots: RobotCounts,
}

impl LineStatistics {
    pub(super) fn new(settings: &Settings) -> LineStatistics {
        LineStatistics {
            fields: vec![0; settings.fields.len()],
            rules: vec![0; settings.rules.len()],
            without: vec![false; settings.without.len()],
            ..LineStatistics::default()
        }
    }

    /// A line that brought names of its own, good or bad; what it has of those that were given.
    pub(super) fn names(&mut self, given: &[(String, String)], has: impl Fn(&str) -> bool) {
        self.named += 1;
        for ((_, name), count) in given.iter().zip(&mut self.fields) {
            *count += u64::from(has(name));
        }
    }

    /// A line that became a request.
    pub(super) fn request(&mut self, entry: &Entry<'_>) {
        self.no_method += u64::from(entry.method.is_empty());
        self.no_status += u64::from(entry.status == 0);
        self.no_agent += u64::from(entry.agent.is_empty());
        self.robots.request(&entry.agent);
    }

    pub(super) fn merge(&mut self, other: LineStatistics) {
        let add = |own: &mut Vec<u64>, other: Vec<u64>| {
            own.resize(other.len().max(own.len()), 0);
            for (own, other) in own.iter_mut().zip(other) {
                *own += other;
            }
        };
        add(&mut self.fields, other.fields);
        add(&mut self.rules, other.rules);
        self.without.resize(other.without.len().max(self.without.len()), false);
        for (own, other) in self.without.iter_mut().zip(other.without) {
            *own |= other;
        }
        self.names.extend(other.names);
        self.named += other.named;
        self.segmented |= other.segmented;
        self.no_method += other.no_method;
        self.no_status += other.no_status;
        self.no_agent += other.no_agent;
        self.no_zone += other.no_zone;
        self.robots.merge(other.robots);
    }
}
