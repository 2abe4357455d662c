//! A script of k6, and the instruction that runs one of its functions.

use std::sync::Arc;

use serde::Serialize;

use crate::expr::Expr;
use crate::ids::{MeasureId, MetricId, Pc, Slot};

/// A script of k6 with everything that it reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct K6Script {
    /// The script and what it imports or opens, by paths relative to the scenario; the script is the first.
    pub files: Vec<K6File>,
    /// `__ENV`.
    pub env: Vec<(String, String)>,
    /// The options that hold for the run, as JSON.
    pub options: String,
    /// The numbers that it records.
    pub metrics: Vec<K6Metric>,
    /// CPU time between two waits.
    pub time_max_ns: u64,
    /// Memory of a user's context.
    pub memory_bytes_max: usize,
}

/// A file of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct K6File {
    /// Its path, relative to the script's folder.
    pub name: String,
    pub bytes: Arc<[u8]>,
}

impl K6File {
    /// Whether it is one of the script's modules, by its name.
    pub fn is_module(&self) -> bool {
        [".js", ".mjs"].iter().any(|end| self.name.ends_with(end))
    }
}

/// A metric of a script, or the part of one that has some tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct K6Metric {
    /// As scripts name it.
    pub base: String,
    /// The tags that its samples have; empty: all of them.
    pub tags: Vec<(String, String)>,
    pub id: MetricId,
}

/// Running a function of the script: it is begun, and continued whenever what it waits for is there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct K6Op {
    /// Its name among the script's exports.
    pub function: String,
    /// The scenario of the script's options whose iteration it is; empty: it is none.
    pub scenario: String,
    /// What `setup` returned, as JSON.
    pub data: Option<Expr>,
    /// The variable for what it returns, as JSON.
    pub result: Option<Slot>,
    /// Where requests are made, by the patterns of their names; the last takes all others.
    pub requests: Vec<(K6Name, Pc)>,
    /// Where it is run beside its tasks: an [`Op::Parallel`](crate::Op::Parallel) of one branch, to which its tasks are
    /// added; `None`: it begins none.
    pub tasks: Option<Pc>,
    /// The instruction behind the requests.
    pub end: Pc,
    /// Where checks are counted, by their names.
    pub checks: Vec<(String, MeasureId)>,
    /// All other checks.
    pub other_checks: MeasureId,
    /// Whether its samples count.
    pub records: bool,
    /// How many users of the scenario are made before the run begins.
    pub users_ready: u64,
    /// Most users of the scenario, where these come at a rate; `None`: as many as there are.
    pub users_max: Option<u64>,
}

/// What a branch of the user does next: the function in the first one, a task of it in all others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct K6Next {
    /// The [`Op::K6`](crate::Op::K6) whose branch it is.
    pub script: Pc,
    /// As [`K6Op::requests`].
    pub requests: Vec<(K6Name, Pc)>,
    /// Where its WebSocket is opened, and closed; `None`: the script has none.
    pub socket: Option<K6Socket>,
    /// The branch's [`Op::BranchEnd`](crate::Op::BranchEnd).
    pub end: Pc,
}

/// The instructions of a script's WebSockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct K6Socket {
    /// An [`Op::WsOpen`](crate::Op::WsOpen).
    pub open: Pc,
    /// An [`Op::Close`](crate::Op::Close).
    pub close: Pc,
}

/// A name in which parts vary: what stands between them, in order. One part alone never varies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct K6Name {
    pub parts: Vec<String>,
}

impl K6Name {
    /// Whether a name is one of these.
    pub fn matches(&self, name: &str) -> bool {
        let [first, inner @ .., last] = &self.parts[..] else {
            return self.parts.first().is_some_and(|whole| whole == name);
        };
        let Some(mut rest) = name.strip_prefix(first.as_str()) else {
            return false;
        };
        for part in inner {
            let Some(at) = rest.find(part.as_str()) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

/// Where the request of this name is made.
fn request_at(requests: &[(K6Name, Pc)], name: &str) -> Option<Pc> {
    let found = requests.iter().find(|(pattern, _)| pattern.matches(name));
    found.or(requests.last()).map(|(_, pc)| *pc)
}

impl K6Next {
    /// Where the request of this name is made.
    pub fn request_at(&self, name: &str) -> Option<Pc> {
        request_at(&self.requests, name)
    }
}

impl K6Op {
    /// Where the request of this name is made.
    pub fn request_at(&self, name: &str) -> Option<Pc> {
        request_at(&self.requests, name)
    }

    /// Where the check of this name is counted.
    pub fn check_at(&self, name: &str) -> MeasureId {
        let mut named = self.checks.iter();
        let found = named.find(|(known, _)| known == name);
        found.map_or(self.other_checks, |(_, measure)| *measure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_name_stand_in_order() {
        let name = |parts: &[&str]| K6Name { parts: parts.iter().map(|&p| p.into()).collect() };
        let item = name(&["", "/items/", "/parts"]);
        assert!(item.matches("https://a.test/items/7/parts"));
        assert!(!item.matches("https://a.test/items/7"));
        assert!(!item.matches("/parts/items/"));
        assert!(name(&["/a"]).matches("/a"));
        assert!(!name(&["/a"]).matches("/a/b"));
        assert!(!name(&["ab", "bc"]).matches("abc"));
    }
}
