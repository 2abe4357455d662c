//! Lines to numbers.

use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::io;

use jiff::tz::TimeZone;

use super::{LINE_BITS, LineStatistics, ROUTES_MAX, SAMPLES_MAX, SEGMENTS_MAX, Steps, Work};
use crate::entry::{Entry, clean_target, is_method};
use crate::format::{Format, key};
use crate::input::{LINE_BYTES_MAX, without_end};
use crate::interner::Interner;
use crate::line_part::LinePart;
use crate::line_problems::{LinePlace, LineProblems, ProblemKind};
use crate::request_record::{NO_SEGMENT, RequestRecord};
use crate::robots;
use crate::route::{RULE, route};
use crate::settings::Settings;
use crate::sorter::{Run, Scratch, Sorter};
use crate::target_sample::TargetSample;
use crate::time::{Stamp, ZonedSeconds, in_zone};

/// Lines that are this much before the one above are counted: servers write a line when its request ends.
const BACK_REPORTED_NS: i64 = 1_000_000_000;

/// The result of one reader's lines.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) lines: u64,
    pub(super) requests: u64,
    pub(super) without: u64,
    pub(super) runs: Vec<Run<RequestRecord>>,
    pub(super) samples: Vec<TargetSample>,
    pub(super) problems: LineProblems,
    /// By the place of the file: its lines, good and bad, and the steps of its clock.
    pub(super) of_files: BTreeMap<u32, (u64, Steps)>,
    pub(super) statistics: LineStatistics,
    pub(super) offsets: BTreeMap<i32, u64>,
    pub(super) back_max_ns: i64,
    pub(super) span_ns: (i64, i64),
}

pub(super) struct Lines<'a> {
    settings: &'a Settings,
    zone: Option<TimeZone>,
    routes: &'a Interner,
    segments: &'a Interner,
    known_routes: HashMap<Vec<u8>, u32>,
    known_segments: HashMap<Vec<u8>, u16>,
    sorter: Sorter<'a, RequestRecord>,
    samples: BinaryHeap<TargetSample>,
    outcome: Outcome,
    /// Steps of the piece that is being read.
    steps: Steps,
    route: Vec<u8>,
}

/// The part that identifies a user in lines of this format.
pub(super) fn key_of(settings: &Settings, format: &Format) -> LinePart {
    let usual = || {
        let key = key(&format.name());
        key.parse().expect("the keys of formats are parts")
    };
    settings.key.clone().unwrap_or_else(usual)
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        zone: Option<TimeZone>,
        routes: &'a Interner,
        segments: &'a Interner,
        scratch: &'a Scratch,
        number: usize,
        runs_in_memory: usize,
    ) -> Lines<'a> {
        Lines {
            settings,
            zone,
            routes,
            segments,
            known_routes: HashMap::new(),
            known_segments: HashMap::new(),
            sorter: Sorter::new(scratch, format!("requests-{number}"), runs_in_memory),
            samples: BinaryHeap::new(),
            outcome: Outcome {
                lines: 0,
                requests: 0,
                without: 0,
                runs: Vec::new(),
                samples: Vec::new(),
                problems: LineProblems::default(),
                of_files: BTreeMap::new(),
                statistics: LineStatistics::new(settings),
                offsets: BTreeMap::new(),
                back_max_ns: 0,
                span_ns: (i64::MAX, i64::MIN),
            },
            steps: Steps::default(),
            route: Vec::new(),
        }
    }

    pub(super) fn piece(&mut self, work: &Work) -> io::Result<()> {
        let key = key_of(self.settings, &work.format);
        let mut last_ns = i64::MIN;
        let before = self.outcome.lines;
        let named = work.format.brings_names() && !self.settings.fields.is_empty();
        let end = work.bytes.len();
        let mut at = 0;
        let mut number = 0;
        while at < end {
            let next = memchr::memchr(b'\n', &work.bytes[at..]).map_or(end, |found| at + found + 1);
            let line = without_end(&work.bytes[at..next]);
            let whole = work.bytes[at..next].ends_with(b"\n");
            let length = next - at - usize::from(whole);
            at = next;
            let place = LinePlace { file: work.file, line: work.first_line + number };
            let order = work.number << LINE_BITS | number;
            number += 1;
            if line.trim_ascii_start().is_empty() || work.format.is_remark(line) {
                continue;
            }
            self.outcome.lines += 1;
            // Only those that reach beyond a piece are found while cutting pieces.
            if length > LINE_BYTES_MAX {
                let problems = &mut self.outcome.problems;
                problems.add(ProblemKind::TooLong, place, line, &work.name);
                continue;
            }
            if work.cut_off && !whole {
                self.outcome.problems.add(ProblemKind::CutOff, place, line, &work.name);
                continue;
            }
            let parsed = work.format.parse(line);
            if named {
                self.names(&parsed, line, &work.format);
            }
            let request = parsed.and_then(|mut entry| {
                entry.join_query();
                self.request(&entry, &key, order)
            });
            match request {
                Ok(Some((request, odd))) => {
                    self.keep(request, odd, &mut last_ns, place, line, &work.name)?;
                }
                Ok(None) => self.outcome.without += 1,
                Err(kind) => self.outcome.problems.add(kind, place, line, &work.name),
            }
        }
        let steps = std::mem::take(&mut self.steps);
        let (lines, of_file) = self.outcome.of_files.entry(work.file).or_default();
        *lines += self.outcome.lines - before;
        of_file.merge(steps);
        Ok(())
    }

    /// Keeps a request, and counts what was odd about its line. `last_ns`: the time of the line above it.
    fn keep(
        &mut self,
        request: RequestRecord,
        odd: Option<ProblemKind>,
        last_ns: &mut i64,
        place: LinePlace,
        line: &[u8],
        name: &str,
    ) -> io::Result<()> {
        let problems = &mut self.outcome.problems;
        if let Some(kind) = odd {
            problems.add(kind, place, line, name);
        }
        if std::str::from_utf8(line).is_err() {
            problems.add(ProblemKind::NotUtf8, place, line, name);
        }
        let back_ns = last_ns.saturating_sub(request.time_ns);
        if *last_ns != i64::MIN && back_ns > BACK_REPORTED_NS {
            problems.add(ProblemKind::ClockBack, place, line, name);
            self.outcome.back_max_ns = self.outcome.back_max_ns.max(back_ns);
        }
        *last_ns = request.time_ns;
        self.outcome.requests += 1;
        self.sorter.push(request)
    }

    /// Looks which of the names that were given for fields a line has; of a bad one, too.
    fn names(&mut self, parsed: &Result<Entry<'_>, ProblemKind>, line: &[u8], format: &Format) {
        let given = &self.settings.fields;
        let statistics = &mut self.outcome.statistics;
        match parsed {
            Ok(entry) => {
                statistics.names(given, |name| entry.named.iter().any(|own| own.0 == name));
            }
            Err(_) => {
                let names = format.names(line);
                if !names.is_empty() {
                    statistics.names(given, |name| names.iter().any(|own| own == name));
                }
            }
        }
    }

    /// The line in numbers, and what is odd of its time; `None` where the settings leave it out.
    fn request(
        &mut self,
        entry: &Entry<'_>,
        key: &LinePart,
        order: u64,
    ) -> Result<Option<(RequestRecord, Option<ProblemKind>)>, ProblemKind> {
        if self.is_left_out(entry) {
            return Ok(None);
        }
        let stamp = entry.time.ok_or(ProblemKind::NoTime)?;
        let (time_ns, odd) = self.time(stamp)?;
        if entry.target.is_empty() {
            return Err(match entry.lacks_request {
                true => ProblemKind::NoRequest,
                false => ProblemKind::Request,
            });
        }
        let target = clean_target(&entry.target).ok_or(ProblemKind::NoPath)?;
        let key = key.text_of(entry).ok_or(ProblemKind::NoKey)?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&key);
        let method = entry.method_or_get();
        if !is_method(method) {
            return Err(ProblemKind::NoRequest);
        }
        self.outcome.statistics.request(entry);
        let route = self.route(method, &target);
        let segment = self.segment(entry);
        self.sample(order, route, method, &target);
        let span = &mut self.outcome.span_ns;
        *span = (span.0.min(time_ns), span.1.max(time_ns));
        let request = RequestRecord {
            key: hasher.finish(),
            time_ns,
            order,
            route,
            segment,
            status: entry.status,
        };
        Ok(Some((request, odd)))
    }

    /// Whether it is a robot's and those are left out, or a part that leaves lines out matches. Each part that has not matched
    /// yet is tried, to find those that never do.
    fn is_left_out(&mut self, entry: &Entry<'_>) -> bool {
        let mut out = self.settings.without_robots && robots::name(&entry.agent).is_some();
        let matched = &mut self.outcome.statistics.without;
        for (part, matched) in self.settings.without.iter().zip(matched) {
            if (!out || !*matched) && part.text_of(entry).is_some() {
                (out, *matched) = (true, true);
            }
        }
        out
    }

    fn time(&mut self, stamp: Stamp) -> Result<(i64, Option<ProblemKind>), ProblemKind> {
        self.outcome.statistics.no_zone += u64::from(stamp.offset_s.is_none());
        let (seconds, offset_s, odd) = match (stamp.offset_s, &self.zone) {
            (Some(offset_s), _) => (stamp.seconds, offset_s, None),
            (None, None) => (stamp.seconds, 0, Some(ProblemKind::NoZone)),
            (None, Some(zone)) => {
                let (seconds, odd) = match in_zone(stamp.seconds, zone)
                    .ok_or(ProblemKind::NotATime)?
                {
                    ZonedSeconds::Unique(seconds) => (seconds, None),
                    ZonedSeconds::Repeated(seconds) => (seconds, Some(ProblemKind::TimeRepeated)),
                    ZonedSeconds::Skipped(seconds) => (seconds, Some(ProblemKind::TimeSkipped)),
                };
                (seconds, (stamp.seconds - seconds) as i32, odd)
            }
        };
        self.steps.add(stamp.nanos);
        *self.outcome.offsets.entry(offset_s).or_default() += 1;
        Ok((seconds * 1_000_000_000 + i64::from(stamp.nanos), odd))
    }

    /// The number of the request's route, or of the first rule that it matches.
    fn route(&mut self, method: &[u8], target: &[u8]) -> u32 {
        let rules = &self.settings.rules;
        let ruled = (!rules.is_empty()).then(|| {
            let whole = [method, b" ", target].concat();
            rules.iter().position(|rule| rule.matches(&whole))
        });
        match ruled.flatten() {
            Some(place) => {
                self.outcome.statistics.rules[place] += 1;
                let name = format!("{RULE}{}", rules[place].name);
                self.route.clear();
                self.route.extend_from_slice(name.as_bytes());
            }
            None => route(method, target, &mut self.route),
        }
        if let Some(&number) = self.known_routes.get(&self.route) {
            return number;
        }
        let number = self.routes.number(&self.route);
        if self.known_routes.len() < ROUTES_MAX {
            self.known_routes.insert(self.route.clone(), number);
        }
        number
    }

    fn segment(&mut self, entry: &Entry<'_>) -> u16 {
        let Some(text) = self.settings.segment.as_ref().and_then(|part| part.text_of(entry)) else {
            return NO_SEGMENT;
        };
        if let Some(&number) = self.known_segments.get(&*text) {
            return number;
        }
        let number = self.segments.number(&text) as u16;
        if self.known_segments.len() < SEGMENTS_MAX {
            self.known_segments.insert(text.into_owned(), number);
        }
        number
    }

    /// Keeps the targets of the lines with the lowest lots, which follow from their places alone.
    fn sample(&mut self, order: u64, route: u32, method: &[u8], target: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(order);
        let lot = hasher.finish();
        let full = self.samples.len() >= SAMPLES_MAX;
        if full && self.samples.peek().is_some_and(|last| last.lot < lot) {
            return;
        }
        self.samples.push(TargetSample {
            lot,
            route,
            method: String::from_utf8_lossy(method).into_owned(),
            target: String::from_utf8_lossy(target).into_owned(),
        });
        if full {
            self.samples.pop();
        }
    }

    pub(super) fn finish(self) -> io::Result<Outcome> {
        let mut outcome = self.outcome;
        outcome.runs = self.sorter.finish()?;
        outcome.samples = self.samples.into_vec();
        Ok(outcome)
    }
}
