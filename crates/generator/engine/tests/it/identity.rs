//! Cookies and digest authentication: what users send, and what they learn.

use engine::sim::{self, Link, PeerAction};
use record::Outcome;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, plan, run};

fn text(options: &str, steps: &str) -> String {
    format!(
        "
name: identity
target: http://target.test/
options: {{ {options} }}
sessions:
  main:
{steps}
arrivals:
  - {{ constant: 1/s, for: 1s }}
  - {{ hold: 9s }}
"
    )
}

/// The lines of one header, by request.
fn sent(requests: &[String], name: &str) -> Vec<String> {
    let line = |request: &String| {
        let prefix = format!("{name}: ");
        let found = request.lines().find_map(|line| line.strip_prefix(&prefix));
        found.unwrap_or("-").to_owned()
    };
    requests.iter().map(line).collect()
}

const COOKIES: &str = "
    - get: /login/form
    - get: /login/again
    - { post: /other, body: text }
    - { get: /own, headers: { cookie: own=1 } }
    - { get: /login/both, cookies: { own: \"${1 + 1}\", id: 8 } }
    - get: \"http://elsewhere.test/\"
    - think: 5s
    - get: /login/late";

fn set_cookies(request: &str) -> Vec<PeerAction> {
    if request.starts_with("GET /login/form ") {
        let headers = "set-cookie: id=7; Path=/\r\nSet-Cookie: here=1; Max-Age=3\r\n\
                       set-cookie: no=1; Domain=other.test\r\nset-cookie: tls=1; Secure\r\n";
        return response("200 OK", headers, "ok");
    }
    ok("ok")
}

#[test]
fn cookies_return_to_their_origin() {
    let mut peer = HttpPeer::new(|_| MS, set_cookies);
    let ran = run(&text("cookies: true", COOKIES), &mut peer);
    assert_eq!(
        sent(&peer.requests, "cookie"),
        ["-", "here=1; id=7", "id=7", "own=1", "here=1; own=2; id=8", "-", "id=7"]
    );
    assert!(peer.requests[2].ends_with("\r\n\r\ntext"), "{}", peer.requests[2]);
    assert_eq!(ran.outcomes("POST /other"), [Outcome::Ok]);
    let mut peer = HttpPeer::new(|_| MS, set_cookies);
    run(&text("cookies: false", COOKIES), &mut peer);
    assert_eq!(sent(&peer.requests, "cookie"), ["-", "-", "-", "own=1", "own=2; id=8", "-", "-"]);
}

/// A cookie without a path belongs to the directory of the request that set it. The next request draws as if there had been
/// no cookie.
#[test]
fn a_cookie_belongs_where_a_request_that_varies_went() {
    let steps = "
    - set: { a: \"${random(1, 1000000)}\" }
    - { get: \"/${a}/set/${user + random(1, 9)}?q=${random(1, 9)}\" }
    - { get: \"/${a}/set/other\" }
    - { get: \"/${random(1, 1000000)}\" }";
    let paths = |requests: &[String]| -> Vec<String> {
        requests.iter().filter_map(|own| own.split(' ').nth(1)).map(str::to_owned).collect()
    };
    let mut found = Vec::new();
    for redirects in [0, 10] {
        for sets in [false, true] {
            let mut peer = HttpPeer::new(
                |_| MS,
                |request: &str| match request.contains("?q=") && sets {
                    true => response(
                        "200 OK",
                        "set-cookie: here=1\r\nset-cookie: all=1; path=/\r\n",
                        "ok",
                    ),
                    false => ok("ok"),
                },
            );
            run(&text(&format!("redirects: {redirects}"), steps), &mut peer);
            let kept = match sets {
                true => ["-", "here=1; all=1", "all=1"],
                false => ["-"; 3],
            };
            assert_eq!(sent(&peer.requests, "cookie"), kept);
            found.push(paths(&peer.requests));
        }
    }
    found.dedup();
    assert_eq!(found.len(), 1, "{found:?}");
}

#[test]
fn every_user_has_its_own_jar_and_restarts_with_an_empty_one() {
    let text = "
name: jars
target: http://target.test/
options: { cookies: true, http_connections: shared }
sessions:
  main: [ { get: \"/in/${user}\" }, { get: \"/at/${user}\" }, { think: 100ms } ]
arrivals: [ { users: 20, for: 1s } ]
";
    for shards in [1, 2, 4] {
        let respond = |request: &str| match request.strip_prefix("GET /in/") {
            Some(rest) => {
                let user = rest.split(' ').next().unwrap_or_default();
                response("200 OK", &format!("set-cookie: u={user}; Path=/\r\n"), "ok")
            }
            None => ok("ok"),
        };
        let mut peer = HttpPeer::new(|_| MS, respond);
        sim::run(&plan(text), shards, &mut peer, Link::new(MS)).expect("the plan can be run");
        assert!(peer.requests.len() > 100);
        for request in &peer.requests {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let cookie = sent(std::slice::from_ref(request), "cookie");
            match path.strip_prefix("/at/") {
                Some(user) => assert_eq!(cookie, [format!("u={user}")]),
                None => assert_eq!(cookie, ["-"]),
            }
        }
    }
}

/// A stream and a poll continue while the steps make requests of their own: each response's cookies
/// belong to the origin of its own request.
#[test]
fn streams_and_polls_have_the_cookies_of_their_user() {
    let options = "cookies: true, auth: { bearer: abc }";
    let beside = |request: &str| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        match path {
            "/steps/in" => response("200 OK", "set-cookie: in=1; Path=/\r\n", "ok"),
            "/feed/stream" => {
                let head = "set-cookie: feed=1\r\ncontent-type: text/event-stream\r\n";
                let mut actions = response("200 OK", head, "retry: 1000\n\n");
                actions.push(PeerAction::Close);
                actions
            }
            "/feed/poll" => response("200 OK", "set-cookie: feed=2\r\n", "1"),
            _ => ok("ok"),
        }
    };
    for (step, delayed) in [
        ("{ sse: /feed/stream }", "/feed/stream"),
        ("{ poll: /feed/poll, every: 1s }", "/feed/poll"),
    ] {
        let steps = format!(
            "
    - get: /steps/in
    - {step}
    - get: /steps/while
    - think: 1500ms
    - get: /feed/at"
        );
        let mut peer = HttpPeer::new(|_| 10 * MS, beside);
        let ran = run(&text(options, &steps), &mut peer);
        let of = |path: &str| {
            let path = format!("GET {path} ");
            let requests = peer.requests.iter().filter(|r| r.starts_with(&path));
            requests.cloned().collect::<Vec<_>>()
        };
        let number = if delayed == "/feed/poll" { 2 } else { 1 };
        let feed = format!("feed={number}");
        let cookies = sent(&of(delayed), "cookie");
        assert!(cookies.len() >= 2, "{:?}", ran.details());
        assert_eq!(cookies[0], "in=1");
        assert_eq!(cookies[1], format!("{feed}; in=1"));
        assert_eq!(sent(&of("/steps/while"), "cookie"), ["in=1"]);
        assert_eq!(sent(&of("/feed/at"), "cookie"), [format!("{feed}; in=1")], "{delayed}");
        let said = sent(&peer.requests, "authorization");
        assert!(said.iter().all(|line| line == "Bearer abc"), "{said:?}");
    }
}

const DIGEST: &str = "auth: { digest: { user: Mufasa, password: Circle of Life } }";

/// A server that wants digests: counts nonces, each good for `uses` requests.
fn guarded(uses: u32, close: bool) -> impl FnMut(&str) -> Vec<PeerAction> {
    let mut nonce = 0;
    let mut used = 0;
    move |request| {
        let answered = request.lines().find(|line| line.starts_with("authorization: Digest "));
        let current = answered.is_some_and(|line| line.contains(&format!("nonce=\"n{nonce}\"")));
        if current && used < uses {
            used += 1;
            let line = answered.unwrap_or_default();
            assert!(line.contains(&format!("nc={used:08x}")), "{line}");
            return ok("welcome");
        }
        nonce += 1;
        used = 0;
        let stale = if current { ", stale=true" } else { "" };
        let closing = if close { "connection: close\r\n" } else { "" };
        let headers = format!(
            "{closing}www-authenticate: Basic realm=\"x\", Digest realm=\"r\", qop=\"auth\", \
             algorithm=SHA-256, nonce=\"n{nonce}\"{stale}\r\n"
        );
        response("401 Unauthorized", &headers, "who?")
    }
}

#[test]
fn a_challenge_and_its_answer_are_one_operation() {
    let steps = "
    - { post: \"/a/${random(1, 1000000)}\", body: \"${random_string(9)}\", as: first }
    - { get: /b, as: second }
    - { get: /c, as: third }";
    for close in [false, true] {
        let mut peer = HttpPeer::new(|_| 10 * MS, guarded(2, close));
        let ran = run(&text(DIGEST, steps), &mut peer);
        for (measure, requests) in [("first", 2), ("second", 1), ("third", 2)] {
            let rows = ran.rows(measure);
            assert_eq!(rows.len(), 1, "{measure}: {:?}", ran.details());
            assert_eq!((rows[0].outcome, rows[0].status), (Outcome::Ok, 200), "{measure}");
            let took = rows[0].done_ns - rows[0].due_ns;
            assert_eq!(took / (10 * MS), requests, "{measure}");
        }
        assert_eq!(peer.requests.len(), 5);
        // The answer repeats the request as it was, with one line more.
        let line = |request: &String| {
            let lines = request.split("\r\n").filter(|l| !l.starts_with("authorization"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(line(&peer.requests[0]), line(&peer.requests[1]));
        let sizes = peer.requests[0].len() + peer.requests[1].len();
        assert_eq!(ran.rows("first")[0].bytes_out as usize, sizes);
    }
}

#[test]
fn a_rejected_answer_is_an_error_and_is_not_repeated() {
    let refuse = |_: &str| {
        let header = "www-authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\"\r\n";
        response("401 Unauthorized", header, "")
    };
    let steps = "    - { get: /a, as: a }\n    - { get: /b, as: b, auth: none, status: 401 }";
    let mut peer = HttpPeer::new(|_| MS, refuse);
    let ran = run(&text(DIGEST, steps), &mut peer);
    assert_eq!(ran.outcomes("a"), [Outcome::Status]);
    assert_eq!(ran.outcomes("b"), [Outcome::Ok]);
    assert_eq!(peer.requests.len(), 3);
    let always_stale = |_: &str| {
        let header = "www-authenticate: Digest realm=\"r\", nonce=\"n\", stale=true\r\n";
        response("401 Unauthorized", header, "")
    };
    let mut peer = HttpPeer::new(|_| MS, always_stale);
    let ran = run(&text(DIGEST, "    - { get: /a, as: a }"), &mut peer);
    assert_eq!(ran.outcomes("a"), [Outcome::Status]);
    assert_eq!(peer.requests.len(), 3);
}

#[test]
fn basic_authentication_uses_the_users_values() {
    let steps = "
    - set: { name: Aladdin, secret: open sesame }
    - { get: /, auth: { basic: { user: \"${name}\", password: \"${secret}\" } } }";
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    run(&text("", steps), &mut peer);
    assert_eq!(sent(&peer.requests, "authorization"), ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="]);
}

const SIGN: &str = "cookies: true, sign: { aws: { service: s3, region: eu-west-1, access_key: \"id${user}\", \
                    secret_key: secret } }";

fn of_s3(request: &str) -> Vec<PeerAction> {
    match request.split(' ').nth(1) {
        Some("/in") => response("200 OK", "set-cookie: id=7; Path=/\r\n", "ok"),
        Some("/put") => response("307 Temporary Redirect", "location: /again\r\n", ""),
        Some("/away") => response("302 Found", "location: http://elsewhere.test/x\r\n", ""),
        _ => ok("ok"),
    }
}

#[test]
fn every_request_to_its_host_is_signed_as_it_is_sent() {
    let steps = "
    - { get: /in, as: in }
    - think: 1s
    - { put: /put, body: \"text ${user}\", as: put }
    - { get: /away, as: away }
    - { get: \"http://elsewhere.test/y\", sign: none, as: other }";
    let mut peer = HttpPeer::new(|_| MS, of_s3);
    let ran = run(&text(SIGN, steps), &mut peer);
    for measure in ["in", "put", "away", "other"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{:?}", ran.details());
    }
    let paths: Vec<_> = peer.requests.iter().map(|r| r.split(' ').nth(1)).collect();
    let expected = ["/in", "/put", "/again", "/away", "/x", "/y"].map(Some);
    assert_eq!(paths, expected);
    let signatures = sent(&peer.requests, "authorization");
    let starts = |cookie: &str, date: &str| {
        format!(
            "AWS4-HMAC-SHA256 Credential=id0/{}/eu-west-1/s3/aws4_request, \
             SignedHeaders={cookie}host;x-amz-content-sha256;x-amz-date, Signature=",
            &date[..8]
        )
    };
    let dates = sent(&peer.requests, "x-amz-date");
    assert!(signatures[0].starts_with(&starts("", &dates[0])), "{signatures:?}");
    for at in 1..4 {
        let start = starts("cookie;", &dates[at]);
        assert!(signatures[at].starts_with(&start), "{signatures:?}");
        assert_ne!(signatures[at], signatures[at - 1]);
    }
    assert_ne!(dates[0], dates[1]);
    assert_eq!(signatures[4..], ["-", "-"]);
    assert!(peer.requests[2].ends_with("\r\n\r\ntext 0"), "{}", peer.requests[2]);
    // Of the text that was sent.
    assert_eq!(
        sent(&peer.requests, "x-amz-content-sha256")[1],
        "822beb0d1729878ad343b6c35b1d5e45e62f8e36b6543c2312b6f1cb6d00cdef"
    );
}

#[test]
fn what_cannot_be_signed_is_an_error_of_the_step() {
    let options = SIGN.replace("id${user}", "id ${user}");
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run(&text(&options, "    - { get: /a, as: a }"), &mut peer);
    assert_eq!(ran.outcomes("a"), [Outcome::Step]);
    assert_eq!(peer.requests.len(), 0);
    assert!(ran.details()[0].contains("the access key has characters"), "{:?}", ran.details());
}
