//! Databases of the servers' own: SQLite files, each for one process alone.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// What a server's database is.
#[derive(Debug, Clone, Copy)]
pub struct Database<'a> {
    /// Marks it as this server's (`PRAGMA application_id`).
    pub application: i64,
    /// Version of the tables (`PRAGMA user_version`).
    pub version: i64,
    /// Makes the tables of a new one.
    pub tables: &'a str,
}

/// Why a file is no database of this server's.
#[derive(Debug)]
pub enum Unusable {
    Sqlite(rusqlite::Error),
    /// It is of something else.
    Foreign,
    /// Its tables have another version: this one.
    Version(i64),
}

impl From<rusqlite::Error> for Unusable {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Database<'_> {
    /// Opens or makes the database at `path`, for this process alone.
    pub fn open(self, path: &Path) -> Result<Connection, Unusable> {
        let Self {
            application: ours,
            version: known,
            tables: sql,
        } = self;
        // A path is a path, whatever SQLite would take for something else: `:memory:`, URLs, and nothing
        // at all would keep nothing.
        let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_URI);
        let connection = Connection::open_with_flags(Path::new(".").join(path), flags)?;
        // Another server holds it for as long as it runs: waiting would not help.
        connection.busy_timeout(Duration::ZERO)?;
        let pragma = |name: &str| {
            connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0))
        };
        // Asked before anything is changed: it might not be ours.
        let (application, version) = (pragma("application_id")?, pragma("user_version")?);
        let tables: i64 =
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if application != ours && (application, version, tables) != (0, 0, 0) {
            return Err(Unusable::Foreign);
        }
        if application == ours && version != known {
            return Err(Unusable::Version(version));
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
