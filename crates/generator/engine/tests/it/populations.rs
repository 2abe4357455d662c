//! Populations side by side: each comes and goes as if it were alone.

use std::collections::BTreeMap;

use engine::schedule::arrivals::{Arrival, Arrivals, Source};
use engine::schedule::share::Share;
use engine::sim::{self, Link, SimRun};
use plan::{POPULATION, Plan};
use record::Measurement;

use crate::peers::{HttpPeer, ok};
use crate::support::{MS, S, plan};

/// A session of each population takes this long: a request, and a pause.
const SESSION_NS: u64 = 100 * MS;

/// Every kind of population, and one that begins late.
const POPULATIONS: &str = "
populations:
  browsers:
    session: browse
    arrivals: [ { users: 0..20, for: 10s }, { users: 20, for: 5s }, { users: 20..0, for: 10s } ]
  clerks:
    session: work
    arrivals: [ { hold: 4s }, { users: 7, for: 12s } ]
  buyers:
    arrivals: [ { poisson: 9/s, for: 20s } ]
    sessions: { browse: 1, buy: 2 }
";

fn scenario(arrivals: &str) -> String {
    format!(
        "
name: populations
target: http://target.test/
sessions:
  browse: [ {{ get: /, as: browse }}, {{ think: 90ms }} ]
  work: [ {{ get: /work, as: work }}, {{ think: 90ms }} ]
  buy: [ {{ get: /buy, as: buy }}, {{ think: 90ms }} ]
{arrivals}
"
    )
}

fn ran(plan: &Plan, shards: u32) -> SimRun {
    let mut peer = HttpPeer::new(|_| 10 * MS, |_| ok("ok"));
    sim::run(plan, shards, &mut peer, Link::new(0)).expect("the plan can be run")
}

/// The requests of a population, in the order of time and user.
fn rows_of(plan: &Plan, run: &SimRun, population: &str) -> Vec<Measurement> {
    let is_own = |row: &&Measurement| {
        let tags = &plan.measures[usize::from(row.measure)].tags;
        tags.get(POPULATION).is_some_and(|name| name == population)
    };
    let mut rows: Vec<Measurement> = run.rows.iter().filter(is_own).copied().collect();
    rows.sort_unstable_by_key(|row| (row.due_ns, row.user));
    rows
}

/// When each user of a closed population came, and when it left: with the end of its last session.
fn stays(rows: &[Measurement]) -> Vec<(u64, u64)> {
    let mut stays: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for row in rows {
        let stay = stays.entry(row.user).or_insert((row.due_ns, row.due_ns));
        stay.1 = stay.1.max(row.due_ns + SESSION_NS);
    }
    stays.into_values().collect()
}

/// Users that the line of `browsers` wants at a moment that is no kink of it.
fn browsers_at(at_ns: u64) -> u64 {
    // Two users more, or fewer, a second; user n comes when the line reaches n.
    match at_ns {
        _ if at_ns < 10 * S => at_ns * 2 / S + 1,
        _ if at_ns < 15 * S => 20,
        _ => (25 * S).saturating_sub(at_ns) * 2 / S + 1,
    }
}

fn clerks_at(at_ns: u64) -> u64 {
    if (4 * S..16 * S).contains(&at_ns) { 7 } else { 0 }
}

#[test]
fn users_present_at_every_instant_are_those_of_the_plan() {
    let plan = plan(&scenario(POPULATIONS));
    for shards in [1, 2, 7] {
        let run = ran(&plan, shards);
        for (name, line) in [("browsers", browsers_at as fn(u64) -> u64), ("clerks", clerks_at)] {
            let stays = stays(&rows_of(&plan, &run, name));
            let present =
                |at_ns: u64| stays.iter().filter(|s| s.0 <= at_ns && at_ns < s.1).count() as u64;
            for at_ns in (37 * MS..25 * S).step_by(60 * 1_000_000) {
                // Who is to leave ends its session first.
                let before = line(at_ns.saturating_sub(SESSION_NS));
                let wanted = line(at_ns)..=line(at_ns).max(before);
                let found = present(at_ns);
                assert!(wanted.contains(&found), "{name} on {shards} at {at_ns}: {found}");
            }
        }
        // The gauges of all loops know the sum.
        let at_end: u64 =
            run.deltas.iter().filter(|d| d.end_ns == 12 * S).map(|d| d.gauges.users).sum();
        let buyers = rows_of(&plan, &run, "buyers");
        let buying = |row: &&Measurement| row.due_ns < 12 * S && row.due_ns + SESSION_NS > 12 * S;
        assert_eq!(at_end, 20 + 7 + buyers.iter().filter(buying).count() as u64, "{shards}");
    }
}

#[test]
fn each_population_comes_as_if_it_were_alone() {
    let beside = plan(&scenario(POPULATIONS));
    let run = ran(&beside, 2);
    for (name, arrivals) in [
        (
            "browsers",
            "[ { users: 0..20, for: 10s }, { users: 20, for: 5s }, { users: 20..0, for: 10s } ]",
        ),
        ("clerks", "[ { hold: 4s }, { users: 7, for: 12s }, { hold: 9s } ]"),
    ] {
        let session = if name == "browsers" { "browse" } else { "work" };
        let alone = plan(&scenario(&format!(
            "populations: {{ {name}: {{ session: {session}, arrivals: {arrivals} }} }}"
        )));
        let times = |plan: &Plan, run: &SimRun| -> Vec<(u64, u64)> {
            let rows = rows_of(plan, run, name);
            rows.iter().map(|row| (row.due_ns, row.done_ns)).collect()
        };
        let expected = times(&alone, &ran(&alone, 1));
        assert!(expected.len() > 500, "{}", expected.len());
        assert_eq!(times(&beside, &run), expected, "{name}");
    }
    // A plain scenario has the same users.
    let named = plan(&scenario(
        "populations: { all: { session: browse, arrivals: [ { poisson: 9/s, for: 20s } ] } }",
    ));
    let plain = plan(&scenario("arrivals: [ { poisson: 9/s, for: 20s, session: browse } ]"));
    let users = |plan: &Plan| -> Vec<(u64, u64)> {
        let run = ran(plan, 3);
        let requests = run.rows.iter().filter(|row| row.measure != plan::builtin::CONNECT.0);
        let mut users: Vec<_> = requests.map(|row| (row.user, row.due_ns)).collect();
        users.sort_unstable();
        users
    };
    assert_eq!(users(&named), users(&plain));
}

#[test]
fn a_population_behind_the_others_changes_the_times_of_none() {
    let due = |second: &str| -> Vec<u64> {
        let plan = plan(&scenario(&format!(
            "populations:\n  one: {{ session: buy, arrivals: [ {{ poisson: 9/s, for: 20s }} ] }}\n{second}"
        )));
        let of_first =
            |arrival: &Arrival| matches!(arrival.source, Source::Population { population: 0, .. });
        let all = Arrivals::new(&plan, Share::new(0, 1));
        all.filter(of_first).map(|arrival| arrival.due_ns).collect()
    };
    let alone = due("");
    assert!(alone.len() > 100, "{}", alone.len());
    let second = "  two: { session: work, arrivals: [ { poisson: 3/s, for: 20s } ] }\n";
    assert_eq!(due(second), alone);
}

#[test]
fn their_sessions_are_those_that_they_choose() {
    let plan = plan(&scenario(POPULATIONS));
    let run = ran(&plan, 2);
    let of = |population: &str| {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for row in rows_of(&plan, &run, population) {
            let measure = &plan.measures[usize::from(row.measure)];
            let name = measure.shared_name.as_ref().unwrap_or(&measure.name);
            *counts.entry(name.clone()).or_default() += 1;
        }
        counts
    };
    assert_eq!(of("browsers").keys().collect::<Vec<_>>(), ["browse"]);
    assert_eq!(of("clerks").keys().collect::<Vec<_>>(), ["work"]);
    let buyers = of("buyers");
    assert_eq!(buyers.keys().collect::<Vec<_>>(), ["browse", "buy"]);
    // About 180 users, two of three of whom buy.
    let share = buyers["buy"] as f64 / (buyers["buy"] + buyers["browse"]) as f64;
    assert!((0.55..0.78).contains(&share), "{buyers:?}");
}

#[test]
fn users_of_populations_are_the_same_with_any_number_of_loops() {
    let plan = plan(&scenario(
        &(POPULATIONS.to_owned() + "arrivals: [ { at: 3s, session: buy }, { hold: 5s } ]"),
    ));
    let rows = |shards| {
        let run = ran(&plan, shards);
        let rows = run.rows.iter().filter(|row| row.measure != plan::builtin::CONNECT.0);
        let mut rows: Vec<_> =
            rows.map(|row| (row.user, row.measure, row.due_ns, row.done_ns)).collect();
        rows.sort_unstable();
        rows
    };
    let one = rows(1);
    assert!(one.len() > 2000, "{}", one.len());
    for shards in [2, 7] {
        assert_eq!(rows(shards), one, "{shards}");
    }
    let arrivals = |index, of| Arrivals::new(&plan, Share::new(index, of));
    let whole: Vec<Arrival> = arrivals(0, 1).collect();
    // Of two at once the single one is first, and users are numbered as they come.
    assert!(whole.is_sorted_by_key(|arrival| arrival.due_ns));
    for of in [2, 7] {
        let mut all: Vec<Arrival> = (0..of).flat_map(|index| arrivals(index, of)).collect();
        all.sort_unstable_by_key(|arrival| (arrival.due_ns, arrival.user));
        let mut expected = whole.clone();
        expected.sort_unstable_by_key(|arrival| (arrival.due_ns, arrival.user));
        assert_eq!(all, expected, "{of}");
    }
}

#[test]
fn numbers_of_sessions_are_exact_beside_others() {
    let text = scenario(
        "
populations:
  shared: { session: browse, arrivals: [ { users: 10, iterations: 1000, for: 10m } ] }
  each: { session: work, arrivals: [ { hold: 1s }, { users: 3, iterations: 5 each, for: 10m } ] }
  more: { session: browse, arrivals: [ { users: 4, iterations: 42, for: 9m } ] }
  buyers: { session: buy, arrivals: [ { constant: 9/s, for: 5s } ] }
",
    );
    let plan = plan(&text);
    for shards in [1, 2, 7] {
        let run = ran(&plan, shards);
        let counts = ["shared", "each", "more", "buyers"];
        let counts = counts.map(|name| rows_of(&plan, &run, name).len());
        assert_eq!(counts, [1000, 15, 42, 45], "{shards}");
        // It is over with the last of them, which the clock says or its sessions: 100 rounds of 100 ms.
        assert!((10 * S..11 * S).contains(&run.ended_ns), "{}", run.ended_ns);
    }
}

#[test]
fn a_run_lasts_until_its_last_population_is_over() {
    for (populations, ends_s) in [
        ("a: { session: buy, arrivals: [ { users: 2, iterations: 2, for: 9m } ] }", 0..1),
        (
            "a: { session: buy, arrivals: [ { users: 2, iterations: 2, for: 9m } ] }, \
             b: { session: buy, arrivals: [ { constant: 1/s, for: 30s } ] }",
            30..31,
        ),
        (
            "a: { session: buy, arrivals: [ { constant: 1/s, for: 30s } ] }, \
             b: { session: work, arrivals: [ { constant: 1/s, for: 40s } ] }",
            40..41,
        ),
        (
            "a: { session: buy, arrivals: [ { users: 1, for: 8s } ] }, \
             b: { session: work, arrivals: [ { hold: 20s }, { users: 2, iterations: 20, for: 9m } ] }",
            21..22,
        ),
    ] {
        let plan = plan(&scenario(&format!("populations: {{ {populations} }}")));
        for shards in [1, 3] {
            let ended_s = ran(&plan, shards).ended_ns / S;
            assert!(ends_s.contains(&ended_s), "{populations}: {ended_s}");
        }
    }
}

/// Rows that are used once are dealt among the users of the population that takes them.
#[test]
fn each_row_is_used_once_beside_users_who_use_none() {
    let text = "
name: once
target: http://target.test/
data: { rows: { file: hundred.csv, order: once } }
sessions:
  buyer: [ { feed: rows }, { get: '/${item}', as: buy } ]
  other: [ { get: /other }, { think: 1s } ]
populations:
  browsers: { session: other, arrivals: [ { poisson: 30/s, for: 20s } ] }
  buyers: { session: buyer, arrivals: [ { users: 8, for: 60s } ] }
";
    let plan = plan(text);
    for shards in [1, 2, 7] {
        let mut peer = HttpPeer::new(|_| MS, |_| ok("ok"));
        sim::run(&plan, shards, &mut peer, Link::new(0)).expect("the plan can be run");
        let paths = peer.requests.iter().filter_map(|request| request.split(' ').nth(1));
        let mut rows: Vec<usize> = paths.filter_map(|path| path[1..].parse().ok()).collect();
        rows.sort_unstable();
        assert_eq!(rows, (0..100).collect::<Vec<_>>(), "{shards}");
    }
}
