use super::*;

fn format(columns: &[&str], start: Option<&str>) -> Format {
    Format {
        columns: columns.iter().map(|&name| name.to_owned()).collect(),
        unit: Unit::Ms,
        start: start.map(|name| (name.to_owned(), Unit::S)),
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
fn quotes_hold_separators_and_quotes() {
    let found = fields("\"a \"\"b\"\", c\" , d ,,\"\"", ',').unwrap();
    assert_eq!(found, ["a \"b\", c", "d", "", ""]);
    assert!(fields("\"a", ',').is_err());
    assert!(fields("\"a\" b,c", ',').is_err());
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
