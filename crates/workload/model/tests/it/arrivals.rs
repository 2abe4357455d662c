//! Arrivals of a log as a whole.

use model::ArrivalProcess;
use stats::dist::Dist;
use stats::rng::{Purpose, Rng};

use crate::{Space, line};

const HOUR_S: f64 = 3_600.0;

/// A log of an hour of a Poisson process, a user of its own for each session.
fn poisson() -> String {
    let mut rng = Rng::new(3, 0, Purpose::Arrivals);
    let mut log = String::new();
    let mut at = 0.0;
    let mut user = 0_u32;
    while at < HOUR_S {
        let address = std::net::Ipv4Addr::from(0x0A00_0000 + user).to_string();
        log += &line(at as u64, &address, "GET /");
        user += 1;
        at += Dist::Exponential { mean: 2.0 }.sample(&mut rng);
    }
    log
}

#[test]
fn a_session_long_after_all_others_leaves_arrivals_as_they_were() {
    let space = Space::new();
    let settings = space.settings();
    let without = space.model(poisson(), &settings).unwrap().model;
    assert_eq!(without.arrivals.process, ArrivalProcess::Poisson);
    let late = line(12 * 3_600, "192.0.2.1", "GET /");
    let made = space.model(poisson() + &late, &settings).unwrap().model;
    let stragglers = made.arrivals.stragglers.unwrap();
    assert_eq!(stragglers.users, 1);
    assert!((stragglers.after_s as f64 - 11.0 * HOUR_S).abs() < 60.0, "{stragglers:?}");
    // Its request is one of the model's.
    assert_eq!(made.log.requests, without.log.requests + 1);
    let same = model::Arrivals { stragglers: None, ..made.arrivals };
    assert_eq!(same, without.arrivals);
    let finding = made.findings.iter().find(|finding| finding.code == "stragglers").unwrap();
    assert!(finding.text.starts_with("1 session began "), "{}", finding.text);
}
