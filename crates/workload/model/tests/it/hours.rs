//! Rates by the hour of recordings that are not whole days.

use model::{ArrivalProcess, BuiltModel, Settings};
use stats::dist::Dist;
use stats::rng::{Purpose, Rng};

use crate::{Space, compiled, line};

const DAY_S: f64 = 86_400.0;

/// A user a line, ten times as many from 10 to 22 o'clock as from 22 to 10.
fn log(seconds: f64) -> String {
    let mut rng = Rng::new(3, 0, Purpose::Arrivals);
    let mut text = String::new();
    let mut at = 0.0;
    let mut user = 0x0A00_0000_u32;
    loop {
        at += Dist::Exponential { mean: 10.0 }.sample(&mut rng);
        if at >= seconds {
            return text;
        }
        let share = if at % DAY_S < DAY_S / 2.0 { 1.0 } else { 0.1 };
        if rng.unit() < share {
            user += 1;
            let address = std::net::Ipv4Addr::from(user).to_string();
            // The few have the hours of all.
            let path = if user.is_multiple_of(450) { "b" } else { "a" };
            text += &line(at as u64, &address, &format!("GET /{path}/"));
        }
    }
}

fn made(log: &str, segment: Option<&str>) -> BuiltModel {
    let space = Space::new();
    let settings = Settings {
        gap_s: Some(1800.0),
        segment: segment.map(|part| part.parse().unwrap()),
        ..space.settings()
    };
    space.model(log, &settings).unwrap()
}

#[test]
fn partial_days_do_not_change_the_number_of_users() {
    let log = log(3.5 * DAY_S);
    let made = made(&log, None);
    let model = &made.model;
    assert_eq!(model.arrivals.process, ArrivalProcess::Cycle);
    let expected = model.arrivals.cycle.as_ref().unwrap().rates[10];
    assert!((0.09..0.11).contains(&expected), "{expected}");
    // The first hour of the scenario is that from 10 to 11 o'clock.
    let off = compiled(&made).users_planned() / (expected * 3600.0) - 1.0;
    assert!(off.abs() < 0.001, "{off}");
    let tsung = made.tsung().text;
    let rate = &tsung[tsung.find("arrivalrate=\"").unwrap() + 13..];
    let rate: f64 = rate[..rate.find('"').unwrap()].parse().unwrap();
    assert!((rate / expected - 1.0).abs() < 0.001, "{rate}");
    // All hours together bring as many as there were.
    let users = model::users_expected(model, model.arrivals.span_s).unwrap();
    assert!((users / model.users as f64 - 1.0).abs() < 0.001, "{users}");
    let of = |users: f64| model::SimulatedSpan { seconds: model.arrivals.span_s, users };
    assert!(model::check(model, model, of(1.0)).holds);
    let many = model::check(model, model, of(0.9));
    assert!(!many.holds && many.tests[0].what == "users in all");
    // A part of a recording has a number of its own.
    let mut recorded = model.clone();
    recorded.arrivals.process = ArrivalProcess::Trace;
    assert_eq!(model::users_expected(&recorded, 3_600.0), None);
}

#[test]
fn segments_have_the_hours_of_all_or_their_own() {
    let log = log(3.5 * DAY_S);
    let made = made(&log, Some("path=^/([^/]+)/"));
    let processes = made.model.segments.iter().filter_map(|s| s.process);
    assert_eq!(processes.count(), 2, "each by a process of its own");
    let plan = compiled(&made);
    let rate = |users: u64, arrivals: &model::Arrivals| {
        let hours = arrivals.cycle.as_ref().unwrap();
        hours.rates[10] * 3600.0 * users as f64 / arrivals.users as f64
    };
    let [many, few] = &made.model.segments[..] else {
        panic!("{:?}", made.model.segments.len());
    };
    assert!(few.process.unwrap().reason == model::ProcessReason::Few);
    let planned = rate(many.sessions, many.arrivals.as_ref().unwrap())
        + rate(few.sessions, &made.model.arrivals);
    let off = plan.users_planned() / planned - 1.0;
    assert!(off.abs() < 0.001, "{off}");
}
