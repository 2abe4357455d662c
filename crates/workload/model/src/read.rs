//! Reading: one thread decompresses files and cuts them into pieces, others parse the lines.
//!
//! The result does not depend on how many they are: places in the log order everything, and
//! determine the sample.

mod line_statistics;
mod lines;
mod second_read;
mod steps;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::tz::TimeZone;

use crate::ModelError;
use crate::format::{self, Format};
use crate::input::{Input, Piece};
use crate::interner::Interner;
use crate::line_part::JOINED;
use crate::line_problems::{LinePlace, LineProblems, ProblemKind};
use crate::request_record::{NO_SEGMENT, RequestRecord};
use crate::settings::Settings;
use crate::sorter::{Run, Scratch};
use crate::target_sample::TargetSample;

pub(crate) use line_statistics::LineStatistics;
use lines::{Lines, Outcome};
pub(crate) use second_read::{FileIdentities, targets_of_lines, users_of_lines};
use steps::Steps;

/// Maximum number of distinct routes while reading.
const ROUTES_MAX: usize = 1 << 18;
/// Maximum number of distinct segments.
const SEGMENTS_MAX: usize = NO_SEGMENT as usize - 2;
/// Runs of sorted requests that stay in memory: 256 MiB.
const RUNS_IN_MEMORY_MAX: usize = 8;
/// Targets kept as examples of what their routes request.
const SAMPLES_MAX: usize = 1 << 14;
/// Pieces waiting for each reader.
const PIECES_WAITING: usize = 2;
/// Lines of a piece are fewer than 2 to this power.
const LINE_BITS: u32 = 24;

/// Mark that some programs put before a text in UTF-8, and that is none of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file that was read.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct FileRead {
    /// As given.
    pub name: String,
    /// The format by which the lines were read.
    pub format: String,
    /// Lines, good and bad, without remarks.
    pub lines: u64,
    /// The step of the clock that wrote its times, seconds; missing where there are none.
    #[serde(default)]
    pub step_s: Option<f64>,
    /// Why it ended too early, where it did: it is packed, and damaged or cut off.
    pub cut_off: Option<String>,
}

impl FileRead {
    /// A file of which nothing was read yet.
    fn new(name: &str) -> FileRead {
        FileRead {
            name: name.to_owned(),
            format: String::new(),
            lines: 0,
            step_s: None,
            cut_off: None,
        }
    }
}

/// A log in numbers.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) files: Vec<FileRead>,
    pub(crate) runs: Vec<Run<RequestRecord>>,
    pub(crate) routes: Vec<String>,
    pub(crate) segments: Vec<String>,
    pub(crate) samples: Vec<TargetSample>,
    pub(crate) problems: LineProblems,
    pub(crate) statistics: LineStatistics,
    /// Good and bad.
    pub(crate) lines: u64,
    pub(crate) requests: u64,
    /// Left out by the settings.
    pub(crate) without: u64,
    /// The coarsest step that a share of the times worth naming has, nanoseconds: 1 s, 1 ms, 1 µs or 1.
    pub(crate) step_ns: u64,
    /// Lines with finer times.
    pub(crate) finer: u64,
    /// Seconds east of Greenwich, with how many lines.
    pub(crate) offsets: BTreeMap<i32, u64>,
    /// How far a line was before the one above it, at most, nanoseconds.
    pub(crate) back_max_ns: i64,
    /// `(first, last)`, nanoseconds since the epoch.
    pub(crate) span_ns: (i64, i64),
}

/// State of the files before their lines are taken apart.
#[derive(Default)]
struct FileSurvey {
    files: Vec<FileRead>,
    /// Lines that reach beyond a piece.
    problems: LineProblems,
    /// Field names of the first lines, if fields were named.
    names: BTreeSet<String>,
}

/// A piece with what it takes to read it.
struct Work {
    number: u64,
    file: u32,
    first_line: u64,
    bytes: Vec<u8>,
    /// The last line is cut off.
    cut_off: bool,
    name: Arc<str>,
    format: Arc<Format>,
}

/// Reads files in the order given.
pub(crate) fn read(
    paths: &[PathBuf],
    settings: &Settings,
    scratch: &Scratch,
) -> Result<Reading, ModelError> {
    let zone = zone(settings)?;
    let routes = Interner::new(ROUTES_MAX);
    let segments = Interner::new(SEGMENTS_MAX);
    let threads = settings.threads.max(1);
    let (outcomes, fed) = std::thread::scope(|scope| -> Result<_, ModelError> {
        let (sender, receiver) = sync_channel::<Work>(PIECES_WAITING * threads);
        let receiver = Arc::new(Mutex::new(receiver));
        let readers: Vec<_> = (0..threads)
            .map(|number| {
                let receiver = Arc::clone(&receiver);
                let own = RUNS_IN_MEMORY_MAX / threads;
                let lines = Lines::new(
                    settings,
                    zone.clone(),
                    &routes,
                    &segments,
                    scratch,
                    number,
                    own.max(1),
                );
                scope.spawn(move || work(lines, &receiver))
            })
            .collect();
        drop(receiver);
        let fed = feed(paths, settings, &sender);
        drop(sender);
        let outcomes: io::Result<Vec<Outcome>> = readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        let fed = fed?;
        let outcomes = outcomes
            .map_err(|source| ModelError::Scratch { path: scratch.path().to_owned(), source })?;
        Ok((outcomes, fed))
    })?;
    let mut reading = gather(outcomes, fed);
    reading.routes = routes.into_texts();
    let segments = segments.into_texts().into_iter();
    reading.segments = segments.map(|text| text.replace(JOINED, " ")).collect();
    reading.statistics.segmented = !reading.segments.is_empty();
    Ok(reading)
}

fn zone(settings: &Settings) -> Result<Option<TimeZone>, ModelError> {
    let named = settings.zone.as_ref().map(|name| {
        TimeZone::get(name)
            .map_err(|error| ModelError::Zone { name: name.clone(), why: error.to_string() })
    });
    named.transpose()
}

fn work(mut lines: Lines<'_>, receiver: &Mutex<Receiver<Work>>) -> io::Result<Outcome> {
    loop {
        // The lock is held only while waiting; who waits is the next to work.
        let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(work) => lines.piece(&work)?,
            Err(_) => return lines.finish(),
        }
    }
}

fn feed(
    paths: &[PathBuf],
    settings: &Settings,
    sender: &SyncSender<Work>,
) -> Result<FileSurvey, ModelError> {
    let mut fed = FileSurvey::default();
    let mut number = 0;
    for (file, path) in paths.iter().enumerate() {
        let unreadable = |source| ModelError::Read { path: path.clone(), source };
        let mut input = Input::open(path).map_err(unreadable)?;
        let name: Arc<str> = path.display().to_string().into();
        let mut format: Option<Arc<Format>> = None;
        let mut read = FileRead::new(&name);
        let mut line = 1;
        while let Some(piece) = input.next().map_err(unreadable)? {
            let Piece { mut bytes, too_long, cut_off } = piece;
            if line == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            // A file whose first line is too long, or that ends before it, has nothing to detect a format by.
            let parts = match &format {
                Some(known) => by_format(bytes, known),
                None if bytes.is_empty() => Vec::new(),
                None => {
                    let known = chosen(path, &bytes, settings, cut_off.as_deref())?;
                    read.format = known.name();
                    if !settings.fields.is_empty() {
                        fed.names.extend(known.names(&bytes));
                    }
                    by_format(bytes, &Arc::new(known))
                }
            };
            for (bytes, known) in parts {
                let work = Work {
                    number,
                    file: file as u32,
                    first_line: line,
                    cut_off: cut_off.is_some() && !bytes.ends_with(b"\n"),
                    name: Arc::clone(&name),
                    format: Arc::clone(&known),
                    bytes,
                };
                line += line_count(&work.bytes);
                number += 1;
                format = Some(known);
                if sender.send(work).is_err() {
                    // A reader that failed returns why when it is joined.
                    return Ok(fed);
                }
            }
            for _ in 0..too_long {
                let place = LinePlace { file: file as u32, line };
                fed.problems.add(ProblemKind::TooLong, place, b"", &name);
                line += 1;
                read.lines += 1;
            }
            read.cut_off = cut_off;
        }
        fed.files.push(read);
    }
    Ok(fed)
}

fn chosen(
    path: &Path,
    head: &[u8],
    settings: &Settings,
    cut_off: Option<&str>,
) -> Result<Format, ModelError> {
    format::choose(&settings.format, head, &settings.fields).map_err(|why| ModelError::Format {
        path: path.to_owned(),
        why: match cut_off {
            Some(cut_off) => format!("{why}; it ends too early: {cut_off}"),
            None => why,
        },
    })
}

/// The piece in parts where its lines say that the columns change.
fn by_format(mut bytes: Vec<u8>, format: &Arc<Format>) -> Vec<(Vec<u8>, Arc<Format>)> {
    if !format.has_directives() {
        return vec![(bytes, Arc::clone(format))];
    }
    let mut parts = Vec::new();
    let mut format = Arc::clone(format);
    let mut at = 0;
    while let Some(end) = memchr::memchr(b'\n', &bytes[at..]).map(|end| at + end + 1) {
        if let Some(next) = format.redirected(bytes[at..end].trim_ascii_end()) {
            let rest = bytes.split_off(end);
            parts.push((bytes, format));
            (bytes, format, at) = (rest, Arc::new(next), 0);
        } else {
            at = end;
        }
    }
    parts.push((bytes, format));
    parts
}

fn line_count(bytes: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', bytes).count() as u64;
    ends + u64::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))
}

fn gather(outcomes: Vec<Outcome>, fed: FileSurvey) -> Reading {
    let mut reading = Reading {
        lines: fed.problems.bad(),
        files: fed.files,
        runs: Vec::new(),
        routes: Vec::new(),
        segments: Vec::new(),
        samples: Vec::new(),
        problems: fed.problems,
        statistics: LineStatistics { names: fed.names, ..LineStatistics::default() },
        requests: 0,
        without: 0,
        step_ns: 0,
        finer: 0,
        offsets: BTreeMap::new(),
        back_max_ns: 0,
        span_ns: (i64::MAX, i64::MIN),
    };
    let mut steps = vec![Steps::default(); reading.files.len()];
    for outcome in outcomes {
        reading.lines += outcome.lines;
        reading.requests += outcome.requests;
        reading.without += outcome.without;
        reading.runs.extend(outcome.runs);
        reading.samples.extend(outcome.samples);
        reading.problems.merge(outcome.problems);
        reading.statistics.merge(outcome.statistics);
        for (file, (lines, own)) in outcome.of_files {
            reading.files[file as usize].lines += lines;
            steps[file as usize].merge(own);
        }
        reading.back_max_ns = reading.back_max_ns.max(outcome.back_max_ns);
        reading.span_ns.0 = reading.span_ns.0.min(outcome.span_ns.0);
        reading.span_ns.1 = reading.span_ns.1.max(outcome.span_ns.1);
        for (offset, lines) in outcome.offsets {
            *reading.offsets.entry(offset).or_default() += lines;
        }
    }
    let mut all = Steps::default();
    for (file, own) in reading.files.iter_mut().zip(steps) {
        file.step_s = (own.lines() > 0).then(|| own.step_ns() as f64 / 1e9);
        all.merge(own);
    }
    (reading.step_ns, reading.finer) = (all.step_ns(), all.finer());
    reading.samples.sort_unstable();
    reading.samples.truncate(SAMPLES_MAX);
    reading
}
