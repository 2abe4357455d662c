//! Where results stand below a directory, and their files as far as a list of them needs these. Symbolic
//! links are not followed, and nothing is read that is no regular file, or too large.

use std::fs::{self, DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::dir::RUN;

/// Directories that are looked into at most, and how deep.
const DIRECTORIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 8;
/// Names of one directory at most.
const NAMES_MAX: usize = 50_000;

/// The file that tells that a directory is an experiment's.
pub const EXPERIMENT: &str = "experiment.json";
/// A search's.
pub const SEARCH: &str = "search.json";
/// A model's.
pub const MODEL: &str = "model.json";

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A run directory.
    Run,
    /// The directory of an experiment.
    Experiment,
    /// The directory of a search for capacity.
    Search,
    /// The directory of a model.
    Model,
    /// A page that stands on its own: a comparison, meters, a table's analysis.
    Page,
}

/// A result that was found.
#[derive(Debug)]
pub struct Found {
    /// What it is.
    pub kind: Kind,
    /// The directory, or the page's file.
    pub path: PathBuf,
    /// The place, in the list, of what it stands in.
    pub within: Option<usize>,
}

/// All that was found, and sentences about what was not looked at.
#[derive(Debug, Default)]
pub struct Walked {
    /// What stands in another comes after it.
    pub found: Vec<Found>,
    /// A sentence each, without full stop.
    pub left_out: Vec<String>,
}

/// What tells that a file changed: its time and its length; nothing where there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(Option<(SystemTime, u64)>);

impl Stamp {
    /// Of the file at this path.
    pub fn of(path: &Path) -> Stamp {
        let about = fs::symlink_metadata(path);
        Stamp(
            about
                .and_then(|about| Ok((about.modified()?, about.len())))
                .ok(),
        )
    }

    /// When it was changed last, milliseconds since the Unix epoch.
    pub fn unix_ms(self) -> Option<u64> {
        let since = self.0?.0.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }
}

/// Whether a file can be read without waiting, and is not larger.
///
/// # Errors
/// What is wrong with it, in words.
pub fn sound(path: &Path, bytes_max: u64) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => Err(format!("{name} is no file")),
        Ok(about) if about.len() > bytes_max => Err(format!("{name} is too large to be listed")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// The file's bytes, at most so many from its beginning on.
///
/// # Errors
/// Why it cannot be read, in words.
pub fn beginning(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    sound(path, u64::MAX)?;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut bytes));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    read.map_err(|error| format!("{name}: {error}"))?;
    Ok(bytes)
}

struct Walk {
    walked: Walked,
    directories: usize,
    links: usize,
    unreadable: usize,
    deeper: usize,
    more: usize,
    crowded: usize,
}

/// Looks for results. Names of runs begin with the time: from the last name to the first, so that where
/// there are too many, the oldest are left out.
///
/// # Errors
/// Where the directory itself cannot be read.
pub fn walk(root: &Path) -> std::io::Result<Walked> {
    // What is below may be unreadable; the root may not.
    fs::read_dir(root)?;
    let mut walk = Walk {
        walked: Walked::default(),
        directories: 0,
        links: 0,
        unreadable: 0,
        deeper: 0,
        more: 0,
        crowded: 0,
    };
    walk.look(root, None, 0);
    let Walk {
        mut walked,
        links,
        unreadable,
        deeper,
        more,
        crowded,
        ..
    } = walk;
    let mut tell = |count: usize, text: &str| {
        if count > 0 {
            walked.left_out.push(format!("{count} {text}"));
        }
    };
    tell(links, "symbolic links were not followed");
    tell(unreadable, "directories cannot be read");
    tell(deeper, "directories stand too deep to be looked into");
    tell(
        more,
        "directories were not looked into, there being too many",
    );
    let of_crowded =
        format!("directories hold more than {NAMES_MAX} names, and only so many were looked at");
    tell(crowded, &of_crowded);
    Ok(walked)
}

impl Walk {
    fn look(&mut self, directory: &Path, within: Option<usize>, depth: usize) {
        if self.directories >= DIRECTORIES_MAX {
            self.more += 1;
            return;
        }
        self.directories += 1;
        let Some((names, are_all)) = names(directory, NAMES_MAX) else {
            self.unreadable += 1;
            return;
        };
        self.crowded += usize::from(!are_all);
        let is_there = |name: &str| names.iter().any(|entry| entry.file_name() == name);
        let kind = if is_there(RUN) {
            Some(Kind::Run)
        } else if is_there(EXPERIMENT) {
            Some(Kind::Experiment)
        } else if is_there(SEARCH) {
            Some(Kind::Search)
        } else if is_there(MODEL) {
            Some(Kind::Model)
        } else {
            None
        };
        let within = match kind {
            Some(kind) => {
                self.walked.found.push(Found {
                    kind,
                    path: directory.to_owned(),
                    within,
                });
                Some(self.walked.found.len() - 1)
            }
            None => within,
        };
        // Nothing of ours stands in a run or a model.
        if matches!(kind, Some(Kind::Run | Kind::Model)) {
            return;
        }
        for entry in names.iter().rev() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Told without following links.
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.links += 1,
                Ok(kind) if kind.is_dir() && name.starts_with('.') => {}
                Ok(kind) if kind.is_dir() && depth >= DEPTH_MAX => self.deeper += 1,
                Ok(kind) if kind.is_dir() => self.look(&entry.path(), within, depth + 1),
                // A report beside what it is of is no result of its own.
                Ok(file) if file.is_file() && name.ends_with(".html") && kind.is_none() => {
                    self.walked.found.push(Found {
                        kind: Kind::Page,
                        path: entry.path(),
                        within,
                    });
                }
                _ => {}
            }
        }
    }
}

/// What a directory holds, by name: so many at most, and whether these are all.
fn names(directory: &Path, names_max: usize) -> Option<(Vec<DirEntry>, bool)> {
    let mut entries = fs::read_dir(directory).ok()?;
    let some = entries.by_ref().take(names_max);
    let mut names: Vec<DirEntry> = some.filter_map(Result::ok).collect();
    names.sort_by_key(DirEntry::file_name);
    Some((names, entries.next().is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_too_many_are_not_all() {
        let space = tempfile::tempdir().unwrap();
        for name in ["c", "a", "b"] {
            fs::write(space.path().join(name), "").unwrap();
        }
        let (all, are_all) = names(space.path(), 3).unwrap();
        let read: Vec<_> = all.iter().map(DirEntry::file_name).collect();
        assert!(are_all && read == ["a", "b", "c"], "{read:?}");
        let (some, are_all) = names(space.path(), 2).unwrap();
        assert!(!are_all && some.len() == 2);
        assert!(names(&space.path().join("none"), 2).is_none());
    }
}
