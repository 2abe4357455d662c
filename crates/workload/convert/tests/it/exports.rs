//! Exports of Insomnia.

use convert::{Leniency, insomnia};
use scenario::{Source, render};

use crate::assert_runs;

fn convert(text: &str, environment: Option<&str>, leniency: Leniency) -> (Option<String>, String) {
    let source = Source { name: "shop.json", text };
    let settings =
        insomnia::Settings { leniency, environment, files: &|_| Err("no such file".to_owned()) };
    let (converted, diagnostics) = insomnia::convert(source, &settings);
    (converted.map(|converted| converted.text), render(&diagnostics, source))
}

/// An export of format 4 with what such files hold.
pub(crate) const FOUR: &str = r#"{
  "_type": "export", "__export_format": 4, "__export_source": "insomnia.desktop.app:v2023.5.8",
  "resources": [
    {"_id": "req_2", "parentId": "fld_1", "metaSortKey": -1, "name": "Pay", "_type": "request", "method": "POST",
     "url": "{{ _.base.url }}/pay/:card", "pathParameters": [{"name": "card", "value": "7"}],
     "authentication": {"type": "basic", "username": "ann", "password": "pw"},
     "body": {"mimeType": "application/x-www-form-urlencoded",
       "params": [{"name": "a", "value": "x y"}, {"name": "off", "value": "1", "disabled": true}]}},
    {"_id": "req_1", "parentId": "fld_1", "metaSortKey": -2, "name": "Log in", "_type": "request", "method": "POST",
     "url": "{{ _.base.url }}/login",
     "parameters": [{"name": "lang", "value": "e&n"}, {"name": "off", "value": "1", "disabled": true}],
     "headers": [{"name": "X-Trace", "value": "{% uuid 'v4' %}"}],
     "authentication": {},
     "body": {"mimeType": "application/json", "text": "{\"user\": \"{{ _.user }}\"}"},
     "afterResponseScript": "insomnia.environment.set('token', insomnia.response.json().token);\ninsomnia.test('s', () => insomnia.response.to.have.status(201));"},
    {"_id": "req_3", "parentId": "wrk_1", "metaSortKey": 1, "name": "Orders", "_type": "request", "method": "GET",
     "url": "{{ _.base.url }}/orders", "settingFollowRedirects": "off",
     "authentication": {"type": "bearer", "token": "{{ _.token }}"}},
    {"_id": "fld_1", "parentId": "wrk_1", "metaSortKey": 0, "name": "Sign in", "_type": "request_group",
     "environment": {"user": "ann"}},
    {"_id": "wrk_1", "parentId": null, "name": "Shop", "_type": "workspace"},
    {"_id": "env_1", "parentId": "wrk_1", "name": "Base Environment", "_type": "environment",
     "data": {"base": {"url": "https://shop.test"}}},
    {"_id": "env_2", "parentId": "env_1", "name": "Test", "_type": "environment",
     "data": {"base": {"url": "http://localhost:81"}}},
    {"_id": "jar_1", "parentId": "wrk_1", "_type": "cookie_jar", "cookies": []}
  ]
}"#;

/// The same of format 5.
pub(crate) const FIVE: &str = r#"type: collection.insomnia.rest/5.0
name: Shop
collection:
  - name: Sign in
    meta: { id: fld_1, sortKey: 0 }
    environment: { user: ann }
    children:
      - url: "{{ _.base.url }}/login"
        name: Log in
        meta: { id: req_1 }
        method: POST
        body:
          mimeType: application/json
          text: |-
            {"user": "{{ _.user }}"}
        parameters:
          - { name: lang, value: e&n }
        headers:
          - { name: X-Trace, value: "{% uuid 'v4' %}" }
        scripts:
          afterResponse: insomnia.environment.set('token', insomnia.response.json().token);
  - url: "{{ _.base.url }}/orders"
    name: Orders
    meta: { id: req_3 }
    method: GET
    authentication: { type: bearer, token: "{{ _.token }}" }
    settings: { followRedirects: "off" }
environments:
  name: Base Environment
  data: { base: { url: "https://shop.test" } }
  subEnvironments:
    - { name: Test, data: { base: { url: "http://localhost:81" } } }
"#;

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn requests_stand_in_the_order_of_the_folders() {
    let (converted, said) = convert(FOUR, None, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_has(
        &converted,
        &[
            "# Converted from Insomnia's export shop.json; see docs/importing.md.",
            "name: Shop\ntarget: \"https://shop.test\"\n",
            "- transaction: Sign in (folder)",
            "- post: /login?lang=e%26n\n",
            "as: Log in\n",
            "x-trace: \"${uuid()}\"",
            "content-type: application/json",
            "status: 201",
            "token: /token",
            "- post: /pay/7\n",
            "a: x y",
            "user: ann",
            "- get: /orders\n",
            "bearer: \"${token}\"",
            "redirects: 0",
            "env('PASSWORD')",
        ],
    );
    assert!(!converted.contains("off:") && !converted.contains("pw"), "{converted}");
    let places = ["as: Log in", "as: Pay", "as: Orders"].map(|name| converted.find(name).unwrap());
    assert!(places.is_sorted(), "{converted}");
    assert_has(&said, &["the values are those of the base environment", "NAME: Test"]);
}

#[test]
fn both_formats_and_their_environments_are_read() {
    for text in [FOUR, FIVE] {
        let (converted, said) = convert(text, Some("Test"), Leniency::Strict);
        let converted = converted.unwrap_or_else(|| panic!("{said}"));
        assert_has(
            &converted,
            &[
                "target: \"http://localhost:81\"\n",
                "- post: /login?lang=e%26n\n",
                "x-trace: \"${uuid()}\"",
                "content-type: application/json",
                "token: /token",
                "bearer: \"${token}\"",
                "redirects: 0",
            ],
        );
        let (converted, said) = convert(text, Some("Production"), Leniency::Strict);
        assert!(converted.is_none());
        assert_has(&said, &["no environment `Production`", "it has: Test"]);
    }
}

#[test]
fn what_has_no_counterpart_is_named() {
    let grpc =
        r#"{"_id": "greq_1", "parentId": "wrk_1", "_type": "grpc_request"}, {"_id": "jar_1","#;
    for (text, expected) in [
        ("{".to_owned(), "this is not JSON"),
        ("{\"resources\": 1}".to_owned(), "neither `resources` nor `collection`"),
        ("{\"resources\": []}".to_owned(), "has no request"),
        (FOUR.replace("{\"_id\": \"jar_1\",", grpc), "`grpc_request` is not carried over"),
        (FOUR.replace("\"type\": \"basic\"", "\"type\": \"hawk\""), "`hawk` is not carried over"),
        (
            FOUR.replace("\"parentId\": \"wrk_1\", \"metaSortKey\": 0", "\"parentId\": \"fld_1\""),
            "2 requests belong to folders that belong to each other",
        ),
        (FIVE.replace("    method: GET\n", ""), "no request over HTTP"),
    ] {
        let (converted, said) = convert(&text, None, Leniency::Strict);
        assert!(converted.is_none() && said.contains(expected), "{expected}\n{said}");
    }
    let text = FOUR.replace("{% uuid 'v4' %}", "{% response 'body', 'req_1' %}");
    let (converted, said) = convert(&text, None, Leniency::Strict);
    assert!(converted.is_some(), "{said}");
    assert_has(&said, &["`$response` has no counterpart"]);
}

/// An export that is changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        for environment in [None, Some("Test")] {
            let source = Source { name: "x.json", text };
            let files = |_: &str| -> Result<String, String> { Err("no such file".to_owned()) };
            let settings = insomnia::Settings { leniency, environment, files: &files };
            if let (Some(converted), _) = insomnia::convert(source, &settings) {
                assert_runs(&converted);
            }
        }
    }
}
