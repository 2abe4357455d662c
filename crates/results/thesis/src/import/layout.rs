//! Layout of published results: the place and the kind of each file.
//!
//! ```text
//! baseline/clients/REGION/HOST/1            a client's report
//! baseline/ROLE/REGION/SOURCE/METRIC.csv    a metric of a server, store or group of servers
//! ```

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use record::import::Unreachable;
use record::probes::ProbeInfo;

use super::repairs::{Kind, Repairs};
use super::results::{Draft, Series};
use super::{
    DetectedRuns, FILE_BYTES_MAX, FILES_MAX, ImportError, ImportedRun, Settings, metric, report,
};

/// The role whose files are reports.
const CLIENTS: &str = "clients";

pub(crate) fn detect(path: &Path) -> Result<DetectedRuns, ImportError> {
    let is_run = |path: &Path| path.join(CLIENTS).is_dir();
    if is_run(path) {
        return Ok(DetectedRuns { runs: vec![path.to_owned()], skipped: Vec::new() });
    }
    let (runs, skipped): (Vec<PathBuf>, Vec<PathBuf>) =
        entries(path)?.into_iter().partition(|path| is_run(path));
    match runs.is_empty() {
        true => Err(ImportError::Unknown { path: path.to_owned() }),
        false => Ok(DetectedRuns { runs, skipped }),
    }
}

pub(crate) fn read(path: &Path, settings: &Settings) -> Result<ImportedRun, ImportError> {
    let mut reader = Reader {
        root: path,
        files_count: 0,
        repairs: Repairs::default(),
        draft: Draft::default(),
        first_fault: None,
    };
    for role in entries(path)? {
        if !role.is_dir() {
            reader.stray(&role);
            continue;
        }
        for region in entries(&role)? {
            if !region.is_dir() {
                reader.stray(&region);
                continue;
            }
            for source in entries(&region)? {
                reader.source(&name(&role), &name(&region), &source)?;
            }
        }
    }
    let Reader { repairs, draft, first_fault, .. } = reader;
    if draft.clients.is_empty() {
        return Err(ImportError::NoReport {
            path: path.to_owned(),
            files: draft.unreachable.len(),
            why: first_fault.unwrap_or_else(|| "there is no file".to_owned()),
        });
    }
    draft.finish(path, settings, repairs)
}

struct Reader<'p> {
    root: &'p Path,
    files_count: usize,
    repairs: Repairs,
    draft: Draft,
    /// The fault of the first client without a report.
    first_fault: Option<String>,
}

impl Reader<'_> {
    /// All files of one machine, store or group.
    fn source(&mut self, role: &str, region: &str, path: &Path) -> Result<(), ImportError> {
        if !path.is_dir() {
            self.stray(path);
            return Ok(());
        }
        let files = entries(path)?;
        if role == CLIENTS && files.is_empty() {
            self.unreachable(region, name(path), "it left no report".to_owned());
        }
        for file in files {
            if file.is_dir() {
                self.stray(&file);
            } else if role == CLIENTS {
                self.client(region, path, &file)?;
            } else {
                self.metric(role, region, path, &file)?;
            }
        }
        Ok(())
    }

    fn client(&mut self, region: &str, host: &Path, file: &Path) -> Result<(), ImportError> {
        let text = self.text(file)?;
        let shown = self.shown(file);
        // The first process of a machine stands for it; others are distinguished.
        let host = match name(file).as_str() {
            "1" => name(host),
            process => format!("{}/{process}", name(host)),
        };
        match report::parse(&text, &shown, &mut self.repairs) {
            Ok(mut reported) => {
                reported.region = region.to_owned();
                reported.host = host;
                self.draft.clients.push(reported);
            }
            Err(why) => self.unreachable(region, host, why),
        }
        Ok(())
    }

    fn unreachable(&mut self, region: &str, host: String, why: String) {
        self.first_fault.get_or_insert_with(|| format!("{region}/{host}: {why}"));
        self.draft.unreachable.push(Unreachable { region: region.to_owned(), host, why });
    }

    fn metric(
        &mut self,
        role: &str,
        region: &str,
        source: &Path,
        file: &Path,
    ) -> Result<(), ImportError> {
        if file.extension().is_none_or(|extension| extension != "csv") {
            self.stray(file);
            return Ok(());
        }
        let text = self.text(file)?;
        let shown = self.shown(file);
        let Some(metric) = metric::parse(&text, &shown, &mut self.repairs) else {
            self.repairs.add(Kind::StrayFile, || shown);
            return Ok(());
        };
        if metric.rows.is_empty() {
            return Ok(());
        }
        let probe = ProbeInfo {
            role: role.to_owned(),
            region: region.to_owned(),
            source: name(source),
            metric: name(file).trim_end_matches(".csv").to_owned(),
            unit: metric.unit,
            via: String::new(),
        };
        self.draft.series.push(Series { probe, rows: metric.rows });
        Ok(())
    }

    fn stray(&mut self, path: &Path) {
        let shown = self.shown(path);
        self.repairs.add(Kind::StrayFile, || shown);
    }

    /// A file's path below the results, for messages.
    fn shown(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        below.display().to_string()
    }

    fn text(&mut self, path: &Path) -> Result<String, ImportError> {
        self.files_count += 1;
        if self.files_count > FILES_MAX {
            return Err(ImportError::TooMany { path: self.root.to_owned() });
        }
        let read = regular::read(path, FILE_BYTES_MAX);
        let bytes = read.map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => ImportError::TooLarge { path: path.to_owned() },
            _ => failed(path)(error),
        })?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|error| {
            let shown = self.shown(path);
            self.repairs.add(Kind::NotUtf8, || shown);
            String::from_utf8_lossy(error.as_bytes()).into_owned()
        }))
    }
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> ImportError {
    move |source| ImportError::Read { path: path.to_owned(), source }
}

/// The entries of a directory, by name; hidden files aside.
fn entries(path: &Path) -> Result<Vec<PathBuf>, ImportError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed(path))? {
        let entry = entry.map_err(failed(path))?.path();
        if !name(&entry).starts_with('.') {
            found.push(entry);
        }
        if found.len() > FILES_MAX {
            return Err(ImportError::TooMany { path: path.to_owned() });
        }
    }
    found.sort();
    Ok(found)
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
