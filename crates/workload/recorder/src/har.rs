//! A recording as HTTP Archive 1.2 (W3C draft of 2012), with the additions of Chromium.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::book::{Body, Exchange, Recording, Response, SocketMessage};
use crate::head::Fields;

impl Recording {
    /// The recording as HTTP Archive.
    #[must_use]
    pub fn har(&self) -> String {
        let entries = self.exchanges.iter().map(|exchange| entry(exchange, self.ended));
        let archive = json!({
            "log": {
                "version": "1.2",
                "creator": { "name": "throng record", "version": env!("CARGO_PKG_VERSION") },
                "pages": [],
                "entries": entries.collect::<Vec<Value>>(),
            }
        });
        // What serde_json has made is text.
        format!("{archive:#}\n")
    }
}

fn entry(exchange: &Exchange, recording_ended: Duration) -> Value {
    let ended = exchange.ended.unwrap_or(recording_ended).max(exchange.started);
    let answered = exchange.response.as_ref().map_or(ended, |response| response.at);
    let answered = answered.clamp(exchange.started, ended);
    let mut entry = json!({
        "startedDateTime": time(exchange.started),
        "time": milliseconds(ended - exchange.started),
        "connection": exchange.connection.to_string(),
        "request": request(exchange),
        "response": response(exchange),
        "cache": {},
        "timings": {
            "blocked": -1,
            "dns": -1,
            "connect": -1,
            "ssl": -1,
            "send": 0,
            "wait": milliseconds(answered - exchange.started),
            "receive": milliseconds(ended - answered),
        },
    });
    if is_websocket(exchange) {
        entry["_resourceType"] = json!("websocket");
        let messages = exchange.messages.iter().map(message);
        entry["_webSocketMessages"] = messages.collect();
    }
    if exchange.ended.is_none() {
        entry["comment"] = json!("it went on when the recording ended");
    }
    entry
}

fn is_websocket(exchange: &Exchange) -> bool {
    exchange.response.as_ref().is_some_and(|response| response.status == 101)
}

fn request(exchange: &Exchange) -> Value {
    let url = match exchange.url.strip_prefix("http") {
        Some(rest) if is_websocket(exchange) => format!("ws{rest}"),
        _ => exchange.url.clone(),
    };
    let mut request = json!({
        "method": exchange.method,
        "url": url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers(&exchange.fields),
        "queryString": query(&exchange.url),
        "headersSize": -1,
        "bodySize": exchange.body.bytes_count,
    });
    if exchange.body.bytes_count > 0 {
        request["postData"] = post_data(&exchange.fields, &exchange.body);
    }
    request
}

fn post_data(fields: &Fields, body: &Body) -> Value {
    let content_type = fields.first("content-type").unwrap_or_default();
    if !body.is_whole() {
        let comment = format!("{} bytes, which were not recorded", body.bytes_count);
        return json!({ "mimeType": content_type, "comment": comment });
    }
    if let Some(params) = multipart(&content_type, &body.bytes) {
        return json!({ "mimeType": content_type, "params": params });
    }
    match std::str::from_utf8(&body.bytes) {
        Ok(text) => json!({ "mimeType": content_type, "text": text }),
        Err(_) => {
            let text = STANDARD.encode(&body.bytes);
            // The archive knows no coding of what is sent; others read the text as it is.
            let comment = "`_base64` holds the body, which is not text";
            json!({ "mimeType": content_type, "_base64": text, "comment": comment })
        }
    }
}

/// The parts of a form as `multipart/form-data` (RFC 7578); `None` if it is something else.
fn multipart(content_type: &str, body: &[u8]) -> Option<Vec<Value>> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    let boundary = format!("--{boundary}");
    let mut pieces = split(body, boundary.as_bytes()).into_iter();
    // What stands before the first boundary is no part.
    pieces.next()?;
    let mut params = Vec::new();
    for piece in pieces {
        if piece.starts_with(b"--") {
            return Some(params);
        }
        params.push(part(piece.strip_prefix(b"\r\n")?.strip_suffix(b"\r\n")?)?);
    }
    None
}

/// A part of a form: its head and its content.
fn part(piece: &[u8]) -> Option<Value> {
    let end = piece.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&piece[..end]).ok()?;
    let content = &piece[end + 4..];
    let field = |wanted: &str| {
        let mut fields = head.split("\r\n").filter_map(|line| line.split_once(':'));
        let found = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case(wanted));
        found.map(|(_, value)| value.trim())
    };
    let (_, disposition) = field("content-disposition")?.split_once(';')?;
    let mut param = json!({ "name": parameter(disposition, "name")? });
    if let Some(file) = parameter(disposition, "filename") {
        param["fileName"] = json!(file);
    }
    if let Some(content_type) = field("content-type") {
        param["contentType"] = json!(content_type);
    }
    // Of a file that is not text the importer says that it is missing.
    if let Ok(text) = std::str::from_utf8(content) {
        param["value"] = json!(text);
    }
    Some(param)
}

/// The value of a parameter behind a semicolon.
fn parameter(text: &str, wanted: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(';').unwrap_or((after, "")),
        };
        if name.trim_matches([' ', '\t', ';']).eq_ignore_ascii_case(wanted) {
            return Some(value.trim().to_owned());
        }
        rest = next;
    }
}

/// The pieces of the bytes between the separators.
fn split<'b>(bytes: &'b [u8], separator: &[u8]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    while let Some(at) = rest.windows(separator.len()).position(|window| window == separator) {
        pieces.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    pieces.push(rest);
    pieces
}

fn response(exchange: &Exchange) -> Value {
    let Some(response) = &exchange.response else {
        return json!({
            // What browsers write where none came.
            "status": 0,
            "statusText": "",
            "httpVersion": "",
            "cookies": [],
            "headers": [],
            "content": { "size": 0, "mimeType": "x-unknown" },
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
            "_error": exchange.error.as_deref().unwrap_or("none came"),
        });
    };
    let mut value = json!({
        "status": response.status,
        "statusText": response.reason,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": headers(&response.fields),
        "content": content(response),
        "redirectURL": response.fields.first("location").unwrap_or_default(),
        "headersSize": -1,
        "bodySize": response.body.bytes_count,
    });
    if let Some(error) = &exchange.error {
        value["_error"] = json!(error);
    }
    value
}

fn content(response: &Response) -> Value {
    let Response { fields, body, .. } = response;
    let mime_type = fields.first("content-type").unwrap_or_else(|| "x-unknown".to_owned());
    let mut content = json!({ "size": body.bytes_count, "mimeType": mime_type });
    if body.bytes.is_empty() {
        return content;
    }
    // A part of a text would be taken for all of it.
    if !body.is_whole() {
        content["comment"] = json!("the rest was not recorded");
    }
    let is_coded = fields.first("content-encoding").is_some();
    match std::str::from_utf8(&body.bytes) {
        Ok(text) if body.is_whole() && !is_coded => content["text"] = json!(text),
        _ => {
            content["text"] = json!(STANDARD.encode(&body.bytes));
            content["encoding"] = json!("base64");
        }
    }
    content
}

fn headers(fields: &Fields) -> Value {
    let header = |field: &crate::head::Field| json!({ "name": field.name, "value": field.text() });
    fields.0.iter().map(header).collect()
}

/// The names and values of the query as they stand in the URL.
fn query(url: &str) -> Value {
    let query = url.split_once('?').map(|(_, query)| query).unwrap_or_default();
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({ "name": name, "value": value })
    };
    pairs.map(pair).collect()
}

/// A message as Chromium writes it: binary ones in base64.
fn message(sent: &SocketMessage) -> Value {
    const TEXT: u8 = 1;
    let payload = &sent.message.payload;
    let text = std::str::from_utf8(payload).ok().filter(|_| sent.message.opcode == TEXT);
    json!({
        "type": if sent.from_browser { "send" } else { "receive" },
        "time": sent.at.as_secs_f64(),
        "opcode": sent.message.opcode,
        "data": text.map_or_else(|| STANDARD.encode(payload), str::to_owned),
    })
}

fn milliseconds(time: Duration) -> f64 {
    // Microseconds: more digits say nothing.
    time.as_micros() as f64 / 1000.0
}

/// A time since the Unix epoch as ISO 8601, in milliseconds.
fn time(since: Duration) -> String {
    let milliseconds = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
    let at = Timestamp::from_millisecond(milliseconds).unwrap_or(Timestamp::MAX);
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::{BodyOwner, Book, Limits};
    use crate::frames::Message;
    use crate::head::{RequestHead, ResponseHead};

    /// 2026-01-31T09:30:00Z.
    const NOW: Duration = Duration::from_secs(1_769_851_800);

    fn ms(number: u64) -> Duration {
        NOW + Duration::from_millis(number)
    }

    fn begin(book: &Book, url: &str, text: &str) -> crate::book::Entry {
        let head = RequestHead::parse(text.as_bytes()).unwrap().unwrap();
        book.begin(NOW, 7, url.to_owned(), &head)
    }

    fn respond(entry: &crate::book::Entry, text: &str) {
        let head = ResponseHead::parse(text.as_bytes(), "GET").unwrap().unwrap();
        entry.respond(ms(20), &head);
    }

    fn entries(book: &Book) -> Vec<Value> {
        let archive: Value = serde_json::from_str(&book.close(ms(1000)).har()).unwrap();
        archive["log"]["entries"].as_array().unwrap().clone()
    }

    #[test]
    fn an_exchange_has_its_times_heads_and_bodies() {
        let book = Book::new(Limits::default());
        let entry = begin(
            &book,
            "http://a.test/p?x=1&y",
            "POST /p?x=1&y HTTP/1.1\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n",
        );
        entry.add(BodyOwner::Request, b"hi");
        respond(&entry, "HTTP/1.1 201 Created\r\nContent-Type: text/html\r\n\r\n");
        entry.add(BodyOwner::Response, "é".as_bytes());
        entry.end(ms(50), None);
        let [found] = entries(&book).try_into().unwrap();
        assert_eq!(found["startedDateTime"], "2026-01-31T09:30:00.000Z");
        assert_eq!(found["time"], 50.0);
        assert_eq!(found["timings"]["wait"], 20.0);
        assert_eq!(found["timings"]["receive"], 30.0);
        assert_eq!(found["connection"], "7");
        assert_eq!(found["request"]["postData"]["text"], "hi");
        let query = json!([{ "name": "x", "value": "1" }, { "name": "y", "value": "" }]);
        assert_eq!(found["request"]["queryString"], query);
        assert_eq!(found["response"]["status"], 201);
        assert_eq!(found["response"]["content"]["text"], "é");
        assert_eq!(found["response"]["content"]["size"], 2);
        assert!(found["_webSocketMessages"].is_null());
    }

    #[test]
    fn messages_are_those_of_chromium() {
        let book = Book::new(Limits::default());
        let entry = begin(&book, "https://a.test/ws", "GET /ws HTTP/1.1\r\n\r\n");
        respond(&entry, "HTTP/1.1 101 Switching Protocols\r\n\r\n");
        let message = |opcode, payload: &[u8]| Message {
            opcode,
            payload: payload.to_vec(),
            bytes_count: payload.len() as u64,
        };
        entry.message(ms(500), true, message(1, b"hi"));
        entry.message(ms(750), false, message(2, &[0xff, 0]));
        let [found] = entries(&book).try_into().unwrap();
        assert_eq!(found["_resourceType"], "websocket");
        assert_eq!(found["request"]["url"], "wss://a.test/ws");
        let expected = json!([
            { "type": "send", "time": 1_769_851_800.5, "opcode": 1, "data": "hi" },
            { "type": "receive", "time": 1_769_851_800.75, "opcode": 2, "data": "/wA=" },
        ]);
        assert_eq!(found["_webSocketMessages"], expected);
        // It was open at the end.
        assert_eq!(found["time"], 1000.0);
    }

    #[test]
    fn what_is_missing_is_said() {
        let limits = Limits { body_bytes_max: 3, ..Limits::default() };
        let book = Book::new(limits);
        let cut = begin(&book, "http://a.test/", "POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\n");
        cut.add(BodyOwner::Request, b"1234");
        respond(&cut, "HTTP/1.1 200 OK\r\n\r\n");
        cut.add(BodyOwner::Response, b"5678");
        cut.end(ms(1), None);
        let failed = begin(&book, "http://b.test/", "GET / HTTP/1.1\r\n\r\n");
        failed.end(ms(1), Some("cannot connect".to_owned()));
        let [cut, failed] = entries(&book).try_into().unwrap();
        assert!(cut["request"]["postData"]["text"].is_null());
        assert_eq!(cut["request"]["postData"]["comment"], "4 bytes, which were not recorded");
        assert_eq!(cut["response"]["content"]["encoding"], "base64");
        assert_eq!(failed["response"]["status"], 0);
        assert_eq!(failed["response"]["_error"], "cannot connect");
    }

    /// The example of RFC 7578, section 4, in the form of browsers.
    #[test]
    fn forms_in_parts_are_fields_and_files() {
        let body = b"--X-1\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1;2\r\n\
            --X-1\r\nContent-Disposition: form-data; name=\"f\"; filename=\"b c.bin\"\r\n\
            Content-Type: image/png\r\n\r\n\xff\r\n--X-1--\r\n";
        let found = multipart("multipart/form-data; boundary=X-1", body);
        let expected = vec![
            json!({ "name": "a", "value": "1;2" }),
            json!({ "name": "f", "fileName": "b c.bin", "contentType": "image/png" }),
        ];
        assert_eq!(found, Some(expected));
        assert_eq!(
            multipart("multipart/form-data; boundary=\"X-1\"", b"--X-1--"),
            Some(Vec::new())
        );
        for (content_type, body) in [
            ("text/plain; boundary=X-1", &body[..]),
            ("multipart/form-data", &body[..]),
            ("multipart/form-data; boundary=X-1", &body[..40]),
            ("multipart/form-data; boundary=X-1", &b"rubbish"[..]),
            ("multipart/form-data; boundary=", &b"--"[..]),
        ] {
            let found = multipart(content_type, body);
            assert!(found.is_none() || found == Some(Vec::new()), "{content_type}: {found:?}");
        }
    }
}
