//! The binary log of Gatling (`simulation.log` since 3.13): records, each behind a byte that says its kind, with
//! big-endian numbers. Times are milliseconds since the run's start, which the first record states. A text of the
//! later records is written once; from then on the negative of its number, from 1, stands for it.
//!
//! ```text
//! 0  version  class  start (8 bytes)  description  scenarios  assertions       the run
//! 1  groups  name  start  end  1 if OK  message                                a request
//! 2  scenario  1 if it starts  time                                            a user
//! 3  groups  start  end  time of its requests  1 if OK                         a group
//! 4  message  time                                                             an error
//! ```
//!
//! Source: `LogFileDataWriter.scala` and `LogFileReader.scala` of Gatling 3.13 and 3.14.

use super::gatling::failure;
use crate::samples::number::Unit;
use crate::samples::results::{
    BadLine, Builder, End, FoundOperation, REQUEST, ReadOptions, ResultsError, ToolResults,
};

const TOOL: &str = "Gatling, binary log";
/// Most bytes of a text. Gatling's buffer, which a text does not exceed, has 8,192 unless it is configured.
const TEXT_BYTES_MAX: usize = 1 << 20;
/// Characters of a text that are kept.
const TEXT_CHARS_KEPT: usize = 1_000;
/// Most groups around a request.
const GROUPS_MAX: usize = 100;
/// Bytes of a name from which no more groups are added.
const NAME_BYTES_MAX: usize = 4_000;
/// Most scenarios, and most assertions, of a run.
const PARTS_MAX: usize = 100_000;

/// A fault within a record.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// The file ends within the record.
    Cut,
    /// It is none that Gatling writes.
    Bad(String),
}

impl From<BadLine> for Fault {
    fn from(bad: BadLine) -> Fault {
        Fault::Bad(bad.problem)
    }
}

/// The part of a log that has not been read.
struct Log<'b> {
    rest: &'b [u8],
    /// Texts that may come again.
    texts: Vec<String>,
}

/// True if a file with this beginning is such a log.
pub(super) fn is_log(head: &[u8]) -> bool {
    let mut log = Log { rest: head, texts: Vec::new() };
    log.byte() == Ok(0) && log.text().is_ok_and(|version| version.starts_with("3."))
}

/// Reads the requests of a log. A run that was ended by force leaves an incomplete record at the end.
pub(super) fn read(bytes: &[u8], options: &ReadOptions) -> Result<ToolResults, ResultsError> {
    let mut builder = Builder::new(TOOL, options);
    let mut log = Log { rest: bytes, texts: Vec::new() };
    let begin_ms = log.run().map_err(|fault| match fault {
        Fault::Cut => document("the file ends before its first request"),
        Fault::Bad(problem) => document(&format!("the record of the run: {problem}")),
    })?;
    let mut records: usize = 1;
    while !log.rest.is_empty() {
        records += 1;
        match log.record(records, begin_ms, &mut builder) {
            Ok(()) => {}
            Err(Fault::Bad(problem)) => {
                return Err(document(&format!("record {records}: {problem}")));
            }
            Err(Fault::Cut) => {
                let sentence = format!("the end: the file stops within its record {records}");
                builder.lacks(&sentence);
                break;
            }
        }
    }
    builder.finish(true)
}

/// Milliseconds in nanoseconds; `None` of a negative or too large number.
fn nanoseconds(ms: i64) -> Option<u64> {
    u64::try_from(ms).ok()?.checked_mul(Unit::Ms.ns())
}

fn document(problem: &str) -> ResultsError {
    ResultsError::Document { tool: TOOL, problem: problem.to_owned() }
}

impl<'b> Log<'b> {
    /// The record of the run: when it started, in milliseconds since 1970.
    fn run(&mut self) -> Result<i64, Fault> {
        self.byte()?;
        self.text()?;
        self.text()?;
        let start = i64::from_be_bytes(self.array()?);
        self.text()?;
        for _ in 0..self.count(PARTS_MAX, "scenarios")? {
            self.text()?;
        }
        for _ in 0..self.count(PARTS_MAX, "assertions")? {
            let bytes = self.count(TEXT_BYTES_MAX, "bytes of an assertion")?;
            self.take(bytes)?;
        }
        Ok(start)
    }

    fn record(&mut self, number: usize, begin_ms: i64, builder: &mut Builder) -> Result<(), Fault> {
        match self.byte()? {
            1 => self.request(number, begin_ms, builder),
            2 => {
                self.take(4 + 1 + 4)?;
                builder.leave_out("starts and ends of users");
                Ok(())
            }
            3 => {
                self.groups()?;
                self.take(4 + 4 + 4 + 1)?;
                builder.leave_out("groups, whose requests have their names");
                Ok(())
            }
            4 => {
                self.known_text()?;
                self.take(4)?;
                builder.leave_out("errors that are no request's");
                Ok(())
            }
            kind => Err(Fault::Bad(format!("there is no kind {kind}; the file is damaged"))),
        }
    }

    fn request(
        &mut self,
        number: usize,
        begin_ms: i64,
        builder: &mut Builder,
    ) -> Result<(), Fault> {
        let mut name = self.groups()?;
        let own = self.known_text()?;
        let start_ms = begin_ms.saturating_add(i64::from(self.int()?));
        let end_ms = begin_ms.saturating_add(i64::from(self.int()?));
        let is_ok = self.byte()? == 1;
        let message = self.known_text()?;
        name.push_str(&self.texts[own]);
        let start_ns = nanoseconds(start_ms)
            .ok_or_else(|| Fault::Bad("the start of the request is no time".to_owned()))?;
        let time_ns = nanoseconds(end_ms.saturating_sub(start_ms))
            .ok_or_else(|| Fault::Bad("the request ends before it starts".to_owned()))?;
        let end = match is_ok {
            true => End::success(0),
            false => failure(&self.texts[message]),
        };
        let measure = builder.measure(number, &name, REQUEST)?;
        let found = FoundOperation { measure, start_ns, time_ns, end, bytes_out: 0, bytes_in: 0 };
        Ok(builder.push(number, &found)?)
    }

    /// The names of groups, as they begin the name of a request in them.
    fn groups(&mut self) -> Result<String, Fault> {
        let mut names = String::new();
        for _ in 0..self.count(GROUPS_MAX, "groups around a request")? {
            let group = self.known_text()?;
            if names.len() < NAME_BYTES_MAX {
                names.push_str(&self.texts[group]);
                names.push_str(" / ");
            }
        }
        Ok(names)
    }

    /// The place of a text that is written here, or was written before.
    fn known_text(&mut self) -> Result<usize, Fault> {
        let number = self.int()?;
        if number < 0 {
            let place = number.unsigned_abs() as usize - 1;
            return match place < self.texts.len() {
                true => Ok(place),
                false => Err(Fault::Bad(format!("there is no text {}", place + 1))),
            };
        }
        if number as usize != self.texts.len() + 1 {
            let problem = format!("text {number} follows {} others", self.texts.len());
            return Err(Fault::Bad(problem));
        }
        let text = self.text()?;
        self.texts.push(text);
        Ok(self.texts.len() - 1)
    }

    /// A text as the virtual machine keeps it: Latin-1, or UTF-16 in the order of the machine, which is little-endian.
    fn text(&mut self) -> Result<String, Fault> {
        let length = self.count(TEXT_BYTES_MAX, "bytes of a text")?;
        if length == 0 {
            return Ok(String::new());
        }
        let bytes = self.take(length)?;
        match self.byte()? {
            0 => Ok(bytes.iter().take(TEXT_CHARS_KEPT).map(|&byte| char::from(byte)).collect()),
            1 => {
                let units = bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]]));
                let chars =
                    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
                Ok(chars.take(TEXT_CHARS_KEPT).collect())
            }
            coder => Err(Fault::Bad(format!("a text has the unknown coding {coder}"))),
        }
    }

    /// A number of parts, within a limit.
    fn count(&mut self, most: usize, parts: &str) -> Result<usize, Fault> {
        let number = self.int()?;
        match usize::try_from(number) {
            Ok(count) if count <= most => Ok(count),
            _ => Err(Fault::Bad(format!("{number} {parts}; there are at most {most}"))),
        }
    }

    fn int(&mut self) -> Result<i32, Fault> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    fn byte(&mut self) -> Result<u8, Fault> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(Fault::Cut)?;
        self.rest = rest;
        Ok(*array)
    }

    fn take(&mut self, length: usize) -> Result<&'b [u8], Fault> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Fault::Cut)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;
    use crate::samples::Measurements;

    /// A log in the making.
    struct Writer {
        bytes: Vec<u8>,
        texts: Vec<String>,
    }

    impl Writer {
        /// The beginning of a log with a scenario and an assertion of three bytes.
        fn new() -> Writer {
            let mut log = Writer { bytes: vec![0], texts: Vec::new() };
            log.text("3.14.9").text("a.Sim").bytes.extend(1_675_412_206_000_i64.to_be_bytes());
            log.text("").int(1).text("Scn").int(1).int(3).bytes.extend([7, 8, 9]);
            log
        }

        fn byte(&mut self, byte: u8) -> &mut Writer {
            self.bytes.push(byte);
            self
        }

        fn int(&mut self, number: i32) -> &mut Writer {
            self.bytes.extend(number.to_be_bytes());
            self
        }

        /// As the virtual machine keeps it.
        fn text(&mut self, text: &str) -> &mut Writer {
            let latin: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(c).ok()).collect();
            let wide = || text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let coder = u8::from(latin.is_none());
            let bytes = latin.unwrap_or_else(wide);
            self.int(bytes.len() as i32).bytes.extend(&bytes);
            if !bytes.is_empty() {
                self.byte(coder);
            }
            self
        }

        fn known(&mut self, text: &str) -> &mut Writer {
            match self.texts.iter().position(|known| known == text) {
                Some(place) => self.int(-(place as i32 + 1)),
                None => {
                    self.texts.push(text.to_owned());
                    self.int(self.texts.len() as i32).text(text)
                }
            }
        }

        fn request(&mut self, groups: &[&str], name: &str, message: &str) -> &mut Writer {
            self.byte(1).int(groups.len() as i32);
            for group in groups {
                self.known(group);
            }
            self.known(name).int(263).int(476).byte(u8::from(message.is_empty())).known(message)
        }
    }

    fn read_log(bytes: &[u8]) -> Result<ToolResults, ResultsError> {
        crate::samples::read_results(bytes, &ReadOptions::default())
    }

    #[test]
    fn requests_have_their_groups_times_and_failures() {
        let mut log = Writer::new();
        log.byte(2).int(0).byte(1).int(100);
        log.request(&["shop", "cart"], "add", "").request(&["shop", "cart"], "add", "");
        log.request(&[], "pay – 支払い", "status.find.is(200), but actually found 503");
        log.byte(4).known("nobody feeds me").int(500);
        log.byte(3).int(1).known("shop").int(263).int(476).int(213).byte(1);
        log.request(&[], "add", "i.n.c.ConnectException: Connection refused");
        let results = read_log(&log.bytes).unwrap();
        let names: Vec<&str> = results.measures.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["shop / cart / add", "pay – 支払い", "add"]);
        let Measurements::Operations(all) = &results.measured else { panic!("{results:?}") };
        let shown: Vec<(u16, Outcome, u16)> =
            all.iter().map(|one| (one.measure, one.outcome, one.status)).collect();
        let expected = [
            (0, Outcome::Ok, 0),
            (0, Outcome::Ok, 0),
            (1, Outcome::Status, 503),
            (2, Outcome::Refused, 0),
        ];
        assert_eq!(shown, expected);
        assert!(results.has_starts);
        assert!(all.iter().all(|one| one.start_ns == 1_675_412_206_263_000_000));
        assert!(all.iter().all(|one| one.time_ns == 213_000_000));
        let left_out = "1 of errors that are no request's, 1 of groups, whose requests have their names, \
            1 of starts and ends of users: no operations";
        assert_eq!(results.absent, [left_out]);
    }

    /// One user of Gatling 3.14.9, whose requests it counted as 2 that succeeded and 2 that failed.
    #[test]
    fn a_log_that_gatling_wrote_has_its_requests() {
        let log = include_bytes!("../../../../../../testdata/import/simulation-3.14.9.log");
        let results = read_log(log).unwrap();
        let names: Vec<&str> = results.measures.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["shop / add", "pay – 支払い", "gone"]);
        let Measurements::Operations(all) = &results.measured else { panic!("{results:?}") };
        let shown: Vec<(Outcome, u16, u64)> =
            all.iter().map(|one| (one.outcome, one.status, one.time_ns / 1_000_000)).collect();
        let expected = [
            (Outcome::Ok, 0, 256),
            (Outcome::Status, 503, 10),
            (Outcome::Ok, 0, 12),
            (Outcome::Refused, 0, 3),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_log_that_is_cut_off_has_the_requests_before() {
        let mut log = Writer::new();
        log.request(&[], "a", "").request(&[], "b", "");
        let results = read_log(&log.bytes[..log.bytes.len() - 3]).unwrap();
        assert!(matches!(&results.measured, Measurements::Operations(all) if all.len() == 1));
        assert_eq!(results.absent, ["the end: the file stops within its record 3"]);
    }

    #[test]
    fn what_gatling_does_not_write_is_refused_with_its_record() {
        let sound = || {
            let mut log = Writer::new();
            log.request(&[], "a", "");
            log
        };
        let mut kind = sound();
        kind.byte(9);
        let mut text = sound();
        text.byte(1).int(0).int(-7);
        let mut skipped = sound();
        skipped.byte(1).int(0).int(9).text("b");
        let mut groups = sound();
        groups.byte(1).int(-1);
        let mut back = sound();
        back.byte(1).int(0).known("a").int(5).int(4).byte(1).known("");
        for (log, expected) in [
            (kind, "record 3: there is no kind 9"),
            (text, "record 3: there is no text 7"),
            (skipped, "record 3: text 9 follows 2 others"),
            (groups, "record 3: -1 groups around a request"),
            (back, "record 3: the request ends before it starts"),
        ] {
            let error = read_log(&log.bytes).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{TOOL}: {expected}")), "{error}");
        }
        let begin = Writer::new().bytes;
        let error = read_log(&begin[..20]).unwrap_err().to_string();
        assert_eq!(error, format!("{TOOL}: the file ends before its first request"));
        assert!(read_log(&begin).unwrap_err().to_string().contains("no operations"));
    }

    #[test]
    fn changed_bytes_are_read_or_refused() {
        let mut log = Writer::new();
        log.request(&["shop"], "add", "").request(&["shop"], "pay", "found 503");
        for place in 0..log.bytes.len() {
            for byte in [0, 1, 2, 127, 128, 255] {
                let mut bytes = log.bytes.clone();
                bytes[place] = byte;
                let _ = read_log(&bytes);
                let _ = read_log(&bytes[..place]);
            }
        }
    }
}
