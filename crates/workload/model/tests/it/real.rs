//! Real recordings, where they are.

use testkit::needs::shared_data;

use crate::Space;

/// NASA's two months: 28 days of July and, joined to them without the days between, all of August.
#[test]
fn nasa_log_shows_day_week_join_and_silence() {
    let Some(path) = shared_data("logs/nasa-http-1995-requests-per-second.txt.xz") else {
        return;
    };
    let space = Space::new();
    let begin = model::clock_time("1995-07-01T00:00:00").unwrap();
    let made = model::from_counts(&path, 1, begin, &space.settings()).unwrap();
    let arrivals = &made.model.arrivals;
    assert_eq!((arrivals.users, arrivals.span_s), (3_461_610, 5_059_950.0));
    let second = &arrivals.scales[0];
    assert!(second.p_dispersion < 1e-9 && second.index > 1.5, "{second:?}");
    let cycle = arrivals.cycle.as_ref().unwrap();
    assert!(cycle.day.p < 1e-9 && cycle.week.unwrap().p < 0.01);
    assert_eq!(cycle.rates.len(), 7 * 24);
    // July ends at 13:32, August begins at 0:00.
    let broken = cycle.broken.as_ref().unwrap();
    assert!(
        (27..=30).contains(&broken.day) && (9.5..=13.5).contains(&broken.hours.abs()),
        "{broken:?}"
    );
    // The server was switched off for a hurricane.
    let longest = &arrivals.silences[0];
    assert_eq!((longest.from_s, longest.length_s), (2_435_065, 135_851));
    let estimates = &arrivals.hurst.as_ref().unwrap().estimates;
    let wavelet = estimates.iter().find(|e| e.method == "wavelet" && e.about_cycle).unwrap();
    let low = wavelet.low.unwrap();
    let high = wavelet.high.unwrap();
    assert!(0.5 < low && low < wavelet.h && wavelet.h < high && high < 1.0, "{wavelet:?}");
}
