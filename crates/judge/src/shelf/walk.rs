//! Where results stand below a directory.

use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};

use super::Kind;

/// Directories that are looked into at most, and how deep.
const DIRECTORIES_MAX: usize = 20_000;
const DEPTH_MAX: usize = 8;
/// Names of one directory at most.
const NAMES_MAX: usize = 50_000;

/// The files that tell what a directory is.
pub(super) const RUN: &str = "run.json";
pub(super) const EXPERIMENT: &str = "experiment.json";
pub(super) const SEARCH: &str = "search.json";
pub(super) const MODEL: &str = "model.json";

/// A result that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) kind: Kind,
    /// The directory, or the page's file.
    pub(super) path: PathBuf,
    /// The place, in the list, of what it stands in.
    pub(super) within: Option<usize>,
}

/// All that was found, and sentences about what was not looked at.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) found: Vec<Found>,
    pub(super) left_out: Vec<String>,
}

struct Walk {
    walked: Walked,
    directories: usize,
    links: usize,
    unreadable: usize,
    deeper: usize,
    more: usize,
}

/// Looks for results. Names of runs begin with the time: from the last name to the first, so that where
/// there are too many, the oldest are left out.
pub(super) fn walk(root: &Path) -> std::io::Result<Walked> {
    // What is below may be unreadable; the root may not.
    fs::read_dir(root)?;
    let mut walk = Walk {
        walked: Walked::default(),
        directories: 0,
        links: 0,
        unreadable: 0,
        deeper: 0,
        more: 0,
    };
    walk.look(root, None, 0);
    let Walk {
        mut walked,
        links,
        unreadable,
        deeper,
        more,
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
    Ok(walked)
}

impl Walk {
    fn look(&mut self, directory: &Path, within: Option<usize>, depth: usize) {
        if self.directories >= DIRECTORIES_MAX {
            self.more += 1;
            return;
        }
        self.directories += 1;
        let Some(names) = names(directory) else {
            self.unreadable += 1;
            return;
        };
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

/// What a directory holds, by name.
fn names(directory: &Path) -> Option<Vec<DirEntry>> {
    let entries = fs::read_dir(directory).ok()?;
    let mut names: Vec<DirEntry> = entries.take(NAMES_MAX).filter_map(Result::ok).collect();
    names.sort_by_key(DirEntry::file_name);
    Some(names)
}
