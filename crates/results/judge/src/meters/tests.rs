use record::probes::{ProbeInfo, ProbeRow};
use scenario::document::Source;

use super::*;
use crate::sample::{self, MS};

fn meters(text: &str) -> Meters {
    let source = Source { name: "meters.yaml", text };
    let (meters, diagnostics) = scenario::document::meters(source);
    meters.unwrap_or_else(|| panic!("{}", scenario::document::render(&diagnostics, source)))
}

/// A run of a minute with 6,000 requests of 10 ms, and two servers whose CPU was reported thrice.
fn run(name: &str) -> Subject {
    let figures = sample::figures();
    let summary = crate::judge_figures(&figures, &[], false);
    let probe = |role: &str, metric: &str| ProbeInfo {
        role: role.to_owned(),
        region: String::new(),
        source: "a".to_owned(),
        metric: metric.to_owned(),
        via: String::new(),
        unit: if metric == "cpu" { "%" } else { "MiB" }.to_owned(),
    };
    let list = vec![
        probe("servers", "cpu"),
        probe("store", "cpu"),
        probe("servers", "used"),
        probe("servers", "free"),
    ];
    let mut rows = Vec::new();
    for (second, values) in [
        (-10, [99.0; 4]),
        (0, [10.0, 40.0, 1.0, 4.0]),
        (10, [20.0, 80.0, 2.0, 4.0]),
        (20, [30.0, 30.0, 3.0, 4.0]),
        (600, [99.0; 4]),
    ] {
        for (probe, value) in (0u32..).zip(values) {
            rows.push(ProbeRow { at_ns: second * 1_000_000_000, probe, value });
        }
    }
    // At one moment a source is silent.
    rows.push(ProbeRow { at_ns: 30_000_000_000, probe: 0, value: 99.0 });
    Subject {
        name: name.to_owned(),
        hosts: Vec::new(),
        figures,
        summary,
        probes: Probes { list, rows },
        import: None,
        cost: None,
    }
}

fn only(text: &str, run: &Subject) -> MeterValue {
    let found = meter(&meters(text), std::slice::from_ref(run)).unwrap();
    found[0].meters[0].clone()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn a_meter_is_the_area_of_its_polygon() {
    let text = "meters: { M: { scale: 10, inputs: [ { value: 1 }, { value: 2 }, { value: 3 }, { \
        value: 4 } ] } }";
    let found = only(text, &run("a"));
    // ½·sin 90°·(1·2 + 2·3 + 3·4 + 4·1) = 12; the orders 1 2 4 3 and 1 3 2 4 give 10.5 and 12.5 …
    near(found.published.mean, 120.0);
    assert_eq!(found.published.worst, found.published.best);
    near(found.orders.0, 105.0);
    near(found.orders.1, 125.0);
    // ((1+2+3+4)² − (1+4+9+16))/3/2.
    near(found.order_free, 10.0 * 70.0 / 6.0);
    // The input 4 stands between 3 and 1: 4·(3 + 1)/24.
    near(found.inputs[3].elasticity.unwrap(), 16.0 / 24.0);
    near(found.normalised.unwrap(), 1.0);
}

#[test]
fn moments_are_those_at_which_all_sources_reported() {
    let text = "meters:
  CRUM:
    states: moments
    inputs:
      - { name: cpu, probe: cpu, weigh: { servers: 3, store: 1 } }
      - { name: memory, probe: used, per: free, scale: 100 }
      - { name: sum, probe: { used: 1, free: 1 } }
";
    let found = only(text, &run("a"));
    assert_eq!(found.moments, Some(3));
    let cpu = found.inputs[0].radius;
    // (3·10 + 40)/4, (3·20 + 80)/4, (3·30 + 30)/4.
    assert_eq!((cpu.worst, cpu.best), (17.5, 35.0));
    near(cpu.mean, (17.5 + 35.0 + 30.0) / 3.0);
    let memory = found.inputs[1].radius;
    assert_eq!((memory.worst, memory.mean, memory.best), (25.0, 50.0, 75.0));
    let area = |a: f64, b: f64, c: f64| 0.75f64.sqrt() / 2.0 * (a * b + b * c + c * a);
    let areas = [area(17.5, 25.0, 5.0), area(35.0, 50.0, 6.0), area(30.0, 75.0, 7.0)];
    near(found.published.worst, areas[0]);
    near(found.published.best, areas[2]);
    near(found.published.mean, areas.iter().sum::<f64>() / 3.0);
    // Three inputs have one order.
    near(found.orders.0, found.published.mean);
    near(found.order_free, found.published.mean);
}

/// A host that is read at whole seconds, and a process that is read a quarter of a second later. Both are read until
/// 4 s, the process from `second` on.
fn read_apart(second: i64) -> Subject {
    let probe = |via: &str, metric: &str, unit: &str| ProbeInfo {
        role: via.to_owned(),
        region: String::new(),
        source: "web-1".to_owned(),
        metric: metric.to_owned(),
        via: via.to_owned(),
        unit: unit.to_owned(),
    };
    let list = vec![
        probe("host", "memory_used", "%"),
        probe("process", "cpu", "%"),
        probe("process", "memory_resident", "B"),
    ];
    let mut rows = Vec::new();
    for at in 0..=4 {
        let value = (at + 1) as f64;
        let at_ns = at * 1_000_000_000;
        rows.push(ProbeRow { at_ns, probe: 0, value: 10.0 * value });
        let at_ns = (at + second) * 1_000_000_000 + 250_000_000;
        rows.push(ProbeRow { at_ns, probe: 1, value: 100.0 * value });
        rows.push(ProbeRow { at_ns, probe: 2, value: 1_000.0 * value });
    }
    Subject { probes: Probes { list, rows }, ..run("a") }
}

const APART: &str = "meters:
  CRUM:
    states: moments
    inputs:
      - { name: used, probe: memory_used }
      - { name: cpu, probe: cpu }
      - { name: resident, probe: memory_resident }
";

#[test]
fn sources_that_are_read_at_different_times_are_joined() {
    let found = only(APART, &read_apart(0));
    // At 1 s: a quarter of the second before with 100 % and the rest with 200 %; three quarters of the way from 1,000 B
    // to 2,000 B. At 0 s nothing was known of the process.
    assert_eq!(found.moments, Some(4));
    assert_eq!(found.moments_of.as_deref(), Some("host web-1"));
    let radius = |input: usize| {
        let Extremes { worst, mean, best } = found.inputs[input].radius;
        (worst, mean, best)
    };
    assert_eq!(radius(0), (10.0, 30.0, 50.0));
    assert_eq!(radius(1), (175.0, 325.0, 475.0));
    assert_eq!(radius(2), (1_750.0, 3_250.0, 4_750.0));
    let joinings: Vec<Option<Joining>> = found.inputs.iter().map(|input| input.joining).collect();
    assert_eq!(joinings, [None, Some(Joining::Carried), Some(Joining::Interpolated)]);
    let area = |a: f64, b: f64, c: f64| 0.75f64.sqrt() / 2.0 * (a * b + b * c + c * a);
    near(found.published.worst, area(20.0, 175.0, 1_750.0));
    near(found.published.best, area(50.0, 475.0, 4_750.0));
}

#[test]
fn metrics_of_one_input_are_joined_each_by_its_kind() {
    let text = "meters: { M: { inputs: [ { probe: { memory_used: 1, cpu: 1, memory_resident: 1 } }, { value: 1 }, \
        { value: 1 } ] } }";
    let found = only(text, &read_apart(0));
    assert_eq!((found.moments, found.moments_of), (None, None));
    assert_eq!(found.inputs[0].radius.worst, 20.0 + 175.0 + 1_750.0);
    assert_eq!(found.inputs[0].joining, Some(Joining::Mixed));
}

#[test]
fn sources_that_were_never_read_in_the_same_part_of_a_run_have_no_moment() {
    let error = meter(&meters(APART), &[read_apart(30)]).unwrap_err().to_string();
    assert!(error.ends_with("never all reported in the same part of the run"), "{error}");
}

#[test]
fn a_large_input_drowns_the_published_form_and_not_the_normalised_one() {
    let text = "meters:
  SPM:
    inputs:
      - { name: latency, figure: mean(request), unit: ms, invert: true }
      - { name: users, value: { good: 100, bad: 90 } }
      - { name: bytes, value: { good: 1000000, bad: 3000000 }, weight: 0.5 }
";
    let mut slow = run("bad");
    slow.figures = Figures::new(sample::info(), Vec::new(), Vec::new());
    sample::succeed(&mut slow.figures, 0, sample::REQUEST, 10, 1000 * MS, 0);
    let found = meter(&meters(text), &[run("good"), slow]).unwrap();
    let [good, bad] = [&found[0].meters[0], &found[1].meters[0]];
    assert!(
        bad.published.mean > 2.0 * good.published.mean,
        "the published form prefers the slow one"
    );
    assert!(good.inputs[0].elasticity.unwrap() < 0.01);
    near(good.normalised.unwrap(), 1.0);
    // (0.01¹ · 0.9¹ · 3^½)^(1/2.5)
    let normalised = (0.01f64 * 0.9 * 3f64.sqrt()).powf(0.4);
    assert!(
        (bad.normalised.unwrap() / normalised - 1.0).abs() < 1e-3,
        "{:?} is not {normalised}",
        bad.normalised
    );
    near(bad.inputs[2].weight, 0.2);
}

#[test]
fn the_reference_may_be_any_run_and_meters_may_be_inputs() {
    let text = "reference: b
meters:
  SLM: { inputs: [ { value: { a: 1, b: 2 } }, { value: { a: 1, b: 2 } }, { value: { a: 1, b: 2 } } ] }
  SPM: { inputs: [ { value: 1 }, { value: 1 }, { value: 1 } ] }
  SEC: { inputs: [ { meter: SLM }, { meter: SPM }, { meter: SLM, better: lower } ] }
";
    let found = meter(&meters(text), &[run("a"), run("b")]).unwrap();
    near(found[0].meters[0].normalised.unwrap(), 0.5);
    near(found[1].meters[0].normalised.unwrap(), 1.0);
    // Half as much load is twice as good where less is better: both meet in 1.
    near(found[0].meters[2].normalised.unwrap(), 1.0);
    let slm = 0.75f64.sqrt() / 2.0 * 3.0;
    near(found[0].meters[2].inputs[0].radius.mean, slm);
    let sec = |slm: f64, spm: f64| 0.75f64.sqrt() / 2.0 * (2.0 * slm * spm + slm * slm);
    near(found[1].ess.unwrap(), 4.0 / (sec(4.0 * slm, slm) / sec(slm, slm)));
    assert_eq!((found[0].ess, found[0].esr, found[0].ess_ranges), (Some(1.0), Some(0.0), None));
}

#[test]
fn what_cannot_be_taken_is_reported_with_its_place() {
    let check = |input: &str, why: &str| {
        let text =
            format!("meters: {{ M: {{ inputs: [ {input}, {{ value: 1 }}, {{ value: 1 }} ] }} }}");
        let error = meter(&meters(&text), &[run("a")]).unwrap_err().to_string();
        assert!(error.starts_with("M, input \"it\", run \"a\": "), "{error}");
        assert!(error.contains(why), "{error}");
    };
    check("{ name: it, figure: mean(requests) }", "nothing is measured as `requests`");
    check("{ name: it, figure: mean(connect) }", "nothing was measured for mean(connect)");
    check(
        "{ name: it, probe: disk }",
        "no server reported \"disk\"; reported metrics: cpu, free, used",
    );
    check(
        "{ name: it, value: { b: 1 } }",
        "the meters file has no value for this run; it has values for b",
    );
    check("{ name: it, cost: hours-per-dollar }", "require a price list (--prices)");
    check(
        "{ name: it, probe: used, unit: ms }",
        "it is in \"MiB\", which cannot be converted to \"ms\"",
    );
    check("{ name: it, value: -1 }", "-1 is not a radius: it must be finite and at least 0");
    check(
        "{ name: it, value: 0, invert: true }",
        "inf is not a radius: it must be finite and at least 0",
    );
    let nowhere = meters("reference: c\nmeters: {}");
    let error = meter(&nowhere, &[run("a"), run("b")]).unwrap_err().to_string();
    assert_eq!(error, "there is no reference run \"c\"; the runs are a, b");
}

#[test]
fn imported_percentiles_are_taken_at_their_upper_bound() {
    let mut imported = run("a");
    imported.import = Some(sample::import());
    imported.figures.info.measures[0].name = "handshake".to_owned();
    let text = "meters:
  M:
    inputs:
      - { figure: mean(handshake), worst: p98(handshake), best: min(handshake), unit: ms }
      - { figure: count(handshake) }
      - { figure: connected_users }
";
    let found = only(text, &imported);
    let latency = found.inputs[0].radius;
    assert_eq!((latency.worst, latency.mean, latency.best), (50.0, 25.0, 5.0));
    assert_eq!(found.inputs[1].radius.mean, 400.0);
}

#[test]
fn a_lower_bound_is_no_radius() {
    let of = |figure: &str, run: &Subject| {
        let text = format!(
            "meters: {{ M: {{ inputs: [ {{ figure: {figure} }}, {{ value: 2 }}, {{ value: 3 }} ] }} }}"
        );
        meter(&meters(&text), std::slice::from_ref(run))
    };
    let mut run = run("a");
    assert!(of("p99(request)", &run).is_ok());
    // 600 requests waited for a second without an answer.
    let cell = run.figures.cell_mut(0, sample::REQUEST).unwrap();
    cell.unanswered.record_n(1_000 * MS, 600);
    let error = of("p99(request)", &run).unwrap_err().to_string();
    assert!(error.contains("p99(request) is only known to be at least its value"), "{error}");
    assert!(of("p99(request.succeeded)", &run).is_ok() && of("p50(request)", &run).is_ok());
}

/// A run in a lab with two hosts of a system and one of another, which are read every second for three seconds.
fn in_a_lab() -> Subject {
    let probe = |metric: &str, host: &str, key: &str, unit: &str| ProbeInfo {
        role: "lab".to_owned(),
        region: String::new(),
        source: "lab".to_owned(),
        metric: format!("{metric}{{host=\"{host}\",key=\"{key}\",region=\"eu\"}}"),
        via: String::new(),
        unit: unit.to_owned(),
    };
    let list = vec![
        probe("lab_host_cpu_seconds_total", "api-eu", "api", "s/s"),
        probe("lab_host_cpu_seconds_total", "store", "store", "s/s"),
        probe("lab_host_cpu_seconds_total", "other", "other", "s/s"),
        probe("lab_host_sent_bytes_total", "api-eu", "api", "B/s"),
        probe("lab_host_sent_bytes_total", "store", "store", "B/s"),
    ];
    let values = [0.25, 0.5, 4.0, 1_048_576.0, 3.0 * 1_048_576.0];
    let readings = (1..=3).flat_map(|second| {
        let readings = (0u32..).zip(values);
        readings.map(move |(probe, value)| ProbeRow { at_ns: second * 1_000_000_000, probe, value })
    });
    Subject {
        probes: Probes { list, rows: readings.collect() },
        hosts: vec!["api".to_owned(), "store".to_owned()],
        ..run("a")
    }
}

#[test]
fn metrics_with_labels_are_added_up_over_the_hosts_of_the_system() {
    let text = "meters:
  CRUM:
    states: moments
    inputs:
      - { name: cpu, probe: lab_host_cpu_seconds_total }
      - { name: network, probe: lab_host_sent_bytes_total, unit: MiB/s }
      - { name: both, probe: { lab_host_cpu_seconds_total: 2, lab_host_sent_bytes_total: 0 } }
";
    let found = only(text, &in_a_lab());
    assert_eq!(found.moments, Some(3));
    let means: Vec<f64> = found.inputs.iter().map(|input| input.radius.mean).collect();
    assert_eq!(means, [0.75, 4.0, 1.5]);
    // Without hosts of its own, a run has all of them.
    let all = Subject { hosts: Vec::new(), ..in_a_lab() };
    assert_eq!(only(text, &all).inputs[0].radius.mean, 4.75);
}

#[test]
fn each_host_of_a_lab_has_what_it_used() {
    let text = "meters: { M: { inputs: [ { value: 1 }, { value: 1 }, { value: 1 } ] } }";
    let found = meter(&meters(text), &[in_a_lab()]).unwrap();
    let hosts = &found[0].hosts;
    let names: Vec<&str> = hosts.iter().map(|host| host.host.as_str()).collect();
    assert_eq!(names, ["api-eu", "store"]);
    assert_eq!(
        (hosts[0].cpu, hosts[0].sent, hosts[0].memory),
        (Some(0.25), Some(1_048_576.0), None)
    );
    assert_eq!(hosts[1].region, "eu");
    let elsewhere = meter(&meters(text), &[run("a")]).unwrap();
    assert_eq!(elsewhere[0].hosts, []);
}

#[test]
fn sources_are_weighted_by_their_own_name_before_their_role_and_by_run() {
    let text = "meters:
  CRUM:
    states: moments
    inputs:
      - { name: cpu, probe: cpu, weigh: { servers: 1, a: { servers: 1, store: 9, store/a: 3 }, b: { store: 1 } } }
      - { name: used, probe: used }
      - { name: free, probe: free }
";
    // Its own weights, and of the store the source's; at 20 s (30 + 3·30)/4.
    let cpu = |name: &str| only(text, &run(name)).inputs[0].radius.worst;
    near(cpu("a"), 30.0);
    near(only(text, &run("a")).inputs[0].radius.best, (20.0 + 3.0 * 80.0) / 4.0);
    near(cpu("b"), 30.0);
    // No run of its name: the weights of all.
    near(cpu("c"), 10.0);
    let only_a = text.replace("servers: 1, a:", "a:").replace(", b: { store: 1 }", "");
    let error = meter(&meters(&only_a), &[run("c")]).unwrap_err().to_string();
    assert!(error.ends_with("no weights for this run; it has weights for a"), "{error}");
}
