//! Databases of a test's own on the servers of `scripts/services`.

use mysql::prelude::Queryable;
use testkit::services::Services;

/// A database of a test's own on a server.
pub(crate) struct Database {
    pub(crate) kind: &'static str,
    pub(crate) url: String,
}

impl Database {
    /// On each database server that there is, empty. Each test has names of its own.
    pub(crate) fn each(services: &Services, name: &str) -> Vec<Database> {
        let kinds = ["mysql", "postgres"].into_iter();
        kinds.filter_map(|kind| Database::on(services, kind, name)).collect()
    }

    /// On this server, empty; `None`, said aloud, where it is not installed.
    pub(crate) fn on(services: &Services, kind: &'static str, name: &str) -> Option<Database> {
        let url = services.url(kind)?;
        // A test that runs again finds the one that it had.
        let name = format!("{name}_{}", std::process::id());
        let create = format!("CREATE DATABASE {name}");
        let url = match kind {
            "mysql" => {
                mysql::Conn::new(url).unwrap().query_drop(create).unwrap();
                format!("{url}{name}")
            }
            _ => {
                let mut client = postgres::Client::connect(url, postgres::NoTls).unwrap();
                client.batch_execute(&create).unwrap();
                let (server, _) = url.rsplit_once('/').unwrap();
                format!("{server}/{name}")
            }
        };
        Some(Database { kind, url })
    }

    /// The same on the replica of its server; `None`, said aloud, where there is none.
    pub(crate) fn replica(&self, services: &Services) -> Option<Database> {
        let server = services.url(&format!("{}-replica", self.kind))?;
        let (server, _) = server.rsplit_once('/').unwrap();
        let (_, name) = self.url.rsplit_once('/').unwrap();
        Some(Database { kind: self.kind, url: format!("{server}/{name}") })
    }

    /// Whether it is there: a replica gets it a little later than its master.
    pub(crate) fn exists(&self) -> bool {
        match self.kind {
            "mysql" => mysql::Conn::new(&*self.url).is_ok(),
            _ => postgres::Client::connect(&self.url, postgres::NoTls).is_ok(),
        }
    }

    /// Has a replica apply what its master does with a delay.
    pub(crate) fn delay(&self, seconds: u32) {
        let statements: &[String] = match self.kind {
            "mysql" => &[
                "STOP SLAVE".to_owned(),
                format!("CHANGE MASTER TO MASTER_DELAY = {seconds}"),
                "START SLAVE".to_owned(),
            ],
            _ => &[
                format!("ALTER SYSTEM SET recovery_min_apply_delay = '{seconds}s'"),
                "SELECT pg_reload_conf()".to_owned(),
            ],
        };
        for statement in statements {
            self.run(statement);
        }
    }

    pub(crate) fn run(&self, sql: &str) {
        match self.kind {
            "mysql" => mysql::Conn::new(&*self.url).unwrap().query_drop(sql).unwrap(),
            _ => self.postgres().batch_execute(sql).unwrap(),
        }
    }

    /// The number that a query answers.
    pub(crate) fn number(&self, sql: &str) -> i64 {
        match self.kind {
            "mysql" => {
                let mut client = mysql::Conn::new(&*self.url).unwrap();
                client.query_first(sql).unwrap().unwrap()
            }
            _ => self.postgres().query_one(sql, &[]).unwrap().get(0),
        }
    }

    pub(crate) fn postgres(&self) -> postgres::Client {
        postgres::Client::connect(&self.url, postgres::NoTls).unwrap()
    }

    /// The rows that a query answers, all of whose columns are whole numbers.
    pub(crate) fn rows(&self, sql: &str) -> Vec<Vec<i64>> {
        match self.kind {
            "mysql" => {
                let mut client = mysql::Conn::new(&*self.url).unwrap();
                let rows: Vec<mysql::Row> = client.query(sql).unwrap();
                let row = |row: mysql::Row| (0..row.len()).map(|at| row.get(at).unwrap()).collect();
                rows.into_iter().map(row).collect()
            }
            _ => {
                let rows = self.postgres().query(sql, &[]).unwrap();
                let row = |row: &postgres::Row| (0..row.len()).map(|at| row.get(at)).collect();
                rows.iter().map(row).collect()
            }
        }
    }

    /// An expression as a whole number of 64 bits.
    pub(crate) fn whole(&self, expression: &str) -> String {
        let kind = match self.kind {
            "mysql" => "SIGNED",
            _ => "BIGINT",
        };
        format!("CAST({expression} AS {kind})")
    }
}
