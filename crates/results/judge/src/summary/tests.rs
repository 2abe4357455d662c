//! Figures by tag, against those worked out by hand.

use record::Outcome;
use record::schema::{
    Latency, MeasureInfo, MeasureSummary, MeasureTally, PhaseTally, Summary, Tally,
    ThresholdResult, Verdict,
};

use crate::figures::{CompletionCounts, Figures, Flow, Window};
use crate::names::RunNames;
use crate::sample::{self, MS, fail, succeed};

const BUY: usize = 1;
const PAY: usize = 2;
const LOOK: usize = 3;
const GROUP: usize = 4;

fn tagged(name: &str, kind: &str, tags: &[(&str, &str)]) -> MeasureInfo {
    let tags = tags.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    MeasureInfo { tags: tags.collect(), ..MeasureInfo::new(name, kind) }
}

/// Figures of `area=shop`: 90 requests of 10 ms, 5 of 30 ms, 3 that failed after 20 ms, and 2 that were not answered within
/// 50 ms, so that a percentile above 98 is a bound. The group's own measure and checks do not count.
fn shop() -> Figures {
    let mut info = sample::info();
    info.measures.truncate(1);
    info.measures.extend([
        tagged("buy", "request", &[("area", "shop"), ("group", "buy")]),
        tagged("pay", "request", &[("area", "shop"), ("group", "buy/pay")]),
        tagged("look", "handshake", &[("area", "browse")]),
        tagged("all of it", "transaction", &[("area", "shop"), ("group", "buy")]),
        tagged("check", "check", &[("area", "shop"), ("only", "checks")]),
    ]);
    let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
    succeed(&mut figures, 0, BUY, 90, 10 * MS, 0);
    succeed(&mut figures, 0, PAY, 5, 30 * MS, 0);
    fail(&mut figures, PAY, Outcome::Status, 3);
    fail(&mut figures, PAY, Outcome::Timeout, 2);
    let cell = figures.cell_mut(0, PAY).unwrap();
    cell.failed_response.record_n(20 * MS, 3);
    cell.unanswered.record_n(50 * MS, 2);
    succeed(&mut figures, 0, LOOK, 100, MS, 0);
    succeed(&mut figures, 0, GROUP, 1000, 900 * MS, 0);
    figures.begun = vec![0, 91, 10, 100, 1000, 0];
    figures
}

fn judged(thresholds: &[&str]) -> Summary {
    let figures = shop();
    let names = RunNames::of(&figures.info);
    let thresholds = thresholds.iter().map(|text| names.names().threshold(text).unwrap());
    crate::judge_figures(&figures, &thresholds.collect::<Vec<_>>(), false)
}

#[test]
fn a_tag_is_its_requests_taken_as_one() {
    let summary = judged(&[]);
    let names: Vec<&str> = summary.tags.iter().map(|tag| tag.figures.name.as_str()).collect();
    assert_eq!(names, ["group=buy", "group=buy/pay", "area=shop", "area=browse"]);
    let [buy, pay, shop, browse] = &summary.tags[..] else {
        unreachable!("there are four");
    };
    assert_eq!(shop.measures, ["buy", "pay"]);
    assert_eq!((shop.figures.begun, shop.figures.count, shop.figures.errors), (101, 100, 5));
    // Two were never answered.
    assert!((shop.figures.rate_per_s - 98.0 / 60.0).abs() < 1e-12);
    assert_eq!(shop.figures.errors_by_kind["status"], 3);
    assert_eq!(shop.figures.errors_by_kind["timeout"], 2);
    let times = shop.figures.response.as_ref().unwrap();
    let is_near = |found_ns: u64, ms: u64| (found_ns as f64 / (ms * MS) as f64 - 1.0).abs() < 0.001;
    // Of 100 in order, 1 to 90 took 10 ms, to 93 20 ms, to 98 30 ms, and the others at least 50 ms.
    for (found_ns, ms) in [
        (times.p50_ns, 10),
        (times.p90_ns, 10),
        (times.p95_ns, 30),
        (times.p98_ns, 30),
        (times.p99_ns, 50),
    ] {
        assert!(is_near(found_ns, ms), "{found_ns} {ms}");
    }
    assert_eq!((times.count, times.unanswered), (100, 2));
    let is_bound = |share| Latency::is_bound(times, share);
    assert_eq!((is_bound(0.98), is_bound(0.99)), (false, true));
    assert_eq!(buy.figures.response, shop.figures.response);
    assert_eq!((pay.figures.count, pay.figures.errors), (10, 5));
    assert_eq!(browse.figures.count, 100);
    // As of a single measure.
    let look = summary.measures.iter().find(|m| m.name == "look").unwrap();
    assert_eq!(browse.figures.response, look.response);
}

#[test]
fn thresholds_are_of_the_requests_with_all_tags() {
    let texts = [
        "p95(area=shop) < 29ms",
        "p95(area=shop) < 31ms",
        "p99(area=shop) < 1m",
        "p99(area=shop) > 49ms",
        "p94(area=shop.succeeded) < 11ms",
        "max(area=shop.service) < 31ms",
        "count(group=buy) == 100",
        "error_rate(group=buy) < 6%",
        "error_rate(group=buy/pay) < 6%",
        "errors(area=shop, group=buy/pay) == 5",
        "rate(area=browse) > 1/s in constant",
    ];
    let summary = judged(&texts);
    let shown = |result: &ThresholdResult| (result.passed, result.shown.clone());
    let found: Vec<(bool, String)> = summary.thresholds.iter().map(shown).collect();
    let expected = [
        (false, "30.0 ms, 3.00 % failed sooner"),
        (true, "30.0 ms, 3.00 % failed sooner"),
        (false, "≥ 50.0 ms, 3.00 % failed sooner"),
        (true, "≥ 50.0 ms, 3.00 % failed sooner"),
        (true, "10.0 ms"),
        (true, "30.0 ms"),
        (true, "100"),
        (true, "5.00 %"),
        (false, "50 %"),
        (true, "5"),
        (true, "1.67/s"),
    ];
    assert_eq!(found, expected.map(|(passed, shown)| (passed, shown.to_owned())));
}

#[test]
fn a_run_without_tags_has_no_figures_by_tag() {
    assert_eq!(sample::judged(&sample::figures()).tags, []);
}

#[test]
fn what_the_target_never_answered_is_not_completed() {
    let outcomes = |all: &[(Outcome, u64)]| {
        let named = all.iter().map(|(outcome, n)| (outcome.name().to_owned(), *n));
        vec![MeasureTally {
            measure: sample::REQUEST as u16,
            outcomes: named.collect(),
            ..MeasureTally::default()
        }]
    };
    let in_phase = [
        (Outcome::Status, 60),
        (Outcome::Timeout, 600),
        (Outcome::Refused, 300),
        (Outcome::Reset, 30),
        (Outcome::NoPorts, 3),
    ];
    let in_drain = [(Outcome::Ok, 30), (Outcome::Timeout, 300), (Outcome::Unfinished, 9)];
    let phases = [in_phase.as_slice(), &in_drain];
    let phases = phases
        .iter()
        .enumerate()
        .map(|(phase, all)| PhaseTally { phase: phase as u32, measures: outcomes(all) });
    let mut figures = sample::figures();
    figures.add_tally(&Tally { phases: phases.collect(), ..Tally::default() });
    let cell = figures.cell(None, sample::REQUEST);
    let completed = |succeeded, failed| CompletionCounts { succeeded, failed };
    assert_eq!((cell.ended(), cell.answered()), (7_323, completed(6_030, 60)));
    assert_eq!(figures.completed(None, sample::REQUEST), completed(6_000, 60));
    assert_eq!(figures.completed(Some(0), sample::REQUEST), completed(6_000, 60));
    let summary = sample::judged(&figures);
    let rate_of = |measures: &[MeasureSummary]| measures[0].rate_per_s;
    assert_eq!(rate_of(&summary.measures), 101.0);
    assert_eq!(rate_of(&summary.phases[0].measures), 101.0);
}

/// A run that failed has a reason for it: a threshold that does not hold, or a finding.
#[test]
fn a_run_that_failed_names_what_failed() {
    let judged = |figures: &Figures, text: &str| {
        let names = RunNames::of(&figures.info);
        let threshold = names.names().threshold(text).unwrap();
        let summary = crate::judge_figures(figures, &[threshold], false);
        let failing: Vec<String> = summary.failing().map(|f| f.code.clone()).collect();
        (summary.verdict, failing.join(" "))
    };
    let holds = "count(request) >= 0";
    let mut refused = sample::figures();
    *refused.cell_mut(0, sample::REQUEST).unwrap() = crate::Cell::default();
    fail(&mut refused, sample::REQUEST, Outcome::Refused, 40);
    let nothing = (Verdict::Failed, "nothing-succeeded".to_owned());
    assert_eq!(judged(&refused, holds), nothing);

    let mut never = sample::figures();
    never.info.measures.push(MeasureInfo::new("GET /b", "request"));
    never.info.steps = vec![1, 2];
    let mut never = Figures::new(never.info, never.series, Vec::new());
    succeed(&mut never, 0, sample::REQUEST, 6000, MS, 0);
    fail(&mut never, 2, Outcome::Status, 7);
    let step = (Verdict::Failed, "steps-never-succeeded".to_owned());
    assert_eq!(judged(&never, holds), step);

    let flow = |answered| {
        let second = Flow {
            due: 100,
            answered,
            ended: answered,
            response_s: answered as f64 / 10.0,
            ..Flow::default()
        };
        vec![second; 30]
    };
    let mut overloaded = sample::figures();
    let half = Window {
        due: 100.0,
        served: 100.0,
        ended: 50.0,
        answered: 50.0,
        answered_s: 5.0,
        ..Window::default()
    };
    overloaded.windows = vec![Vec::new(), vec![half; 60]];
    let behind = (Verdict::Failed, "target-saturated".to_owned());
    assert_eq!(judged(&overloaded, holds), behind);
    let mut stopped = sample::figures();
    stopped.flow = flow(100);
    let dead = Flow { due: 100, ..Flow::default() };
    stopped.flow.resize(60, dead);
    let (verdict, failing) = judged(&stopped, holds);
    assert_eq!(verdict, Verdict::Failed);
    assert!(failing.starts_with("target-stopped"), "{failing}");
    for mut figures in [overloaded, stopped] {
        figures.info.expects_overload = true;
        let passed = (Verdict::Passed, String::new());
        assert_eq!(judged(&figures, holds), passed);
        let failed = (Verdict::Failed, String::new());
        assert_eq!(judged(&figures, "count(request) < 1"), failed);
    }
}
