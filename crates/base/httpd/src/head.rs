//! The head of a request.

/// The largest head that is accepted.
pub const HEAD_BYTES_MAX: usize = 8 << 10;
/// Most header fields in it.
const FIELDS_MAX: usize = 64;

/// The methods that are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

/// The head of a request without a body.
#[derive(Debug)]
pub struct Head {
    pub method: Method,
    pub path: String,
    /// The part after the `?`.
    pub query: Option<String>,
    /// Names in lower case.
    fields: Vec<(String, String)>,
}

/// The status of the reply to a head that is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadHead(pub u16);

impl Head {
    /// Parses a head; `None` if it is incomplete.
    ///
    /// # Errors
    /// It is malformed, too large, or announces a body.
    pub fn parse(bytes: &[u8]) -> Result<Option<Head>, BadHead> {
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut fields);
        match request.parse(bytes) {
            Ok(status) if status.is_complete() => {}
            Ok(_) if bytes.len() >= HEAD_BYTES_MAX => return Err(BadHead(431)),
            Ok(_) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(BadHead(431)),
            Err(_) => return Err(BadHead(400)),
        }
        let method = match request.method {
            Some("GET") => Method::Get,
            Some("POST") => Method::Post,
            _ => return Err(BadHead(405)),
        };
        let target = request.path.unwrap_or_default();
        let (path, query) = match target.split_once('?') {
            Some((path, query)) => (path, Some(query.to_owned())),
            None => (target, None),
        };
        let mut fields = Vec::with_capacity(request.headers.len());
        for field in request.headers.iter() {
            let value = std::str::from_utf8(field.value).map_err(|_| BadHead(400))?;
            fields.push((field.name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let head = Head { method, path: path.to_owned(), query, fields };
        // No request here has a body.
        let is_empty = head.one("content-length").map_or(!head.has("content-length"), |n| n == "0");
        if !is_empty || head.has("transfer-encoding") {
            return Err(BadHead(413));
        }
        Ok(Some(head))
    }

    /// Whether there is a field of this name, in lower case.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|(found, _)| found == name)
    }

    /// The value of a field that occurs exactly once.
    pub fn one(&self, name: &str) -> Option<&str> {
        let mut values = self.fields.iter().filter(|(found, _)| found == name);
        let value = values.next()?;
        values.next().is_none().then_some(value.1.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_heads_wait_and_bad_heads_are_refused() {
        assert!(Head::parse(b"GET / HTTP/1.1\r\nHost: a\r\n").unwrap().is_none());
        let refused = |text: &[u8]| Head::parse(text).unwrap_err().0;
        assert_eq!(refused(b"PUT / HTTP/1.1\r\n\r\n"), 405);
        assert_eq!(refused(b"\0\0\r\n\r\n"), 400);
        assert_eq!(refused(b"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\n"), 413);
        assert_eq!(refused(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
        let long = [b"GET /".as_slice(), &[b'a'; HEAD_BYTES_MAX]].concat();
        assert_eq!(refused(&long), 431);
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        assert_eq!(refused(many.as_bytes()), 431);
    }
}
