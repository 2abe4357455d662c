//! Certificates: not trusted, not looked at, vouched for.

use std::io::Write;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::fails_as;
use crate::support::{Ended, Space, Tls, read_head};

#[test]
fn an_untrusted_certificate_fails_the_connection() {
    let tls = hello_over_tls();
    fails_as("tls-untrusted", &format!("https://{}/", tls.address), &[]);
}

fn hello_over_tls() -> Tls {
    Tls::server(|stream| {
        loop {
            read_head(stream)?;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    })
}

#[test]
fn an_untrusted_certificate_is_accepted_on_request() {
    let space = Space::new();
    let tls = hello_over_tls();
    let url = format!("https://{}/", tls.address);
    let load = ["--users", "2", "--duration", "500ms"];
    let mut run = space.run(&[&url, "--set", "options.tls.verify=false"]);
    let ended = Ended::of(run.args(load)).with(0);
    ended.stdout_contains("certificates were not verified");
    let summary = space.summary();
    assert_eq!(summary.measures.iter().map(|m| m.errors).sum::<u64>(), 0);
    assert!(summary.findings.iter().any(|f| f.code == "tls-unverified"));
    assert!(space.only().info().tls_unverified);
}

#[test]
fn a_certificate_of_a_given_authority_is_accepted() {
    let space = Space::new();
    let tls = hello_over_tls();
    let ca = space.file("ca.pem", &tls.certificate);
    let url = format!("https://localhost:{}/", tls.address.port());
    let load = ["--users", "2", "--duration", "500ms", "--set"];
    let set = format!("options.tls.ca={}", ca.display());
    Ended::of(space.run(&[&url]).args(load).arg(set)).with(0);
    let summary = space.summary();
    assert_eq!(summary.measures.iter().map(|m| m.errors).sum::<u64>(), 0);
    assert!(summary.findings.iter().all(|f| f.code != "tls-unverified"));
}

/// A body that ends with the connection is whole where TLS was closed, and only there.
#[test]
fn a_connection_cut_within_tls_is_a_failed_request() {
    let answer = |closes: bool| {
        let tls = Tls::server(move |stream| {
            read_head(stream)?;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok")?;
            if closes {
                stream.conn.send_close_notify();
            }
            stream.flush()
        });
        format!("https://{}/", tls.address)
    };
    let any = "options.tls.verify=false";
    fails_as("closed", &answer(false), &[any]);
    let space = Space::new();
    let mut run = space.load(&answer(true), "20/s", "500ms");
    Ended::of(run.args(["--set", any])).with(0);
    assert_eq!(space.summary().measures.iter().map(|m| m.errors).sum::<u64>(), 0);
}

/// A server ends an idle connection when the next request is on its way, properly or not: the request is sent again, and
/// nobody is to blame.
#[test]
fn a_request_that_meets_the_end_of_an_idle_connection_within_tls_is_sent_again() {
    for closes in [true, false] {
        let tls = Tls::server(move |stream| {
            read_head(stream)?;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
            stream.flush()?;
            read_head(stream)?;
            if closes {
                stream.conn.send_close_notify();
            }
            stream.flush()
        });
        let space = Space::new();
        let text = format!(
            "target: {{ url: \"https://{}/\", tls: {{ verify: false }} }}\n\
             sessions: {{ a: [ {{ get: /, as: page }}, {{ get: /, as: page }} ] }}\n\
             arrivals: [ {{ constant: 20/s, for: 1s }} ]\nthresholds: [ errors == 0 ]\n",
            tls.address
        );
        Ended::of(&mut space.run_text(&text, &[])).with(0);
        let summary = space.summary();
        let page = summary.measures.iter().find(|m| m.name == "page").unwrap();
        assert_eq!((page.count, page.errors), (40, 0));
        let series = space.only().series().unwrap();
        assert_eq!(series.iter().map(|row| row.requests_retried).sum::<u64>(), 20);
    }
}

/// A server that wants a certificate of an authority, and a scenario in a folder with what its users have: `tls` says
/// what they present. The files are relative to the scenario, not to where the program runs.
fn with_certificates(tls: &str) -> (Space, Tls, std::process::Command) {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_cert = ca.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(ca, ca_key);
    let user_key = KeyPair::generate().unwrap();
    let user = CertificateParams::new(vec!["user".to_owned()]).unwrap();
    let user = user.signed_by(&user_key, &issuer).unwrap();
    let server = Tls::server_for(Some(ca_cert.der().clone()), |stream| {
        loop {
            read_head(stream)?;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")?;
        }
    });
    let space = Space::new();
    std::fs::create_dir(space.path("load")).unwrap();
    space.file("load/server.pem", &server.certificate);
    space.file("load/user.pem", &user.pem());
    space.file("load/user.key", &user_key.serialize_pem());
    space.file("load/other.key", &KeyPair::generate().unwrap().serialize_pem());
    let port = server.address.port();
    let text = format!(
        "target: {{ url: \"https://localhost:{port}/\", tls: {{ ca: server.pem{tls} }} }}\n\
         sessions: {{ a: [ {{ get: /, as: page }} ] }}\n\
         arrivals: [ {{ constant: 10/s, for: 500ms }} ]\nthresholds: [ errors == 0 ]\n"
    );
    let file = space.file("load/scenario.yaml", &text);
    let mut run = space.run(&[]);
    run.arg(file);
    (space, server, run)
}

#[test]
fn users_present_their_certificate() {
    let (space, _server, mut run) = with_certificates(", cert: user.pem, key: user.key");
    Ended::of(&mut run).with(0);
    let key = std::fs::read_to_string(space.path("load/user.key")).unwrap();
    let line = key.lines().nth(1).unwrap();
    // The key is in no file of the record.
    for entry in std::fs::read_dir(&space.directories()[0]).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains(line));
    }
    let (_space, _server, mut run) = with_certificates(", cert: user.pem, key: user.key");
    Ended::of(run.args(["--workers", "2"])).with(0);
}

#[test]
fn a_server_that_wants_a_certificate_refuses_others() {
    let (space, _server, mut run) = with_certificates("");
    Ended::of(&mut run).with(1);
    let summary = space.summary();
    let texts: Vec<&str> = summary.findings.iter().map(|f| f.text.as_str()).collect();
    let refused = |text: &&str| text.contains("with the TLS alert \"certificate required\"");
    assert!(texts.iter().any(refused), "{texts:?}");
}

#[test]
fn keys_that_are_missing_or_of_others_are_errors() {
    let ended = |tls: &str, code: i32| {
        let (_space, _server, mut run) = with_certificates(tls);
        Ended::of(&mut run).with(code)
    };
    ended(", cert: user.pem, key: none.key", 66)
        .stderr_contains("none.key, which `options.tls` names");
    ended(", cert: user.pem, key: other.key", 65)
        .stderr_contains("the key in other.key does not belong to the certificate in user.pem");
    ended(", cert: user.key, key: user.key", 65).stderr_contains("user.key: no certificate in it");
    ended(", cert: user.pem", 65).stderr_contains("`cert` needs `key`");
    ended(", key: user.key", 65).stderr_contains("`key` needs `cert`");
}

#[test]
fn invalid_roots_are_errors() {
    let space = Space::new();
    let url = "https://127.0.0.1:1/";
    let missing = space.path("missing.pem").display().to_string();
    let set = format!("options.tls.ca={missing}");
    Ended::of(&mut space.run(&[url, "--set", &set])).with(66).stderr_contains("missing.pem");
    let set = format!("options.tls.ca={}", space.file("empty.pem", "nothing\n").display());
    Ended::of(&mut space.run(&[url, "--set", &set]))
        .with(65)
        .stderr_contains("no certificate in it");
}
