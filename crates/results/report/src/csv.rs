//! A run's figures as CSV (RFC 4180), for spreadsheets and statistics.

use csv::Writer;
use record::schema::{
    ErrorSummary, Latency, MeasureSummary, MetricSummary, RunInfo, SeriesRow, Summary,
};
use record::{ProbeRow, Probes};

/// The columns of `measures.csv`.
const MEASURES: [&str; 24] = [
    "phase",
    "measure",
    "kind",
    "begun",
    "count",
    "completed",
    "drained",
    "offered_per_s",
    "begun_per_s",
    "rate_per_s",
    "errors",
    "time",
    "unanswered",
    "bound_above",
    "mean_ns",
    "min_ns",
    "p50_ns",
    "p90_ns",
    "p95_ns",
    "p98_ns",
    "p99_ns",
    "p999_ns",
    "max_ns",
    "tags",
];

/// Figures by phase and measure, a row for each time: of all operations, of those
/// that succeeded, of those answered with a failure, and service and lag; `phase` is empty for the complete run, which
/// also has rows for tags, of the kind `tag`.
pub fn measures_csv(summary: &Summary, info: &RunInfo) -> String {
    let tags = |name: &str| {
        let measure = info.measures.iter().find(|measure| measure.name == name);
        let tags = measure.into_iter().flat_map(|measure| &measure.tags);
        let tags: Vec<String> = tags.map(|(key, value)| format!("{key}={value}")).collect();
        tags.join(", ")
    };
    table(|writer| {
        writer.write_record(MEASURES)?;
        let whole = summary.measures.iter().map(|measure| ("", measure));
        let phases = summary.phases.iter().flat_map(|phase| {
            let measures = phase.measures.iter();
            measures.map(|measure| (phase.name.as_str(), measure))
        });
        let by_tag = summary.tags.iter().map(|tag| ("", &tag.figures));
        for (phase, measure) in whole.chain(by_tag).chain(phases) {
            let tags = tags(&measure.name);
            let times = [
                ("response", &measure.response),
                ("succeeded", &measure.succeeded),
                ("failed", &measure.failed),
                ("service", &measure.service),
                ("lag", &measure.lag),
            ];
            for (time, latency) in times {
                let mut cells = measure_cells(phase, measure, time, latency.as_ref());
                cells.push(tags.clone());
                writer.write_record(cells)?;
            }
        }
        Ok(())
    })
}

/// The columns of `errors.csv`.
const ERRORS: [&str; 7] = ["step", "kind", "detail", "count", "share", "first_ns", "last_ns"];

/// Failures by step, kind and detail, the most frequent first.
pub fn errors_csv(errors: &[ErrorSummary]) -> String {
    table(|writer| {
        writer.write_record(ERRORS)?;
        for error in errors {
            writer.write_record([
                error.step.clone(),
                error.kind.clone(),
                error.detail.clone().unwrap_or_default(),
                error.count.to_string(),
                error.share.map_or(String::new(), |share| share.to_string()),
                error.first_ns.to_string(),
                error.last_ns.to_string(),
            ])?;
        }
        Ok(())
    })
}

/// The columns of `metrics.csv`.
const METRICS: [&str; 14] = [
    "metric",
    "kind",
    "unit",
    "count",
    "sum",
    "rate_per_s",
    "share",
    "last",
    "mean",
    "min",
    "p50",
    "p95",
    "p99",
    "max",
];

/// The metrics of the scenario's own; cells that a kind does not have are empty.
pub fn metrics_csv(metrics: &[MetricSummary]) -> String {
    table(|writer| {
        writer.write_record(METRICS)?;
        for metric in metrics {
            let first = [
                metric.name.clone(),
                metric.kind.name().to_owned(),
                metric.unit.clone(),
                metric.count.to_string(),
            ];
            let figures = [
                metric.sum,
                metric.rate_per_s,
                metric.share,
                metric.last,
                metric.mean,
                metric.min,
                metric.p50,
                metric.p95,
                metric.p99,
                metric.max,
            ];
            writer.write_record(first.into_iter().chain(figures.map(known)))?;
        }
        Ok(())
    })
}

/// A row of `measures.csv`; cells without a measurement are empty.
fn measure_cells(
    phase: &str,
    measure: &MeasureSummary,
    time: &str,
    latency: Option<&Latency>,
) -> Vec<String> {
    let figures = match latency {
        None => vec![String::new(); 11],
        Some(l) => {
            let whole =
                [l.min_ns, l.p50_ns, l.p90_ns, l.p95_ns, l.p98_ns, l.p99_ns, l.p999_ns, l.max_ns];
            let whole = whole.iter().map(u64::to_string);
            let bound = known(l.bound_above);
            let first = [l.unanswered.to_string(), bound, l.mean_ns.to_string()];
            first.into_iter().chain(whole).collect()
        }
    };
    let mut cells = vec![
        phase.to_owned(),
        measure.name.clone(),
        measure.kind.clone(),
        measure.begun.to_string(),
        measure.count.to_string(),
        measure.completed.to_string(),
        measure.drained.to_string(),
        known(measure.offered_per_s),
        known(measure.begun_per_s),
        measure.rate_per_s.to_string(),
        measure.errors.to_string(),
        time.to_owned(),
    ];
    cells.extend(figures);
    cells
}

/// A number; empty if it is not known.
fn known(number: Option<f64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// Second by second, the columns of `series.parquet`.
pub fn series_csv(rows: &[SeriesRow]) -> String {
    table(|writer| {
        for row in rows {
            writer.serialize(row)?;
        }
        Ok(())
    })
}

/// Every value of the probes.
pub fn probes_csv(probes: &Probes) -> String {
    table(|writer| {
        writer.write_record([
            "at_ns", "role", "region", "source", "via", "metric", "unit", "value",
        ])?;
        for &ProbeRow { at_ns, probe, value } in &probes.rows {
            let Some(info) = probes.list.get(probe as usize) else {
                continue;
            };
            let at_ns = at_ns.to_string();
            let value = value.to_string();
            writer.write_record([
                at_ns.as_str(),
                &info.role,
                &info.region,
                &info.source,
                &info.via,
                &info.metric,
                &info.unit,
                &value,
            ])?;
        }
        Ok(())
    })
}

/// The text that is written.
pub(crate) fn table(write: impl FnOnce(&mut Writer<Vec<u8>>) -> csv::Result<()>) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    write(&mut writer).expect("memory takes all, and the rows of a table are of one length");
    let bytes = writer.into_inner().expect("memory takes all");
    String::from_utf8(bytes).expect("what is written is text")
}

#[cfg(test)]
mod tests {
    use record::ProbeInfo;

    use super::*;
    use crate::sample::{broken, info, summary, tagged};

    #[test]
    fn errors_have_a_row_each() {
        let mut errors = broken().errors;
        errors[1].detail = Some("a, \"b\"".to_owned());
        expect_test::expect![[r#"
            step,kind,detail,count,share,first_ns,last_ns
            request,status,503,9,0.0000125,15000000000,25000000000
            request,script,"a, ""b""",3,0.000004166666666666667,16000000000,17000000000
            a step whose name is longer than its column,timeout,,3,1,0,500000000000
        "#]]
        .assert_eq(&errors_csv(&errors));
    }

    #[test]
    fn metrics_have_a_row_each() {
        expect_test::expect![[r#"
            metric,kind,unit,count,sum,rate_per_s,share,last,mean,min,p50,p95,p99,max
            size,quantity,bytes,3,87,,,,29,-1.5,29,59.5,59.5,59.5
            orders,counter,,2,1250.5,20.84,,,,,,,,
            cheap,share,,4,,,0.75,,,,,,,
            depth,gauge,items,4,,,,7,,-2,,,,9
            never,quantity,€,0,,,,,,,,,,
        "#]]
        .assert_eq(&metrics_csv(&crate::metrics::tests::each()));
    }

    #[test]
    fn measures_have_a_row_per_phase_and_time() {
        let text = measures_csv(&summary(), &info());
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(MEASURES.join(",").as_str()));
        let rows: Vec<&str> = lines.collect();
        let summary = summary();
        let phases: usize = summary.phases.iter().map(|p| p.measures.len()).sum();
        assert_eq!(rows.len(), 5 * (summary.measures.len() + phases));
        assert!(rows.iter().all(|row| row.split(',').count() == MEASURES.len()));
    }

    #[test]
    fn tags_are_a_column_and_have_rows() {
        let (summary, info) = tagged();
        let text = measures_csv(&summary, &info);
        let rows: Vec<&str> = text.lines().filter(|row| row.contains("area=shop")).collect();
        assert_eq!(rows.len(), 5 + 2 * 5, "of the tag, and of the measure in the run and a phase");
        assert!(rows[0].ends_with(",\"area=shop, group=buy\""), "{}", rows[0]);
        assert!(rows[5].starts_with(",area=shop,tag,720000,"), "{}", rows[5]);
    }

    #[test]
    fn special_characters_of_names_are_quoted() {
        let probes = Probes {
            list: vec![ProbeInfo {
                role: "a,b".to_owned(),
                region: String::new(),
                source: "s".to_owned(),
                metric: "m{x=\"1\"}".to_owned(),
                unit: "1".to_owned(),
                via: "prometheus".to_owned(),
            }],
            rows: vec![ProbeRow { at_ns: -5, probe: 0, value: 0.5 }],
        };
        let expected = "at_ns,role,region,source,via,metric,unit,value\n-5,\"a,b\",,s,prometheus,\
                        \"m{x=\"\"1\"\"}\",1,0.5\n";
        assert_eq!(probes_csv(&probes), expected);
    }

    #[test]
    fn seconds_have_their_columns() {
        let row = SeriesRow { users: 7, ..SeriesRow::default() };
        let text = series_csv(&[row]);
        assert!(text.starts_with("start_ns,end_ns,phase,users,"), "{text}");
        assert_eq!(text.lines().count(), 2);
    }
}
