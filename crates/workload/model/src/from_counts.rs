//! Makes a model of counts: the number of requests in each second.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::path::Path;

use crate::arrivals::{self, COUNTS_MAX, Counts};
use crate::behaviour::{Tally, behaviours};
use crate::class::{Class, Target};
use crate::input::Input;
use crate::read::FileRead;
use crate::settings::Settings;
use crate::{ALL, BuiltModel, FORMAT_VERSION, Log, Model, ModelError, Segment};
use crate::{findings, segment_arrivals, stem};

/// Reads a file of numbers, parted by blanks, commas or line ends, and models them: each counts the
/// requests of `bin_s` seconds. `local_s`: what the clock on the wall showed at the beginning, as seconds
/// since 1970.
///
/// # Errors
/// If the file cannot be read, has something else in it, or more numbers than half a year has seconds.
pub fn from_counts(
    path: &Path,
    bin_s: u64,
    local_s: i64,
    settings: &Settings,
) -> Result<BuiltModel, ModelError> {
    let (bins, cut_off) = numbers(path)?;
    let lines = bins.len() as u64;
    let users: u64 = bins.iter().map(|&count| u64::from(count)).sum();
    if users == 0 {
        let why = match &cut_off {
            Some(why) => format!(": it ends too early: {why}"),
            None => ": every count is 0".to_owned(),
        };
        return Err(ModelError::Nothing { lines, why });
    }
    let counts = Counts { bins, bin_s: bin_s.max(1), local_s };
    let arrivals = arrivals::analyse(&counts, None, settings.arrivals, settings.seed);
    let tally = Tally::new(1, 1, 0, settings.seed);
    let mut behaviour = behaviours(std::slice::from_ref(&tally), bin_s as f64, 1).remove(0);
    // Every user sends one request.
    behaviour.starts = vec![users];
    behaviour.exits = vec![users];
    behaviour.lengths = BTreeMap::from([(1, users)]);
    let mut model = Model {
        format: FORMAT_VERSION,
        name: stem(path),
        log: log(path, &counts, users, cut_off),
        key: String::new(),
        segment_by: None,
        users,
        gap: None,
        classes: vec![only_class(users)],
        segments: vec![Segment {
            name: ALL.to_owned(),
            sessions: users,
            requests: users,
            arrivals: None,
            process: None,
            behaviour,
        }],
        arrivals,
        behaviour: settings.behaviour,
        seed: settings.seed,
        findings: Vec::new(),
    };
    model.findings = findings::findings(&model);
    let whole = segment_arrivals::trace_of_all(&counts, &model.arrivals);
    Ok(BuiltModel::with_one_process(model, whole))
}

/// The log of a file of counts.
fn log(path: &Path, counts: &Counts, users: u64, cut_off: Option<String>) -> Log {
    let lines = counts.bins.len() as u64;
    let span_s = lines * counts.bin_s;
    Log {
        files: vec![FileRead {
            name: path.display().to_string(),
            format: "counts".to_owned(),
            lines,
            step_s: Some(counts.bin_s as f64),
            cut_off,
        }],
        lines,
        requests: users,
        without: 0,
        problems: BTreeMap::new(),
        step_s: counts.bin_s as f64,
        finer: 0,
        first_unix_s: counts.local_s,
        last_unix_s: counts.local_s + span_s as i64,
        offsets: BTreeMap::new(),
        back_max_s: 0.0,
    }
}

/// The class of all requests: counts do not show what they were for.
fn only_class(users: u64) -> Class {
    Class {
        name: "GET /".to_owned(),
        state: "get".to_owned(),
        requests: users,
        targets: vec![Target { method: "GET".to_owned(), target: "/".to_owned(), weight: 1 }],
        statuses: BTreeMap::new(),
    }
}

/// The numbers of a file; and why there are not more, where it is packed, and damaged or cut off.
fn numbers(path: &Path) -> Result<(Vec<u32>, Option<String>), ModelError> {
    let unreadable = |source| ModelError::Read { path: path.to_owned(), source };
    let bad = |why: String| ModelError::Counts { path: path.to_owned(), why };
    let mut input = CountReader { bins: Vec::new(), number: None, line: 1 };
    let mut file = Input::open_whole(path).map_err(unreadable)?;
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => {
                input.end();
                return Ok((input.bins, None));
            }
            Ok(got) => input.take(&buffer[..got]).map_err(bad)?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.raw_os_error().is_some() => return Err(unreadable(error)),
            // The number before the cut may have had more digits.
            Err(error) => return Ok((input.bins, Some(error.to_string()))),
        }
    }
}

/// Numbers as they come, in pieces cut anywhere.
struct CountReader {
    bins: Vec<u32>,
    number: Option<u32>,
    line: u64,
}

impl CountReader {
    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        for &byte in bytes {
            match byte {
                b'0'..=b'9' => {
                    let before = self.number.unwrap_or(0);
                    let number =
                        before.checked_mul(10).and_then(|n| n.checked_add(u32::from(byte - b'0')));
                    let fault = || {
                        format!(
                            "number {} in line {} is too large for a count",
                            self.bins.len() + 1,
                            self.line
                        )
                    };
                    self.number = Some(number.ok_or_else(fault)?);
                }
                b' ' | b'\t' | b'\r' | b'\n' | b',' => {
                    self.end();
                    self.line += u64::from(byte == b'\n');
                }
                other => {
                    return Err(format!(
                        "number {} in line {} contains {:?}; expected counts such as 0 1 4 2",
                        self.bins.len() + 1,
                        self.line,
                        char::from(other)
                    ));
                }
            }
            if self.bins.len() as u64 > COUNTS_MAX {
                return Err(format!("more than {COUNTS_MAX} numbers"));
            }
        }
        Ok(())
    }

    fn end(&mut self) {
        self.bins.extend(self.number.take());
    }
}
