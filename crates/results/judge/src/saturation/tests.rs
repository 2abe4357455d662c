//! Runs whose target, or one of its steps, falls behind.

use record::Outcome;
use record::schema::{MeasureInfo, Verdict};

use super::*;
use crate::sample::{self, MS, REQUEST};

/// A second of a request that is due so often and answered so often.
fn second(due: f64, answered: f64, response_s: f64) -> Window {
    Window {
        due,
        served: due,
        served_s: due * response_s,
        ended: answered,
        answered,
        answered_s: answered * response_s,
        ..Window::default()
    }
}

fn codes(findings: &[Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}

#[test]
fn users_held_by_slow_connects_wait_for_the_target() {
    // 100 users a second are due. The target takes 60 of them; from 20 s on all connection attempts are in use,
    // and as many users start as are accepted.
    let held = |slow_s: f64| {
        let mut figures = sample::with_rows(|row| {
            let at = row.start_ns / 1_000_000_000;
            row.users_started = if at < 20 { 100 } else { 60 };
            row.users_held = if at < 20 { 0 } else { 60 };
        });
        figures.flow = vec![Flow::default(); 60];
        figures.windows = vec![Vec::new(), vec![Window::default(); 60]];
        for at in 0..60 {
            let due = if at < 20 { 100 } else { 60 };
            figures.windows[REQUEST][at] = second(due as f64, 60.0, 0.01);
            let flow = &mut figures.flow[at];
            flow.due = due;
            flow.answered = 60;
            flow.ended = 60;
            flow.connected = 60;
            flow.response_s = 0.6;
            flow.connect_s = if at == 0 { 0.006 } else { 60.0 * slow_s };
        }
        saturation(&figures).map(|found| found.finding())
    };
    let finding = held(13.0).unwrap();
    assert_eq!(finding.evidence["answered_per_s"], 60.0);
    assert_eq!(finding.evidence["due_per_s"], 100.0);
    assert_eq!(finding.evidence["backlog"], 2400.0);
    // Connects that always took as long show that the limit is a setting.
    assert_eq!(held(0.0001), None);
}

/// 100 users a second are due, and 50 start, since no more connections may be set up at the same time. Each connection
/// takes `connect_ms`, the fastest request `request_ms`.
fn slow_from_the_first_second(connect_ms: u64, request_ms: u64, wait_ns: u64) -> Figures {
    let mut figures = sample::with_rows(|row| {
        row.users_started = 50;
        row.users_held = 50;
        row.cpu_wait_ns = wait_ns;
    });
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    sample::succeed(&mut figures, 0, 0, 3000, connect_ms * MS, 0);
    sample::succeed(&mut figures, 0, REQUEST, 3000, request_ms * MS, 0);
    figures.windows = vec![Vec::new(), vec![second(50.0, 50.0, 0.5); 60]];
    let flow = Flow {
        due: 50,
        answered: 50,
        ended: 50,
        connected: 50,
        connect_s: 50.0 * connect_ms as f64 / 1e3,
        ..Flow::default()
    };
    figures.flow = vec![flow; 60];
    figures
}

#[test]
fn a_target_that_is_slow_to_accept_from_the_first_second_is_not_the_generators_limit() {
    let summary = sample::judged(&slow_from_the_first_second(500, 2, 0));
    assert_eq!(codes(&summary.findings)[..2], [CODE, "connecting-limit"]);
    assert_eq!(summary.findings[1].severity, Severity::Warning);
    assert_eq!(summary.verdict, Verdict::Measured);
    // So it is if each request has a connection of its own, which is a part of its time.
    let own = sample::judged(&slow_from_the_first_second(500, 502, 0));
    assert_eq!(codes(&own.findings)[..2], [CODE, "connecting-limit"]);
    // The way to the target takes that long.
    let far = sample::judged(&slow_from_the_first_second(500, 1000, 0));
    assert_eq!(codes(&far.findings)[0], "connecting-limit");
    let far = sample::judged(&slow_from_the_first_second(500, 400, 0));
    assert_eq!(codes(&far.findings)[0], "connecting-limit");
    assert_eq!(far.verdict, Verdict::Untrusted);
    // The generator had no time to look.
    let starved = sample::judged(&slow_from_the_first_second(500, 2, 200 * MS));
    assert_eq!(starved.verdict, Verdict::Untrusted);
    assert!(!codes(&starved.findings).contains(&CODE));
}

/// Steps with these numbers of requests due and answered in each second.
fn steps(rates: &[(&str, f64, f64)]) -> Figures {
    let mut sample = sample::figures();
    sample.info.measures.truncate(1);
    let names = rates.iter().map(|step| MeasureInfo::new(step.0, "request"));
    sample.info.measures.extend(names);
    let mut figures = Figures::new(sample.info, sample.series, sample.events);
    let windows = rates.iter();
    let windows = windows.map(|&(_, due, answered)| vec![second(due, answered, 0.01); 60]);
    figures.windows = std::iter::once(Vec::new()).chain(windows).collect();
    figures
}

#[test]
fn the_step_that_is_too_slow_is_named() {
    let text = |rates: &[(&str, f64, f64)]| {
        let found = saturation(&steps(rates));
        found.map(|found| found.finding().text)
    };
    let named = "the target fell behind at GET /slow from 0 s on: of 100/s due it answered 50.0/s, 50 % less; \
        3,000 requests waited when the last phase ended";
    let slow = ("GET /slow", 100.0, 50.0);
    let found = text(&[("GET /a", 100.0, 100.0), slow, ("GET /b", 50.0, 50.0)]);
    assert_eq!(found.as_deref(), Some(named));
    // Among many it is found as well, though the target answered 97 % of all.
    let well = ("GET /a", 100.0, 100.0);
    let mut many = vec![well; 15];
    many.push(slow);
    assert_eq!(text(&many).as_deref(), Some(named));
    // All are too slow, or there is only one.
    let all = text(&[slow, ("GET /a", 200.0, 110.0)]).unwrap();
    assert!(all.starts_with("the target fell behind from 0 s on: of 300/s due"), "{all}");
    let only = text(&[slow]).unwrap();
    assert!(only.starts_with("the target fell behind from 0 s on: of 100/s due"), "{only}");
    assert_eq!(text(&[well, well]), None);
}

#[test]
fn polls_may_wait_for_as_long_as_they_do() {
    let mut figures = steps(&[("poll", 100.0, 50.0), ("GET /a", 100.0, 100.0)]);
    assert!(saturation(&figures).is_some());
    figures.info.measures[REQUEST].waits = true;
    assert_eq!(saturation(&figures), None);
}

/// The sample with a target that answers half of what is due.
fn overloaded() -> Figures {
    let mut figures = sample::figures();
    figures.windows = vec![Vec::new(), vec![second(100.0, 50.0, 0.01); 60]];
    figures
}

/// What waited long and what waited little in a queue that grows are no two kinds of answers.
#[test]
fn answers_of_a_target_that_fell_behind_are_of_no_groups() {
    let found = |mut figures: Figures| {
        *figures.cell_mut(0, REQUEST).unwrap() = crate::Cell::default();
        for n in 0..100 {
            for time_ms in [20, 400] {
                sample::succeed(&mut figures, 0, REQUEST, 40, time_ms * MS * (90 + n / 5) / 100, 0);
            }
        }
        codes(&sample::judged(&figures).findings).contains(&"two-groups")
    };
    assert!(found(sample::figures()));
    assert!(!found(overloaded()));
}

#[test]
fn a_run_that_expects_overload_may_pass() {
    let threshold = plan::Threshold {
        text: "p99 < 1s".to_owned(),
        figure: plan::Figure::Measure {
            stat: plan::Stat::Quantile(0.99),
            measure: None,
            basis: plan::Basis::Response,
            phase: None,
        },
        comparison: plan::Comparison::Less,
        limit: 1e9,
    };
    let mut figures = overloaded();
    let verdict = |figures: &Figures| {
        let summary = crate::judge_figures(figures, std::slice::from_ref(&threshold), false);
        assert_eq!(codes(&summary.findings)[0], CODE);
        summary.verdict
    };
    assert_eq!(verdict(&figures), Verdict::Failed);
    figures.info.expects_overload = true;
    assert_eq!(verdict(&figures), Verdict::Passed);
}

#[test]
fn a_run_that_is_too_short_is_only_noted() {
    let mut figures = overloaded();
    figures.info.phases[0].end_ns = 2_000_000_000;
    figures.info.phases[0].users_planned = 200.0;
    let summary = sample::judged(&figures);
    assert!(!codes(&summary.findings).contains(&CODE));
    let last = summary.findings.last().unwrap();
    assert_eq!((last.code.as_str(), last.severity), (SHORT, Severity::Note));
    let text = "the run is too short to say whether the target keeps up: of 100/s due it answered 50.0/s, 50 % less; \
        100 requests waited when the last phase ended";
    assert_eq!(last.text, text);
}

/// 100 requests a second with a time limit of a second, at a target that answers half of them, first come, first
/// served: after two seconds all answers are too late.
#[test]
fn a_target_whose_answers_are_too_late_has_not_stopped() {
    let mut figures = sample::figures();
    figures.cell_mut(0, REQUEST).map(std::mem::take);
    sample::succeed(&mut figures, 0, REQUEST, 100, 500 * MS, 0);
    sample::fail(&mut figures, REQUEST, Outcome::Timeout, 5900);
    let cell = figures.cell_mut(0, REQUEST).unwrap();
    cell.response.record_n(5 * MS, 10);
    cell.unanswered.record_n(1000 * MS, 5900);
    let late = Window { due: 100.0, ended: 100.0, ..Window::default() };
    let mut windows = vec![late; 60];
    windows[0] = Window {
        served: 96.0,
        served_s: 48.0,
        ended: 50.0,
        answered: 50.0,
        answered_s: 12.5,
        ..late
    };
    windows[1] = Window { ended: 50.0, answered: 46.0, answered_s: 35.5, ..late };
    figures.flow = windows
        .iter()
        .map(|window| Flow {
            due: window.due as u64,
            answered: window.answered as u64,
            ended: window.ended as u64,
            response_s: window.answered_s,
            ..Flow::default()
        })
        .collect();
    figures.windows = vec![Vec::new(), windows];
    let findings = sample::judged(&figures).findings;
    assert_eq!(codes(&findings)[0], CODE, "{findings:#?}");
    assert!(!codes(&findings).contains(&"target-stopped"));
    assert!(findings[0].text.contains("ended without an answer"), "{}", findings[0].text);
}
