//! Finds the results below a directory, and reads their files as far as a list of them needs. Symbolic links
//! are not followed; only regular files of a limited size are read.

use std::fs::{self, DirEntry};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::files::RUN;

/// Most directories that are searched, and the deepest level.
const DIRECTORIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 8;
/// Most names of one directory.
const NAMES_MAX: usize = 50_000;

/// The file that marks the directory of an experiment.
pub const EXPERIMENT: &str = "experiment.json";
/// The file that marks the directory of a duet.
pub const DUET: &str = "duet.json";
/// The file that marks the directory of a search.
pub const SEARCH: &str = "search.json";
/// The file that marks the directory of a model.
pub const MODEL: &str = "model.json";

/// The kind of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ts_rs::TS)]
#[ts(rename = "EntryKind")]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A run directory.
    Run,
    /// The directory of an experiment.
    Experiment,
    /// The directory of a duet.
    Duet,
    /// The directory of a search for capacity.
    Search,
    /// The directory of a model.
    Model,
    /// A page without a directory of its own: a comparison, meters, the analysis of a table.
    Page,
}

/// A result in a scanned directory.
#[derive(Debug)]
pub struct ScanEntry {
    /// Kind of the result.
    pub kind: Kind,
    /// The directory, or the page's file.
    pub path: PathBuf,
    /// The index, in the list, of the result that contains it.
    pub parent: Option<usize>,
}

/// All results that were found, and what was left out.
#[derive(Debug, Default)]
pub struct Scan {
    /// A result comes after the one that contains it.
    pub found: Vec<ScanEntry>,
    /// Parts of the directory that were not searched, a sentence each, without full stop.
    pub omitted: Vec<String>,
}

/// The time and length of a file, which show whether it changed; nothing if there is no such file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp(Option<(SystemTime, u64)>);

impl Stamp {
    /// Reads the stamp of the file at this path.
    pub fn read(path: &Path) -> Stamp {
        let about = fs::symlink_metadata(path);
        Stamp(about.and_then(|about| Ok((about.modified()?, about.len()))).ok())
    }

    /// When the file was last changed, milliseconds since the Unix epoch.
    pub fn unix_ms(self) -> Option<u64> {
        let since = self.0?.0.duration_since(UNIX_EPOCH).ok()?;
        u64::try_from(since.as_millis()).ok()
    }
}

/// Checks that a file is a regular one, which can be read without waiting, of at most `bytes_max`.
///
/// # Errors
/// The problem with the file, in words.
pub fn check_file(path: &Path, bytes_max: u64) -> Result<(), String> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    match fs::symlink_metadata(path) {
        Ok(about) if !about.is_file() => Err(format!("{name} is not a regular file")),
        Ok(about) if about.len() > bytes_max => Err(format!("{name} is too large to be listed")),
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{name}: {error}")),
    }
}

/// Reads at most the first `bytes_max` bytes of a file.
///
/// # Errors
/// Why it cannot be read, in words.
pub fn read_beginning(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    check_file(path, u64::MAX)?;
    let mut bytes = Vec::new();
    let read = regular::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut bytes));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    read.map_err(|error| format!("{name}: {error}"))?;
    Ok(bytes)
}

struct Walk {
    scan: Scan,
    directories: usize,
    links: usize,
    unreadable: usize,
    deeper: usize,
    more: usize,
    crowded: usize,
}

/// Searches a directory for results, from the last name to the first: the names of runs begin with the time,
/// so if there are too many, the oldest are left out.
///
/// # Errors
/// The directory itself cannot be read.
pub fn scan(root: &Path) -> std::io::Result<Scan> {
    // Only the root has to be readable.
    fs::read_dir(root)?;
    let mut walk = Walk {
        scan: Scan::default(),
        directories: 0,
        links: 0,
        unreadable: 0,
        deeper: 0,
        more: 0,
        crowded: 0,
    };
    walk.search(root, None, 0);
    let Walk { mut scan, links, unreadable, deeper, more, crowded, .. } = walk;
    let mut omit = |count: usize, text: &str| {
        if count > 0 {
            scan.omitted.push(format!("{count} {text}"));
        }
    };
    omit(links, "symbolic links were not followed");
    omit(unreadable, "directories cannot be read");
    omit(deeper, "directories are nested too deeply and were not searched");
    omit(more, "directories were not searched, because there are too many");
    let of_crowded =
        format!("directories hold more than {NAMES_MAX} names; the others were ignored");
    omit(crowded, &of_crowded);
    Ok(scan)
}

impl Walk {
    fn search(&mut self, directory: &Path, parent: Option<usize>, depth: usize) {
        if self.directories >= DIRECTORIES_MAX {
            self.more += 1;
            return;
        }
        self.directories += 1;
        let Some((names, are_all)) = read_names(directory, NAMES_MAX) else {
            self.unreadable += 1;
            return;
        };
        self.crowded += usize::from(!are_all);
        let is_there = |name: &str| names.iter().any(|entry| entry.file_name() == name);
        let kind = if is_there(RUN) {
            Some(Kind::Run)
        } else if is_there(EXPERIMENT) {
            Some(Kind::Experiment)
        } else if is_there(DUET) {
            Some(Kind::Duet)
        } else if is_there(SEARCH) {
            Some(Kind::Search)
        } else if is_there(MODEL) {
            Some(Kind::Model)
        } else {
            None
        };
        let parent = match kind {
            Some(kind) => {
                self.scan.found.push(ScanEntry { kind, path: directory.to_owned(), parent });
                Some(self.scan.found.len() - 1)
            }
            None => parent,
        };
        // Runs and models contain no other results.
        if matches!(kind, Some(Kind::Run | Kind::Model)) {
            return;
        }
        for entry in names.iter().rev() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // The type of the link itself, not of its target.
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => self.links += 1,
                Ok(kind) if kind.is_dir() && name.starts_with('.') => {}
                Ok(kind) if kind.is_dir() && depth >= DEPTH_MAX => self.deeper += 1,
                Ok(kind) if kind.is_dir() => self.search(&entry.path(), parent, depth + 1),
                // A report in the directory of its result is not listed separately.
                Ok(file) if file.is_file() && name.ends_with(".html") && kind.is_none() => {
                    self.scan.found.push(ScanEntry {
                        kind: Kind::Page,
                        path: entry.path(),
                        parent,
                    });
                }
                _ => {}
            }
        }
    }
}

/// The entries of a directory by name, at most `names_max`, and whether these are all.
fn read_names(directory: &Path, names_max: usize) -> Option<(Vec<DirEntry>, bool)> {
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
    fn only_the_first_names_of_a_large_directory_are_read() {
        let space = tempfile::tempdir().unwrap();
        for name in ["c", "a", "b"] {
            fs::write(space.path().join(name), "").unwrap();
        }
        let (all, are_all) = read_names(space.path(), 3).unwrap();
        let read: Vec<_> = all.iter().map(DirEntry::file_name).collect();
        assert!(are_all && read == ["a", "b", "c"], "{read:?}");
        let (some, are_all) = read_names(space.path(), 2).unwrap();
        assert!(!are_all && some.len() == 2);
        assert!(read_names(&space.path().join("none"), 2).is_none());
    }
}
