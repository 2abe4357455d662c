//! Imported results: read, shown, metered, and the thesis's tables computed again.

use std::path::PathBuf;

use ::thesis::{Agreement, ReproducedCell, Reproduction, Results, Settings};
use record::Run;
use record::schema::Summary;
use testkit::needs::shared_data;

use crate::support::{Ended, Space, golden, root, throng};

/// Small results of our own making with every fault that is known.
const FAULTY: &str = "testdata/import/results";

/// The published results, where they are.
fn published() -> Option<PathBuf> {
    shared_data("thesis-results")
}

fn import(space: &Space, results: &str) -> Ended {
    let runs = space.path("runs");
    Ended::of(
        throng(["import", results, "--start", "2015-07-31T15:01", "--runs"])
            .arg(runs)
            .current_dir(root()),
    )
}

#[test]
fn every_fault_of_imported_results_is_counted() {
    let space = Space::new();
    let ended = import(&space, FAULTY).with(0);
    let directory = space.path("runs").display().to_string();
    golden("import-faulty", &ended.out.replace(&directory, "runs"));
    let run = Run::open(&space.directories()[0]).unwrap();
    assert!(run.is_complete());
    let import = run.import().unwrap().unwrap();
    assert_eq!((import.clients.len(), import.unreachable.len()), (4, 2));
    // Probes report from before the start, too, and once each minute.
    let probes = run.probes().unwrap();
    assert_eq!(probes.rows[0].at_ns, -60_000_000_000);
    assert_eq!(probes.rows.len(), 4 * 5 + 6 + 1);
    let shown = Ended::of(throng(["show"]).arg(run.path())).with(0);
    assert!(ended.out.starts_with(&shown.out), "{}\n---\n{}", ended.out, shown.out);
    let json = Ended::of(throng(["show", "--json"]).arg(run.path())).with(0);
    let summary: Summary = serde_json::from_str(&json.out).unwrap();
    assert!(!json.out.contains("\"health\":"), "unknown values are not shown");
    assert_eq!(summary.users.connected, 4 * 19);
}

#[test]
fn results_are_imported_once() {
    let space = Space::new();
    import(&space, FAULTY).with(0);
    import(&space, FAULTY).with(73).stderr_contains("these results have already been imported");
}

#[test]
fn unreadable_results_are_refused() {
    let space = Space::new();
    import(&space, "testdata/scenarios").with(65).stderr_contains("contains no known results");
    import(&space, "testdata/nowhere").with(66).stderr_contains("cannot read");
    let empty = space.path("clients/eu/10.0.0.1");
    std::fs::create_dir_all(&empty).unwrap();
    std::fs::write(empty.join("1"), "no report").unwrap();
    let ended = Ended::of(throng(["import"]).arg(space.path(""))).with(65);
    ended.stderr_contains("none contains a report; the first: eu/10.0.0.1: it contains no report");
    Ended::of(&mut throng(["import", "x", "--start", "yesterday"]))
        .with(64)
        .stderr_contains("is not a time in UTC");
    let several = space.path("several");
    for name in ["a", "b"] {
        std::fs::create_dir_all(several.join(name).join("clients")).unwrap();
    }
    let mut command = throng(["import", "--start", "2015-07-31T15:36"]);
    Ended::of(command.arg(several))
        .with(64)
        .stderr_contains("contains the results of 2 runs, but --start applies to one");
    Ended::of(throng(["reproduce", "thesis"]).arg(root().join(FAULTY)))
        .with(65)
        .stderr_contains("contains no results of the thesis");
}

#[test]
fn meters_and_cost_of_imported_results() {
    let space = Space::new();
    import(&space, FAULTY).with(0);
    let run = space.directories().remove(0);
    let files =
        ["meters.yaml", "prices.yaml"].map(|file| root().join("testdata/meters").join(file));
    let mut command = throng(["meters"]);
    command.arg(&run).arg("--meters").arg(&files[0]).arg("--prices").arg(&files[1]);
    let ended = Ended::of(&mut command).with(0);
    golden("meters-imported", &ended.out);

    // A price list that does not know the run's system.
    let prices = root().join("examples/prices/aws-2015.yaml");
    let mut command = throng(["meters"]);
    command.arg(&run).arg("--meters").arg(&files[0]).arg("--prices").arg(prices);
    Ended::of(&mut command).with(65).stderr_contains("the price list has no system \"results\"");
    // No price list at all.
    let mut command = throng(["meters"]);
    command.arg(&run).arg("--meters").arg(&files[0]);
    Ended::of(&mut command).with(65).stderr_contains("hours per dollar require a price list");
    let mut command = throng(["meters"]);
    command.arg(space.path("")).arg("--meters").arg(&files[0]);
    Ended::of(&mut command).with(66).stderr_contains("is not a run directory");
}

#[test]
fn meters_of_a_run_of_our_own() {
    let space = Space::new();
    let fans = crate::runs::FANS
        .replace("save: { pool: /pool } }", "save: { pool: /pool }, as: request }");
    let fans = fans + "probes: [ host, { process: target, role: market } ]\n";
    Ended::of(&mut space.run_text(&fans, &["--set", "arrivals.1.hold=2s"])).with(0);
    let meters = root().join("examples/meters/runs.yaml");
    let mut command = throng(["meters"]);
    command.args(space.directories()).arg("--meters").arg(meters);
    let ended = Ended::of(&mut command).with(0);
    ended.stdout_contains("fans the reference of the normalised form");
    let connected = ended.out.lines().find(|line| line.contains("connected")).unwrap();
    assert!(connected.contains(" 20.0000 "), "{connected}");
    // The two sources are queried by threads of their own, which have no moment in common.
    let crum = ended.out.lines().find(|line| line.contains("CRUM (")).unwrap();
    assert!(crum.contains("moment"), "{crum}");
    ended.stdout_contains("CRUM: sources read at different times are compared at the moments of ");
}

#[test]
fn a_missing_price_is_reported_with_its_position() {
    let meters = root().join("testdata/meters");
    let mut command =
        throng(["meters", "nowhere", "--meters", "meters.yaml", "--prices", "missing.yaml"]);
    let ended = Ended::of(command.current_dir(meters)).with(65);
    golden("missing-price", &ended.err);
}

/// The figure of a system in a row of a table.
fn cell(reproduction: &Reproduction, table: &str, row: &str, system: usize) -> ReproducedCell {
    let table = reproduction.tables.iter().find(|found| found.number == table).unwrap();
    let row = table.rows.iter().find(|found| found.name == row).unwrap();
    row.cells[system].clone()
}

fn results(path: &std::path::Path) -> Results {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let settings = Settings {
        started_unix_ns: ::thesis::start(&name).map(|start| ::thesis::parse_time(start).unwrap()),
        version: String::new(),
    };
    let imported = ::thesis::read(path, &settings).unwrap();
    Results { name, import: imported.import, probes: imported.probes }
}

/// What must follow does, and what does not is marked.
#[test]
fn the_tables_of_the_thesis_follow_from_its_results() {
    let Some(data) = published() else { return };
    let found = ::thesis::systems().into_iter();
    let found: Vec<Results> = found.map(|name| results(&data.join(name))).collect();
    let reproduction = ::thesis::reproduce(&found);
    let is = |table: &str, row: &str, system: usize| {
        let cell = cell(&reproduction, table, row, system);
        assert!(cell.printed.is_some(), "{row}");
        cell.agreement
    };
    let follows = |table: &str, row: &str, system: usize| {
        let agreement = is(table, row, system);
        let digits = matches!(agreement, Agreement::Rounded | Agreement::CutOff);
        assert!(digits, "table {table}, {row}, system {system}: {agreement:?}");
    };
    for system in [0, 1] {
        follows("8.5", "successful connections", system);
        follows("8.5", "handled requests", system);
        for measure in ["handshake", "request", "broadcast"] {
            for figure in
                ["least", "weighted mean", "pooled deviation", "98th percentile", "greatest"]
            {
                follows("8.4", &format!("{measure} {figure}"), system);
            }
        }
        follows("8.3", "CRUM avg", system);
        follows("8.3", "CRUM max", system);
        for row in ["SPM min", "SPM avg"] {
            assert_eq!(is("8.4", row, system), Agreement::WithinRounding, "{row}");
        }
        follows("8.7", "SEC min", system);
        follows("8.8", "ESS", system);
    }
    assert_eq!(is("8.3", "CRUM min", 0), Agreement::WithinRounding);
    follows("8.3", "CRUM min", 1);
    follows("8.7", "SEC avg", 0);
    let differs = |table: &str, row: &str, system: usize, words: &str| {
        let Agreement::Differs { note, .. } = is(table, row, system) else {
            panic!("table {table}, {row}, system {system} is not marked");
        };
        assert!(note.unwrap_or_default().contains(words), "{row}: {words}");
    };
    for system in [0, 1, 2] {
        differs("8.5", "SLM / 10^12", system, "the order of the four inputs");
        let words = "98th percentiles in place of the least";
        differs("8.4", "SPM max", system, words);
    }
    differs("8.3", "memory avg", 0, "");
    differs("8.7", "SEC avg", 1, "CRUM max in place of CRUM avg");
    differs("8.9", "broadcast, Oregon", 0, "clients of N. Virginia");
    differs("8.6", "data out", 0, "before and after the run");
    proposed_2(&reproduction);
    let values = |row: &str| cell(&reproduction, "8.3", row, 0).computed.unwrap();
    assert!((values("CRUM min") - 56.826).abs() < 5e-4);
    assert!((values("memory avg") - 13.39652).abs() < 5e-6);
}

/// Of proposed II: what follows, and from what else the other figures follow. The figures themselves
/// were computed from the same files by another program (Python, CSV and regular expressions).
fn proposed_2(reproduction: &Reproduction) {
    let is = |table: &str, row: &str| cell(reproduction, table, row, 2).agreement;
    for row in ["memory", "disk"]
        .iter()
        .flat_map(|what| ["min", "avg", "max"].map(|which| format!("{what} {which}")))
    {
        assert_eq!(is("8.3", &row), Agreement::Rounded, "{row}");
    }
    let latencies = reproduction.tables.iter().find(|t| t.number == "8.9");
    for row in &latencies.unwrap().rows {
        let agreement = &row.cells[2].agreement;
        let digits = matches!(agreement, Agreement::Rounded | Agreement::CutOff);
        assert!(digits, "{}: {agreement:?}", row.name);
    }
    let differs = |table: &str, row: &str, value: f64, words: &str| {
        let cell = cell(reproduction, table, row, 2);
        let apart = (cell.computed.unwrap() / value - 1.0).abs();
        assert!(apart < 5e-7, "{row}: {:?}", cell.computed);
        let Agreement::Differs { note, .. } = cell.agreement else {
            panic!("{row} is not marked");
        };
        assert!(note.unwrap_or_default().contains(words), "{row}: {words}");
    };
    let weights = "with the sources and weights";
    differs("8.3", "CPU avg", 2.877_615_056_8, weights);
    differs("8.3", "CPU available", 80.0, "without the replicas");
    differs("8.3", "memory available", 247.262_061, "last digit before");
    for row in ["CPU min", "CPU max", "CRUM min", "CRUM avg", "CRUM max"] {
        let Agreement::Differs { note, .. } = is("8.3", row) else {
            panic!("{row} is not marked");
        };
        assert!(note.unwrap().contains(weights), "{row}");
    }
    let requests = "from the requests";
    let handshakes = "from the handshakes";
    differs("8.4", "request weighted mean", 82_595.352, handshakes);
    differs("8.4", "handshake weighted mean", 733_047.808, requests);
    differs("8.4", "request pooled deviation", 160_809.15, handshakes);
    differs("8.4", "handshake pooled deviation", 913_436.74, requests);
    differs("8.4", "request 98th percentile", 2_383_959.0, handshakes);
    differs("8.4", "handshake 98th percentile", 5_511_145.0, requests);
    differs("8.4", "handshake least", 10.0, requests);
    differs("8.4", "handshake greatest", 5_517_715.0, requests);
    differs("8.4", "request greatest", 2_664_879.0, "for proposed I");
    differs("8.4", "request least", 5.0, "and proposed I");
    differs("8.4", "broadcast 98th percentile", 314.0, "the 90th percentile");
    let replica = "without the MySQL replica in Oregon";
    differs("8.4", "network in avg", 159.786_358_7, replica);
    differs("8.4", "network out avg", 427.895_088_3, replica);
    differs("8.4", "network in total", 14.355_805_7, replica);
    differs("8.4", "network out total", 37.607_966_7, replica);
    for row in ["SPM min", "SPM avg"] {
        let Agreement::Differs { note, .. } = is("8.4", row) else {
            panic!("{row} is not marked");
        };
        assert!(note.unwrap().contains("from the printed inputs"), "{row}");
    }
}

/// Proposed II as a run directory, with its meters.
#[test]
fn proposed_2_is_imported_from_its_known_start() {
    let Some(data) = published() else { return };
    let space = Space::new();
    let mut command = throng(["import"]);
    command.arg(data.join("proposed_2")).arg("--runs");
    let ended = Ended::of(command.arg(space.path("runs"))).with(0);
    assert!(!ended.out.contains("time starts"), "{}", ended.out);
    let directory = space.directories().remove(0);
    let run = Run::open(&directory).unwrap();
    let start = ::thesis::parse_time("2015-08-05T11:09").unwrap();
    assert_eq!(run.info().started_unix_ns, start);
    let [meters, prices] = ["meters/thesis.yaml", "prices/aws-2015.yaml"]
        .map(|file| root().join("examples").join(file));
    let mut command = throng(["meters", "--reference", "proposed_2"]);
    command.arg(&directory).arg("--meters").arg(meters);
    command.arg("--prices").arg(prices);
    let ended = Ended::of(&mut command).with(0);
    for meter in ["CRAM", "CRUM", "SPM", "SLM", "SCM", "SEC"] {
        assert!(ended.out.contains(meter), "{meter}: {}", ended.out);
    }
}

#[test]
fn what_is_no_run_of_the_results_is_noted() {
    let space = Space::new();
    let results = space.path("results");
    let client = results.join("other/clients/eu/10.0.0.1");
    std::fs::create_dir_all(&client).unwrap();
    std::fs::create_dir_all(results.join("plots")).unwrap();
    let report = root().join("testdata/import/report-sound.txt");
    std::fs::copy(report, client.join("1")).unwrap();
    let note = "note: skipped: plots is not a directory with the results of a run";
    Ended::of(throng(["import"]).arg(&results).arg("--runs").arg(space.path("runs")))
        .with(65)
        .stderr_contains(note)
        .stderr_contains("does not contain the start of its run");
    let ended = Ended::of(throng(["reproduce", "thesis"]).arg(&results)).with(65);
    ended
        .stderr_contains(note)
        .stderr_contains("note: skipped: other is not a system of the thesis")
        .stderr_contains("are named baseline, proposed_1, proposed_2");
}

#[test]
fn every_table_of_the_thesis_is_printed() {
    let Some(data) = published() else { return };
    let ended = Ended::of(throng(["reproduce", "thesis"]).arg(data)).with(0);
    golden("reproduce-thesis", &ended.out);
}
