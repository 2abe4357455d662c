//! Requests to several hosts, and arrivals of several processes.

use engine::schedule::arrivals::Arrivals;
use engine::schedule::share::Share;
use plan::SessionId;
use record::Outcome;

use crate::peers::{HttpPeer, ok, response};
use crate::support::{MS, S, plan, run};

fn host_and_path(request: &str) -> (String, String) {
    let host = request.lines().find_map(|line| line.strip_prefix("host: "));
    let path = request.split(' ').nth(1).unwrap_or_default();
    (host.unwrap_or_default().to_owned(), path.to_owned())
}

#[test]
fn users_are_assigned_to_servers_by_weight_and_stay() {
    let text = "
name: servers
target: { servers: [ { url: http://a.test:81/base, weight: 3 }, { url: http://b.test/base } ] }
sessions: { main: [ { get: /one }, { get: \"/two/${user}\" } ] }
arrivals: [ { constant: 400/s, for: 1s }, { hold: 1s } ]
";
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    run(text, &mut peer);
    assert_eq!(peer.requests.len(), 800);
    let seen: Vec<_> = peer.requests.iter().map(|r| host_and_path(r)).collect();
    let at_a = |path: &str| {
        seen.iter().filter(|(host, p)| host == "a.test:81" && p.starts_with(path)).count()
    };
    let one = at_a("/base/one");
    let two = at_a("/base/two");
    // 300 expected; five standard deviations of a binomial are 43.
    assert!((257..=343).contains(&one), "{one}");
    assert_eq!(one, two, "a user stays with its server");
}

#[test]
fn a_variable_can_hold_the_url_of_a_request() {
    let text = "
name: located
target: http://a.test/base
sessions:
  main:
    - get: /offer
      save: { path: /path, url: /url, other: /other }
    - get: \"${raw(path)}\"
    - post: \"${raw(url)}&more=${raw(path)}\"
    - get: http://b.test/there
    - get: \"${raw(other)}\"
      as: other
arrivals: [ { constant: 1/s, for: 1s }, { hold: 5s } ]
";
    let body =
        r#"{"path": "x/a%20b c", "url": "http://B.test:80/y?z=1", "other": "https://b.test/"}"#;
    let mut peer = HttpPeer::new(|_| MS, |_| ok(body));
    let ran = run(text, &mut peer);
    let seen: Vec<_> = peer.requests.iter().map(|r| host_and_path(r)).collect();
    let wanted = [
        ("a.test", "/base/offer"),
        ("a.test", "/base/x/a%20b%20c"),
        ("b.test", "/y?z=1&more=x/a%20b%20c"),
        ("b.test", "/there"),
    ];
    assert_eq!(seen, wanted.map(|(host, path)| (host.to_owned(), path.to_owned())));
    assert_eq!(ran.outcomes("other"), [Outcome::Step]);
    assert!(ran.details()[0].contains("does not name"), "{:?}", ran.details());
}

#[test]
fn a_regex_can_search_the_entire_response() {
    let text = "
name: whole
target: http://a.test/
sessions:
  main:
    - get: /
      save:
        line: { regex: '^HTTP/1.1 302 FOUND', group: 0, in: response, default: null }
        both: { regex: '(?s)x-kind: (\\w+).*body', in: response }
        body: { regex: 'x-kind', group: 0, default: none }
      check: [ line != null, both == 'odd', body == 'none' ]
arrivals: [ { constant: 1/s, for: 1s }, { hold: 5s } ]
";
    let mut peer = HttpPeer::new(|_| MS, |_| response("302 FOUND", "x-kind: odd\r\n", "the body"));
    let ran = run(text, &mut peer);
    assert_eq!(ran.outcomes("GET /"), [Outcome::Ok]);
}

#[test]
fn restart_keeps_variables_and_is_limited() {
    let text = "
name: restarts
target: http://a.test/
sessions:
  main:
    - get: /
      save: { n: /n }
    - think_seconds: n / 2
    - set: { seen: \"${n}\" }
    - restart: 2
arrivals: [ { constant: 1/s, for: 1s }, { hold: 20s } ]
";
    let mut peer = HttpPeer::new(|_| 0, |_| ok(r#"{"n": 3}"#));
    let ran = run(text, &mut peer);
    let due: Vec<u64> = ran.rows("GET /").iter().map(|row| row.due_ns).collect();
    assert_eq!(due, [0, 3 * S / 2, 3 * S]);
    assert_eq!(ran.total(|counts| counts.users_finished), 1);
}

#[test]
fn a_last_phase_can_end_with_its_last_user() {
    let text = "
name: done
target: http://a.test/
sessions: { main: [ { think: 2s }, { get: / } ] }
arrivals: [ { constant: 2/s, for: 1s }, { hold: 1h, until: done } ]
";
    let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
    let ran = run(text, &mut peer);
    let end_ns = ran.run.deltas.iter().map(|delta| delta.end_ns).max().unwrap();
    assert!((5 * S / 2..4 * S).contains(&end_ns), "{end_ns}");
    assert_eq!(ran.rows("GET /").len(), 2);
}

#[test]
fn phases_may_limit_their_users_and_choose_their_sessions() {
    let plan = plan(
        "
name: limits
target: http://a.test/
sessions: { a: { weight: 1, steps: [ { get: / } ] }, b: { weight: 0, steps: [ { get: / } ] } }
arrivals:
  - { poisson: 100/s, for: 10s, users_max: 30, sessions: { b: 1 } }
  - { at: 2s, session: b }
  - { at: 90ms, session: a }
  - { constant: 10/s, for: 10s, users_max: 7 }
",
    );
    assert_eq!(plan.users_planned(), 39.0);
    let whole: Vec<_> = Arrivals::new(&plan, Share::new(0, 1)).collect();
    assert!(whole.is_sorted_by_key(|arrival| arrival.due_ns));
    assert_eq!(whole.len(), 39);
    let singles: Vec<_> =
        whole.iter().filter(|a| a.user < 2).map(|a| (a.due_ns, a.session)).collect();
    assert_eq!(singles, [(90 * MS, SessionId(0)), (2 * S, SessionId(1))]);
    let first = whole.iter().filter(|a| a.user >= 2 && a.due_ns < 10 * S);
    assert!(first.clone().all(|arrival| arrival.session == SessionId(1)));
    assert_eq!(first.count(), 30);
    // The same users with any number of shards.
    let mut dealt: Vec<_> =
        (0..3).flat_map(|index| Arrivals::new(&plan, Share::new(index, 3))).collect();
    dealt.sort_by_key(|arrival| (arrival.due_ns, arrival.user));
    let mut all = whole.clone();
    all.sort_by_key(|arrival| (arrival.due_ns, arrival.user));
    assert_eq!(dealt, all);
}
