use super::*;
use crate::sample::{self, SECOND};

/// A phase of 60 s of this kind, in each second of which `due` users were due and `users` are present at the end.
fn figures(kind: &str, due: impl Fn(u64) -> u64, users: impl Fn(u64) -> u64) -> Figures {
    let mut info = sample::info();
    info.phases = vec![sample::phase("load", kind, 0, 60, 6_000.0)];
    let row = |second: u64| SeriesRow {
        start_ns: second * SECOND,
        end_ns: (second + 1) * SECOND,
        users_due: due(second),
        users: users(second),
        ..SeriesRow::default()
    };
    Figures::new(info, (0..60).map(row).collect(), Vec::new())
}

/// The sign that the load of such a run is not sustained, with errors of up to 1 %.
fn grows(figures: &Figures) -> Option<String> {
    unsustained(figures, 0.01, Aim::Finished)
}

/// Users that scatter by ±2 around a line.
fn around(start: u64, per_second: f64) -> impl Fn(u64) -> u64 {
    move |second| start + (second as f64 * per_second) as u64 + second * 7 % 5
}

#[test]
fn users_that_stay_as_many_do_not_grow() {
    assert_eq!(grows(&figures("rate", |_| 100, around(200, 0.0))), None);
    assert_eq!(grows(&figures("poisson", |s| 90 + s * 13 % 21, around(200, 0.0))), None);
}

/// 100 come each second, and 95 leave.
#[test]
fn users_that_come_faster_than_they_leave_grow() {
    for kind in ["rate", "poisson"] {
        let found = grows(&figures(kind, |_| 100, around(0, 5.0)));
        let text = found.expect("users grow");
        assert!(
            text.starts_with("users present grew by 145 in the second half of load:"),
            "{text}"
        );
    }
}

/// Connect and stay: 10 come each second, and nobody leaves.
#[test]
fn users_that_are_to_stay_may_grow() {
    let staying = figures("rate", |_| 10, |second| 10 * (second + 1));
    assert!(grows(&staying).is_some());
    assert_eq!(unsustained(&staying, 0.01, Aim::Present), None);
}

/// A closed population that rises beside them: 10 come each second and leave soon, and 5 more are there.
#[test]
fn users_that_the_plan_adds_may_grow() {
    let mut rising = figures("rate", |_| 15, around(0, 5.0));
    assert!(grows(&rising).is_some());
    rising.info.phases[0].users_vary = true;
    assert_eq!(grows(&rising), None);
    // What fails late is late all the same.
    for row in &mut rising.series {
        row.operations_ended = 100;
        row.errors = if row.start_ns < 48 * SECOND { 0 } else { 4 };
    }
    assert!(grows(&rising).is_some_and(|text| text.starts_with("errors began late")));
}

#[test]
fn growth_that_is_small_is_none() {
    // 2 of 40 in half a minute, and 30 of 1,000.
    assert_eq!(grows(&figures("rate", |_| 100, around(38, 0.07))), None);
    assert_eq!(grows(&figures("rate", |_| 100, around(1_000, 1.0))), None);
}

#[test]
fn users_of_a_rate_that_rises_may_grow() {
    assert_eq!(grows(&figures("rate", |s| 100 + 10 * s, around(0, 5.0))), None);
    // By less than chance moves counts, they may not.
    assert!(grows(&figures("rate", |s| 100 + s / 30, around(0, 5.0))).is_some());
}

#[test]
fn a_closed_population_does_not_grow() {
    assert_eq!(grows(&figures("closed", |_| 0, around(0, 5.0))), None);
}

#[test]
fn users_that_stopped_growing_before_the_second_half_do_not_grow() {
    let users = |second: u64| 10 * second.min(20) + second % 3;
    assert_eq!(grows(&figures("rate", |_| 100, users)), None);
}

/// A minute in each second of which 100 operations end, of which these fail.
fn failing(failed: impl Fn(u64) -> u64) -> Figures {
    let mut figures = figures("rate", |_| 100, around(20, 0.0));
    for (second, row) in figures.series.iter_mut().enumerate() {
        // Connections and messages, of which no errors are counted.
        row.done = 5_000;
        row.operations_ended = 100;
        row.errors = failed(second as u64);
    }
    figures
}

#[test]
fn errors_that_begin_late_and_last_are_not_sustained() {
    let late = failing(|second| if second < 48 { 0 } else { 4 });
    let text = grows(&late).expect("errors began late");
    let expected =
        "errors began late in load and lasted to its end: 3.20 % in its last quarter, 0 % before";
    assert_eq!(text, expected);
    // They do as well if users are to stay.
    assert!(unsustained(&late, 0.01, Aim::Present).is_some());
    // As many as the scenario allows.
    assert_eq!(unsustained(&late, 0.05, Aim::Finished), None);
}

#[test]
fn errors_of_a_while_or_of_all_the_time_do_not_begin_late() {
    assert_eq!(grows(&failing(|second| if second < 48 { 4 } else { 0 })), None);
    // They are over before the end.
    assert_eq!(grows(&failing(|second| if (46..52).contains(&second) { 30 } else { 0 })), None);
    assert_eq!(grows(&failing(|second| 2 + second % 2)), None);
    // A single second, and one by chance.
    assert_eq!(grows(&failing(|second| if second == 59 { 30 } else { 0 })), None);
    assert_eq!(grows(&failing(|second| u64::from(second % 15 == 14) * 2)), None);
}
