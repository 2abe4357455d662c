//! Whatever a scenario or a server calls itself, a page stays a page.

use judge::course::{
    Bin, Course, ErrorTrack, MeasureCourse, Number, ProbeLine, ProbeLines, StepLine, Track,
};
use record::ProbeInfo;
use record::schema::{
    ErrorSample, ErrorSummary, Event, EventKind, Incident, IncidentFigures, IncidentKind,
    IntervalMissing, Summary,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Page, RunReport};
use crate::sample;

pub(crate) const HOSTILE: &str =
    "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&amp;\u{2028}\"'`\\";

/// `sound` with [`HOSTILE`] in place of each of its strings that may hold anything.
fn hostile<T: Serialize + DeserializeOwned>(sound: &T) -> T {
    fn strings(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::String(_) => found.push(at.to_owned()),
            Value::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    strings(item, &format!("{at}/{n}"), found);
                }
            }
            Value::Object(fields) => {
                for (name, item) in fields {
                    strings(item, &format!("{at}/{name}"), found);
                }
            }
            _ => {}
        }
    }
    let mut value = serde_json::to_value(sound).unwrap();
    let mut places = Vec::new();
    strings(&value, "", &mut places);
    for place in places {
        let mut changed = value.clone();
        *changed.pointer_mut(&place).unwrap() = HOSTILE.into();
        // Words of our own, such as a verdict, are refused there.
        if serde_json::from_value::<T>(changed.clone()).is_ok() {
            value = changed;
        }
    }
    serde_json::from_value(value).unwrap()
}

/// What failed, and an incident.
fn with_failures(mut summary: Summary) -> Summary {
    let sample = ErrorSample {
        at_ns: 210_000_000_000,
        measure: Some(1),
        own_step: None,
        kind: "status".to_owned(),
        detail: Some("503".to_owned()),
        user: 17,
        text: String::new(),
        request: Some(String::new()),
        status: Some(String::new()),
        headers: vec![(String::new(), String::new())],
        body: Some(String::new()),
    };
    summary.errors = vec![ErrorSummary {
        step: "request".to_owned(),
        kind: "status".to_owned(),
        detail: Some("503".to_owned()),
        count: 12,
        share: Some(0.25),
        first_ns: 210_000_000_000,
        last_ns: 220_000_000_000,
        by_phase: vec![0, 12],
        samples: vec![sample],
    }];
    let figures = IncidentFigures {
        operations: 100,
        errors: 12,
        unanswered: 0,
        p50_ns: Some(8_000_000),
        p90_ns: None,
        per_s: 10.0,
    };
    summary.incidents = vec![Incident {
        step: "request".to_owned(),
        tag: Some("region=sydney".to_owned()),
        kinds: vec![IncidentKind::Errors, IncidentKind::Response],
        begin_ns: 210_000_000_000,
        end_ns: 220_000_000_000,
        to_the_end: false,
        usual: figures,
        during: figures,
        beside: vec![String::new()],
        text: String::new(),
    }];
    summary
}

pub(crate) fn course() -> Course {
    let numbers = vec![Some(Number(1.0)); 2];
    Course {
        slot_s: 1,
        slots: 2,
        heat_slot_s: 1,
        seconds: vec![Track {
            name: "done",
            mean: numbers.clone(),
            min: Vec::new(),
            max: Vec::new(),
        }],
        measures: vec![MeasureCourse {
            name: HOSTILE.to_owned(),
            kind: HOSTILE.to_owned(),
            count: 1,
            per_s: numbers.clone(),
            p50: numbers.clone(),
            p95: numbers.clone(),
            p99: numbers.clone(),
            p999: numbers.clone(),
            max: numbers,
            heat: vec![(0, 60, 1)],
            bins: vec![Bin { from_ns: Number(1e6), to_ns: Number(2e6), count: 1 }],
            response: vec![(Number(1.0), Number(1e6))],
        }],
        measures_left_out: 0,
        line_slot_s: 1,
        lines: vec![StepLine { name: HOSTILE.to_owned(), p95: vec![Some(Number(1e6)), None] }],
        errors: vec![ErrorTrack {
            step: HOSTILE.to_owned(),
            kind: "timeout".to_owned(),
            detail: Some(HOSTILE.to_owned()),
            count: 1,
            per_s: vec![Number(1.0); 2],
            line: vec![Number(1.0); 2],
        }],
        errors_left_out: 0,
        probes: ProbeLines {
            lines: vec![ProbeLine {
                info: hostile(&ProbeInfo {
                    role: String::new(),
                    region: String::new(),
                    source: String::new(),
                    metric: String::new(),
                    unit: String::new(),
                    via: String::new(),
                }),
                at_s: vec![Number(0.0)],
                mean: vec![Some(Number(1.0))],
                min: Vec::new(),
                max: Vec::new(),
            }],
            left_out: 0,
        },
    }
}

pub(crate) fn page() -> Page {
    let mut info = hostile(&sample::info());
    info.overrides = vec![HOSTILE.to_owned()];
    info.host.insert(HOSTILE.to_owned(), HOSTILE.to_owned());
    let mut summary = hostile(&with_failures(sample::summary()));
    for finding in &mut summary.findings {
        finding.evidence.insert(HOSTILE.to_owned(), 1.0);
    }
    for measure in &mut summary.measures {
        measure.errors_by_kind.insert(HOSTILE.to_owned(), 1);
    }
    let events = [Event {
        at_ns: 0,
        what: hostile(&EventKind::Error {
            measure: String::new(),
            outcome: String::new(),
            user: 0,
            detail: String::new(),
        }),
    }];
    let report = RunReport {
        info: &info,
        summary: &summary,
        course: &course(),
        events: &events,
        missing: &[HOSTILE.to_owned()],
        import: None,
    };
    Page::run(&report, HOSTILE)
}

#[test]
fn steps_have_the_intervals_of_their_percentiles() {
    let info = sample::info();
    let mut summary = sample::summary();
    let mut bound = sample::found(0.99, Some(2_000_000), Some(9_000_000));
    bound.high_is_bound = true;
    let mut few = sample::found(0.999, Some(4_000_000), None);
    few.missing = Some(IntervalMissing::Few);
    summary.measures[0].response.as_mut().unwrap().intervals = vec![bound, few];
    let page = Page::run(
        &RunReport {
            info: &info,
            summary: &summary,
            course: &course(),
            events: &[],
            missing: &[],
            import: None,
        },
        "0.0.0",
    );
    let read: Value = serde_json::from_str(page.json()).unwrap();
    let expected = json!([
        { "low": 2_000_000, "high": 9_000_000, "is_bound": true },
        { "low": 4_000_000, "high": null, "missing": "few" },
    ]);
    // The last of three, as nothing of it failed.
    assert_eq!(read["steps"][2]["intervals"], expected);
    assert_eq!(read["steps"][0]["intervals"], json!([]));
}

#[test]
fn a_run_begins_with_its_totals() {
    let mut info = sample::info();
    let summary = sample::summary();
    info.ended_ns = 10_000_000_000;
    let report = RunReport {
        info: &info,
        summary: &summary,
        course: &course(),
        events: &[],
        missing: &[],
        import: None,
    };
    let read: Value = serde_json::from_str(Page::run(&report, "0.0.0").json()).unwrap();
    let sum = |of: fn(&record::schema::MeasureSummary) -> u64| {
        summary.measures.iter().map(of).sum::<u64>()
    };
    let count = sum(|m| m.count);
    let errors = sum(|m| m.errors);
    let totals = &read["totals"];
    assert_eq!(totals["operations"], count);
    assert_eq!(totals["errors"], errors);
    // The sample has no connections and no messages.
    let per_s: f64 = summary.measures.iter().map(|m| m.rate_per_s).sum();
    assert_eq!(totals["completed_per_s"], json!(Number(per_s)));
    let step = &totals["step"];
    assert!(step["name"].is_string() && step["p95_ns"].is_u64(), "{totals}");
}

#[test]
fn the_step_that_broke_its_threshold_is_in_focus_and_incidents_are_marked() {
    let info = sample::info();
    let summary = with_failures(sample::summary());
    let report = RunReport {
        info: &info,
        summary: &summary,
        course: &course(),
        events: &[],
        missing: &[],
        import: None,
    };
    let read: Value = serde_json::from_str(Page::run(&report, "0.0.0").json()).unwrap();
    assert_eq!(read["focus"]["name"], "request");
    assert_eq!(read["focus"]["reason"], "threshold");
    assert_eq!(read["focus"]["totals"]["p95_ns"], 9_300_000);
    let broken: Vec<bool> = read["steps"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|step| step["phase"].is_null())
        .map(|step| step["breaks_threshold"].as_bool().unwrap())
        .collect();
    assert_eq!(broken, [true, false, false], "the worst comes first");
    let expected = json!([{
        "name": "request (region=sydney): errors, response",
        "kind": "incident",
        "from_s": 210,
        "to_s": 220,
    }]);
    assert_eq!(read["highlights"], expected);
    assert_eq!(read["failures"]["list"][0]["samples"][0]["user"], 17);
}

#[test]
fn no_string_gets_out_of_the_document() {
    let page = page();
    let json = page.json();
    for character in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
        assert!(!json.contains(character), "{character:?} occurs in the document");
    }
    let read: Value = serde_json::from_str(json).unwrap();
    for place in [
        "/throng",
        "/run/name",
        "/run/target",
        "/findings/0/text",
        "/thresholds/0/text",
        "/thresholds/0/shown",
        "/phases/0/name",
        "/steps/0/name",
        "/course/measures/0/name",
        "/course/probes/lines/0/source",
        "/examples/0/detail",
        "/failures/list/0/detail",
        "/failures/list/0/samples/0/headers/0/1",
        "/failures/list/0/samples/0/body",
        "/incidents/0/text",
        "/incidents/0/beside/0",
        "/course/lines/0/name",
        "/missing/0",
    ] {
        assert_eq!(read.pointer(place).unwrap(), HOSTILE, "{place}");
    }
}
