use record::schema::{Event, EventKind};
use stats::rng::{Purpose, Rng};

use super::*;
use crate::figures::Window;
use crate::sample::{self, MS, REQUEST, SECOND, judged};

/// A second in which so many requests succeeded in about this time.
fn answered(count: f64, time_ms: f64, rng: &mut Rng) -> Window {
    // The mean of logarithms of exponential times scatters so.
    let noise = 1.28 / count.max(1.0).sqrt() * (rng.unit() + rng.unit() + rng.unit() - 1.5) * 2.0;
    let ln = (time_ms * 1e6).ln() + noise;
    Window {
        due: count,
        served: count,
        served_s: count * time_ms / 1e3,
        interrupted: 0.0,
        ended: count,
        answered: count,
        answered_s: count * time_ms / 1e3,
        failed: 0.0,
        succeeded_ln: count * ln,
        succeeded_ln_squares: count * ln * ln,
    }
}

/// A run of 60 s with 100 requests a second, whose times these are by second.
fn run(seed: u64, time_ms: impl Fn(usize) -> f64) -> Figures {
    let mut rng = Rng::new(seed, 45, Purpose::Service);
    let windows = (0..60).map(|second| answered(100.0, time_ms(second), &mut rng));
    with_windows(windows.collect())
}

fn with_windows(windows: Vec<Window>) -> Figures {
    let mut figures = sample::figures();
    figures.windows = vec![Vec::new(), windows];
    figures
}

/// Requests that fail in a second, of those that are answered.
fn fail(window: &mut Window, failed: f64) {
    window.failed += failed;
    let rest = (window.answered - window.failed) / window.answered;
    window.succeeded_ln *= rest;
    window.succeeded_ln_squares *= rest;
}

fn incidents(figures: &Figures) -> Vec<Incident> {
    RunIncidents::find(figures).incidents
}

fn codes(figures: &Figures) -> Vec<String> {
    judged(figures).findings.into_iter().map(|found| found.code).collect()
}

#[track_caller]
fn only(figures: &Figures) -> Incident {
    let mut all = incidents(figures);
    assert_eq!(all.len(), 1, "{all:#?}");
    all.remove(0)
}

/// From 15 s to 25 s responses take 400 ms, and 30 in 100 fail at once. The slow ones come 0.4 s later.
fn broken(seed: u64) -> Figures {
    let mut figures = run(seed, |second| if (15..25).contains(&second) { 400.0 } else { 8.0 });
    let windows = &mut figures.windows[REQUEST];
    windows[15..25].iter_mut().for_each(|window| fail(window, 30.0));
    let late = 0.4 * 70.0;
    windows[15].succeeded_ln *= 0.6;
    windows[15].succeeded_ln_squares *= 0.6;
    (windows[15].answered, windows[15].ended) = (100.0 - late, 100.0 - late);
    windows[25].succeeded_ln += late * 400e6_f64.ln();
    windows[25].succeeded_ln_squares += late * 400e6_f64.ln().powi(2);
    (windows[25].answered, windows[25].ended) = (100.0 + late, 100.0 + late);
    figures
}

#[test]
fn an_even_run_has_no_incident() {
    let with_any = (0..40).filter(|&seed| !incidents(&run(seed, |_| 10.0)).is_empty()).count();
    assert!(with_any <= 1, "{with_any} of 40");
    assert_eq!(incidents(&sample::figures()), []);
}

/// A second in which requests took these times.
fn exact(times_ms: impl Iterator<Item = f64>) -> Window {
    let mut sum = Window::default();
    for time_ms in times_ms {
        let ln = (time_ms * 1e6).ln();
        sum.add(&Window {
            due: 1.0,
            served: 1.0,
            served_s: time_ms / 1e3,
            interrupted: 0.0,
            ended: 1.0,
            answered: 1.0,
            answered_s: time_ms / 1e3,
            failed: 0.0,
            succeeded_ln: ln,
            succeeded_ln_squares: ln * ln,
        });
    }
    sum
}

/// A server with four places, to which requests come as a Poisson process of this rate by second, and each of which takes
/// an exponential time of this mean.
fn queue(seed: u64, per_s: impl Fn(f64) -> f64, mean_s: impl Fn(f64) -> f64) -> Figures {
    let mut rng = Rng::new(seed, 47, Purpose::Service);
    let mut windows = vec![Window::default(); 60];
    let mut free = [0.0_f64; 4];
    let mut now = 0.0;
    let mut exponential = || -(1.0 - rng.unit()).ln();
    loop {
        now += exponential() / per_s(now);
        if now >= 60.0 {
            return with_windows(windows);
        }
        let place = (1..4).fold(0, |least, at| if free[at] < free[least] { at } else { least });
        free[place] = free[place].max(now) + exponential() * mean_s(now);
        let response_s = free[place] - now;
        let due = Window { due: 1.0, served: 1.0, served_s: response_s, ..Window::default() };
        windows[now as usize].add(&due);
        if let Some(window) = windows.get_mut(free[place] as usize) {
            let one = exact(std::iter::once(response_s * 1e3));
            window.add(&Window { due: 0.0, served: 0.0, served_s: 0.0, ..one });
        }
    }
}

#[test]
fn healthy_queues_have_no_incidents_and_do_not_grow() {
    let alarms = |per_s: fn(f64) -> f64| {
        let has_any = |seed: &u64| {
            let all = RunIncidents::find(&queue(*seed, per_s, |_| 0.9 * 4.0 / 100.0));
            !all.incidents.is_empty() || !all.growths.is_empty()
        };
        (0..100).filter(has_any).count()
    };
    let loads: [fn(f64) -> f64; 3] = [
        |_| 100.0,
        |now| 2.0 + 98.0 * now / 60.0,
        |now| {
            if now < 20.0 {
                22.0
            } else if now < 40.0 {
                55.0
            } else {
                100.0
            }
        },
    ];
    for (number, per_s) in loads.into_iter().enumerate() {
        let alarms = alarms(per_s);
        assert!(alarms <= 5, "{alarms} of 100 of load {number}");
    }
    let leaks = |seed: &u64| {
        let found = RunIncidents::find(&queue(*seed, |_| 100.0, |now| 0.008 * (1.0 + now / 60.0)));
        !found.growths.is_empty()
    };
    let found = (0..20).filter(leaks).count();
    assert!(found >= 18, "{found} of 20");
}

/// Ten requests a second that take about 10 ms, but for those in these seconds, which take a second.
fn with_slow(seconds: &[usize]) -> Figures {
    let mut rng = Rng::new(7, 45, Purpose::Service);
    let windows = (0..60).map(|second| {
        let slow = seconds.iter().filter(|&&at| at == second).count();
        exact((0..10).map(|n| if n < slow { 1_000.0 } else { 9.0 + 2.0 * rng.unit() }))
    });
    with_windows(windows.collect())
}

#[test]
fn an_operation_that_took_long_is_no_incident() {
    assert_eq!(incidents(&with_slow(&[20])), []);
    assert_eq!(incidents(&with_slow(&[20, 40, 41])), []);
    let found = only(&with_slow(&[[20; 5], [21; 5]].concat()));
    assert_eq!(found.kinds, [IncidentKind::Response]);
}

#[test]
fn a_single_second_is_an_incident_if_answers_took_far_longer() {
    let figures = |times: f64, seconds: std::ops::Range<usize>| {
        run(9, |second| if seconds.contains(&second) { 10.0 * times } else { 10.0 })
    };
    assert_eq!(incidents(&figures(1.8, 30..31)), []);
    assert_eq!(only(&figures(4.0, 30..31)).kinds, [IncidentKind::Response]);
    assert_eq!(only(&figures(1.8, 30..35)).kinds, [IncidentKind::Response]);
}

#[test]
fn a_step_that_is_done_now_and_then_misses_nothing() {
    // In an hour, each takes three seconds.
    let mut windows = vec![Window::default(); 3_600];
    for due in (100..3_600).step_by(600) {
        windows[due].due = 1.0;
        windows[due].served = 1.0;
        let one = exact(std::iter::once(3_000.0));
        windows[due + 3] = Window { due: 0.0, served: 0.0, served_s: 0.0, ..one };
    }
    let mut figures = with_windows(windows);
    figures.info.phases[0].end_ns = 3_600 * SECOND;
    figures.info.ended_ns = 3_600 * SECOND;
    assert_eq!(incidents(&figures), []);
}

#[test]
fn more_users_of_a_population_explain_longer_responses() {
    // A full server: twice as many users wait for twice as long, and no more is due.
    let figures = |kind: &str| {
        let mut figures = run(8, |second| if second < 30 { 10.0 } else { 20.0 });
        figures.info.phases = vec![
            sample::phase("few", kind, 0, 30, 10.0),
            sample::phase("many", kind, 30, 60, 20.0),
        ];
        for row in &mut figures.series {
            row.users = if row.start_ns < 30 * SECOND { 10 } else { 20 };
        }
        figures
    };
    assert_eq!(incidents(&figures("closed")), []);
    let found = only(&figures("rate"));
    assert!(found.to_the_end, "as much load took twice as long: {found:?}");
}

#[test]
fn times_that_were_slow_and_failed_are_one_incident() {
    for seed in 0..20 {
        let found = only(&broken(seed));
        assert_eq!(found.kinds, [IncidentKind::Errors, IncidentKind::Response]);
        assert!(found.begin_ns.abs_diff(15 * SECOND) <= SECOND / 2, "{found:?}");
        assert!(found.end_ns.abs_diff(25 * SECOND) <= SECOND / 2, "{found:?}");
        assert!(!found.to_the_end && found.usual.errors == 0);
        let share = found.during.errors as f64 / found.during.operations as f64;
        assert!((0.27..0.33).contains(&share), "{found:?}");
    }
    let found = only(&broken(1));
    let begins = "request: slower answers, 31 % failed, from 0:15 to 0:25 (300 of ";
    assert!(found.text.starts_with(begins), "{}", found.text);
    let judged = judged(&broken(1));
    assert_eq!(judged.incidents.len(), 1);
    assert_eq!(judged.findings[0].code, "incident");
    assert_eq!(judged.findings[0].evidence["errors"], 300.0);
}

#[test]
fn percentiles_are_those_of_the_record() {
    let figures = broken(1);
    let hist = |time_ms: u64| {
        let mut hist = LogHistogram::new();
        hist.record_n(time_ms * MS, 100);
        hist
    };
    let all = find(&figures, &figures.all_windows(), Search::WHOLE);
    let times = [Times { during: hist(400), usual: hist(8) }];
    let found = RunIncidents::of(&figures, all, &times).incidents.remove(0);
    assert_eq!(found.during.p50_ns, Some(400 * MS));
    assert!(found.text.starts_with("request: p50 8.00 ms → 400 ms, 31 % failed, from 0:15"));

    // One server of several is slow: most answers are as fast as ever.
    let mut during = hist(8);
    during.record_n(400 * MS, 30);
    let all = find(&figures, &figures.all_windows(), Search::WHOLE);
    let found =
        RunIncidents::of(&figures, all, &[Times { during, usual: hist(8) }]).incidents.remove(0);
    assert!(found.during.p50_ns.is_some_and(|ns| ns < 9 * MS), "{found:?}");
    assert!(found.text.starts_with("request: p90 8.00 ms → 400 ms, "), "{}", found.text);
}

#[test]
fn what_is_worse_later_lasts_to_the_end_and_what_is_worse_first_is_a_warm_up() {
    for from in [20, 45] {
        let found = only(&run(3, |second| if second < from { 10.0 } else { 30.0 }));
        assert_eq!(found.kinds, [IncidentKind::Response]);
        assert!(found.to_the_end && found.end_ns == 60 * SECOND, "{found:?}");
        assert!(found.begin_ns.abs_diff(from as u64 * SECOND) <= SECOND / 2, "{found:?}");
    }
    assert_eq!(incidents(&run(3, |second| if second < 15 { 30.0 } else { 10.0 })), []);
}

#[test]
fn requests_without_an_answer_are_an_incident() {
    let mut figures = run(4, |_| 10.0);
    for window in &mut figures.windows[REQUEST][30..34] {
        (window.served, window.answered, window.ended) = (0.0, 0.0, 0.0);
        (window.succeeded_ln, window.succeeded_ln_squares) = (0.0, 0.0);
    }
    let found = only(&figures);
    assert_eq!(found.kinds[0], IncidentKind::Unanswered);
    assert_eq!((found.begin_ns, found.end_ns), (30 * SECOND, 34 * SECOND));
    assert_eq!((found.during.unanswered, found.during.errors), (400, 400));
    assert!(found.text.contains("100 % unanswered"), "{}", found.text);
}

#[test]
fn what_users_give_up_is_no_incident() {
    let mut figures = run(4, |_| 10.0);
    for window in &mut figures.windows[REQUEST][30..34] {
        window.served -= 40.0;
        window.answered -= 40.0;
        window.interrupted = 40.0;
        window.succeeded_ln *= 0.6;
        window.succeeded_ln_squares *= 0.6;
    }
    assert_eq!(incidents(&figures), []);
}

/// Two regions, of which one is slow for ten seconds.
#[test]
fn a_tag_is_named_where_others_of_its_key_were_not_worse() {
    let figures = |slow: [f64; 2]| {
        let mut figures = run(5, |_| 10.0);
        let mut rng = Rng::new(5, 46, Purpose::Service);
        for (number, region) in ["north", "south"].into_iter().enumerate() {
            let measure = figures.info.measures[REQUEST].clone();
            figures.info.measures.push(measure);
            let measure = &mut figures.info.measures[2 + number];
            measure.name = format!("page (region={region})");
            measure.shared_name = Some("page".to_owned());
            measure.tags.insert("region".to_owned(), region.to_owned());
            let time_ms = |second| if (30..40).contains(&second) { slow[number] } else { 10.0 };
            let windows = (0..60).map(|second| answered(50.0, time_ms(second), &mut rng));
            let windows: Vec<Window> = windows.collect();
            figures.windows.push(windows);
        }
        figures
    };
    let found = only(&figures([10.0, 80.0]));
    assert_eq!((found.step.as_str(), found.tag.as_deref()), ("page", Some("region=south")));
    assert!(found.text.starts_with("page (region=south): "), "{}", found.text);
    let found = only(&figures([80.0, 80.0]));
    assert_eq!((found.step.as_str(), found.tag), ("page", None));
}

#[test]
fn stalls_with_a_period_and_growth_have_findings_of_their_own() {
    let stalls = run(6, |second| if second % 7 == 6 { 40.0 } else { 10.0 });
    assert_eq!(incidents(&stalls), []);
    let found = judged(&stalls).findings.remove(0);
    assert_eq!(found.code, "periodic-stall");
    assert!(
        found.text.starts_with("request: stalls every 7 s, 8 stalls from 0:06 on"),
        "{found:?}"
    );
    // What failed for longer than a period is no stall.
    let mut failing = run(6, |second| if second % 7 == 6 { 40.0 } else { 10.0 });
    failing.windows[REQUEST][20..40].iter_mut().for_each(|window| fail(window, 30.0));
    let found = only(&failing);
    assert_eq!(found.kinds[0], IncidentKind::Errors);
    assert!(codes(&failing).contains(&"periodic-stall".to_owned()));
    let growing = run(6, |second| 10.0 + second as f64 / 3.0);
    assert_eq!(incidents(&growing), []);
    let found = judged(&growing).findings.remove(0);
    assert_eq!(found.code, "response-grows");
    assert!(!codes(&run(6, |_| 10.0)).contains(&"response-grows".to_owned()));
}

#[test]
fn what_was_beside_an_incident_is_named_with_its_distance() {
    let mut figures = broken(1);
    figures.info.phases = vec![
        sample::phase("warm", "rate", 0, 14, 1400.0),
        sample::phase("peak", "rate", 14, 60, 4600.0),
    ];
    let number = 1;
    let text = "killed: database".to_owned();
    let began = EventKind::FaultBegan { number, text: text.clone() };
    let ended = EventKind::FaultEnded { number, text };
    figures.events.push(Event { at_ns: 15 * SECOND, what: began });
    figures.events.push(Event { at_ns: 25 * SECOND, what: ended });
    let note = EventKind::Note { text: "far away".to_owned() };
    figures.events.push(Event { at_ns: 50 * SECOND, what: note });
    let found = judged(&figures).incidents.remove(0);
    let expected = ["fault `killed: database` from 0:15 to 0:25", "begins 1 s after phase peak"];
    assert_eq!(found.beside, expected);
    let findings = judged(&figures).findings;
    let text = &findings.iter().find(|finding| finding.code == "incident").unwrap().text;
    assert!(text.ends_with(&format!("; {}", expected.join("; "))), "{text}");
}
