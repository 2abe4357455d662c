//! One crowd in each format that is known: the model does not depend on how the log was written.

use std::io::Write;

use model::{FormatSpec, Model, ModelError, Settings};

use crate::Space;

/// 17 May 2015, 10:00 UTC.
const BEGIN_UNIX_S: u64 = 1_431_856_800;

/// A request: the second it came in, its user and its path.
type LoggedRequest = (u64, u64, String);

/// 300 sessions of three requests, of users of their own.
fn crowd() -> Vec<LoggedRequest> {
    let sessions = (0..300_u64).flat_map(|number| {
        let second = 15 * number;
        [
            (second, number, "/".to_owned()),
            (second + 3 + number % 4, number, format!("/items/{}", number % 9)),
            (second + 12, number, "/cart".to_owned()),
        ]
    });
    let mut request: Vec<LoggedRequest> = sessions.collect();
    request.sort();
    request
}

fn address(user: u64) -> String {
    match user % 3 {
        0 => format!("2001:db8::{user:x}"),
        _ => format!("10.0.{}.{}", user / 200, user % 200),
    }
}

fn clock(second: u64) -> String {
    let minutes = second / 60;
    let second = second % 60;
    format!("{:02}:{:02}:{second:02}", 10 + minutes / 60, minutes % 60)
}

fn text(head: &str, line: impl Fn(&LoggedRequest) -> String) -> String {
    let lines = crowd().iter().map(|request| line(request) + "\n").collect::<String>();
    format!("{head}{lines}")
}

/// As Tsung writes it, with its methods in small letters.
fn tsungs_dump(method: &str) -> String {
    let head =
        "#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag\n";
    text(head, |(second, user, path)| {
        format!(
            "{}.0;<0.{user}.0>;{user};{method};h.test;{path};200;9;1.0;-;-;-;-",
            BEGIN_UNIX_S + second
        )
    })
}

fn made(text: impl AsRef<[u8]>, settings: Settings) -> Model {
    let space = Space::new();
    let settings = Settings { gap_s: Some(600.0), scratch: space.settings().scratch, ..settings };
    space.model(text, &settings).unwrap().model
}

fn common((second, user, path): &LoggedRequest) -> String {
    let address = address(*user);
    let clock = clock(*second);
    format!("{address} - - [17/May/2015:{clock} +0000] \"GET {path} HTTP/1.1\" 200 5")
}

#[track_caller]
fn same(found: &Model, format: &str) {
    let files: Vec<&str> = found.log.files.iter().map(|file| file.format.as_str()).collect();
    assert_eq!(files, [format]);
    assert_eq!((found.log.lines, found.log.requests), (900, 900), "{:?}", found.log.problems);
    assert!(found.log.problems.is_empty(), "{:?}", found.log.problems);
    assert_eq!((found.users, found.segments[0].sessions), (300, 300));
    assert_eq!(found.arrivals.users, 300);
    let behaviour = &found.segments[0].behaviour;
    let transitions = behaviour.transitions.iter();
    let mut counts: Vec<(u64, f64)> = transitions
        .map(|t| (t.count, t.think.as_ref().map_or(0.0, |think| think.mean_s)))
        .collect();
    counts.sort_by(|a, b| a.1.total_cmp(&b.1));
    // 3 to 6 s to an item, 12 s in all.
    assert_eq!(counts, [(300, 4.5), (300, 7.5)], "{format}");
}

#[test]
fn common_and_combined_logs() {
    same(&made(text("", common), Settings::default()), "combined or common log");
    let combined = |request: &LoggedRequest| common(request) + " \"-\" \"agent \\\"of\\\" one\"";
    same(&made(text("", combined), Settings::default()), "combined or common log");
}

#[test]
fn log_format_is_read() {
    let format = FormatSpec::Template("$msec|$remote_addr|$request_method $uri|$status".to_owned());
    let text = text("", |(second, user, path)| {
        format!("{}.000|{}|GET {path}|200", BEGIN_UNIX_S + second, address(*user))
    });
    let settings = Settings { format, ..Settings::default() };
    let found = made(text, settings);
    let name = found.log.files[0].format.clone();
    same(&found, &name);
}

#[test]
fn json_names_are_mapped_by_field_options() {
    let text = text("", |(second, user, path)| {
        format!(
            "{{\"wann\":\"2015-05-17T{}Z\",\"wer\":\"{}\",\"wo\":\"{path}\",\"wie\":\"GET\"}}",
            clock(*second),
            address(*user)
        )
    });
    let fields = [("time", "wann"), ("address", "wer"), ("target", "wo"), ("method", "wie")];
    let settings = Settings {
        fields: fields.map(|(means, name)| (means.to_owned(), name.to_owned())).to_vec(),
        ..Settings::default()
    };
    same(&made(text, settings), "JSON lines");
}

#[test]
fn balancers_and_cloudfront() {
    let alb = text("", |(second, user, path)| {
        let address = match address(*user) {
            v6 if v6.contains(':') => format!("[{v6}]:4711"),
            v4 => format!("{v4}:4711"),
        };
        format!(
            "https 2015-05-17T{}.000000Z app/lb/1 {address} 10.9.9.9:80 0.0 0.1 0.0 200 200 3 4 \
             \"GET https://h.test:443{path} HTTP/2.0\" \"curl\" TLS arn \"Root=1\" \"-\"",
            clock(*second)
        )
    });
    same(&made(alb, Settings::default()), "AWS ALB access log");
    let head =
        "#Version: 1.0\n#Fields: date time x-edge-location c-ip cs-method cs-uri-stem sc-status\n";
    let cloudfront = text(head, |(second, user, path)| {
        let clock = clock(*second);
        let address = address(*user);
        format!("2015-05-17\t{clock}\tFRA2\t{address}\tGET\t{path}\t200")
    });
    same(&made(cloudfront, Settings::default()), "W3C extended log");
}

#[test]
fn haproxys_http_log_is_read_bare_or_behind_a_syslog_head() {
    for head in ["", "May 17 10:05:03 lb haproxy[1438]: ", "<134>May 17 10:05:03 haproxy[1]: "] {
        let log = text("", |(second, user, path)| {
            format!(
                "{head}{}:4{user} [17/May/2015:{}.655] web~ app/a 10/0/30/69/+109 200 2750 - - ---- 1/1/1/1/0 0/0 \
                 {{1wt.eu|}} {{}} \"GET {path} HTTP/1.1\"",
                address(*user),
                clock(*second)
            )
        });
        let settings = Settings { zone: Some("UTC".to_owned()), ..Settings::default() };
        same(&made(log, settings), "HAProxy HTTP log");
    }
}

#[test]
fn envoys_and_istios_default_logs_are_read() {
    for details in ["", " via_upstream - \"-\""] {
        let log = text("", |(second, user, path)| {
            format!(
                "[2015-05-17T{}.310Z] \"GET {path} HTTP/2\" 200 -{details} 154 0 226 100 \"{}\" \"curl/8\" \
                 \"cc21d9b0\" \"h.test\" \"10.0.2.1:80\"",
                clock(*second),
                address(*user)
            )
        });
        same(&made(log, Settings::default()), "Envoy access log");
    }
}

#[test]
fn columns_by_w3c_and_csv() {
    let head = "#Software: IIS\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    let w3c = text(head, |(second, user, path)| {
        format!("2015-05-17 {} {} GET {path} 200", clock(*second), address(*user))
    });
    same(&made(w3c, Settings::default()), "W3C extended log");
    let csv = text("ts;\"the user\";method;path\n", |(second, user, path)| {
        format!("{};\"{}\";GET;{path}", BEGIN_UNIX_S + second, address(*user))
    });
    let fields = [("time", "ts"), ("address", "the user"), ("target", "path")];
    let settings = Settings {
        format: FormatSpec::Csv,
        fields: fields.map(|(means, name)| (means.to_owned(), name.to_owned())).to_vec(),
        ..Settings::default()
    };
    same(&made(csv, settings), "CSV");
}

#[test]
fn byte_order_mark_is_not_part_of_the_first_name() {
    let csv = text("\u{feff}time,address,target\n", |(second, user, path)| {
        format!("{},{},{path}", BEGIN_UNIX_S + second, address(*user))
    });
    same(&made(csv, Settings::default()), "CSV");
}

#[test]
fn host_is_not_part_of_the_key() {
    let hosts = text("", |request| format!("host{}.test:80 {}", request.0 % 2, common(request)));
    same(&made(hosts, Settings::default()), "combined or common log");
}

#[test]
fn tsungs_dump_is_read() {
    same(&made(tsungs_dump("get"), Settings::default()), "Tsung's dump");
}

/// Many programs log their process and a request's number under Tsung's names.
#[test]
fn only_tsungs_dump_identifies_users_by_number() {
    let json = text("", |(second, user, path)| {
        format!(
            "{{\"time\":{},\"ip\":\"{}\",\"path\":\"{path}\",\"pid\":812,\"id\":\"req-{second}-{path}\"}}",
            BEGIN_UNIX_S + second,
            address(*user)
        )
    });
    let json = made(json, Settings::default());
    let usual = made(text("", common), Settings::default());
    assert_eq!((json.users, json.key.as_str()), (usual.users, "address+agent"));
    let dump = tsungs_dump("get");
    let space = Space::new();
    let files = [space.file("a.log", text("", common)), space.file("b.log", dump)];
    let both = model::from_logs(&files, &space.settings()).unwrap().model;
    assert_eq!(
        (both.users, both.key.as_str()),
        (2 * usual.users, "address+agent or field:pid+field:id")
    );
}

/// Tsung's dump has methods in small letters, as no other log and no server has.
#[test]
fn methods_of_tsungs_dump_are_upper_case() {
    let dump = tsungs_dump("post");
    let space = Space::new();
    let made = space.model(dump, &space.settings()).unwrap();
    assert_eq!(made.model.classes[0].targets[0].method, "POST");
    assert!(made.model.findings.iter().any(|f| f.code == "no-bodies"));
    let tsung = made.tsung();
    assert!(tsung.text.contains("method=\"POST\"") && !tsung.text.contains("method=\"GET\""));
    assert!(!tsung.notes.iter().any(|note| note.contains("does not know")));
}

#[test]
fn packed_files_are_read_as_they_are_and_as_far_as_they_go() {
    let plain = text("", common);
    let packed = ruzstd::encoding::compress_to_vec(
        plain.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    same(&made(&packed, Settings::default()), "combined or common log");
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(plain.as_bytes()).unwrap();
    same(&made(packer.finish().unwrap(), Settings::default()), "combined or common log");
    // In the middle of its only frame: what comes out until then counts, or nothing does.
    let space = Space::new();
    match space.model(&packed[..packed.len() - 5], &space.settings()) {
        Ok(cut) => assert!(cut.model.log.files[0].cut_off.is_some()),
        Err(error) => {
            assert!(matches!(error, ModelError::Nothing { .. } | ModelError::Format { .. }));
        }
    }
}

/// A table that is no log, such as one of publishers and probabilities.
#[test]
fn table_without_times_is_rejected_with_its_columns() {
    let space = Space::new();
    let table = "publisher,session_probability,click\nfirst,0.34,1.02\nsecond,0.1,0.5\n";
    let settings = Settings { format: FormatSpec::Csv, ..space.settings() };
    let error = space.model(table, &settings).unwrap_err().to_string();
    assert!(error.contains("access.log") && error.contains("--field time=NAME"), "{error}");
    assert!(error.contains("publisher, session_probability, click"), "{error}");
    assert!(matches!(space.model(table, &space.settings()), Err(ModelError::Format { .. })));
}
