//! SQLite files, each for one process alone.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Identification of a system's database.
#[derive(Debug, Clone, Copy)]
pub struct SqliteFile<'a> {
    /// Marks it as this system's (`PRAGMA application_id`).
    pub application: i64,
    /// Version of the tables (`PRAGMA user_version`).
    pub version: i64,
    /// Creates the tables of a new one.
    pub tables: &'a str,
}

/// Why a file cannot be used as the database of a system.
#[derive(Debug)]
pub enum OpenError {
    /// SQLite cannot open, read or write it.
    Sqlite(rusqlite::Error),
    /// It belongs to another program.
    Foreign,
    /// The tables have this version, which is not the expected one.
    Version(i64),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl SqliteFile<'_> {
    /// Opens or creates the database at `path`, for this process alone.
    ///
    /// # Errors
    /// When it cannot be used, or is not of this kind and version.
    pub fn open(self, path: &Path) -> Result<Connection, OpenError> {
        let Self { application: ours, version: known, tables: sql } = self;
        // SQLite would interpret `:memory:`, URLs and the empty string as databases that keep nothing.
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_URI);
        let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        // Another process holds it for as long as it runs: waiting would not help.
        connection.busy_timeout(Duration::ZERO)?;
        let pragma = |name: &str| {
            connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
        };
        // Checked before anything is changed: it might not be ours.
        let application = pragma("application_id")?;
        let version = pragma("user_version")?;
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if application != ours && (application, version, tables) != (0, 0, 0) {
            return Err(OpenError::Foreign);
        }
        if application == ours && version != known {
            return Err(OpenError::Version(version));
        }
        connection.execute_batch(
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             BEGIN EXCLUSIVE; COMMIT;",
        )?;
        if tables == 0 {
            connection.execute_batch(&format!(
                "BEGIN; {sql}; PRAGMA application_id = {ours}; PRAGMA user_version = {known}; COMMIT;"
            ))?;
        }
        Ok(connection)
    }
}
