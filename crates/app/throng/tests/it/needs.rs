//! The scenarios of docs/needs.md against an application that insists on what they need: it refuses a request without
//! its token, cookie, signature or part, and counts what it answered.

mod signed;
mod together;

pub(crate) use signed::one_time_passwords;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use record::schema::{EventKind, OnceOperation};

use crate::support::{Ended, Space, root, server};

/// What the application answered, by method, path and status.
type Answered = Arc<Mutex<BTreeMap<String, u64>>>;

/// A request as the application reads it.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn read(stream: &mut impl Read) -> io::Result<Request> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let method = word();
        let path = word();
        let headers: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.get("content-length").map_or("0", String::as_str);
        let mut body = vec![0; length.parse().unwrap_or(0)];
        stream.read_exact(&mut body)?;
        Ok(Request { method, path, headers, body })
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A field of a form.
    pub(crate) fn field(&self, name: &str) -> String {
        let text = self.text();
        let found = text.split('&').find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
        found.unwrap_or_default().replace("%20", " ").replace("%26", "&")
    }
}

/// Status, header lines and body.
pub(crate) type Answer = (u16, String, Vec<u8>);

pub(crate) fn json(status: u16, text: &str) -> Answer {
    (status, "content-type: application/json\r\n".to_owned(), text.into())
}

fn refused(why: &str) -> Answer {
    json(403, &format!("{{\"error\": \"{why}\"}}"))
}

fn answer(request: &Request) -> Answer {
    let path = request.path.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("GET", "/login") => (
            200,
            "set-cookie: form=f1; HttpOnly\r\n".to_owned(),
            b"<form><input name=\"csrf\" value=\"t-1\"></form>".to_vec(),
        ),
        ("POST", "/login") => login(request),
        ("GET", "/home") => match request.header("cookie").split_once("session=") {
            Some((_, user)) => (200, String::new(), format!("<h1>Hello {user}</h1>").into()),
            None => refused("no session"),
        },
        ("POST", "/upload") => upload(request),
        ("GET", "/items") => page(request),
        ("GET", item) if item.starts_with("/items/i") => json(200, "{}"),
        ("POST", "/orders") => order(request),
        ("POST", "/token") => {
            match (request.header("authorization"), request.field("grant_type")) {
                ("Basic c2hvcDpzM2NyZXQ=", grant) if grant == "client_credentials" => {
                    json(200, "{\"access_token\": \"at-1\", \"expires_in\": 60}")
                }
                _ => refused("no client"),
            }
        }
        ("GET", "/private") if request.header("authorization") == "Bearer at-1" => json(200, "{}"),
        ("GET", "/signed-in") => signed_in(request),
        ("POST", "/graphql") => graphql(request),
        ("GET", token) if token.starts_with("/token/") => signed::token(request),
        ("PUT" | "GET", bucket) if bucket.starts_with("/bucket") => signed::object(request),
        ("POST", "/codes") => signed::code(request),
        ("GET", "/health") if request.header("authorization").is_empty() => json(200, "{}"),
        ("POST", "/customers") => customer(request),
        ("GET", path) if path.starts_with("/resources/") => together::resource(request),
        ("POST", "/transfers") => transfer(request),
        ("POST", "/events") => json(201, "{\"id\": \"e-7\"}"),
        (_, "/events/e-7") => json(200, "{}"),
        (_, "/payments") => match request.header("x-attempt") {
            "1" | "2" => (503, String::new(), Vec::new()),
            "5" => json(200, "{\"state\": \"ready\"}"),
            _ => json(200, "{\"state\": \"accepted\"}"),
        },
        _ => refused("nothing here"),
    }
}

fn login(request: &Request) -> Answer {
    if request.header("cookie") != "form=f1" || request.field("csrf") != "t-1" {
        return refused("a forged form");
    }
    if request.field("password") != "pa ss&word" {
        return refused("a wrong password");
    }
    let user = request.field("user");
    let headers = format!("set-cookie: session={user}\r\nlocation: home\r\n");
    (303, headers, Vec::new())
}

fn upload(request: &Request) -> Answer {
    let (_, boundary) = request
        .header("content-type")
        .split_once("multipart/form-data; boundary=")
        .unwrap_or_default();
    let separator = format!("--{boundary}\r\n").into_bytes();
    let file: Vec<u8> = (0..=255).collect();
    let parts = request.body.windows(separator.len());
    let parts = parts.filter(|window| *window == separator).count();
    let has_file = request.body.windows(256).any(|window| window == file);
    let text = request.text();
    let title = text.split("name=\"title\"\r\n\r\n").nth(1);
    let title = title.and_then(|rest| rest.split("\r\n").next());
    let ends = request.body.ends_with(format!("\r\n--{boundary}--\r\n").as_bytes());
    match (parts, has_file, title, ends) {
        (2, true, Some(title), true) => {
            json(201, &format!("{{\"bytes\": 256, \"title\": \"{title}\"}}"))
        }
        _ => refused("no form with a file"),
    }
}

/// Three pages of two items, compressed.
fn page(request: &Request) -> Answer {
    if request.header("accept-encoding") != "gzip" {
        return refused("not compressed");
    }
    let number = request.path.rsplit('=').next().unwrap_or_default();
    let next = match number {
        "1" => "\"/items?page=2\"",
        "2" => "\"/items?page=3\"",
        _ => "null",
    };
    let text = format!(
        "{{\"items\": [{{\"id\": \"i{number}a\"}}, {{\"id\": \"i{number}b\"}}], \"next\": {next}}}"
    );
    let headers = "content-encoding: gzip\r\n".to_owned();
    (200, headers, stored_gzip(text.as_bytes()))
}

/// RFC 1952, with one block that is not compressed (RFC 1951 §3.2.4).
fn stored_gzip(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap();
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    out.extend(length.to_le_bytes());
    out.extend((!length).to_le_bytes());
    out.extend(text);
    let mut crc = !0u32;
    for byte in text {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    out.extend((!crc).to_le_bytes());
    out.extend(u32::from(length).to_le_bytes());
    out
}

/// Checked by OpenSSL, which is not ours.
pub(crate) fn hmac_sha256(key: &str, text: &str) -> String {
    let mut command = std::process::Command::new("openssl");
    command.args(["dgst", "-sha256", "-hmac", key, "-binary"]);
    command.stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let digest = child.wait_with_output().unwrap().stdout;
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn order(request: &Request) -> Answer {
    let date = request.header("x-date");
    let signed = format!("POST /orders {date} {}", sha256(&request.text())).replace(' ', "|");
    match request.header("x-signature") == hmac_sha256("a shared key", &signed)
        && date.ends_with("GMT")
    {
        true => json(201, "{}"),
        false => refused("a wrong signature"),
    }
}

fn sha256(text: &str) -> String {
    let mut command = std::process::Command::new("sha256sum");
    command.stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap().stdout;
    String::from_utf8_lossy(&out[..64]).into_owned()
}

fn signed_in(request: &Request) -> Answer {
    let token = request.header("authorization").strip_prefix("Bearer ");
    let Some((signed, signature)) = token.and_then(|token| token.rsplit_once('.')) else {
        return refused("no token");
    };
    match signature == hex_as_base64url(&hmac_sha256("a signing key", signed)) {
        true => json(200, "{}"),
        false => refused("a wrong token"),
    }
}

fn hex_as_base64url(hex: &str) -> String {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let bits: Vec<u8> = hex
        .chars()
        .flat_map(|digit| {
            let value = digit.to_digit(16).unwrap();
            (0..4).rev().map(move |bit| (value >> bit & 1) as u8)
        })
        .collect();
    let letters = bits.chunks(6).map(|chunk| {
        let value = chunk.iter().fold(0, |sum, bit| sum << 1 | usize::from(*bit));
        char::from(ALPHABET[value << (6 - chunk.len())])
    });
    letters.collect()
}

fn graphql(request: &Request) -> Answer {
    let text = request.text();
    let id = text.split("\"id\":\"p").nth(1);
    match id.and_then(|rest| rest.split('"').next()) {
        Some(id) => {
            json(200, &format!("{{\"data\": {{\"product\": {{\"name\": \"Product p{id}\"}}}}}}"))
        }
        None => json(200, "{\"errors\": [{\"message\": \"no id\"}]}"),
    }
}

/// A customer whose data has the form that it should have.
fn customer(request: &Request) -> Answer {
    let text = request.text();
    let field = |name: &str| {
        let value = text.split(&format!("\"{name}\":\"")).nth(1)?;
        Some(value.split('"').next()?.to_owned())
    };
    let name = field("name");
    let email = field("email");
    let is_right = name.is_some_and(|name| name.contains(' '))
        && email.is_some_and(|email| email.contains("@example."))
        && field("phone").is_some_and(|phone| phone.starts_with("+1"))
        && field("address").is_some_and(|address| address.matches(", ").count() == 2)
        && field("about").is_some_and(|about| about.split(' ').count() == 12);
    match is_right {
        true => json(201, "{}"),
        false => refused("no customer"),
    }
}

/// A transfer whose account number and checksum are right.
fn transfer(request: &Request) -> Answer {
    let text = request.text();
    let account = text.split(':').next().unwrap_or_default();
    let moved =
        format!("{}{}", account.get(4..).unwrap_or_default(), account.get(..4).unwrap_or_default());
    let rest = moved.chars().fold(0, |rest, c| {
        let value = c.to_digit(36).unwrap_or(0);
        (rest * if value < 10 { 10 } else { 100 } + value) % 97
    });
    let sums = text.bytes().fold((0, 0), |(low, high), byte| {
        let low = (low + u32::from(byte)) % 255;
        (low, (high + low) % 255)
    });
    let sum = format!("{:x}", sums.1 * 256 + sums.0);
    match rest == 1 && account.len() == 22 && request.header("x-sum") == sum {
        true => json(201, "{}"),
        false => refused("a wrong sum"),
    }
}

fn serve(mut stream: TcpStream, answered: &Answered) -> io::Result<()> {
    loop {
        let request = Request::read(&mut stream)?;
        let (status, headers, body) = answer(&request);
        let path = request.path.split(['?', '/']).nth(1).unwrap_or_default();
        let key = format!("{} /{path} {status}", request.method);
        *answered.lock().unwrap().entry(key).or_default() += 1;
        let head =
            format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n", body.len());
        stream.write_all(&[head.as_bytes(), &body].concat())?;
    }
}

/// Plays a scenario; what the application answered, and how many requests the record has.
fn play(name: &str) -> (BTreeMap<String, u64>, u64) {
    let answered = Answered::default();
    let counted = Arc::clone(&answered);
    let address = server(move |stream| serve(stream, &counted));
    let space = Space::new();
    let file = root().join(format!("testdata/needs/{name}.yaml"));
    let file = file.to_str().unwrap();
    let target = format!("target=http://{address}/");
    let hold = "arrivals=[{ constant: 10/s, for: 1s }, { hold: 1s }]";
    let args = [file, "--set", &target, "--set", hold];
    let mut run = space.run(&args);
    run.env("AWS_ACCESS_KEY_ID", signed::ACCESS_KEY)
        .env("AWS_SECRET_ACCESS_KEY", signed::SECRET_KEY);
    Ended::of(&mut run).with(0);
    let measures = space.summary().measures;
    let requests = measures.iter().filter(|m| matches!(m.kind.as_str(), "request" | "redirect"));
    let requests: u64 = requests.map(|m| m.count).sum();
    // What runs once is in the record, and in no measure.
    let events = space.only().events().unwrap().into_iter();
    let once = events.filter_map(|event| match event.what {
        EventKind::OnceEnded(once) => Some(once.operations),
        _ => None,
    });
    let is_request = |operation: &&OnceOperation| operation.status > 0;
    let once: usize = once.map(|all| all.iter().filter(is_request).count()).sum();
    let requests = requests + once as u64;
    let answered = answered.lock().unwrap().clone();
    (answered, requests)
}

#[test]
fn each_need_is_met_and_both_sides_count_the_same() {
    for (name, expected) in [
        (
            "csrf-login",
            &[("GET /login 200", 10), ("POST /login 303", 10), ("GET /home 200", 10)][..],
        ),
        ("upload", &[("POST /upload 201", 10)]),
        ("pages", &[("GET /items 200", 90)]),
        ("signed", &[("POST /orders 201", 10)]),
        ("client-credentials", &[("POST /token 200", 10), ("GET /private 200", 40)]),
        ("jwt", &[("GET /signed-in 200", 10)]),
        ("graphql", &[("POST /graphql 200", 10)]),
        ("tokens", &[("GET /token 200", 30)]),
        ("aws", &[("PUT /bucket 200", 10), ("GET /bucket 200", 10), ("GET /health 200", 10)]),
        ("totp", &[("POST /codes 200", 10)]),
        ("made-up", &[("POST /customers 201", 10)]),
        ("transfer", &[("POST /transfers 201", 10)]),
        ("event", &[("POST /events 201", 1), ("GET /events 200", 10), ("DELETE /events 200", 1)]),
        (
            "resources",
            &[("GET /items 200", 10), ("GET /resources 200", 30), ("GET /health 200", 10)],
        ),
        (
            "payments",
            &[("POST /payments 503", 20), ("POST /payments 200", 10), ("GET /payments 200", 20)],
        ),
    ] {
        let (answered, requests) = play(name);
        let expected = expected.iter().map(|(what, count)| ((*what).to_owned(), *count));
        assert_eq!(answered, expected.collect(), "{name}");
        assert_eq!(answered.values().sum::<u64>(), requests, "{name}");
    }
}
