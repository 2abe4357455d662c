//! A search's directory.

use std::fs;
use std::path::{Path, PathBuf};

use compare::capacity::{Aim, Bounds, Trial};
use compare::sweep::Sweep;
use plan::LoadSetting;
use record::{RecordError, whole};
use serde::{Deserialize, Serialize};

/// Version of `search.json`: that of a sweep and of a search for users that stay is higher, since programs before them would
/// not know what it is.
const FORMAT: u32 = 1;
const FORMAT_OF_SWEEPS: u32 = 2;
const FORMAT_OF_PRESENCE: u32 = 3;
/// The highest version that is read.
const FORMAT_MAX: u32 = FORMAT_OF_PRESENCE;
const SEARCH: &str = "search.json";
const SCENARIO: &str = "scenario.yaml";
const CONCLUSION: &str = "capacity.json";
/// A file with more trials is damaged.
const TRIALS_MAX: usize = 100_000;

/// The order in which a search tries loads.
#[derive(Debug, Clone, PartialEq)]
pub enum Course {
    /// From load to load, up to where the thresholds fail.
    Knee(Bounds),
    /// All values of a setting.
    Sweep(Sweep),
}

/// A search: its load setting, its course, and its trials so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    /// The directory of the search.
    pub directory: PathBuf,
    /// The setting that carries the load.
    pub load_setting: LoadSetting,
    /// The order in which loads are tried.
    pub course: Course,
    /// The meaning of a load.
    pub aim: Aim,
    /// No run begins that would end later than this after the search began, or was resumed.
    pub time_max_ns: u64,
    /// Between two runs.
    pub pause_ns: u64,
    /// The scenario's name; files that it names are relative to its directory.
    pub scenario_name: String,
    /// The scenario's text.
    pub scenario_text: String,
    /// `--set key=value`, in order.
    pub overrides: Vec<(String, String)>,
    /// The setting with which a run is longer, to confirm a load; `None`: none can be.
    pub longer: Option<(String, String)>,
    /// In the order they were made.
    pub trials: Vec<Trial>,
}

/// Why a search's directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// There is none to resume.
    #[error("{} contains no search: {SEARCH} is missing", path.display())]
    NoSearch {
        /// The directory.
        path: PathBuf,
    },
    /// A later version of Throng wrote it.
    #[error("the search in {} has format {found}, and this version of throng reads {FORMAT_MAX}", path.display())]
    Newer {
        /// The directory.
        path: PathBuf,
        /// The format of the search.
        found: u32,
    },
    /// The file has invalid contents.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        what: String,
    },
    /// It cannot be created.
    #[error("cannot create the search's directory {}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// The error of the system.
        #[source]
        source: std::io::Error,
    },
    /// A file cannot be read or written.
    #[error("cannot save the search")]
    File(#[from] RecordError),
}

/// `search.json`.
#[derive(Debug, Serialize, Deserialize)]
struct SearchFile {
    format: u32,
    scenario: String,
    overrides: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    longer: Option<(String, String)>,
    of: String,
    value: f64,
    unit: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bounds: Option<Bounds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sweep: Option<Sweep>,
    #[serde(default)]
    aim: Aim,
    time_max_ns: u64,
    pause_ns: u64,
    trials: Vec<Trial>,
}

impl Search {
    /// Creates the directory of a new search with its first state.
    ///
    /// # Errors
    /// It exists already, or cannot be created.
    pub fn begin(&self) -> Result<(), SearchError> {
        let create = |source| SearchError::Create { path: self.directory.clone(), source };
        if let Some(parent) = self.directory.parent() {
            fs::create_dir_all(parent).map_err(create)?;
        }
        fs::create_dir(&self.directory).map_err(create)?;
        whole::write(&self.directory.join(SCENARIO), self.scenario_text.as_bytes())?;
        self.save()
    }

    /// Replaces `search.json`.
    ///
    /// # Errors
    /// An error of the system.
    pub fn save(&self) -> Result<(), SearchError> {
        let (bounds, sweep) = match &self.course {
            Course::Knee(bounds) => (Some(bounds.clone()), None),
            Course::Sweep(sweep) => (None, Some(sweep.clone())),
        };
        let format = match (&self.course, self.aim) {
            (Course::Knee(_), Aim::Finished) => FORMAT,
            (Course::Knee(_), Aim::Present) => FORMAT_OF_PRESENCE,
            (Course::Sweep(_), _) => FORMAT_OF_SWEEPS,
        };
        let file = SearchFile {
            format,
            scenario: self.scenario_name.clone(),
            overrides: self.overrides.clone(),
            longer: self.longer.clone(),
            of: self.load_setting.path.clone(),
            value: self.load_setting.value,
            unit: self.load_setting.unit.clone(),
            bounds,
            sweep,
            aim: self.aim,
            time_max_ns: self.time_max_ns,
            pause_ns: self.pause_ns,
            trials: self.trials.clone(),
        };
        Ok(whole::write_json(&self.directory.join(SEARCH), &file)?)
    }

    /// Reads a search that was interrupted, or is over.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn open(directory: &Path) -> Result<Search, SearchError> {
        let path = directory.join(SEARCH);
        let file: SearchFile = whole::read_json(&path)?
            .ok_or_else(|| SearchError::NoSearch { path: directory.to_owned() })?;
        if file.format > FORMAT_MAX {
            return Err(SearchError::Newer { path: directory.to_owned(), found: file.format });
        }
        let damaged =
            |what: &str| SearchError::Damaged { path: path.clone(), what: what.to_owned() };
        let course = course(file.bounds, file.sweep).map_err(|what| damaged(&what))?;
        if file.trials.len() > TRIALS_MAX || !file.trials.iter().all(|t| t.load > 0.0) {
            return Err(damaged("its trials are invalid"));
        }
        let text = directory.join(SCENARIO);
        let scenario_text = whole::read(&text)?.ok_or_else(|| SearchError::Damaged {
            path: text.clone(),
            what: "it is missing".to_owned(),
        })?;
        Ok(Search {
            directory: directory.to_owned(),
            load_setting: LoadSetting { path: file.of, value: file.value, unit: file.unit },
            course,
            aim: file.aim,
            time_max_ns: file.time_max_ns,
            pause_ns: file.pause_ns,
            scenario_name: file.scenario,
            scenario_text,
            overrides: file.overrides,
            longer: file.longer,
            trials: file.trials,
        })
    }
}

/// The course of a search's file, or what is wrong with it.
fn course(bounds: Option<Bounds>, sweep: Option<Sweep>) -> Result<Course, String> {
    match (bounds, sweep) {
        (Some(bounds), None) => {
            let Bounds { from, at_most, growth, within, .. } = bounds;
            match from > 0.0 && at_most > 0.0 && growth > 1.0 && within > 0.0 {
                true => Ok(Course::Knee(bounds)),
                false => Err("its bounds are invalid".to_owned()),
            }
        }
        (None, Some(sweep)) => match sweep.check() {
            Ok(()) => Ok(Course::Sweep(sweep)),
            Err(error) => Err(format!("its values are invalid: {error}")),
        },
        _ => Err("it has neither `bounds` nor `sweep`, or both".to_owned()),
    }
}

/// Saves the conclusion in the directory.
pub(super) fn save_conclusion(
    directory: &Path,
    conclusion: &impl Serialize,
) -> Result<(), SearchError> {
    Ok(whole::write_json(&directory.join(CONCLUSION), conclusion)?)
}

#[cfg(test)]
mod tests {
    use compare::capacity::Outcome;

    use super::*;

    fn search(directory: PathBuf) -> Search {
        Search {
            directory,
            load_setting: LoadSetting {
                path: "arrivals.0.constant".to_owned(),
                value: 100.0,
                unit: "/s".to_owned(),
            },
            course: Course::Knee(Bounds {
                from: 100.0,
                at_most: f64::INFINITY,
                growth: 2.0,
                within: 0.05,
                repeat: 3,
                steps: 40,
                is_whole: false,
                can_be_longer: true,
            }),
            aim: Aim::Finished,
            time_max_ns: 1,
            pause_ns: 2,
            scenario_name: "a.yaml".to_owned(),
            scenario_text: "name: a\n".to_owned(),
            overrides: vec![("seed".to_owned(), "7".to_owned())],
            longer: Some(("arrivals.0.for".to_owned(), "60s".to_owned())),
            trials: vec![Trial::new(123.4, Outcome::Breaks)],
        }
    }

    #[test]
    fn a_search_comes_back_as_it_was() {
        let root = tempfile::tempdir().unwrap();
        let search = search(root.path().join("deep/down"));
        search.begin().unwrap();
        assert_eq!(Search::open(&search.directory).unwrap(), search);
        let sweep = Search {
            directory: root.path().join("sweep"),
            course: Course::Sweep(Sweep { values: vec![1.0, 2.0], repeat: 3, seed: 9 }),
            ..search.clone()
        };
        sweep.begin().unwrap();
        assert_eq!(Search::open(&sweep.directory).unwrap(), sweep);
        let staying =
            Search { directory: root.path().join("staying"), aim: Aim::Present, ..search.clone() };
        staying.begin().unwrap();
        assert_eq!(Search::open(&staying.directory).unwrap(), staying);
        // A second of the same name is refused, and the first stays.
        assert!(matches!(search.begin(), Err(SearchError::Create { .. })));
    }

    #[test]
    fn invalid_searches_are_refused_with_a_reason() {
        let root = tempfile::tempdir().unwrap();
        let search = search(root.path().join("a"));
        let refused = |expected: &str| {
            let error = Search::open(&search.directory).unwrap_err();
            let source =
                std::error::Error::source(&error).map_or(String::new(), ToString::to_string);
            let file = format!("{error} {source}");
            assert!(file.contains(expected), "{file}");
        };
        refused("contains no search");
        search.begin().unwrap();
        let file = search.directory.join(SEARCH);
        let whole = fs::read_to_string(&file).unwrap();
        let with = |from: &str, to: &str| {
            assert!(whole.contains(from), "{whole}");
            fs::write(&file, whole.replace(from, to)).unwrap();
        };
        with("\"format\": 1", "\"format\": 4");
        refused("format 4");
        with("\"bounds\"", "\"bonds\"");
        refused("neither `bounds` nor `sweep`");
        with("\"growth\": 2.0", "\"growth\": 1.0");
        refused("bounds are invalid");
        with("\"load\": 123.4", "\"load\": -1.0");
        refused("trials are invalid");
        fs::write(&file, "{").unwrap();
        refused("damaged");
        fs::write(&file, &whole).unwrap();
        fs::remove_file(search.directory.join(SCENARIO)).unwrap();
        refused("scenario.yaml is damaged: it is missing");
    }
}
