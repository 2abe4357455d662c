use super::*;

fn format(columns: &[&str], start: Option<&str>) -> Format {
    Format {
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
        unit: Unit::Ms,
        start: start.map(|name| (name.to_owned(), Unit::S)),
        success: None,
    }
}

#[track_caller]
fn refused(text: &str, format: &Format) -> String {
    parse(text, format).unwrap_err().to_string()
}

#[test]
fn a_number_a_line() {
    for text in ["1\n2.5\n3\n", "\u{feff}1\r\n 2.5 \r\n3", "1\n2.5\n3\n\n\n"] {
        let found = parse(text, &format(&[], None)).unwrap();
        assert_eq!(found[0].times_ns, [1_000_000, 2_500_000, 3_000_000]);
        assert_eq!((found.len(), &found[0].column), (1, &None));
        assert!(found[0].starts_ns.is_empty());
    }
}

#[test]
fn columns_are_found_by_name_with_any_separator() {
    for text in [
        "when,old,new\n10,1,4\n10.5,2,5\n",
        "old;\"new\";when\n1;4;10\n2;\"5\";10.5\n",
        "new\tlabel\twhen\t\"old\"\n4\t\"a,\tb\"\t10\t1\n5\tc\t10.5\t2",
    ] {
        let found = parse(text, &format(&["old", "new"], Some("when"))).unwrap();
        let times: Vec<&[u64]> = found.iter().map(|one| &one.times_ns[..]).collect();
        assert_eq!(times, [[1_000_000, 2_000_000], [4_000_000, 5_000_000]]);
        for one in &found {
            assert_eq!(one.starts_ns, [10_000_000_000, 10_500_000_000]);
        }
        assert_eq!(found[1].column.as_deref(), Some("new"));
    }
}

#[test]
fn a_line_break_in_quotes_is_data() {
    let text = "a,t,label\n1,2,\"x\n\"\n\"3\",4,y\n\nx,6,z\n";
    let found = parse(text, &format(&["a"], Some("t"))).unwrap_err();
    // The line that is wrong is counted as editors count lines.
    assert!(found.to_string().starts_with("line 5, column \"t\""), "{found}");
    let text = "label,a\n\"one\r\ntwo\",1\nthree,2";
    assert_eq!(parse(text, &format(&["a"], None)).unwrap()[0].times_ns, [1_000_000, 2_000_000]);
}

/// JMeter's own word on each sample counts, though its columns are chosen by hand.
#[test]
fn successes_of_jmeter_are_read_beside_chosen_columns() {
    let text = "timeStamp,elapsed,label,responseCode,success\n\
                1675412206000,200,a,200,true\n\
                1675412206010,5,a,503,false\n\
                1675412206020,7,a,200,false\n\
                1675412206030,9,a,Non HTTP response code: java.net.ConnectException: refused,false\n";
    let samples = parse(text, &format(&["elapsed"], None)).unwrap();
    let ends: Vec<(Outcome, u16)> =
        samples[0].ends.iter().map(|end| (end.outcome, end.status)).collect();
    let expected =
        [(Outcome::Ok, 200), (Outcome::Status, 503), (Outcome::Check, 200), (Outcome::Refused, 0)];
    assert_eq!(ends, expected);
    let results = samples[0].results("x").unwrap();
    assert_eq!(results.details, ["503"]);
    assert!(results.absent.is_empty(), "{:?}", results.absent);
    // Of others nobody knows what a column of this name is.
    let samples = parse("elapsed,success\n1,17\n", &format(&["elapsed"], None)).unwrap();
    assert!(samples[0].ends.is_empty());
    let lacks = samples[0].results("x").unwrap().absent;
    assert_eq!(lacks, ["operations that failed: each counts as succeeded"]);
    let named = Format { success: Some("good".to_owned()), ..format(&["a"], None) };
    let samples = parse("a,good\n1,Yes\n2,0\n", &named).unwrap();
    assert_eq!(samples[0].ends[1], SampleEnd { outcome: Outcome::Check, status: 0 });
    let found = refused("a,good\n1,perhaps\n", &named);
    assert!(found.starts_with("line 2, column \"good\": \"perhaps\" is neither"), "{found}");
}

#[test]
fn bad_lines_are_named_with_what_was_expected() {
    let plain = format(&[], None);
    let expected = "expected a time in ms such as 12.5";
    for (text, line, problem) in [
        ("1\nx\n", 2, "\"x\" is not a number"),
        ("1\n\n2\n", 2, "\"\" is not a number"),
        ("1\n2\n-3\n", 3, "-3 is negative"),
        ("NaN\n", 1, "NaN is not finite"),
        ("1,2\n", 1, "\"1,2\" is not a number"),
    ] {
        let found = refused(text, &plain);
        assert!(found.starts_with(&format!("line {line}: {problem}; {expected}; ")), "{found}");
        assert!(found.contains("--column"), "{found}");
    }
    assert!(refused("1e9\n", &plain).contains("longer than a day"));
    let columns = format(&["a"], Some("t"));
    for (text, expected) in [
        ("a,t\n1,2\nx,3\n", "line 3, column \"a\": \"x\" is not a number; expected a time in ms"),
        ("a,t\n1,noon\n", "line 2, column \"t\": \"noon\" is not a number; expected the start"),
        ("a,t\n1\n", "line 2, column \"t\": the line has 1 fields, and this column is number 2"),
        ("a,t\n\"1,2\n", "line 2: a quote is not closed"),
        ("b,t\n1,2\n", "line 1 has no column \"a\", but \"b\", \"t\"; give one of these"),
        ("a,t,a\n1,2,3\n", "line 1: there are two columns \"a\"; rename one of them"),
        ("a,t\n1,1e30\n", "line 2, column \"t\": 1e30 is too large"),
    ] {
        let found = refused(text, &columns);
        assert!(found.starts_with(expected), "{found}");
    }
    let long = refused(&"9x".repeat(1_000), &plain);
    assert!(long.len() < 250, "{long}");
}

#[test]
fn nothing_is_refused() {
    for (text, columns) in [("", &[][..]), ("\n\n", &[]), ("a,b\n", &["a"]), ("", &["a"])] {
        let found = parse(text, &format(columns, None));
        assert!(matches!(found, Err(SamplesError::Empty { .. })), "{text:?} {found:?}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_panics(text in "[ -~\n\t\"é]{0,60}") {
        let _ = parse(&text, &format(&[], None));
        let _ = parse(&text, &format(&["a"], Some("b")));
        let _ = parse(&format!("a,b\n{text}"), &format(&["a"], Some("b")));
    }
}
