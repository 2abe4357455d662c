//! How safe a record is on the disk.

use std::fs::File;
use std::path::Path;

use crate::RecordError;

/// The failure that the checkpoints of a record survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process: what was written is the system's.
    #[default]
    Process,
    /// A power cut, too: what was written is synced to the disk (fsync(2)), files and the folders that name them.
    PowerCut,
}

impl Durability {
    /// Syncs what was written to an open file.
    pub(crate) fn sync(self, file: &File, path: &Path) -> Result<(), RecordError> {
        match self {
            Durability::Process => Ok(()),
            Durability::PowerCut => file.sync_data().map_err(RecordError::io("sync", path)),
        }
    }

    /// Syncs the names in the folder that a file or folder stands in.
    pub(crate) fn sync_folder_of(self, path: &Path) -> Result<(), RecordError> {
        if self == Durability::Process {
            return Ok(());
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(RecordError::io("sync", folder))
    }
}
