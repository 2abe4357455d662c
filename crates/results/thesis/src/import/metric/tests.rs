use proptest::prelude::*;

use super::*;

const HEADER: &str = "Timestamp,Average,Maximum,Minimum,Sum,SampleCount,Unit\n";

/// Rows of (minute of 2015-07-31 15:00, value) with this many samples.
fn csv(rows: &[(u32, f64, f64)]) -> String {
    let row = |&(minute, value, samples): &(u32, f64, f64)| {
        format!("2015-07-31 15:{minute:02}:00,{value},1,1,1,{samples},Percent\n")
    };
    HEADER.to_owned() + &rows.iter().map(row).collect::<String>()
}

/// The metric, and the codes of what was repaired with their counts.
fn read(text: &str) -> (Option<Metric>, Vec<(String, u64)>) {
    let mut repairs = Repairs::default();
    let metric = parse(text, "cpu.csv", &mut repairs);
    let repairs = repairs.finish().into_iter().map(|r| (r.code, r.count));
    (metric, repairs.collect())
}

fn values(metric: &Metric) -> Vec<f64> {
    metric.rows.iter().map(|row| row.1).collect()
}

#[test]
fn a_sound_metric_takes_no_repair() {
    let (metric, repairs) = read(&csv(&[(0, 1.0, 1.0), (1, 2.5, 1.0)]));
    let metric = metric.unwrap();
    assert_eq!((metric.unit.as_str(), values(&metric)), ("%", vec![1.0, 2.5]));
    // date --date '2015-07-31 15:00:00 UTC' +%s
    assert_eq!(metric.rows[0].0, 1_438_354_800_000_000_000);
    assert_eq!(metric.rows[1].0 - metric.rows[0].0, STEP_NS);
    assert_eq!(repairs, []);
}

#[test]
fn disorder_twins_conflicts_and_gaps_are_counted() {
    let rows = [(9, 9.0, 1.0), (2, 2.0, 1.0), (2, 2.0, 1.0), (3, 3.0, 1.0), (3, 4.0, 1.0)];
    let (metric, repairs) = read(&csv(&rows));
    assert_eq!(values(&metric.unwrap()), [2.0, 3.0, 9.0]);
    let expected = [("unordered", 1), ("duplicate-row", 1), ("conflicting-row", 1), ("gap", 5)];
    assert_eq!(repairs, expected.map(|(code, n)| (code.to_owned(), n)));
}

#[test]
fn rows_that_cannot_be_read_are_excluded_and_counted() {
    let text = csv(&[(0, 1.0, 1.0)])
        + "2015-07-31 15:01:00,1\n\
           yesterday,1,1,1,1,1,Percent\n\
           2015-07-31 15:02:00,many,1,1,1,1,Percent\n\
           2015-07-31 15:03:00,NaN,1,1,1,1,Percent\n\
           2015-07-31 15:04:00,1,1,1,1,1,Bytes\n\
           1815-07-31 15:04:00,1,1,1,1,1,Percent\n";
    let (metric, repairs) = read(&text);
    assert_eq!(values(&metric.unwrap()), [1.0]);
    assert_eq!(repairs, [("ragged-row".to_owned(), 1), ("bad-row".to_owned(), 5)]);
}

#[test]
fn several_samples_are_reported_and_averaged() {
    let (metric, repairs) = read(&csv(&[(0, 119.0, 2.0)]));
    assert_eq!(values(&metric.unwrap()), [119.0]);
    assert_eq!(repairs, [("several-samples".to_owned(), 1)]);
}

#[test]
fn a_header_alone_is_an_empty_metric_and_other_text_is_none() {
    let (metric, repairs) = read(HEADER);
    assert_eq!(metric.unwrap().rows, []);
    assert_eq!(repairs, [("empty-metric".to_owned(), 1)]);
    assert_eq!(read("").0, None);
    assert_eq!(read("Dear diary,\ntoday").0, None);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(Timestamp,Average,Unit\n)?[0-9:, \\-\n.aPx]{0,200}") {
        let _ = read(&text);
    }

    #[test]
    fn times_ascend_whatever_the_order(minutes in prop::collection::vec(0u32..60, 1..50)) {
        let rows: Vec<_> = minutes.iter().map(|&m| (m, f64::from(m), 1.0)).collect();
        let metric = read(&csv(&rows)).0.unwrap();
        prop_assert!(metric.rows.windows(2).all(|pair| pair[0].0 < pair[1].0));
        let mut expected = minutes;
        expected.sort_unstable();
        expected.dedup();
        let found: Vec<u32> = metric.rows.iter().map(|row| row.1 as u32).collect();
        prop_assert_eq!(found, expected);
    }
}
