//! `throng doctor`: what this machine can hold, and what would mend it.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use controller::capacity::{Capacity, Demand, Limit, Mend, Sources, about};
use controller::doctor::{Check, Facts, examine};

use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure, written};

/// Where the kernel's settings stand.
const SETTINGS: &str = "/proc/sys";

pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let Some(users) = args.users else {
        let checks = examine(&Facts::read());
        return written(write!(std::io::stdout(), "{}", render(&checks)));
    };
    let demand = Demand {
        users,
        target_here: !args.target_elsewhere,
        sources: match args.target_elsewhere {
            true => Sources::Pairs(args.source_addresses),
            false => Sources::Loopback,
        },
    };
    let mut capacity = Capacity::of(&Facts::read(), demand);
    if args.apply {
        apply(&capacity)?;
        capacity = Capacity::of(&Facts::read(), demand);
    }
    written(write!(std::io::stdout(), "{}", plan(&capacity)))?;
    Ok(if capacity.suffices() {
        Exit::Passed
    } else {
        Exit::Failed
    })
}

/// Changes the settings one by one, and tells each that was changed.
fn apply(capacity: &Capacity) -> Result<(), Failure> {
    for setting in capacity.settings() {
        setting
            .apply(Path::new(SETTINGS))
            .map_err(|error| Failure::new(Exit::System, error))?;
        written(writeln!(std::io::stdout(), "{setting}"))?;
    }
    Ok(())
}

/// What so many users take: a table, the commands, and what they come to.
fn plan(capacity: &Capacity) -> String {
    let demand = capacity.demand;
    let place = match demand.target_here {
        true => "with the target on this machine",
        false => "with the target elsewhere",
    };
    let users = units::counted(demand.users, "user");
    let mut text = format!("{users} at once, {place}:\n\n");
    text += &table(capacity);
    let commands = capacity.commands();
    // Writing to a String cannot fail.
    if !commands.is_empty() {
        let _ = writeln!(
            text,
            "\nCommands, as root, in the shell that starts the run:\n\n{}",
            commands.join("\n")
        );
    }
    let _ = writeln!(text, "\n{}", holds(capacity));
    text
}

fn table(capacity: &Capacity) -> String {
    let mut rows = vec![["", "limit", "now", "needed", "command"].map(str::to_owned)];
    for limit in &capacity.limits {
        let (mark, command) = match &limit.mend {
            Mend::Good => ("ok", String::new()),
            Mend::Set(setting) => ("mend", setting.command()),
            Mend::Shell(command) => ("mend", command.clone()),
            Mend::Advice(advice) => ("no", advice.clone()),
        };
        rows.push([
            mark.to_owned(),
            limit.name.to_owned(),
            limit.now.clone(),
            limit.needed.clone(),
            command,
        ]);
    }
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths = [0, 1, 2, 3].map(width);
    let lines = rows.iter().map(|[mark, name, now, needed, command]| {
        let [w0, w1, w2, w3] = widths;
        let line = format!("{mark:<w0$}  {name:<w1$}  {now:<w2$}  {needed:<w3$}  {command}");
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// What the machine holds as it is, and after the commands.
fn holds(capacity: &Capacity) -> String {
    let told = |found: Option<(u64, &Limit)>| match found {
        Some((users, limit)) => format!(
            "about {} at once; {} is the limit",
            about_users(users),
            limit.name
        ),
        None => "as many as are asked for, as far as can be told".to_owned(),
    };
    let mut text = format!("As it is, this machine can hold {}.", told(capacity.now()));
    if capacity.commands().is_empty() {
        return text;
    }
    // Writing to a String cannot fail.
    let _ = write!(text, "\nAfter the commands, {}.", told(capacity.mended()));
    let memory = capacity.limits.iter().find(|limit| limit.name == "memory");
    if let Some(users) = memory.and_then(|limit| limit.users) {
        let _ = write!(
            text,
            "\nWhat no command raises is memory, enough for about {}.",
            about_users(users)
        );
    }
    text
}

fn about_users(users: u64) -> String {
    match users {
        1 => "1 user".to_owned(),
        _ => format!("{} users", about(users)),
    }
}

fn render(checks: &[Check]) -> String {
    let mut text = String::new();
    let least = checks
        .iter()
        .filter_map(|check| Some((check.users?, check.name)))
        .min();
    // Writing to a String cannot fail.
    for check in checks {
        let mark = match &check.mend {
            Some(_) => "mend",
            None if least.is_some_and(|(_, name)| name == check.name) => "first",
            None => "ok",
        };
        let _ = writeln!(text, "{mark:<5} {:<26} {}", check.name, check.value);
        let _ = writeln!(text, "      {}", check.meaning);
        if let Some(users) = check.users {
            let _ = writeln!(text, "      enough for {} users", units::count(users));
        }
        if let Some(mend) = &check.mend {
            let _ = writeln!(text, "      to mend it: {mend}");
        }
    }
    if let Some((users, name)) = least {
        let more = users.saturating_mul(2);
        let users = units::count(users);
        let _ = writeln!(
            text,
            "\n{name} is the first limit: {users} users.\n`throng doctor --users {more}` says what \
             more would take, with the commands."
        );
    }
    text
}
