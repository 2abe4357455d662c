//! Requests of Bruno.

use convert::{Leniency, bruno};
use scenario::{Source, render};

use crate::assert_runs;

fn convert(text: &str, leniency: Leniency) -> (Option<String>, String) {
    let source = Source { name: "shop.bru", text };
    let settings = bruno::Settings { leniency, files: &|_| Err("no such file".to_owned()) };
    let (converted, diagnostics) = bruno::convert(source, &settings);
    (converted.map(|converted| converted.text), render(&diagnostics, source))
}

/// An environment and requests, one behind the other.
pub(crate) const SHOP: &str = r#"vars {
  host: https://shop.test
  user: ann
}
vars:secret [
  password
]

meta {
  name: Log in
  type: http
  seq: 1
}

post {
  url: {{host}}/login?lang=en
  body: json
  auth: none
}

headers {
  X-Trace: {{$guid}}
  ~X-Off: 1
}

body:json {
  {
    "user": "{{user}}",
    "password": "{{password}}"
  }
}

vars:post-response {
  token: res.body.token
}

assert {
  res.status: eq 200
}

docs {
  Signs in.
}
meta {
  name: Orders
  type: http
  seq: 2
}

get {
  url: {{host}}/orders/:id
  body: none
  auth: bearer
}

params:path {
  id: 7
}

auth:bearer {
  token: {{token}}
}

tests {
  test("Found", function() {
    expect(res.status).to.eql(200);
  });
}
meta {
  name: Photo
  type: http
  seq: 3
}

put {
  url: {{host}}/photo
  body: multipartForm
  auth: basic
}

auth:basic {
  username: ann
  password: pw
}

body:multipart-form {
  f: @file(a.png)
  t: v
}
"#;

#[test]
fn requests_become_a_session() {
    let (converted, said) = convert(SHOP, Leniency::Strict);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "# Converted from Bruno's requests shop.bru; see docs/importing.md.",
        "name: shop\ntarget: \"https://shop.test\"\n",
        "- post: /login?lang=en\n",
        "as: Log in\n",
        "x-trace: \"${uuid()}\"",
        "content-type: application/json",
        "env('PASSWORD')",
        "token: /token",
        "status: 200",
        "- get: /orders/7\n",
        "bearer: \"${token}\"",
        "- put: /photo\n",
        "value: \"(contents of a.png)\"",
        "t: v",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
    assert!(!converted.contains("x-off") && !converted.contains("pw"), "{converted}");
    assert!(said.contains("the file `a.png` cannot be read"), "{said}");
}

#[test]
fn what_has_no_counterpart_is_named() {
    for (text, expected) in [
        ("vars {\n".to_owned(), "one does not end"),
        ("vars {\n}\n".to_owned(), "has no request"),
        (
            SHOP.replace("type: http\n  seq: 1", "type: grpc\n  seq: 1"),
            "`grpc` is not carried over",
        ),
        (SHOP.replace("auth: basic", "auth: ntlm"), "`ntlm` is not carried over"),
        (SHOP.replace("body: json", "body: file"), "`file` is not carried over"),
        (SHOP.replace("docs {", "mystery {"), "the block `mystery` is not carried over"),
        (SHOP.replace("put {", "brew {"), "no block with its method"),
    ] {
        let (converted, said) = convert(&text, Leniency::Strict);
        assert!(converted.is_none() && said.contains(expected), "{expected}\n{said}");
    }
    let (converted, said) = convert(&SHOP.replace("seq: 3", "seq: 1"), Leniency::Strict);
    assert!(converted.is_some() && said.contains("not by `seq`"), "{said}");
}

/// Requests that are changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let source = Source { name: "x.bru", text };
        let files = |_: &str| -> Result<String, String> { Err("no such file".to_owned()) };
        let settings = bruno::Settings { leniency, files: &files };
        if let (Some(converted), _) = bruno::convert(source, &settings) {
            assert_runs(&converted);
        }
    }
}
