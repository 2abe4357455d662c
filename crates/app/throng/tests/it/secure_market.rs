//! The market with TLS: runs over wss and https that trust its certificate, and files that it refuses.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::runs::FANS;
use crate::support::{Ended, Served, Space, throng};

/// Certificate and key of a market, in a test's own folder.
fn files(space: &Space) -> (String, String) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let text = |name, content: &str| space.file(name, content).display().to_string();
    (text("server.pem", &cert.pem()), text("server.key", &signing_key.serialize_pem()))
}

#[test]
fn fans_of_a_market_with_tls_are_served() {
    let space = Space::new();
    let (cert, key) = files(&space);
    let scenario = FANS.replace(
        "ping-after: 0s } }",
        &format!("ping-after: 0s, tls-cert: {cert}, tls-key: {key} }} }}\noptions: {{ tls: {{ ca: {cert} }} }}"),
    );
    assert_ne!(scenario, FANS);
    let scenario = scenario + "thresholds: [ errors == 0 ]\n";
    Ended::of(&mut space.run_text(&scenario, &[])).with(0);
    space.market_is_gone();
}

#[test]
fn rest_and_websockets_of_a_market_share_its_tls() {
    let space = Space::new();
    let (cert, key) = files(&space);
    let market = Served::start(&["market", "--tls-cert", &cert, "--tls-key", &key]);
    assert!(market.url.starts_with("https://127.0.0.1:"), "{}", market.url);
    let target = |tls: &str| {
        format!(
            "target: {{ url: \"{}\"{tls} }}\nsessions:\n  s:\n    - get: /v1/games\n    - ws: /v1/stream\n    \
             - send: {{ op: join, game: g1 }}\n      reply: {{ when: {{ /re: join }} }}\n\
             arrivals: [ {{ constant: 20/s, for: 1s }} ]\nthresholds: [ errors == 0 ]\n",
            market.url
        )
    };
    let trusting = target(&format!(", tls: {{ ca: {cert} }}"));
    Ended::of(&mut space.run_text(&trusting, &[])).with(0);
    // Without its certificate nothing of it is trusted.
    let ended = Ended::of(&mut Space::new().run_text(&target(""), &[]));
    assert_ne!(ended.code, Some(0), "{}", ended.out);
    market.stop();
}

#[test]
fn unusable_certificates_are_named_at_the_start() {
    let space = Space::new();
    let other = Space::new();
    let (cert, key) = files(&space);
    let (_, other_key) = files(&other);
    let refused = |args: &[&str], code: i32, message: &str| {
        let mut command = throng(["serve", "market", "--listen", "127.0.0.1:0"]);
        Ended::of(command.args(args)).with(code).stderr_contains(message);
    };
    let mixed = ["--tls-cert", &cert, "--tls-key", &other_key];
    refused(&mixed, 65, "does not belong to the certificate in");
    refused(&["--tls-cert", &key, "--tls-key", &key], 65, "server.key: no certificate in it");
    refused(&["--tls-cert", &cert, "--tls-key", "/no/such.key"], 66, "/no/such.key");
    refused(&["--tls-cert", &cert], 64, "--tls-key");
    refused(&["--tls-key", &key], 64, "--tls-cert");
}
