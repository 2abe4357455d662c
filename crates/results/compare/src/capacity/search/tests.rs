use crate::capacity::TrialFigures;

use super::*;

fn bounds() -> Bounds {
    Bounds {
        from: 100.0,
        at_most: f64::INFINITY,
        growth: 2.0,
        within: 0.05,
        repeat: 3,
        steps: 100,
        is_whole: false,
        can_be_longer: false,
    }
}

/// Searches with known outcomes.
fn search(bounds: &Bounds, truth: &mut dyn FnMut(f64) -> Outcome) -> (Vec<Trial>, Ending) {
    let mut trials = Vec::new();
    loop {
        match next(bounds, &trials) {
            Next::End(ending) => return (trials, ending),
            Next::Try(load) => trials.push(Trial::new(load, truth(load))),
            Next::TryLonger(load) => unreachable!("no run at {load} can be longer"),
        }
    }
}

fn limit(limit: f64) -> impl FnMut(f64) -> Outcome {
    move |load| {
        if load <= limit { Outcome::Holds } else { Outcome::Breaks }
    }
}

fn loads(trials: &[Trial]) -> Vec<f64> {
    trials.iter().map(|trial| trial.load).collect()
}

/// The highest that holds and the lowest that does not.
fn bracket(trials: &[Trial]) -> (f64, f64) {
    let levels = Level::all(trials, 3);
    let bad = levels.iter().find(|level| level.verdict != Verdict::Holds).unwrap();
    let good = levels.iter().rev().find(|level| level.load < bad.load).unwrap();
    (good.load, bad.load)
}

#[test]
fn steps_go_up_then_between_then_again() {
    let (trials, ending) = search(&bounds(), &mut limit(730.0));
    assert_eq!(ending, Ending::Found);
    let expected = [
        100.0, 200.0, 400.0, 800.0, // up
        600.0, 700.0, 750.0, 725.0, // between
        725.0, 750.0, // again; two of three agree
        725.0, // the last word
    ];
    assert_eq!(loads(&trials), expected);
}

#[test]
fn the_bracket_holds_every_limit() {
    for n in 1..400 {
        let truth = 0.7 * f64::from(n).powf(1.5);
        let (trials, ending) = search(&bounds(), &mut limit(truth));
        assert_eq!(ending, Ending::Found, "{truth}");
        let (good, bad) = bracket(&trials);
        assert!(good <= truth && truth < bad && bad <= good * 1.051, "{good} {truth} {bad}");
    }
}

#[test]
fn whole_numbers_are_searched_down_to_one() {
    let whole = Bounds { is_whole: true, from: 8.0, within: 0.001, ..bounds() };
    for truth in 1..60 {
        let (trials, ending) = search(&whole, &mut limit(f64::from(truth)));
        assert_eq!(ending, Ending::Found);
        assert_eq!(bracket(&trials), (f64::from(truth), f64::from(truth + 1)));
        assert!(trials.iter().all(|trial| trial.load.fract() == 0.0));
    }
    let (trials, ending) = search(&whole, &mut limit(0.0));
    assert_eq!(ending, Ending::NoneHolds);
    assert_eq!(loads(&trials), [8.0, 4.0, 2.0, 1.0, 1.0]);
}

#[test]
fn holding_up_to_the_highest_load_is_no_knee() {
    let most = Bounds { at_most: 500.0, ..bounds() };
    let (trials, ending) = search(&most, &mut limit(1e9));
    assert_eq!(ending, Ending::AllHold);
    assert_eq!(loads(&trials), [100.0, 200.0, 400.0, 500.0, 500.0]);
}

#[test]
fn nothing_holds() {
    let (trials, ending) = search(&bounds(), &mut limit(0.0));
    assert_eq!(ending, Ending::NoneHolds);
    assert!(loads(&trials).iter().all(|&load| load > 0.0));
    assert!(trials.len() < 20);
}

#[test]
fn one_failure_by_chance_does_not_decide() {
    // The first run at 200/s is spoilt; the knee is at 730/s.
    let mut spoilt = true;
    let (trials, ending) = search(&bounds(), &mut |load| {
        if load == 200.0 && std::mem::take(&mut spoilt) {
            return Outcome::Breaks;
        }
        limit(730.0)(load)
    });
    assert_eq!(ending, Ending::Found);
    let (good, bad) = bracket(&trials);
    assert!(good <= 730.0 && 730.0 < bad && bad <= good * 1.051, "{good} {bad}");
}

#[test]
fn one_success_by_chance_does_not_decide() {
    let mut lucky = true;
    let (trials, _) = search(&bounds(), &mut |load| {
        if load == 800.0 && std::mem::take(&mut lucky) {
            return Outcome::Holds;
        }
        limit(730.0)(load)
    });
    let (good, bad) = bracket(&trials);
    assert!(good <= 730.0 && 730.0 < bad, "{good} {bad}");
}

#[test]
fn chance_near_the_limit_ends_all_the_same() {
    let mut rng = stats::rng::Rng::new(3, 0, stats::rng::Purpose::Choice);
    for _ in 0..200 {
        let (trials, ending) = search(&bounds(), &mut |load| {
            let holds = 1.0 / (1.0 + (load / 730.0).powi(20));
            if rng.unit() < holds { Outcome::Holds } else { Outcome::Breaks }
        });
        assert_eq!(ending, Ending::Found);
        assert!(trials.len() < 60, "{}", trials.len());
        let last = trials.last().unwrap();
        let (good, _) = bracket(&trials);
        assert_eq!((last.load, last.outcome), (good, Outcome::Holds));
        let (good, bad) = bracket(&trials);
        assert!(good > 350.0 && bad < 1500.0, "{good} {bad}");
    }
}

/// A search that found its load, with these outcomes of the runs that should confirm it.
fn confirming(outcomes: &[Outcome]) -> (Vec<Trial>, Ending) {
    let before = search(&bounds(), &mut limit(730.0)).0.len() - 1;
    let mut number = 0;
    search(&bounds(), &mut |load| {
        number += 1;
        match outcomes.get(number - 1 - before.min(number - 1)) {
            Some(&outcome) if number > before => outcome,
            _ => limit(730.0)(load),
        }
    })
}

#[test]
fn the_last_run_of_a_result_held() {
    use Outcome::{Breaks, Holds, Untrusted};
    let (once, ending) = confirming(&[Breaks, Holds]);
    assert_eq!((loads(&once)[10..].to_vec(), ending), (vec![725.0, 725.0], Ending::Found));
    // A load whose confirming runs fail twice does not hold, though most of its runs did.
    let (twice, ending) = confirming(&[Breaks, Breaks]);
    assert_eq!(ending, Ending::Found);
    let (good, bad) = bracket(&twice);
    assert!(good < 725.0 && bad <= 725.0, "{good} {bad}");
    let last = twice.last().unwrap();
    assert_eq!((last.load, last.outcome), (good, Holds));
    let (never, ending) = confirming(&[Untrusted, Untrusted]);
    assert_eq!((never.len(), ending), (12, Ending::Untrusted));
}

#[test]
fn an_untrusted_load_is_repeated_once_and_bounds_the_search() {
    let (trials, ending) = search(&bounds(), &mut |load| match load > 640.0 {
        true => Outcome::Untrusted,
        false => Outcome::Holds,
    });
    assert_eq!(ending, Ending::Untrusted);
    let (good, bad) = bracket(&trials);
    assert!(good <= 640.0 && 640.0 < bad && bad <= good * 1.051);
    assert_eq!(loads(&trials)[3..5], [800.0, 800.0]);
    let (trials, ending) = search(&bounds(), &mut |_| Outcome::Untrusted);
    assert_eq!(ending, Ending::Untrusted);
    assert!(trials.len() < 30);
}

#[test]
fn steps_are_bounded_and_an_interrupted_search_resumes() {
    let few = Bounds { steps: 6, ..bounds() };
    let (trials, ending) = search(&few, &mut limit(730.0));
    assert_eq!((trials.len(), ending), (6, Ending::OutOfSteps));
    let (all, _) = search(&bounds(), &mut limit(730.0));
    assert_eq!(next(&bounds(), &trials), Next::Try(all[6].load));
}

#[test]
fn a_target_that_does_not_come_back_ends_the_search() {
    let mut is_up = true;
    let mut answers = |load: f64| {
        is_up &= load <= 800.0;
        is_up
    };
    let mut trials = Vec::new();
    let ending = loop {
        let load = match next(&bounds(), &trials).wanted_run() {
            Ok(wanted) => wanted.load,
            Err(ending) => break ending,
        };
        let answered = answers(load);
        let outcome = if answered { Outcome::Holds } else { Outcome::Breaks };
        let figures = TrialFigures {
            per_s: if answered { load } else { 0.0 },
            in_flight: 1.0,
            service_ns: 1e6,
            p50_ns: 1,
            p50_is_bound: false,
            p99_ns: 1,
            p99_is_bound: false,
            error_share: 0.0,
        };
        trials.push(Trial { figures: Some(figures), ..Trial::new(load, outcome) });
    };
    assert_eq!(ending, Ending::Down);
    assert_eq!(loads(&trials), [100.0, 200.0, 400.0, 800.0, 1600.0, 800.0]);
    // Once it is up again, the search continues below the load that ended it.
    trials.truncate(while_up(&trials).len());
    assert_eq!(loads(&trials), [100.0, 200.0, 400.0, 800.0, 1600.0]);
}
