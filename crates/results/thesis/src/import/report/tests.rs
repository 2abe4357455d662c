use proptest::prelude::*;

use super::*;

const SOUND: &str = include_str!("../../../../../../testdata/import/report-sound.txt");

/// The report, and the codes of what was repaired with their counts.
fn read(text: &str) -> (Result<ClientReport, String>, Vec<(String, u64)>) {
    let mut repairs = Repairs::default();
    let report = parse(text, "clients/eu/10.0.0.1/1", &mut repairs);
    let repair_counts = repairs.finish().into_iter().map(|r| (r.code, r.count));
    (report, repair_counts.collect())
}

fn repair_counts(codes: &[(&str, u64)]) -> Vec<(String, u64)> {
    codes.iter().map(|(code, n)| ((*code).to_owned(), *n)).collect()
}

/// The sound report with one text put in place of another that is there.
fn with(from: &str, to: &str) -> String {
    assert!(SOUND.contains(from), "{from:?} is not in the report");
    SOUND.replacen(from, to, 1)
}

#[test]
fn a_sound_report_is_read_whole() {
    let (report, repairs) = read(SOUND);
    let report = report.unwrap();
    assert_eq!(
        (report.users_planned, report.connected, report.failed, report.online_ns),
        (20, 19, 1, 300_000 * MS)
    );
    assert_eq!(report.errors, BTreeMap::from([("read ECONNRESET".to_owned(), 1)]));
    assert_eq!(report.measures.len(), 3);
    let request = &report.measures[1];
    assert_eq!((request.measure, request.count, request.mean_ns), (1, 400, 27.0 * MS as f64));
    assert_eq!((request.min_ns, request.median_ns, request.max_ns), (3 * MS, 20 * MS, 900 * MS));
    assert_eq!(request.deviation_ns, 40.0 * MS as f64);
    let shares: Vec<Option<f64>> = request.percentiles.iter().map(|p| p.share).collect();
    assert_eq!(shares, [Some(0.5), Some(0.9), Some(0.98), None, Some(1.0)]);
    assert_eq!(request.percentiles[3].value_ns, 700 * MS);
    // The second column of a name is in every such report.
    assert_eq!(repairs, repair_counts(&[("twin-column", 1)]));
}

#[test]
fn colour_codes_are_taken_out_and_counted() {
    let (report, repairs) = read(&format!("\x1b[32mhello\x1b[39m\n{SOUND}\x1b"));
    assert_eq!(report, read(SOUND).0);
    assert_eq!(repairs, repair_counts(&[("ansi-colours", 3), ("twin-column", 1)]));
}

#[test]
fn what_is_no_report_says_why() {
    for (text, why) in [
        ("", "it is empty"),
        ("\x1b[32m \x1b[39m\n", "it is empty"),
        ("ssh: connect to host 10.0.0.1 port 22: timed out\n", "it contains no report"),
        (&with("Durations (ms):", "Durations (s):"), "line 14: Durations are in s, not in ms"),
        (&with("stddev", "sigma"), "line 16: the durations have other columns"),
    ] {
        assert_eq!(read(text).0, Err(why.to_owned()));
    }
}

#[test]
fn a_truncated_report_keeps_what_it_reports() {
    let cut = SOUND.find("Percentile").unwrap();
    let (report, repairs) = read(&SOUND[..cut]);
    let report = report.unwrap();
    assert_eq!(report.measures.len(), 3);
    assert!(report.measures.iter().all(|m| m.percentiles.is_empty()));
    // Its errors are gone with the rest.
    assert_eq!(repairs, repair_counts(&[("truncated-report", 1), ("failed-disagrees", 1)]));
}

#[test]
fn wrong_numbers_leave_their_measure_out() {
    for bad in ["12x", "-12", "NaN", "inf", "1e400", "9999999999999999"] {
        let (report, repairs) =
            read(&with("Handshaking          12", &format!("Handshaking {bad}")));
        let measures: Vec<u16> = report.unwrap().measures.iter().map(|m| m.measure).collect();
        assert_eq!(measures, [1, 2], "{bad}");
        assert!(repairs.contains(&("bad-number".to_owned(), 1)), "{bad} {repairs:?}");
    }
    let (report, repairs) = read(&with("700      900", "many      900"));
    assert_eq!(report.unwrap().measures.len(), 2);
    assert!(repairs.contains(&("bad-number".to_owned(), 1)), "{repairs:?}");
}

#[test]
fn figures_that_contradict_each_other_are_reported() {
    // A median above the greatest value.
    let (report, repairs) = read(&with("40       20     900", "40      920     900"));
    let request = &report.unwrap().measures[1];
    assert!(request.percentiles.iter().all(|p| p.share.is_none()));
    assert_eq!(repairs, repair_counts(&[("twin-column", 1), ("disorder", 1)]));
    let (report, repairs) = read(&with("Connected            19", "Connected            12"));
    assert_eq!(report.unwrap().connected, 12);
    assert_eq!(repairs, repair_counts(&[("twin-column", 1), ("connected-disagrees", 1)]));
    let (_, repairs) = read(&with("Latency              3 ", "Jitter               3 "));
    assert_eq!(
        repairs,
        repair_counts(&[("twin-column", 1), ("truncated-report", 1), ("unknown-measure", 1)])
    );
}

#[test]
fn lines_among_the_errors_without_a_count_are_reported_and_exclude_no_measure() {
    let closed = "Exception: [Error: channel closed]";
    let (report, repairs) = read(&format!("{SOUND}\n{closed}\n{closed}\n"));
    assert_eq!(report, read(SOUND).0);
    assert_eq!(repairs, repair_counts(&[("twin-column", 1), ("unknown-error", 2)]));
}

#[test]
fn a_second_row_of_a_measure_is_excluded_and_reported() {
    let twice =
        with("\nBroadcast Latency    12 ", "\nLatency  1 1 1 1 1 1\nBroadcast Latency    12 ");
    let (report, repairs) = read(&twice);
    assert_eq!(report.unwrap().measures[1].count, 400);
    assert_eq!(repairs, repair_counts(&[("twin-column", 1), ("unknown-measure", 1)]));
}

proptest! {
    #[test]
    fn no_text_panics(text in "(Durations \\(ms\\):\n)?(min mean stddev median max \
        sampleCount\n)?[A-Za-z0-9%.:()\\- \n\x1b\\[]{0,300}") {
        let _ = read(&text);
    }

    #[test]
    fn no_damage_panics(at in 0usize..800, with in "\\PC{0,8}") {
        let cut = SOUND.char_indices().map(|(at, _)| at).filter(|&a| a <= at).max().unwrap_or(0);
        let (head, tail) = SOUND.split_at(cut);
        let _ = read(&format!("{head}{with}{tail}"));
        let _ = read(head);
        let _ = read(tail);
    }
}
