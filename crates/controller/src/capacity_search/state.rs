//! A search's directory.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use judge::capacity::{Bounds, Conclusion, Trial};
use plan::LoadSetting;
use record::{RecordError, whole};
use serde::{Deserialize, Serialize};

/// Version of `search.json`.
const FORMAT: u32 = 1;
const SEARCH: &str = "search.json";
const SCENARIO: &str = "scenario.yaml";
const CONCLUSION: &str = "capacity.json";
/// A load that is tried again and again is a fault of the file, not a search.
const TRIALS_MAX: usize = 100_000;

/// A search: what is turned, within which bounds, and what was tried so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// Where it stands.
    pub directory: PathBuf,
    /// What is turned.
    pub knob: LoadSetting,
    /// Within these.
    pub bounds: Bounds,
    /// No run begins that would end later than this after the search began, or went on.
    pub time_max_ns: u64,
    /// Between two runs.
    pub pause_ns: u64,
    /// The scenario's name; files that it names are sought beside it.
    pub scenario_name: String,
    /// Its text.
    pub scenario_text: String,
    /// `--set key=value`, in order.
    pub overrides: Vec<(String, String)>,
    /// In the order they were made.
    pub trials: Vec<Trial>,
}

/// Why a search's directory is of no use.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// There is none to go on with.
    #[error("{} holds no search: there is no {SEARCH} in it", path.display())]
    NoSearch {
        /// The directory.
        path: PathBuf,
    },
    /// A later version of Throng wrote it.
    #[error("the search in {} has format {found}, and this version of throng reads {FORMAT}", path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The file does not hold what it should.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// It cannot be made.
    #[error("cannot make the search's directory {}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be read or written.
    #[error("cannot keep the search")]
    File(#[from] RecordError),
}

/// `search.json`.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    format: u32,
    scenario: String,
    overrides: Vec<(String, String)>,
    of: String,
    value: f64,
    unit: String,
    bounds: Bounds,
    time_max_ns: u64,
    pause_ns: u64,
    trials: Vec<Trial>,
}

impl Search {
    /// Makes the directory of a new search, and keeps its beginning there.
    ///
    /// # Errors
    /// Where it is there already, or cannot be made.
    pub fn begin(&self) -> Result<(), SearchError> {
        let create = |source| SearchError::Create {
            path: self.directory.clone(),
            source,
        };
        if let Some(parent) = self.directory.parent() {
            fs::create_dir_all(parent).map_err(create)?;
        }
        fs::create_dir(&self.directory).map_err(create)?;
        whole::write(
            &self.directory.join(SCENARIO),
            self.scenario_text.as_bytes(),
        )?;
        self.save()
    }

    /// Replaces `search.json`.
    ///
    /// # Errors
    /// What the system says.
    pub fn save(&self) -> Result<(), SearchError> {
        let told = Told {
            format: FORMAT,
            scenario: self.scenario_name.clone(),
            overrides: self.overrides.clone(),
            of: self.knob.path.clone(),
            value: self.knob.value,
            unit: self.knob.unit.clone(),
            bounds: self.bounds.clone(),
            time_max_ns: self.time_max_ns,
            pause_ns: self.pause_ns,
            trials: self.trials.clone(),
        };
        Ok(whole::write_json(&self.directory.join(SEARCH), &told)?)
    }

    /// Reads a search that was broken off, or is over.
    ///
    /// # Errors
    /// Where there is none, or it is damaged.
    pub fn open(directory: &Path) -> Result<Search, SearchError> {
        let path = directory.join(SEARCH);
        let told: Told = whole::read_json(&path)?.ok_or_else(|| SearchError::NoSearch {
            path: directory.to_owned(),
        })?;
        if told.format > FORMAT {
            return Err(SearchError::Newer {
                path: directory.to_owned(),
                found: told.format,
            });
        }
        let damaged = |what: &str| SearchError::Damaged {
            path: path.clone(),
            what: what.to_owned(),
        };
        let Bounds {
            from,
            at_most,
            growth,
            within,
            ..
        } = told.bounds;
        if !(from > 0.0 && at_most > 0.0 && growth > 1.0 && within > 0.0) {
            return Err(damaged("its bounds are no bounds"));
        }
        if told.trials.len() > TRIALS_MAX || !told.trials.iter().all(|t| t.load > 0.0) {
            return Err(damaged("its trials are no trials"));
        }
        let text = directory.join(SCENARIO);
        let scenario_text = fs::read_to_string(&text).map_err(|error| SearchError::Damaged {
            path: text.clone(),
            what: match error.kind() {
                ErrorKind::NotFound => "it is missing".to_owned(),
                _ => error.to_string(),
            },
        })?;
        Ok(Search {
            directory: directory.to_owned(),
            knob: LoadSetting {
                path: told.of,
                value: told.value,
                unit: told.unit,
            },
            bounds: told.bounds,
            time_max_ns: told.time_max_ns,
            pause_ns: told.pause_ns,
            scenario_name: told.scenario,
            scenario_text,
            overrides: told.overrides,
            trials: told.trials,
        })
    }
}

/// Writes what the search came to beside it.
pub(super) fn save_conclusion(
    directory: &Path,
    conclusion: &Conclusion,
) -> Result<(), SearchError> {
    Ok(whole::write_json(&directory.join(CONCLUSION), conclusion)?)
}

#[cfg(test)]
mod tests {
    use judge::capacity::Outcome;

    use super::*;

    fn search(directory: PathBuf) -> Search {
        Search {
            directory,
            knob: LoadSetting {
                path: "arrivals.0.constant".to_owned(),
                value: 100.0,
                unit: "/s".to_owned(),
            },
            bounds: Bounds {
                from: 100.0,
                at_most: f64::INFINITY,
                growth: 2.0,
                within: 0.05,
                repeat: 3,
                steps: 40,
                is_whole: false,
            },
            time_max_ns: 1,
            pause_ns: 2,
            scenario_name: "a.yaml".to_owned(),
            scenario_text: "name: a\n".to_owned(),
            overrides: vec![("seed".to_owned(), "7".to_owned())],
            trials: vec![Trial::new(123.4, Outcome::Breaks)],
        }
    }

    #[test]
    fn a_search_comes_back_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        let search = search(root.path().join("deep/down"));
        search.begin().unwrap();
        assert_eq!(Search::open(&search.directory).unwrap(), search);
        // A second of the same name is refused, and the first stays.
        assert!(matches!(search.begin(), Err(SearchError::Create { .. })));
    }

    #[test]
    fn what_is_no_search_is_refused_with_a_reason() {
        let root = tempfile::tempdir().unwrap();
        let search = search(root.path().join("a"));
        let refused = |expected: &str| {
            let error = Search::open(&search.directory).unwrap_err();
            let source =
                std::error::Error::source(&error).map_or(String::new(), ToString::to_string);
            let told = format!("{error} {source}");
            assert!(told.contains(expected), "{told}");
        };
        refused("holds no search");
        search.begin().unwrap();
        let file = search.directory.join(SEARCH);
        let whole = fs::read_to_string(&file).unwrap();
        let with = |from: &str, to: &str| {
            assert!(whole.contains(from), "{whole}");
            fs::write(&file, whole.replace(from, to)).unwrap();
        };
        with("\"format\": 1", "\"format\": 2");
        refused("format 2");
        with("\"growth\": 2.0", "\"growth\": 1.0");
        refused("no bounds");
        with("\"load\": 123.4", "\"load\": -1.0");
        refused("no trials");
        fs::write(&file, "{").unwrap();
        refused("damaged");
        fs::write(&file, &whole).unwrap();
        fs::remove_file(search.directory.join(SCENARIO)).unwrap();
        refused("scenario.yaml is damaged: it is missing");
    }
}
