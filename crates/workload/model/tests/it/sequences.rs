//! What a scenario keeps of its log: targets, think times and recorded sessions, within its size.

use model::{BehaviourKind, BuiltModel, Outcome, Settings};
use plan::{Op, Plan};
use stats::rng::{Purpose, Rng};

use crate::{Space, compiled, line, whole};

fn finding<'m>(made: &'m BuiltModel, code: &str) -> &'m str {
    let found = made.model.findings.iter().find(|f| f.code == code);
    found.map_or("", |found| &found.text)
}

/// The paths that a plan's requests have, as often as it has them.
fn paths(plan: &Plan) -> Vec<String> {
    let ops = plan.sessions.iter().flat_map(|session| &session.ops);
    let paths = ops.filter_map(|op| match op {
        Op::Http(http) => http.path.as_static().map(str::to_owned),
        _ => None,
    });
    paths.collect()
}

/// A small file that nearly every user requests, and large ones that only one user requests.
fn files(space: &Space, settings: &Settings) -> BuiltModel {
    let mut log = String::new();
    for visit in 0..200_u64 {
        for request in 0..3 {
            let path = match (visit % 50, request) {
                (17, 1) => format!("/files/huge-{}.iso", visit / 50),
                _ => "/files/small.txt".to_owned(),
            };
            let second = 60 * visit + 5 * request;
            log += &line(second, &format!("10.0.0.{visit}"), &format!("GET {path}"));
        }
    }
    let settings = Settings { rules: vec!["files=/files/".parse().unwrap()], ..settings.clone() };
    space.model(log, &settings).unwrap()
}

#[test]
fn sequences_keep_the_targets_of_their_sessions() {
    let space = Space::new();
    let settings = Settings { behaviour: BehaviourKind::Sequences, ..space.settings() };
    let made = files(&space, &settings);
    assert_eq!(finding(&made, "sequences-targets"), "");
    let paths = paths(&compiled(&made));
    let huge = paths.iter().filter(|path| path.contains("huge")).count();
    // 4 of 200 sessions have one.
    assert!(paths.len() == 600 && huge == 4, "{huge}: {paths:?}");
    // It is their own: the second of three requests.
    for trio in paths.chunks(3) {
        assert!(trio[0].ends_with("small.txt") && trio[2].ends_with("small.txt"), "{trio:?}");
    }
    // The requests of a sequence belong to its class, so that a check finds them again.
    let model = &made.model;
    let requested = model.segments[0].behaviour.sequence_targets.iter().flatten();
    assert_eq!(requested.count(), 600);
    let text = serde_json::to_string(model).unwrap();
    assert_eq!(model::Model::read(&text).unwrap().scenario(), made.scenario());
}

/// Without the log, targets are drawn as often as they were requested.
#[test]
fn sequences_of_a_pipe_draw_targets_by_weight() {
    let space = Space::new();
    let settings = Settings { behaviour: BehaviourKind::Sequences, ..space.settings() };
    let mut made = files(&space, &settings);
    for segment in &mut made.model.segments {
        segment.behaviour.sequence_targets.clear();
    }
    let paths = paths(&compiled(&made));
    let huge = paths.iter().filter(|path| path.contains("huge")).count();
    // 4 of 600 requests on average.
    assert!(paths.len() == 600 && huge < 16, "{huge}");
}

#[test]
fn targets_keep_their_number_and_frequency() {
    let space = Space::new();
    let mut log = String::new();
    let mut items = std::collections::BTreeMap::<String, u64>::new();
    for visit in 0..900_u64 {
        for request in 0..2 {
            let item = match visit % 3 {
                0 => "/items/7?a=1,2".to_owned(),
                _ => format!("/items/{}", 100 + 2 * visit + request),
            };
            let method = if visit % 10 == 9 { "PUT" } else { "GET" };
            log += &line(20 * visit + 3 * request, "10.0.0.1", &format!("{method} {item}"));
            *items.entry(format!("{method} {item}")).or_default() += 1;
        }
    }
    let settings = Settings { rules: vec!["items=/items/".parse().unwrap()], ..space.settings() };
    let made = space.model(&log, &settings).unwrap();
    let targets = &made.model.classes[0].targets;
    let found = targets.iter().map(|t| (format!("{} {}", t.method, t.target), t.weight));
    assert_eq!(found.collect::<std::collections::BTreeMap<_, _>>(), items);
    // Every line was looked at.
    assert_eq!(finding(&made, "targets-sampled"), "");
    let plan = compiled(&made);
    let rows: usize = plan.data.iter().map(|data| data.table.rows_count()).sum();
    assert_eq!((plan.data.len(), rows), (2, 1_800));
    assert!(paths(&plan).is_empty(), "all are drawn from the tables");
    // Of many lines only a part is used, which a finding reports.
    let more: String = (0..40_000_u64)
        .map(|n| line(2 * n, "10.0.0.1", &format!("GET /items/{}", n * 7_919 % 39_989)))
        .collect();
    let made = space.model(&more, &settings).unwrap();
    assert!(finding(&made, "targets-sampled").contains("different targets"));
    assert!(made.model.classes[0].targets.len() > 10_000);
    compiled(&made);
}

/// A frequent transition has a fit of its own; rare ones of its class share another.
#[test]
fn class_thinks_pool_transitions_without_an_own_fit() {
    let space = Space::new();
    let mut log = String::new();
    for visit in 0..600_u64 {
        let (path, think) = match visit % 30 {
            0 => ("/c", 180 + visit % 7),
            _ => ("/b", 1 + visit % 3),
        };
        let address = format!("10.0.{}.{}", visit / 250, visit % 250);
        log += &line(40 * visit, &address, "GET /a");
        log += &line(40 * visit + think, &address, &format!("GET {path}"));
    }
    let settings = Settings { gap_s: Some(1800.0), ..space.settings() };
    let made = space.model(log, &settings).unwrap();
    let behaviour = &made.model.segments[0].behaviour;
    let class = |name: &str| made.model.classes.iter().position(|c| c.name == name).unwrap();
    let pool = behaviour.class_thinks[class("GET /a")].as_ref().unwrap();
    assert_eq!((pool.count, pool.outcome), (20, Outcome::TooFew));
    assert!(pool.mean_s > 180.0, "{}", pool.mean_s);
    // All together think as long as in the log.
    let of = |t: &model::Transition| {
        let think = t.think.as_ref().unwrap_or(pool);
        think.mean_s * t.count as f64
    };
    let sum: f64 = behaviour.transitions.iter().map(of).sum();
    assert!((sum / (behaviour.thinks.mean_s * 600.0) - 1.0).abs() < 1e-9);
    assert!(behaviour.class_thinks[class("GET /b")].is_none());
}

#[test]
fn check_rejects_a_wrong_mean() {
    let space = Space::new();
    let visits = |long: bool| -> String {
        let mut log = String::new();
        for visit in 0..800_u64 {
            let think = match visit % 100 {
                50 if long => 900,
                _ => 2 + 2 * (visit % 2),
            };
            let address = format!("10.0.{}.{}", visit / 250, visit % 250);
            log += &line(20 * visit, &address, "GET /a");
            log += &line(20 * visit + think, &address, "GET /a");
        }
        log
    };
    let settings = Settings { gap_s: Some(1800.0), ..space.settings() };
    let one = space.model(visits(true), &settings).unwrap().model;
    let other = space.model(visits(false), &settings).unwrap().model;
    let found = model::check(&one, &other, whole(&one));
    let refused = |of: &str| found.tests.iter().any(|test| test.quantity == of && test.rejected);
    assert!(refused("mean thinks") && !refused("thinks"), "{found:?}");
    assert!(model::check(&one, &one, whole(&one)).holds);
}

/// A scenario may have 4 MiB: where all of a model would be more, what stands for thinks is put shorter.
#[test]
fn large_models_are_reduced_to_fit_a_scenario() {
    let space = Space::new();
    let settings = Settings { classes_max: 30, ..space.settings() };
    let mut log = String::new();
    let mut second = 0;
    for visit in 0..1_200_u64 {
        second += 1 + visit * visit % 53;
        log += &line(
            second,
            "10.0.0.1",
            &format!("GET /{}/x", char::from(b'a' + (visit * 7 % 26) as u8)),
        );
    }
    let mut made = space.model(log, &settings).unwrap();
    let whole = made.scenario();
    let segment = made.model.segments[0].clone();
    made.model.segments = (0..120)
        .map(|number| model::Segment { name: format!("s{number}"), ..segment.clone() })
        .collect();
    let text = made.scenario();
    assert!(
        text.len() <= scenario::document::yaml::TEXT_BYTES_MAX && text.len() < 100 * whole.len()
    );
    compiled(&made);
}

/// More sessions than a scenario has room for: those it has are drawn as often as the log has sessions of their length.
#[test]
fn recorded_sessions_have_the_lengths_of_the_log() {
    let space = Space::new();
    let mut rng = Rng::new(9, 0, Purpose::Arrivals);
    let mut lines = Vec::new();
    for visit in 0..6_000_u64 {
        let address = format!("10.{}.{}.1", visit / 250, visit % 250);
        let mut second = 5 * visit;
        loop {
            let path = format!("GET /page{}", rng.below(3));
            lines.push((second, line(second, &address, &path)));
            if rng.unit() < 0.2 {
                break;
            }
            second += 1 + rng.below(9);
        }
    }
    lines.sort_by_key(|(second, _)| *second);
    let log: String = lines.into_iter().map(|(_, line)| line).collect();
    let settings =
        Settings { behaviour: BehaviourKind::Sequences, gap_s: Some(1800.0), ..space.settings() };
    let made = space.model(log, &settings).unwrap();
    let behaviour = &made.model.segments[0].behaviour;
    let plan = compiled(&made);
    let chosen = plan.sessions[0].ops.iter().find_map(|op| match op {
        Op::Choose(branches) => Some(branches),
        _ => None,
    });
    let chosen = chosen.unwrap();
    assert_eq!(chosen.len(), behaviour.sequences.len());
    assert!((1_400..1_700).contains(&chosen.len()), "{}", chosen.len());
    let all: f64 = chosen.iter().map(|branch| branch.0).sum();
    let mut apart = 0.0;
    let mut greatest = 0.0_f64;
    for length in 1..=60 {
        let branches = chosen.iter().zip(&behaviour.sequences);
        let drawn = branches.filter(|(_, sequence)| sequence.len() == length);
        let drawn: f64 = drawn.map(|(branch, _)| branch.0 / all).sum();
        let recorded = behaviour.lengths.get(&(length as u64)).copied();
        apart += drawn - recorded.unwrap_or(0) as f64 / 6_000.0;
        greatest = greatest.max(apart.abs());
    }
    // Of 1,600 sessions that are drawn alike the distribution function is 0.02 off.
    assert!(greatest < 0.002, "{greatest}");
    assert!(finding(&made, "sequences-few").contains("of up to 6000"));
}

/// Sessions from one page to the next, which end after each with this probability.
fn visits(seed: u64, sessions: u64, end: f64, next: [u64; 2]) -> String {
    let mut rng = Rng::new(seed, 0, Purpose::Arrivals);
    let mut lines = Vec::new();
    for visit in 0..sessions {
        let address = format!("10.{}.{}.1", visit / 250, visit % 250);
        let mut second = 5 * visit;
        let mut page = 0;
        loop {
            let path = format!("GET /page{page}");
            lines.push((second, line(second, &address, &path)));
            if rng.unit() < end {
                break;
            }
            second += 1 + rng.below(20);
            page = (page + next[usize::from(rng.unit() < 0.5)]) % 3;
        }
    }
    lines.sort_by_key(|(second, _)| *second);
    lines.into_iter().map(|(_, line)| line).collect()
}

/// What the recorded sessions are off by is allowed for, and no more.
#[test]
fn check_of_recorded_sessions_rejects_another_behaviour() {
    let space = Space::new();
    let settings =
        Settings { behaviour: BehaviourKind::Sequences, gap_s: Some(1800.0), ..space.settings() };
    let one = space.model(visits(1, 8_000, 0.25, [1, 2]), &settings);
    let one = one.unwrap().model;
    let names = model::session_names(&one);
    let checked = |log: String| {
        let mut other = space.model(log, &settings).unwrap().model;
        other.segments[0].name.clone_from(&names[0]);
        model::check(&one, &other, whole(&one))
    };
    let rejected = |found: &model::Check, quantity: &str| {
        let mut tests = found.tests.iter();
        tests.any(|test| test.quantity == quantity && test.rejected)
    };
    let same = checked(visits(2, 8_000, 0.25, [1, 2]));
    assert!(same.holds, "{:?}", same.tests[0]);
    let longer = checked(visits(2, 8_000, 0.2, [1, 2]));
    assert!(rejected(&longer, "lengths") && rejected(&longer, "transitions"));
    let other = checked(visits(2, 8_000, 0.25, [1, 1]));
    assert!(rejected(&other, "transitions") && !rejected(&other, "lengths"));
}
