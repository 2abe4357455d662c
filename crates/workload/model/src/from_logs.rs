//! Makes a model of access logs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use units::counted;

use crate::behaviour::{self, Behaviour, Tally};
use crate::class::{self, Classes};
use crate::read::{self, FileIdentities, FileRead, Reading};
use crate::request_record::{NO_SEGMENT, SessionStart};
use crate::route::RULE;
use crate::segment_arrivals::{self, SegmentArrivals, StartCounts};
use crate::sessions::Visit;
use crate::settings::Settings;
use crate::sorter::{Run, Scratch, Sorter};
use crate::{ALL, BuiltModel, FORMAT_VERSION, Log, Model, ModelError, OTHERS, Segment};
use crate::{
    findings, format, option_checks, robot_findings, scenario, scratch, sessions, stem, trace_file,
};

/// The share of lines without a request for a path above which there is no model. A public port receives TLS, scans and
/// closed connections, and a log with some of them is no log of another format.
const NO_REQUEST_MAX: f64 = 0.1;

/// Reads logs and makes their model.
///
/// # Errors
/// If a file cannot be read, its format is unknown, too many lines are bad, or no request is left.
pub fn from_logs(paths: &[PathBuf], settings: &Settings) -> Result<BuiltModel, ModelError> {
    let scratch = scratch(settings)?;
    let identities = FileIdentities::now(paths);
    let mut reading = read::read(paths, settings, &scratch)?;
    option_checks::check_fields(&reading, settings)?;
    let no_request_max = settings.bad_max.max(NO_REQUEST_MAX);
    for (left_out, max) in [
        (reading.problems.unreadable(), settings.bad_max),
        (reading.problems.no_requests(), no_request_max),
    ] {
        if left_out.lines as f64 > max * reading.lines as f64 {
            return Err(ModelError::TooManyBad {
                bad: left_out.lines,
                lines: reading.lines,
                max,
                most: left_out.most,
                summary: findings::problem_summary(&reading.problems),
            });
        }
    }
    if reading.requests == 0 {
        let mut why = match reading.without {
            0 => String::new(),
            without => format!("; --without left out {}", counted(without, "line")),
        };
        for file in &reading.files {
            if let Some(cut_off) = &file.cut_off {
                why += &format!("; {} ends too early: {cut_off}", file.name);
            }
        }
        let lines = reading.lines;
        return Err(ModelError::Nothing { lines, why });
    }
    let name = paths.first().map_or_else(|| "model".to_owned(), |path| stem(path));
    let statistics = std::mem::take(&mut reading.statistics);
    let made = build(reading, settings, &scratch, name)
        .map_err(|source| ModelError::Scratch { path: scratch.path().to_owned(), source })?;
    let mut made =
        made.finish(|orders| read::targets_of_lines(paths, settings, &identities, orders))?;
    option_checks::report(&mut made.model, &statistics, settings);
    robot_findings::report_robots(&mut made.model, &statistics.robots);
    let orders: Vec<u64> = made.heavy.iter().map(|user| user.order).collect();
    let names = read::users_of_lines(paths, settings, &identities, &orders)?;
    robot_findings::report_heavy(&mut made.model, &made.heavy, &names, settings.without_robots);
    Ok(made)
}

/// Which number a segment has in the model, by its number in the log.
struct Segments {
    names: Vec<String>,
    of: Vec<u16>,
    rest: u16,
}

impl Segments {
    fn model_number(&self, number: u16) -> u16 {
        self.of.get(usize::from(number)).copied().unwrap_or(self.rest)
    }
}

/// The largest segments, and one for all others.
fn segments(names: &[String], requests: &[u64], max: usize) -> Segments {
    let mut by_size: Vec<usize> = (0..names.len()).filter(|&i| requests[i] > 0).collect();
    by_size.sort_by(|&a, &b| (requests[b], &names[a]).cmp(&(requests[a], &names[b])));
    by_size.truncate(max);
    let rest = by_size.len() as u16;
    let mut of = vec![rest; names.len()];
    for (place, &number) in by_size.iter().enumerate() {
        of[number] = place as u16;
    }
    let mut kept: Vec<String> = by_size.iter().map(|&number| names[number].clone()).collect();
    kept.push(if kept.is_empty() { ALL } else { OTHERS }.to_owned());
    Segments { names: kept, of, rest }
}

/// Renames a class if a rule's class, or another one, has its name: runs of the model measure by name.
fn make_names_unique(classes: &mut Classes, routes: &[String]) {
    let is_ruled = |route: &String| route.starts_with(RULE);
    let ruled = routes.iter().zip(&classes.class_of_route);
    let ruled: BTreeSet<u16> =
        ruled.filter_map(|(route, &class)| is_ruled(route).then_some(class)).collect();
    let taken = ruled.iter().map(|&class| &classes.all[usize::from(class)]);
    let mut taken: BTreeSet<String> = taken.map(|class| class.name.clone()).collect();
    let others = (0..).zip(&mut classes.all);
    for (_, class) in others.filter(|(place, _)| !ruled.contains(place)) {
        while !taken.insert(class.name.clone()) {
            class.name.push_str(" (others)");
        }
    }
}

pub(crate) fn build(
    mut reading: Reading,
    settings: &Settings,
    scratch: &Scratch,
    name: String,
) -> std::io::Result<BuiltModel> {
    let heavy = sessions::heavy_users(&reading.runs)?;
    let mut left_out: Vec<u64> = Vec::new();
    if settings.without_robots {
        left_out.extend(heavy.iter().map(|user| user.key));
        let requests: u64 = heavy.iter().map(|user| user.requests).sum();
        reading.requests -= requests;
        reading.without += requests;
    }
    let mut survey = sessions::survey(
        &reading.runs,
        reading.step_ns,
        reading.routes.len(),
        reading.segments.len(),
        settings.gap_s,
        &left_out,
    )?;
    let mut classes = class::classify(
        &reading.routes,
        &survey.route_requests,
        &reading.samples,
        settings.classes_max,
    );
    make_names_unique(&mut classes, &reading.routes);
    let segments = segments(&reading.segments, &survey.segment_requests, settings.segments_max);
    let count = segments.names.len();
    let counted = count_sessions(
        &reading,
        &segments,
        &mut classes,
        settings,
        scratch,
        survey.gap.seconds,
        &left_out,
    )?;
    survey.gap.cuts = counted.cuts;
    let step_s = reading.step_ns as f64 / 1e9;
    let behaviours = behaviour::behaviours(&counted.tallies, step_s, settings.threads);
    let starts_by_segment = StartCounts::new(&reading, &counted.starts, settings)?;
    let (whole, own) = starts_by_segment.analyse(count)?;
    let processes = own.iter().flatten().map(|own| &own.process);
    let several = processes.clone().count() > 1;
    let apart = segment_arrivals::arrive_separately(&whole, processes);
    let parts = segments.names.into_iter().zip(counted.tallies.iter().zip(behaviours).zip(own));
    let (parts, of_segments) = model_segments(parts, several, apart);
    let model = Model {
        format: FORMAT_VERSION,
        name,
        key: key(&reading.files, settings),
        log: log(reading),
        segment_by: settings.segment.as_ref().map(ToString::to_string),
        users: survey.users,
        gap: Some(survey.gap),
        classes: classes.all,
        arrivals: whole,
        segments: parts,
        behaviour: settings.behaviour,
        seed: settings.seed,
        findings: Vec::new(),
    };
    let whole = segment_arrivals::trace_of_all(&starts_by_segment.all, &model.arrivals);
    let made = match apart {
        true => with_own_processes(model, of_segments, whole),
        false => BuiltModel::with_one_process(model, whole),
    };
    Ok(BuiltModel { heavy, ..made })
}

/// A model whose segments arrive by their own processes, each with its trace if it has one.
fn with_own_processes(
    model: Model,
    of_segments: Vec<Option<Vec<f64>>>,
    whole: Option<Vec<f64>>,
) -> BuiltModel {
    let files = scenario::names(&model).into_iter().map(|name| trace_file(&name));
    let traces = files.zip(of_segments).filter_map(|(file, trace)| Some((file, trace?))).collect();
    BuiltModel { model, traces, whole, heavy: Vec::new() }
}

/// Counts of the sessions, by segment.
struct CountedSessions {
    tallies: Vec<Tally>,
    starts: Vec<Run<SessionStart>>,
    /// How often a session was cut for its length.
    cuts: u64,
}

/// Counts each session into its segment's tally, and the statuses of its requests into their classes.
fn count_sessions(
    reading: &Reading,
    segments: &Segments,
    classes: &mut Classes,
    settings: &Settings,
    scratch: &Scratch,
    gap_s: f64,
    left_out: &[u64],
) -> std::io::Result<CountedSessions> {
    let count = segments.names.len();
    let mut tallies: Vec<Tally> = (0..count)
        .map(|number| {
            Tally::new(
                classes.all.len(),
                count,
                settings.sequences_kept(),
                settings.seed.wrapping_add(number as u64),
            )
        })
        .collect();
    let mut starts: Sorter<'_, SessionStart> =
        Sorter::new(scratch, "starts".to_owned(), RUNS_OF_STARTS_MAX);
    let mut failed = None;
    let count_session = |segment: u16, visits: &[Visit]| {
        let segment =
            if segment == NO_SEGMENT { segments.rest } else { segments.model_number(segment) };
        tallies[usize::from(segment)].add(visits, &classes.class_of_route);
        for visit in visits.iter().filter(|visit| visit.status > 0) {
            let class = &mut classes.all[usize::from(classes.class_of_route[visit.route as usize])];
            *class.statuses.entry(visit.status).or_default() += 1;
        }
        let time_ns = visits[0].time_ns;
        if let Err(error) = starts.push(SessionStart { segment, time_ns }) {
            failed.get_or_insert(error);
        }
    };
    let cuts = sessions::sessions(&reading.runs, reading.step_ns, gap_s, left_out, count_session)?;
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(CountedSessions { tallies, starts: starts.finish()?, cuts })
}

/// A segment's name, what its sessions did, and how they arrived, if it has any.
type SegmentParts<'a> = (String, ((&'a Tally, Behaviour), Option<SegmentArrivals>));

/// The segments of the model, the largest first, each with its trace if it has one.
fn model_segments<'a>(
    parts: impl Iterator<Item = SegmentParts<'a>>,
    several: bool,
    apart: bool,
) -> (Vec<Segment>, Vec<Option<Vec<f64>>>) {
    let segment = |(name, ((tally, behaviour), own)): SegmentParts<'_>| {
        let SegmentArrivals { arrivals, process, trace } = own?;
        let segment = Segment {
            name,
            sessions: tally.sessions,
            requests: tally.requests,
            arrivals: several.then_some(arrivals),
            process: apart.then_some(process),
            behaviour,
        };
        Some((segment, trace.filter(|_| apart)))
    };
    let mut parts: Vec<(Segment, Option<Vec<f64>>)> = parts.filter_map(segment).collect();
    parts.sort_by(|(a, _), (b, _)| (b.sessions, &a.name).cmp(&(a.sessions, &b.name)));
    parts.into_iter().unzip()
}

/// The key of users: as requested, or the default keys of the files' formats.
fn key(files: &[FileRead], settings: &Settings) -> String {
    if let Some(key) = &settings.key {
        return key.to_string();
    }
    let mut keys: Vec<&str> = Vec::new();
    for file in files.iter().filter(|file| file.lines > 0) {
        let key = format::key(&file.format);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys.join(" or ")
}

/// Runs of session starts that stay in memory: 64 MiB.
const RUNS_OF_STARTS_MAX: usize = 4;

fn log(reading: Reading) -> Log {
    Log {
        lines: reading.lines,
        requests: reading.requests,
        without: reading.without,
        problems: reading.problems.kinds,
        step_s: reading.step_ns as f64 / 1e9,
        finer: reading.finer,
        first_unix_s: reading.span_ns.0.div_euclid(1_000_000_000),
        last_unix_s: reading.span_ns.1.div_euclid(1_000_000_000),
        offsets: reading.offsets,
        back_max_s: reading.back_max_ns as f64 / 1e9,
        files: reading.files,
    }
}
