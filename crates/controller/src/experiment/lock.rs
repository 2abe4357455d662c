//! One process at a time conducts an experiment: each would make all of its runs, beside those of
//! the other, and replace what the other noted.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use record::RecordError;

/// The file in the experiment's directory that is locked. It stays: one that is removed could be
/// locked twice.
const LOCK_FILE: &str = "experiment.lock";
/// Longest number of a process.
const HOLDER_BYTES_MAX: u64 = 20;

/// Held for as long as this lives; the system lets go of it with the process, however it ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why the directory is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("process {holder} already runs the experiment in {}", directory.display())]
    Held { holder: String, directory: PathBuf },
}

impl Lock {
    /// Takes the directory for this process, and makes it where it is missing.
    ///
    /// # Errors
    /// Where another process has it, or the system denies it.
    pub fn take(directory: &Path) -> Result<Lock, LockError> {
        std::fs::create_dir_all(directory).map_err(|source| RecordError::Io {
            action: "create",
            path: directory.to_owned(),
            source,
        })?;
        let path = directory.join(LOCK_FILE);
        let denied = |source| RecordError::Io {
            action: "lock",
            path: path.clone(),
            source,
        };
        let mut how = OpenOptions::new();
        // What stands in it is the holder's until the lock is ours.
        how.read(true).write(true).create(true).truncate(false);
        let mut file = how.open(&path).map_err(denied)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held {
                    holder: holder(&file),
                    directory: directory.to_owned(),
                });
            }
            Err(TryLockError::Error(source)) => return Err(denied(source).into()),
        }
        file.set_len(0).map_err(denied)?;
        file.write_all(std::process::id().to_string().as_bytes())
            .map_err(denied)?;
        Ok(Lock { _file: file })
    }
}

/// The number of the process that holds it, as far as it has written it.
fn holder(file: &File) -> String {
    let mut text = String::new();
    match file.take(HOLDER_BYTES_MAX).read_to_string(&mut text) {
        Ok(1..) => text,
        _ => "of an unknown number".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_one_holder_at_a_time() {
        let space = tempfile::tempdir().unwrap();
        let directory = space.path().join("new");
        let lock = Lock::take(&directory).unwrap();
        let refused = Lock::take(&directory).unwrap_err().to_string();
        let own = format!("process {} conducts", std::process::id());
        assert!(refused.starts_with(&own), "{refused}");
        drop(lock);
        drop(Lock::take(&directory).unwrap());
    }
}
