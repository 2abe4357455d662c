//! Analysing runs that were made by hand, so that what is in them is known.

use std::path::Path;

use judge::analyze::{Analysis, AnalyzeError, Question, analyze};
use record::schema::Severity;
use record::{Measurement, Outcome};
use testkit::runs::made::{Made, operation};
use testkit::runs::{MS, SECOND};

fn analysed(made: &Made) -> Analysis {
    analyze(&made.write(|_| ()), &Question::default()).unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64, tolerance: f64) {
    let off = (found - expected).abs();
    assert!(off <= tolerance * expected.abs(), "{found}, expected {expected}");
}

/// The finding of this code.
#[track_caller]
fn finding<'a>(analysis: &'a Analysis, code: &str) -> &'a record::schema::Finding {
    let found = analysis.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code} among {:#?}", analysis.findings))
}

fn has_finding(analysis: &Analysis, code: &str) -> bool {
    analysis.findings.iter().any(|finding| finding.code == code)
}

#[test]
fn an_even_run_is_steady_from_its_beginning_and_never_down() {
    let analysis = analysed(&Made::answering(60, |_| 10.0));
    assert_eq!(finding(&analysis, "steady-state").severity, Severity::Good);
    assert_eq!(analysis.warm_up.cut_ns, 0);
    assert!(!has_finding(&analysis, "trend") && !has_finding(&analysis, "leak"));
    let up = analysis.availability.as_ref().unwrap();
    assert_eq!((up.failures, up.observed, up.nines), (0, 1.0, None));
    // −60 s/ln 0.05, and 1 − 0.05^(1/60).
    close(up.mtbf_ns.low, 20.028_5e9, 1e-4);
    close(up.down_max.unwrap(), 0.048_70, 1e-3);
    assert_eq!((up.mtbf_ns.value, up.mtbf_ns.high, &up.long_run), (None, None, &None));

    let request = &analysis.measures[0];
    assert_eq!((request.kept.count, request.windows.len()), (1200, 10));
    close(request.kept.mean_ns, 10e6, 0.01);
    // Even from 8 to 12 ms: a standard deviation of 4/√12.
    close(request.kept.deviation_ns, 1.155e6, 0.05);
    let known = request.response.as_ref().unwrap();
    assert!(known.low < 10e6 && 10e6 < known.high);
    let rates = analysis.throughput.rates.as_ref().unwrap();
    assert_eq!((rates.min, rates.max, rates.variation), (20.0, 20.0, 0.0));
}

#[test]
fn a_warm_up_is_found_and_excluded() {
    let analysis = analysed(&Made::answering(120, |s| 10.0 + 60.0 * (-s / 5.0).exp()));
    let cut_s = analysis.warm_up.cut_ns / SECOND;
    assert!((10..=35).contains(&cut_s), "{cut_s} s");
    let request = &analysis.measures[0];
    close(request.kept.mean_ns, 10e6, 0.02);
    assert!(request.whole.mean_ns > 12e6);
    assert!(finding(&analysis, "steady-state").text.contains("request takes longest"));

    let made = Made::answering(60, |_| 10.0);
    let run = made.write(|_| ());
    let question = Question { cut_ns: Some(20 * SECOND), ..Question::default() };
    let analysis = analyze(&run, &question).unwrap();
    assert_eq!((analysis.warm_up.cut_ns, analysis.measures[0].kept.count), (20 * SECOND, 800));
    assert!(analysis.warm_up.is_given);
}

/// From 20 s on, which the rule for warm-ups would cut at, or from 45 s on, which it does not see.
#[test]
fn what_is_worse_later_is_no_warm_up() {
    for (from_s, times) in [(20.0, 3.0), (20.0, 1.5), (45.0, 2.0)] {
        let analysis =
            analysed(&Made::answering(60, |s| if s < from_s { 10.0 } else { 10.0 * times }));
        assert_eq!(analysis.warm_up.cut_ns, 0);
        assert!(!has_finding(&analysis, "steady-state"));
        assert!(finding(&analysis, "not-steady").text.contains("request did not settle"));
        let [incident] = analysis.incidents.as_slice() else {
            panic!("{:#?}", analysis.incidents);
        };
        assert!(incident.to_the_end);
        assert!((incident.begin_ns as f64 / 1e9 - from_s).abs() <= 0.5, "{incident:?}");
    }
}

/// The last answers of the incident come after its end: 600 ms later.
#[test]
fn what_is_worse_in_the_middle_is_no_warm_up_and_the_whole_run_is_analysed() {
    for (begin_s, end_s) in [(5.0, 14.0), (15.0, 27.0), (30.0, 38.0)] {
        let is_slow = |s: f64| (begin_s..end_s).contains(&s);
        let made = Made::answering(45, |s| if is_slow(s) { 600.0 } else { 10.0 });
        let analysis = analysed(&made);
        assert_eq!(analysis.warm_up.cut_ns, 0, "{begin_s} s: {:?}", analysis.warm_up);
        assert_eq!(analysis.measures[0].kept, analysis.measures[0].whole);
        let [incident] = analysis.incidents.as_slice() else {
            panic!("{:#?}", analysis.incidents);
        };
        assert!(!incident.to_the_end && (incident.begin_ns as f64 / 1e9 - begin_s).abs() <= 1.0);
    }
    // Not so if it is from the first second on.
    let made = Made::answering(45, |s| if s < 12.0 { 60.0 } else { 10.0 });
    let cut_s = analysed(&made).warm_up.cut_ns / SECOND;
    assert!((12..=20).contains(&cut_s), "{cut_s} s");
}

/// Of 25 s, 17 remain after the warm-up: too few for a steady state, but not for the outage.
#[test]
fn a_warm_up_that_leaves_too_little_is_not_cut_off_and_outages_count_from_the_start() {
    let mut made = Made::answering(25, |s| if s < 8.0 { 60.0 } else { 10.0 });
    for row in made.rows.iter_mut().filter(|row| (18..20).contains(&(row.due_ns / SECOND))) {
        row.outcome = Outcome::Refused;
    }
    let analysis = analysed(&made);
    assert_eq!(analysis.warm_up.cut_ns, 0);
    let text = &finding(&analysis, "not-steady").text;
    assert!(text.contains("request did not settle in time (request takes "), "{text}");
    assert!(text.contains(", which leaves less than 20 s); try a longer run"), "{text}");
    let down = &finding(&analysis, "down").text;
    assert!(down.starts_with("down once for 2 s in total, first after 18 s: "), "{down}");
}

#[test]
fn an_incident_that_passes_is_named_and_counts_as_down_if_operations_fail() {
    let mut made = Made::answering(60, |s| if (25.0..35.0).contains(&s) { 40.0 } else { 10.0 });
    for row in &mut made.rows {
        if (25..35).contains(&(row.due_ns / SECOND)) && row.user < 6 {
            row.outcome = Outcome::Status;
        }
    }
    let analysis = analyze(&made.write_with_failures(), &Question::default()).unwrap();
    let text = &finding(&analysis, "incident").text;
    assert!(text.starts_with("request: p50 ") && text.contains(" → "), "{text}");
    assert!(text.contains(", 30 % failed, from 0:25 to 0:35 (60 of 200)"), "{text}");
    assert!(finding(&analysis, "steady-state").text.ends_with("; worse in 1 incident"));
    let found = analysis.availability.as_ref().unwrap();
    assert_eq!((found.failures, found.down_ns, found.degraded_ns), (1, 10 * SECOND, 0));

    // Slow answers alone are none that failed.
    let slow = Made::answering(60, |s| if (25.0..35.0).contains(&s) { 40.0 } else { 10.0 });
    let analysis = analysed(&slow);
    let found = analysis.availability.as_ref().unwrap();
    assert_eq!((found.failures, found.degraded_ns), (0, 10 * SECOND));
    let text = &finding(&analysis, "never-down").text;
    assert!(text.contains(", although answers were slow in incidents for 10 s: "), "{text}");
}

#[test]
fn stalls_that_come_back_are_named_with_their_period() {
    let made = Made::answering(60, |s| if s % 7.0 == 6.0 { 60.0 } else { 10.0 });
    let stalls = finding(&analysed(&made), "periodic-stall").clone();
    assert!(
        stalls.text.starts_with("request: stalls every 7 s, 8 stalls from 0:06 on"),
        "{stalls:?}"
    );
}

#[test]
fn a_load_that_the_plan_changes_is_no_steady_state() {
    let mut made = Made::answering(60, |_| 10.0);
    for (n, row) in made.series.iter_mut().enumerate() {
        row.users_due = 2 * n as u64;
    }
    let analysis = analysed(&made);
    let text = &finding(&analysis, "not-steady").text;
    assert!(
        text.starts_with("no steady state: the load changes in phase all, from about "),
        "{text}"
    );
    assert!(!has_finding(&analysis, "steady-state"));
}

/// A closed population beside an open one begins again as often as the target lets it.
#[test]
fn sessions_that_begin_again_are_no_change_of_the_plan() {
    let mut made = Made::answering(60, |_| 10.0);
    for (n, row) in made.series.iter_mut().enumerate() {
        row.users_repeated = 2 * n as u64;
        row.users_due = 20 + row.users_repeated;
    }
    let analysis = analysed(&made);
    assert!(has_finding(&analysis, "steady-state"), "{:?}", analysis.findings);
    // Unless the plan changes its number of users.
    let beside = made.root.path().join("vary");
    let run = made.write_into(&beside, |info| info.phases[0].users_vary = true);
    let analysis = analyze(&run, &Question::default()).unwrap();
    let text = &finding(&analysis, "not-steady").text;
    assert!(text.contains("the number of users changes in phase all"), "{text}");
}

#[test]
fn a_target_that_grows_slower_is_reported_with_how_much() {
    let analysis = analysed(&Made::answering(120, |s| 10.0 + 10.0 * s / 120.0));
    let drift = analysis.trends.iter().find(|drift| drift.name == "response of request").unwrap();
    assert!(drift.is_shown && drift.change_low > 0.0);
    assert!(finding(&analysis, "not-steady").text.contains("request"));
    // The slope is 10 ms in 120 s, over what was left of them.
    let length_s = (analysis.end_ns - analysis.warm_up.cut_ns) as f64 / 1e9;
    let truth_ns = 10e6 / 120.0 * (length_s - 1.0);
    assert!(drift.change_low < truth_ns && truth_ns < drift.change_high, "{drift:?}");
    assert!(finding(&analysis, "trend").text.starts_with("response of request rises by"));
}

#[test]
fn connections_that_only_grow_are_a_leak() {
    let mut made = Made::answering(60, |_| 10.0);
    for (n, row) in made.series.iter_mut().enumerate() {
        row.connections = 5 + 2 * n as u64;
    }
    let leak = finding(&analysed(&made), "leak").clone();
    assert!(leak.text.starts_with("connections rises by"), "{}", leak.text);
    // As users do, so it is none.
    made.root = tempfile::tempdir().unwrap();
    for (n, row) in made.series.iter_mut().enumerate() {
        row.users = 5 + 2 * n as u64;
    }
    assert!(!has_finding(&analysed(&made), "leak"));
}

/// A shared pool has as many connections as were ever in use at once: a few more from time to time, and ever fewer.
#[test]
fn connections_of_a_pool_that_grows_by_its_peaks_are_no_leak() {
    let mut made = Made::answering(60, |_| 10.0);
    for (n, row) in made.series.iter_mut().enumerate() {
        let peaks = [0, 1, 2, 4, 7, 12, 21, 34, 50];
        row.connections = 5 + peaks.iter().filter(|&&at| at <= n).count() as u64;
    }
    let analysis = analysed(&made);
    assert!(!has_finding(&analysis, "leak") && !has_finding(&analysis, "trend"));
}

/// Two seconds without an answer, one second without one, one in which three in five fail.
fn failing() -> Made {
    let mut made = Made::answering(60, |_| 10.0);
    for row in &mut made.rows {
        let second = row.due_ns / SECOND;
        let place = row.user;
        match second {
            10 | 11 | 30 => row.outcome = Outcome::Unfinished,
            40 if place < 12 => row.outcome = Outcome::Timeout,
            41 if place < 8 => row.outcome = Outcome::Timeout,
            _ => {}
        }
    }
    made
}

#[test]
fn outages_give_times_between_failures_and_to_repair() {
    let analysis = analysed(&failing());
    let found = analysis.availability.as_ref().unwrap();
    let outages: Vec<_> = found
        .outages
        .iter()
        .map(|o| (o.start_ns / SECOND, o.end_ns / SECOND, o.due, o.failed))
        .collect();
    assert_eq!(outages, [(10, 12, 40, 0), (30, 31, 20, 0), (40, 41, 20, 12)]);
    assert_eq!((found.failures, found.first_failure_ns), (3, Some(10 * SECOND)));
    assert_eq!((found.up_ns, found.down_ns, found.idle_ns), (56 * SECOND, 4 * SECOND, 0));
    close(found.observed, 56.0 / 60.0, 1e-12);
    close(found.nines.unwrap(), 1.176, 1e-3);
    let seconds = |ns: Option<f64>| ns.unwrap() / 1e9;
    close(seconds(found.mtbf_ns.value), 56.0 / 3.0, 1e-9);
    // 112/χ²(0.975; 8) and 112/χ²(0.025; 6), 8/χ²(0.975; 6) and 8/χ²(0.025; 6) of printed tables.
    close(found.mtbf_ns.low / 1e9, 112.0 / 17.535, 1e-3);
    close(seconds(found.mtbf_ns.high), 112.0 / 1.237, 1e-3);
    let mttr = found.mttr_ns.as_ref().unwrap();
    close(seconds(mttr.value), 4.0 / 3.0, 1e-9);
    close(mttr.low / 1e9, 8.0 / 14.449, 1e-3);
    close(seconds(mttr.high), 8.0 / 1.237, 1e-3);
    let long_run = found.long_run.as_ref().unwrap();
    close(long_run.value.unwrap(), 56.0 / 60.0, 1e-9);
    assert!(long_run.low < 56.0 / 60.0 && long_run.high.unwrap() > 56.0 / 60.0);
    assert!(
        finding(&analysis, "down")
            .text
            .starts_with("down 3 times for 4 s in total, first after 10 s")
    );

    let strict = Question { down: 0.3, ..Question::default() };
    let made = failing();
    let analysis = analyze(&made.write(|_| ()), &strict).unwrap();
    assert_eq!(analysis.availability.unwrap().down_ns, 5 * SECOND);
}

#[test]
fn an_outage_to_the_end_was_not_repaired() {
    let mut made = Made::answering(60, |_| 10.0);
    for row in made.rows.iter_mut().filter(|row| row.due_ns >= 50 * SECOND) {
        row.outcome = Outcome::Refused;
    }
    let analysis = analysed(&made);
    let found = analysis.availability.as_ref().unwrap();
    assert_eq!((found.failures, found.down_ns, &found.mttr_ns), (1, 10 * SECOND, &None));
    assert!(finding(&analysis, "down").text.contains("never recovered"));
}

#[test]
fn requests_that_stay_unanswered_are_a_leak_and_no_change_of_load() {
    let mut made = Made::answering(60, |_| 10.0);
    for (second, row) in made.series.iter_mut().enumerate() {
        (row.users, row.in_flight) = (20 + second as u64, 1 + second as u64);
    }
    let analysis = analysed(&made);
    let leak = finding(&analysis, "leak");
    assert!(leak.text.ends_with("requests stay unanswered, and their users wait"), "{}", leak.text);
    assert!(analysis.findings.iter().all(|f| !f.text.contains("the load itself changes")),);
}

/// Fifty users, each 20 ms in flight and 80 ms pausing, begun evenly.
fn closed() -> Made {
    let mut made = Made::of(30);
    for user in 0..50 {
        let first_ns = user * 2 * MS;
        for cycle in 0..300 {
            let due_ns = first_ns + cycle * 100 * MS;
            made.rows.push(operation(user, due_ns, 20 * MS, Outcome::Ok));
        }
    }
    for row in &mut made.series {
        (row.users, row.in_flight) = (50, 10);
    }
    made
}

#[test]
fn the_laws_hold_where_counts_and_times_agree() {
    let analysis = analysed(&closed());
    let little = analysis.laws.little.as_ref().unwrap();
    close(little.product, 10.0, 0.01);
    close(little.per_s, 500.0, 0.01);
    assert_eq!(little.test.holds, Some(true));
    let law = analysis.laws.response.as_ref().unwrap();
    close(law.think_ns, 80e6, 0.01);
    close(law.law_ns, 20e6, 0.05);
    close(law.known, 1.0, 0.01);
    assert_eq!(law.test.holds, Some(true));
    let used = analysis.laws.utilisation.as_ref().unwrap();
    close(used.demand_ns, 0.1e9 / 500.0, 0.01);
    assert_eq!(finding(&analysis, "little").severity, Severity::Good);
}

#[test]
fn laws_that_the_counts_break_are_reported() {
    let mut made = closed();
    made.series.iter_mut().for_each(|row| row.in_flight = 14);
    let analysis = analysed(&made);
    assert_eq!(finding(&analysis, "little").severity, Severity::Warning);
    // Half of the users never do anything, or it is not in the record.
    made.root = tempfile::tempdir().unwrap();
    made.series.iter_mut().for_each(|row| row.users = 100);
    let analysis = analysed(&made);
    assert_eq!(analysis.laws.response.as_ref().unwrap().test.holds, None);
    assert_eq!(finding(&analysis, "response-law").severity, Severity::Note);
}

#[test]
fn a_law_of_few_operations_or_users_is_not_testable() {
    // Twenty operations of 10 ms a second are 0.2 in flight: a gauge of whole ones cannot contradict that.
    let analysis = analysed(&Made::answering(30, |_| 10.0));
    let little = analysis.laws.little.as_ref().unwrap();
    assert_eq!(little.test.holds, None);
    let found = finding(&analysis, "little");
    assert_eq!(found.severity, Severity::Note);
    assert!(found.text.starts_with("Little's law is not testable: "), "{}", found.text);
    // Many users, each with one operation that takes nearly the whole run: what crosses its ends is most of it.
    let mut made = Made::of(30);
    for user in 0..200 {
        made.rows.push(operation(user, user * MS, 25 * SECOND, Outcome::Ok));
    }
    made.series.iter_mut().for_each(|row| row.in_flight = 200);
    let little = analysed(&made).laws.little.unwrap();
    assert_eq!(little.test.holds, None, "{little:?}");
}

#[test]
fn laws_are_not_testable_in_a_ramp_of_users() {
    let made = closed();
    let run = made.write(|info| info.phases[0].kind = "closed-ramp".to_owned());
    let analysis = analyze(&run, &Question::default()).unwrap();
    let little = analysis.laws.little.as_ref().unwrap();
    assert_eq!(little.test.holds, None);
    assert_eq!(analysis.laws.response.as_ref().unwrap().test.holds, None);
    let found = finding(&analysis, "little");
    assert_eq!(found.severity, Severity::Note);
    let why = "the number of users changes in phase all";
    assert!(found.text.contains(why), "{}", found.text);
}

#[test]
fn users_with_several_operations_at_once_have_no_pauses_between_them() {
    let mut made = closed();
    let at_once = made.rows.clone();
    made.rows.extend(at_once);
    made.rows.sort_by_key(|row| row.done_ns);
    made.series.iter_mut().for_each(|row| row.in_flight = 20);
    let analysis = analysed(&made);
    let little = analysis.laws.little.as_ref().unwrap();
    assert_eq!(little.test.holds, Some(true));
    assert_eq!(analysis.laws.response.as_ref().unwrap().test.holds, None);
    let found = finding(&analysis, "response-law");
    let why = "users have several operations in flight at the same time";
    assert!(found.text.contains(why), "{}", found.text);
}

#[test]
fn sampled_rows_say_nothing_of_pauses() {
    let mut made = closed();
    let kept = made.rows.iter().step_by(2).map(|row| Measurement { weight: 2, ..*row });
    made.rows = kept.collect();
    let analysis = analysed(&made);
    assert_eq!(analysis.laws.response, None);
    close(analysis.laws.little.unwrap().product, 10.0, 0.02);
}

#[test]
fn windows_are_as_long_as_requested() {
    let made = Made::answering(60, |s| if s < 30.0 { 10.0 } else { 30.0 });
    let run = made.write(|_| ());
    let question =
        Question { window_ns: Some(20 * SECOND), cut_ns: Some(0), ..Question::default() };
    let analysis = analyze(&run, &question).unwrap();
    let request = &analysis.measures[0];
    let counts: Vec<u64> = request.windows.iter().map(|part| part.count).collect();
    assert_eq!(counts, [400, 400, 400]);
    let means: Vec<f64> = request.windows.iter().map(|part| part.mean_ns / 1e6).collect();
    close(means[0], 10.0, 0.02);
    close(means[1], 20.0, 0.02);
    close(means[2], 30.0, 0.02);
    assert!(has_finding(&analysis, "not-steady"));
}

#[test]
fn what_cannot_be_analysed_is_refused_with_a_reason() {
    let refused = |made: &Made, question: Question| {
        let root = tempfile::tempdir().unwrap();
        let made = Made {
            root,
            rows: made.rows.clone(),
            series: made.series.clone(),
            seconds: made.seconds,
        };
        analyze(&made.write(|_| ()), &question).unwrap_err()
    };
    let made = Made::answering(60, |_| 10.0);
    let ask = Question::default;
    let mut unknown = Made::answering(60, |_| 10.0);
    unknown.series.clear();
    assert!(matches!(refused(&unknown, ask()), AnalyzeError::NoSeries));
    let mut short = Made::answering(12, |_| 10.0);
    let error = refused(&short, ask());
    assert!(matches!(error, AnalyzeError::TooShort { seconds: 12, .. }));
    assert!(error.to_string().ends_with("use a longer run or phase"), "{error}");
    // It says nevertheless when the target failed.
    for row in short.rows.iter_mut().filter(|row| (6..9).contains(&(row.due_ns / SECOND))) {
        row.outcome = Outcome::Refused;
    }
    let error = refused(&short, ask()).to_string();
    let down = "; the target was down once for 3 s in total, first after 6 s";
    assert!(error.ends_with(down), "{error}");
    let error = refused(&made, Question { cut_ns: Some(50 * SECOND), ..ask() });
    assert!(matches!(error, AnalyzeError::TooLongSkip { seconds: 10 }));
    let error = refused(&made, Question { phase: Some("none".to_owned()), ..ask() });
    assert_eq!(error.to_string(), "the run has no phase \"none\"; its phases are all");
    for window_ns in [SECOND / 2, 40 * SECOND] {
        let error = refused(&made, Question { window_ns: Some(window_ns), ..ask() });
        assert!(matches!(error, AnalyzeError::Window { .. }), "{error}");
    }
}

#[test]
fn a_run_in_which_nothing_happened_gives_no_figures() {
    let analysis = analysed(&Made::of(30));
    assert_eq!(analysis.measures, []);
    assert_eq!(analysis.availability, None);
    assert_eq!(analysis.laws.little, None);
    assert!(!has_finding(&analysis, "down") && !has_finding(&analysis, "never-down"));
}

#[test]
fn a_killed_run_is_analysed_and_said_to_be_killed() {
    let made = Made::answering(40, |_| 10.0);
    let run = made.write(|_| ());
    std::fs::remove_file(Path::new(run.path()).join("summary.json")).unwrap();
    let analysis = analyze(&run, &Question::default()).unwrap();
    assert!(analysis.findings[0].text.contains("never judged"));
}
