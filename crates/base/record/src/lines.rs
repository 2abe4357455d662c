//! Files of JSON objects, one a line: `events.jsonl`, `errors.jsonl`, `samples.jsonl`.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Durability, RecordError, whole};

/// Longest line that is still read where lines are read one by one: far above what a failure takes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Appends objects; each is in the file when [`write`](Self::write) returns.
#[derive(Debug)]
pub struct LinesWriter<T> {
    path: PathBuf,
    file: File,
    durability: Durability,
    line: PhantomData<fn(&T)>,
}

impl<T: Serialize> LinesWriter<T> {
    pub(crate) fn create(
        path: PathBuf,
        durability: Durability,
    ) -> Result<LinesWriter<T>, RecordError> {
        let file = File::create(&path).map_err(RecordError::io("create", &path))?;
        Ok(LinesWriter { path, file, durability, line: PhantomData })
    }

    /// Appends one line.
    ///
    /// # Errors
    /// I/O errors.
    pub fn write(&mut self, one: &T) -> Result<(), RecordError> {
        self.write_all(std::slice::from_ref(one))
    }

    /// Appends a line for each.
    ///
    /// # Errors
    /// I/O errors.
    pub fn write_all(&mut self, all: &[T]) -> Result<(), RecordError> {
        let mut lines = Vec::new();
        for one in all {
            serde_json::to_writer(&mut lines, one)
                .map_err(|error| RecordError::io("write", &self.path)(error.into()))?;
            lines.push(b'\n');
        }
        self.file.write_all(&lines).map_err(RecordError::io("write", &self.path))
    }

    /// Syncs what was written to the disk, where a power cut is to be survived.
    ///
    /// # Errors
    /// I/O errors.
    pub fn checkpoint(&mut self) -> Result<(), RecordError> {
        self.durability.sync(&self.file, &self.path)
    }
}

/// All objects of the file, but for a last line that was cut off and lines that later versions have written, as
/// `is_unknown` says.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    is_unknown: impl Fn(&str) -> bool,
) -> Result<Vec<T>, RecordError> {
    let text = whole::read_lossy(path)?.unwrap_or_default();
    let mut all = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str(line) {
            Ok(one) => all.push(one),
            Err(_) if !line.ends_with('\n') => {}
            Err(_) if is_unknown(line) => {}
            Err(error) => {
                return Err(RecordError::damaged(path, format!("line {}: {error}", number + 1)));
            }
        }
    }
    Ok(all)
}

/// Passes on all objects of the file in its order, but for a last line that was cut off. However long the file is, one line
/// at a time is in memory.
pub(crate) fn each<T: DeserializeOwned>(
    path: &Path,
    mut each: impl FnMut(T),
) -> Result<(), RecordError> {
    let Some(file) = whole::if_there(path, regular::open(path))? else {
        return Ok(());
    };
    let mut file = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1_u64.. {
        line.clear();
        let mut limited = file.by_ref().take(LINE_BYTES_MAX);
        limited.read_until(b'\n', &mut line).map_err(RecordError::io("read", path))?;
        if line.is_empty() {
            break;
        }
        match serde_json::from_str(&String::from_utf8_lossy(&line)) {
            Ok(one) => each(one),
            Err(_) if !line.ends_with(b"\n") && (line.len() as u64) < LINE_BYTES_MAX => {}
            Err(error) => {
                return Err(RecordError::damaged(path, format!("line {number}: {error}")));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{ErrorCount, ErrorSample};

    fn count(start_ns: u64, detail: Option<&str>) -> ErrorCount {
        ErrorCount {
            start_ns,
            phase: 0,
            measure: Some(1),
            own_step: None,
            kind: "status".to_owned(),
            detail: detail.map(str::to_owned),
            count: 3,
        }
    }

    fn counts_in(path: &Path) -> Result<Vec<ErrorCount>, RecordError> {
        let mut counts = Vec::new();
        each(path, |count| counts.push(count))?;
        Ok(counts)
    }

    #[test]
    fn errors_and_samples_come_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("errors.jsonl");
        let counts = [count(0, Some("503")), count(1_000_000_000, None)];
        let mut writer = LinesWriter::create(path.clone(), Durability::Process).unwrap();
        writer.write_all(&counts).unwrap();
        writer.checkpoint().unwrap();
        assert_eq!(counts_in(&path).unwrap(), counts);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("own_step") && text.matches("detail").count() == 1, "{text}");

        let path = dir.path().join("samples.jsonl");
        let sample = ErrorSample {
            at_ns: 5,
            measure: None,
            own_step: Some("`set` of `code`".to_owned()),
            kind: "status".to_owned(),
            detail: Some("503".to_owned()),
            user: u64::MAX,
            text: "line\nbreak".to_owned(),
            request: Some("GET /a".to_owned()),
            status: None,
            headers: vec![("retry-after".to_owned(), "5".to_owned())],
            body: None,
        };
        let mut writer = LinesWriter::create(path.clone(), Durability::Process).unwrap();
        writer.write(&sample).unwrap();
        assert_eq!(read::<ErrorSample>(&path, |_| false).unwrap(), [sample]);
    }

    #[test]
    fn a_torn_last_line_is_skipped_and_a_bad_one_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("errors.jsonl");
        let line = serde_json::to_string(&count(7, None)).unwrap();
        std::fs::write(&path, format!("{line}\n{}", &line[..20])).unwrap();
        let in_one_piece = |path: &Path| read::<ErrorCount>(path, |_| false);
        assert_eq!(counts_in(&path).unwrap(), [count(7, None)]);
        assert_eq!(in_one_piece(&path).unwrap(), [count(7, None)]);
        std::fs::write(&path, format!("{line}\n{{}}\n")).unwrap();
        for error in [counts_in(&path).unwrap_err(), in_one_piece(&path).unwrap_err()] {
            let error = error.to_string();
            assert!(error.contains("errors.jsonl is damaged: line 2: missing field"), "{error}");
        }
        let none = dir.path().join("none");
        assert!(counts_in(&none).unwrap().is_empty() && in_one_piece(&none).unwrap().is_empty());
        std::fs::write(&path, vec![b'x'; LINE_BYTES_MAX as usize]).unwrap();
        let error = counts_in(&path).unwrap_err().to_string();
        assert!(error.contains("errors.jsonl is damaged: line 1: "), "{error}");
    }
}
