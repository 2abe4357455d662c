//! One process at a time runs an experiment: two would make all runs twice, and overwrite each other's
//! state.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use record::RecordError;

/// The file in the experiment's directory that is locked. It stays: one that is removed could be
/// locked twice.
const LOCK_FILE: &str = "experiment.lock";
/// Longest number of a process.
const HOLDER_BYTES_MAX: u64 = 20;

/// Held as long as this exists; the system releases it with the process, however that ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why the directory cannot be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error("process {holder} already runs in {}", directory.display())]
    Held { holder: String, directory: PathBuf },
}

impl Lock {
    /// Locks the directory for this process, and creates it if it is missing.
    ///
    /// # Errors
    /// Another process holds it, or the system refuses.
    pub fn take(directory: &Path) -> Result<Lock, LockError> {
        std::fs::create_dir_all(directory).map_err(|source| RecordError::Io {
            action: "create",
            path: directory.to_owned(),
            source,
        })?;
        let path = directory.join(LOCK_FILE);
        let denied = |source| RecordError::Io { action: "lock", path: path.clone(), source };
        let mut how = OpenOptions::new();
        // The file is not truncated before it is locked: its contents are those of the process that holds the lock.
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
        file.write_all(std::process::id().to_string().as_bytes()).map_err(denied)?;
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
        let own = format!("process {} already runs", std::process::id());
        assert!(refused.starts_with(&own), "{refused}");
        drop(lock);
        drop(Lock::take(&directory).unwrap());
    }
}
