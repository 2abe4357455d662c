//! Lines to numbers.

use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::hash::{DefaultHasher, Hasher};
use std::io;

use jiff::tz::TimeZone;

use super::{LINE_BITS, SAMPLES_MAX, SEGMENTS_MAX, SHAPES_MAX, Steps, Work};
use crate::entry::{Entry, clean_target};
use crate::faults::{Faults, Kind};
use crate::format::key;
use crate::hit::{Hit, NO_SEGMENT};
use crate::input::LINE_BYTES_MAX;
use crate::part::Part;
use crate::settings::Settings;
use crate::shape::{Names, shape};
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
    /// By the place of the file.
    pub(super) steps: BTreeMap<u32, Steps>,
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
                steps: BTreeMap::new(),
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
        let end = work.bytes.len();
        let mut at = 0;
        let mut number = 0;
        while at < end {
            let next = memchr::memchr(b'\n', &work.bytes[at..]).map_or(end, |found| at + found + 1);
            let line = work.bytes[at..next].trim_ascii_end();
            let whole = work.bytes[at..next].ends_with(b"\n");
            let length = next - at - usize::from(whole);
            at = next;
            let place = (work.file, work.first_line + number);
            let order = work.number << LINE_BITS | number;
            number += 1;
            if line.is_empty() || work.format.is_remark(line) {
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
            let hit = work
                .format
                .parse(line)
                .and_then(|entry| self.hit(&entry, &key, order));
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
        let of_file = self.outcome.steps.entry(work.file).or_default();
        of_file.merge(steps);
        Ok(())
    }

    /// The line in numbers, and what is odd of its time; `None` where the settings leave it out.
    fn hit(
        &mut self,
        entry: &Entry<'_>,
        key: &Part,
        order: u64,
    ) -> Result<Option<(Hit, Option<Kind>)>, Kind> {
        if self
            .settings
            .without
            .iter()
            .any(|part| part.of(entry).is_some())
        {
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
        let method = if entry.method.is_empty() {
            b"GET"
        } else {
            &entry.method[..]
        };
        if !method.iter().all(|b| b.is_ascii_alphabetic() || *b == b'-') {
            return Err(Kind::Request);
        }
        let shape = self.shape(method, &target, entry.query.as_ref());
        let segment = self.segment(entry);
        self.sample(order, shape, method, &target, entry.query.as_ref());
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

    fn time(&mut self, stamp: Stamp) -> Result<(i64, Option<Kind>), Kind> {
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
    fn shape(&mut self, method: &[u8], target: &[u8], query: &[u8]) -> u32 {
        let ruled = (!self.settings.rules.is_empty()).then(|| {
            let whole = [method, b" ", target].concat();
            let found = self.settings.rules.iter().find(|rule| rule.matches(&whole));
            found.map(|rule| format!("{RULE}{}", rule.name))
        });
        match ruled.flatten() {
            Some(name) => {
                self.shape.clear();
                self.shape.extend_from_slice(name.as_bytes());
            }
            None => {
                shape(method, target, &mut self.shape);
                if !query.is_empty() && !self.shape.ends_with(b"?") {
                    self.shape.push(b'?');
                }
            }
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
    fn sample(&mut self, order: u64, shape: u32, method: &[u8], target: &[u8], query: &[u8]) {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(order);
        let lot = hasher.finish();
        let full = self.samples.len() >= SAMPLES_MAX;
        if full && self.samples.peek().is_some_and(|last| last.lot < lot) {
            return;
        }
        let mut target = String::from_utf8_lossy(target).into_owned();
        if !query.is_empty()
            && !target.contains('?')
            && let Some(query) = clean_target(&[b"/", query].concat())
        {
            target.push('?');
            target.push_str(&String::from_utf8_lossy(&query)[1..]);
        }
        self.samples.push(Sample {
            lot,
            shape,
            method: String::from_utf8_lossy(method).into_owned(),
            target,
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
