//! The forms of one snapshot, and what is written about the names.

use expect_test::expect;
use record::ProbeInfo;
use record::schema::{ErrorCount, GeneratorInfo, MeasureInfo, RunInfo, RunStatus, SeriesRow};

use crate::export::metrics;
use crate::export::snapshot::{
    MeasureSecond, MetricSecond, MetricValue, ProbeValue, ResponseTime, Second, Snapshot, Totals,
};
use crate::export::{otlp, prometheus, statsd};

fn info() -> RunInfo {
    RunInfo {
        format: 1,
        id: "the-run".to_owned(),
        name: "a \"scenario\"".to_owned(),
        throng: String::new(),
        status: RunStatus::Running,
        seed: 1,
        scenario_hash: String::new(),
        overrides: Vec::new(),
        target: String::new(),
        started_unix_ns: 1_000,
        ended_ns: 0,
        clock: String::new(),
        generator: GeneratorInfo {
            mode: "precise".to_owned(),
            loops: 1,
            cores: 1,
            files_per_loop: 1,
            lag_max_ns: 1,
        },
        workers: Vec::new(),
        regions: Vec::new(),
        host: Default::default(),
        measures: Vec::new(),
        steps: Vec::new(),
        expects_overload: false,
        metrics: Vec::new(),
        sessions: Vec::new(),
        phases: Vec::new(),
        tls_unverified: false,
    }
}

/// From 3 ms on, a lower bound.
fn time(ms: u64) -> ResponseTime {
    ResponseTime { ns: ms * 1_000_000, is_bound: ms >= 3 }
}

fn second(totals: &mut Totals, errors: u64, with_measure: bool) -> Snapshot {
    let row = SeriesRow {
        end_ns: 1_000_000_000,
        users: 7,
        errors,
        lag_p99_ns: 2_500_000,
        ..SeriesRow::default()
    };
    let measures = [MeasureSecond {
        name: "GET /\n\\".to_owned(),
        count: 3,
        completed: 2,
        errors,
        response: Some([1, 2, 3].map(time)),
    }];
    let probes = [ProbeValue {
        info: ProbeInfo {
            role: "redis".to_owned(),
            region: String::new(),
            source: "h:1".to_owned(),
            metric: "used_memory".to_owned(),
            unit: "B".to_owned(),
            via: "redis".to_owned(),
        },
        value: 1.5,
    }];
    let second = Second {
        info: &info(),
        row: &row,
        measures: if with_measure { &measures } else { &[] },
        errors: &[],
        metrics: &[],
        probes: &probes,
    };
    totals.add(second, &[("otlp", 4)])
}

#[test]
fn metrics_of_the_scenario_have_their_units() {
    let metric = |name: &str, unit: &str, recorded, value| MetricSecond {
        name: name.to_owned(),
        unit: unit.to_owned(),
        recorded,
        value,
    };
    let mut totals = Totals::default();
    let mut add = |metrics: &[MetricSecond]| {
        let info = info();
        let row = SeriesRow::default();
        let second =
            Second { info: &info, row: &row, measures: &[], errors: &[], metrics, probes: &[] };
        totals.add(second, &[])
    };
    add(&[
        metric("orders", "", 2, MetricValue::Sum(3.5)),
        metric("depth", "items", 1, MetricValue::Last(-7.0)),
    ]);
    let page = prometheus::render(&add(&[
        metric("orders", "", 1, MetricValue::Sum(1.0)),
        metric("cheap", "", 4, MetricValue::Hits(3)),
        metric("basket", "bytes", 2, MetricValue::Quantiles([29.0, 30.0, 30.5])),
    ]));
    let page: Vec<&str> = page.lines().filter(|line| line.starts_with("throng_metric")).collect();
    let page = page.join("\n").replace("run=\"the-run\",scenario=\"a \\\"scenario\\\"\",", "");
    expect![[r#"
        throng_metric_recorded_total{metric="orders"} 3
        throng_metric_recorded_total{metric="cheap"} 4
        throng_metric_recorded_total{metric="basket"} 2
        throng_metric_recorded_total{metric="depth"} 1
        throng_metric_sum_total{metric="orders",unit=""} 4.5
        throng_metric_true_total{metric="cheap"} 3
        throng_metric_last{metric="depth",unit="items"} -7
        throng_metric_quantile{metric="basket",unit="bytes",quantile="0.5"} 29
        throng_metric_quantile{metric="basket",unit="bytes",quantile="0.95"} 30
        throng_metric_quantile{metric="basket",unit="bytes",quantile="0.99"} 30.5"#]]
    .assert_eq(&page);
}

/// The lines that contain one of these names.
fn lines_with(text: &str, names: &[&str]) -> String {
    let lines = text.lines().filter(|line| names.iter().any(|name| line.contains(name)));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn prometheus_text_has_help_type_and_labels() {
    let mut totals = Totals::default();
    second(&mut totals, 2, true);
    // Counters keep their value, even for a measure without operations in this second.
    let page = prometheus::render(&second(&mut totals, 1, false));
    let names = ["errors_total", "throng_probe", "throng_lag", "export_dropped"];
    expect![[r#"
        # HELP throng_errors_total Operations of steps that failed, and steps that failed of themselves
        # TYPE throng_errors_total counter
        throng_errors_total{run="the-run",scenario="a \"scenario\""} 3
        # HELP throng_measure_errors_total Failed operations of a measure
        # TYPE throng_measure_errors_total counter
        throng_measure_errors_total{run="the-run",scenario="a \"scenario\"",measure="GET /\n\\"} 2
        # HELP throng_lag_seconds How late the generator was in the last second; quantile 1 is the largest
        # TYPE throng_lag_seconds gauge
        throng_lag_seconds{run="the-run",scenario="a \"scenario\"",quantile="0.5"} 0
        throng_lag_seconds{run="the-run",scenario="a \"scenario\"",quantile="0.99"} 0.0025
        throng_lag_seconds{run="the-run",scenario="a \"scenario\"",quantile="1"} 0
        # HELP throng_probe Last value of a probe, in the unit of its label
        # TYPE throng_probe gauge
        throng_probe{run="the-run",scenario="a \"scenario\"",role="redis",region="",source="h:1",via="redis",metric="used_memory",unit="B"} 1.5
        # HELP throng_export_dropped_total Seconds that an export dropped because it was too slow
        # TYPE throng_export_dropped_total counter
        throng_export_dropped_total{run="the-run",scenario="a \"scenario\"",to="otlp"} 4
    "#]]
    .assert_eq(&lines_with(&page, &names));
}

#[test]
fn tags_of_a_measure_are_labels() {
    let mut totals = Totals::default();
    let mut tagged = info();
    tagged.measures = vec![MeasureInfo {
        tags: [("area".to_owned(), "a \"b\"".to_owned())].into(),
        ..MeasureInfo::new("GET /a", "request")
    }];
    let measure = |name: &str| MeasureSecond {
        name: name.to_owned(),
        count: 3,
        completed: 3,
        errors: 0,
        response: Some([1, 2, 3].map(time)),
    };
    let measures = [measure("GET /a"), measure("GET /b")];
    let row = SeriesRow::default();
    let mut second = |measures| {
        let info = &tagged;
        let row = &row;
        let second = Second { info, row, measures, errors: &[], metrics: &[], probes: &[] };
        totals.add(second, &[])
    };
    second(&measures);
    // In a second without operations, too.
    let snapshot = second(&[]);
    expect![[r#"
        # HELP throng_measure_operations_total Operations of a measure that ended, successful or failed
        # TYPE throng_measure_operations_total counter
        throng_measure_operations_total{run="the-run",scenario="a \"scenario\"",measure="GET /a",area="a \"b\""} 3
        throng_measure_operations_total{run="the-run",scenario="a \"scenario\"",measure="GET /b"} 3
    "#]]
    .assert_eq(&lines_with(&prometheus::render(&snapshot), &["measure_operations"]));
    let attributes = otlp::render(&snapshot).to_string();
    assert!(
        attributes.contains(r#"{"key":"area","value":{"stringValue":"a \"b\""}}"#),
        "{attributes}"
    );
}

fn failed(measure: Option<u16>, kind: &str, detail: Option<&str>, count: u64) -> ErrorCount {
    ErrorCount {
        start_ns: 0,
        phase: 0,
        measure,
        own_step: measure.is_none().then(|| "`set` of `code`".to_owned()),
        kind: kind.to_owned(),
        detail: detail.map(str::to_owned),
        count,
    }
}

#[test]
fn failures_have_their_step_kind_and_detail_as_labels() {
    let mut totals = Totals::default();
    let mut info = info();
    info.measures = vec![MeasureInfo {
        // A tag may have the name of a label.
        tags: [("area", "shop"), ("kind", "read")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into(),
        ..MeasureInfo::new("GET /a", "request")
    }];
    let row = SeriesRow::default();
    let mut second = |errors: &[ErrorCount]| {
        let second =
            Second { info: &info, row: &row, measures: &[], errors, metrics: &[], probes: &[] };
        totals.add(second, &[])
    };
    let other_phase = ErrorCount { phase: 1, ..failed(Some(0), "status", Some("503"), 2) };
    second(&[
        failed(Some(0), "status", Some("503"), 3),
        other_phase,
        failed(Some(0), "timeout", None, 1),
    ]);
    let snapshot = second(&[failed(None, "step", None, 4), failed(Some(0), "timeout", None, 1)]);
    expect![[r#"
        # HELP throng_failures_total Failed operations by step, kind of failure and its detail, such as a status code
        # TYPE throng_failures_total counter
        throng_failures_total{run="the-run",scenario="a \"scenario\"",step="GET /a",kind="timeout",detail="",area="shop"} 2
        throng_failures_total{run="the-run",scenario="a \"scenario\"",step="`set` of `code`",kind="step",detail=""} 4
        throng_failures_total{run="the-run",scenario="a \"scenario\"",step="GET /a",kind="status",detail="503",area="shop"} 5
    "#]]
    .assert_eq(&lines_with(&prometheus::render(&snapshot), &["failures"]));
    let datagrams = statsd::render(&snapshot).join("\n");
    assert!(datagrams.contains("throng.failures.GET__a.timeout:1|c"), "{datagrams}");
    // A server invents details.
    for n in 0..1_000 {
        second(&[failed(Some(0), "check", Some(&format!("no. {n}")), 1)]);
    }
    let page = prometheus::render(&second(&[]));
    let series = page.lines().filter(|line| line.starts_with("throng_failures_total{"));
    assert_eq!(series.count(), ErrorCount::DISTINCT_MAX + 1);
    assert!(page.contains("detail=\"others\",area=\"shop\"} 803"), "{page}");
}

#[test]
fn statsd_lines_are_increments_and_gauges() {
    let mut totals = Totals::default();
    second(&mut totals, 2, true);
    let datagrams = statsd::render(&second(&mut totals, 1, true));
    assert!(datagrams.iter().all(|datagram| datagram.len() <= 1432));
    let names = ["errors", "response", "completed", "probe", "users:"];
    expect![[r"
        throng.users:7|g
        throng.operations_completed:0|c
        throng.errors:1|c
        throng.measure_completed.GET____:2|c
        throng.measure_errors.GET____:1|c
        throng.response_seconds.GET____.0_5:0.001|g
        throng.response_seconds.GET____.0_95:0.002|g
        throng.response_seconds.GET____.0_99:0.003|g
        throng.response_bound.GET____.0_5:0|g
        throng.response_bound.GET____.0_95:0|g
        throng.response_bound.GET____.0_99:1|g
        throng.probe.redis.h_1.redis.used_memory.B:1.5|g
    "]]
    .assert_eq(&lines_with(&datagrams.join("\n"), &names));
}

#[test]
fn opentelemetry_reads_it() {
    let mut totals = Totals::default();
    let request = otlp::render(&second(&mut totals, 2, true));
    let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let find = |name: &str| {
        let mut all = metrics.as_array().unwrap().iter();
        all.find(|metric| metric["name"] == name).unwrap()
    };
    expect![[r#"{"name":"throng_errors_total","description":"Operations of steps that failed, and steps that failed of themselves","unit":"1","sum":{"dataPoints":[{"attributes":[],"timeUnixNano":"1000001000","asDouble":2.0,"startTimeUnixNano":"1000"}],"aggregationTemporality":2,"isMonotonic":true}}"#]]
    .assert_eq(&find("throng_errors_total").to_string());
    expect![[r#"{"name":"throng_users","description":"Users that have started and not finished","unit":"1","gauge":{"dataPoints":[{"attributes":[],"timeUnixNano":"1000001000","asDouble":7.0}]}}"#]]
    .assert_eq(&find("throng_users").to_string());
}

const REFERENCE: &str = include_str!("../../../../../docs/exports.md");
const DASHBOARD: &str = include_str!("../../../../../examples/grafana/throng.json");

#[test]
fn the_reference_has_every_name() {
    for metric in metrics::ALL {
        let kind = format!("{:?}", metric.kind).to_lowercase();
        let row = format!("| `{}` | {kind} | ", metric.name);
        assert!(REFERENCE.contains(&row), "docs/exports.md has no row {row:?}");
        assert!(REFERENCE.contains(metric.help), "{}", metric.help);
    }
}

#[test]
fn the_dashboard_uses_names_that_there_are() {
    serde_json::from_str::<serde_json::Value>(DASHBOARD).unwrap();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut used = 0;
    for (at, _) in DASHBOARD.match_indices("throng_") {
        let rest = &DASHBOARD[at..];
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap()];
        assert!(
            metrics::ALL.iter().any(|metric| metric.name == name),
            "the dashboard uses {name}, which is no metric"
        );
        used += 1;
    }
    assert!(used > 20, "only {used} names found");
}
