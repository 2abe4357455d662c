//! The language from outside: whole scenarios in, plans and messages out.

mod arrivals;
mod attempts;
mod bad;
mod bytes;
mod channels;
mod connecting;
mod corpus;
mod data;
mod depth;
mod documents;
mod experiments;
mod expressions;
mod functions;
mod headers;
mod identity;
mod include;
mod layout;
mod lengths;
mod markov;
mod metrics;
mod mistakes;
mod mqtt;
mod multipart;
mod other_tools;
mod parallel;
mod plans;
mod populations;
mod ports;
mod programs;
mod properties;
mod recorded;
mod regions;
mod signed;
mod tags;
mod tcp;
mod thresholds;
mod until;

use plan::Plan;
use scenario::{Diagnostic, Settings, Source, compile, render};

/// Overrides from pairs of texts.
fn overrides(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

const FILES: &[(&str, &str)] = &[
    ("key.pem", include_str!("../../../../../testdata/keys/rsa.pem")),
    ("curve.pem", include_str!("../../../../../testdata/keys/p256.pem")),
    ("public.pem", include_str!("../../../../../testdata/keys/rsa-public.pem")),
    ("encrypted.pem", include_str!("../../../../../testdata/keys/encrypted.pem")),
    ("echo.proto", include_str!("../../../../../examples/grpc/echo.proto")),
    ("cycle.proto", "syntax = \"proto3\";\nimport \"back.proto\";\n"),
    ("back.proto", "syntax = \"proto3\";\n\n  import \"cycle.proto\";\n"),
    ("base64:photo.jpg", "/9j/AA=="),
    ("base64:broken.jpg", "?"),
    ("gaps.txt", "# seconds\n0.5\n250ms\n\n1\n"),
    ("bad.txt", "1\ntwo\n"),
    ("counts.txt", "3 0 5\n0,4 # the end\n"),
    ("hits.csv", "minute,hits\n08:00,12\n08:01,30\n08:02,0\n"),
    ("starts.txt", "0.5\n0.25 # first\n\n12\n"),
    ("dates.txt", "2026-03-29T00:59:59.5Z\n2026-03-29T03:00:00+02:00\n"),
    ("mixed.txt", "2026-03-29T00:59:59.5Z\n1\n"),
    ("epoch.txt", "1774000000\n1774000001.5\n"),
    ("negative.txt", "1 2\n3 -4\n"),
    ("accounts.csv", "user name,password\nann,a\nbob,\"b, \"\"2\"\"\"\ncy,c\n"),
    ("products.jsonl", "{\"product\": 7, \"tags\": [1]}\n\n{\"tags\": null, \"product\": \"x\"}\n"),
    ("marked.jsonl", "\u{feff}{\"a\": 1}\n{\"a\": 2}\n"),
    (
        "numbers.jsonl",
        "{\"id\": 18446744073709551615, \"in\": [12345678901234567890123, 1.50]}\n\
         {\"id\": 12345678901234567890123, \"id\": 123456789012345678901234, \"in\": \"x\"}\n",
    ),
    ("plain.txt", "ann;\"a;7\r\n\nbob;;8\n"),
    ("users.csv", "ann;\"o;x\nbob;\"h\n"),
    ("short.csv", "a,b\n1,2\n3\n"),
    ("logins.csv", "login,password\nann,a\nbob,b\n"),
    ("members.csv", "user,password,e-mail\nann,a,x\n"),
    ("open.csv", "a,b\n1,\"2\n"),
    ("twice.csv", "a,a\n1,2\n"),
    ("empty.csv", "a,b\n"),
    (
        "good.js",
        "const rate = 2;\nfunction total(list) { return rate * JSON.parse(list).length; }\n",
    ),
    ("syntax.js", "function f() {\n  return 1 +;\n}\n"),
    ("throws.js", "const a = null;\nconst b = a.c;\n"),
    ("state.js", "let calls = 0;\nfunction f() { return calls++; }\n"),
    ("names.js", "function len(x) { return x.length; }\nfunction user() {}\nfunction fine() {}\n"),
    ("../common/limits.yaml", "thresholds: [ errors == 0 ]\n"),
    (
        "../common/login.yaml",
        "params: { path: login }\nscript: ../common/signature.js\n\
         data:\n  accounts: { file: ../common/accounts.csv }\nsessions:\n  member:\n    - feed: accounts\n    \
         - post: /${raw(path)}\n      form: { login: \"${login}\", sign: \"${signature(login)}\" }\n",
    ),
    ("../common/signature.js", "const signature = (text) => text.length;\n"),
    ("../common/accounts.csv", "login\nann\n"),
    (
        "part.yaml",
        "params: { path: /part, base: /b }\nsessions:\n  part:\n    - js: |\n        return { n: 1 };\n      \
         sets: n\n    - get: /${n}\n      as: \"${base}${path}\"\nthresholds: errors == 0\n",
    ),
    (
        "wrong.yaml",
        "# A part.\nsessions:\n  extra:\n    - get: /${nothing}\n  s: [ { get: / } ]\ntarget: x\n",
    ),
    (
        "wrong-js.yaml",
        "sessions:\n  part:\n    - get: /\n    - js: |\n        const a = 1;\n        retrun a;\n",
    ),
    ("unfinished.yaml", "sessions:\n  a: [\n"),
    ("list.yaml", "- a\n"),
    ("ring-a.yaml", "sessions: { a: [ { get: /a } ] }\ninclude: ring-b.yaml\n"),
    ("ring-b.yaml", "sessions: { b: [ { get: /b } ] }\ninclude: [ ./ring-a.yaml ]\n"),
    ("self.yaml", "include: test.yaml\n"),
    (
        "counted.yaml",
        "metrics: { paid: { kind: counter, unit: EUR } }\nsessions: { payer: [ { get: /pay }, { measure: 5, as: paid } ] }\n\
         thresholds: [ sum(paid) >= 5 EUR ]\n",
    ),
    ("both.yaml", "include: [ part.yaml, more/../part.yaml ]\n"),
    ("more/../part.yaml", "sessions: { never: [ { get: /read } ] }\n"),
    ("bad.jsonl", "{\"a\": 1}\n{\"a\": }\n"),
    ("missing.jsonl", "{\"a\": 1, \"b\": 2}\n{\"a\": 1}\n"),
];

/// Compiles in a world with a few environment variables and files.
fn compile_with(text: &str, sets: &[(&str, &str)]) -> (Option<Plan>, Vec<Diagnostic>) {
    let settings = Settings {
        overrides: &overrides(sets),
        env: &|name| match name {
            "THRONG_HOST" => Some("example.org".to_owned()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" | "AWS_SESSION_TOKEN" => {
                Some("sesame".to_owned())
            }
            "PASSWORD" | "TOKEN" => Some("open sesame".to_owned()),
            _ => None,
        },
        files: &|name| {
            if name == "large.txt" {
                return Ok("x".repeat((1 << 20) + 1));
            }
            if name == "requests-per-second.txt" {
                return Ok("2 ".repeat(24 * 3600));
            }
            let found = FILES.iter().find(|(known, _)| *known == name);
            let text = found.map(|(_, text)| (*text).to_owned());
            text.ok_or_else(|| "no such file".to_owned())
        },
    };
    compile(Source { name: "test.yaml", text }, &settings)
}

/// The plan of a scenario in which nothing is wrong.
#[track_caller]
fn plan_with(text: &str, sets: &[(&str, &str)]) -> Plan {
    let (plan, diagnostics) = compile_with(text, sets);
    let diagnostics = render(&diagnostics, Source { name: "test.yaml", text });
    assert!(diagnostics.is_empty(), "{diagnostics}\n{text}");
    plan.expect("a scenario without diagnostics has a plan")
}

#[track_caller]
fn plan(text: &str) -> Plan {
    plan_with(text, &[])
}

/// A scenario with these steps, written as a YAML list.
fn with_steps(steps: &str) -> String {
    let steps = steps.trim_matches('\n').replace('\n', "\n    ");
    format!(
        "target: http://127.0.0.1:8080/base\nsessions:\n  s:\n    {steps}\n\
         arrivals: [{{ hold: 1s }}]\n"
    )
}

/// A scenario with these phases, written as a YAML list.
fn with_arrivals(phases: &str) -> String {
    let phases = phases.trim_matches('\n').replace('\n', "\n  ");
    format!(
        "target: http://127.0.0.1:8080/\nsessions:\n  s: [ {{ think: 1s }} ]\n  \
         t: [ {{ think: 1s }} ]\narrivals:\n  {phases}\n"
    )
}

/// What is said of a wrong scenario.
#[track_caller]
fn rendered(text: &str, sets: &[(&str, &str)]) -> String {
    let (plan, diagnostics) = compile_with(text, sets);
    assert!(plan.is_none(), "this should not compile:\n{text}");
    render(&diagnostics, Source { name: "test.yaml", text })
}
