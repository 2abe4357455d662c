//! Files that their owner alone may read.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Owner alone: read and write.
const MODE: u32 = 0o600;

/// Writes a file that its owner alone may read, whatever the mode of one that is replaced was.
///
/// # Errors
/// Fails if the system refuses.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(MODE).open(path)?;
    // A device or a pipe keeps its own mode.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    file.write_all(content)
}
