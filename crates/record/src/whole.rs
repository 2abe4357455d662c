//! Files that are written and read in one piece.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::RecordError;

/// Where a file stands until it is whole.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Puts the whole file in its place.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), RecordError> {
    fs::rename(from, to).map_err(RecordError::io("rename", from))
}

/// Replaces the file in one step: readers see the old content or the new.
///
/// # Errors
/// What the system says; then the file is as it was.
pub fn write(path: &Path, content: &[u8]) -> Result<(), RecordError> {
    let temporary = temporary(path);
    let written = fs::write(&temporary, content).map_err(RecordError::io("write", path));
    if written.is_err() {
        // The rest of a file that did not fit helps nobody, and the first error is the telling one.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    rename(&temporary, path)
}

/// Replaces the file by this value as indented JSON.
///
/// # Errors
/// What the system says; then the file is as it was.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<(), RecordError> {
    let mut text = serde_json::to_vec_pretty(value)
        .map_err(|error| RecordError::io("write", path)(error.into()))?;
    text.push(b'\n');
    write(path, &text)
}

/// The file's text; `None` where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<String>, RecordError> {
    match fs::read(path) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(RecordError::damaged(path, error.utf8_error().to_string())),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::io("read", path)(error)),
    }
}

/// The value in the JSON file; `None` where there is no such file.
///
/// # Errors
/// Where the file cannot be read or is damaged.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, RecordError> {
    let Some(text) = read(path)? else {
        return Ok(None);
    };
    match serde_json::from_str(&text) {
        Ok(value) => Ok(Some(value)),
        Err(error) => Err(RecordError::damaged(path, error.to_string())),
    }
}

/// As [`read`], for files whose last character may be cut off: what is no UTF-8 is replaced.
pub(crate) fn read_lossy(path: &Path) -> Result<Option<String>, RecordError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(RecordError::io("read", path)(error)),
    }
}
