//! Making a run directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use crate::files::{
    ERRORS, EVENTS, IMPORT, INPUTS, LATENCY, METRICS, RUN, SAMPLES, SCENARIO, SERIES, SUMMARY,
    TALLY,
};
use crate::lines::LinesWriter;
use crate::schema::{ErrorCount, ErrorSample, MetricRow, RunInfo, RunStatus, Summary, Tally};
use crate::{
    Durability, EventsWriter, Import, LatencyWriter, ProbesWriter, RecordError, RequestsWriter,
    SeriesWriter, whole,
};

/// Longest name in an id, in bytes.
const NAME_MAX: usize = 60;

/// The directory of a run in progress, to write to.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
    durability: Durability,
}

impl RunDir {
    /// Creates `root`/`info.id` (and `root` if it is missing) with `scenario.yaml` and a
    /// `run.json` whose status is [`RunStatus::Running`] whatever `info` says: should the run be
    /// killed, the directory shows it.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if the directory exists already; else an error of the system.
    pub fn create(root: &Path, info: &RunInfo, scenario_text: &str) -> Result<RunDir, RecordError> {
        RunDir::create_durable(root, info, scenario_text, Durability::Process)
    }

    /// As [`create`](Self::create); `durability` is what the record survives.
    ///
    /// # Errors
    /// [`RecordError::Exists`] if the directory exists already; else an I/O error.
    pub fn create_durable(
        root: &Path,
        info: &RunInfo,
        scenario_text: &str,
        durability: Durability,
    ) -> Result<RunDir, RecordError> {
        let dir = RunDir::make(root, info, durability)?;
        let scenario = dir.path.join(SCENARIO);
        whole::write_durable(&scenario, scenario_text.as_bytes(), durability)?;
        dir.update_info(&RunInfo { status: RunStatus::Running, ..info.clone() })?;
        Ok(dir)
    }

    /// Creates `root`/`info.id` (and `root` if it is missing) for results that were published by
    /// somebody else: with `import.json`, without a scenario. `run.json` is written at once; what is
    /// not there is missing, and not on its way.
    ///
    /// # Errors
    /// As for [`create`](Self::create).
    pub fn import(root: &Path, info: &RunInfo, import: &Import) -> Result<RunDir, RecordError> {
        let dir = RunDir::make(root, info, Durability::Process)?;
        whole::write_json(&dir.path.join(IMPORT), import)?;
        dir.update_info(info)?;
        Ok(dir)
    }

    /// The empty directory of a run.
    fn make(root: &Path, info: &RunInfo, durability: Durability) -> Result<RunDir, RecordError> {
        let path = root.join(&info.id);
        fs::create_dir_all(root).map_err(RecordError::io("create", root))?;
        durability.sync_folder_of(root)?;
        fs::create_dir(&path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => RecordError::Exists { path: path.clone() },
            _ => RecordError::io("create", &path)(error),
        })?;
        durability.sync_folder_of(&path)?;
        Ok(RunDir { path, durability })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn write_json<T: serde::Serialize>(&self, name: &str, value: &T) -> Result<(), RecordError> {
        whole::write_json_durable(&self.path.join(name), value, self.durability)
    }

    /// Replaces `run.json`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn update_info(&self, info: &RunInfo) -> Result<(), RecordError> {
        self.write_json(RUN, info)
    }

    /// Writes a file that the scenario consists of besides its own text, at [`input_path`].
    ///
    /// # Errors
    /// I/O errors.
    pub fn write_input(&self, name: &str, text: &str) -> Result<(), RecordError> {
        let path = input_path(&self.path, name);
        let folder = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).map_err(RecordError::io("create", folder))?;
        whole::write_durable(&path, text.as_bytes(), self.durability)?;
        let mut made = folder.ancestors().take_while(|made| *made != self.path);
        made.try_for_each(|made| self.durability.sync_folder_of(made))
    }

    /// Replaces `summary.json`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn write_summary(&self, summary: &Summary) -> Result<(), RecordError> {
        self.write_json(SUMMARY, summary)
    }

    /// Replaces `tally.json`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn write_tally(&self, tally: &Tally) -> Result<(), RecordError> {
        self.write_json(TALLY, tally)
    }

    /// The writer of `requests.parquet`; `info` gives the names for the numbers in the file.
    ///
    /// # Errors
    /// I/O errors.
    pub fn requests(&self, info: &RunInfo) -> Result<RequestsWriter, RecordError> {
        RequestsWriter::create(&self.path, info, self.durability)
    }

    /// The writer of `series.parquet`.
    pub fn series(&self, info: &RunInfo) -> SeriesWriter {
        SeriesWriter::new(self.path.join(SERIES), info, self.durability)
    }

    /// The writer of `probes.parquet`.
    pub fn probes(&self, info: &RunInfo) -> ProbesWriter {
        ProbesWriter::new(&self.path, info, self.durability)
    }

    /// The writer of `events.jsonl`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn events(&self) -> Result<EventsWriter, RecordError> {
        EventsWriter::create(self.path.join(EVENTS), self.durability)
    }

    /// The writer of `errors.jsonl`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn errors(&self) -> Result<LinesWriter<ErrorCount>, RecordError> {
        LinesWriter::create(self.path.join(ERRORS), self.durability)
    }

    /// The writer of `samples.jsonl`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn samples(&self) -> Result<LinesWriter<ErrorSample>, RecordError> {
        LinesWriter::create(self.path.join(SAMPLES), self.durability)
    }

    /// The writer of `metrics.jsonl`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn metrics(&self) -> Result<LinesWriter<MetricRow>, RecordError> {
        LinesWriter::create(self.path.join(METRICS), self.durability)
    }

    /// The writer of `latency.hlog`.
    ///
    /// # Errors
    /// I/O errors.
    pub fn latency(&self, info: &RunInfo) -> Result<LatencyWriter, RecordError> {
        LatencyWriter::create(self.path.join(LATENCY), info, self.durability)
    }
}

/// A run's id, as `20261121T101500-football-final-3f2a`: the start in UTC, the scenario's name
/// made fit for a file name, and `entropy` to distinguish runs of the same second.
/// `started_unix_s` counts seconds since the Unix epoch.
pub fn run_id(started_unix_s: u64, name: &str, entropy: u16) -> String {
    let (year, month, day) = civil_from_days(started_unix_s / 86_400);
    let hour = started_unix_s / 3600 % 24;
    let minute = started_unix_s / 60 % 60;
    let second = started_unix_s % 60;
    let name = file_name(name);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}-{name}-{entropy:04x}")
}

/// A name in a form that is valid for a file: at most 60 ASCII letters, digits, `.`, `_` and single dashes,
/// beginning and ending with none of `.` and `-`; `run` if nothing is left.
pub fn file_name(name: &str) -> String {
    let mut clean = String::new();
    for character in name.chars() {
        if character.is_ascii_alphanumeric() || matches!(character, '.' | '_') {
            clean.push(character);
        } else if !clean.ends_with('-') {
            clean.push('-');
        }
    }
    let clean = &clean[..clean.len().min(NAME_MAX)];
    let clean = clean.trim_matches(['-', '.']);
    if clean.is_empty() { "run".to_owned() } else { clean.to_owned() }
}

/// (year, month, day) of the Gregorian calendar, from days since 1970-01-01. Hinnant,
/// "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // Months counted from March, so that the leap day comes last.
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 { month_shifted + 3 } else { month_shifted - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

/// The place in a run directory of a file that the scenario names so: below `inputs`, with `%2E%2E` for a folder above the
/// scenario's and `%2F` for the root.
pub fn input_path(run: &Path, name: &str) -> PathBuf {
    let mut path = run.join(INPUTS);
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part.to_string_lossy().replace('%', "%25")),
            Component::ParentDir => path.push("%2E%2E"),
            Component::RootDir => path.push("%2F"),
            Component::CurDir | Component::Prefix(_) => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_stay_in_the_directory() {
        for (name, expected) in [
            ("a.yaml", "run/inputs/a.yaml"),
            ("./lib/a.js", "run/inputs/lib/a.js"),
            ("../../common/a.yaml", "run/inputs/%2E%2E/%2E%2E/common/a.yaml"),
            ("/etc/a.yaml", "run/inputs/%2F/etc/a.yaml"),
            ("%2E%2E/a", "run/inputs/%252E%252E/a"),
        ] {
            assert_eq!(input_path(Path::new("run"), name), Path::new(expected));
        }
    }

    #[test]
    fn ids_hold_time_name_and_entropy() {
        for (unix_s, name, entropy, expected) in [
            (1_795_256_100, "football-final", 0x3f2a, "20261121T101500-football-final-3f2a"),
            (0, "Größe  des/..Marktes", 1, "19700101T000000-Gr-e-des-..Marktes-0001"),
            (951_782_399, "../..", 0, "20000228T235959-run-0000"),
            (951_868_799, "", 0xffff, "20000229T235959-run-ffff"),
            (4_107_542_400, "x", 0, "21000301T000000-x-0000"),
        ] {
            assert_eq!(run_id(unix_s, name, entropy), expected);
        }
    }

    #[test]
    fn ids_stay_short() {
        assert_eq!(run_id(0, &"long".repeat(100), 0).len(), 15 + 1 + NAME_MAX + 5);
    }
}
