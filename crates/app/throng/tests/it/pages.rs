//! Reports: where they are written, their titles, their size. `web/tests` tests them in a browser.

use std::path::{Path, PathBuf};

use record::probes::ProbeInfo;
use record::schema::{MeasureInfo, MeasureTally, PhaseTally, SeriesRow, Tally};
use record::{Measurement, Outcome, ProbeRow, Run, RunDir};
use serde_json::Value;
use stats::hist::LogHistogram;

use crate::compare::recorded::Recorded;
use crate::runs::FANS;
use crate::support::{Ended, Space, throng};

const SECOND: u64 = 1_000_000_000;

/// The document of a page.
fn document(path: &Path) -> Value {
    let html = std::fs::read_to_string(path).unwrap();
    let (_, rest) = html.split_once("id=\"document\">").unwrap();
    let (json, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn a_run_names_its_report_and_show_recreates_it() {
    let space = Space::new();
    let ended = Ended::of(&mut space.run_text(FANS, &[])).with(0);
    let run = space.only();
    let report = run.path().join("report.html");
    let last = ended.out.trim_end().lines().last().unwrap_or_default();
    assert_eq!(last, format!("report     {}", report.display()));
    let first = document(&report);
    assert_eq!(first["verdict"], "measured");
    assert_eq!(first["run"]["id"], run.info().id.as_str());
    assert_eq!(first["course"]["slot_s"], 1);
    std::fs::remove_file(&report).unwrap();
    let shown = Ended::of(throng(["show"]).arg(run.path()).arg("--html")).with(0);
    shown.stdout_contains("report.html");
    assert_eq!(document(&report), first);
    let elsewhere = space.path("a.html");
    Ended::of(throng(["show"]).arg(run.path()).arg("--html").arg(&elsewhere)).with(0);
    assert_eq!(document(&elsewhere), first);
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let space = Space::new();
    let run = Recorded::new(1).write(&space.path("runs"));
    let nowhere = space.path("nowhere/a.html");
    let ended = Ended::of(throng(["show"]).arg(&run).arg("--html").arg(&nowhere)).with(74);
    ended.stderr_contains("nowhere/a.html");
}

#[test]
fn a_killed_run_has_a_report() {
    let space = Space::new();
    let run = Recorded::new(1).write(&space.path("runs"));
    std::fs::remove_file(run.join("summary.json")).unwrap();
    std::fs::remove_file(run.join("latency.hlog")).unwrap();
    Ended::of(throng(["show"]).arg(&run).arg("--html")).with(0);
    let page = document(&run.join("report.html"));
    let missing: Vec<&str> =
        page["missing"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(missing, ["there is no summary.json", "there is no latency.hlog"]);
}

/// An hour of three steps and twenty probes: 10,476,000 measurements.
fn hour(space: &Space) -> PathBuf {
    const SECONDS: u64 = 3_600;
    let small = Run::open(&Recorded::new(1).write(&space.path("small"))).unwrap();
    let mut info = small.info().clone();
    info.ended_ns = SECONDS * SECOND;
    info.phases[0].end_ns = SECONDS * SECOND;
    info.measures = (0..3).map(|n| MeasureInfo::new(&format!("step {n}"), "request")).collect();
    let dir = RunDir::create(&space.path("runs"), &info, "name: hour\n").unwrap();
    let mut latency = dir.latency(&info).unwrap();
    for second in 0..SECONDS {
        for (n, measure) in info.measures.iter().enumerate() {
            let mut hist = LogHistogram::new();
            // 970 times a second over a decade, which wanders over two.
            let from = 5.0 + ((second + 100 * n as u64) % 200) as f64 / 100.0;
            for tenth in 0..10 {
                hist.record_n(10f64.powf(from + f64::from(tenth) / 10.0) as u64, 97);
            }
            latency.interval(second * SECOND, SECOND, &measure.name, &hist).unwrap();
        }
    }
    latency.finish().unwrap();
    let mut series = dir.series(&info);
    let mut probes = dir.probes(&info);
    let numbers: Vec<u32> = (0..20)
        .map(|n| {
            probes.probe(ProbeInfo {
                role: "servers".to_owned(),
                region: "eu".to_owned(),
                source: format!("host-{n}"),
                metric: format!("metric {}", n % 5),
                unit: "%".to_owned(),
                via: "host".to_owned(),
            })
        })
        .collect();
    for second in 0..SECONDS {
        let wave = second * 7919 % 1_000;
        series.push(&SeriesRow {
            start_ns: second * SECOND,
            end_ns: (second + 1) * SECOND,
            users: 10_000 + wave,
            connections: 9_000 + wave,
            in_flight: wave,
            users_due: 100 + wave,
            users_started: 100 + wave,
            sends: 2_880 + wave,
            done: 2_880 - wave,
            operations_begun: 2_880 + wave,
            operations_ended: 2_880 - wave,
            operations_completed: 2_880 - wave,
            errors: wave / 100,
            bytes_out: 100_000 + wave,
            bytes_in: 1_000_000 + wave * wave,
            lag_p50_ns: 1_000 + wave,
            lag_p99_ns: 100_000 + wave * 10,
            lag_max_ns: 1_000_000 + wave * 100,
            cpu_process_ns: SECOND / 3 + wave,
            loop_busy_max: wave as f64 / 2_000.0,
            rss_bytes: 300_000_000 + wave * 4096,
            ..SeriesRow::default()
        });
        for &probe in &numbers {
            probes.push(ProbeRow {
                at_ns: (second * SECOND) as i64,
                probe,
                value: ((second * 31 + u64::from(probe) * 17) % 997) as f64 / 9.97,
            });
        }
    }
    series.finish().unwrap();
    probes.checkpoint().unwrap();
    let mut requests = dir.requests(&info).unwrap();
    let failed: Vec<Measurement> = (0..SECONDS).map(failed).collect();
    requests.write(&failed).unwrap();
    requests.finish().unwrap();
    drop(dir.events().unwrap());
    let outcomes = [("ok", SECONDS * 970), ("timeout", SECONDS / 3)];
    let measures = (0..3).map(|measure| MeasureTally {
        measure,
        outcomes: outcomes.map(|(name, n)| (name.to_owned(), n)).into(),
        ..MeasureTally::default()
    });
    dir.write_tally(&Tally {
        until_ns: None,
        phases: vec![PhaseTally { phase: 0, measures: measures.collect() }],
        ..Tally::default()
    })
    .unwrap();
    dir.write_summary(&small.summary().unwrap().unwrap()).unwrap();
    dir.update_info(&info).unwrap();
    dir.path().to_owned()
}

/// One operation a second that timed out.
fn failed(second: u64) -> Measurement {
    Measurement {
        due_ns: second * SECOND,
        sent_ns: second * SECOND,
        done_ns: second * SECOND + SECOND / 2,
        user: second,
        measure: (second % 3) as u16,
        session: 0,
        loop_id: 0,
        outcome: Outcome::Timeout,
        status: 0,
        weight: 1,
        bytes_out: 10,
        bytes_in: 0,
    }
}

#[test]
fn the_page_of_an_hour_stays_below_three_megabytes() {
    let space = Space::new();
    let run = hour(&space);
    Ended::of(throng(["show"]).arg(&run).arg("--html")).with(0);
    let report = run.join("report.html");
    let bytes = std::fs::metadata(&report).unwrap().len();
    assert!(bytes < 3_000_000, "{bytes} bytes");
    let page = document(&report);
    let course = &page["course"];
    assert_eq!((&course["slot_s"], &course["slots"]), (&6.into(), &600.into()));
    assert_eq!(course["measures"].as_array().unwrap().len(), 3);
    let counts = course["measures"][0]["heat"].as_array().unwrap().iter();
    let counted: u64 = counts.filter_map(|cell| cell[2].as_u64()).sum();
    assert_eq!(counted, 3_600 * 970, "every measurement is in the heat map");
    let errors = course["errors"].as_array().unwrap();
    let failed: Vec<u64> = errors.iter().filter_map(|error| error["count"].as_u64()).collect();
    assert_eq!(failed, [1_200; 3], "each third operation was of the same step");
    assert_eq!(page["failures"]["list"][0]["line"].as_array().unwrap().len(), 60);
    assert_eq!(course["probes"]["lines"].as_array().unwrap().len(), 20);
}

/// A hundred visits of three requests, and a line that is none.
fn visits() -> String {
    let mut text = String::from("nonsense\n");
    for visit in 0..100_u64 {
        for (number, path) in ["/", "/list", "/item"].into_iter().enumerate() {
            let second = 17 * visit + 3 * number as u64 * (1 + visit % 3);
            let minute = second / 60;
            let second = second % 60;
            text += &format!(
                "10.0.0.{visit} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 9\n"
            );
        }
    }
    text
}

#[test]
fn a_model_leaves_its_page_and_a_check_adds_to_it() {
    let space = Space::new();
    let log = space.file("access.log", &visits());
    let out = space.path("model");
    Ended::of(throng(["model", "--quiet"]).arg(&log).arg("-o").arg(&out)).with(0);
    let page = document(&out.join("report.html"));
    assert_eq!((&page["kind"], &page["name"]), (&"model".into(), &"access".into()));
    let first = &page["findings"][0];
    assert_eq!((&first["severity"], &first["code"]), (&"warning".into(), &"lines-format".into()));
    assert_eq!(page["log"]["problems"][0]["examples"][0][1], "nonsense");
    let arrivals = &page["arrivals"][0];
    let users = arrivals["pictures"]["users"].as_array().unwrap();
    assert_eq!(users.iter().filter_map(Value::as_u64).sum::<u64>(), 100);
    let behaviour = &page["behaviours"][0];
    assert_eq!(behaviour["lengths"], serde_json::json!([[3, 100]]));
    let curves = &behaviour["thinks"][0]["curves"];
    assert_eq!(curves["at_s"], serde_json::json!([3.0, 6.0, 9.0]));
    assert_eq!(page["check"], Value::Null);
    let checked = Ended::of(throng(["model", "check", "--sessions", "100"]).arg(&out));
    assert!(matches!(checked.code, Some(0 | 1)), "{}", checked.err);
    let page = document(&out.join("report.html"));
    assert_eq!(page["check"]["holds"], checked.code == Some(0));
}
