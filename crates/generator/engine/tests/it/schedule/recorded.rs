//! Recorded rates and starts: the same users for any number of loops, at the times of the recording.

use engine::schedule::arrivals::{Arrival, Arrivals};
use engine::schedule::share::Share;
use plan::{Plan, SessionId};
use scenario::{Settings, Source, compile, render};

/// The plan of a scenario that has no errors.
fn plan(text: &str) -> Plan {
    let source = Source { name: "test.yaml", text };
    let file = |name: &str| match name {
        "counts.txt" => Ok("40 0 100 7 0 12.5 ".repeat(20)),
        "times.txt" => Ok((0..500).map(|n| format!("{}\n", n * n % 997)).collect()),
        _ => Err(format!("no file {name}")),
    };
    let settings = Settings { overrides: &[], env: &|_| None, files: &file };
    let (plan, diagnostics) = compile(source, &settings);
    plan.unwrap_or_else(|| panic!("{}", render(&diagnostics, source)))
}

fn with_arrivals(phases: &str) -> Plan {
    plan(&format!(
        "name: recorded\nseed: 3\ntarget: http://target.test/\nsessions: {{ one: [ {{ get: / }} ] }}\n\
         arrivals:\n{phases}\n"
    ))
}

fn starts(plan: &Plan, index: u32, of: u32) -> Vec<Arrival> {
    Arrivals::new(plan, Share::new(index, of)).collect()
}

/// How many start in each second.
fn per_second(arrivals: &[Arrival], seconds: usize) -> Vec<f64> {
    let mut counts = vec![0.0; seconds];
    for arrival in arrivals {
        counts[(arrival.due_ns / 1_000_000_000) as usize] += 1.0;
    }
    counts
}

#[test]
fn any_number_of_loops_starts_the_recorded_users() {
    let plan = with_arrivals(
        "  - { trace: counts.txt, for: 100s, scale: 1.3 }
  - { constant: 7/s, for: 3s }
  - { trace: counts.txt, speed: 10, spacing: poisson }
  - { replay: times.txt, speed: 25 }
  - { replay: times.txt, from: 3s, for: 10s }
  - on_off: { sources: 30, rate: 4/s, on: { scale: 1s, shape: 1.4 }, off: { scale: 1s, shape: 1.4 } }
    for: 20s
  - together:
      - { poisson: 9/s, for: 20s }
      - { trace: counts.txt, speed: 10 }
      - { trace: counts.txt, spacing: poisson, from: 30s, for: 15s }
      - { steps: [1/s, 9/s], each: 4s }
  - { trace: counts.txt, speed: 7 }",
    );
    let all = starts(&plan, 0, 1);
    assert!(all.is_sorted_by_key(|arrival| arrival.due_ns));
    assert!(all.iter().map(|arrival| arrival.user).eq(0..all.len() as u64));
    for of in [2, 3, 4, 64, 1024] {
        for index in 0..of {
            let own = |arrival: &&Arrival| arrival.user % u64::from(of) == u64::from(index);
            let expected: Vec<_> = all.iter().filter(own).copied().collect();
            assert_eq!(starts(&plan, index, of), expected, "share {index} of {of}");
        }
    }
    // Each phase starts as many as were planned; Poisson ones about as many.
    for phase in &plan.phases {
        let span = phase.start_ns..phase.end_ns();
        let count = all.iter().filter(|a| span.contains(&a.due_ns)).count() as f64;
        let planned = phase.users_planned();
        let slack = if ["trace-2", "together"].contains(&phase.name.as_str()) {
            4.0 * planned.sqrt()
        } else {
            0.5
        };
        assert!((count - planned).abs() < slack, "{}: {count}, {planned}", phase.name);
    }
}

#[test]
fn an_even_trace_has_each_seconds_number() {
    let plan = with_arrivals("  - { trace: counts.txt }");
    let found = per_second(&starts(&plan, 0, 1), 120);
    let recorded = [40.0, 0.0, 100.0, 7.0, 0.0, 12.5].repeat(20);
    for (second, (found, recorded)) in found.iter().zip(&recorded).enumerate() {
        // Halves are started in one second or the next one that counts any.
        assert!((found - recorded).abs() < 1.0, "second {second}: {found}, {recorded}");
    }
}

#[test]
fn a_replay_starts_at_the_recorded_times() {
    let plan = with_arrivals("  - { replay: times.txt, speed: 10 }");
    let mut expected: Vec<u64> = (0..500).map(|n| n * n % 997 * 100_000_000).collect();
    expected.sort_unstable();
    let found: Vec<u64> = starts(&plan, 0, 1).iter().map(|arrival| arrival.due_ns).collect();
    assert_eq!(found, expected);
}

/// Whoever stands beside a stream, its users start when they would.
#[test]
fn phases_side_by_side_have_the_starts_that_each_has_alone() {
    let two = |phases: &str| {
        plan(&format!(
            "name: recorded\nseed: 3\ntarget: http://target.test/\n\
             sessions: {{ one: [ {{ get: / }} ], two: [ {{ get: / }} ] }}\narrivals:\n{phases}\n"
        ))
    };
    let both = two("  - { hold: 2s }
  - together:
      - { poisson: 9/s, for: 20s, session: one }
      - { ramp: 0/s..10/s, for: 12s, session: two, users_max: 40 }
  - { constant: 1/s, for: 5s, session: one }");
    let all = starts(&both, 0, 1);
    assert!(all.is_sorted_by_key(|arrival| arrival.due_ns));
    assert_eq!(both.phases[1].duration_ns, 20_000_000_000);
    assert_eq!(both.phases[1].rate_max_per_s(), 19.0);
    let of = |session| all.iter().filter(move |arrival| arrival.session == session);
    let alone = two("  - { hold: 2s }\n  - { ramp: 0/s..10/s, for: 12s, users_max: 40 }");
    let ramp: Vec<u64> = starts(&alone, 0, 1).iter().map(|a| a.due_ns).collect();
    assert!(of(SessionId(1)).map(|arrival| arrival.due_ns).eq(ramp));
    let begin_ns = 2_000_000_000;
    let end_ns = 22_000_000_000;
    let poisson = of(SessionId(0)).filter(|arrival| arrival.due_ns < end_ns);
    assert!(poisson.clone().all(|arrival| arrival.due_ns >= begin_ns));
    let count = poisson.count() as f64;
    assert!((count - 180.0).abs() < 4.0 * 180_f64.sqrt(), "{count}");
    // The next phase begins when the longest is over.
    assert_eq!(of(SessionId(0)).filter(|arrival| arrival.due_ns >= end_ns).count(), 5);
}

/// Counts of a Poisson process have the variance of their mean, whatever the rate does: the sum of
/// (count − mean)² / mean over many bins is close to their number (its variance is about 2 a bin).
#[test]
fn a_poisson_trace_has_the_dispersion_of_its_rate() {
    let mut plan = with_arrivals("  - { trace: counts.txt, spacing: poisson }");
    let recorded = [40.0, 0.0, 100.0, 7.0, 0.0, 12.5].repeat(20);
    let mut sum = 0.0;
    let mut bins = 0.0;
    for seed in 0..50 {
        plan.seed = seed;
        let found = per_second(&starts(&plan, 0, 1), 120);
        for (found, mean) in found.iter().zip(&recorded) {
            if *mean > 0.0 {
                sum += (found - mean).powi(2) / mean;
                bins += 1.0;
            } else {
                assert_eq!(*found, 0.0);
            }
        }
    }
    let deviation = (2.1_f64 / bins).sqrt();
    assert!((sum / bins - 1.0).abs() < 4.0 * deviation, "{}", sum / bins);
}

/// A ramp in pieces has the users of the whole: 1/s to 5/s and back, by the trapezoids' areas.
#[test]
fn rates_by_the_clock_start_their_areas() {
    let plan = with_arrivals(
        "  - { rates: { \"00:00\": 1/s, \"12:00\": 5/s }, from: \"00:00\", for: 24m, speed: 60 }",
    );
    let count = starts(&plan, 0, 1).len() as f64;
    assert_eq!(plan.users_planned(), 24.0 * 60.0 * 3.0);
    assert!((count - 4320.0).abs() <= 2.0, "{count}");
}
