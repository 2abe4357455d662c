//! Reads access logs and says what the crowd behind them does: sessions, arrivals, behaviour.
//!
//! ```text
//! files ─input→ pieces ─format→ entries ─read→ hits, sorted by user
//!                                               │ survey: classes, the gap between sessions
//!                                               ▼
//!                     Model ←behaviour, arrivals─ sessions
//!                       └─ scenario: text to run
//! ```
//! Nothing of a log is mended in silence: what was left out, and what was odd and kept, is counted by
//! kind with its first lines. Memory does not grow with the log: beyond 256 MiB of requests sorted runs
//! go to files, and all else is sampled or counted.

#![deny(missing_docs)]

mod arrivals;
mod behaviour;
mod check;
mod class;
mod counted;
mod curves;
mod durations;
mod entry;
mod faults;
mod findings;
mod format;
mod hit;
mod input;
mod part;
mod read;
mod recorded;
mod scenario;
mod sessions;
mod settings;
mod shape;
mod sorter;
mod time;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use arrivals::{
    Arrivals, Break, CountsBar, CountsPicture, Cycle, DaysTest, Hurst, HurstEstimate, Pictures,
    Rescaled, Scale, Silence,
};
pub use behaviour::{Behaviour, Transition};
pub use check::{Check, CheckTest, LEVEL, check};
pub use class::{Class, Target};
pub use counted::counted;
pub use curves::{Bar, Curves, LawCurve};
pub use durations::{Durations, Fit, Outcome, Parameter, Test};
pub use faults::{Count, Example, Kind};
pub use findings::{Finding, Severity};
pub use format::{FormatSpec, MEANINGS};
pub use part::Part;
pub use read::FileRead;
pub use recorded::recorded;
pub use sessions::{Gap, GapReason};
pub use settings::{ArrivalsLaw, Behaviour as BehaviourKind, Rule, Settings};

use arrivals::Counts;
use behaviour::Tally;
use durations::{Reservoir, SAMPLE_MAX};
use hit::{NO_SEGMENT, Start};
use read::Reading;
use sorter::{Scratch, Sorter};

/// The version of `model.json`.
pub const FORMAT_VERSION: u32 = 1;
/// The segment of sessions that none of the greater ones has.
const OTHERS: &str = "(others)";
/// The only segment where there is no other.
const ALL: &str = "all";

/// What a log says of its crowd: `model.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// [`FORMAT_VERSION`].
    pub format: u32,
    /// A name for the scenario.
    pub name: String,
    /// What it was made from.
    pub log: Log,
    /// By what lines are one user's; empty where there are counts alone.
    pub key: String,
    /// By what sessions are told apart.
    pub segment_by: Option<String>,
    /// How many keys were seen.
    pub users: u64,
    /// When a session ends; missing where there are counts alone.
    pub gap: Option<Gap>,
    /// Classes of requests, the most frequent first.
    pub classes: Vec<Class>,
    /// How users arrive, all segments together.
    pub arrivals: Arrivals,
    /// The segments, the greatest first.
    pub segments: Vec<Segment>,
    /// What the scenario's users do.
    pub behaviour: BehaviourKind,
    /// Of all draws.
    pub seed: u64,
    /// What there is to say, what matters most first.
    pub findings: Vec<Finding>,
}

/// Sessions of one kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The value that the sessions share.
    pub name: String,
    /// How many sessions.
    pub sessions: u64,
    /// How many requests they have together.
    pub requests: u64,
    /// How they arrive; missing where there is one segment only.
    pub arrivals: Option<Arrivals>,
    /// What they do.
    pub behaviour: Behaviour,
}

/// The log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Log {
    /// In the order read.
    pub files: Vec<FileRead>,
    /// Good and bad.
    pub lines: u64,
    /// Lines in the model.
    pub requests: u64,
    /// Lines left out by `--without`.
    pub without: u64,
    /// What was wrong with lines, and what was odd.
    pub faults: BTreeMap<Kind, Count>,
    /// Least step of the times, seconds.
    pub step_s: f64,
    /// First time, seconds since the Unix epoch.
    pub first_unix_s: i64,
    /// Last time, likewise.
    pub last_unix_s: i64,
    /// Seconds east of Greenwich that times were written in, with how many lines.
    pub offsets: BTreeMap<i32, u64>,
    /// How far a line was before the one above it, at most, seconds.
    pub back_max_s: f64,
}

/// A model, and what its scenario needs besides.
#[derive(Debug, Clone)]
pub struct Made {
    /// The model.
    pub model: Model,
    /// Users in each bin of the trace, or expected ones, where the scenario has one.
    pub trace: Option<Vec<f64>>,
}

impl Made {
    /// `scenario.yaml`.
    pub fn scenario(&self) -> String {
        scenario::text(&self.model)
    }

    /// The file that the scenario's trace names.
    pub fn trace_text(&self) -> Option<String> {
        self.trace.as_ref().map(|bins| scenario::trace_text(bins))
    }
}

/// The names of the sessions that stand for the segments in [`Made::scenario`].
pub fn session_names(model: &Model) -> Vec<String> {
    scenario::names(model)
}

/// How a log is read whose requests are a model's own: users known by `user`, segments by `session`,
/// classes by their targets.
pub fn settings_of(model: &Model) -> Settings {
    Settings {
        key: Some("user".parse().expect("the text is a part")),
        segment: Some("field:session".parse().expect("the text is a part")),
        segments_max: model.segments.len(),
        gap_s: model.gap.as_ref().map(|gap| gap.seconds),
        rules: model.classes.iter().map(Rule::of_class).collect(),
        ..Settings::default()
    }
}

/// The name of the trace's file beside `scenario.yaml`.
pub const TRACE_FILE: &str = "arrivals.txt";

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A log cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// What memory does not hold cannot be written or read again.
    #[error("cannot keep sorted requests in {}", path.display())]
    Scratch {
        /// Where.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The format is not known, or does not say enough.
    #[error("{}: {why}", path.display())]
    Format {
        /// The log.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no such zone.
    #[error("{name:?} is no time zone: {why}")]
    Zone {
        /// As given.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// Too many lines are bad.
    #[error("{bad} of {lines} lines are bad, more than {:.3} %:\n{told}", max * 100.0)]
    TooManyBad {
        /// Lines left out for being bad.
        bad: u64,
        /// All lines.
        lines: u64,
        /// The share that may be.
        max: f64,
        /// Kinds with examples.
        told: String,
    },
    /// Nothing is left to model.
    #[error("there are no requests in {lines} lines{why}")]
    Nothing {
        /// All lines.
        lines: u64,
        /// Where they went.
        why: String,
    },
    /// A recorded run cannot be read.
    #[error("cannot read the run")]
    Run(#[from] record::RecordError),
    /// A file of counts is none.
    #[error("{}: {why}", path.display())]
    Counts {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// Reads logs and makes their model.
///
/// # Errors
/// Where a file cannot be read, its format is not known, too many lines are bad, or nothing is left.
pub fn model(paths: &[PathBuf], settings: &Settings) -> Result<Made, ModelError> {
    let scratch = scratch(settings)?;
    let reading = read::read(paths, settings, &scratch)?;
    if reading.faults.bad() as f64 > settings.bad_max * reading.lines as f64 {
        return Err(ModelError::TooManyBad {
            bad: reading.faults.bad(),
            lines: reading.lines,
            max: settings.bad_max,
            told: findings::told(&reading.faults),
        });
    }
    if reading.hits == 0 {
        let why = match reading.without {
            0 => String::new(),
            without => format!(", {without} of which --without left out"),
        };
        let lines = reading.lines;
        return Err(ModelError::Nothing { lines, why });
    }
    let name = paths
        .first()
        .map_or_else(|| "model".to_owned(), |path| stem(path));
    made(reading, settings, &scratch, name).map_err(|source| ModelError::Scratch {
        path: scratch.path().to_owned(),
        source,
    })
}

fn scratch(settings: &Settings) -> Result<Scratch, ModelError> {
    Scratch::new(settings.scratch.clone()).map_err(|source| ModelError::Scratch {
        path: settings.scratch.clone(),
        source,
    })
}

/// A time as `1995-07-01T00:00:00`, in seconds since 1970 by the clock that showed it; `None` where it
/// is none.
pub fn clock_time(text: &str) -> Option<i64> {
    let stamp = time::read(text.as_bytes(), time::Form::Any).ok()?;
    Some(stamp.seconds + i64::from(stamp.offset_s.unwrap_or(0)))
}

/// A file's name up to its first point.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() {
        "model".to_owned()
    } else {
        stem.to_owned()
    }
}

/// Which number a segment has in the model, by its number in the log.
struct Segments {
    names: Vec<String>,
    of: Vec<u16>,
    rest: u16,
}

impl Segments {
    fn of(&self, number: u16) -> u16 {
        self.of
            .get(usize::from(number))
            .copied()
            .unwrap_or(self.rest)
    }
}

/// The greatest segments, and one for all others.
fn segments(names: &[String], hits: &[u64], max: usize) -> Segments {
    let mut by_size: Vec<usize> = (0..names.len()).filter(|&i| hits[i] > 0).collect();
    by_size.sort_by(|&a, &b| (hits[b], &names[a]).cmp(&(hits[a], &names[b])));
    by_size.truncate(max);
    let rest = by_size.len() as u16;
    let mut of = vec![rest; names.len()];
    for (place, &number) in by_size.iter().enumerate() {
        of[number] = place as u16;
    }
    let mut kept: Vec<String> = by_size
        .iter()
        .map(|&number| names[number].clone())
        .collect();
    kept.push(if kept.is_empty() { ALL } else { OTHERS }.to_owned());
    Segments {
        names: kept,
        of,
        rest,
    }
}

fn made(
    reading: Reading,
    settings: &Settings,
    scratch: &Scratch,
    name: String,
) -> std::io::Result<Made> {
    let sizes = (reading.shapes.len(), reading.segments.len());
    let survey = sessions::survey(&reading.runs, sizes, settings.gap_s)?;
    let mut classes = class::classify(
        &reading.shapes,
        &survey.shape_hits,
        &reading.samples,
        settings.classes_max,
    );
    let segments = segments(
        &reading.segments,
        &survey.segment_hits,
        settings.segments_max,
    );
    let count = segments.names.len();
    let mut tallies: Vec<Tally> = (0..count)
        .map(|number| {
            Tally::new(
                classes.all.len(),
                count,
                settings.seed.wrapping_add(number as u64),
            )
        })
        .collect();
    let mut starts: Sorter<'_, Start> =
        Sorter::new(scratch, "starts".to_owned(), RUNS_OF_STARTS_MAX);
    let mut failed = None;
    sessions::sessions(&reading.runs, survey.gap.seconds, |segment, visits| {
        let segment = if segment == NO_SEGMENT {
            segments.rest
        } else {
            segments.of(segment)
        };
        tallies[usize::from(segment)].add(visits, &classes.of_shape);
        for visit in visits.iter().filter(|visit| visit.status > 0) {
            let class = &mut classes.all[usize::from(classes.of_shape[visit.shape as usize])];
            *class.statuses.entry(visit.status).or_default() += 1;
        }
        let time_ns = visits[0].time_ns;
        if let Err(error) = starts.push(Start { segment, time_ns }) {
            failed.get_or_insert(error);
        }
    })?;
    if let Some(error) = failed {
        return Err(error);
    }
    let starts = starts.finish()?;
    let step_s = reading.step_ns as f64 / 1e9;
    let behaviours = behaviour::behaviours(&tallies, step_s, settings.threads);
    let arrivals = Arrived::new(&reading, &starts, settings)?;
    let (whole, own) = arrivals.analysed(count)?;
    let trace = trace(&arrivals.all, &whole);
    let one = tallies.iter().filter(|tally| tally.sessions > 0).count() == 1;
    let mut parts: Vec<Segment> = segments
        .names
        .into_iter()
        .zip(tallies.iter().zip(behaviours).zip(own))
        .filter(|(_, ((tally, _), _))| tally.sessions > 0)
        .map(|(name, ((tally, behaviour), arrivals))| Segment {
            name,
            sessions: tally.sessions,
            requests: tally.requests,
            arrivals: arrivals.filter(|_| !one),
            behaviour,
        })
        .collect();
    parts.sort_by(|a, b| (b.sessions, &a.name).cmp(&(a.sessions, &b.name)));
    let mut model = Model {
        format: FORMAT_VERSION,
        name,
        log: log(reading),
        key: settings
            .key
            .as_ref()
            .map_or("address+agent".to_owned(), ToString::to_string),
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
    model.findings = findings::findings(&model);
    Ok(Made { model, trace })
}

/// Runs of sessions' begins that stay in memory: 64 MiB.
const RUNS_OF_STARTS_MAX: usize = 4;

fn log(reading: Reading) -> Log {
    Log {
        lines: reading.lines,
        requests: reading.hits,
        without: reading.without,
        faults: reading.faults.kinds,
        step_s: reading.step_ns as f64 / 1e9,
        first_unix_s: reading.span_ns.0.div_euclid(1_000_000_000),
        last_unix_s: reading.span_ns.1.div_euclid(1_000_000_000),
        offsets: reading.offsets,
        back_max_s: reading.back_max_ns as f64 / 1e9,
        files: reading.files,
    }
}

/// The begins of sessions, as counts.
struct Arrived<'a> {
    all: Counts,
    starts: &'a [sorter::Run<Start>],
    settings: &'a Settings,
    step_s: f64,
    first_s: i64,
}

impl<'a> Arrived<'a> {
    fn new(
        reading: &Reading,
        starts: &'a [sorter::Run<Start>],
        settings: &'a Settings,
    ) -> std::io::Result<Arrived<'a>> {
        let first_s = reading.span_ns.0.div_euclid(1_000_000_000);
        let last_s = reading.span_ns.1.div_euclid(1_000_000_000);
        let span_s = (last_s - first_s + 1) as u64;
        let bin_s = arrivals::bin_s(span_s);
        // Days begin by the clock that most lines were written by.
        let offset_s = reading
            .offsets
            .iter()
            .max_by_key(|(_, lines)| **lines)
            .map_or(0, |o| *o.0);
        let mut arrived = Arrived {
            all: Counts {
                bins: vec![0; span_s.div_ceil(bin_s) as usize],
                bin_s,
                local_s: first_s + i64::from(offset_s),
            },
            starts,
            settings,
            step_s: reading.step_ns as f64 / 1e9,
            first_s,
        };
        let mut bins = std::mem::take(&mut arrived.all.bins);
        sorter::merge(starts, |start| bins[arrived.bin(start.time_ns)] += 1)?;
        arrived.all.bins = bins;
        Ok(arrived)
    }

    fn bin(&self, time_ns: i64) -> usize {
        let second = time_ns.div_euclid(1_000_000_000) - self.first_s;
        (second as u64 / self.all.bin_s) as usize
    }

    /// Of all sessions, and of each segment.
    fn analysed(&self, segments: usize) -> std::io::Result<(Arrivals, Vec<Option<Arrivals>>)> {
        let mut own: Vec<Option<Arrivals>> = vec![None; segments];
        let mut current: Option<(u16, Counts, Reservoir, i64)> = None;
        let mut finish = |done: Option<(u16, Counts, Reservoir, i64)>| {
            if let Some((segment, counts, gaps, _)) = done {
                own[usize::from(segment)] = Some(self.analyse(&counts, &gaps, self.step_s));
            }
        };
        sorter::merge(self.starts, |start| {
            if current
                .as_ref()
                .is_none_or(|current| current.0 != start.segment)
            {
                finish(current.take());
                let counts = Counts {
                    bins: vec![0; self.all.bins.len()],
                    ..self.all
                };
                let gaps = Reservoir::new(SAMPLE_MAX, self.settings.seed, 5);
                current = Some((start.segment, counts, gaps, i64::MIN));
            }
            if let Some((_, counts, gaps, last_ns)) = &mut current {
                counts.bins[self.bin(start.time_ns)] += 1;
                if *last_ns != i64::MIN {
                    gaps.add((start.time_ns - *last_ns) as f64 / 1e9);
                }
                *last_ns = start.time_ns;
            }
        })?;
        finish(current.take());
        let mut gaps = Reservoir::new(SAMPLE_MAX, self.settings.seed, 6);
        self.gaps_of_all(&mut gaps);
        let step_s = self.step_s.max(self.all.bin_s as f64);
        Ok((self.analyse(&self.all, &gaps, step_s), own))
    }

    /// Times between the arrivals of all, from the counts where the clock steps in seconds, which is all
    /// there is to know then; finer clocks have their gaps within the segments.
    fn gaps_of_all(&self, gaps: &mut Reservoir) {
        let mut last = None;
        for (bin, &count) in self
            .all
            .bins
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            if let Some(last) = last {
                gaps.add(((bin - last) as u64 * self.all.bin_s) as f64);
            }
            for _ in 1..count {
                gaps.add(0.0);
            }
            last = Some(bin);
        }
    }

    fn analyse(&self, counts: &Counts, gaps: &Reservoir, step_s: f64) -> Arrivals {
        let gaps = (gaps.count > 1).then(|| gaps.describe(step_s, self.settings.seed));
        arrivals::analyse(counts, gaps, self.settings.arrivals, self.settings.seed)
    }
}

/// What the scenario's trace holds: counts as they were, or those that a cycle of the week expects.
fn trace(counts: &Counts, arrivals: &Arrivals) -> Option<Vec<f64>> {
    match arrivals.law {
        ArrivalsLaw::Poisson => None,
        ArrivalsLaw::Trace => {
            let factor = (arrivals.trace_bin_s / counts.bin_s) as usize;
            let sum = |bins: &[u32]| bins.iter().map(|&count| f64::from(count)).sum();
            Some(counts.bins.chunks(factor).map(sum).collect())
        }
        ArrivalsLaw::Cycle => {
            let cycle = arrivals
                .cycle
                .as_ref()
                .filter(|cycle| cycle.rates.len() > 24)?;
            let first = counts.local_s.div_euclid(3600) + 3 * 24;
            let hours = (counts.bins.len() as u64 * counts.bin_s).div_ceil(3600) as i64;
            let rate = |hour: i64| {
                cycle.rates[(first + hour).rem_euclid(cycle.rates.len() as i64) as usize]
            };
            Some((0..hours).map(|hour| rate(hour) * 3600.0).collect())
        }
    }
}
