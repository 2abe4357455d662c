//! `throng doctor`: the limits of this machine, and how to raise them.

use std::fmt::Write as _;
use std::io::Write;

use machine::doctor::{Check, examine};
use machine::limits::{Demand, Fix, Limit, Sources, about};
use machine::{Facts, MachineLimits};

use crate::args::DoctorArgs;
use crate::exit::{Exit, Failure, written};

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
    let mut limits = MachineLimits::compute(&Facts::read(), demand);
    if args.apply {
        apply(&limits)?;
        limits = MachineLimits::compute(&Facts::read(), demand);
    }
    written(write!(std::io::stdout(), "{}", plan(&limits)))?;
    Ok(if limits.suffices() { Exit::Passed } else { Exit::Failed })
}

/// Changes the settings one by one, and prints each that was changed.
fn apply(limits: &MachineLimits) -> Result<(), Failure> {
    for setting in limits.settings() {
        setting.apply().map_err(|error| Failure::new(Exit::System, error))?;
        written(writeln!(std::io::stdout(), "{setting}"))?;
    }
    Ok(())
}

/// Resources that a number of users needs: a table, the commands, and the number that the machine
/// holds with them.
fn plan(limits: &MachineLimits) -> String {
    let demand = limits.demand;
    let place = match demand.target_here {
        true => "with the target on this machine",
        false => "with the target elsewhere",
    };
    let users = units::counted(demand.users, "user");
    let mut text = format!("{users} at once, {place}:\n\n");
    text += &table(limits);
    let commands = limits.commands();
    // Writing to a String cannot fail.
    if !commands.is_empty() {
        let _ = writeln!(
            text,
            "\nCommands, as root, in the shell that starts the run:\n\n{}",
            commands.join("\n")
        );
    }
    let _ = writeln!(text, "\n{}", holds(limits));
    text
}

fn table(limits: &MachineLimits) -> String {
    let mut rows = vec![["", "limit", "now", "needed", "command"].map(str::to_owned)];
    for limit in &limits.limits {
        let (mark, command) = match &limit.fix {
            Fix::NotNeeded => ("ok", String::new()),
            Fix::Set(setting) => ("fix", setting.command()),
            Fix::Shell(command) => ("fix", command.clone()),
            Fix::Advice(advice) => ("no", advice.clone()),
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

/// Number of users that the machine holds now, and after the commands.
fn holds(limits: &MachineLimits) -> String {
    let holds = |found: Option<(u64, &Limit)>| match found {
        Some((users, limit)) => {
            format!("about {} at once; {} is the limit", about_users(users), limit.name)
        }
        None => "that many, as far as its limits can be read".to_owned(),
    };
    let mut text = format!("Now this machine can hold {}.", holds(limits.users_now()));
    if limits.commands().is_empty() {
        return text;
    }
    // Writing to a String cannot fail.
    let _ = write!(text, "\nAfter the commands it can hold {}.", holds(limits.users_fixed()));
    let memory = limits.limits.iter().find(|limit| limit.name == "memory");
    if let Some(users) = memory.and_then(|limit| limit.users) {
        let _ = write!(
            text,
            "\nNo command adds memory, which is enough for about {}.",
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
    let least = checks.iter().filter_map(|check| Some((check.users?, check.name))).min();
    // Writing to a String cannot fail.
    for check in checks {
        let mark = match &check.fix {
            Some(_) => "fix",
            None if least.is_some_and(|(_, name)| name == check.name) => "first",
            None => "ok",
        };
        let _ = writeln!(text, "{mark:<5} {:<26} {}", check.name, check.value);
        let _ = writeln!(text, "      {}", check.meaning);
        if let Some(users) = check.users {
            let _ = writeln!(text, "      enough for {} users", units::count(users));
        }
        if let Some(fix) = &check.fix {
            let _ = writeln!(text, "      fix: {fix}");
        }
    }
    if let Some((users, name)) = least {
        let more = users.saturating_mul(2);
        let users = units::count(users);
        let _ = writeln!(
            text,
            "\n{name} is the first limit: {users} users.\n`throng doctor --users {more}` shows \
             what more users need, with the commands."
        );
    }
    text
}
