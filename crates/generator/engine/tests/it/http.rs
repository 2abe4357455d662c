//! HTTP steps: what goes out, what is made of what comes back.

use engine::sim::{Link, PeerAction};
use record::Outcome;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, Ran, S, run, run_over};

const ONE_USER: &str = "
arrivals:
  - { constant: 1/s, for: 1s }
  - { hold: 9s }
";

#[test]
fn a_request_carries_what_the_scenario_says() {
    let text = format!(
        "
name: request
target: http://target.test:8080/base/
options: {{ headers: {{ x-run: all }} }}
sessions:
  main:
    - set: {{ name: \"Ann & Bob\" }}
    - http:
        method: POST
        url: /find?q=${{name}}
        headers: {{ x-step: \"${{user}}\" }}
        json: {{ who: \"${{name}}\", n: \"${{1 + 1}}\" }}
{ONE_USER}"
    );
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    run(&text, &mut peer);
    let request = &peer.requests[0];
    let (head, body) = request.split_once("\r\n\r\n").expect("a whole request");
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    assert_eq!(lines.remove(0), "POST /base/find?q=Ann%20%26%20Bob HTTP/1.1");
    lines.sort_unstable();
    assert!(lines.contains(&"host: target.test:8080"), "{lines:?}");
    assert!(lines.contains(&"x-run: all"), "{lines:?}");
    assert!(lines.contains(&"x-step: 0"), "{lines:?}");
    assert_eq!(body, r#"{"who":"Ann & Bob","n":2}"#);
}

#[test]
fn saved_values_reach_later_requests() {
    let text = format!(
        "
name: save
target: http://target.test/
sessions:
  main:
    - get: /login
      save:
        token: /data/token
        first: {{ regex: 'id=(\\d+)', group: 1 }}
        kind: {{ header: x-kind }}
        code: status
    - get: /use/${{token}}/${{first}}/${{kind}}/${{code}}
{ONE_USER}"
    );
    let mut peer = HttpPeer::new(
        |_| MS,
        |_| response("201 Created", "X-Kind: gold\r\n", r#"{"data":{"token":"t1"},"t":"id=77"}"#),
    );
    run(&text, &mut peer);
    assert!(peer.requests[1].starts_with("GET /use/t1/77/gold/201 "), "{}", peer.requests[1]);
}

#[test]
fn a_failed_save_ends_the_session() {
    let text = format!(
        "
name: save
target: http://target.test/
sessions:
  main:
    - get: /a
      as: a
      save: {{ token: /token }}
    - get: /b/${{token}}
      as: b
{ONE_USER}"
    );
    let ran = run(&text, &mut HttpPeer::new(|_| MS, |_| ok("{}")));
    assert_eq!(ran.outcomes("a"), [Outcome::Save]);
    assert_eq!(ran.outcomes("b"), []);
    assert_eq!(ran.details(), ["nothing at /token in `{}`"]);
}

/// What a step reads of a compressed body is not there; the error says why. A body that nothing reads may be
/// compressed.
#[test]
fn a_compressed_body_is_named_as_such() {
    let gzip = |coding: &str| {
        let head = format!("HTTP/1.1 200 OK\r\n{coding}content-length: 12\r\n\r\n");
        [head.as_bytes(), b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xab\xae"].concat()
    };
    let details = |keys: &str, coding: &'static str| {
        let text = format!(
            "
name: compressed
target: http://target.test/
options: {{ accept_encoding: none }}
sessions:
  main:
    - get: /a
      as: a
{keys}
{ONE_USER}"
        );
        let respond = move |_: &str| vec![PeerAction::Send(gzip(coding))];
        run(&text, &mut HttpPeer::new(|_| MS, respond)).details()
    };
    let advice = "; bodies are decompressed where the request accepts compression, by `options.accept_encoding` or its \
                  own header `accept-encoding`";
    for (coding, name) in [
        ("content-encoding: gzip\r\n", "gzip"),
        ("content-encoding: br\r\n", "br"),
        ("", "gzip"),
        ("content-encoding: identity\r\n", "gzip"),
    ] {
        let compressed = format!("12 bytes that are compressed with {name}");
        let save = details("      save: { id: /id }", coding);
        assert_eq!(save, [format!("nothing at /id in {compressed}{advice}")]);
        let check = details("      save: { all: body }\n      check: all == 'x'", coding);
        let wanted = format!("; received {compressed}{advice}");
        assert!(check.len() == 1 && check[0].ends_with(&wanted), "{check:?}");
        assert!(details("", coding).is_empty());
    }
}

/// A session whose first step saves `token` by these keys, with an old value of it or none.
fn login(before: &str, save: &str, respond: fn(&str) -> Vec<PeerAction>) -> Ran {
    let text = format!(
        "
name: login
target: http://target.test/
sessions:
  main:
    - loop: 1
      steps: [ {before} ]
    - get: /login
      as: login
      timeout: 1s
      save: {{ token: {save} }}
    - get: /me?token=${{token}}
      as: me
{ONE_USER}"
    );
    run(&text, &mut HttpPeer::new(|_| MS, respond))
}

#[test]
fn a_refused_login_ends_the_session_that_lacks_its_token() {
    let refuse = |request: &str| match request.contains("/login") {
        true => response("401 Unauthorized", "", "{}"),
        false => ok("{}"),
    };
    let wait = "{ think: 1ms }";
    let ran = login(wait, "/token", refuse);
    assert_eq!(ran.outcomes("login"), [Outcome::Status]);
    assert_eq!(ran.outcomes("me"), []);
    assert_eq!(ran.details(), ["status 401"]);
    // It has a token of before, or does without.
    let ran = login("{ set: { token: old } }", "/token", refuse);
    assert_eq!(ran.outcomes("me"), [Outcome::Ok]);
    let ran = login(wait, "{ pointer: /token, default: none }", refuse);
    assert_eq!(ran.outcomes("me"), [Outcome::Ok]);
    // The answer that is not wanted has the token.
    let ran = login(wait, "/token", |request| match request.contains("/login") {
        true => response("500 Oops", "", r#"{"token":1}"#),
        false => ok("{}"),
    });
    assert_eq!(ran.outcomes("login"), [Outcome::Status]);
    assert_eq!(ran.outcomes("me"), [Outcome::Ok]);
}

#[test]
fn a_login_without_an_answer_ends_the_session() {
    let ran = login("{ think: 1ms }", "/token", |request| match request.contains("/login") {
        true => Vec::new(),
        false => ok("{}"),
    });
    assert_eq!(ran.outcomes("login"), [Outcome::Timeout]);
    assert_eq!(ran.outcomes("me"), []);
}

#[test]
fn bad_statuses_and_failed_checks_do_not_end_the_session() {
    let text = format!(
        "
name: judge
target: http://target.test/
sessions:
  main:
    - get: /500
      as: bad
    - get: /500
      as: wanted
      status: 500
    - get: /200
      as: checked
      save: {{ n: /n }}
      check: n == 2
    - get: /200
      as: last
{ONE_USER}"
    );
    let respond = |request: &str| {
        let status = if request.contains("/500") { "500 Oops" } else { "200 OK" };
        response(status, "", r#"{"n":1}"#)
    };
    let ran = run(&text, &mut HttpPeer::new(|_| MS, respond));
    assert_eq!(ran.outcomes("bad"), [Outcome::Status]);
    assert_eq!(ran.rows("bad")[0].status, 500);
    assert_eq!(ran.outcomes("wanted"), [Outcome::Ok]);
    assert_eq!(ran.outcomes("checked"), [Outcome::Check]);
    assert_eq!(ran.outcomes("last"), [Outcome::Ok]);
}

#[test]
fn one_connection_serves_a_user_until_the_server_closes_it() {
    let text = format!(
        "
name: keep-alive
target: http://target.test/
sessions:
  main:
    - loop: 4
      steps: [ {{ get: /, as: request }} ]
{ONE_USER}"
    );
    let ran = run(&text, &mut HttpPeer::new(|_| MS, |_| ok("ok")));
    assert_eq!(ran.rows("connect").len(), 1);
    let close = |_: &str| response("200 OK", "connection: close\r\n", "ok");
    let ran = run(&text, &mut HttpPeer::new(|_| MS, close));
    assert_eq!(ran.rows("connect").len(), 4);
    assert_eq!(ran.outcomes("request"), [Outcome::Ok; 4]);
}

#[test]
fn bodies_come_in_pieces_chunked_and_until_close() {
    let text = format!(
        "
name: pieces
target: http://target.test/
sessions:
  main:
    - get: /chunked
      as: chunked
      save: {{ all: body }}
      check: all == 'hello world'
    - get: /pieces
      as: pieces
      save: {{ all: body }}
      check: all == 'hello world'
    - get: /close
      as: close
      save: {{ all: body }}
      check: all == 'hello world'
{ONE_USER}"
    );
    let send = |text: &str| PeerAction::Send(text.as_bytes().to_vec());
    let respond = move |request: &str| {
        if request.contains("/chunked") {
            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel";
            vec![send(head), send("lo\r\n6\r\n world\r\n0"), send("\r\n\r\n")]
        } else if request.contains("/pieces") {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n";
            vec![send(head), send("\r\nhello"), send(" world")]
        } else {
            let head = "HTTP/1.1 200 OK\r\n\r\nhello ";
            vec![send(head), send("world"), PeerAction::Close]
        }
    };
    let ran = run(&text, &mut HttpPeer::new(|_| MS, respond));
    for measure in ["chunked", "pieces", "close"] {
        assert_eq!(ran.outcomes(measure), [Outcome::Ok], "{measure}: {:?}", ran.details());
    }
}

/// Bytes after a response answer no request (RFC 9112 §9.2).
/// RFC 9110 §7.8: a server may switch to what the request named, and to nothing else.
#[test]
fn a_switch_that_was_not_requested_breaks_the_protocol() {
    let text = format!(
        "
name: switch
target: http://target.test/
sessions:
  main:
    - get: /
      as: uninvited
    - get: /
      headers: {{ Upgrade: h2c, connection: upgrade }}
      as: invited
{ONE_USER}"
    );
    let switch = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n";
    let switch = || vec![PeerAction::Send(switch.as_bytes().to_vec())];
    let ran = run(&text, &mut HttpPeer::new(|_| MS, |_| switch()));
    assert_eq!(ran.outcomes("uninvited"), [Outcome::HttpProtocol]);
    assert_eq!(ran.outcomes("invited"), [Outcome::Ok]);
    assert!(ran.details()[0].contains("not requested"));
}

#[test]
fn bytes_after_a_response_are_not_taken_for_the_next_one() {
    let own = [
        "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nown",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nown\r\n0\r\n\r\n",
    ];
    let surplus = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nother";
    for (sharing, own) in ["user", "shared"].iter().zip(own) {
        let text = format!(
            "
name: surplus
target: http://target.test/
options: {{ http_connections: {sharing} }}
sessions:
  main:
    - loop: 3
      steps: [ {{ get: /, as: request, save: {{ all: body }}, check: all == 'own' }} ]
{ONE_USER}"
        );
        let both = format!("{own}{surplus}");
        let respond = |_: &str| vec![PeerAction::Send(both.clone().into_bytes())];
        let ran = run(&text, &mut HttpPeer::new(|_| MS, respond));
        assert_eq!(ran.outcomes("request"), [Outcome::Ok; 3]);
        assert_eq!(ran.rows("connect").len(), 3);
        assert_eq!(ran.total(|counts| counts.unsolicited), 3);
        // Between two requests they end the connection as well.
        let text = text.replace("} ]\n", "}, { think: 50ms } ]\n");
        let respond = |_: &str| [own, surplus].map(|part| PeerAction::Send(part.into())).to_vec();
        let ran = run(&text, &mut HttpPeer::new(|_| MS, respond));
        assert_eq!(ran.outcomes("request"), [Outcome::Ok; 3]);
        assert_eq!(ran.rows("connect").len(), 3);
        assert_eq!(ran.total(|counts| counts.unsolicited), 3);
        assert_eq!(ran.total(|counts| counts.errors), 0);
    }
}

#[test]
fn shared_connections_serve_many_users() {
    let text = "
name: shared
target: http://target.test/
options: { http_connections: shared }
sessions:
  main: [ { get: /, as: request } ]
arrivals:
  - { constant: 1000/s, for: 2s }
";
    let ran = run(text, &mut HttpPeer::new(|_| 10 * MS, |_| ok("ok")));
    assert_eq!(ran.rows("request").len(), 2000);
    // A thousand a second that take 10 ms each: ten or so are in flight at once.
    let connects = ran.rows("connect").len();
    assert!((10..=12).contains(&connects), "{connects} connections");
    assert_eq!(ran.total(|counts| counts.users_connected), 2000);
}

#[test]
fn a_closed_population_keeps_its_size_and_restarts_sessions() {
    let text = "
name: closed
target: http://target.test/
sessions:
  main: [ { get: /, as: request } ]
arrivals:
  - { users: 8, for: 1s }
";
    let ran = run_over(text, &mut HttpPeer::new(|_| 9 * MS, |_| ok("ok")), Link::new(0));
    // 9 ms a round: 112 rounds end in a second, the last is in flight and may end.
    assert_eq!(ran.rows("request").len(), 8 * 112);
    assert_eq!(ran.rows("connect").len(), 8);
    let peak = ran.run.deltas.iter().map(|delta| delta.gauges.users).max();
    assert_eq!(peak, Some(8));
    assert!(ran.run.ended_ns < S + 10 * MS);
}
