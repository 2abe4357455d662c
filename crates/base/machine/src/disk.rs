//! How much room a file system has.

use std::path::Path;

/// Bytes that this user may still write to the file system of a path; `None`: the system does not say.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let about = rustix::fs::statvfs(path).ok()?;
    Some(about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_room_and_what_is_missing_has_none() {
        let directory = tempfile::tempdir().unwrap();
        assert!(free_bytes(directory.path()).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_bytes(&directory.path().join("missing")), None);
    }
}
