//! Lines to numbers.

use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::io;

use jiff::tz::TimeZone;

use super::{LINE_BITS, Noticed, SAMPLES_MAX, SEGMENTS_MAX, SHAPES_MAX, Steps, Work};
use crate::entry::{Entry, clean_target, is_method};
use crate::format::{Format, key};
use crate::input::{LINE_BYTES_MAX, without_end};
use crate::line_part::Part;
use crate::line_problems::{Faults, Kind};
use crate::request_record::{Hit, NO_SEGMENT};
use crate::route::{Names, shape};
use crate::settings::Settings;
use crate::sorter::{Run, Scratch, Sorter};
use crate::time::{Placed, Stamp, place};

/// What a rule's name begins with as a shape, which no method does.
pub(crate) const RULE: char = '=';
/// Lines that are this much before the one above are told: servers write a line when its request ends.
const BACK_TOLD_NS: i64 = 1_000_000_000;

/// What a shape asks for, chosen among all lines alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sample {
    /// By which it was chosen.
    pub(crate) lot: u64,
    pub(crate) shape: u32,
    pub(crate) method: String,
    pub(crate) target: String,
}

/// What one reader made of its lines.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) lines: u64,
    pub(super) hits: u64,
    pub(super) without: u64,
    pub(super) runs: Vec<Run<Hit>>,
    pub(super) samples: Vec<Sample>,
    pub(super) faults: Faults,
    /// By the place of the file: its lines, good and bad, and the steps of its clock.
    pub(super) of_files: BTreeMap<u32, (u64, Steps)>,
    pub(super) noticed: Noticed,
    pub(super) offsets: BTreeMap<i32, u64>,
    pub(super) back_max_ns: i64,
    pub(super) span_ns: (i64, i64),
}

pub(super) struct Lines<'a> {
    settings: &'a Settings,
    zone: Option<TimeZone>,
    shapes: &'a Names,
    segments: &'a Names,
    known_shapes: HashMap<Vec<u8>, u32>,
    known_segments: HashMap<Vec<u8>, u16>,
    sorter: Sorter<'a, Hit>,
    samples: BinaryHeap<Sample>,
    outcome: Outcome,
    /// Of the piece that is being read.
    steps: Steps,
    shape: Vec<u8>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(
        settings: &'a Settings,
        zone: Option<TimeZone>,
        shapes: &'a Names,
        segments: &'a Names,
        (scratch, number, runs_in_memory): (&'a Scratch, usize, usize),
    ) -> Lines<'a> {
        Lines {
            settings,
            zone,
            shapes,
            segments,
            known_shapes: HashMap::new(),
            known_segments: HashMap::new(),
            sorter: Sorter::new(scratch, format!("hits-{number}"), runs_in_memory),
            samples: BinaryHeap::new(),
            outcome: Outcome {
                lines: 0,
                hits: 0,
                without: 0,
                runs: Vec::new(),
                samples: Vec::new(),
                faults: Faults::default(),
                of_files: BTreeMap::new(),
                noticed: Noticed::new(settings),
                offsets: BTreeMap::new(),
                back_max_ns: 0,
                span_ns: (i64::MAX, i64::MIN),
            },
            steps: Steps::default(),
            shape: Vec::new(),
        }
    }

    pub(super) fn piece(&mut self, work: &Work) -> io::Result<()> {
        let usual = || {
            let key = key(&work.format.name());
            key.parse().expect("the keys of formats are parts")
        };
        let key = self.settings.key.clone().unwrap_or_else(usual);
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
            let place = (work.file, work.first_line + number);
            let order = work.number << LINE_BITS | number;
            number += 1;
            if line.trim_ascii_start().is_empty() || work.format.is_remark(line) {
                continue;
            }
            self.outcome.lines += 1;
            // Only those that reach beyond a piece are found while cutting pieces.
            if length > LINE_BYTES_MAX {
                let faults = &mut self.outcome.faults;
                faults.add(Kind::TooLong, place, line, &work.name);
                continue;
            }
            if work.cut_off && !whole {
                self.outcome
                    .faults
                    .add(Kind::CutOff, place, line, &work.name);
                continue;
            }
            let parsed = work.format.parse(line);
            if named {
                self.names(&parsed, line, &work.format);
            }
            let hit = parsed.and_then(|mut entry| {
                entry.join_query();
                self.hit(&entry, &key, order)
            });
            match hit {
                Ok(Some((hit, odd))) => {
                    if let Some(kind) = odd {
                        self.outcome.faults.add(kind, place, line, &work.name);
                    }
                    if std::str::from_utf8(line).is_err() {
                        self.outcome
                            .faults
                            .add(Kind::NotUtf8, place, line, &work.name);
                    }
                    let back_ns = last_ns.saturating_sub(hit.time_ns);
                    if last_ns != i64::MIN && back_ns > BACK_TOLD_NS {
                        self.outcome
                            .faults
                            .add(Kind::ClockBack, place, line, &work.name);
                        self.outcome.back_max_ns = self.outcome.back_max_ns.max(back_ns);
                    }
                    last_ns = hit.time_ns;
                    self.outcome.hits += 1;
                    self.sorter.push(hit)?;
                }
                Ok(None) => self.outcome.without += 1,
                Err(kind) => self.outcome.faults.add(kind, place, line, &work.name),
            }
        }
        let steps = std::mem::take(&mut self.steps);
        let (lines, of_file) = self.outcome.of_files.entry(work.file).or_default();
        *lines += self.outcome.lines - before;
        of_file.merge(steps);
        Ok(())
    }

    /// Looks which of the names that were given for fields a line has; of a bad one, too.
    fn names(&mut self, parsed: &Result<Entry<'_>, Kind>, line: &[u8], format: &Format) {
        let given = &self.settings.fields;
        let noticed = &mut self.outcome.noticed;
        match parsed {
            Ok(entry) => noticed.names(given, |name| entry.named.iter().any(|own| own.0 == name)),
            Err(_) => {
                let names = format.names(line);
                if !names.is_empty() {
                    noticed.names(given, |name| names.iter().any(|own| own == name));
                }
            }
        }
    }

    /// The line in numbers, and what is odd of its time; `None` where the settings leave it out.
    fn hit(
        &mut self,
        entry: &Entry<'_>,
        key: &Part,
        order: u64,
    ) -> Result<Option<(Hit, Option<Kind>)>, Kind> {
        if self.is_left_out(entry) {
            return Ok(None);
        }
        let stamp = entry.time.ok_or(Kind::NoTime)?;
        let (time_ns, odd) = self.time(stamp)?;
        if entry.target.is_empty() {
            return Err(Kind::Request);
        }
        let target = clean_target(&entry.target).ok_or(Kind::NoPath)?;
        let key = key.of(entry).ok_or(Kind::NoKey)?;
        let mut hasher = DefaultHasher::new();
        hasher.write(&key);
        let method = entry.method_or_get();
        if !is_method(method) {
            return Err(Kind::Request);
        }
        self.outcome.noticed.request(entry);
        let shape = self.shape(method, &target);
        let segment = self.segment(entry);
        self.sample(order, shape, method, &target);
        let span = &mut self.outcome.span_ns;
        *span = (span.0.min(time_ns), span.1.max(time_ns));
        let hit = Hit {
            key: hasher.finish(),
            time_ns,
            order,
            shape,
            segment,
            status: entry.status,
        };
        Ok(Some((hit, odd)))
    }

    /// Whether a part that leaves lines out matches. Each that has not matched yet is asked, so that those which never
    /// do are known.
    fn is_left_out(&mut self, entry: &Entry<'_>) -> bool {
        let mut out = false;
        let matched = &mut self.outcome.noticed.without;
        for (part, matched) in self.settings.without.iter().zip(matched) {
            if (!out || !*matched) && part.of(entry).is_some() {
                (out, *matched) = (true, true);
            }
        }
        out
    }

    fn time(&mut self, stamp: Stamp) -> Result<(i64, Option<Kind>), Kind> {
        self.outcome.noticed.no_zone += u64::from(stamp.offset_s.is_none());
        let (seconds, offset_s, odd) = match (stamp.offset_s, &self.zone) {
            (Some(offset_s), _) => (stamp.seconds, offset_s, None),
            (None, None) => (stamp.seconds, 0, Some(Kind::NoZone)),
            (None, Some(zone)) => {
                let (seconds, odd) = match place(stamp.seconds, zone).ok_or(Kind::NotATime)? {
                    Placed::Once(seconds) => (seconds, None),
                    Placed::Twice(seconds) => (seconds, Some(Kind::TimeTwice)),
                    Placed::Never(seconds) => (seconds, Some(Kind::TimeNever)),
                };
                (seconds, (stamp.seconds - seconds) as i32, odd)
            }
        };
        self.steps.add(stamp.nanos);
        *self.outcome.offsets.entry(offset_s).or_default() += 1;
        Ok((seconds * 1_000_000_000 + i64::from(stamp.nanos), odd))
    }

    /// The number of the request's shape, or of the first rule that it matches.
    fn shape(&mut self, method: &[u8], target: &[u8]) -> u32 {
        let rules = &self.settings.rules;
        let ruled = (!rules.is_empty()).then(|| {
            let whole = [method, b" ", target].concat();
            rules.iter().position(|rule| rule.matches(&whole))
        });
        match ruled.flatten() {
            Some(place) => {
                self.outcome.noticed.rules[place] += 1;
                let name = format!("{RULE}{}", rules[place].name);
                self.shape.clear();
                self.shape.extend_from_slice(name.as_bytes());
            }
            None => shape(method, target, &mut self.shape),
        }
        if let Some(&number) = self.known_shapes.get(&self.shape) {
            return number;
        }
        let number = self.shapes.number(&self.shape);
        if self.known_shapes.len() < SHAPES_MAX {
            self.known_shapes.insert(self.shape.clone(), number);
        }
        number
    }

    fn segment(&mut self, entry: &Entry<'_>) -> u16 {
        let Some(text) = self
            .settings
            .segment
            .as_ref()
            .and_then(|part| part.of(entry))
        else {
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
    fn sample(&mut self, order: u64, shape: u32, method: &[u8], target: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(order);
        let lot = hasher.finish();
        let full = self.samples.len() >= SAMPLES_MAX;
        if full && self.samples.peek().is_some_and(|last| last.lot < lot) {
            return;
        }
        self.samples.push(Sample {
            lot,
            shape,
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
