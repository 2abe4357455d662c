//! HTTP/2 from the command line: against the built-in servers, Node and nginx, whose counts are those of the
//! record.

mod peers;
mod sockets;

use std::collections::BTreeMap;
use std::io::Write;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use record::{Measurement, Outcome, Run};

use crate::support::{Ended, Served, Space, plain, read_head, server, throng};
use peers::{HaProxy, Nginx, Node};

/// Certificate and key of a server, in a test's own folder.
pub(crate) fn certificate(space: &Space) -> (String, String) {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let text = |name, content: &str| space.file(name, content).display().to_string();
    (text("server.pem", &cert.pem()), text("server.key", &signing_key.serialize_pem()))
}

/// Users of a server at `url`, which trust `cert`, with these further options and steps.
fn scenario(url: &str, http: &str, options: &str, steps: &str) -> String {
    format!(
        "target: {{ url: \"{url}\", http: {http} }}\n\
         options: {{ timeout: 10s, tls: {{ verify: false }}{options} }}\n\
         sessions:\n  user:\n{steps}\
         arrivals: [ {{ constant: 40/s, for: 1s }}, {{ hold: 300ms }} ]\n\
         thresholds: [ errors == 0 ]\n"
    )
}

const THREE: &str = "    - loop: 3\n      steps: [ { get: /hello, as: page } ]\n";

/// Operations of a measure, by outcome.
pub(crate) fn outcomes(run: &Run, measure: &str) -> BTreeMap<Outcome, u64> {
    let measures = &run.info().measures;
    let id = measures.iter().position(|own| own.name == measure).unwrap() as u16;
    let mut counts = BTreeMap::new();
    let count = |rows: &[Measurement]| {
        for row in rows.iter().filter(|row| row.measure == id) {
            *counts.entry(row.outcome).or_default() += u64::from(row.weight);
        }
    };
    run.requests(count).unwrap();
    counts
}

pub(crate) fn ok(count: u64) -> BTreeMap<Outcome, u64> {
    BTreeMap::from([(Outcome::Ok, count)])
}

#[test]
fn the_built_in_server_is_loaded_over_http_2() {
    let space = Space::new();
    let (cert, key) = certificate(&space);
    for args in [&["hello"][..], &["hello", "--tls-cert", &cert, "--tls-key", &key]] {
        let server = Served::start(args);
        for (options, own) in [("", true), (", http_connections: shared, loops: 1", false)] {
            let space = Space::new();
            let text = scenario(&server.url, "2", options, THREE);
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            let run = space.only();
            assert_eq!(outcomes(&run, "page"), ok(120));
            let connects = outcomes(&run, "connect").values().sum::<u64>();
            assert!(if own { connects == 40 } else { connects < 20 }, "{connects}");
        }
        server.stop();
    }
}

#[test]
fn auto_takes_what_the_server_chooses() {
    let space = Space::new();
    let (cert, key) = certificate(&space);
    let server = Served::start(&["hello", "--tls-cert", &cert, "--tls-key", &key]);
    let market = Served::start(&["market", "--tls-cert", &cert, "--tls-key", &key]);
    for (url, path, version) in
        [(&server.url, "/", "HTTP/2"), (&market.url, "/v1/games", "HTTP/1.1")]
    {
        let text = scenario(url, "auto", "", &format!("    - get: {path}\n"));
        let file = space.file("scenario.yaml", &text);
        let mut command = plain(throng(["try"]));
        let ended = Ended::of(command.arg(&file)).with(0);
        for line in [format!("> GET {path} {version}\n"), format!("< {version} 200")] {
            assert!(ended.out.contains(&line), "{line:?} is not in:\n{}", ended.out);
        }
    }
    // One that requires HTTP/2 is refused by a server without it, and the error says so.
    let text = scenario(&market.url, "2", "", "    - get: /v1/games\n      as: page\n");
    let space = Space::new();
    Ended::of(&mut space.run_text(&text, &[])).with(1);
    let failed = outcomes(&space.only(), "connect");
    assert!(failed.keys().all(|&outcome| outcome != Outcome::Ok), "{failed:?}");
    market.stop();
    server.stop();
}

#[test]
fn a_server_of_http_1_is_named() {
    let address = server(|mut stream| {
        read_head(&mut stream)?;
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
    });
    let space = Space::new();
    let url = format!("http://{address}");
    let text = scenario(&url, "2", "", "    - get: /\n      as: page\n");
    let ended = Ended::of(&mut space.run_text(&text, &[])).with(1);
    ended.stdout_contains("http2-protocol-error");
    ended.stdout_contains("the server speaks HTTP/1");
}

/// A stall of a second is seen in the response times of all that were due in it, whether or not their
/// connection is shared.
#[test]
fn stalls_come_out_right() {
    for options in ["", ", http_connections: shared"] {
        let server = Served::start(&["stall", "--every", "4s"]);
        let space = Space::new();
        let text = scenario(&server.url, "2", options, "    - get: /\n      as: page\n")
            .replace("40/s, for: 1s", "50/s, for: 8s")
            .replace("hold: 300ms", "hold: 2s")
            .replace(
                "[ errors == 0 ]",
                "[ errors == 0, p70(page) < 300ms, p95(page) > 600ms, max(page) > 850ms, max(page) < 1600ms ]",
            );
        Ended::of(&mut space.run_text(&text, &[])).with(0);
        assert_eq!(outcomes(&space.only(), "page"), ok(400));
        server.stop();
    }
}

const TALK: &str = "    - get: /hello\n      as: page\n      save: { word: /word }\n    \
                    - post: /echo\n      as: echo\n      json: { said: \"${word}\" }\n      \
                    save: { said: /said }\n      check: said == word\n    \
                    - get: /large\n      as: large\n    \
                    - http: HEAD /hello\n      as: head\n    \
                    - sse: /events\n      as: events\n    \
                    - expect: { when: { /n: 3 }, as: third }\n";

#[test]
fn node_counts_what_the_record_counts() {
    for tls in [false, true] {
        let space = Space::new();
        let Some(node) = Node::start(&space, tls) else {
            return;
        };
        for options in ["", ", http_connections: shared"] {
            let space = Space::new();
            let text = scenario(&node.url, "2", options, TALK);
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            let run = space.only();
            for measure in ["page", "echo", "large", "head", "events", "third"] {
                assert_eq!(outcomes(&run, measure), ok(40), "{measure}");
            }
        }
        let counted = node.stop();
        assert_eq!(counted["streams"], 2 * 40 * 5, "{counted}");
        assert_eq!(counted["errors"], 0, "{counted}");
    }
}

#[test]
fn redirects_and_compressed_bodies_come_over_http_2_too() {
    let space = Space::new();
    let Some(node) = Node::start(&space, false) else {
        return;
    };
    let steps = "    - post: /moved\n      as: moved\n      json: { said: no }\n      \
                 save: { word: /word }\n      check: word == 'moon'\n";
    for shared in ["", ", http_connections: shared"] {
        let space = Space::new();
        let options = format!(", accept_encoding: [ gzip ]{shared}");
        let text = scenario(&node.url, "2", &options, steps);
        Ended::of(&mut space.run_text(&text, &[])).with(0);
        for measure in ["moved", "redirects"] {
            assert_eq!(outcomes(&space.only(), measure), ok(40), "{measure}");
        }
    }
    assert_eq!(node.stop()["streams"], 2 * 40 * 2);
}

#[test]
fn node_refuses_and_ends_as_it_is_recorded() {
    let space = Space::new();
    let Some(node) = Node::start(&space, false) else {
        return;
    };
    let steps = "    - get: /refused\n      as: refused\n    - get: /broken\n      as: broken\n    \
                 - get: /hello\n      as: page\n    - get: /goaway\n      as: last\n    \
                 - get: /hello\n      as: next\n";
    let text = scenario(&node.url, "2", "", steps).replace("thresholds: [ errors == 0 ]\n", "");
    let space = Space::new();
    Ended::of(&mut space.run_text(&text, &[])).with(1);
    let run = space.only();
    for (measure, outcome) in [
        ("refused", Outcome::Http2RefusedStream),
        ("broken", Outcome::Http2InternalError),
        ("page", Outcome::Ok),
        ("last", Outcome::Ok),
        ("next", Outcome::Ok),
    ] {
        assert_eq!(outcomes(&run, measure), BTreeMap::from([(outcome, 40)]), "{measure}");
    }
    // Each user needs a second connection after its first was ended.
    assert_eq!(outcomes(&run, "connect"), ok(80));
    assert_eq!(node.stop()["streams"], 5 * 40);
}

#[test]
fn haproxy_answers_what_the_record_counts() {
    for tls in [false, true] {
        let space = Space::new();
        let Some(haproxy) = HaProxy::start(&space, tls) else {
            return;
        };
        for options in ["", ", http_connections: shared"] {
            let space = Space::new();
            let text = scenario(&haproxy.url, "2", options, THREE);
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            assert_eq!(outcomes(&space.only(), "page"), ok(120));
        }
    }
}

#[test]
fn nginx_counts_what_the_record_counts() {
    for tls in [false, true] {
        let space = Space::new();
        let Some(nginx) = Nginx::start(&space, tls) else {
            return;
        };
        for options in ["", ", http_connections: shared"] {
            let space = Space::new();
            let steps = "    - loop: 3\n      steps: [ { get: /hello, as: page } ]\n    \
                         - get: /large\n      as: large\n    - get: /none\n      as: none\n      status: 404\n";
            let text = scenario(&nginx.url, "2", options, steps);
            Ended::of(&mut space.run_text(&text, &[])).with(0);
            let run = space.only();
            assert_eq!(outcomes(&run, "page"), ok(120));
            assert_eq!(outcomes(&run, "large"), ok(40));
            assert_eq!(outcomes(&run, "none"), ok(40));
        }
        let lines = nginx.stop();
        let expected = BTreeMap::from([
            ("HTTP/2.0 200".to_owned(), 2 * 160),
            ("HTTP/2.0 404".to_owned(), 2 * 40),
        ]);
        assert_eq!(lines, expected);
    }
}
