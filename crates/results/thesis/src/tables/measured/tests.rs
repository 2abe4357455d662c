use std::collections::BTreeMap;

use record::import::{ReportedMeasure, ReportedPercentile};
use record::probes::ProbeRow;
use record::schema::FORMAT_VERSION;
use record::{ProbeInfo, Probes};

use super::*;
use crate::tables::agreement::{Agreement, agree};

const MINUTE_NS: i64 = 60_000_000_000;

/// CPU and incoming bytes of these sources (role, source), minute by minute; `None`: no row.
fn probes(sources: &[(&str, &str, &[Option<f64>])]) -> Probes {
    let mut probes = Probes::default();
    for (metric, scale) in [("CPUUtilization", 1.0), ("NetworkIn", MIB)] {
        for (role, source, values) in sources {
            let probe = u32::try_from(probes.list.len()).unwrap();
            probes.list.push(ProbeInfo {
                role: (*role).to_owned(),
                region: "eu".to_owned(),
                source: (*source).to_owned(),
                metric: metric.to_owned(),
                unit: String::new(),
                via: String::new(),
            });
            let rows = values.iter().zip(0..).filter_map(|(value, minute)| {
                let at_ns = minute * MINUTE_NS;
                value.map(|value| ProbeRow { at_ns, probe, value: value * scale })
            });
            probes.rows.extend(rows);
        }
    }
    probes
}

/// One client whose measures have these (place, mean in ms, 90th and 98th percentile in ms).
fn import(measures: &[(u16, u64, [u64; 2])]) -> Import {
    let ns = |ms: u64| ms * 1_000_000;
    let measures = measures.iter().map(|(measure, mean, percentiles)| {
        let labelled = ["90%", "98%"].into_iter().zip(percentiles);
        let percentiles = labelled.map(|(label, &ms)| ReportedPercentile {
            label: label.to_owned(),
            share: None,
            value_ns: ns(ms),
        });
        ReportedMeasure {
            measure: *measure,
            count: 10,
            mean_ns: ns(*mean) as f64,
            deviation_ns: 0.0,
            min_ns: ns(1),
            median_ns: ns(*mean),
            max_ns: ns(1_000_000),
            percentiles: percentiles.collect(),
        }
    });
    let client = ClientReport {
        region: "eu".to_owned(),
        host: "10.0.0.1".to_owned(),
        users_planned: 10,
        online_ns: 1,
        connected: 10,
        disconnected: 0,
        failed: 0,
        errors: BTreeMap::new(),
        measures: measures.collect(),
    };
    Import {
        format: FORMAT_VERSION,
        layout: String::new(),
        source: String::new(),
        resolution_ns: 1,
        repairs: Vec::new(),
        absent: Vec::new(),
        unreachable: Vec::new(),
        clients: vec![client],
    }
}

fn results(import: Import, probes: Probes) -> Results {
    Results { name: "run".to_owned(), import, probes }
}

/// Two servers of 4 cores, a database of 2 and its replica of 1, of which the replica was left out.
fn system() -> super::super::System {
    let json = r#"{
        "id": "run", "name": "run", "start": null,
        "cores": { "servers": 4, "mysql": 1, "mysql/master": 2 },
        "as_printed": {
            "without": "replica", "words": "without the replica",
            "cores": { "servers": 4, "mysql": 4 }, "cores_total": 10, "cpu_words": "by ten"
        }
    }"#;
    serde_json::from_str(json).unwrap()
}

/// How a printed figure agrees, and what was computed.
fn check(system: &System<'_>, id: &str, printed: &str) -> (f64, Agreement) {
    let reading = system.reading(id).unwrap();
    let agreement = agree(Some(printed), Some(&reading));
    (reading.value, agreement)
}

fn note(agreement: Agreement) -> String {
    match agreement {
        Agreement::Differs { note, .. } => note.unwrap_or_default(),
        agreement => panic!("{agreement:?}"),
    }
}

#[test]
fn cpu_is_weighted_with_the_cores_of_each_source() {
    let sources: [(&str, &str, &[Option<f64>]); 4] = [
        ("servers", "a", &[Some(10.0), Some(20.0)]),
        ("servers", "b", &[Some(10.0), None]),
        ("mysql", "master", &[Some(15.0), Some(30.0)]),
        ("mysql", "replica", &[Some(50.0), Some(50.0)]),
    ];
    let system = system();
    let results = results(import(&[]), probes(&sources));
    let system = System::new(&results, &system, 2);
    // (4·10 + 4·10 + 2·15 + 1·50)/11 in the one minute that all report.
    let (cpu, agreement) = check(&system, "cpu-avg", "14.5455");
    assert!((cpu - 160.0 / 11.0).abs() < 1e-12);
    assert_eq!(agreement, Agreement::Rounded);
    // As printed: (4·10 + 4·10 + 4·15)/10 = 14 and (4·20 + 0 + 4·30)/10 = 20.
    let (_, agreement) = check(&system, "cpu-avg", "17.00");
    assert_eq!(note(agreement), "it does follow by ten");
    let (_, agreement) = check(&system, "cpu-max", "20.00");
    assert_eq!(note(agreement), "it does follow by ten");
    let (cores, agreement) = check(&system, "cores", "10");
    assert_eq!(cores, 11.0);
    assert_eq!(note(agreement), "it does follow without the replicas of MySQL");
}

#[test]
fn a_source_that_the_print_omits_is_named() {
    let sources: [(&str, &str, &[Option<f64>]); 3] = [
        ("servers", "a", &[Some(10.0), Some(20.0)]),
        ("mysql", "master", &[Some(15.0), None]),
        ("mysql", "replica", &[Some(50.0), Some(50.0)]),
    ];
    let system = system();
    let results = results(import(&[]), probes(&sources));
    let system = System::new(&results, &system, 2);
    // A minute in which a source has no row is no idle minute of the network.
    assert_eq!(check(&system, "in-avg", "75").1, Agreement::Rounded);
    let (_, agreement) = check(&system, "in-avg", "25");
    assert_eq!(note(agreement), "it does follow without the replica");
}

#[test]
fn exchanged_measures_and_other_percentiles_are_named() {
    let measures = [(0, 700, [800, 900]), (1, 80, [90, 110]), (2, 100, [252, 314])];
    let system = system();
    let results = results(import(&measures), Probes::default());
    let system = System::new(&results, &system, 2);
    let words = |id, printed| note(check(&system, id, printed).1);
    assert_eq!(check(&system, "request-avg", "80").1, Agreement::Rounded);
    assert_eq!(words("request-avg", "700"), "it does follow from the handshakes");
    assert_eq!(words("handshake-avg", "80"), "it does follow from the requests");
    assert_eq!(words("handshake-p98", "110"), "it does follow from the requests");
    assert_eq!(
        words("broadcast-p98", "252"),
        "it does follow with the 90th percentile in place of the 98th"
    );
    assert_eq!(words("broadcast-p98", "253"), "");
    // No latency but the percentile is compared with other percentiles.
    assert_eq!(words("broadcast-avg", "252"), "");
    assert!(system.reading("cores").is_none(), "no source reported CPU");
}
