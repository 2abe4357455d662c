use plan::MeasureId;
use record::Outcome;

use super::*;
use crate::sample::{self, MS, REQUEST, US, fail, figures, succeed};

fn measure(stat: Stat, measure: Option<u16>, basis: Basis, phase: Option<usize>) -> Figure {
    Figure::Measure { stat, measure: measure.map(MeasureId), basis, phase }
}

fn request(stat: Stat) -> Figure {
    measure(stat, Some(REQUEST as u16), Basis::Response, None)
}

#[track_caller]
fn check(figures: &Figures, figure: Figure, limit: f64, passed: bool, shown: &str) {
    let comparison = Comparison::Less;
    let threshold = Threshold { text: "it".to_owned(), figure, comparison, limit };
    let result = evaluate(figures, &threshold);
    assert_eq!((result.passed, result.shown.as_str()), (passed, shown));
}

#[test]
fn every_figure_has_its_value_and_unit() {
    let mut figures = figures();
    figures.series[0].users_connected = 40;
    fail(&mut figures, REQUEST, Outcome::Timeout, 60);
    fail(&mut figures, REQUEST, Outcome::Unfinished, 3);
    check(&figures, Figure::Connected, 1.0, true, "99 %");
    check(&figures, Figure::Users, 6000.0, false, "6,000");
    check(&figures, Figure::Refused, 1.0, true, "0");
    check(&figures, request(Stat::Count), 6061.0, true, "6,060");
    check(&figures, request(Stat::Rate), 101.0, true, "100/s");
    check(&figures, request(Stat::Errors), 60.0, false, "60");
    check(&figures, request(Stat::ErrorRate), 0.01, true, "0.990 %");
    check(&figures, request(Stat::SuccessRate), 0.99, false, "99.01 %");
    check(&figures, request(Stat::Mean), 10.1e6, true, "10.0 ms");
    check(&figures, request(Stat::Min), 9e6, false, "10.0 ms");
    check(&figures, request(Stat::Max), 11e6, true, "10.0 ms");
    check(&figures, request(Stat::Quantile(0.98)), 11e6, true, "10.0 ms");
    let basis = |basis| measure(Stat::Quantile(0.5), Some(REQUEST as u16), basis, None);
    check(&figures, basis(Basis::Service), 9.999e6, true, "9.98 ms");
    check(&figures, basis(Basis::Lag), 21e3, true, "20.0 µs");
}

#[test]
fn what_succeeded_is_counted_by_itself() {
    let mut figures = figures();
    fail(&mut figures, REQUEST, Outcome::Timeout, 60);
    fail(&mut figures, REQUEST, Outcome::Status, 120);
    let succeeded = |stat| measure(stat, Some(REQUEST as u16), Basis::Succeeded, None);
    check(&figures, request(Stat::Count), 6_181.0, true, "6,180");
    check(&figures, succeeded(Stat::Count), 6_001.0, true, "6,000");
    check(&figures, request(Stat::Rate), 103.0, true, "102/s");
    check(&figures, succeeded(Stat::Rate), 101.0, true, "100/s");
}

#[test]
fn none_succeeded_where_all_failed() {
    let mut figures = Figures::new(sample::info(), vec![sample::row(0)], Vec::new());
    fail(&mut figures, REQUEST, Outcome::Status, 120);
    let succeeded = |stat| measure(stat, Some(REQUEST as u16), Basis::Succeeded, None);
    check(&figures, succeeded(Stat::Count), 1.0, true, "0");
    check(&figures, succeeded(Stat::Rate), 1.0, true, "0/s");
}

#[test]
fn refused_users_are_not_connected() {
    let mut figures = figures();
    figures.series[0].users_started = 40;
    figures.series[0].users_refused = 60;
    figures.series[0].users_connected = 40;
    check(&figures, Figure::Connected, 1.0, true, "99 %");
}

#[test]
fn a_user_who_restarts_is_counted_once() {
    let mut figures = figures();
    figures.series.truncate(1);
    let row = &mut figures.series[0];
    row.users_started = 160;
    row.users_repeated = 156;
    row.users_connected = 4;
    check(&figures, Figure::Connected, 1.01, true, "100 %");
    check(&figures, Figure::Users, 5.0, true, "4");
    // One of them never got a file, and tried five times.
    let row = &mut figures.series[0];
    row.users_started = 155;
    row.users_repeated = 156;
    row.users_refused = 5;
    row.users_connected = 3;
    check(&figures, Figure::Connected, 1.0, true, "75 %");
    check(&figures, Figure::Users, 4.0, true, "3");
}

#[test]
fn what_was_not_measured_fails() {
    let mut info = sample::info();
    info.ended_ns = 0;
    let figures = Figures::new(info, Vec::new(), Vec::new());
    let stats = [Stat::Rate, Stat::Errors, Stat::ErrorRate, Stat::Max, Stat::Quantile(0.5)];
    for stat in stats {
        check(&figures, request(stat), 1e12, false, "nothing measured");
    }
    check(&figures, Figure::Connected, 2.0, false, "nothing measured");
    let beyond = measure(Stat::Max, Some(99), Basis::Response, Some(9));
    check(&figures, beyond, 1e12, false, "nothing measured");
    let mixed = measure(Stat::Max, None, Basis::Response, None);
    check(&figures, mixed, 1e12, false, "nothing measured");
}

/// Counts and rates of what nobody began say nothing; that something must not happen can be said of them.
#[test]
fn counts_of_nothing_are_no_result() {
    let mut info = sample::info();
    for (name, kind) in [
        ("GET /b", "request"),
        ("redirects", "redirect"),
        ("said", "message"),
        ("said.duplicated", "message"),
        ("said.lost", "message"),
        ("said.out_of_order", "message"),
    ] {
        let measure = record::schema::MeasureInfo::new(name, kind);
        info.measures.push(measure);
    }
    let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 6000, MS, 0);
    let judged = |figures: &Figures, text: &str| {
        let names = crate::RunNames::of(&figures.info);
        let result = evaluate(figures, &names.names().threshold(text).unwrap());
        (result.passed, result.shown)
    };
    let none = (false, "nothing measured".to_owned());
    let zero = (true, "0".to_owned());
    for text in ["count(GET /b) < 10", "rate(GET /b) < 100/s", "count(said) < 10"] {
        assert_eq!(judged(&figures, text), none, "{text}");
    }
    for text in ["count(GET /b) == 0", "count(GET /b) < 1", "count(redirects) < 10"] {
        assert_eq!(judged(&figures, text), zero, "{text}");
    }
    // Nobody received a message, so that nothing is known of those that got lost.
    assert_eq!(judged(&figures, "count(said.lost) == 0"), none);
    succeed(&mut figures, 0, REQUEST + 3, 5, MS, 0);
    assert_eq!(judged(&figures, "count(said.lost) < 3"), zero);
    // Operations that began and were not answered have a rate.
    fail(&mut figures, REQUEST + 1, Outcome::Unfinished, 5);
    let rate = judged(&figures, "rate(GET /b) < 100/s");
    assert_eq!(rate, (true, "0/s".to_owned()));
}

/// Two seconds of load and two of drain: 10 of 30 that were due began in time, 5 in the drain.
#[test]
fn offered_and_begun_are_of_the_time_of_load() {
    let mut info = sample::info();
    info.ended_ns = 4 * sample::SECOND;
    info.phases[0].end_ns = 2 * sample::SECOND;
    let mut figures = Figures::new(info, Vec::new(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 15, MS, 0);
    figures.begun = vec![0, 15];
    figures.never_begun = vec![record::schema::NeverBegun {
        measure: REQUEST as u16,
        why: record::schema::WhyNot::Busy,
        operations: 20,
    }];
    figures.add_begun(0, REQUEST, 10);
    figures.add_begun(1, REQUEST, 5);
    check(&figures, request(Stat::Offered), 16.0, true, "15.0/s");
    check(&figures, request(Stat::Begun), 5.1, true, "5.00/s");
    // What was answered in the drain does not count, nor does its time.
    figures.add_drained(REQUEST, "ok", 5);
    check(&figures, request(Stat::Rate), 5.1, true, "5.00/s");
    let of_phase = |stat| measure(stat, Some(REQUEST as u16), Basis::Response, Some(0));
    check(&figures, of_phase(Stat::Begun), 5.1, true, "5.00/s");
    let unknown = "unknown of a phase";
    check(&figures, of_phase(Stat::Offered), 1e9, false, unknown);
    let none = measure(Stat::Begun, Some(0), Basis::Response, None);
    check(&figures, none, 1e9, false, "nothing measured");
}

#[test]
fn fast_failures_are_named_beside_a_percentile() {
    let mut figures = Figures::new(sample::info(), vec![sample::row(0)], Vec::new());
    succeed(&mut figures, 0, REQUEST, 40, 400 * MS, 0);
    let cell = figures.cell_mut(0, REQUEST).unwrap();
    cell.failed_response.record_n(2 * MS, 50);
    cell.failed_response.record_n(900 * MS, 10);
    let p = |share| request(Stat::Quantile(share));
    check(&figures, p(0.4), 1e9, true, "2.00 ms, 50 % failed sooner");
    check(&figures, p(0.8), 1e9, true, "400 ms, 50 % failed sooner");
    check(&figures, p(0.99), 1e9, true, "900 ms, 60 % failed sooner");
    let succeeded = measure(Stat::Quantile(0.8), Some(REQUEST as u16), Basis::Succeeded, None);
    check(&figures, succeeded, 1e9, true, "400 ms");
}

#[test]
fn checks_that_never_failed_have_no_errors() {
    let mut info = sample::info();
    info.measures[REQUEST].kind = "check".to_owned();
    let figures = Figures::new(info, Vec::new(), Vec::new());
    check(&figures, request(Stat::Errors), 1.0, true, "0");
    check(&figures, request(Stat::ErrorRate), 0.01, true, "0 %");
    check(&figures, request(Stat::SuccessRate), 1.01, true, "100 %");
}

#[test]
fn phases_are_kept_separate() {
    let mut info = sample::info();
    info.phases = vec![
        sample::phase("ramp", "rate", 0, 20, 6000.0),
        sample::phase("hold", "hold", 20, 60, 0.0),
    ];
    let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 1000, 10 * MS, 0);
    succeed(&mut figures, 1, REQUEST, 1000, 30 * MS, 20 * US);
    let p98 = |phase| measure(Stat::Quantile(0.98), Some(1), Basis::Response, phase);
    check(&figures, p98(Some(0)), 11e6, true, "10.0 ms");
    check(&figures, p98(Some(1)), 11e6, false, "30.0 ms");
    check(&figures, p98(None), 11e6, false, "30.0 ms");
    let rate = |phase| measure(Stat::Rate, Some(1), Basis::Response, phase);
    check(&figures, rate(Some(0)), 51.0, true, "50.0/s");
    check(&figures, rate(Some(1)), 26.0, true, "25.0/s");
    check(&figures, rate(None), 34.0, true, "33.3/s");
}

#[test]
fn all_together_is_of_requests() {
    let mut info = sample::info();
    for (name, kind) in [("update", "message"), ("purchase", "transaction")] {
        info.measures.push(record::schema::MeasureInfo::new(name, kind));
    }
    let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
    succeed(&mut figures, 0, 0, 100, MS, 0);
    succeed(&mut figures, 0, REQUEST, 99, MS, 0);
    fail(&mut figures, REQUEST, Outcome::Status, 1);
    succeed(&mut figures, 0, 2, 1_000_000, MS, 0);
    succeed(&mut figures, 0, 3, 1_000, MS, 0);
    let rate = measure(Stat::ErrorRate, None, Basis::Response, None);
    check(&figures, rate, 0.02, true, "1.00 %");
}

/// Two measures of requests and one of handshakes: their times are merged before a percentile is taken, and
/// messages, connections and transactions are none of them.
#[test]
fn times_of_no_measure_are_those_of_all_requests() {
    let mut info = sample::info();
    info.measures.truncate(REQUEST + 1);
    for (name, kind) in [
        ("cart", "request"),
        ("handshake", "handshake"),
        ("update", "message"),
        ("purchase", "transaction"),
    ] {
        info.measures.push(record::schema::MeasureInfo::new(name, kind));
    }
    let mut figures = Figures::new(info, vec![sample::row(0)], Vec::new());
    succeed(&mut figures, 0, 0, 5_000, 900 * MS, 0);
    succeed(&mut figures, 0, REQUEST, 60, 10 * MS, MS);
    succeed(&mut figures, 0, 2, 30, 20 * MS, 0);
    succeed(&mut figures, 0, 3, 5, 30 * MS, 0);
    succeed(&mut figures, 0, 4, 5_000, 900 * MS, 0);
    succeed(&mut figures, 0, 5, 5_000, 900 * MS, 0);
    let all = |stat, basis| measure(stat, None, basis, None);
    let response = |stat| all(stat, Basis::Response);
    check(&figures, response(Stat::Min), 11e6, true, "10.0 ms");
    check(&figures, response(Stat::Max), 31e6, true, "30.0 ms");
    // 60 × 10, 30 × 20 and 5 × 30 ms.
    check(&figures, response(Stat::Mean), 15e6, true, "14.2 ms");
    let p = |percent: f64| response(Stat::Quantile(percent / 100.0));
    check(&figures, p(60.0), 11e6, true, "10.0 ms");
    check(&figures, p(90.0), 21e6, true, "20.0 ms");
    check(&figures, p(99.0), 31e6, true, "30.0 ms");
    check(&figures, all(Stat::Min, Basis::Service), 10e6, true, "9.00 ms");
    check(&figures, all(Stat::Max, Basis::Lag), 1.1e6, true, "1.00 ms");
    // Five more were never answered: of 100, the slowest are only known to have taken longer.
    figures.cell_mut(0, 2).unwrap().unanswered.record_n(25 * MS, 5);
    check(&figures, p(90.0), 21e6, true, "20.0 ms");
    check(&figures, p(92.0), 31e6, true, "30.0 ms");
    check(&figures, response(Stat::Max), 31e6, true, "30.0 ms");
    figures.cell_mut(0, REQUEST).unwrap().unanswered.record_n(1_000 * MS, 5);
    check(&figures, p(99.0), 2e9, false, "≥ 1.00 s");
    check(&figures, all(Stat::Quantile(0.99), Basis::Succeeded), 31e6, true, "30.0 ms");
}

#[test]
fn percentiles_among_unanswered_operations_are_bounds() {
    let mut figures = Figures::new(sample::info(), vec![sample::row(0)], Vec::new());
    succeed(&mut figures, 0, REQUEST, 54, 400 * MS, 0);
    let cell = figures.cell_mut(0, REQUEST).unwrap();
    cell.unanswered.record_n(1_000 * MS, 46);
    check(&figures, request(Stat::Quantile(0.5)), 1.1e9, true, "400 ms");
    // It may be below the limit or not, so nothing shows that it holds.
    check(&figures, request(Stat::Quantile(0.99)), 1.1e9, false, "≥ 1.00 s");
    check(&figures, request(Stat::Max), 0.9e9, false, "≥ 1.00 s");
    check(&figures, request(Stat::Mean), 1e9, false, "≥ 676 ms");
    let succeeded = measure(Stat::Quantile(0.99), Some(REQUEST as u16), Basis::Succeeded, None);
    check(&figures, succeeded, 1.1e9, true, "400 ms");
    let above = Threshold {
        text: "it".to_owned(),
        figure: request(Stat::Quantile(0.99)),
        comparison: Comparison::Greater,
        limit: 0.9e9,
    };
    assert!(evaluate(&figures, &above).passed);
}

#[test]
fn failures_that_were_answered_are_among_the_times() {
    let mut figures = Figures::new(sample::info(), vec![sample::row(0)], Vec::new());
    succeed(&mut figures, 0, REQUEST, 40, 400 * MS, 0);
    let cell = figures.cell_mut(0, REQUEST).unwrap();
    cell.failed_response.record_n(2 * MS, 60);
    let shown = "2.00 ms, 60 % failed sooner";
    check(&figures, request(Stat::Quantile(0.5)), 1e9, true, shown);
    check(&figures, request(Stat::Max), 1e9, true, "400 ms");
}

#[test]
fn a_value_beyond_its_limit_never_reads_like_it() {
    assert_eq!(shown(Unit::Nanoseconds, 250_049_000.0, 250e6), "250.05 ms");
    assert_eq!(shown(Unit::Nanoseconds, 250e6, 250e6), "250 ms");
    assert_eq!(shown(Unit::Share, 0.998_999, 0.999), "99.8999 %");
    assert_eq!(shown(Unit::PerSecond, 249.9, 250.0), "249.9/s");
}

#[test]
fn sessions_have_figures() {
    let mut figures = figures();
    let row = &mut figures.series[0];
    (row.users_finished, row.users_failed, row.users_stopped) = (40, 54, 6);
    // Of those that were cut off nothing is known.
    let row = &mut figures.series[1];
    (row.users_finished, row.users_cut) = (90, 10);
    let of = |stat, basis| Figure::Sessions { stat, basis, phase: None };
    let all = |stat| of(stat, Basis::Response);
    check(&figures, all(Stat::Count), 6_000.0, true, "5,990");
    check(&figures, of(Stat::Count, Basis::Succeeded), 6_000.0, true, "5,930");
    check(&figures, all(Stat::Errors), 60.0, false, "60");
    check(&figures, all(Stat::ErrorRate), 0.02, true, "1.00 %");
    check(&figures, all(Stat::Rate), 101.0, true, "99.8/s");
    check(&figures, all(Stat::Begun), 101.0, true, "100/s");
    check(&figures, all(Stat::Quantile(0.5)), 3e9, false, "nothing measured");
    let mut finished = LogHistogram::new();
    finished.record_n(2_000 * MS, 100);
    let mut unfinished = LogHistogram::new();
    unfinished.record_n(3_000 * MS, 60);
    figures.add_session_times(0, &finished, &unfinished);
    check(&figures, all(Stat::Quantile(0.5)), 3e9, true, "2.00 s");
    check(&figures, all(Stat::Quantile(0.99)), 5e9, false, "≥ 3.00 s");
    check(&figures, of(Stat::Quantile(0.99), Basis::Succeeded), 5e9, true, "2.00 s");
    let none = Figures::new(sample::info(), Vec::new(), Vec::new());
    check(&none, all(Stat::ErrorRate), 0.01, false, "nothing measured");
}

/// 60 requests succeeded, and 54 users then could not compute a value. Whether conditions hold is counted apart.
#[test]
fn what_failed_of_itself_is_among_all_errors() {
    let mut info = sample::info();
    info.measures.truncate(REQUEST + 1);
    for (name, kind) in [("steps", "step"), ("holds", "check")] {
        info.measures.push(record::schema::MeasureInfo::new(name, kind));
    }
    let mut figures = Figures::new(info, vec![sample::row(0)], Vec::new());
    succeed(&mut figures, 0, REQUEST, 60, MS, 0);
    fail(&mut figures, 2, Outcome::Step, 54);
    fail(&mut figures, 3, Outcome::Check, 7);
    fail(&mut figures, 3, Outcome::Script, 2);
    let all = |stat| measure(stat, None, Basis::Response, None);
    check(&figures, all(Stat::Errors), 1.0, false, "56");
    check(&figures, all(Stat::ErrorRate), 0.01, false, "48.28 %");
    check(&figures, all(Stat::SuccessRate), 0.99, true, "51.72 %");
    check(&figures, all(Stat::Count), 61.0, true, "60");
    check(&figures, request(Stat::Errors), 1.0, true, "0");
}

#[test]
fn a_check_that_nobody_came_to_says_nothing() {
    let mut info = sample::info();
    info.measures[REQUEST].kind = "check".to_owned();
    info.steps = vec![REQUEST as u16];
    let mut figures = Figures::new(info, vec![sample::row(0)], Vec::new());
    check(&figures, request(Stat::Errors), 1.0, false, "nothing measured");
    check(&figures, request(Stat::ErrorRate), 0.01, false, "nothing measured");
    figures.begun = vec![0, 5];
    check(&figures, request(Stat::Errors), 1.0, true, "0");
}
