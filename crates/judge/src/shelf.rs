//! What stands in a directory: runs, experiments, searches, models and pages, each by a few figures that
//! are read cheaply.
//!
//! Whatever a directory holds, there is a list of it: what is damaged or unfinished is an item that says
//! so, and what is too much is told and left out. Symbolic links are not followed, so a list holds what
//! stands below its root and nothing else. Items have ids that follow from their places, so that a link to
//! one still leads there when the list is made again.

mod read;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub use record::shelf::Kind;
use record::shelf::{Found, Stamp, Walked, walk};
use serde::Serialize;

use crate::course::Number;

/// Items of a list at most.
const ITEMS_MAX: usize = 5_000;

/// A directory whose items are listed again and again: what did not change is not read again.
#[derive(Debug)]
pub struct Shelf {
    root: PathBuf,
    /// `None`: a file that is no page of ours.
    known: HashMap<PathBuf, (Vec<Stamp>, Option<Item>)>,
}

/// All there is at one time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listing {
    /// Newest first.
    pub items: Vec<Item>,
    /// What is not there, a sentence each.
    pub left_out: Vec<String>,
}

/// What an item came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// All thresholds hold, and it can be trusted.
    Passed,
    /// Something does not hold.
    Failed,
    /// It is not to be trusted.
    Untrusted,
    /// Results that others measured.
    Imported,
    /// It goes on, was broken off, or was killed.
    Unfinished,
    /// It cannot be read.
    Damaged,
    /// It is over, and there is nothing to pass.
    Done,
}

/// One result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Item {
    /// 16 hexadecimal digits that follow from its place.
    pub id: String,
    /// Of the experiment or the search that it stands in.
    pub within: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// The scenario's name, or its own.
    pub name: String,
    /// Where it stands, from the list's root.
    pub place: String,
    /// What it came to.
    pub state: State,
    /// What else there is to say, in words; empty where nothing is.
    pub told: String,
    /// When it began, milliseconds since the Unix epoch.
    pub started_unix_ms: Option<u64>,
    /// How long it went on, or how long its log is.
    pub seconds: Option<Number>,
    /// Users that started; of a model its log's sessions.
    pub users: Option<u64>,
    /// Operations by second, or a model's sessions.
    pub rate_per_s: Option<Number>,
    /// Operations that ended ill, of those that ended; 0..=1.
    pub error_share: Option<Number>,
    /// The step that the percentiles are of: what most people wait for.
    pub step: Option<String>,
    /// Half of its operations took no longer.
    pub p50_ns: Option<u64>,
    /// 99 % did not.
    pub p99_ns: Option<u64>,
    /// It can be compared with others.
    pub comparable: bool,
    /// The directory, or the page's file.
    #[serde(skip)]
    pub path: PathBuf,
}

impl Shelf {
    /// The items of this directory.
    pub fn new(root: &Path) -> Shelf {
        Shelf {
            root: root.to_owned(),
            known: HashMap::new(),
        }
    }

    /// Lists what is there now.
    ///
    /// # Errors
    /// Where the directory itself cannot be read.
    pub fn list(&mut self) -> std::io::Result<Listing> {
        let Walked {
            mut found,
            mut left_out,
        } = walk(&self.root)?;
        if found.len() > ITEMS_MAX {
            let more = found.len() - ITEMS_MAX;
            left_out.push(format!(
                "{more} more results than {ITEMS_MAX} are not shown"
            ));
            found.truncate(ITEMS_MAX);
        }
        let mut known = HashMap::with_capacity(found.len());
        let mut items: Vec<Option<Item>> = Vec::with_capacity(found.len());
        for found in &found {
            let stamp = read::stamp(found);
            let item = match self.known.remove(&found.path) {
                Some((before, item)) if before == stamp => item,
                _ => self.read(found),
            };
            items.push(item.clone());
            known.insert(found.path.clone(), (stamp, item));
        }
        self.known = known;
        place(&mut items, &found);
        let mut items: Vec<Item> = items.into_iter().flatten().collect();
        items.sort_by(|a, b| (b.started_unix_ms, &b.place).cmp(&(a.started_unix_ms, &a.place)));
        Ok(Listing { items, left_out })
    }

    fn read(&self, found: &Found) -> Option<Item> {
        let place = found.path.strip_prefix(&self.root).unwrap_or(&found.path);
        // The root itself may be a run's directory.
        let place = match place.as_os_str() {
            place if place.is_empty() => OsStr::new("."),
            place => place,
        };
        let name = found.path.file_name().unwrap_or_default();
        let empty = Item {
            id: id(place.as_encoded_bytes()),
            within: None,
            kind: found.kind,
            name: name.to_string_lossy().into_owned(),
            place: place.to_string_lossy().into_owned(),
            state: State::Done,
            told: String::new(),
            started_unix_ms: None,
            seconds: None,
            users: None,
            rate_per_s: None,
            error_share: None,
            step: None,
            p50_ns: None,
            p99_ns: None,
            comparable: false,
            path: found.path.clone(),
        };
        read::item(found, empty)
    }
}

/// Says in what each item stands; what is made of runs began with the first of them.
fn place(items: &mut [Option<Item>], found: &[Found]) {
    for (number, found) in found.iter().enumerate() {
        let Some(outer) = found.within else { continue };
        let begun = items[number].as_ref().and_then(|item| item.started_unix_ms);
        // Those left out are the last, and the outer one is found first.
        let Some(outer) = &mut items[outer] else {
            continue;
        };
        let first = [outer.started_unix_ms, begun];
        outer.started_unix_ms = first.into_iter().flatten().min();
        let id = outer.id.clone();
        if let Some(item) = &mut items[number] {
            item.within = Some(id);
        }
    }
}

/// Fowler's, Noll's and Vo's hash (FNV-1a) of 64 bits: the same in every version of Throng. What stands
/// elsewhere under the same id, once in 10¹² lists, leads to one of the two.
fn id(place: &[u8]) -> String {
    let hash = place.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests;
