//! Collections of Postman.

use convert::{Leniency, postman};
use scenario::{Source, render};

use crate::assert_runs;

fn convert(text: &str, environment: Option<&str>, leniency: Leniency) -> (Option<String>, String) {
    let source = Source { name: "shop.json", text };
    let settings =
        postman::Settings { leniency, environment, files: &|_| Err("no such file".to_owned()) };
    let (converted, diagnostics) = postman::convert(source, &settings);
    (converted.map(|converted| converted.text), render(&diagnostics, source))
}

/// A collection with what such files hold.
pub(crate) const SHOP: &str = r#"{
  "info": {"name": "Shop", "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"},
  "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{token}}", "type": "string"}]},
  "variable": [
    {"key": "baseUrl", "value": "https://shop.test/api"},
    {"key": "user", "value": "ann"},
    {"key": "password", "value": "pw"}
  ],
  "item": [
    {"name": "Sign in", "item": [
      {"name": "Log in",
       "event": [{"listen": "test", "script": {"type": "text/javascript", "exec": [
         "const body = pm.response.json();",
         "pm.test(\"Status\", function () {",
         "    pm.response.to.have.status(200);",
         "});",
         "pm.test(\"Body\", () => { pm.expect(body.user.name).to.eql(\"ann\"); });",
         "pm.collectionVariables.set(\"token\", body.token);",
         "pm.test(\"Fast\", () => pm.expect(pm.response.responseTime).to.be.below(500));",
         "console.log(body);",
         "mystery(body);"]}}],
       "request": {"method": "POST", "auth": {"type": "noauth"},
         "header": [{"key": "X-Trace", "value": "{{$guid}}"}, {"key": "X-Off", "value": "1", "disabled": true}],
         "url": {"raw": "{{baseUrl}}/login?lang=de", "host": ["{{baseUrl}}"], "path": ["login"],
           "query": [{"key": "lang", "value": "en"}, {"key": "debug", "value": "1", "disabled": true}]},
         "body": {"mode": "raw", "raw": "{\"user\": \"{{user}}\", \"password\": \"{{password}}\"}",
           "options": {"raw": {"language": "json"}}}},
       "response": [{"body": "…"}]}
    ]},
    {"name": "Order",
     "event": [{"listen": "prerequest", "script": {"exec": "pm.variables.set('now', Date.now());"}}],
     "request": {"method": "GET", "url": {"raw": "{{baseUrl}}/orders/:id?at={{now}}", "variable": [{"key": "id", "value": "7 7"}]}}},
    {"name": "Pay", "request": {"method": "POST", "url": "{{baseUrl}}/pay/{{card}}",
      "body": {"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "1"}, {"key": "b", "value": "x y"}]}}},
    {"name": "Photo", "request": {"method": "PUT", "url": "https://files.test/p",
      "body": {"mode": "formdata", "formdata": [{"key": "f", "type": "file", "src": "/C:/a.png"}, {"key": "t", "value": "v", "type": "text"}]}}}
  ]
}"#;

#[test]
fn a_collection_becomes_a_session() {
    let (converted, said) = convert(SHOP, None, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(
        converted,
        r#"# Converted from Postman's collection shop.json; see docs/importing.md.
# Set these environment variables: CARD, PASSWORD
name: Shop
target: "https://shop.test"
params:
  v_user: ann
options:
  cookies: true
sessions:
  collection:
    # Scripts set these later.
    - set:
        now: ""
        token: ""
    - transaction: Sign in (folder)
      steps:
        # script: const body = pm.response.json()
        # script: mystery(body)
        - post: /api/login?lang=en
          as: Log in
          headers:
            x-trace: "${uuid()}"
            content-type: application/json
          body: "{\"user\": \"${v_user}\", \"password\": \"${env('PASSWORD')}\"}"
          status: 200
          save:
            v_name: /user/name
            token: /token
            response_time: time
          check:
            - v_name == 'ann'
            - response_time < 500
    - set:
        now: "${now()}"
    - get: "/api/orders/7%207?at=${raw(now)}"
      as: Order
      auth:
        bearer: "${token}"
    - post: "/api/pay/${raw(env('CARD'))}"
      as: Pay
      form:
        a: "1"
        b: x y
      auth:
        bearer: "${token}"
    - put: "https://files.test/p"
      as: Photo
      multipart:
        f:
          value: "(contents of a.png)"
          name: a.png
        t: v
      auth:
        bearer: "${token}"
arrivals:
  # A collection does not say how many users arrive: choose the rate here.
  - constant: 1/s
    for: 1m
  - hold: 60s
    until: done
thresholds:
  # What must hold for a run to pass: edit it.
  - error_rate < 1%
"#
    );
    for part in [
        "shop.json:12:",
        "what this script does stands in the scenario as a comment",
        "the file `/C:/a.png` cannot be read",
        "a secret is read from the environment variable `PASSWORD`",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

/// As Postman and newman send them: `raw` is for people.
#[test]
fn urls_are_what_their_parts_are() {
    for (url, expected) in [
        (
            r#"{"raw": "http://a.test/old?x=1", "protocol": "http", "host": ["b", "test"], "port": "81", "path": ["new", ""]}"#,
            "/new/",
        ),
        (
            r#"{"raw": "http://b.test:81/?a", "protocol": "http", "host": ["b", "test"], "port": "81", "path": [],
            "query": [{"key": "a", "value": null}, {"key": "b=", "value": "1&2#{{c&d}}"}]}"#,
            "/?a&b%3D=1%262%23${raw(env('C_D'))}",
        ),
        (r#"{"raw": "http://b.test:81/x?y=1#z"}"#, "/x?y=1"),
    ] {
        let text = format!(
            r#"{{"info": {{"name": "x"}}, "item": [{{"name": "a", "request": {{"method": "GET", "url": {url}}}}}]}}"#
        );
        let (converted, said) = convert(&text, None, Leniency::Strict);
        let converted = converted.unwrap_or_else(|| panic!("{said}"));
        let quoted = format!("- get: \"{expected}\"\n");
        assert!(converted.contains("target: \"http://b.test:81\"\n"), "{converted}");
        assert!(
            converted.contains(&quoted) || converted.contains(&quoted.replace('"', "")),
            "{quoted}\n{converted}"
        );
    }
}

#[test]
fn an_environment_comes_before_the_collection() {
    let environment = r#"{"name": "test", "values": [{"key": "baseUrl", "value": "http://localhost:81", "enabled": true},
        {"key": "card", "value": "c1", "type": "secret"}]}"#;
    let (converted, said) = convert(SHOP, Some(environment), Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in
        ["target: \"http://localhost:81\"\n", "- post: /login?lang=en\n", "${raw(env('CARD'))}"]
    {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
}

#[test]
fn what_scripts_send_is_named() {
    let text = SHOP.replace("mystery(body);", "pm.sendRequest('http://a.test', () => {});");
    let (converted, said) = convert(&text, None, Leniency::Strict);
    assert!(converted.is_none() && said.contains("a request that a script sends"), "{said}");
    let (converted, _) = convert(&text, None, Leniency::Lenient);
    assert!(converted.is_some());
    let conditions = SHOP.replace("mystery(body);", "if (body.ok) { pm.environment.set('x', 1); }");
    let (converted, said) = convert(&conditions, None, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("# script: if (body.ok)") && !converted.contains("status: 200"));
}

#[test]
fn what_is_no_collection_is_reported() {
    for (text, expected) in [
        ("{", "this is not JSON"),
        ("{\"info\": {}}", "has no list `item`"),
        ("{\"item\": []}", "has no request"),
        ("{\"item\": [{\"name\": \"a\", \"request\": \"/x\"}]}", "this request has no host"),
        (
            "{\"item\": [{\"request\": {\"url\": \"http://a.test\", \"auth\": {\"type\": \"hawk\"}}}]}",
            "the authorization `hawk` is not carried over",
        ),
    ] {
        let (converted, said) = convert(text, None, Leniency::Strict);
        assert!(converted.is_none() && said.contains(expected), "{text}\n{said}");
    }
}

fn collection_of(items: &str, more: &str) -> String {
    format!(r#"{{"info": {{"name": "x"}}, "item": [{items}]{more}}}"#)
}

#[test]
fn bodies_are_sent_as_postman_sends_them() {
    let get = |more: &str| {
        let body = r#""body": {"mode": "raw", "raw": "hello"}"#;
        let request = format!(r#"{{"method": "GET", "url": "http://a.test/", {body}}}"#);
        collection_of(&format!(r#"{{"name": "a", "request": {request}{more}}}"#), "")
    };
    let (converted, said) = convert(&get(""), None, Leniency::Strict);
    assert!(!converted.unwrap().contains("hello") && said.contains("no body with GET"), "{said}");
    let kept = get(r#", "protocolProfileBehavior": {"disableBodyPruning": true}"#);
    let (converted, said) = convert(&kept, None, Leniency::Strict);
    assert!(converted.unwrap().contains("body: hello") && said.is_empty(), "{said}");
}

#[test]
fn settings_of_requests_are_inherited_or_named() {
    let request = r#"{"name": "a", "request": {"method": "GET", "url": "http://a.test/"}"#;
    let own = r#", "protocolProfileBehavior": {"followRedirects": true, "maxRedirects": 3}}"#;
    let items = format!(
        r#"{{"name": "f", "item": [{request}}}, {request}{own}], "protocolProfileBehavior": {{"followRedirects": false}}}}"#
    );
    let (converted, said) = convert(&collection_of(&items, ""), None, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(
        converted.contains("redirects: 0\n") && converted.contains("redirects: 3\n"),
        "{converted}"
    );
    assert!(said.contains("`followRedirects` changes nothing"), "{said}");
    let keeps = r#", "protocolProfileBehavior": {"disableCookies": true}"#;
    let items = format!("{request}}}");
    let (converted, said) = convert(&collection_of(&items, keeps), None, Leniency::Strict);
    assert!(converted.is_none() && said.contains("`disableCookies` of these requests"), "{said}");
}

#[test]
fn what_no_request_needs_is_named() {
    let script = r#""event": [{"listen": "test", "script": {"exec": "var json = JSON.parse(responseBody);"}}]"#;
    let url = r#"{"raw": "http://a.test/:code?a={{a}}", "host": ["http://a.test"], "path": [":code"],
        "query": [{"key": "a", "value": "{{a}}"}], "variable": [{"id": "code", "value": "201"}]}"#;
    let items = format!(
        r#"{{"name": "Empty", "item": []}}, {{"name": "a", {script}, "request": {{"method": "GET", "url": {url}}}}}"#
    );
    let variables = r#", "variable": [{"key": "a", "value": "1"}, {"key": "b", "value": "2"}, {"key": "a", "value": "3"}]"#;
    let (converted, said) = convert(&collection_of(&items, variables), None, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    // Version 2.0 of the format has `id`; the last variable of a name counts.
    assert!(
        converted.contains("/201?a=${raw(a)}") && converted.contains("a: \"3\""),
        "{converted}"
    );
    for part in ["folder `Empty` has no requests", "left out: a, b", "this script changes nothing"]
    {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn hosts_whose_variables_are_named_by_variables_are_known_or_named() {
    let request =
        r#"{"name": "a", "request": {"method": "GET", "url": "http://{{host.{{one}}}}/x"}}"#;
    let variable = |name: &str, value: &str| format!(r#"{{"key": "{name}", "value": "{value}"}}"#);
    let one = variable("one", "1");
    let both = format!(r#", "variable": [{one}, {}]"#, variable("host.1", "a.test"));
    let (converted, said) = convert(&collection_of(request, &both), None, Leniency::Strict);
    assert!(converted.is_some_and(|text| text.contains("target: \"http://a.test\"")), "{said}");
    let (converted, said) = convert(&collection_of(request, ""), None, Leniency::Strict);
    assert!(converted.is_none() && said.contains("a variable makes its name"), "{said}");
    let (converted, said) = convert(&collection_of(request, ""), None, Leniency::Lenient);
    assert!(converted.is_some_and(|text| text.contains("env('TARGET')")), "{said}");
}

/// A collection that is changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let source = Source { name: "x.json", text };
        let files = |_: &str| -> Result<String, String> { Err("no such file".to_owned()) };
        let settings = postman::Settings { leniency, environment: Some(text), files: &files };
        if let (Some(converted), _) = postman::convert(source, &settings) {
            assert_runs(&converted);
        }
    }
}
