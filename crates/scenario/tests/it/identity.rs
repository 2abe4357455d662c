//! Cookies and authentication, compiled; secrets kept out of the record.

use plan::{HttpOp, Op};

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
    let found = request
        .headers
        .iter()
        .find(|(name, _)| name == "authorization");
    found.and_then(|(_, value)| value.as_static())
}

/// The credentials are those of RFC 7617 section 2.
#[test]
fn basic_and_bearer_are_headers() {
    let text = scenario(
        "auth: { bearer: \"${env('TOKEN')}\" }",
        "{ get: /a }, { get: /b, auth: none }, { get: /c, headers: { authorization: mine } }, \
         { get: /d, auth: { basic: { user: Aladdin, password: \"${env('PASSWORD')}\" } } }",
    );
    let requests = requests(&text);
    let found: Vec<_> = requests.iter().map(authorization).collect();
    assert_eq!(
        found,
        [
            Some("Bearer open sesame"),
            None,
            Some("mine"),
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
