//! A reply: status line, header fields, body.

use std::io::{self, Write};

/// A reply to one request.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    pub status: u16,
    pub content_type: &'a str,
    /// Further header fields, each with its line end.
    pub headers: &'a str,
    pub body: &'a [u8],
}

impl<'a> Reply<'a> {
    /// A reply of plain text.
    pub fn text(status: u16, headers: &'a str, body: &'a str) -> Reply<'a> {
        Reply { status, content_type: "text/plain; charset=utf-8", headers, body: body.as_bytes() }
    }

    /// Sends it.
    ///
    /// # Errors
    /// The client is gone or too slow.
    pub fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let length = self.body.len();
        let head = self.head() + &format!("Content-Length: {length}\r\n\r\n");
        to.write_all(head.as_bytes())?;
        to.write_all(self.body)
    }

    /// Sends the head of a reply without a length: it ends when the connection closes (RFC 9112 §6.3).
    ///
    /// # Errors
    /// The client is gone or too slow.
    pub fn write_head(&self, to: &mut dyn Write) -> io::Result<()> {
        to.write_all((self.head() + "\r\n").as_bytes())
    }

    /// The head without its last line.
    fn head(&self) -> String {
        let Reply { status, content_type, headers, .. } = self;
        let reason = reason(*status);
        format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: {content_type}\r\n{headers}\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n"
        )
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        _ => "Service Unavailable",
    }
}
