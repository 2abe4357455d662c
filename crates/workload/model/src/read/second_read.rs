//! Reads logs a second time, for the targets and users of single lines.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use super::{LINE_BITS, PIECES_WAITING, Work, feed, lines};
use crate::ModelError;
use crate::entry::clean_target;
use crate::input::without_end;
use crate::line_part::JOINED;
use crate::request_target::{LineTargets, RequestTarget};
use crate::settings::Settings;

/// Bytes of targets that are looked up; a scenario has no room for more.
const BYTES_MAX: usize = 8 << 20;

/// The identities of files, to see whether they can be read a second time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileIdentities(Option<Vec<(u64, u64, u64)>>);

impl FileIdentities {
    /// The files as they are now.
    pub(crate) fn now(paths: &[PathBuf]) -> FileIdentities {
        let files = paths.iter().map(|path| {
            let file = std::fs::metadata(path).ok()?;
            // A pipe is empty once it was read.
            file.is_file().then(|| (file.dev(), file.ino(), file.len()))
        });
        FileIdentities(files.collect())
    }

    /// Whether the files are unchanged, except for lines appended to the last one.
    fn still_holds(&self, paths: &[PathBuf]) -> bool {
        let (Some(before), Some(now)) = (&self.0, FileIdentities::now(paths).0) else {
            return false;
        };
        let last = before.len().saturating_sub(1);
        let pairs = before.iter().zip(&now).enumerate();
        pairs.into_iter().all(|(place, (before, now))| {
            let grown = place == last && before.2 <= now.2;
            (before.0, before.1) == (now.0, now.1) && (grown || before.2 == now.2)
        })
    }
}

/// The method and the target of the lines at these places; missing if they cannot be read.
pub(crate) fn targets_of_lines(
    paths: &[PathBuf],
    settings: &Settings,
    identities: &FileIdentities,
    orders: &[u64],
) -> Result<LineTargets, ModelError> {
    let mut found = LineTargets::new();
    let mut bytes = 0;
    visit_lines(paths, settings, identities, orders, |work, order, line| {
        if let Some(request) = target_of_line(work, line) {
            bytes += request.target.len();
            if bytes <= BYTES_MAX {
                found.insert(order, request);
            }
        }
    })?;
    Ok(found)
}

/// The users of the lines at these places, as their keys are written; missing if they cannot be read.
pub(crate) fn users_of_lines(
    paths: &[PathBuf],
    settings: &Settings,
    identities: &FileIdentities,
    orders: &[u64],
) -> Result<BTreeMap<u64, String>, ModelError> {
    let mut sorted = orders.to_vec();
    sorted.sort_unstable();
    let mut found = BTreeMap::new();
    if sorted.is_empty() {
        return Ok(found);
    }
    visit_lines(paths, settings, identities, &sorted, |work, order, line| {
        let key = lines::key_of(settings, &work.format);
        let entry = work.format.parse(line).ok().map(|mut entry| {
            entry.join_query();
            entry
        });
        let user = entry.as_ref().and_then(|entry| key.text_of(entry));
        if let Some(user) = user {
            let text = String::from_utf8_lossy(&user).replace(JOINED, " ");
            found.insert(order, text.trim().to_owned());
        }
    })?;
    Ok(found)
}

/// Calls `each` with the lines at these places, which are sorted, if the files can be read a second time.
fn visit_lines(
    paths: &[PathBuf],
    settings: &Settings,
    identities: &FileIdentities,
    orders: &[u64],
    mut each: impl FnMut(&Work, u64, &[u8]),
) -> Result<(), ModelError> {
    if !identities.still_holds(paths) {
        return Ok(());
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Work>(PIECES_WAITING);
        // Problems of the lines were counted at the first read.
        let fed = scope.spawn(move || feed(paths, settings, &sender));
        let mut left = orders;
        for work in &receiver {
            let end = left.partition_point(|order| order >> LINE_BITS <= work.number);
            let (here, later) = left.split_at(end);
            left = later;
            visit_piece(&work, here, &mut each);
            if left.is_empty() {
                break;
            }
        }
        // The feeding thread ends when the receiver is gone.
        drop(receiver);
        fed.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    Ok(())
}

/// Calls `each` with these lines of a piece.
fn visit_piece(work: &Work, orders: &[u64], each: &mut impl FnMut(&Work, u64, &[u8])) {
    let mut orders = orders.iter().copied().peekable();
    let mut at = 0;
    for number in 0.. {
        let Some(&order) = orders.peek() else {
            break;
        };
        if at >= work.bytes.len() {
            break;
        }
        let rest = &work.bytes[at..];
        let next = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        at += next;
        if order == work.number << LINE_BITS | number {
            orders.next();
            each(work, order, without_end(&rest[..next]));
        }
    }
}

/// The request of a line.
fn target_of_line(work: &Work, line: &[u8]) -> Option<RequestTarget> {
    let mut entry = work.format.parse(line).ok()?;
    entry.join_query();
    let target = clean_target(&entry.target)?;
    let request = [entry.method_or_get(), &target];
    let [method, target] = request.map(|part| String::from_utf8_lossy(part).into_owned());
    Some(RequestTarget { method, target })
}
