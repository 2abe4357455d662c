//! Redirects, followed as browsers do (RFC 9110 §15.4).

use record::Outcome;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, Ran, run};

fn scenario(options: &str, steps: &str) -> String {
    format!(
        "
name: redirects
target: http://a.test/
options: {{ timeout: 2s, drain: 1s{options} }}
sessions:
  main:
{steps}
arrivals: [ {{ constant: 1/s, for: 1s }}, {{ hold: 4s }} ]
"
    )
}

fn redirect(status: &str, location: &str) -> Vec<engine::sim::PeerAction> {
    response(status, &format!("location: {location}\r\n"), "")
}

/// Plays one step against servers that answer by `METHOD host path`.
fn play(
    options: &str,
    steps: &str,
    answer: fn(&str) -> Vec<engine::sim::PeerAction>,
) -> (Ran, Vec<String>) {
    let mut peer = HttpPeer::new(|_| MS, |request| answer(&line(request)));
    let ran = run(&scenario(options, steps), &mut peer);
    (ran, peer.requests)
}

/// `METHOD host path`.
fn line(request: &str) -> String {
    let mut words = request.split(' ');
    let method = words.next();
    let path = words.next();
    let host = request.lines().find_map(|line| line.strip_prefix("host: "));
    [method, host, path].map(Option::unwrap_or_default).join(" ")
}

fn lines(requests: &[String]) -> Vec<String> {
    requests.iter().map(|request| line(request)).collect()
}

#[test]
fn each_hop_is_a_row_and_the_operation_lasts_to_the_last_response() {
    let (ran, requests) = play("", "    - { get: /a/one, as: page }", |line| match line {
        "GET a.test /a/one" => redirect("302 Found", "two?x=1#part"),
        "GET a.test /a/two?x=1" => redirect("307 Temporary Redirect", "/three"),
        _ => ok("there"),
    });
    let seen = lines(&requests);
    assert_eq!(seen, ["GET a.test /a/one", "GET a.test /a/two?x=1", "GET a.test /three"]);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    let page = ran.rows("page")[0];
    assert_eq!((page.status, page.response_ns()), (200, 3 * MS));
    let hops = ran.rows("redirects");
    let hops: Vec<_> = hops.iter().map(|row| (row.status, row.response_ns())).collect();
    assert_eq!(hops, [(302, MS), (307, MS)]);
    // As many rows as requests, and each request's bytes in one of them.
    assert_eq!(ran.total(|counts| counts.sends), 3);
    let sent: usize = requests.iter().map(String::len).sum();
    assert_eq!(ran.total(|counts| counts.bytes_out), sent as u64);
    assert_eq!(ran.outcomes("connect").len(), 1, "one connection serves the chain");
}

#[test]
fn methods_and_bodies_follow_the_status() {
    for (status, expected, has_body) in [
        ("301 Moved Permanently", "GET", false),
        ("302 Found", "GET", false),
        ("303 See Other", "GET", false),
        ("307 Temporary Redirect", "POST", true),
        ("308 Permanent Redirect", "POST", true),
    ] {
        let step = "    - { post: /form, json: { a: 1 }, as: page }";
        let mut peer = HttpPeer::new(
            |_| MS,
            |request| match request.contains(" /form ") {
                true => redirect(status, "/next"),
                false => ok("there"),
            },
        );
        let ran = run(&scenario("", step), &mut peer);
        let second = &peer.requests[1];
        assert!(second.starts_with(&format!("{expected} /next ")), "{second}");
        assert_eq!(second.ends_with("{\"a\":1}"), has_body, "{status}: {second}");
        assert_eq!(second.contains("content-type"), has_body, "{status}: {second}");
        assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    }
}

#[test]
fn values_that_were_drawn_are_sent_again() {
    let steps = "    - { post: \"/x/${uuid()}\", body: \"${random(1, 1000000)}\", as: page }
    - { get: \"/later/${random(1, 1000000)}\" }";
    let (ran, requests) = play("", steps, |line| match line.contains(" /x/") {
        true => redirect("307 Temporary Redirect", "/next"),
        false => ok("there"),
    });
    let body = |request: &str| request.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned();
    assert_eq!(body(&requests[0]), body(&requests[1]));
    // What later steps draw does not depend on redirects.
    let (_, direct) = play("", steps, |_| ok("there"));
    assert_eq!(requests[2], direct[1]);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
}

/// Time passes from hop to hop, and may have entered the request.
#[test]
fn a_chain_carries_one_request_from_hop_to_hop() {
    let step = "    - { post: /one, body: \"${now()} ${random(1, 1000000)}\", as: page }
    - { get: \"/later/${random(1, 1000000)}\" }";
    let answer = |line: &str| match line {
        "POST a.test /one" => redirect("307 Temporary Redirect", "/two"),
        "POST a.test /two" => redirect("308 Permanent Redirect", "/three"),
        "POST a.test /three" => redirect("307 Temporary Redirect", "/four"),
        _ => ok("there"),
    };
    let (ran, requests) = play("", step, answer);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    let bodies =
        requests.iter().map(|request| request.split("\r\n\r\n").nth(1).unwrap_or_default());
    let bodies: Vec<&str> = bodies.collect();
    let [one, two, three, four, _] = &bodies[..] else { panic!("{requests:?}") };
    assert!(two == three && three == four, "{bodies:?}");
    let drawn = |body: &str| body.split(' ').nth(1).map(str::to_owned);
    assert_eq!(drawn(one), drawn(two));
    let (_, direct) = play("", step, |_| ok("there"));
    assert_eq!(requests[4], direct[1], "what later steps draw does not depend on redirects");
}

#[test]
fn another_host_gets_no_credentials_and_its_own_cookies() {
    let steps = "    - { get: \"http://b.test/set\" }
    - get: /go
      headers: { authorization: secret, x-api-key: secret, accept: text/html }
      cookies: { own: secret }
      as: page";
    let options = ", cookies: true, redirect_hosts: [\"http://c.test:81\"]";
    let (ran, requests) = play(options, steps, |line| match line {
        "GET b.test /set" => response("200 OK", "set-cookie: b=1\r\n", ""),
        "GET a.test /go" => {
            response("302 Found", "set-cookie: a=1\r\nlocation: //b.test/there\r\n", "")
        }
        "GET b.test /there" => redirect("302 Found", "http://c.test:81/x"),
        "GET c.test:81 /x" => redirect("302 Found", "http://a.test/back"),
        _ => ok("there"),
    });
    assert_eq!(ran.outcomes("page"), [Outcome::Ok], "{:?}", ran.details());
    let cookie = |request: &str| {
        let mut lines = request.lines();
        lines.find_map(|line| line.strip_prefix("cookie: ").map(str::to_owned))
    };
    let [_, go, there, x, back] = &requests[..] else { panic!("{requests:?}") };
    assert_eq!(cookie(go).as_deref(), Some("own=secret"));
    assert_eq!(cookie(there).as_deref(), Some("b=1"));
    assert_eq!(cookie(x), None);
    // Back at the first host its cookies are carried, the step's credentials are not.
    assert_eq!(cookie(back).as_deref(), Some("a=1"));
    for request in [there, x, back] {
        assert!(!request.contains("secret"), "{request}");
        assert!(request.contains("accept: text/html"), "{request}");
    }
}

#[test]
fn a_chain_without_an_end_is_an_error_of_its_own() {
    let steps = "    - { get: /loop, redirects: 3, as: page }";
    let (ran, requests) = play("", steps, |_| redirect("302 Found", "/loop"));
    assert_eq!(requests.len(), 4);
    assert_eq!(ran.outcomes("page"), [Outcome::Redirect]);
    assert_eq!(ran.rows("page")[0].status, 302);
    assert_eq!(ran.outcomes("redirects"), [Outcome::Ok; 3]);
    let details = ran.details();
    assert!(
        details[0].contains("more than 3 redirects; the last one leads to http://a.test/loop"),
        "{details:?}"
    );
}

#[test]
fn redirects_to_unknown_places_are_errors() {
    for (location, expected) in [
        ("http://evil.test/", "options.redirect_hosts"),
        ("https://a.test/", "options.redirect_hosts"),
        ("ftp://a.test/", "no HTTP URL"),
        ("http://me:pw@a.test/", "credentials"),
    ] {
        let mut peer = HttpPeer::new(|_| MS, |_| redirect("302 Found", location));
        let ran = run(&scenario("", "    - { get: /, as: page }"), &mut peer);
        assert_eq!(ran.outcomes("page"), [Outcome::Redirect], "{location}");
        assert_eq!(peer.requests.len(), 1);
        let details = ran.details();
        assert!(details[0].contains(expected), "{location}: {details:?}");
    }
}

#[test]
fn a_request_that_names_a_redirect_gets_it() {
    for step in [
        "    - { get: /, redirects: 0, as: page }",
        "    - { get: /, status: 302, as: page }",
        "    - { get: /, status: [200, 3xx], as: page }",
        "    - { get: /, save: { there: { header: Location } }, as: page }",
    ] {
        let (ran, requests) = play("", step, |_| redirect("302 Found", "/next"));
        assert_eq!(requests.len(), 1, "{step}");
        assert_eq!(ran.outcomes("page"), [Outcome::Ok], "{step}");
        assert_eq!(ran.rows("page")[0].status, 302);
    }
    // Without a location there is nowhere to go.
    let step = "    - { get: /, as: page }";
    let (ran, _) = play("", step, |_| response("302 Found", "", ""));
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
    assert!(ran.rows("redirects").is_empty());
}

#[test]
fn the_steps_own_host_is_the_same_server() {
    let steps = "    - { get: /a, headers: { host: shop.test, x-token: t }, as: page }";
    let (ran, requests) = play("", steps, |line| match line {
        "GET shop.test /a" => redirect("302 Found", "http://SHOP.test:80/b"),
        _ => ok("there"),
    });
    assert_eq!(lines(&requests), ["GET shop.test /a", "GET shop.test /b"]);
    assert!(requests[1].contains("x-token: t"));
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
}

#[test]
fn a_target_that_closes_after_a_redirect_is_reached_again() {
    let (ran, requests) = play("", "    - { get: /a, as: page }", |line| match line {
        "GET a.test /a" => response("302 Found", "connection: close\r\nlocation: /b\r\n", ""),
        _ => ok("there"),
    });
    assert_eq!(requests.len(), 2);
    assert_eq!(ran.outcomes("connect"), [Outcome::Ok; 2]);
    assert_eq!(ran.outcomes("page"), [Outcome::Ok]);
}

#[test]
fn a_hop_without_an_answer_times_out_with_its_operation() {
    let (ran, _) = play("", "    - { get: /a, timeout: 20ms, as: page }", |line| match line {
        "GET a.test /a" => redirect("302 Found", "/b"),
        _ => Vec::new(),
    });
    assert_eq!(ran.outcomes("page"), [Outcome::Timeout]);
    assert_eq!(ran.rows("page")[0].response_ns(), 20 * MS);
    assert_eq!(ran.outcomes("redirects"), [Outcome::Ok]);
}
