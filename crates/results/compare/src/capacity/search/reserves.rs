//! Searches at targets that deceive short runs, and at those for which load is not the cause.

use super::super::{LONGER_TIMES, TrialFigures, TrialThreshold};
use super::*;

/// Seconds of a run.
const RUN_S: f64 = 15.0;

fn bounds() -> Bounds {
    Bounds {
        from: 100.0,
        at_most: f64::INFINITY,
        growth: 2.0,
        within: 0.05,
        repeat: 3,
        steps: 60,
        is_whole: false,
        can_be_longer: true,
    }
}

/// Searches at a target; `run` says how a run of this load and length in seconds ends.
fn search(bounds: &Bounds, run: impl Fn(f64, f64) -> Trial) -> (Vec<Trial>, Ending) {
    let mut trials = Vec::new();
    loop {
        let trial = match next(bounds, &trials) {
            Next::Try(load) => run(load, RUN_S),
            Next::TryLonger(load) => {
                Trial { is_longer: true, ..run(load, RUN_S * LONGER_TIMES as f64) }
            }
            Next::End(ending) => return (trials, ending),
        };
        trials.push(trial);
    }
}

/// The highest load that holds.
fn good(trials: &[Trial]) -> f64 {
    let levels = Level::all(trials, 3);
    levels.iter().take_while(|level| level.verdict == Verdict::Holds).last().unwrap().load
}

/// A limit of 300 a second with 600 tokens in reserve, of which a run may use up some before more than 1 % of its requests are
/// refused. 303 a second are sustained.
fn bucket(load: f64, seconds: f64) -> Trial {
    let refused = ((load - 300.0) * seconds - 600.0).max(0.0);
    let outcome = match refused < 0.01 * load * seconds {
        true => Outcome::Holds,
        false => Outcome::Breaks,
    };
    Trial::new(load, outcome)
}

#[test]
fn a_reserve_that_lasts_for_a_run_is_no_capacity() {
    let (trials, ending) = search(&Bounds { can_be_longer: false, ..bounds() }, bucket);
    assert_eq!(ending, Ending::Found);
    assert!(good(&trials) >= 325.0, "{}", good(&trials));

    let (trials, ending) = search(&bounds(), bucket);
    assert_eq!(ending, Ending::Found);
    assert!((290.0..=314.0).contains(&good(&trials)), "{}", good(&trials));
    let last = trials.last().unwrap();
    assert!(last.is_longer && last.outcome == Outcome::Holds && last.load == good(&trials));
    // After the first longer run that broke there are no others.
    let first = trials.iter().position(|trial| trial.is_longer).unwrap();
    assert!(trials[first..].iter().all(|trial| trial.is_longer));
    assert!(trials.len() < 30, "{}", trials.len());
}

#[test]
fn the_highest_load_is_confirmed_by_a_longer_run_too() {
    let most = Bounds { at_most: 325.0, ..bounds() };
    let (trials, ending) = search(&most, bucket);
    assert_eq!(ending, Ending::Found);
    assert!(good(&trials) <= 314.0, "{}", good(&trials));
    let low = Bounds { at_most: 300.0, ..bounds() };
    let (trials, ending) = search(&low, bucket);
    assert_eq!(ending, Ending::AllHold);
    assert!(trials.last().unwrap().is_longer);
}

/// A run of which a percentile has this time in milliseconds, with a limit of 100 ms.
fn timed(load: f64, seconds: f64, time_ms: f64) -> Trial {
    let margin = (time_ms / 100.0).ln();
    let outcome = match margin < 0.0 {
        true => Outcome::Holds,
        false => Outcome::Breaks,
    };
    let threshold = TrialThreshold {
        text: "p99(page) < 100ms".to_owned(),
        shown: format!("{time_ms:.0} ms"),
        passed: margin < 0.0,
        margin_ends: Some((margin - 0.1, margin + 0.1)),
        operations: (load * seconds) as u64,
        operations_min: 299,
    };
    let figures = TrialFigures {
        per_s: load,
        in_flight: 1.0,
        service_ns: 1e6,
        p50_ns: 1,
        p50_is_bound: false,
        p99_ns: 1,
        p99_is_bound: false,
        error_share: 0.0,
    };
    Trial {
        margins: vec![Some(margin)],
        thresholds: vec![threshold],
        figures: Some(figures),
        ..Trial::new(load, outcome)
    }
}

/// It stops for 0.2 s every few seconds.
#[test]
fn a_target_that_fails_alike_at_lower_loads_is_not_searched_on() {
    let (trials, ending) = search(&bounds(), |load, seconds| timed(load, seconds, 190.0));
    assert_eq!(ending, Ending::LoadIsNotTheCause);
    let loads: Vec<f64> = trials.iter().map(|trial| trial.load).collect();
    assert_eq!(loads, [100.0, 50.0, 25.0]);
    // A target that is better at lower loads is.
    let (trials, ending) = search(&bounds(), |load, seconds| timed(load, seconds, load * 3.0));
    assert_eq!(ending, Ending::Found);
    assert!((32.0..34.0).contains(&good(&trials)), "{}", good(&trials));
}

#[test]
fn no_rate_is_tried_with_too_few_requests_for_a_percentile() {
    let run = |load: f64, seconds| timed(load, seconds, 101.0 * load.powf(0.3));
    let (trials, ending) = search(&bounds(), run);
    assert_eq!(ending, Ending::NoneHolds);
    assert!(trials.iter().all(|trial| trial.load * RUN_S >= 299.0), "{trials:?}");
    // Of users that are fewer each makes more requests.
    let users = Bounds { is_whole: true, ..bounds() };
    let (trials, _) = search(&users, run);
    assert!(trials.iter().any(|trial| trial.load == 1.0), "{trials:?}");
}
