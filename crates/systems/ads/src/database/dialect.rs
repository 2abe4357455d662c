//! Differences between the SQL of the two kinds of database servers.

use server::database::DatabaseKind;

/// Statements that differ.
#[derive(Debug)]
pub(super) struct Dialect {
    /// Counts the tables of the database itself.
    pub(super) count_tables: &'static str,
    /// After an insertion of counts: adds them to existing ones.
    pub(super) add: &'static str,
    /// 1 if this connection now holds the database for one server alone, else 0.
    pub(super) lock: &'static str,
    /// Releases the lock.
    pub(super) unlock: &'static str,
}

const MYSQL: Dialect = Dialect {
    count_tables: "SELECT count(*) FROM information_schema.tables WHERE table_schema = database()",
    add: "ON DUPLICATE KEY UPDATE total = total + VALUES(total)",
    // Names of locks are global to the server, and at most 64 characters long.
    lock: "SELECT get_lock(concat('ads.', left(database(), 60)), 0)",
    unlock: "SELECT release_lock(concat('ads.', left(database(), 60)))",
};

const POSTGRES: Dialect = Dialect {
    count_tables: "SELECT count(*) FROM information_schema.tables \
                   WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'",
    add: "ON CONFLICT (ad, step) DO UPDATE SET total = ads_performance.total + excluded.total",
    // Numbers of locks belong to the database: "adnw" in ASCII.
    lock: "SELECT CASE WHEN pg_try_advisory_lock(1633971831) THEN 1 ELSE 0 END",
    unlock: "SELECT CASE WHEN pg_advisory_unlock(1633971831) THEN 1 ELSE 0 END",
};

impl Dialect {
    /// The dialect of a kind of server.
    pub(super) fn for_kind(kind: DatabaseKind) -> &'static Dialect {
        match kind {
            DatabaseKind::Postgres => &POSTGRES,
            // Redis is no database of records: its address is refused before.
            DatabaseKind::MySql | DatabaseKind::Redis => &MYSQL,
        }
    }
}
