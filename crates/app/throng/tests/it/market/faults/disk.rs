//! A database whose disk is full.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use testkit::services::Services;

use super::*;

/// The disk of servers that have one of their own.
pub(super) struct Disk(PathBuf);

impl Disk {
    pub(super) fn new(services: &Services) -> Disk {
        Disk(services.disk().join("fill"))
    }

    /// Leaves no byte.
    pub(super) fn fill(&self) {
        let mut file = File::create(&self.0).unwrap();
        for length in [1 << 20, 1 << 12] {
            let zeros = vec![0; length];
            while file.write_all(&zeros).is_ok() {}
        }
    }

    pub(super) fn free(&self) {
        std::fs::remove_file(&self.0).unwrap();
    }
}

/// A market whose store has no place for anything new.
fn disk_fills_up(kind: &'static str, size: &str) {
    let (Some(services), Some(with_disk)) =
        (Services::start(&["redis"]), Services::start_on_disk(&[kind], size))
    else {
        return;
    };
    let (Some(redis), Some(database)) =
        (services.url("redis"), Database::on(&with_disk, kind, "market_full"))
    else {
        return;
    };
    let disk = Disk::new(&with_disk);
    let witness = Witness::new(redis);
    let market = Market::start(&database.url, [redis; 2], &[]);
    let fill = || {
        if kind == "postgres" {
            // It stops altogether where its log has no room, and waits for somebody who starts it again.
            database.run("SELECT pg_switch_wal()");
        }
        disk.fill();
        // Tables have a little room of their own.
        until(&true, || unavailable(&market.players.seen) > 0);
    };
    market.survives(kind, fill, || disk.free());
    assert_eq!(market.end(&database, Some(witness)), 0);
}

#[test]
fn a_mariadb_without_space_is_unavailable_and_loses_nothing() {
    disk_fills_up("mysql", "256m");
}

#[test]
fn a_postgresql_without_space_is_unavailable_and_loses_nothing() {
    disk_fills_up("postgres", "256m");
}
