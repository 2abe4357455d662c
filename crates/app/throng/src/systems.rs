//! The settings that a scenario gives to a built-in system: they are the flags of `throng serve`.

use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory, Error, Parser};
use scenario::{SystemPart, SystemProblem};

use crate::args::Args;
use crate::exit::message_of;

/// Settings that name a file which the system reads, each behind the system's name.
const READ: &[(&str, &str)] =
    &[("ads", "publishers"), ("balancer", "workers"), ("market", "replay")];
/// Settings that the run itself makes.
const OURS: &[&str] = &["listen", "until-stdin-closes"];

/// Looks at the settings of the system of this name, before it is started.
pub(crate) fn check(system: &str, settings: &[(String, String)]) -> Vec<SystemProblem> {
    let mut args = Args::command();
    // Flags have no words of their own before.
    args.build();
    let serve = args.find_subcommand("serve");
    let Some(command) = serve.and_then(|serve| serve.find_subcommand(system)) else {
        return Vec::new();
    };
    let each = settings.iter().enumerate();
    let mut problems: Vec<SystemProblem> = each
        .filter_map(|(number, (key, value))| setting(command, system, number, key, value))
        .collect();
    // One that is wrong by itself would be reported again.
    if problems.is_empty() {
        let listen = [("listen".to_owned(), "127.0.0.1:0".to_owned())];
        let error = parse(system, listen.iter().chain(settings));
        problems.extend(error.map(|error| SystemProblem {
            about: SystemPart::Together,
            message: format!("the settings do not go together: {}", message_of(&error)),
            hint: None,
        }));
    }
    problems
}

/// Files that the system of this name would not find. All that it would read are requested, so
/// that the caller knows them.
pub(crate) fn unreadable(
    system: &str,
    settings: &[(String, String)],
    files: &dyn Fn(&str) -> Result<String, String>,
) -> Vec<SystemProblem> {
    let each = settings.iter().enumerate();
    let named = each.filter(|(_, (key, _))| READ.contains(&(system, key)));
    let problems = named.filter_map(|(number, (_, name))| {
        let reason = files(name).err()?;
        Some(SystemProblem {
            about: SystemPart::Value(number),
            message: format!("`{name}` cannot be read: {reason}"),
            hint: Some("it is sought beside the scenario".to_owned()),
        })
    });
    problems.collect()
}

fn setting(
    command: &Command,
    system: &str,
    number: usize,
    key: &str,
    value: &str,
) -> Option<SystemProblem> {
    let Some(flag) = flags(command).find(|flag| flag.get_long() == Some(key)) else {
        let (message, hint) = match OURS.contains(&key) {
            true => (
                format!("where the {system} listens, and until when, is up to the run"),
                "leave it out".to_owned(),
            ),
            false => (format!("`{key}` is no setting of the {system}"), hint(command, key)),
        };
        return Some(SystemProblem { about: SystemPart::Key(number), message, hint: Some(hint) });
    };
    let error = parse(system, [&(key.to_owned(), value.to_owned())])?;
    let is_its = !matches!(
        error.kind(),
        // It stands alone here; whether that is wrong is seen when all of them are looked at.
        ErrorKind::MissingRequiredArgument | ErrorKind::ArgumentConflict
    );
    is_its.then(|| SystemProblem {
        about: SystemPart::Value(number),
        message: message_of(&error).replace(&format!("'{flag}'"), &format!("`{key}`")),
        hint: None,
    })
}

/// Settings that a scenario may make.
fn flags(command: &Command) -> impl Iterator<Item = &Arg> {
    let is_open = |flag: &&Arg| {
        let ours = flag.get_long().is_none_or(|long| OURS.contains(&long));
        !ours && !flag.is_hide_set() && flag.get_action().takes_values()
    };
    command.get_arguments().filter(is_open)
}

fn hint(command: &Command, key: &str) -> String {
    let names: Vec<&str> = flags(command).filter_map(Arg::get_long).collect();
    match scenario::document::suggest::nearest(key, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names.join(", ")),
    }
}

/// The settings, parsed as `throng serve` would parse them.
fn parse<'a>(
    system: &str,
    settings: impl IntoIterator<Item = &'a (String, String)>,
) -> Option<Error> {
    let fixed = ["throng", "serve", system].map(str::to_owned);
    let flags = settings.into_iter().map(|(key, value)| format!("--{key}={value}"));
    Args::try_parse_from(fixed.into_iter().chain(flags)).err()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems_of(
        system: &str,
        settings: &[(&str, &str)],
    ) -> Vec<(SystemPart, String, Option<String>)> {
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let settings: Vec<(String, String)> = settings.iter().map(owned).collect();
        let problems = check(system, &settings).into_iter();
        problems.map(|problem| (problem.about, problem.message, problem.hint)).collect()
    }

    #[test]
    fn settings_that_serve_accepts_are_right() {
        let market = [("batch", "3s"), ("delay", "5ms"), ("delay-share", "10%")];
        assert_eq!(problems_of("market", &market), []);
        assert_eq!(problems_of("market", &[("broadcast-size", "200B")]), []);
        assert_eq!(problems_of("chat", &[("rooms", "5"), ("files", "1024")]), []);
        assert_eq!(problems_of("ads", &[("writes", "async"), ("seed", "3")]), []);
    }

    #[test]
    fn files_that_are_read_must_be_there() {
        let requested = std::cell::RefCell::new(Vec::new());
        let files = |name: &str| {
            requested.borrow_mut().push(name.to_owned());
            match name {
                "there.csv" => Ok(String::new()),
                _ => Err("gone".to_owned()),
            }
        };
        let problems_of = |system: &str, name: &str| {
            let written = ("access-log".to_owned(), "access.log".to_owned());
            let read = ("publishers".to_owned(), name.to_owned());
            unreadable(system, &[written, read], &files)
        };
        assert_eq!(problems_of("ads", "there.csv"), []);
        assert_eq!(problems_of("market", "away.csv"), []);
        let problems = problems_of("ads", "away.csv");
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].about, SystemPart::Value(1));
        assert_eq!(problems[0].message, "`away.csv` cannot be read: gone");
        assert_eq!(requested.into_inner(), ["there.csv", "away.csv"]);
    }

    #[test]
    fn problems_name_the_setting_and_its_value() {
        let some = |text: &str| Some(text.to_owned());
        let wrong = [("batch", "3"), ("gmaes", "2"), ("seed", "x"), ("listen", "127.0.0.1:1")];
        let found = problems_of("market", &wrong);
        assert_eq!(
            found[1..3],
            [
                (
                    SystemPart::Key(1),
                    "`gmaes` is no setting of the market".to_owned(),
                    some("did you mean `games`?")
                ),
                (
                    SystemPart::Value(2),
                    "invalid value 'x' for `seed`: expected a whole number".to_owned(),
                    None
                ),
            ]
        );
        assert_eq!(found[0].0, SystemPart::Value(0));
        assert_eq!(found[3].2, some("leave it out"));
        assert_eq!(problems_of("chat", &[("rooms_max", "5")])[0].2, some("did you mean `rooms`?"));
        assert_eq!(
            problems_of("ads", &[("writes", "late")])[0].1,
            "invalid value 'late' for `writes` [possible values: sync, async]"
        );
        // What no run may say is no setting either.
        assert_eq!(problems_of("ads", &[("process-of", "a@127.0.0.1:1")]).len(), 1);
    }

    #[test]
    fn settings_that_exclude_each_other_are_a_problem_of_all() {
        let alone = problems_of("market", &[("delay-share", "10%")]);
        assert_eq!(alone[0].0, SystemPart::Together);
        assert!(alone[0].1.ends_with("--delay <DURATION>"), "{alone:?}");
        let both = problems_of("chat", &[("files", "100"), ("connections", "5")]);
        assert_eq!(both[0].0, SystemPart::Together, "{both:?}");
    }
}
