//! Tokens and requests that are signed, compiled.

use plan::expr::{Expr, TemplatePart, Value};
use plan::{Aws, HttpOp, Op};

use crate::expressions::{template, value};
use crate::{compile_with, plan, plan_with};

/// The expression that a variable is set to.
fn compiled(expression: &str) -> Expr {
    match template(expression).parts.pop() {
        Some(TemplatePart::Expr(expr, _)) => expr,
        Some(TemplatePart::Text(text)) => Expr::Const(Value::Text(text)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_is_read_once_and_a_token_that_never_varies_is_made_once() {
    for (expression, is_constant) in [
        ("jwt('{}', file('key.pem'), 'RS256')", true),
        ("jwt('{}', file('key.pem'), 'RS256', '{}')", true),
        ("jwt('{}', 'secret', 'HS512')", true),
        // Its signatures differ.
        ("jwt('{}', file('curve.pem'), 'ES256')", false),
        ("jwt('{}', file('key.pem'), 'PS256')", false),
        ("jwt(w, file('key.pem'), 'RS256')", false),
        ("jwt('{}', file('key.pem'), 'RS256', w)", false),
    ] {
        let found = compiled(expression);
        assert_eq!(matches!(found, Expr::Const(_)), is_constant, "{expression}");
        let is_token = matches!(found, Expr::Token(..));
        assert_eq!(is_token, !is_constant, "{expression}: {found:?}");
        assert_eq!(compiled(expression), found, "{expression}");
    }
    // The key is a user's own.
    let own = compiled("jwt('{}', w, 'RS256')");
    assert!(matches!(own, Expr::Call(..)), "{own:?}");
}

#[test]
fn a_token_has_the_header_and_the_claims_that_are_written() {
    let token =
        value(r#"jwt(replace('{"sub":"1"}', '1', n), file('key.pem'), 'RS512', '{"kid":"k"}')"#);
    let token = token.to_text();
    let parts: Vec<&str> = token.split('.').collect();
    let decoded = |part: &str| value(&format!("base64_decode('{part}')")).to_text().to_string();
    assert_eq!(decoded(parts[0]), r#"{"alg":"RS512","typ":"JWT","kid":"k"}"#);
    assert_eq!(decoded(parts[1]), r#"{"sub":"5"}"#);
    // 2,048 bits.
    assert_eq!(parts[2].len(), 342);
}

#[test]
fn a_files_text_is_a_value() {
    let text = value("file('gaps.txt')");
    assert_eq!(text, Value::text("# seconds\n0.5\n250ms\n\n1\n"));
}

const KEYS: &str =
    "access_key: \"${env('AWS_ACCESS_KEY_ID')}\", secret_key: \"${env('AWS_SECRET_ACCESS_KEY')}\"";

fn scenario(options: &str, steps: &str) -> String {
    format!(
        "target: http://127.0.0.1/\nparams: {{ token: none }}\noptions: {{ {options} }}\nsessions:\n  \
         s: [ {steps} ]\narrivals: [ {{ hold: 1s }} ]\n"
    )
}

fn requests(text: &str) -> Vec<HttpOp> {
    let ops = plan_with(text, &[("token", "temporary")]).sessions.remove(0).ops;
    let requests = ops.into_iter().filter_map(|op| match op {
        Op::Http(http) => Some(*http),
        _ => None,
    });
    requests.collect()
}

fn service(request: &HttpOp) -> Option<&str> {
    request.sign.as_ref().map(|aws| aws.service.as_str())
}

#[test]
fn a_request_is_signed_by_its_own_keys_or_the_runs() {
    let aws = |service: &str, more: &str| {
        format!("{{ aws: {{ service: {service}, region: eu-west-1, {KEYS}{more} }} }}")
    };
    let own = aws("s3", ", session_token: \"${token}\", payload: unsigned");
    let run = aws("sqs", "");
    let text = scenario(
        &format!("sign: {run}"),
        &format!(
            "{{ get: /a }}, {{ get: /b, sign: {own} }}, {{ get: /c, sign: none }}, {{ get: /d, auth: none }}, \
             {{ get: /e, auth: {{ bearer: \"${{env('TOKEN')}}\" }} }}"
        ),
    );
    let requests = requests(&text);
    let found: Vec<_> = requests.iter().map(service).collect();
    assert_eq!(found, [Some("sqs"), Some("s3"), None, None, None]);
    let has_header =
        |request: &HttpOp| request.headers.iter().any(|(name, _)| name == "authorization");
    let found: Vec<_> = requests.iter().map(has_header).collect();
    assert_eq!(found, [false, false, false, false, true]);
    let Some(Aws { session_token, signs_body, secret_key, .. }) = requests[1].sign.as_deref()
    else {
        panic!("it is signed");
    };
    assert_eq!(session_token.as_ref().unwrap().as_static(), Some("temporary"));
    assert_eq!(secret_key.as_static(), Some("sesame"));
    assert!(!signs_body && requests[0].sign.as_ref().unwrap().signs_body);
}

#[test]
fn keys_of_signatures_are_secret() {
    let text = "target: http://127.0.0.1/\nparams: { id: none, key: none, word: none, n: 1 }\nsessions:\n  s:\n    \
                - get: \"/${n}\"\n      sign: { aws: { service: s3, region: r, access_key: \"${id}\", secret_key: \
                \"${key}\", session_token: \"${word}\" } }\n    - { get: /b, sign: { aws: { service: s3, region: r, \
                access_key: a, secret_key: b } } }\narrivals: [ { hold: 1s } ]\n";
    let sets = [("n", "2"), ("id", "i"), ("key", "k"), ("word", "w")];
    let (plan, diagnostics) = compile_with(text, &sets);
    assert_eq!(plan.unwrap().secret_sets, [1, 2, 3]);
    let codes: Vec<_> = diagnostics.iter().map(|d| d.code).collect();
    assert_eq!(codes, ["plain-secret", "plain-secret"]);
}

#[test]
fn a_run_that_signs_leaves_other_streams_alone() {
    let text =
        scenario(&format!("sign: {{ aws: {{ service: s3, region: r, {KEYS} }} }}"), "{ ws: /w }");
    let text = text.replace("params: { token: none }\n", "");
    assert!(matches!(&plan(&text).sessions[0].ops[0], Op::WsOpen(open) if open.headers.is_empty()));
}
