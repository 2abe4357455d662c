//! Options that name fields, rules and parts of a log, present and missing.

use model::{BuiltModel, ModelError, ProblemKind, Rule, Settings};

use crate::{Space, compiled};

/// 17 May 2015, 10:00 UTC.
const BEGIN_UNIX_S: u64 = 1_431_856_800;

/// A line of each of three requests of 60 users, by what writes one of a second, a user, a method and a path.
fn lines(line: impl Fn(u64, u64, &str, &str) -> String) -> String {
    let requests = (0..60).flat_map(|user| {
        [(0, "GET", "/"), (5, "POST", "/login"), (9, "GET", "/pay?x=1")]
            .map(|(after, method, path)| (BEGIN_UNIX_S + 20 * user + after, user, method, path))
    });
    requests.map(|(second, user, method, path)| line(second, user, method, path) + "\n").collect()
}

/// As in the Elastic Common Schema: three levels.
fn nested() -> String {
    lines(|second, user, method, path| {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        format!(
            r#"{{"@timestamp":{second},"client":{{"ip":"10.0.0.{user}"}},"http":{{"request":{{"method":"{method}"}},"response":{{"status_code":404}}}},"url":{{"path":"{path}","query":"{query}"}}}}"#
        )
    })
}

fn combined(more: &str) -> String {
    lines(|second, user, method, path| {
        let second = second - BEGIN_UNIX_S;
        let minute = second / 60;
        let second = second % 60;
        format!(
            "10.0.0.{user} - - [17/May/2015:10:{minute:02}:{second:02} +0000] \"{method} {path} HTTP/1.1\" 200 5{more}"
        )
    })
}

fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs.map(|(means, name)| ((*means).to_owned(), (*name).to_owned())).collect()
}

fn finding_text<'a>(made: &'a BuiltModel, code: &str) -> &'a str {
    let found = made.model.findings.iter().find(|f| f.code == code);
    found.map_or("", |finding| &finding.text)
}

/// Names of classes, in order.
fn classes(made: &BuiltModel) -> Vec<&str> {
    let names = made.model.classes.iter().map(|class| class.name.as_str());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
}

#[test]
fn names_are_found_at_any_depth() {
    let space = Space::new();
    let named = Settings {
        fields: fields(&[
            ("address", "client.ip"),
            ("target", "url.path"),
            ("query", "url.query"),
            ("method", "http.request.method"),
            ("status", "http.response.status_code"),
        ]),
        ..space.settings()
    };
    for settings in [named, space.settings()] {
        let made = space.model(nested(), &settings).unwrap();
        assert_eq!(classes(&made), ["GET /", "GET /pay?", "POST /login"]);
        assert!(made.model.classes.iter().all(|c| c.statuses[&404] == 60));
        assert_eq!(made.model.users, 60);
        for code in ["no-method", "no-status", "field-missing"] {
            assert_eq!(finding_text(&made, code), "");
        }
        assert!(finding_text(&made, "no-agent").starts_with("no request has a user agent"));
    }
}

#[test]
fn names_that_no_line_has_are_rejected() {
    let space = Space::new();
    let with = |name: &str| Settings { fields: fields(&[("method", name)]), ..space.settings() };
    let error = space.model(nested(), &with("nope")).unwrap_err();
    assert!(matches!(error, ModelError::Field { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("\"nope\" for the method") && text.contains("url.path"), "{text}");
    // A time that is not found makes every line bad, which is not what the finding reports.
    let time = Settings { fields: fields(&[("time", "when")]), ..space.settings() };
    let error = space.model(nested(), &time).unwrap_err();
    assert!(matches!(error, ModelError::Field { .. }), "{error}");
    let error = space.model(combined(""), &with("verb")).unwrap_err();
    assert_eq!(error.to_string(), "--field has no effect for combined or common log");
    let twice = Settings {
        fields: fields(&[("method", "verb"), ("method", "http.request.method")]),
        ..space.settings()
    };
    let error = space.model(nested(), &twice).unwrap_err().to_string();
    assert!(error.contains("gives the method two names"), "{error}");
    // One line is enough.
    let first = nested().lines().next().unwrap().to_owned();
    let some = nested() + &first.replace("\"url\"", "\"verb\":\"PUT\",\"url\"");
    let made = space.model(some, &with("verb")).unwrap();
    assert_eq!(
        finding_text(&made, "field-missing"),
        "1 of 181 lines have the field \"verb\" for the method"
    );
    assert_eq!(
        finding_text(&made, "no-method"),
        "180 of 181 requests have no method; the model uses GET"
    );
}

#[test]
fn missing_methods_and_statuses_are_findings() {
    let space = Space::new();
    let table = lines(|second, user, _, path| format!("{second},10.0.0.{user},{path}"));
    let made = space.model(format!("time,address,target\n{table}"), &space.settings()).unwrap();
    assert_eq!(finding_text(&made, "no-method"), "no request has a method; the model uses GET");
    assert!(finding_text(&made, "no-status").starts_with("no request has a status"));
    let made = space.model(combined(" \"-\" \"agent\""), &space.settings()).unwrap();
    for code in ["no-method", "no-status", "no-agent"] {
        assert_eq!(finding_text(&made, code), "");
    }
}

#[test]
fn json_names_of_common_servers_are_known() {
    let space = Space::new();
    // Logstash's `request` is the path, and its method stands elsewhere.
    let grok = lines(|second, user, method, path| {
        format!(
            r#"{{"@timestamp":{second},"clientip":"10.0.0.{user}","verb":"{method}","request":"{path}","response":"200"}}"#
        )
    });
    let made = space.model(&grok, &space.settings()).unwrap();
    assert_eq!(classes(&made), ["GET /", "GET /pay?", "POST /login"]);
    // Browsers behind one address.
    let traefik = lines(|second, user, method, path| {
        format!(
            r#"{{"ClientHost":"10.0.0.1","RequestMethod":"{method}","RequestPath":"{path}","DownstreamStatus":200,"time":{second},"request_User-Agent":"UA{user}"}}"#
        )
    });
    let by_header =
        Settings { key: Some("header:User-Agent".parse().unwrap()), ..space.settings() };
    for settings in [space.settings(), by_header] {
        assert_eq!(space.model(&traefik, &settings).unwrap().model.users, 60);
    }
    let caddy = lines(|second, user, method, path| {
        format!(
            r#"{{"ts":{second}.5,"request":{{"remote_ip":"10.0.0.1","method":"{method}","uri":"{path}","headers":{{"User-Agent":["UA{user}"]}}}},"status":200}}"#
        )
    });
    let made = space.model(&caddy, &space.settings()).unwrap();
    assert_eq!(classes(&made), ["GET /", "GET /pay?", "POST /login"]);
    assert_eq!((made.model.users, finding_text(&made, "no-method")), (60, ""));
}

/// Wherever the log writes the query, rules and parts see it.
#[test]
fn rules_and_parts_match_a_separate_query() {
    let space = Space::new();
    let table = lines(|second, user, method, path| {
        let (path, query) = path.split_once('?').unwrap_or((path, "-"));
        format!("{second}\t10.0.0.{user}\t{method}\t{path}\t{query}\t")
    });
    let table = format!("time\taddress\tmethod\ttarget\tquery\tagent\n{table}");
    let settings = Settings {
        rules: vec![
            "pay=x=1".parse().unwrap(),
            "none=x=2".parse().unwrap(),
            "late=^GET /pay".parse().unwrap(),
        ],
        segment: Some(r"target=\?(x)=".parse().unwrap()),
        without: vec!["agent=bot".parse().unwrap(), "path=^/log".parse().unwrap()],
        zone: Some("Europe/Berlin".to_owned()),
        ..space.settings()
    };
    for log in [nested(), combined(""), table] {
        let made = space.model(log, &settings).unwrap();
        assert_eq!(classes(&made), ["GET /", "pay"]);
        let pay = made.model.classes.iter().find(|c| c.name == "pay").unwrap();
        assert_eq!((pay.requests, &*pay.targets[0].target), (60, "/pay?x=1"));
        assert_eq!(made.model.segments[0].name, "x");
        let of = |code: &str| {
            let found = made.model.findings.iter().filter(|f| f.code == code);
            found.map(|f| f.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(of("class-unmatched").len(), 2);
        assert!(of("class-unmatched")[0].starts_with("--class none:"));
        assert_eq!(
            of("without-unmatched"),
            ["--without agent=bot: no line matches it, so it left out nothing"]
        );
        assert!(of("segment-unmatched").is_empty());
        assert!(finding_text(&made, "zone-idle").contains("Europe/Berlin"));
    }
    let settings = Settings { segment: Some("path=^/shop".parse().unwrap()), ..space.settings() };
    let made = space.model(combined(""), &settings).unwrap();
    assert!(finding_text(&made, "segment-unmatched").starts_with("--segment path=^/shop:"));
}

#[test]
fn joined_parts_have_a_blank_between_them() {
    let space = Space::new();
    let segments = |part: &str| {
        let settings = Settings { segment: Some(part.parse().unwrap()), ..space.settings() };
        let made = space.model(combined(""), &settings).unwrap();
        compiled(&made);
        let names = made.model.segments.iter().map(|s| s.name.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(segments("method+path"), ["GET /"]);
    assert_eq!(segments("method+path=^POST .*login$"), ["POST /login"]);
}

/// A run measures by names: two classes of one name would be one.
#[test]
fn class_names_of_rules_and_paths_stay_unique() {
    let space = Space::new();
    let settings =
        Settings { rules: vec!["GET /=pay".parse::<Rule>().unwrap()], ..space.settings() };
    let made = space.model(combined(""), &settings).unwrap();
    assert_eq!(classes(&made), ["GET /", "GET / (others)", "POST /login"]);
    let rule = made.model.classes.iter().find(|c| c.name == "GET /");
    assert_eq!(rule.unwrap().targets[0].target, "/pay?x=1");
    compiled(&made);
}

/// What servers write for a request that they could not read is no request, in whatever format.
#[test]
fn unreadable_requests_are_bad_lines() {
    let space = Space::new();
    let settings = space.settings();
    let bad = "192.0.2.1 - - [17/May/2015:10:05:03 +0000]";
    let log = format!("{}{bad} \"-\" 408 1\n{bad} \"- /x HTTP/1.1\" 400 1\n", combined(""));
    let alb = |second: u64, user: u64, request: &str| {
        let minute = (second - BEGIN_UNIX_S) / 60;
        let second = second % 60;
        format!(
            "http 2015-05-17T10:{minute:02}:{second:02}.000000Z app/lb/1 10.0.0.{user}:2817 - -1 -1 -1 200 - 34 366 \
             \"{request}\" \"curl\" - -"
        )
    };
    let balancer = lines(|second, user, method, path| {
        alb(second, user, &format!("{method} http://h.test:80{path} HTTP/1.1"))
    });
    let bad = alb(BEGIN_UNIX_S, 1, "- http://lb.test:80- -");
    for (log, lines) in [(log, 2), (format!("{balancer}{bad}\n"), 1)] {
        let made = space.model(log, &settings).unwrap();
        assert_eq!(made.model.log.problems[&ProblemKind::NoRequest].lines, lines);
        assert_eq!(classes(&made), ["GET /", "GET /pay?", "POST /login"]);
    }
}
