//! A number of a scenario that decides how large its load is, and that `--set` can change.

use plan::LoadSetting;
use units::parse::leading_number;

use crate::document::diagnostic::Collector;
use crate::document::node::{Node, NodeKind};
use crate::document::{suggest, yaml};
use crate::overrides;

/// Phases whose size is one number, by the key that says it.
const LOADS: &[&str] = &["constant", "poisson", "users"];

/// Why there is no such number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadSettingError {
    /// Nothing stands there.
    #[error("there is no `{path}` in the scenario{hint}")]
    Missing {
        /// As requested.
        path: String,
        /// Advice, with the punctuation before it; or empty.
        hint: String,
    },
    /// Something else stands there.
    #[error("`{path}` is {found}, not a number such as 100 or 100/s")]
    NoNumber {
        /// As requested.
        path: String,
        /// The kind of value found there.
        found: String,
    },
    /// No phase has a size that is one number.
    #[error("no phase has a rate or a number of users that is one number")]
    None,
    /// Several have.
    #[error("several numbers are possible: {}", paths.join(", "))]
    Several {
        /// The paths of the numbers.
        paths: Vec<String>,
    },
    /// The text is no YAML.
    #[error("the scenario cannot be read")]
    Unreadable,
}

/// The number at this path, after the overrides; without a path the one that says how many users come,
/// if there is one only. A phase whose size is a parameter (`${rate}` or `${rate}/s`) is turned by it.
///
/// # Errors
/// If there is no size, or several are possible.
pub fn load_setting(
    text: &str,
    settings: &[(String, String)],
    path: Option<&str>,
) -> Result<LoadSetting, LoadSettingError> {
    let mut diagnostics = Collector::new(text, settings);
    let mut root = yaml::parse(text, &mut diagnostics).ok_or(LoadSettingError::Unreadable)?;
    overrides::apply(&mut root, settings, &mut diagnostics);
    match path {
        Some(path) => at(&root, path),
        None => {
            let mut found = loads(&root);
            match found.len() {
                0 => Err(LoadSettingError::None),
                1 => at(&root, &found.remove(0)),
                _ => Err(LoadSettingError::Several { paths: found }),
            }
        }
    }
}

/// The path of the length of the last phase, if the load at `path` is its size: a longer one is the same load for longer.
/// `None`: another phase has that load, the last one has another size, or there are populations side by side.
pub fn length_path(text: &str, settings: &[(String, String)], path: &str) -> Option<String> {
    let mut diagnostics = Collector::new(text, settings);
    let mut root = yaml::parse(text, &mut diagnostics)?;
    overrides::apply(&mut root, settings, &mut diagnostics);
    // The others would not last longer with it.
    if root.get("populations").is_some() {
        return None;
    }
    let phases = root.get("arrivals").and_then(Node::sequence)?;
    let number = phases.len().checked_sub(1)?;
    let phase = phases.get(number)?;
    phase.get("for")?;
    let is_load = |key: &&str| {
        let text = phase.get(key).and_then(Node::text);
        let text = text.filter(|text| !text.contains(".."));
        text.is_some_and(|text| match parameter(&root, text) {
            Some(parameter) => parameter == path,
            None => format!("arrivals.{number}.{key}") == path,
        })
    };
    LOADS.iter().any(is_load).then(|| format!("arrivals.{number}.for"))
}

/// The phases of a population, which stand at a path.
struct PhaseList<'n> {
    path: String,
    phases: &'n [Node],
}

/// The phases of the scenario's own arrivals, and those of each population.
fn phase_lists(root: &Node) -> Vec<PhaseList<'_>> {
    let populations = root.get("populations").and_then(Node::mapping).unwrap_or_default();
    let named = populations.iter().filter_map(|population| {
        let phases = phases_of(&population.value)?;
        Some(PhaseList { path: format!("populations.{}.arrivals", population.key), phases })
    });
    let own = phases_of(root).map(|phases| PhaseList { path: "arrivals".to_owned(), phases });
    own.into_iter().chain(named).collect()
}

fn phases_of(node: &Node) -> Option<&[Node]> {
    node.get("arrivals").and_then(Node::sequence)
}

/// The paths of the phases' sizes, each once.
fn loads(root: &Node) -> Vec<String> {
    let mut found = Vec::new();
    for PhaseList { path: list, phases } in phase_lists(root) {
        for (number, phase) in phases.iter().enumerate() {
            for key in LOADS {
                let Some(text) = phase.get(key).and_then(Node::text) else {
                    continue;
                };
                let parameter = parameter(root, text);
                // Of a ramp only a parameter is one number.
                if parameter.is_none() && text.contains("..") {
                    continue;
                }
                let path = parameter.unwrap_or(format!("{list}.{number}.{key}"));
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        }
    }
    found
}

/// The parameter that `${name}`, with a unit or without, is made of.
fn parameter(root: &Node, text: &str) -> Option<String> {
    let (name, _) = text.trim().strip_prefix("${")?.split_once('}')?;
    let name = name.trim();
    root.get("params")?.get(name)?;
    Some(name.to_owned())
}

fn at(root: &Node, path: &str) -> Result<LoadSetting, LoadSettingError> {
    let is_param = root.get("params").is_some_and(|params| params.get(path).is_some());
    let keys: Vec<&str> = match is_param {
        true => vec!["params", path],
        false => path.split('.').collect(),
    };
    let mut node = root;
    for (depth, key) in keys.iter().enumerate() {
        node = child(node, key).ok_or_else(|| LoadSettingError::Missing {
            path: path.to_owned(),
            hint: hint(node, key, &keys[..depth]),
        })?;
    }
    let no_number = || LoadSettingError::NoNumber {
        path: path.to_owned(),
        found: match node.text() {
            Some(text) => format!("`{text}`"),
            None => node.described().to_owned(),
        },
    };
    let text = node.text().ok_or_else(no_number)?.trim();
    let (value, unit) = leading_number(text).ok_or_else(no_number)?;
    let unit = unit.trim();
    if value <= 0.0 || unit.contains("..") {
        return Err(no_number());
    }
    Ok(LoadSetting { path: path.to_owned(), value, unit: unit.to_owned() })
}

fn child<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.kind {
        NodeKind::Mapping(_) => node.get(key),
        NodeKind::Sequence(items) => items.get(key.parse::<usize>().ok()?),
        NodeKind::Scalar(_) => None,
    }
}

fn hint(node: &Node, key: &str, way: &[&str]) -> String {
    let place = match way {
        [] => "the scenario".to_owned(),
        _ => format!("`{}`", way.join(".")),
    };
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let known = entries.iter().map(|entry| entry.key.as_str());
            suggest::hint(key, &format!("in {place} there are"), known)
                .map_or(String::new(), |hint| format!("; {hint}"))
        }
        NodeKind::Sequence(items) => {
            format!("; {place} has {} items, numbered from 0", items.len())
        }
        NodeKind::Scalar(_) => format!("; {place} is a single value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "
params: { rate: 120/s, crowd: 40 }
arrivals:
  - { ramp: 1/s..9/s, for: 1s }
  - { constant: 250/s, for: 10s }
  - { hold: 5s }
";

    fn check(text: &str, path: Option<&str>, expected: (&str, f64, &str)) {
        let found = load_setting(text, &[], path).unwrap();
        assert_eq!((found.path.as_str(), found.value, found.unit.as_str()), expected);
    }

    #[test]
    fn the_size_of_the_only_phase_that_has_one_is_meant() {
        check(ONE, None, ("arrivals.1.constant", 250.0, "/s"));
        let users = "arrivals: [{ users: 12, for: 1s }]";
        check(users, None, ("arrivals.0.users", 12.0, ""));
        assert!(load_setting(users, &[], None).unwrap().is_whole());
        assert!(!load_setting(ONE, &[], None).unwrap().is_whole());
    }

    #[test]
    fn a_parameter_turns_all_phases_it_stands_in() {
        let text = "
params: { rate: 100 }
arrivals:
  - { constant: '${rate}/s', for: 1s }
  - { poisson: '${ rate }/s', for: 9s }
";
        check(text, None, ("rate", 100.0, ""));
        let set = [("rate".to_owned(), "70".to_owned())];
        let found = load_setting(text, &set, None).unwrap();
        assert_eq!((found.value, found.setting(80.0).1.as_str()), (70.0, "80"));
    }

    #[test]
    fn of_several_populations_the_one_is_named() {
        let text = "
params: { peak: 100 }
arrivals: [ { hold: 9s } ]
populations:
  browsers: { arrivals: [ { users: '0..${peak}', for: 1s }, { users: '${peak}', for: 8s } ] }
  buyers: { arrivals: [ { poisson: 5/s, for: 9s } ] }
";
        refused(
            text,
            None,
            "several numbers are possible: peak, populations.buyers.arrivals.0.poisson",
        );
        let path = "populations.buyers.arrivals.0.poisson";
        check(text, Some(path), (path, 5.0, "/s"));
        assert_eq!(length_path(text, &[], path), None);
        let one = "populations: { a: { arrivals: [ { users: 7, for: 9s } ] } }";
        check(one, None, ("populations.a.arrivals.0.users", 7.0, ""));
    }

    #[test]
    fn of_ramps_of_users_their_parameter_is_meant() {
        let text = "
params: { peak: 100 }
arrivals:
  - { users: '0..${peak}', for: 1s }
  - { users: '${peak}', for: 1s }
  - { users: '${peak}..0', for: 1s }
";
        check(text, None, ("peak", 100.0, ""));
        let fixed = "arrivals: [{ users: 0..9, for: 1s }, { users: 9, for: 1s }]";
        check(fixed, None, ("arrivals.1.users", 9.0, ""));
    }

    #[test]
    fn the_last_phase_of_the_load_can_be_longer() {
        let path = |text: &str, load: &str| length_path(text, &[], load);
        let plain = "arrivals: [{ poisson: 12/s, for: 1s }]";
        assert_eq!(path(plain, "arrivals.0.poisson").as_deref(), Some("arrivals.0.for"));
        assert_eq!(path(plain, "arrivals.0.constant"), None);
        let warmed = "
params: { rate: 100, users: 9 }
arrivals:
  - { ramp: '0/s..${rate}/s', for: 1s }
  - { constant: '${rate}/s', for: 9s }
";
        assert_eq!(path(warmed, "rate").as_deref(), Some("arrivals.1.for"));
        assert_eq!(path(warmed, "users"), None);
        // The last phase is of another load, or of none.
        assert_eq!(path(ONE, "arrivals.1.constant"), None);
        let ramp = "
params: { peak: 9 }
arrivals: [{ users: '${peak}', for: 1s }, { users: '${peak}..0', for: 1s }]
";
        assert_eq!(path(ramp, "peak"), None);
        assert_eq!(path("arrivals: []", "arrivals.0.users"), None);
    }

    #[test]
    fn a_path_says_which() {
        check(ONE, Some("rate"), ("rate", 120.0, "/s"));
        check(ONE, Some("crowd"), ("crowd", 40.0, ""));
        check(ONE, Some("arrivals.1.constant"), ("arrivals.1.constant", 250.0, "/s"));
        let found = load_setting(ONE, &[], Some("rate")).unwrap();
        assert_eq!(found.setting(62.5), ("rate".to_owned(), "62.5/s".to_owned()));
    }

    #[track_caller]
    fn refused(text: &str, path: Option<&str>, expected: &str) {
        let error = load_setting(text, &[], path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_no_number_is_refused_with_what_it_is() {
        refused(ONE, Some("arrivals.0.ramp"), "`arrivals.0.ramp` is `1/s..9/s`");
        refused(ONE, Some("arrivals"), "`arrivals` is a list");
        refused(ONE, Some("arrivals.7.constant"), "has 3 items");
        refused(ONE, Some("raet"), "no `raet`");
        refused(ONE, Some("arrivals.1.constnat"), "did you mean `constant`?");
        refused("arrivals: [{ hold: 1s }]", None, "no phase");
        refused("a: [", None, "cannot be read");
        let two = "arrivals: [{ constant: 1/s, for: 1s }, { users: 2, for: 1s }]";
        refused(two, None, "arrivals.0.constant, arrivals.1.users");
    }
}
