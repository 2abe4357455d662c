//! Classes of requests: routes, grouped until few are left.
//!
//! Paths are a tree. From its root the group with the most requests is parted by its next segment, as
//! long as children hold a share worth a class of their own, and what is left over stays together:
//! hierarchical heavy hitters (Cormode, Korn, Muthukrishnan and Srivastava 2003).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::interner::OVERFLOW;
use crate::route::RULE;
use crate::target_sample::TargetSample;

/// The share of all requests that makes a class.
const SHARE_MIN: f64 = 0.01;
/// Bytes of the targets that are kept, of all classes together.
const TARGET_BYTES_MAX: usize = 16 << 20;

/// A class of requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Method and path, `*` for what differs: what it is measured as.
    pub name: String,
    /// The state of the chain: letters, digits and `_`.
    pub state: String,
    /// Requests.
    pub requests: u64,
    /// The class's targets, the most frequent first: those of a sample of the log's lines, and
    /// those of recorded sequences that are not among them.
    pub targets: Vec<Target>,
    /// Statuses in the log, with their counts.
    pub statuses: BTreeMap<u16, u64>,
}

/// A target of a class.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// `GET`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// How often among the lines of the sample.
    pub weight: u64,
}

/// The class of each route, by number.
pub(crate) struct Classes {
    pub(crate) all: Vec<Class>,
    pub(crate) class_of_route: Vec<u16>,
}

/// Routes with the same first segments.
struct Group {
    members: Vec<usize>,
    requests: u64,
    /// Segments that all have in common.
    depth: usize,
    name: String,
    /// The remainder after its greater children were taken out: it is not parted again.
    rest: bool,
}

/// Groups routes into at most `max` classes, besides those of rules and rare methods; each frequent method has at
/// least one.
pub(crate) fn classify(
    routes: &[String],
    requests: &[u64],
    samples: &[TargetSample],
    max: usize,
) -> Classes {
    let total: u64 = requests.iter().sum();
    let least = (total as f64 * SHARE_MIN).ceil() as u64;
    let (mut done, mut open) = roots(routes, requests, least);
    // `done` holds rules too, which do not count.
    let rules = done.len();
    while let Some(place) = greatest(&open) {
        let room = (max + rules).saturating_sub(done.len() + open.len());
        let group = open.swap_remove(place);
        let (closed, parted) = part(group, routes, requests, least, room);
        done.extend(closed);
        open.extend(parted);
    }
    done.retain(|group| group.requests > 0);
    done.sort_by(|a, b| (b.requests, &a.name).cmp(&(a.requests, &b.name)));
    let mut class_of_route = vec![0; routes.len()];
    for (number, group) in done.iter().enumerate() {
        for &member in &group.members {
            class_of_route[member] = number as u16;
        }
    }
    let mut states: Vec<String> = Vec::new();
    for group in &done {
        let state = state(&group.name, &states);
        states.push(state);
    }
    let targets = targets(&class_of_route, done.len(), samples);
    let groups = done.iter().zip(states).zip(targets);
    let all = groups.map(|((group, state), mut targets)| {
        if targets.is_empty() {
            targets.push(made_up(&routes[group.members[0]]));
        }
        Class {
            name: group.name.clone(),
            state,
            requests: group.requests,
            targets,
            statuses: BTreeMap::new(),
        }
    });
    Classes { all: all.collect(), class_of_route }
}

/// Method and segments. Empty segments count: `//a` is another route than `/a`.
fn segments(route: &str) -> (&str, Vec<&str>) {
    let (method, path) = route.split_once(' ').unwrap_or((route, "/"));
    let path = path.strip_prefix('/').unwrap_or(path);
    (method, path.split('/').collect())
}

/// Rules and the overflow as they are; the others by method, rare methods together.
fn roots(routes: &[String], requests: &[u64], least: u64) -> (Vec<Group>, Vec<Group>) {
    let mut rules: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut methods: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, route) in routes.iter().enumerate() {
        match route.strip_prefix(RULE) {
            Some(rule) => rules.entry(rule).or_default().push(number),
            None if route.as_bytes() == OVERFLOW => rules.entry(route).or_default().push(number),
            None => methods.entry(segments(route).0).or_default().push(number),
        }
    }
    let group = |name: String, members: Vec<usize>, rest: bool| Group {
        requests: members.iter().map(|&member| requests[member]).sum(),
        members,
        depth: 0,
        name,
        rest,
    };
    let mut done: Vec<Group> =
        rules.into_iter().map(|(name, members)| group(name.to_owned(), members, true)).collect();
    let mut open = Vec::new();
    let mut rare = Vec::new();
    for (method, members) in methods {
        let one = group(format!("{method} /*"), members, false);
        if one.requests >= least {
            open.push(one);
        } else {
            rare.extend(one.members);
        }
    }
    if !rare.is_empty() {
        done.push(group("(other methods)".to_owned(), rare, true));
    }
    (done, open)
}

fn greatest(open: &[Group]) -> Option<usize> {
    let by_size = |&place: &usize| (open[place].requests, std::cmp::Reverse(&open[place].name));
    (0..open.len()).max_by(|a, b| by_size(a).cmp(&by_size(b)))
}

/// A group parted by its next segment: what is done with, and what may be parted further.
fn part(
    mut group: Group,
    routes: &[String],
    requests: &[u64],
    least: u64,
    room: usize,
) -> (Vec<Group>, Vec<Group>) {
    if let [only] = group.members[..] {
        group.name.clone_from(&routes[only]);
        group.rest = true;
    }
    if group.rest || room == 0 {
        return (vec![group], Vec::new());
    }
    let mut children = children(&group, routes, requests);
    if children.len() == 1 {
        // It is one segment deeper, or at the end of its routes and then not parted again: the walk ends.
        return (Vec::new(), children);
    }
    children.sort_by(|a, b| (b.requests, &a.name).cmp(&(a.requests, &b.name)));
    let worth = children.iter().take_while(|child| child.requests >= least).count();
    // One place more, since the group itself was counted among the open ones and makes room.
    let all = worth == children.len();
    let taken = if all && worth <= room + 1 { worth } else { worth.min(room) };
    let rest: Vec<usize> = children.drain(taken..).flat_map(|child| child.members).collect();
    let mut done = Vec::new();
    if !rest.is_empty() {
        let count = rest.iter().map(|&member| requests[member]).sum();
        let name = match children.is_empty() {
            true => group.name,
            false => format!("{} (others)", group.name),
        };
        done.push(Group { requests: count, members: rest, depth: group.depth, name, rest: true });
    }
    (done, children)
}

/// The parts of a group by its next segment, in the order of their names.
fn children(group: &Group, routes: &[String], requests: &[u64]) -> Vec<Group> {
    let mut children: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for &member in &group.members {
        let segment = segments(&routes[member]).1.get(group.depth).copied();
        children.entry(segment).or_default().push(member);
    }
    let (method, path) = segments(&routes[group.members[0]]);
    let common: String =
        path[..group.depth.min(path.len())].iter().flat_map(|segment| ["/", segment]).collect();
    children
        .into_iter()
        .map(|(segment, members)| Group {
            requests: members.iter().map(|&member| requests[member]).sum(),
            members,
            depth: group.depth + 1,
            name: match segment {
                Some(segment) => format!("{method} {common}/{segment}/*"),
                None => format!("{method} {common}"),
            },
            rest: segment.is_none(),
        })
        .collect()
}

/// The name as one of a state: unlike those that are taken.
fn state(name: &str, taken: &[String]) -> String {
    const CHARS_MAX: usize = 40;
    let mut state = String::new();
    for c in name.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => state.push(c.to_ascii_lowercase()),
            _ if state.ends_with('_') || state.is_empty() => {}
            _ => state.push('_'),
        }
    }
    state.truncate(CHARS_MAX);
    let state = match state.trim_end_matches('_') {
        "" => "requests",
        "exit" => "exit_page",
        // YAML takes this word for no text at all.
        "null" => "null_page",
        other => other,
    };
    let state = match state.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("r_{state}"),
        false => state.to_owned(),
    };
    let numbered = (2..).map(|number| format!("{state}_{number}"));
    std::iter::once(state.clone())
        .chain(numbered)
        .find(|candidate| !taken.contains(candidate))
        .expect("there are more numbers than states")
}

/// The targets of each class among the samples, the most frequent first.
fn targets(class_of_route: &[u16], classes: usize, samples: &[TargetSample]) -> Vec<Vec<Target>> {
    let mut counts: Vec<BTreeMap<(&str, &str), u64>> = vec![BTreeMap::new(); classes];
    let mut bytes = 0;
    for sample in samples {
        // They are in no order that means anything: the first ones are a sample, too.
        bytes += sample.target.len();
        if bytes > TARGET_BYTES_MAX {
            break;
        }
        let class = class_of_route[sample.route as usize];
        *counts[usize::from(class)].entry((&sample.method, &sample.target)).or_default() += 1;
    }
    counts
        .into_iter()
        .map(|counts| {
            let mut targets: Vec<_> = counts.into_iter().collect();
            targets.sort_by(|a, b| (b.1, a.0).cmp(&(a.1, b.0)));
            let target = |((method, target), weight): ((&str, &str), u64)| Target {
                method: method.to_owned(),
                target: target.to_owned(),
                weight,
            };
            targets.into_iter().map(target).collect()
        })
        .collect()
}

/// A target of a route without a sampled line; a rule's is distinct, so that classes can be recognised by their targets.
fn made_up(route: &str) -> Target {
    let name = route.strip_prefix(RULE);
    let is_line = |(method, path): &(&str, &str)| {
        path.starts_with('/') && method.chars().all(|c| c.is_ascii_uppercase())
    };
    let line = name.unwrap_or(route).split_once(' ').filter(is_line);
    let (method, path) = match (line, name) {
        (Some((method, path)), Some(_)) => (method, path.to_owned()),
        (Some((method, path)), None) => {
            let path = path.trim_end_matches('?');
            (method, path.replace("{n}", "1").replace("{id}", "0"))
        }
        (None, Some(name)) => ("GET", format!("/{name}")),
        (None, None) => ("GET", "/".to_owned()),
    };
    Target { method: method.to_owned(), target: encoded(&path), weight: 1 }
}

/// The path with all percent-encoded that is not plain.
fn encoded(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b if b.is_ascii_alphanumeric() || b"-._~/?=&%".contains(&b) => out.push(char::from(b)),
            b => {
                let _ = write!(out, "%{b:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(routes: &[(&str, u64)], max: usize) -> Vec<(String, u64)> {
        let texts: Vec<String> = routes.iter().map(|(route, _)| (*route).to_owned()).collect();
        let requests: Vec<u64> = routes.iter().map(|(_, requests)| *requests).collect();
        let classes = classify(&texts, &requests, &[], max);
        let total: u64 = classes.all.iter().map(|class| class.requests).sum();
        assert_eq!(total, requests.iter().sum::<u64>(), "every request has a class");
        classes.all.into_iter().map(|class| (class.name, class.requests)).collect()
    }

    #[test]
    fn largest_branches_become_classes() {
        let routes = [
            ("GET /", 300),
            ("GET /blog/a", 200),
            ("GET /blog/b", 150),
            ("GET /blog/tags/x", 2),
            ("GET /blog/tags/y", 1),
            ("GET /img/1.png", 5),
            ("GET /img/2.png", 4),
            ("POST /login", 100),
            ("OPTIONS /", 1),
            ("=static", 50),
        ];
        let found = names(&routes, 10);
        let expected = [
            ("GET /", 300),
            ("GET /blog/a", 200),
            ("GET /blog/b", 150),
            ("POST /login", 100),
            ("static", 50),
            ("GET /img/*", 9),
            ("GET /blog/* (others)", 3),
            ("(other methods)", 1),
        ];
        let expected: Vec<_> = expected.iter().map(|(n, c)| ((*n).to_owned(), *c)).collect();
        assert_eq!(found, expected);
        for max in 1..8 {
            assert!(
                names(&routes, max).len() <= max.max(2) + 2,
                "{max}: {:?}",
                names(&routes, max)
            );
        }
    }

    #[test]
    fn empty_segments_make_routes_of_their_own() {
        let found = names(&[("GET /a", 1), ("GET //a", 1)], 10);
        assert_eq!(found, [("GET //a".to_owned(), 1), ("GET /a".to_owned(), 1)]);
        let routes = [
            ("GET /", 9),
            ("GET //", 8),
            ("GET /?", 7),
            ("GET /./", 6),
            ("GET /a", 5),
            ("GET /a/", 4),
            ("GET /a//", 3),
            ("GET //a//b", 2),
            ("GET //a//c", 1),
        ];
        let found = names(&routes, 20);
        let expected = routes.map(|(route, requests)| (route.to_owned(), requests));
        assert_eq!(found, expected);
        let found = names(&routes, 3);
        assert!(found.iter().any(|(name, _)| name.ends_with("(others)")));
    }

    proptest::proptest! {
        /// Any routes, even the same one twice, are grouped in the end, and each has a class.
        #[test]
        fn any_routes_are_grouped(
            paths in proptest::collection::vec(("(GET|POST)? ?[/a.?*]{0,6}", 0..50u64), 1..12),
            max in 0..12usize,
        ) {
            let routes: Vec<(&str, u64)> =
                paths.iter().map(|(path, requests)| (path.as_str(), *requests)).collect();
            names(&routes, max);
        }
    }

    #[test]
    fn classes_without_samples_get_distinct_targets() {
        for (route, method, target) in [
            ("GET /items/{n}?", "GET", "/items/1"),
            ("(others)", "GET", "/"),
            ("=login", "GET", "/login"),
            ("=log in", "GET", "/log%20in"),
            ("=POST /buy/${id}", "POST", "/buy/%24%7Bid%7D"),
            ("=GET the page", "GET", "/GET%20the%20page"),
        ] {
            let made = made_up(route);
            assert_eq!((made.method.as_str(), made.target.as_str()), (method, target), "{route}");
        }
    }

    #[test]
    fn states_have_unique_names() {
        let first = state("GET /a/*", &[]);
        assert_eq!(first, "get_a");
        assert_eq!(state("GET /a?", &[first]), "get_a_2");
        assert_eq!(state("exit", &[]), "exit_page");
        assert_eq!(state("null", &[]), "null_page");
        assert_eq!(state("é", &[]), "requests");
        assert_eq!(state("404 pages", &[]), "r_404_pages");
    }
}
