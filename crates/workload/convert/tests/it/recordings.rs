//! Recordings with what browsers and other recorders write into them.

use convert::har;
use scenario::{Source, render};

use crate::{assert_compiles, assert_runs};

const SETTINGS: har::Settings =
    har::Settings { statics: har::Statics::Keep, third_parties: false, cached: false };

/// The scenario of a recording, and what is said of it.
#[track_caller]
fn converted(text: &str) -> (String, String) {
    let source = Source { name: "x.har", text };
    let (converted, diagnostics) = har::convert(source, &SETTINGS);
    let said = render(&diagnostics, source);
    let converted = converted.unwrap_or_else(|| panic!("{said}"));
    assert_compiles("x.har", &converted);
    (converted.text, said)
}

/// An entry that starts so many milliseconds after the first, and takes so many.
fn entry(start_ms: u32, time_ms: u32, request: &str, response: &str) -> String {
    let second = start_ms / 1000;
    let ms = start_ms % 1000;
    format!(
        r#"{{"startedDateTime":"2026-01-31T09:30:{second:02}.{ms:03}Z","time":{time_ms},
        "request":{{{request}}},"response":{{{response}}}}}"#
    )
}

fn recording(entries: &[String]) -> String {
    format!("{{\"log\":{{\"entries\":[\n{}]}}}}", entries.join(",\n"))
}

fn get(path: &str) -> String {
    format!(r#""method":"GET","url":"https://a.test{path}""#)
}

const OK: &str = r#""status":200"#;

#[track_caller]
fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}\n\n{text}");
    }
}

#[test]
fn forms_are_sent_as_they_were() {
    let multipart = r#""method":"POST","url":"https://a.test/up",
        "headers":[{"name":"Content-Type","value":"multipart/form-data; boundary=xx"}],
        "postData":{"mimeType":"multipart/form-data; boundary=xx","params":[
        {"name":"t","value":"v"},
        {"name":"file","fileName":"a.txt","contentType":"text/plain","value":"data"},
        {"name":"photo","fileName":"b.png","contentType":"image/png","value":"(binary)"}]}"#;
    let fields = r#""method":"POST","url":"https://a.test/form",
        "postData":{"mimeType":"application/x-www-form-urlencoded","params":[
        {"name":"login","value":""},{"name":"x","value":"a b&c=d"},{"name":"x","value":"2"},{"name":"novalue"}]}"#;
    let typed = r#""method":"POST","url":"https://a.test/json",
        "postData":{"mimeType":"application/json","text":"{\"a\":1}"}"#;
    let entries = [multipart, fields, typed].map(|request| entry(0, 0, request, OK));
    let (text, said) = converted(&recording(&entries));
    assert_contains(
        &text,
        &[
            "      multipart:\n        t: v\n        file:\n          value: data\n          name: a.txt\n          type: text/plain\n",
            "          value: \"(contents of b.png)\"\n          name: b.png\n          type: image/png\n",
            "      headers:\n        content-type: application/x-www-form-urlencoded\n      body: login=&x=a%20b%26c%3Dd&x=2&novalue=\n",
            "      headers:\n        content-type: application/json\n      body: \"{\\\"a\\\":1}\"\n",
        ],
    );
    assert!(!text.contains("boundary"), "{text}");
    assert_contains(&said, &["x.har:8:", "does not hold the file `b.png`"]);
}

#[test]
fn tokens_are_reused_however_they_are_spelled() {
    let page = r#""status":200,"content":{"mimeType":"text/html",
        "text":"<input type=hidden name=csrf value='ab+/cd=='>"}"#;
    let form = r#""method":"POST","url":"https://a.test/login",
        "postData":{"mimeType":"application/x-www-form-urlencoded","text":"csrf=ab%2B%2Fcd%3D%3D&user=ann&password=hunter2"}"#;
    let created = r#""status":201,"headers":[{"name":"Location","value":"/orders/87310"}]"#;
    let entries = [
        entry(0, 10, &get("/login"), page),
        entry(20, 10, form, created),
        entry(40, 10, &get("/orders/87310/items"), OK),
    ];
    let (text, said) = converted(&recording(&entries));
    assert_contains(
        &text,
        &[
            "csrf=${url(csrf)}&user=ann&password=${env('PASSWORD')}\"",
            "        orders_id:\n          regex: \"(?im)^location:[^\\\\r\\\\n]*?/orders/([^/?#\\\\s]+)\"\n          in: response\n",
            "    - get: \"/orders/${orders_id}/items\"\n",
            "# Set these environment variables: PASSWORD\n",
        ],
    );
    assert!(!text.contains("hunter2"), "{text}");
    assert_contains(&said, &["a secret is read from the environment variable `PASSWORD`"]);
}

#[test]
fn hosts_are_one_however_they_are_written() {
    let urls = ["https://A.test/1", "https://a.test:443/2", "https://ann:pw%3A1@a.test/3"];
    let entries = urls.map(|url| entry(0, 0, &format!(r#""url":"{url}""#), OK));
    let (text, said) = converted(&recording(&entries));
    assert_contains(
        &text,
        &[
            "target: \"https://a.test\"\n",
            "    - get: /1\n",
            "    - get: /2\n",
            "      auth:\n        basic:\n          user: ann\n          password: \"${env('PASSWORD')}\"\n",
        ],
    );
    assert!(!said.contains("other hosts"), "{said}");
}

#[test]
fn streams_of_events_are_opened_and_closed() {
    let stream = r#""status":200,"content":{"mimeType":"text/event-stream"}"#;
    let entries = [
        entry(0, 5000, &get("/events"), stream),
        entry(10, 10, &get("/a"), OK),
        entry(2000, 10, &get("/b"), OK),
    ];
    let (text, _) = converted(&recording(&entries));
    assert_contains(
        &text,
        &[
            "    - sse: /events\n    - get: /a\n    - think: 1.98s\n    - get: /b\n    - think: 2.99s\n    - close:\n",
        ],
    );
}

#[test]
fn requests_at_the_same_time_are_branches() {
    let saved =
        r#""status":200,"content":{"mimeType":"application/json","text":"{\"id\":\"abc123\"}"}"#;
    let entries = [
        entry(0, 100, &get("/"), OK),
        // Two lanes: a long poll, and beside it two requests one after the other.
        entry(100, 3000, &get("/poll"), OK),
        entry(110, 20, &get("/x"), saved),
        entry(1130, 20, &get("/y/abc123"), OK),
        entry(5000, 10, &get("/z"), OK),
    ];
    let (text, _) = converted(&recording(&entries));
    let expected = [
        "    - get: /\n    - parallel:\n        - get: /poll\n        -\n          - get: /x\n",
        "            save:\n              id: /id\n          - think: 1s\n",
        "          - get: \"/y/${id}\"\n    - think: 1.9s\n    - get: /z\n",
    ];
    assert_contains(&text, &[&expected.concat()]);
}

#[test]
fn a_value_of_another_branch_is_waited_for() {
    let saved =
        r#""status":200,"content":{"mimeType":"application/json","text":"{\"id\":\"abc123\"}"}"#;
    let entries = [
        entry(0, 3000, &get("/poll"), OK),
        entry(10, 500, &get("/x"), saved),
        entry(20, 40, &get("/w"), OK),
        // The last lane to be free is the second one, but the value is of the first.
        entry(600, 10, &get("/y/abc123"), OK),
    ];
    let (text, _) = converted(&recording(&entries));
    assert_contains(&text, &["- get: /x\n", "- get: \"/y/${id}\"\n"]);
}

#[test]
fn headers_that_cannot_be_sent_are_named() {
    let request = r#""url":"https://a.test/a","headers":[{"name":"Accept","value":"a"},{"name":"accept","value":"b"},
        {"name":"bad header","value":"x"},{"name":"X-NL","value":"a\r\nInjected: 1"},
        {"name":"Authorization","value":"Bearer abc"}]"#;
    let (text, said) = converted(&recording(&[entry(0, 0, request, OK)]));
    assert_contains(
        &text,
        &["accept: a, b\n", "authorization: \"Bearer ${env('AUTHORIZATION')}\"\n"],
    );
    assert!(!text.contains("Injected") && !text.contains("bad header"), "{text}");
    assert_contains(&said, &["`bad header` cannot be a header's name", "`x-nl` holds line breaks"]);
}

#[test]
fn requests_alone_and_a_byte_order_mark_are_read() {
    let text = "\u{feff}{\"log\":{\"entries\":[{\"request\":{\"method\":\"POST\",\"url\":\"http://a.test/1\"}},\
                {\"request\":{\"url\":\"http://a.test/2\"},\"response\":{\"status\":0}}]}}";
    let (text, said) = converted(text);
    assert_contains(&text, &["    - post: /1\n    - get: /2\n"]);
    assert_contains(&said, &["the recording has requests alone"]);
}

/// A WebSocket as Chromium records it, with its messages at these seconds.
fn websocket(url: &str, messages: &[&str]) -> String {
    let request = format!(
        r#""method":"GET","url":"{url}","headers":[{{"name":"Sec-WebSocket-Protocol","value":"v1, v2"}},
        {{"name":"Upgrade","value":"websocket"}}]"#
    );
    let entry = entry(1000, 9000, &request, r#""status":101"#);
    let front = entry.strip_suffix('}').unwrap();
    let messages = messages.join(",");
    format!(
        r#"{front},"_resourceType":"websocket","_transferSize":0,"_webSocketMessages":[{messages}]}}"#
    )
}

/// A message so many seconds after the first entry, which is at 09:30:00 on 2026-01-31.
fn message(kind: &str, second: u32, opcode: u32, data: &str) -> String {
    let time = 1_769_851_800 + second;
    format!(r#"{{"type":"{kind}","time":{time}.5,"opcode":{opcode},"data":"{data}"}}"#)
}

/// A recording with a WebSocket, a stream of events that closes it, and a message after that.
pub(crate) fn chat() -> String {
    let messages = [
        message("send", 2, 1, r#"{\"token\":\"abcdef1234\"}"#),
        message("send", 3, 2, "/wA="),
        message("send", 8, 1, "late"),
    ];
    let messages = messages.each_ref().map(String::as_str);
    let events = r#""status":200,"content":{"mimeType":"text/event-stream","text":"data: 1"}"#;
    let entries = [
        entry(0, 10, &get("/"), OK),
        websocket("wss://a.test/ws", &messages),
        entry(5000, 4000, &get("/events"), events),
        entry(6000, 10, &get("/later"), OK),
    ];
    recording(&entries)
}

/// A recording that is changed anywhere.
pub(crate) fn assert_sound(text: &str) {
    let settings = har::Settings { third_parties: true, ..SETTINGS };
    if let (Some(converted), _) = har::convert(Source { name: "x.har", text }, &settings) {
        assert_runs(&converted);
    }
}

#[test]
fn messages_whose_websocket_was_closed_are_named() {
    let (text, said) = converted(&chat());
    assert!(
        said.contains("messages are left out whose WebSocket another one has closed"),
        "{said}"
    );
    assert!(!text.contains("late\n") && text.contains("sse: /events"), "{text}");
}

#[test]
fn messages_of_websockets_are_sent_at_their_times() {
    let messages = [
        message("send", 3, 1, r#"{\"token\":\"abcdef1234\"}"#),
        message("receive", 4, 1, "hello"),
        message("send", 6, 2, "/wA="),
        message("send", 7, 8, ""),
    ];
    let messages = messages.each_ref().map(String::as_str);
    let entries = [
        entry(0, 10, &get("/"), OK),
        websocket("wss://a.test/ws", &messages),
        entry(5000, 10, &get("/later"), OK),
    ];
    let (text, said) = converted(&recording(&entries));
    assert!(!said.contains("left out"), "{said}");
    assert_contains(
        &text,
        &["    - ws: /ws\n      subprotocols: [\"v1\", \"v2\"]\n", "      bytes:\n        - hex: "],
    );
    let order = ["get: /\n", "ws: /ws", "send: ", "get: /later", "bytes:", "close:"];
    let places = order.map(|part| text.find(part).unwrap_or_else(|| panic!("{part}\n{text}")));
    assert!(places.is_sorted(), "{text}");
    assert!(!text.contains("abcdef1234") && !text.contains("hello"), "{text}");
    // Of another host it has its own scheme.
    let entries = [entry(0, 10, &get("/"), OK), websocket("wss://b.test/ws", &messages)];
    let settings = har::Settings { third_parties: true, ..SETTINGS };
    let text = recording(&entries);
    let (converted, _) = har::convert(Source { name: "x.har", text: &text }, &settings);
    assert_contains(&converted.unwrap().text, &["ws: \"wss://b.test/ws\""]);
}
