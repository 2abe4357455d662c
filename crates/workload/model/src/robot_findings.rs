//! Findings on robots and heavy users.

use std::collections::BTreeMap;

use units::counted;

use crate::Model;
use crate::findings::{Severity, add};
use crate::robots::{HeavyUser, RobotCounts};

/// Names that a finding lists.
const NAMES_SHOWN: usize = 5;
/// Characters of a user that a finding shows.
const USER_SHOWN: usize = 120;

/// Reports the robots in a model.
pub(crate) fn report_robots(model: &mut Model, robots: &RobotCounts) {
    let requests = robots.requests();
    if requests == 0 {
        return;
    }
    let names = robots.names();
    let shown = names.iter().take(NAMES_SHOWN);
    let mut shown: Vec<String> =
        shown.map(|(name, requests)| format!("{name} {}", units::count(*requests))).collect();
    if names.len() > NAMES_SHOWN {
        shown.push("…".to_owned());
    }
    let text = format!(
        "{} of the requests ({}) are of robots by their agents: {}; --without-robots leaves them out",
        units::share(requests as f64 / model.log.requests.max(1) as f64),
        units::count(requests),
        shown.join(", ")
    );
    add(model, Severity::Warning, "robots", text);
}

/// Reports heavy users. `names`: the users of the lines that could be read again, by their places.
pub(crate) fn report_heavy(
    model: &mut Model,
    heavy: &[HeavyUser],
    names: &BTreeMap<u64, String>,
    is_without: bool,
) {
    if heavy.is_empty() {
        return;
    }
    let left_out: u64 = if is_without { heavy.iter().map(|user| user.requests).sum() } else { 0 };
    let all = (model.log.requests + left_out).max(1) as f64;
    let users = heavy.iter().map(|user| {
        let name = names.get(&user.order).map_or("a user without a name", String::as_str);
        let name: String = name.chars().take(USER_SHOWN).collect();
        format!("{name} ({})", units::share(user.requests as f64 / all))
    });
    let users: Vec<String> = users.collect();
    let (severity, what) = match is_without {
        true => (Severity::Note, "left out by --without-robots"),
        false => (
            Severity::Warning,
            "they are in the model like everybody else; --without-robots leaves them out",
        ),
    };
    let text = format!(
        "{} made far more requests than the others: {}; {what}",
        counted(heavy.len() as u64, "user"),
        users.join(", ")
    );
    add(model, severity, "heavy-users", text);
}
