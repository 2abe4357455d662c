//! Descriptions of APIs.

use convert::{Leniency, openapi};
use scenario::{Source, render};

use crate::assert_runs;

fn convert(text: &str, by: openapi::By, all_methods: bool) -> (Option<String>, String) {
    let source = Source { name: "api.yaml", text };
    let settings = openapi::Settings { leniency: Leniency::Strict, by, all_methods };
    let (converted, diagnostics) = openapi::convert(source, &settings);
    (converted.map(|converted| converted.text), render(&diagnostics, source))
}

/// A description with what such files hold.
pub(crate) const PETS: &str = "\
openapi: 3.1.0
info: { title: Pets, version: '1' }
servers:
  - url: https://{region}.pets.test/v1
    variables: { region: { default: eu, enum: [eu, us] } }
  - url: http://localhost
security: [ { key: [] } ]
paths:
  /pets:
    get:
      tags: [pets]
      parameters:
        - { name: limit, in: query, required: true, schema: { type: integer, minimum: 5 } }
        - { name: tags, in: query, schema: { type: array, items: { type: string } }, example: [a b, c] }
        - { name: page, in: query, schema: { type: integer } }
        - { name: X-Trace, in: header, required: true, schema: { type: string, format: uuid } }
    post:
      tags: [pets]
      requestBody:
        content:
          application/json: { schema: { $ref: '#/components/schemas/Pet' } }
  /pets/{petId}:
    parameters:
      - $ref: '#/components/parameters/petId'
    get: { tags: [pets], security: [] }
    delete: { tags: [admin], security: [ { login: [] } ] }
  /photos:
    put:
      security: [ { token: [] } ]
      requestBody:
        content:
          multipart/form-data:
            schema:
              type: object
              properties: { name: { type: string, enum: [front] }, image: { type: string, format: binary } }
components:
  parameters:
    petId: { name: petId, in: path, required: true, schema: { type: integer } }
  schemas:
    Pet:
      allOf:
        - { $ref: '#/components/schemas/Named' }
        - type: object
          required: [born, owner]
          properties:
            id: { type: integer, readOnly: true }
            born: { type: [string, 'null'], format: date }
            owner: { oneOf: [ { type: 'null' }, { type: object, properties: { age: { type: integer, maximum: 0 } } } ] }
    Named:
      type: object
      required: [name, parent]
      properties: { name: { type: string, example: 'rex ${1}' }, parent: { $ref: '#/components/schemas/Named' } }
  securitySchemes:
    key: { type: apiKey, in: header, name: X-Key }
    login: { type: http, scheme: basic }
    token: { type: oauth2, flows: {} }
";

#[test]
fn safe_operations_become_sessions() {
    let (converted, said) = convert(PETS, openapi::By::Tag, false);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_eq!(
        converted,
        r#"# Converted from the description api.yaml; see docs/importing.md.
# Set these environment variables: KEY
name: Pets
target: "https://eu.pets.test/v1"
sessions:
  pets:
    - get: /pets?limit=5&tags=a%20b&tags=c
      as: GET /pets
      headers:
        x-trace: "${uuid()}"
        x-key: "${env('KEY')}"
    - get: /pets/1
      as: "GET /pets/{petId}"
arrivals:
  # A description does not say how many users arrive: choose the rate here.
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
        "the first of 2 servers is the target",
        "optional parameters are sent only if they have an example",
        "`petId` has no example: 1 is sent",
        "left out operations that may change something (--all-methods keeps them): 3",
        "a secret is read from the environment variable `KEY`",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
}

#[test]
fn bodies_follow_from_schemas() {
    let (converted, said) = convert(PETS, openapi::By::Path, true);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    for part in [
        "  /pets:\n    - get: ",
        "    - post: /pets\n      as: POST /pets\n      headers:\n        x-key: \"${env('KEY')}\"\n      json: { \"name\": \"rex \\\\${1}\", \"parent\": { \"name\": ",
        "\"born\": \"${date(now(), '%Y-%m-%d')}\", \"owner\": { \"age\": 0 } }\n",
        "      auth:\n        basic:\n          user: \"${env('LOGIN_USER')}\"\n          password: \"${env('LOGIN_PASSWORD')}\"\n",
        "      multipart:\n        name: front\n        image:\n          value: \"(contents of image)\"\n          name: image\n",
        "      auth:\n        bearer: \"${env('TOKEN_TOKEN')}\"\n",
    ] {
        assert!(converted.contains(part), "{part}\n{converted}");
    }
}

#[test]
fn json_is_read_as_well() {
    let text = r##"{"openapi": "3.0.0", "info": {"title": "x"}, "paths": {"/a/{b}": {"get": {"parameters": [
        {"name": "b", "in": "path", "required": true, "schema": {"$ref": "#/x/0"}}]}}}, "x": [{"type": "string", "enum": ["c/d"]}]}"##;
    let (converted, said) = convert(text, openapi::By::One, false);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert!(converted.contains("  api:\n    - get: /a/c%2Fd\n"), "{converted}");
    assert!(converted.contains("target: \"${env('TARGET')}\"\n"), "{converted}");
    assert!(said.contains("does not say where the server is"), "{said}");
}

#[test]
fn what_cannot_be_read_is_reported() {
    for (text, expected) in [
        ("swagger: '2.0'\ninfo: {}\n", "Swagger 2.0 is not read"),
        ("openapi: 4.0.0\ninfo: {}\n", "the version `4.0.0` of OpenAPI is not read"),
        ("openapi: 3.0.0\npaths: {}\n", "no operation to send"),
        ("openapi: 3.0.0\npaths: { /a: { $ref: 'b.yaml' } }\n", "`b.yaml` is in another file"),
        ("openapi: 3.0.0\npaths: { /a: { $ref: '#/b' } }\n", "`#/b` leads nowhere"),
        (
            "openapi: 3.0.0\npaths: { /a: { $ref: '#/paths/~1a' } }\n",
            "these references have no end",
        ),
        ("{\"openapi\": \"3.0.0\", ", "this is not JSON"),
        ("openapi: [", "this is not YAML"),
    ] {
        let (converted, said) = convert(text, openapi::By::Tag, false);
        assert!(converted.is_none() && said.contains(expected), "{text}\n{said}");
    }
}

#[test]
fn security_schemes_that_no_request_uses_are_named() {
    let (_, said) = convert(PETS, openapi::By::Tag, false);
    assert!(said.contains("no request uses are left out: login, token"), "{said}");
    let (_, said) = convert(PETS, openapi::By::Tag, true);
    assert!(!said.contains("no request uses are left out"), "{said}");
}

/// A description that is changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    for leniency in [Leniency::Strict, Leniency::Lenient] {
        let source = Source { name: "x.yaml", text };
        let settings = openapi::Settings { leniency, by: openapi::By::Path, all_methods: true };
        if let (Some(converted), _) = openapi::convert(source, &settings) {
            assert_runs(&converted);
        }
    }
}
