use std::borrow::Cow;

use super::*;
use crate::time::Stamp;

fn detected(text: &str) -> Format {
    choose(&FormatSpec::Detect, text.as_bytes(), &[]).unwrap()
}

/// Address, method, target, status, agent and the time's seconds.
fn shown(format: &Format, line: &str) -> Result<String, ProblemKind> {
    let entry = format.parse(line.as_bytes())?;
    let text = |part: &Cow<'_, [u8]>| String::from_utf8_lossy(part).into_owned();
    let seconds = entry.time.map_or(0, |Stamp { seconds, .. }| seconds);
    Ok(format!(
        "{} {} {} {} {} {seconds}",
        text(&entry.address),
        text(&entry.method),
        text(&entry.target),
        entry.status,
        text(&entry.agent)
    ))
}

const MAY: i64 = 1_431_857_103;

#[test]
fn combined_and_common_lines() {
    let combined = r#"2001:db8::7 - bob [17/May/2015:10:05:03 +0000] "GET /a?b=\"c\" HTTP/1.1" 200 203 "http://r/" "Mozilla \"5\" (X)""#;
    let common = r#"192.0.2.1 - - [17/May/2015:12:05:03 +0200] "POST /b HTTP/1.0" 302 -"#;
    let vhost =
        r#"192.0.2.1 - - [17/May/2015:12:05:03 +0200] "GET / HTTP/1.1" 200 5 "-" "a" 0.012 "more""#;
    let format = detected(&format!("{combined}\n{common}\n"));
    assert_eq!(format.name(), "combined or common log");
    assert_eq!(
        shown(&format, combined),
        Ok(format!(r#"2001:db8::7 GET /a?b=\"c\" 200 Mozilla \"5\" (X) {MAY}"#))
    );
    assert_eq!(shown(&format, common), Ok(format!("192.0.2.1 POST /b 302  {MAY}")));
    assert_eq!(shown(&format, vhost), Ok(format!("192.0.2.1 GET / 200 a {MAY}")));
    for (line, kind) in [
        ("", ProblemKind::Format),
        ("nonsense", ProblemKind::Format),
        (&combined[..60], ProblemKind::Format),
        (r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "-" 408 -"#, ProblemKind::NoRequest),
        (
            r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "\x16\x03\x01\x00" 400 157 "-" "-""#,
            ProblemKind::NoRequest,
        ),
        (r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "" 400 0 "-" "-""#, ProblemKind::NoRequest),
        (r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "/a" 200 1"#, ProblemKind::Request),
        (r#"1.2.3.4 - - [17/May:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#, ProblemKind::NoYear),
        (
            r#"1.2.3.4 - - [31/Feb/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 1"#,
            ProblemKind::NotATime,
        ),
        (r#"{"time": 1}"#, ProblemKind::OtherFormat),
    ] {
        assert_eq!(shown(&format, line).unwrap_err(), kind, "{line}");
    }
}

#[test]
fn clients_of_common_logs_are_found() {
    let rest = r#"[17/May/2015:10:05:03 +0000] "GET /[a/b:c] HTTP/1.1" 200 5"#;
    for (client, address, user, host) in [
        ("192.0.2.1 ident frank", "192.0.2.1", "frank", ""),
        ("[2001:db8::1] - -", "2001:db8::1", "", ""),
        ("www.a.test:443 [2001:db8::1]:99 - -", "2001:db8::1", "", "www.a.test"),
    ] {
        let line = format!("{client} {rest}");
        let format = detected(&line);
        assert_eq!(format.name(), "combined or common log");
        let entry = format.parse(line.as_bytes()).unwrap();
        let found =
            [&entry.address, &entry.user, &entry.host].map(|part| String::from_utf8_lossy(part));
        assert_eq!(found, [address, user, host], "{line}");
        assert_eq!(&*entry.target, b"/[a/b:c]");
    }
    assert!(choose(&FormatSpec::Detect, rest.as_bytes(), &[]).is_err());
}

#[test]
fn nginx_formats_of_ones_own() {
    let text = r#"[$time_iso8601] $host ${remote_addr} "$request_method $uri" $status $cookie_sid"#;
    let format = choose(&FormatSpec::Template(text.to_owned()), b"", &[]).unwrap();
    let line = r#"[2015-05-17T10:05:03+00:00] h.test 192.0.2.1 "GET /a b" 200 abc"#;
    assert_eq!(shown(&format, line), Ok(format!("192.0.2.1 GET /a b 200  {MAY}")));
    let entry = format.parse(line.as_bytes()).unwrap();
    assert_eq!(entry.other("cookie_sid"), Some(&b"abc"[..]));
    for bad in
        ["no variable", "$status", "$time_local", "$time_local$request", "${time_local $request"]
    {
        assert!(Template::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn json_lines() {
    let nginx = r#"{"time_iso8601":"2015-05-17T10:05:03Z","remote_addr":"192.0.2.1","request":"GET /a HTTP/1.1","status":"200","http_user_agent":"x"}"#;
    let nested = r#"{"@timestamp":1431857103.25,"client":"192.0.2.1","request":{"method":"GET"},"method":"PUT","url":"/b","status":201,"list":[1]}"#;
    let format = detected(&format!("{nginx}\n{nested}\n"));
    assert_eq!(shown(&format, nginx), Ok(format!("192.0.2.1 GET /a 200 x {MAY}")));
    assert_eq!(shown(&format, nested), Ok(format!("192.0.2.1 PUT /b 201  {MAY}")));
    assert_eq!(format.parse(nested.as_bytes()).unwrap().other("request.method"), Some(&b"GET"[..]));
    let map = [("time".to_owned(), "wann".to_owned()), ("target".to_owned(), "wo".to_owned())];
    let own = choose(&FormatSpec::Json, b"", &map).unwrap();
    assert_eq!(shown(&own, r#"{"wann":"1431857103","wo":"/x"}"#), Ok(format!("  /x 0  {MAY}")));
    let field = |means: &str, name: &str| (means.to_owned(), name.to_owned());
    let parted = [field("date", "tag"), field("clock", "uhr")];
    let own = choose(&FormatSpec::Json, b"", &parted).unwrap();
    assert_eq!(
        shown(&own, r#"{"tag":"2015-05-17","uhr":"10:05:03Z","date":"never","uri":"/x"}"#),
        Ok(format!("  /x 0  {MAY}"))
    );
    let error = choose(&FormatSpec::Json, b"", &parted[..1]).unwrap_err();
    assert!(error.contains("--field clock=NAME"), "{error}");
    assert_eq!(shown(&format, "{").unwrap_err(), ProblemKind::Format);
    let probe = r#"{"time_iso8601":"2015-05-17T10:05:03Z","request":"\u0016\u0003"}"#;
    assert_eq!(shown(&format, probe).unwrap_err(), ProblemKind::NoRequest);
    let path = r#"{"time_iso8601":"2015-05-17T10:05:03Z","request":"/a"}"#;
    assert_eq!(shown(&format, path).unwrap_err(), ProblemKind::Request);
    assert_eq!(
        shown(&format, "1.2.3.4 - - [1/May/2015:1:1:1 +0000] \"GET / x\" 200 1").unwrap_err(),
        ProblemKind::OtherFormat
    );
}

#[test]
fn balancers_of_aws() {
    let line = r#"https 2015-05-17T10:05:03.500000Z app/lb/1 192.0.2.1:2817 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET https://h.test:443/a?b=c HTTP/2.0" "curl/7" TLS_AES arn:aws "Root=1" "-""#;
    let format = detected(line);
    assert_eq!(format.name(), "AWS ALB access log");
    assert_eq!(
        shown(&format, line),
        Ok(format!("192.0.2.1 GET https://h.test:443/a?b=c 200 curl/7 {MAY}"))
    );
}

#[test]
fn extended_logs_whose_columns_change() {
    let head = "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    let format = detected(head);
    assert!(format.is_remark(b"#Software: x") && format.has_directives());
    let known =
        format.redirected(b"#Fields: date time c-ip cs-method cs-uri-stem sc-status").unwrap();
    let line = "2015-05-17 10:05:03 192.0.2.1 GET /a 200";
    assert_eq!(shown(&known, line), Ok(format!("192.0.2.1 GET /a 200  {MAY}")));
    assert_eq!(
        shown(&known, "2015-05-17 10:05:03 192.0.2.1 GET").unwrap_err(),
        ProblemKind::Format
    );
    let cloudfront = known
        .redirected(b"#Fields: date time x-edge-location c-ip cs-method cs-uri-stem sc-status cs(User-Agent) cs-uri-query")
        .unwrap();
    let line = "2015-05-17\t10:05:03\tFRA2\t2001:db8::1\tGET\t/a\t200\tMozilla%2F5\tk=v";
    assert_eq!(shown(&cloudfront, line), Ok(format!("2001:db8::1 GET /a 200 Mozilla%2F5 {MAY}")));
    assert_eq!(cloudfront.parse(line.as_bytes()).unwrap().query(), b"k=v");
}

#[test]
fn csv_and_tsung() {
    let head = "ts,who,\"the, path\",code\n";
    let map = [("time".to_owned(), "ts".to_owned()), ("target".to_owned(), "the, path".to_owned())];
    let format = choose(&FormatSpec::Csv, head.as_bytes(), &map).unwrap();
    assert!(format.is_remark(head.trim_end().as_bytes()));
    let entry = format.parse(b"1431857103,\"a \"\"b\"\"\",/x,200").unwrap();
    assert_eq!((entry.other("who"), &*entry.target), (Some(&b"a \"b\""[..]), &b"/x"[..]));
    assert_eq!(format.parse(b"1431857103,\"a").unwrap_err(), ProblemKind::Format);
    let error = choose(&FormatSpec::Csv, b"a,b\n1,2\n", &[]).unwrap_err();
    assert!(error.contains("--field time=NAME"), "{error}");
    let head =
        "#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag\n";
    let format = detected(head);
    let line = "1431857103.125;<0.122.0>;7;get;h.test;/a;200;12;3.4;-;-;-;-";
    assert_eq!(shown(&format, line), Ok(format!(" GET /a 200  {MAY}")));
    assert_eq!(format.parse(line.as_bytes()).unwrap().other("pid"), Some(&b"<0.122.0>"[..]));
}

/// An empty text behind the last separator is a value, whatever the separator is.
#[test]
fn the_last_value_may_be_empty() {
    for separator in [",", ";", "\t"] {
        let text = |row: &str| row.replace('|', separator);
        let head = text("time|target|agent\r\n");
        let format = detected(&head);
        assert!(format.is_remark(head.trim_end().as_bytes()));
        let line = text("1431857103|/a|");
        assert_eq!(shown(&format, &line), Ok(format!("  /a 0  {MAY}")));
    }
    let own = FormatSpec::Template("$msec\t$request_uri\t$http_user_agent".to_owned());
    let own = choose(&own, b"", &[]).unwrap();
    for line in ["1431857103.000\t/a\t", "1431857103.000\t/a\t  "] {
        assert_eq!(shown(&own, line), Ok(format!("  /a 0  {MAY}")));
    }
}

#[test]
fn nested_names_are_bounded() {
    let deep = |levels: usize| "{\"a\":".repeat(levels) + "1" + &"}".repeat(levels);
    let names = |line: &str| detected("{}").names(line.as_bytes());
    assert_eq!(names(&deep(3)), ["a.a.a"]);
    assert_eq!(names(&deep(100))[0].len(), 199);
    assert!(names(&format!("{{\"{}\":{{\"a\":1}}}}", "x".repeat(300))).is_empty());
    assert!(names(&deep(30_000)).is_empty());
}

#[test]
fn unknown_formats_are_errors() {
    assert!(choose(&FormatSpec::Detect, b"once upon a time\nthere was\n", &[]).is_err());
}

#[test]
fn ports_are_taken_off_addresses() {
    for (text, address) in [
        ("192.0.2.1:80", "192.0.2.1"),
        ("192.0.2.1", "192.0.2.1"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
    ] {
        assert_eq!(without_port(text.as_bytes()), address.as_bytes(), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_line_panics(line in proptest::collection::vec(proptest::num::u8::ANY, 0..120)) {
        let specs = [FormatSpec::Combined, FormatSpec::Json, FormatSpec::Alb, FormatSpec::Tsung, FormatSpec::W3c];
        for spec in specs {
            let _ = choose(&spec, b"#Fields: date time cs-uri-stem\n", &[]).unwrap().parse(&line);
        }
        let _ = choose(&FormatSpec::Detect, &line, &[]);
    }
}

#[test]
fn parts_of_haproxys_lines() {
    let line = r#"192.0.2.1:4711 [17/May/2015:10:05:03.655] web~ app/a 10/0/30/69/109 404 2750 - - ---- 1/1/1/1/0 0/0 "GET /a b HTTP/1.1""#;
    let format = detected(line);
    assert_eq!(format.name(), "HAProxy HTTP log");
    assert_eq!(shown(&format, line), Ok(format!("192.0.2.1 GET /a b 404  {MAY}")));
    let entry = format.parse(line.as_bytes()).unwrap();
    let parts = ["frontend", "backend", "server"].map(|name| entry.other(name).unwrap());
    assert_eq!(parts, [&b"web"[..], b"app", b"a"]);
    let bad = line.replace("GET /a b HTTP/1.1", "<BADREQ>").replace("404", "-1");
    assert_eq!(shown(&format, &bad).unwrap_err(), ProblemKind::NoRequest);
    // The log of connections has three timers, and no request.
    let tcp = "192.0.2.1:4711 [17/May/2015:10:05:03.655] web app/a 0/0/5007 212 -- 0/0/0/0/3 0/0";
    assert_eq!(shown(&format, tcp).unwrap_err(), ProblemKind::Format);
}

#[test]
fn an_answer_that_envoy_did_not_get_has_no_status() {
    let line = r#"[2015-05-17T10:05:03.310Z] "GET /a HTTP/1.1" 0 DC 0 0 26 - "-" "curl" "id" "h.test" "-""#;
    let format = detected(line);
    assert_eq!(format.name(), "Envoy access log");
    assert_eq!(shown(&format, line), Ok(format!(" GET /a 0 curl {MAY}")));
    let none = line.replace("GET /a HTTP/1.1", "- - -");
    assert_eq!(shown(&format, &none).unwrap_err(), ProblemKind::NoRequest);
}
