//! `throng model LOG…`: makes a model of a log, and its scenario.

use std::path::Path;
use std::time::Duration;

use model::{BehaviourKind, BuiltModel, FormatSpec, Model, ModelError, ProblemKind, Settings};
use report::Page;

use crate::args::full::{ArrivalsArg, BehaviourArg, LogFormat, ModelArgs, ModelVerb};
use crate::exit::{Exit, Failure, print_note, print_text};
use crate::{page, terminal};

mod against;
mod check;
mod directory;
mod run_targets;

pub(crate) use check::page_of;

/// Names of the files.
pub(super) const SCENARIO: &str = "scenario.yaml";
pub(super) const MODEL: &str = "model.json";
const REPORT: &str = "report.md";

pub(crate) fn model(args: &ModelArgs) -> Result<Exit, Failure> {
    if let Some(ModelVerb::Check(args)) = &args.check {
        return check::check(args);
    }
    let out = args.out.as_deref().expect("clap requires it without a subcommand");
    check_options(args)?;
    if let Some(tsung) = &args.tsung {
        directory::check_tsung_path(tsung, &args.logs, out)?;
    }
    directory::prepare(out)?;
    let settings = settings(args, out);
    let made = match (args.format, &args.logs[..]) {
        (Some(LogFormat::Counts), [path]) => from_counts(args, path, &settings)?,
        (Some(LogFormat::Counts), _) => {
            return Err(Failure::hinted(
                Exit::Usage,
                "--as counts takes one file".to_owned(),
                "model each file by itself",
            ));
        }
        (_, [run]) if run.is_dir() => {
            model::from_run(run, &settings, &run_targets::run_targets(run)).map_err(failure)?
        }
        _ => model::from_logs(&args.logs, &settings).map_err(failure)?,
    };
    write(out, &made)?;
    if let Some(path) = &args.tsung {
        tsung(path, &made)?;
    }
    if args.quiet {
        return Ok(Exit::Passed);
    }
    let text = if args.json {
        report::json(&made.model)
    } else {
        report::model::summary(&made.model, &out.display().to_string(), terminal::style())
    };
    print_text(&format!("{text}\n"))
}

/// Rejects options that have no effect for this kind of log.
fn check_options(args: &ModelArgs) -> Result<(), Failure> {
    let is_counts = args.format == Some(LogFormat::Counts);
    let is_run = !is_counts && matches!(&args.logs[..], [run] if run.is_dir());
    let for_lines = [
        ("--as", args.format.is_some() && !is_counts),
        ("--log-format", args.log_format.is_some()),
        ("--field", !args.fields.is_empty()),
        ("--key", args.key.is_some()),
        ("--segment", args.segment.is_some()),
        ("--class", !args.classes.is_empty()),
        ("--classes-max", args.classes_max.is_some()),
        ("--without", !args.without.is_empty()),
        ("--without-robots", args.without_robots),
        ("--zone", args.zone.is_some()),
        ("--bad-max", args.bad_max.is_some()),
    ];
    let for_users = [
        ("--gap", args.gap.is_some()),
        ("--segments-max", args.segments_max.is_some()),
        ("--behaviour", args.behaviour.is_some()),
        ("--sequences", args.sequences.is_some()),
    ];
    let for_counts = [("--begin", args.begin.is_some()), ("--bin", args.bin.is_some())];
    let (what, hint, idle) = match (is_run, is_counts) {
        (true, _) => (
            "a run's directory",
            "in a run, users have numbers, sessions are the segments, and measures are the classes",
            [&for_lines[..], &for_counts].concat(),
        ),
        (_, true) => (
            "counts",
            "counts have no lines, users or sessions",
            [&for_lines[..], &for_users].concat(),
        ),
        _ => (
            "lines of a log",
            "lines have their own times; --begin and --bin take --as counts",
            for_counts.to_vec(),
        ),
    };
    if args.sequences.is_some() && !matches!(args.behaviour, Some(BehaviourArg::Sequences)) {
        return Err(Failure::hinted(
            Exit::Usage,
            "--sequences has no effect for a chain".to_owned(),
            "add --behaviour sequences",
        ));
    }
    match idle.iter().find(|(_, given)| *given) {
        Some((flag, _)) => {
            Err(Failure::hinted(Exit::Usage, format!("{flag} has no effect for {what}"), hint))
        }
        None => Ok(()),
    }
}

fn settings(args: &ModelArgs, out: &Path) -> Settings {
    let threads = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let format = match (&args.log_format, args.format) {
        (Some(text), _) => FormatSpec::Template(text.clone()),
        (None, None | Some(LogFormat::Counts)) => FormatSpec::Detect,
        (None, Some(LogFormat::Combined)) => FormatSpec::Combined,
        (None, Some(LogFormat::Json)) => FormatSpec::Json,
        (None, Some(LogFormat::Csv)) => FormatSpec::Csv,
        (None, Some(LogFormat::W3c)) => FormatSpec::W3c,
        (None, Some(LogFormat::Alb)) => FormatSpec::Alb,
        (None, Some(LogFormat::Haproxy)) => FormatSpec::Haproxy,
        (None, Some(LogFormat::Envoy)) => FormatSpec::Envoy,
        (None, Some(LogFormat::Tsung)) => FormatSpec::Tsung,
    };
    let usual = Settings::default();
    Settings {
        format,
        fields: args.fields.clone(),
        key: args.key.clone(),
        segment: args.segment.clone(),
        segments_max: args.segments_max.map_or(usual.segments_max, usize::from),
        gap_s: args.gap.map(|gap| gap.as_secs_f64()),
        rules: args.classes.clone(),
        classes_max: args.classes_max.map_or(usual.classes_max, usize::from),
        without: args.without.clone(),
        without_robots: args.without_robots,
        zone: args.zone.clone(),
        bad_max: args.bad_max.unwrap_or(usual.bad_max),
        arrivals: args.arrivals.map(|process| match process {
            ArrivalsArg::Poisson => model::ArrivalProcess::Poisson,
            ArrivalsArg::Cycle => model::ArrivalProcess::Cycle,
            ArrivalsArg::Trace => model::ArrivalProcess::Trace,
        }),
        behaviour: match args.behaviour {
            None | Some(BehaviourArg::Chain) => BehaviourKind::Chain,
            Some(BehaviourArg::Sequences) => BehaviourKind::Sequences,
        },
        sequences_max: args.sequences.map(usize::from),
        seed: args.seed,
        threads: args.threads.map_or_else(threads, usize::from),
        scratch: directory::scratch(out),
    }
}

fn from_counts(args: &ModelArgs, path: &Path, settings: &Settings) -> Result<BuiltModel, Failure> {
    let begin = args.begin.as_deref().unwrap_or("1970-01-01T00:00:00");
    let local_s = model::clock_time(begin).ok_or_else(|| {
        Failure::hinted(
            Exit::Usage,
            format!("{begin:?} is not a time"),
            "write it as 1995-07-01T00:00:00",
        )
    })?;
    let bin = args.bin.unwrap_or(Duration::from_secs(1));
    // Were a part of a second cut off, the rate would be another.
    if bin.is_zero() || bin.subsec_nanos() > 0 {
        return Err(Failure::hinted(
            Exit::Usage,
            format!("--bin {bin:?} is not a whole number of seconds"),
            "add up the counts of whole seconds",
        ));
    }
    model::from_counts(path, bin.as_secs(), local_s, settings).map_err(failure)
}

fn write(out: &Path, made: &BuiltModel) -> Result<(), Failure> {
    let put = |name: &str, text: &str| {
        record::write_whole(&out.join(name), text.as_bytes())
            .map_err(|error| Failure::new(Exit::Io, error))
    };
    let json = report::json(&made.model);
    // A model that cannot be loaded must not replace the old one.
    Model::read(&json).map_err(|error| Failure::new(Exit::Data, error))?;
    directory::remove_old_model(out)?;
    // model.json is what makes the directory one of a model: it comes last.
    put(SCENARIO, &made.scenario())?;
    for (name, text) in made.files() {
        put(&name, &text)?;
    }
    put(REPORT, &report::model::markdown(&made.model))?;
    page::beside(&Page::model(&made.model, None, page::VERSION), out, None)?;
    put(MODEL, &json)
}

/// Writes the model as Tsung's file, and reports what Tsung cannot express.
fn tsung(path: &Path, made: &BuiltModel) -> Result<(), Failure> {
    let written = made.tsung();
    record::write_whole(path, written.text.as_bytes())
        .map_err(|error| Failure::new(Exit::Io, error))?;
    for line in written.notes {
        // The file has it, too.
        print_note(&format!("{}: {line}", path.display()));
    }
    Ok(())
}

/// The failure and its exit code.
pub(super) fn failure(error: ModelError) -> Failure {
    let exit = match &error {
        ModelError::Read { .. } | ModelError::Run(_) => Exit::NoInput,
        ModelError::Scratch { .. } => Exit::Io,
        ModelError::Zone { .. } | ModelError::Idle { .. } => Exit::Usage,
        ModelError::Format { .. }
        | ModelError::Field { .. }
        | ModelError::TooManyBad { .. }
        | ModelError::Nothing { .. }
        | ModelError::NoRoom { .. }
        | ModelError::Counts { .. } => Exit::Data,
    };
    let hint = match &error {
        ModelError::TooManyBad { most, .. } => bad_lines(*most),
        ModelError::Format { .. } => {
            "name the format with --as, --log-format or --field; docs/modelling-reference.md lists formats"
        }
        ModelError::Field { .. } => {
            "names inside other objects are joined by dots, as in http.request.method"
        }
        ModelError::NoRoom { .. } => "request fewer with --segments-max or --classes-max",
        ModelError::Idle { .. } => "--field is for JSON and CSV; for other lines use --log-format",
        _ => return Failure::new(exit, error),
    };
    Failure::hinted(exit, error.to_string(), hint)
}

/// How to fix bad lines of this kind.
fn bad_lines(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::NoKey => {
            "identify users by another part, as in --key address or --key field:NAME, or allow more bad lines with \
             --bad-max"
        }
        ProblemKind::NoTime => {
            "name the time of JSON or CSV with --field time=NAME, or allow more bad lines with --bad-max"
        }
        ProblemKind::Request => {
            "name method and path of JSON or CSV with --field method=NAME --field target=NAME, as in target=request \
             if that is a path, or allow more bad lines with --bad-max"
        }
        ProblemKind::NoRequest | ProblemKind::NoPath => {
            "these lines record what came instead of requests for a path; if that is right, allow more of them with \
             --bad-max"
        }
        _ => "name the format with --as or --log-format, or allow more bad lines with --bad-max",
    }
}
