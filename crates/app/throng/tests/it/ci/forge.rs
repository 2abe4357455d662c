//! The comments of a pull or merge request, over the part of the APIs of GitHub and GitLab that `ci/comment.py` uses.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};

use serde_json::{Value, json};

use crate::support::server;

/// A forge with one request for a merge. The numbers of comments begin with 1.
pub(super) struct Forge {
    pub(super) address: SocketAddr,
    comments: Arc<Mutex<Vec<String>>>,
}

/// What one HTTP request says.
struct Request {
    method: String,
    path: String,
    body: String,
}

impl Forge {
    pub(super) fn new() -> Forge {
        let comments: Arc<Mutex<Vec<String>>> = Arc::default();
        let shared = Arc::clone(&comments);
        let address = server(move |stream| {
            let reply = answer(&read(&stream)?, shared.lock().unwrap());
            let (status, body) = reply.map_or((404, Value::Null), |body| (200, body));
            let body = body.to_string();
            write!(
                &stream,
                "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            )
        });
        Forge { address, comments }
    }

    pub(super) fn comments(&self) -> Vec<String> {
        self.comments.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> io::Result<Request> {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    let lower = head.to_ascii_lowercase();
    assert!(
        lower.contains("authorization: bearer secret") || lower.contains("private-token: secret"),
        "{head}"
    );
    let length = lower.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let mut words = head.split(' ').map(str::to_owned);
    Ok(Request {
        method: words.next().unwrap(),
        path: words.next().unwrap(),
        body: String::from_utf8(body).unwrap(),
    })
}

/// The reply; `None` if there is no such place.
fn answer(request: &Request, mut comments: MutexGuard<'_, Vec<String>>) -> Option<Value> {
    let (path, _) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let text = || {
        let body: Value = serde_json::from_str(&request.body).unwrap();
        body["body"].as_str().unwrap().to_owned()
    };
    let all = ["/repos/some/where/issues/7/comments", "/projects/3/merge_requests/7/notes"];
    if all.contains(&path) {
        match request.method.as_str() {
            "GET" => {}
            "POST" => comments.push(text()),
            _ => return None,
        }
        let numbered = (1..).zip(comments.iter());
        return Some(numbered.map(|(id, body)| json!({ "id": id, "body": body })).collect());
    }
    let one = match request.method.as_str() {
        "PATCH" => path.strip_prefix("/repos/some/where/issues/comments/")?,
        "PUT" => path.strip_prefix("/projects/3/merge_requests/7/notes/")?,
        _ => return None,
    };
    let id: usize = one.parse().ok()?;
    *comments.get_mut(id - 1)? = text();
    Some(json!({ "id": id }))
}
