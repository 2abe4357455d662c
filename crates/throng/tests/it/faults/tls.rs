//! Certificates: not trusted, not looked at, vouched for.

use std::io::Write;

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
    let (space, tls) = (Space::new(), hello_over_tls());
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
    let (space, tls) = (Space::new(), hello_over_tls());
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
    assert_eq!(
        space
            .summary()
            .measures
            .iter()
            .map(|m| m.errors)
            .sum::<u64>(),
        0
    );
}

#[test]
fn invalid_roots_are_errors() {
    let space = Space::new();
    let url = "https://127.0.0.1:1/";
    let missing = space.path("missing.pem").display().to_string();
    let set = format!("options.tls.ca={missing}");
    Ended::of(&mut space.run(&[url, "--set", &set]))
        .with(66)
        .stderr_contains("missing.pem");
    let set = format!(
        "options.tls.ca={}",
        space.file("empty.pem", "nothing\n").display()
    );
    Ended::of(&mut space.run(&[url, "--set", &set]))
        .with(65)
        .stderr_contains("no certificate in it");
}
