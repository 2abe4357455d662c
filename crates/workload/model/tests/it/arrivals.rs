//! Arrivals of a log as a whole, and users that are no part of a crowd.

use model::{ArrivalProcess, Settings};
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

/// 300 people with three requests each, one who has as many as all of them, and a robot that says what it is.
fn with_a_program() -> String {
    let mut log = String::new();
    for second in 0..900 {
        let person = std::net::Ipv4Addr::from(0x0A00_0000 + second / 3).to_string();
        log += &line(u64::from(second), &person, "GET /");
        log += &line(u64::from(second), "192.0.2.7", "GET /feed");
        if second % 10 == 0 {
            let robot = line(u64::from(second), "192.0.2.8", "GET /robots.txt");
            log += &robot.replace("\"agent\"", "\"Examplebot/2.1 (+https://example.org)\"");
        }
    }
    log
}

#[test]
fn programs_among_the_users_are_named_and_left_out_if_requested() {
    let space = Space::new();
    let settings = space.settings();
    let made = space.model(with_a_program(), &settings).unwrap().model;
    let text = |code: &str| {
        let found = made.findings.iter().find(|finding| finding.code == code);
        found.map_or("", |found| found.text.as_str())
    };
    let heavy = text("heavy-users");
    let expected = "1 user made far more requests than the others: 192.0.2.7 agent (47.62 %)";
    assert!(heavy.starts_with(expected), "{heavy}");
    let robots = text("robots");
    assert!(robots.starts_with("4.76 % of the requests (90) are of robots"), "{robots}");
    assert!(robots.contains("Examplebot 90"), "{robots}");

    let settings = Settings { without_robots: true, ..settings };
    let people = space.model(with_a_program(), &settings).unwrap().model;
    assert_eq!((people.log.requests, people.log.without), (900, 990));
    assert_eq!((people.users, people.segments[0].sessions), (300, 300));
    assert!(people.findings.iter().all(|finding| finding.code != "robots"));
    let left_out = people.findings.iter().find(|finding| finding.code == "heavy-users").unwrap();
    assert!(left_out.text.contains("192.0.2.7 agent"), "{}", left_out.text);
    let count = people.findings.iter().find(|finding| finding.code == "left-out").unwrap();
    assert!(count.text.contains("990 lines"), "{}", count.text);
}
