//! Segments with different arrivals, and their processes in the scenario.

use model::{ArrivalProcess, BuiltModel, ProcessReason, Settings};
use plan::{PhaseKind, Spacing};
use stats::dist::Dist;
use stats::rng::{Purpose, Rng};

use crate::{Space, compiled, line};

const DAY_S: f64 = 86_400.0;
const SECONDS: f64 = 4.0 * DAY_S;

/// Begins of a segment's sessions, in seconds, one request each.
struct Crowd {
    name: &'static str,
    begins: Vec<f64>,
}

/// A Poisson process of this rate, thinned to a share at each time (Lewis and Shedler 1979).
fn poisson(name: &'static str, rate: f64, share: impl Fn(f64) -> f64) -> Crowd {
    let mut rng = Rng::new(7, name.len() as u64, Purpose::Arrivals);
    let mut begins = Vec::new();
    let mut at = 0.0;
    loop {
        at += Dist::Exponential { mean: 1.0 / rate }.sample(&mut rng);
        if at >= SECONDS {
            return Crowd { name, begins };
        }
        if rng.unit() < share(at) {
            begins.push(at);
        }
    }
}

/// High by day or by night.
fn by_day(at: f64) -> f64 {
    0.5 + 0.45 * (std::f64::consts::TAU * at / DAY_S).sin()
}

/// A log with a user of its own for each session.
fn log(crowds: &[Crowd]) -> String {
    let mut lines: Vec<(f64, &str)> = Vec::new();
    for crowd in crowds {
        lines.extend(crowd.begins.iter().map(|&at| (at, crowd.name)));
    }
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let written = lines.iter().enumerate().map(|(user, (at, name))| {
        let address = std::net::Ipv4Addr::from(0x0A00_0000 + user as u32).to_string();
        line(*at as u64, &address, &format!("GET /{name}/"))
    });
    written.collect()
}

fn made(crowds: &[Crowd], settings: Settings) -> BuiltModel {
    let space = Space::new();
    let settings = Settings {
        segment: Some("path=^/([^/]+)/".parse().unwrap()),
        gap_s: Some(1800.0),
        scratch: space.settings().scratch,
        threads: 2,
        ..settings
    };
    space.model(log(crowds), &settings).unwrap()
}

fn process(made: &BuiltModel, name: &str) -> (ArrivalProcess, ProcessReason) {
    let segment = made.model.segments.iter().find(|s| s.name == name).unwrap();
    let process = segment.process.unwrap();
    (process.kind, process.reason)
}

fn finding<'m>(made: &'m BuiltModel, code: &str) -> &'m str {
    let found = made.model.findings.iter().find(|f| f.code == code);
    found.map_or("", |found| &found.text)
}

/// One with a day, one with the opposite day, one in bursts, and one of three sessions.
fn mixed() -> [Crowd; 4] {
    let night = |at: f64| 1.0 - by_day(at);
    let burst = |at: f64| {
        if (at / 600.0) as u64 % 7 == 3 { 1.0 } else { 0.0 }
    };
    let few = Crowd { name: "three", begins: vec![40_000.0, 120_000.0, 200_000.0] };
    [
        poisson("days", 0.04, by_day),
        poisson("nights", 0.04, night),
        poisson("bursts", 0.08, burst),
        few,
    ]
}

#[test]
fn segments_get_processes_of_their_own() {
    let crowds = mixed();
    let made = made(&crowds, Settings::default());
    let own = ProcessReason::Own;
    let few = ProcessReason::Few;
    assert_eq!(process(&made, "days"), (ArrivalProcess::Cycle, own));
    assert_eq!(process(&made, "nights"), (ArrivalProcess::Cycle, own));
    assert_eq!(process(&made, "bursts"), (ArrivalProcess::Trace, own));
    assert_eq!(process(&made, "three").1, few);
    assert!(finding(&made, "segments-few").contains("\"three\" with 3"));
    assert!(finding(&made, "segment-small").contains("\"three\" has 3 sessions with 3 requests"));
    assert!(finding(&made, "arrivals-by-trace").contains("\"bursts\""));
    assert!(finding(&made, "segment-cycle").is_empty());
    let plan = compiled(&made);
    let PhaseKind::Together(streams) = &plan.phases[0].kind else {
        panic!("{:?}", plan.phases[0].kind);
    };
    assert_eq!((plan.phases.len(), streams.len()), (1, 4));
    // By midday the first's users are many and the second's few, as in the log.
    let sessions: Vec<&str> = plan.sessions.iter().map(|s| s.name.as_str()).collect();
    let planned = |name: &str| -> f64 {
        let place = sessions.iter().position(|s| *s == name);
        let of = |phase: &&plan::Phase| phase.session.map(plan::SessionId::index) == place;
        streams.iter().flatten().filter(of).map(plan::Phase::users_planned).sum()
    };
    // The run lasts an hour, which begins at 10:00 of the clock.
    let recorded = |name: &str| {
        let crowd = crowds.iter().find(|crowd| crowd.name == name).unwrap();
        crowd.begins.iter().filter(|at| (**at % DAY_S) < 3600.0).count() as f64 / 4.0
    };
    for name in ["days", "nights"] {
        let plan = planned(name);
        let log = recorded(name);
        assert!((plan / log - 1.0).abs() < 0.25, "{name}: {plan} for {log}");
    }
    for part in streams.iter().flatten() {
        if let PhaseKind::Rate { spacing, .. } = part.kind {
            assert_eq!(spacing, Spacing::Poisson);
        }
    }
}

/// YAML takes one word for no text at all.
#[test]
fn segments_may_be_called_null() {
    let crowds = [
        poisson("null", 0.02, by_day),
        poisson("null-session", 0.02, by_day),
        poisson("night", 0.02, |at| 1.0 - by_day(at)),
    ];
    let made = made(&crowds, Settings::default());
    let plan = compiled(&made);
    assert!(matches!(plan.phases[0].kind, PhaseKind::Together(_)));
    let mut sessions: Vec<&str> = plan.sessions.iter().map(|s| s.name.as_str()).collect();
    sessions.sort_unstable();
    assert_eq!(sessions[0], "night");
    assert!(sessions[1].starts_with("null_session") && sessions[2].starts_with("null_session"));
}

/// A scenario has not room for all recorded sessions of many segments; those it has are no shorter for that.
#[test]
fn sequences_are_shared_evenly_among_segments() {
    let segments = 6;
    let visits = 60;
    let mut lines = Vec::new();
    let mut requests = 0;
    for segment in 0..segments {
        for visit in 0..visits {
            let user = segment * visits + visit;
            let address = std::net::Ipv4Addr::from(0x0A00_0000 + user as u32).to_string();
            // From one request to 60, the same lengths in each segment.
            let length = 1 + (visit * 7) % 60;
            requests += length;
            for request in 0..length {
                let second = 40 * user + 3 * request;
                let path = format!("GET /s{segment}/{}", request % 3);
                lines.push((second, line(second, &address, &path)));
            }
        }
    }
    lines.sort_by_key(|(second, _)| *second);
    let log: String = lines.into_iter().map(|(_, line)| line).collect();
    let space = Space::new();
    let settings = Settings {
        segment: Some("path=^/([^/]+)/".parse().unwrap()),
        gap_s: Some(1800.0),
        behaviour: model::BehaviourKind::Sequences,
        ..space.settings()
    };
    let made = space.model(log, &settings).unwrap();
    let plan = compiled(&made);
    let mut found = 0;
    let mut chosen = Vec::new();
    for session in &plan.sessions {
        for op in &session.ops {
            match op {
                plan::Op::Http(_) => found += 1,
                plan::Op::Choose(branches) => chosen.push(branches.len()),
                _ => {}
            }
        }
    }
    let each = chosen[0] as u64;
    assert_eq!(chosen, vec![each as usize; segments as usize]);
    assert!(each < visits && finding(&made, "sequences-few").contains(&each.to_string()));
    let mean = found as f64 / (each * segments) as f64;
    let of_log = requests as f64 / (visits * segments) as f64;
    assert!((mean / of_log - 1.0).abs() < 0.1, "{mean} of {of_log}, {each} each");
}

#[test]
fn segment_of_too_long_sessions_follows_a_chain() {
    let mut lines = Vec::new();
    for user in 0..30 {
        let (path, length) = if user % 2 == 0 { ("long", 401) } else { ("short", 3) };
        for request in 0..length {
            let second = 40 * user + 2 * request;
            let path = format!("GET /{path}/{}", request % 3);
            lines.push((second, line(second, &format!("10.0.0.{user}"), &path)));
        }
    }
    lines.sort_by_key(|(second, _)| *second);
    let log: String = lines.into_iter().map(|(_, line)| line).collect();
    let space = Space::new();
    let settings = Settings {
        segment: Some("path=^/([^/]+)/".parse().unwrap()),
        behaviour: model::BehaviourKind::Sequences,
        ..space.settings()
    };
    let made = space.model(log, &settings).unwrap();
    assert!(finding(&made, "sequences-none").starts_with("no session of \"long\""));
    assert_eq!(compiled(&made).sessions.len(), 2);
    assert!(made.tsung().text.contains("<session name=\"long\""));
    // Counts have no sessions at all.
    let counts = space.file("counts.txt", "1 0 2 5 0 1\n");
    let made = model::from_counts(&counts, 1, 0, &settings).unwrap();
    assert_eq!(compiled(&made).sessions.len(), 1);
}

/// The one-line variations of a load test: one source more, all more, longer, slower.
#[test]
fn parameters_change_single_segments() {
    let made = made(&mixed(), Settings::default());
    let text = made.scenario();
    let files = |name: &str| {
        let found = made.files().find(|(file, _)| file == name);
        found.map(|(_, text)| text).ok_or(format!("no file {name}"))
    };
    let planned = |sets: &[(&str, &str)]| {
        let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
        let settings = scenario::Settings {
            overrides: &sets.iter().map(own).collect::<Vec<_>>(),
            env: &|_| None,
            files: &files,
        };
        let source = scenario::Source { name: "scenario.yaml", text: &text };
        let (plan, diagnostics) = scenario::compile(source, &settings);
        assert!(diagnostics.is_empty(), "{}", scenario::render(&diagnostics, source));
        let plan = plan.unwrap();
        (plan.users_planned(), plan.end_ns() as f64 / 1e9)
    };
    let near = |found: (f64, f64), users: f64, seconds: f64| {
        let off = (found.0 / users - 1.0).abs().max((found.1 / seconds - 1.0).abs());
        assert!(off < 0.02, "{found:?} instead of {users} in {seconds} s");
    };
    let day = "86400";
    let (users, _) = planned(&[("seconds", day)]);
    near(planned(&[("seconds", day), ("users", "2")]), 2.0 * users, DAY_S);
    near(planned(&[("seconds", day), ("speed", "20")]), users, DAY_S / 20.0);
    let (more, seconds) = planned(&[("seconds", "172800")]);
    let as_much = (more / users / 2.0 - 1.0).abs();
    assert!(as_much < 0.05 && seconds == 2.0 * DAY_S, "{more} in {seconds} s");
    // Each alone, over all of the log: the day's, and the traced one's.
    let all = SECONDS.to_string();
    let (users, _) = planned(&[("seconds", &all)]);
    for segment in &made.model.segments[..3] {
        let rate = segment.sessions as f64 / made.model.arrivals.span_s;
        let doubled = (2.0 * rate).to_string();
        let name = format!("rate_{}", segment.name);
        let (more, _) = planned(&[("seconds", &all), (&name, &doubled)]);
        let off = (more - users) / segment.sessions as f64 - 1.0;
        assert!(off.abs() < 0.01, "{name}: {more} from {users}");
    }
    // The traced one's bursts begin elsewhere.
    assert_ne!(planned(&[("seconds", "600")]), planned(&[("seconds", "600"), ("begin", "1800")]));
}

#[test]
fn identical_poisson_segments_share_one_process() {
    let steady = [poisson("one", 0.03, |_| 1.0), poisson("other", 0.01, |_| 1.0)];
    let made = made(&steady, Settings::default());
    assert!(made.model.segments.iter().all(|segment| segment.process.is_none()));
    assert!(made.traces.is_empty());
    let plan = compiled(&made);
    assert!(matches!(plan.phases[0].kind, PhaseKind::Rate { .. }));
}

/// A requested process applies to each segment; findings name the segments that reject it.
#[test]
fn requested_process_applies_to_each_segment() {
    let settings = Settings { arrivals: Some(ArrivalProcess::Trace), ..Settings::default() };
    let made = made(&mixed()[..2], settings);
    let given = (ArrivalProcess::Trace, ProcessReason::Given);
    assert_eq!(process(&made, "days"), given);
    assert_eq!(process(&made, "nights"), given);
    let names: Vec<&str> = made.traces.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"arrivals-days.txt") && names.contains(&"arrivals-nights.txt"));
    for ((_, trace), segment) in made.traces.iter().zip(&made.model.segments) {
        assert_eq!(trace.iter().sum::<f64>(), segment.sessions as f64);
    }
    compiled(&made);
}

#[test]
fn requested_cycle_without_a_cycle_is_a_finding() {
    let flat = poisson("flat", 0.02, |_| 1.0);
    let crowds = [poisson("days", 0.04, by_day), flat];
    let settings = Settings { arrivals: Some(ArrivalProcess::Cycle), ..Settings::default() };
    let made = made(&crowds, settings);
    assert_eq!(process(&made, "days"), (ArrivalProcess::Cycle, ProcessReason::Given));
    let message = finding(&made, "no-cycle");
    assert!(
        message.contains("\"flat\", though one was requested: the hours of the day do not differ")
            && !message.contains("days\""),
        "{message}"
    );
}

/// Counts as a file, and what is found of them.
fn counted(
    counts: impl Iterator<Item = u32>,
    bin_s: u64,
    process: Option<ArrivalProcess>,
) -> BuiltModel {
    let space = Space::new();
    let text: Vec<String> = counts.map(|count| count.to_string()).collect();
    let path = space.file("counts.txt", text.join(" "));
    let settings = Settings { arrivals: process, ..space.settings() };
    model::from_counts(&path, bin_s, 0, &settings).unwrap()
}

#[test]
fn reason_for_recorded_arrivals_is_stated() {
    let bursts = || (0..2_000).map(|second| u32::from(second % 50 == 0) * 9);
    let short = counted(bursts().take(40), 1, None);
    assert!(finding(&short, "arrivals-by-trace").starts_with("the log is too short"));
    let requested = counted(bursts(), 1, Some(ArrivalProcess::Trace));
    assert!(finding(&requested, "arrivals-by-trace").contains("as requested"));
    let found = counted(bursts(), 1, None);
    assert!(finding(&found, "arrivals-by-trace").starts_with("no simple arrival process fits"));
    for made in [&short, &found] {
        assert!(finding(made, "no-cycle").is_empty());
    }
    let short = counted(bursts(), 1, Some(ArrivalProcess::Cycle));
    assert!(finding(&short, "no-cycle").contains("takes at least three days"));
}

#[test]
fn counts_that_do_not_add_up_to_hours_are_a_finding() {
    let bins = || (0..100).map(|bin| 20 + bin % 7);
    let odd = counted(bins(), 7_200, None);
    let message = finding(&odd, "bins-no-hours");
    assert!(message.contains("counts of 7200 s") && message.contains("--bin"), "{message}");
    assert!(finding(&counted(bins(), 3_600, None), "bins-no-hours").is_empty());
}
