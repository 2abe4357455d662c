//! Cookies and authentication, compiled; secrets kept out of the record.

use plan::{HttpOp, Op};
use scenario::{Load, UrlRun, url_scenario};

use crate::{compile_with, plan, plan_with};

fn scenario(options: &str, steps: &str) -> String {
    format!(
        "target: http://127.0.0.1/\noptions: {{ {options} }}\nsessions:\n  s: [ {steps} ]\n\
         arrivals: [ {{ hold: 1s }} ]\n"
    )
}

fn requests(text: &str) -> Vec<HttpOp> {
    let ops = plan(text).sessions.remove(0).ops;
    let requests = ops.into_iter().filter_map(|op| match op {
        Op::Http(http) => Some(*http),
        _ => None,
    });
    requests.collect()
}

fn authorization(request: &HttpOp) -> Option<&str> {
    let found = request.headers.iter().find(|(name, _)| name == "authorization");
    found.and_then(|(_, value)| value.as_static())
}

/// What is done without being written, and how it is switched off.
#[test]
fn cookies_are_kept_and_codings_accepted_unless_the_file_says_otherwise() {
    let all = "gzip, deflate, br, zstd";
    for (options, cookies, accepted) in [
        ("timeout: 1s", true, Some(all)),
        ("cookies: true", true, Some(all)),
        ("cookies: false", false, Some(all)),
        ("accept_encoding: none", true, None),
        ("accept_encoding: [br]", true, Some("br")),
        ("headers: { Accept-Encoding: gzip }", true, None),
    ] {
        let text = scenario(options, "{ get: / }, { sse: /events }");
        let session = plan(&text).sessions.remove(0);
        assert_eq!(session.cookies, cookies, "{options}");
        let found = session.ops.iter().map(|op| match op {
            Op::Http(http) => &http.headers,
            Op::SseOpen(open) => &open.headers,
            other => panic!("{other:?}"),
        });
        let found = found.map(|headers| {
            let mut lines = headers.iter().filter(|(name, _)| name == "accept-encoding");
            lines.next().and_then(|(_, value)| value.as_static())
        });
        // Event streams accept what the file names alone: decompressing one takes memory as long as it lasts.
        assert_eq!(found.collect::<Vec<_>>(), [accepted, None], "{options}");
    }
    let text = scenario("accept_encoding: [br, gzip]", "{ sse: /events }");
    let Op::SseOpen(open) = plan(&text).sessions.remove(0).ops.remove(0) else {
        panic!("no event stream");
    };
    let gzip = open.headers.iter().find(|(name, _)| name == "accept-encoding");
    assert_eq!(gzip.and_then(|(_, value)| value.as_static()), Some("gzip"));
}

#[test]
fn files_that_count_on_older_defaults_are_warned() {
    for (options, steps, expected) in [
        ("timeout: 1s", "{ get: /, cookies: { a: b } }", ""),
        (
            "timeout: 1s",
            "{ get: /, headers: { Cookie: a=b } }, { get: /b, headers: { cookie: c=d } }",
            "keeps-cookies",
        ),
        ("timeout: 1s", "{ get: /, save: { id: { header: Set-Cookie } } }", "keeps-cookies"),
        ("cookies: true", "{ get: /, headers: { Cookie: a=b } }", ""),
        ("timeout: 1s", "{ get: /, save: { n: { header: content-length } } }", "accepts-codings"),
        ("accept_encoding: none", "{ get: /, save: { n: { header: content-length } } }", ""),
        ("accept_encoding: [none, br]", "{ get: / }", "two-codings"),
    ] {
        let (_, diagnostics) = compile_with(&scenario(options, steps), &[]);
        let codes: Vec<_> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes.join(" "), expected, "{options} {steps}");
    }
}

/// The credentials are those of RFC 7617 section 2.
#[test]
fn basic_and_bearer_are_headers() {
    let text = scenario(
        "auth: { bearer: \"${env('TOKEN')}\" }",
        "{ get: /a }, { get: /b, auth: none }, { get: /c, headers: { authorization: \"${env('PASSWORD')}\" } }, \
         { get: /d, auth: { basic: { user: Aladdin, password: \"${env('PASSWORD')}\" } } }",
    );
    let requests = requests(&text);
    let found: Vec<_> = requests.iter().map(authorization).collect();
    assert_eq!(
        found,
        [
            Some("Bearer open sesame"),
            None,
            Some("open sesame"),
            Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ]
    );
}

#[test]
fn a_challenge_is_answered_by_name_and_password() {
    let text = scenario(
        "auth: { digest: { user: ann, password: \"${env('PASSWORD')}\" } }",
        "{ get: /a }, { get: /b, auth: none }",
    );
    let requests = requests(&text);
    let digest = requests[0].digest.as_ref().expect("a digest");
    assert_eq!(digest.user.as_static(), Some("ann"));
    assert_eq!(digest.password.as_static(), Some("open sesame"));
    assert_eq!(requests[1].digest, None);
}

#[test]
fn sessions_decide_on_cookies_themselves() {
    let text = "target: http://127.0.0.1/\noptions: { cookies: true }\nsessions:\n  a: [ { get: / } ]\n  \
                b: { cookies: false, steps: [ { get: / } ] }\narrivals: [ { hold: 1s } ]\n";
    let cookies: Vec<_> = plan(text).sessions.iter().map(|s| s.cookies).collect();
    assert_eq!(cookies, [true, false]);
}

#[test]
fn overrides_with_secrets_are_known() {
    let text = "target: http://127.0.0.1/\nparams: { key: none, n: 1 }\nsessions:\n  s:\n    - { get: \"/${n}\", \
                auth: { bearer: \"x${key}\" } }\n    - { get: /b, auth: { bearer: \"${env('TOKEN')}\" } }\n\
                arrivals: [ { hold: 1s } ]\n";
    let sets = [("n", "2"), ("key", "k"), ("sessions.s.1.auth.bearer", "t")];
    assert_eq!(plan_with(text, &sets).secret_sets, [1, 2]);
    assert_eq!(plan(text).secret_sets, [] as [usize; 0]);
}

#[test]
fn secrets_in_the_text_are_warned_of() {
    let text = scenario("auth: { bearer: abc }", "{ get: / }");
    let (plan, diagnostics) = compile_with(&text, &[]);
    assert!(plan.is_some());
    assert_eq!(diagnostics[0].code, "plain-secret");
}

/// In URLs, bodies and messages, by any spelling of the name, and by names that the scenario adds.
#[test]
fn values_of_secret_names_are_warned_of_wherever_they_stand() {
    for (step, secrets) in [
        ("{ get: \"/?token=abc\" }", 1),
        ("{ http: \"GET /?n=1&API-Key=abc\" }", 1),
        ("{ post: /, json: { user: ann, deep: [ { access_token: abc } ], password: 12 } }", 2),
        ("{ post: /, form: { clientSecret: abc } }", 1),
        ("{ post: /, multipart: { passphrase: abc } }", 1),
        ("{ post: /, body: '{\"password\": \"abc\", \"n\": 1}' }", 1),
        ("{ post: /, body: 'user=ann&password=abc' }", 1),
        ("{ get: \"/?pin=abc\" }", 1),
        // Values from elsewhere, and names that only look like it.
        ("{ get: \"/?token=${user}\" }", 0),
        ("{ post: /, json: { password: \"${user}\", token: null, tokens: 3 } }", 0),
    ] {
        let text = format!(
            "target: http://127.0.0.1/\noptions: {{ secrets: [PIN] }}\nsessions: {{ s: [ {step} ] }}\n\
             arrivals: [ {{ hold: 1s }} ]\n"
        );
        let (plan, diagnostics) = compile_with(&text, &[]);
        let plan = plan.unwrap_or_else(|| panic!("{step}: {diagnostics:?}"));
        assert_eq!(diagnostics.len(), secrets, "{step}: {diagnostics:?}");
        assert!(diagnostics.iter().all(|found| found.code == "plain-secret"), "{diagnostics:?}");
        let texts = plan.secret_texts.iter();
        let shown = texts.filter(|secret| text[secret.span.clone()].contains(&secret.value));
        assert_eq!(shown.count(), secrets, "{step}");
    }
}

#[test]
fn names_of_measures_have_no_query() {
    let steps = "[ { get: \"/a?token=${user}\" }, { http: \"PUT /b?x=1\" }, { poll: \"/c?after=1\" }, { close: }, \
                 { get: \"/${replace('d?', '?', '')}?x=1\" }, { get: \"/f?x=1\", as: \"f?x=1\" } ]";
    let text = format!(
        "target: http://127.0.0.1/\nsessions: {{ s: {steps} }}\narrivals: [ {{ hold: 1s }} ]\n"
    );
    let names: Vec<String> = plan(&text).measures.iter().map(|m| m.name.clone()).collect();
    for name in ["GET /a", "PUT /b", "poll /c", "GET /${replace('d?', '?', '')}", "f?x=1"] {
        assert!(names.iter().any(|found| found == name), "{name}: {names:?}");
    }
}

#[test]
fn secrets_of_a_bare_url_are_overrides() {
    let url = url_scenario(&UrlRun {
        url: "http://127.0.0.1/a?n=1&token=a%2Fb&x=2",
        load: Load::Users(1),
        duration: "1s",
        method: None,
        headers: &[],
        body: Some(r#"{"user": "ann", "password": "${x} 'y'"}"#),
    });
    assert_eq!(url.name, "http://127.0.0.1/a?n=1&token=(secret)&x=2");
    assert!(!url.text.contains("a%2Fb") && !url.text.contains("'y'"), "{}", url.text);
    let sets: Vec<_> = url.sets.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let plan = plan_with(&url.text, &sets);
    assert_eq!(plan.secret_sets, [0, 1]);
    let request = plan.sessions[0].ops.iter().find_map(|op| match op {
        Op::Http(request) => Some(request),
        _ => None,
    });
    let request = request.unwrap();
    // Nothing is encoded twice.
    assert!(format!("{:?}", request.path).contains("a%2Fb"), "{:?}", request.path);
    assert!(format!("{:?}", request.body).contains("${x} 'y'"), "{:?}", request.body);
    assert_eq!(plan.measures[request.measure.index()].name, "POST /a");
}

#[test]
fn credentials_of_a_bare_url_are_a_header() {
    let of = |url: &str, headers: &[(String, String)]| {
        let load = Load::Users(1);
        let run = UrlRun { url, load, duration: "1s", method: None, headers, body: None };
        url_scenario(&run)
    };
    let url = of("http://ann:p%40ss@127.0.0.1:81/a?mail=x@y", &[]);
    assert_eq!(url.name, "http://127.0.0.1:81/a?mail=x@y");
    assert!(!url.text.contains("ann") && !url.text.contains("p%40ss"), "{}", url.text);
    let sets: Vec<_> = url.sets.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    // The base64 of `ann:p@ss`.
    assert_eq!(sets, [("header_1", "\"Basic YW5uOnBAc3M=\"")]);
    let plan = plan_with(&url.text, &sets);
    assert_eq!(plan.secret_sets, [0]);
    assert_eq!((&*plan.endpoints[0].host, plan.endpoints[0].port), ("127.0.0.1", 81));
    // A token alone is a user; a header that is given wins.
    let token = of("https://hush@h", &[]);
    assert!(!token.text.contains("hush") && token.sets.len() == 1, "{}", token.text);
    let given = ("authorization".to_owned(), "Bearer x".to_owned());
    let both = of("https://ann:hush@h", &[given]);
    assert_eq!(both.sets, [("header_1".to_owned(), "\"Bearer x\"".to_owned())]);
}

/// Whatever the way from an override to a header: through a parameter, variables, a cookie, or by itself.
#[test]
fn overrides_that_reach_secret_places_are_known() {
    let sessions = "sessions:\n  s:\n    - set: { bearer: \"Bearer ${tok}\" }\n    - set: { auth: \"${bearer}\" }\n    \
                    - get: \"/${n}\"\n      headers: { authorization: \"${auth}\", x-n: \"${n}\" }\n      \
                    cookies: { sid: \"${sid}\" }\n    - { get: /, headers: { X-Api-Key: \"${key}\" } }\n    \
                    - { get: /, headers: { x: \"${password}\", cookie: theme=dark } }\n";
    let params = "options: { cookies: true }\nparams: { n: 1, base: a, tok: \"${base}\", sid: s, key: k, password: p }\n";
    let text =
        format!("target: http://127.0.0.1/\n{params}{sessions}arrivals: [ {{ hold: 1s }} ]\n");
    for (set, is_secret) in [
        (("n", "2"), false),
        (("tok", "t"), true),
        (("base", "t"), true),
        (("sid", "t"), true),
        (("key", "t"), true),
        // By its name alone.
        (("password", "t"), true),
        (("sessions.s.2.headers.authorization", "t"), true),
        (("sessions.s.4.headers.cookie", "sid=1"), true),
        (("sessions.s.2.headers.x-n", "t"), false),
    ] {
        // A parameter whose value is replaced leaves the ones in it unused, which is a warning.
        let found = compile_with(&text, &[set]).0.unwrap().secret_sets;
        assert_eq!(found, if is_secret { vec![0] } else { vec![] }, "{set:?}");
    }
    assert_eq!(plan(&text).secret_sets, [] as [usize; 0]);
}

#[test]
fn secret_headers_of_a_bare_url_are_overrides() {
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let value = "Bearer ${x} \"y\"";
    let headers = [header("accept", "*/*"), header("Authorization", value)];
    let url = url_scenario(&UrlRun {
        url: "http://127.0.0.1/",
        load: Load::Users(1),
        duration: "1s",
        method: None,
        headers: &headers,
        body: None,
    });
    assert!(!url.text.contains("Bearer"), "{}", url.text);
    let sets: Vec<_> = url.sets.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    let plan = plan_with(&url.text, &sets);
    assert_eq!(plan.secret_sets, [0]);
    let requests = plan.sessions[0].ops.iter();
    let sent = requests.filter_map(|op| match op {
        Op::Http(request) => request.headers.iter().find(|(name, _)| name == "Authorization"),
        _ => None,
    });
    let sent: Vec<_> = sent.map(|(_, value)| value.as_static()).collect();
    assert_eq!(sent, [Some(value)]);
}
