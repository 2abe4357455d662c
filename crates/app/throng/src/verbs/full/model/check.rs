//! `throng model check DIR`: does the model's own log agree with the log it was made from?

use std::fmt::Write as _;
use std::path::Path;

use controller::simulate::{SeenRequest, USER_HEADER, simulate};
use model::{Model, Settings, SimulatedSpan};
use report::Page;

use super::{MODEL, SCENARIO, against, directory, failure};
use crate::args::full::ModelCheckArgs;
use crate::exit::{Exit, Failure, print_text};
use crate::{page, source, terminal};

/// Files of a check, beside the model.
pub(super) const LOG: &str = "simulated.log";
pub(super) const CHECK: &str = "check.json";
/// Longest file of a model, bytes: one of a million requests is a hundredth of it.
const MODEL_BYTES_MAX: u64 = 1 << 30;
/// Longest time that a scenario lasts, seconds.
const SECONDS_MAX: f64 = 366.0 * 86_400.0;

pub(super) fn check(args: &ModelCheckArgs) -> Result<Exit, Failure> {
    if let Some(table) = &args.against {
        return against::against(args, table);
    }
    let first = read(&args.dir)?;
    let scale = scale(&first, args.sessions);
    let plan = {
        let text = source::read_named(&args.dir.join(SCENARIO).display().to_string())?;
        source::compile(&text, &sets(&scale, args))?.plan
    };
    let simulated = simulate(&plan).map_err(|error| Failure::new(Exit::Data, error))?;
    let sessions: Vec<&str> = plan.sessions.iter().map(|session| session.name.as_str()).collect();
    let log = args.dir.join(LOG);
    record::write_whole(&log, lines(&first, &simulated, &sessions).as_bytes())
        .map_err(|error| Failure::new(Exit::Io, error))?;
    let settings = Settings {
        seed: plan.seed.wrapping_add(1),
        scratch: directory::scratch(&args.dir),
        ..model::settings_for_simulated_log(&first)
    };
    let second = model::from_logs(&[log], &settings).map_err(failure)?.model;
    let found = model::check(&first, &second, scale);
    let json = report::json(&found);
    record::write_whole(&args.dir.join(CHECK), json.as_bytes())
        .map_err(|error| Failure::new(Exit::Io, error))?;
    // The model's page, with its check.
    let page = Page::model(&first, Some(&found), page::VERSION);
    page::beside(&page, &args.dir, None)?;
    let text =
        if args.json { json } else { report::model::check(&found, terminal::style()) + "\n" };
    print_text(&text)?;
    Ok(if found.holds { Exit::Passed } else { Exit::Failed })
}

/// The page of the model in a directory, without a check. Nothing is written.
pub(crate) fn page_of(dir: &Path) -> Result<Page, Failure> {
    Ok(Page::model(&load(dir)?, None, page::VERSION))
}

/// A model that can be checked.
pub(super) fn read(dir: &Path) -> Result<Model, Failure> {
    let model = load(dir)?;
    if model.gap.is_none() {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{} was made from counts", dir.join(MODEL).display()),
            "counts have no sessions to check; report.md shows how well the arrivals fit",
        ));
    }
    Ok(model)
}

fn load(dir: &Path) -> Result<Model, Failure> {
    let path = dir.join(MODEL);
    let unreadable = |why: String| {
        Failure::hinted(
            Exit::NoInput,
            format!("cannot read {}: {why}", path.display()),
            "give the directory that `throng model LOG… -o DIR` wrote",
        )
    };
    record::index::check_file(&path, u64::MAX).map_err(unreadable)?;
    let text = regular::read_text(&path, MODEL_BYTES_MAX);
    let text = text.map_err(|error| unreadable(error.to_string()))?;
    Model::read(&text).map_err(|error| unreadable(error.to_string()))
}

/// All of the log's time, with the number of users that gives about the requested number of sessions.
fn scale(model: &Model, sessions: u32) -> SimulatedSpan {
    let seconds = model.arrivals.span_s.min(SECONDS_MAX);
    SimulatedSpan { seconds, users: f64::from(sessions) / (model.arrivals.rate_per_s * seconds) }
}

fn sets(scale: &SimulatedSpan, args: &ModelCheckArgs) -> Vec<(String, String)> {
    let users = scale.users;
    let seconds = scale.seconds;
    let mut sets = vec![
        ("target", "http://model.test/".to_owned()),
        ("users", format!("{users}")),
        ("seconds", format!("{seconds}")),
    ];
    let header = format!("options.headers.{USER_HEADER}");
    sets.push((&header, "${user}".to_owned()));
    sets.extend(args.seed.map(|seed| ("seed", seed.to_string())));
    sets.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// JSON lines, times cut to the steps that the first log's clock had. They are those of the clock on the wall
/// there, for hours of the day are compared.
fn lines(model: &Model, simulated: &[SeenRequest], sessions: &[&str]) -> String {
    let step_ns = ((model.log.step_s * 1e9) as u64).max(1);
    let mut text = String::new();
    for one in simulated {
        let at_ns = one.at_ns / step_ns * step_ns;
        let seconds = model.arrivals.local_s + (at_ns / 1_000_000_000) as i64;
        let line = serde_json::json!({
            "time": format!("{seconds}.{:09}", at_ns % 1_000_000_000),
            "user": one.user.to_string(),
            "session": sessions[usize::from(one.session)],
            "method": one.method,
            "uri": one.target,
            "status": 200,
        });
        let _ = writeln!(text, "{line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulation_covers_the_recording_with_the_requested_sessions() {
        let space = tempfile::tempdir().unwrap();
        let path = space.path().join("counts.txt");
        // The first half of forty days has three times as many as the second.
        let counts = (0..960).map(|hour| if hour < 480 { "30 " } else { "10 " });
        std::fs::write(&path, counts.collect::<String>()).unwrap();
        let made = model::from_counts(&path, 3_600, 0, &Settings::default()).unwrap();
        let played = scale(&made.model, 5_000);
        assert_eq!(played.seconds, 40.0 * 86_400.0);
        let users = model::users_expected(&made.model, played.seconds).unwrap() * played.users;
        assert!((users - 5_000.0).abs() < 1e-6, "{users}");
    }
}
