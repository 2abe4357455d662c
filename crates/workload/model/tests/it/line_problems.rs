//! What is wrong with logs.

use std::io::Write;

use model::{FormatSpec, ModelError, ProblemKind, Settings};

use crate::{Space, compiled, line};

/// Sessions of three requests, one every 20 s, from 50 addresses in turn.
fn sound(sessions: u64) -> String {
    let sessions = 0..sessions;
    let lines = sessions.flat_map(|number| {
        let address = format!("192.0.2.{}", number % 50);
        [(0, "GET /"), (4, "GET /a/1"), (9, "GET /b?x=y")]
            .map(|(after, request)| line(number * 20 + after, &address, request))
    });
    lines.collect()
}

fn lines_of(made: &model::BuiltModel, kind: ProblemKind) -> u64 {
    made.model.log.problems.get(&kind).map_or(0, |count| count.lines)
}

#[test]
fn bad_lines_are_counted_by_kind_with_examples() {
    let space = Space::new();
    let mut log = sound(400).into_bytes();
    log.extend(b"rubbish\n\n{\"time\": \"2015-05-17T10:00:00Z\"}\n");
    log.extend(b"::1 - - [17/May/2015:10:00:01 +0000] \"-\" 408 -\n");
    log.extend(line(1, "::1", "OPTIONS *").into_bytes());
    log.extend(line(9000, "2001:db8::1", "GET /caf\u{e9}").into_bytes());
    log.extend(b"192.0.2.1 - - [17/May/2015:12:00:00 +0200] \"GET /\xe9 HTTP/1.1\" 200 5\n");
    log.extend(b"192.0.2.1 - - [17/May:12:00:00 +0200] \"GET / HTTP/1.1\" 200 5\n");
    log.extend(vec![b'x'; 200_000]);
    log.extend(b"\n192.0.2.1 - - [17/May/2015:12:40:00 +0000] \"GE");
    let made = space.model(&log, &space.settings()).unwrap();
    let count = |kind| lines_of(&made, kind);
    for kind in [
        ProblemKind::OtherFormat,
        ProblemKind::NoRequest,
        ProblemKind::NoPath,
        ProblemKind::NoYear,
        ProblemKind::TooLong,
        ProblemKind::NotUtf8,
    ] {
        assert_eq!(count(kind), 1, "{kind:?}: {:?}", made.model.log.problems);
    }
    assert_eq!(count(ProblemKind::Format), 2);
    let first = &made.model.log.problems[&ProblemKind::Format].examples[0];
    assert!(first.at.ends_with("access.log:1201") && first.text == "rubbish", "{first:?}");
    assert!(made.model.log.offsets.len() == 2);
    assert!(made.model.findings.iter().any(|finding| finding.code == "lines-no-year"));
    assert!(made.model.classes.iter().all(|class| class.name.is_ascii()));
    compiled(&made);
}

#[test]
fn too_many_bad_lines_make_no_model() {
    let space = Space::new();
    let log = sound(100) + &"rubbish\n".repeat(10);
    let error = space.model(&log, &space.settings()).unwrap_err();
    let message = error.to_string();
    assert!(matches!(error, ModelError::TooManyBad { bad: 10, lines: 310, .. }), "{message}");
    assert!(message.contains("access.log:301: rubbish"), "{message}");
    let settings = Settings { bad_max: 0.05, ..space.settings() };
    assert!(space.model(&log, &settings).is_ok());
}

/// Two percent of TLS at a plain port are usual at a public address; a fifth are another kind of log.
#[test]
fn lines_without_a_request_have_a_share_of_their_own() {
    let space = Space::new();
    let probe = |second: u64| {
        line(second, "198.51.100.1", "GET /").replace("GET / HTTP/1.1", "\\x16\\x03\\x01\\x00")
    };
    assert!(probe(1).contains("x16") && !probe(1).contains("GET"), "{}", probe(1));
    for (probes, is_model) in [(6, true), (75, false)] {
        let log = sound(100) + &(0..probes).map(probe).collect::<String>();
        match space.model(&log, &space.settings()) {
            Ok(made) => {
                assert!(is_model);
                assert_eq!(lines_of(&made, ProblemKind::NoRequest), probes);
                let finding = made.model.findings.iter().find(|f| f.code == "lines-no-request");
                let text = &finding.unwrap().text;
                let expected = "6 lines (1.96 %) for which the server received no request, such as TLS at a plain \
                                port, and left out; the first is ";
                assert!(text.starts_with(expected), "{text}");
            }
            Err(error) => {
                assert!(!is_model, "{error}");
                let is_it = matches!(
                    error,
                    ModelError::TooManyBad { bad: 75, most: ProblemKind::NoRequest, .. }
                );
                assert!(is_it, "{error}");
                assert!(error.to_string().contains("more than 10.000 %"), "{error}");
            }
        }
    }
}

#[test]
fn logs_without_requests_are_errors() {
    let space = Space::new();
    let settings = space.settings();
    assert!(matches!(space.model("", &settings), Err(ModelError::Nothing { lines: 0, .. })));
    assert!(matches!(
        space.model("once upon\na time\n", &settings),
        Err(ModelError::Format { .. })
    ));
    let missing = model::from_logs(&["/nowhere/access.log".into()], &settings);
    assert!(matches!(missing, Err(ModelError::Read { .. })));
    let zone = Settings { zone: Some("Mars/Olympus".to_owned()), ..space.settings() };
    assert!(matches!(space.model(sound(9), &zone), Err(ModelError::Zone { .. })));
    let counts = space.file("counts.txt", "1 2 x");
    let error = model::from_counts(&counts, 1, 0, &settings).unwrap_err().to_string();
    assert!(error.contains("number 3 in line 1"), "{error}");
}

#[test]
fn finer_times_are_truncated_to_the_coarser_clock() {
    let space = Space::new();
    let json = |time: f64, user: u64| {
        format!(
            "{{\"time\":{time},\"client_ip\":\"10.0.0.{user}\",\"method\":\"GET\",\"path\":\"/a\"}}\n"
        )
    };
    let begin = 1_735_689_600.0;
    let request = |n: u64| (begin + (n * 9 + n % 4 * n % 5) as f64, n / 4 % 200);
    let seconds: String = (0..400).map(|n| json(request(n).0, request(n).1)).collect();
    let clocks = |made: &model::BuiltModel| {
        let found = made.model.findings.iter().find(|f| f.code == "clocks-differ");
        found.map(|finding| finding.text.clone()).unwrap_or_default()
    };
    let sound = space.model(&seconds, &space.settings()).unwrap();
    assert_eq!((sound.model.log.step_s, &*clocks(&sound)), (1.0, ""));
    // One fine line: all are taken as whole seconds, and fitted as such.
    let one = seconds.clone() + &json(begin + 4_000.123, 250);
    let one = space.model(&one, &space.settings()).unwrap();
    assert_eq!((one.model.log.step_s, one.model.log.finer), (1.0, 1));
    assert!(clocks(&one).contains("1 line had finer times"), "{}", clocks(&one));
    assert_eq!(one.model.segments[0].behaviour.thinks.step_s, 1.0);
    // A server of seconds and one of milliseconds.
    let fine: String =
        (0..400).map(|n| json(request(n).0 + (n % 999 + 1) as f64 / 1e3, request(n).1)).collect();
    let files = [space.file("coarse.log", &seconds), space.file("fine.log", &fine)];
    let both = model::from_logs(&files, &space.settings()).unwrap();
    let message = clocks(&both);
    assert!(message.contains("1 s in ") && message.contains("0.001 s in "), "{message}");
    assert_eq!(both.model.log.step_s, 1.0);
    let mut values = both.model.segments[0].behaviour.thinks.values.iter();
    assert!(values.all(|value| value.0.fract() == 0.0));
    let fine = space.model(&fine, &space.settings()).unwrap();
    assert_eq!((fine.model.log.step_s, &*clocks(&fine)), (0.001, ""));
}

#[test]
fn impossible_times_are_bad_lines() {
    let space = Space::new();
    let json = |time: &str| {
        format!(
            "{{\"time\":{time},\"client_ip\":\"10.0.0.1\",\"method\":\"GET\",\"path\":\"/a\"}}\n"
        )
    };
    // A date and a clock in one number, which are no milliseconds; and two that are five centuries apart.
    for times in [
        vec!["20250517100500".to_owned(), "20250517100501".to_owned()],
        vec!["\"1700-01-01T00:00:00Z\"".to_owned(), "\"2200-01-01T00:00:00Z\"".to_owned()],
    ] {
        let log: String = times.iter().map(|time| json(time)).collect();
        let error = space.model(&log, &space.settings()).unwrap_err();
        assert!(matches!(error, ModelError::TooManyBad { bad: 2, .. }), "{error}");
        assert!(error.to_string().contains("impossible time"), "{error}");
    }
    assert_eq!(model::clock_time("20250101000000"), None);
}

#[test]
fn truncated_archive_is_read_up_to_the_cut() {
    let space = Space::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(sound(3_000).as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let made = space.model(&packed[..packed.len() / 2], &space.settings()).unwrap();
    assert!(made.model.log.files[0].cut_off.is_some());
    assert!((2_000..7_000).contains(&made.model.log.requests), "{}", made.model.log.requests);
    assert!(made.model.findings.iter().any(|finding| finding.code == "file-cut-off"));
}

#[test]
fn truncated_counts_are_read_up_to_the_cut() {
    let space = Space::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let counts: String = (0..60_000_u64)
        .map(|second| format!("{}\n", second * second * 7_919 % 1_009 / 100))
        .collect();
    packer.write_all(counts.as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let path = space.file("counts.gz", &packed[..packed.len() / 2]);
    let made = model::from_counts(&path, 1, 0, &space.settings()).unwrap();
    let file = &made.model.log.files[0];
    assert!(file.cut_off.is_some());
    assert!((1_000..59_000).contains(&file.lines), "{}", file.lines);
    assert!(made.model.findings.iter().any(|f| f.code == "file-cut-off"));
    let path = space.file("counts.gz", &packed[..12]);
    let error = model::from_counts(&path, 1, 0, &space.settings()).unwrap_err();
    assert!(error.to_string().contains("ends too early"), "{error}");
}

#[test]
fn remarks_are_not_counted_as_lines() {
    let space = Space::new();
    let blank = sound(100).replace('\n', "\r\n\r\n") + "  \n\n";
    let table = "#Version: 1.0\n#Fields: date time c-ip cs-uri-stem\n2015-05-17 12:00:00 ::1 /\n";
    let long = "x".repeat(2_000_000) + "\n";
    let files = [
        space.file("blank.log", blank),
        space.file("table.log", table),
        space.file("long.log", sound(100) + &long),
    ];
    let made = model::from_logs(&files, &space.settings()).unwrap();
    let lines: Vec<u64> = made.model.log.files.iter().map(|file| file.lines).collect();
    assert_eq!((lines, made.model.log.lines), (vec![300, 1, 301], 602));
}

#[test]
fn archive_truncated_in_the_first_line_is_an_error() {
    let space = Space::new();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(sound(300).as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let files = [space.file("cut.gz", &packed[..12]), space.file("access.log", sound(300))];
    let made = model::from_logs(&files, &space.settings()).unwrap();
    assert_eq!(made.model.log.requests, 900);
    assert!(made.model.log.files[0].cut_off.is_some());
    let codes: Vec<&str> = made.model.findings.iter().map(|f| f.code.as_str()).collect();
    assert!(codes.contains(&"file-cut-off"), "{codes:?}");
    let alone = model::from_logs(&files[..1], &space.settings()).unwrap_err();
    assert!(alone.to_string().contains("cut.gz ends too early"), "{alone}");
}

#[test]
fn too_long_lines_are_counted_anywhere_in_a_file() {
    let space = Space::new();
    let settings = Settings { bad_max: 0.05, ..space.settings() };
    let long = line(1, "192.0.2.1", &format!("GET /{}", "x".repeat(100_000)));
    let longer = "x".repeat(2_000_000) + "\n";
    for (log, at) in [
        (sound(100) + &long + &sound(100), 301),
        (longer.clone() + &sound(100) + "rubbish\n", 1),
        (sound(100) + &longer + &sound(100), 301),
    ] {
        let made = space.model(&log, &settings).unwrap();
        let found = &made.model.log.problems[&ProblemKind::TooLong];
        assert_eq!(found.lines, 1);
        assert_eq!(found.examples[0].at.rsplit(':').next(), Some(&*at.to_string()));
        if let Some(other) = made.model.log.problems.get(&ProblemKind::Format) {
            assert!(other.examples[0].at.ends_with(":302"), "{other:?}");
        }
    }
}

#[test]
fn times_without_zones_and_across_summer_time() {
    let space = Space::new();
    // The hour from 2 to 3 comes twice.
    let mut csv = "time,address,agent,target\n".to_owned();
    for minute in 0..180 {
        let hour = 1 + minute / 60;
        let minute = minute % 60;
        csv += &format!("2026-10-25 {hour:02}:{minute:02}:00,192.0.2.1,x,/a\n");
    }
    let settings = |zone: Option<&str>| Settings {
        format: FormatSpec::Csv,
        zone: zone.map(str::to_owned),
        ..space.settings()
    };
    let made = space.model(&csv, &settings(Some("Europe/Berlin"))).unwrap();
    assert_eq!(lines_of(&made, ProblemKind::TimeRepeated), 60);
    assert_eq!(made.model.log.offsets.len(), 2);
    let made = space.model(&csv, &settings(None)).unwrap();
    assert_eq!(lines_of(&made, ProblemKind::NoZone), 180);
}

#[test]
fn clock_steps_back_are_counted_and_requests_sorted() {
    let space = Space::new();
    let forward = sound(200);
    let mut lines: Vec<&str> = forward.lines().collect();
    lines.reverse();
    let back = lines.join("\n") + "\n";
    let one = space.model(&forward, &space.settings()).unwrap().model;
    let other = space.model(&back, &space.settings()).unwrap().model;
    assert!(one.log.problems.is_empty());
    assert!(other.log.problems[&ProblemKind::ClockBack].lines > 500 && other.log.back_max_s >= 5.0);
    assert_eq!(one.segments[0].behaviour.transitions, other.segments[0].behaviour.transitions);
    assert_eq!(one.arrivals.scales, other.arrivals.scales);
}

#[test]
fn missing_sessions_and_small_segments_are_warnings() {
    let space = Space::new();
    let log: String =
        (0..300).map(|n| line(n * 3, &format!("10.0.{}.{}", n / 200, n % 200), "GET /x")).collect();
    let made = space.model(&log, &space.settings()).unwrap();
    assert!(made.model.findings.iter().any(|finding| finding.code == "no-sessions"));
    compiled(&made);
    let log = sound(200)
        + &["GET /s/few/", "GET /s/few/", "GET /s/few/"].map(|r| line(30, "::1", r)).concat();
    let settings =
        Settings { segment: Some("path=^/(?:s/)?([a-z]+)/".parse().unwrap()), ..space.settings() };
    let made = space.model(&log, &settings).unwrap();
    let few = made.model.segments.iter().find(|segment| segment.name == "few").unwrap();
    assert_eq!((few.sessions, few.requests), (1, 3));
    assert!(
        made.model.findings.iter().any(|f| f.code == "segment-small" && f.text.contains("few"))
    );
    compiled(&made);
}

#[test]
fn result_does_not_depend_on_threads_or_file_order() {
    let space = Space::new();
    let log = sound(8_000);
    let middle = log[..log.len() / 2].rfind('\n').unwrap() + 1;
    let (first, second) = log.split_at(middle);
    let files = [space.file("a.log", first), space.file("b.log", second)];
    let make = |files: &[std::path::PathBuf], threads| {
        let settings = Settings { threads, ..space.settings() };
        model::from_logs(files, &settings).unwrap().model
    };
    let one = make(&files, 1);
    assert_eq!(one, make(&files, 3));
    let turned = make(&[files[1].clone(), files[0].clone()], 2);
    assert_eq!(one.segments, turned.segments);
    assert_eq!(one.arrivals, turned.arrivals);
}
