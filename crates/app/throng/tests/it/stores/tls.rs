//! TLS to real databases: who speaks it, who refuses which certificate, and what that says.

use mysql::prelude::Queryable;
use rcgen::{CertificateParams, KeyPair};
use testkit::needs::skip;
use testkit::services::Services;

use super::{Database, PASSWORD, ad, events, fetch, metric, small};
use crate::support::{Ended, Served, Space, throng};

/// How a database's URL requires TLS by this authority.
fn encrypted(database: &Database, ca: &str) -> String {
    let query = match database.kind {
        "mysql" => format!("require_ssl=true&ssl_ca={ca}"),
        _ => format!("sslmode=verify-full&sslrootcert={ca}"),
    };
    format!("{}?{query}", database.url)
}

/// Connections that the server got by TLS.
fn by_tls(database: &Database) -> i64 {
    if database.kind == "postgres" {
        return database.number("SELECT count(*) FROM pg_stat_ssl WHERE ssl");
    }
    let mut client = mysql::Conn::new(&*database.url).unwrap();
    let row: Option<(String, i64)> =
        client.query_first("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'").unwrap();
    row.unwrap().1
}

/// The file of an authority that signed nothing.
fn other_authority(space: &Space) -> String {
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
    let file = space.file("other.pem", &certificate.pem());
    file.to_str().unwrap().to_owned()
}

#[track_caller]
fn refused(store: &str, code: i32, message: &str) {
    let mut command = throng(["serve"].iter().chain(&small(store, &[])));
    command.args(["--listen", "127.0.0.1:0"]);
    let ended = Ended::of(&mut command).with(code);
    ended.stderr_contains(message);
    assert!(!ended.err.contains(PASSWORD), "{}", ended.err);
}

#[test]
fn stores_and_caches_are_reached_by_tls() {
    let Some(services) = Services::start(&["mysql", "postgres", "redis"]) else {
        return;
    };
    let Some(ca) = services.ca() else { return };
    let cache = services.tls_url("redis").map(|url| format!("{url}?ssl_ca_certs={ca}"));
    for database in Database::each(&services, "ads_by_tls") {
        let what = database.kind;
        let before = by_tls(&database);
        let store = encrypted(&database, ca);
        let mut more = vec![];
        more.extend(cache.iter().flat_map(|cache| ["--cache", cache]));
        let server = Served::start(&small(&store, &more));
        let [(_, impression), ..] = events(&ad(&server.url).unwrap());
        assert_eq!(fetch(&server.url, "GET", &impression).0, 200, "{what}");
        assert!(by_tls(&database) > before, "{what}: nothing came by TLS");
        assert_eq!(metric(&server.url, "ads_impressions_total"), 1.0, "{what}");
        server.stop();
        // That it was served, and that it was seen.
        assert_eq!(database.number("SELECT count(*) FROM ads_events"), 2);
    }
}

#[test]
fn certificates_of_databases_are_verified() {
    let Some(services) = Services::start(&["mysql", "postgres", "redis"]) else {
        return;
    };
    let Some(ca) = services.ca() else { return };
    let space = Space::new();
    let other = other_authority(&space);
    for database in Database::each(&services, "ads_certificates") {
        let url = encrypted(&database, ca);
        let is_mysql = database.kind == "mysql";
        let setting = if is_mysql { "ssl_ca" } else { "sslrootcert" };
        let untrusted = format!(
            "invalid certificate: not signed by a trusted authority; `{setting}` adds authorities"
        );
        refused(&encrypted(&database, &other), 69, &untrusted);
        // By the roots of the system alone.
        let (without, _) = url.rsplit_once('&').unwrap();
        refused(without, 69, &untrusted);
        // It leads to the same server, under a name that its certificate has not.
        let renamed = url.replace("@127.0.0.1:", "@0.0.0.0:");
        refused(&renamed, 69, "certificate not valid for name");
        refused(&encrypted(&database, "/no/such.pem"), 64, "/no/such.pem");
        let key = space.file("key.pem", &KeyPair::generate().unwrap().serialize_pem());
        let keyed = encrypted(&database, key.to_str().unwrap());
        refused(&keyed, 64, "key.pem: no certificate in it");
        for accepted in match is_mysql {
            true => vec![format!("{renamed}&danger_skip_domain_validation=true")],
            false => vec![
                renamed.replace("verify-full", "verify-ca"),
                format!("{}?sslmode=require", database.url),
                format!("{}?sslmode=prefer", database.url),
            ],
        } {
            Served::start(&small(&accepted, &[])).stop();
        }
    }
    let (Some(redis), Some(database)) =
        (services.tls_url("redis"), Database::each(&services, "ads_cache").pop())
    else {
        return skip("no Redis with TLS");
    };
    let cache = format!("{redis}?ssl_ca_certs={other}");
    let mut command = throng(["serve"].iter().chain(&small(&database.url, &["--cache", &cache])));
    let ended = Ended::of(command.args(["--listen", "127.0.0.1:0"])).with(69);
    ended.stderr_contains("cannot use the cache rediss://:***@");
    ended.stderr_contains("not signed by a trusted authority");
}

#[test]
fn a_database_without_tls_is_refused_if_the_url_requires_it() {
    let Some(services) = Services::start(&["--plain", "mysql", "postgres"]) else {
        return;
    };
    for database in Database::each(&services, "ads_plain") {
        let (query, message) = match database.kind {
            "mysql" => ("require_ssl=true", "server does not have this capability"),
            _ => ("sslmode=require", "server does not support TLS"),
        };
        refused(&format!("{}?{query}", database.url), 69, message);
        Served::start(&small(&database.url, &[])).stop();
    }
}
