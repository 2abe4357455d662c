//! `throng doctor`: what this machine can hold, and what would mend it.

use std::fmt::Write as _;
use std::io::Write;

use controller::doctor::{Check, Facts, examine};

use crate::exit::{Exit, Failure, written};

pub(crate) fn doctor() -> Result<Exit, Failure> {
    let checks = examine(&Facts::read());
    written(write!(std::io::stdout(), "{}", render(&checks)))
}

fn render(checks: &[Check]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    for check in checks {
        let mark = if check.mend.is_some() { "mend" } else { "ok" };
        let _ = writeln!(text, "{mark:<5} {:<26} {}", check.name, check.value);
        let _ = writeln!(text, "      {}", check.meaning);
        if let Some(users) = check.users {
            let _ = writeln!(
                text,
                "      enough for {} users",
                judge::words::count(users)
            );
        }
        if let Some(mend) = &check.mend {
            let _ = writeln!(text, "      to mend it: {mend}");
        }
    }
    let least = checks
        .iter()
        .filter_map(|check| Some((check.users?, check.name)))
        .min();
    if let Some((users, name)) = least {
        let users = judge::words::count(users);
        let _ = writeln!(text, "\n{name} is the first limit: {users} users.");
    }
    text
}
