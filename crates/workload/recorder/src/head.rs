//! Heads of requests and responses (RFC 9112, sections 2 to 5).

/// The largest head.
pub(crate) const HEAD_BYTES_MAX: usize = 128 << 10;
/// Most fields in one.
const FIELDS_MAX: usize = 256;

/// Why a head cannot be passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum HeadError {
    #[error("it is not HTTP/1.1")]
    NotHttp,
    #[error("HTTP/1.0 is not recorded")]
    Old,
    #[error(
        "its head is larger than {} bytes or has more than {} fields",
        HEAD_BYTES_MAX,
        FIELDS_MAX
    )]
    TooLarge,
    #[error("the length of its body is ambiguous")]
    Length,
}

/// A field of a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    /// As it came: it need not be text.
    pub(crate) value: Vec<u8>,
}

impl Field {
    pub(crate) fn new(name: &str, value: &str) -> Field {
        Field { name: name.to_owned(), value: value.as_bytes().to_vec() }
    }

    pub(crate) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// The value as text: bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.value).into_owned()
    }
}

/// The fields of a head in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fields(pub(crate) Vec<Field>);

impl Fields {
    fn of(parsed: &[httparse::Header<'_>]) -> Fields {
        let field = |one: &httparse::Header<'_>| Field {
            name: one.name.to_owned(),
            value: one.value.to_vec(),
        };
        Fields(parsed.iter().map(field).collect())
    }

    /// The value of the first field of this name.
    pub(crate) fn first(&self, name: &str) -> Option<String> {
        self.0.iter().find(|field| field.is(name)).map(Field::text)
    }

    /// Whether a list in fields of this name has this member (RFC 9110, section 5.6.1).
    pub(crate) fn lists(&self, name: &str, member: &str) -> bool {
        let mut values = self.0.iter().filter(|field| field.is(name)).map(Field::text);
        values
            .any(|value| value.split(',').any(|listed| listed.trim().eq_ignore_ascii_case(member)))
    }

    /// Whether both sides leave HTTP for WebSocket.
    pub(crate) fn wants_websocket(&self) -> bool {
        self.lists("upgrade", "websocket") && self.lists("connection", "upgrade")
    }

    /// The fields as bytes, without the empty line behind them.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for field in &self.0 {
            out.extend_from_slice(field.name.as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(&field.value);
            out.extend_from_slice(b"\r\n");
        }
    }

    /// The number of bytes that `Content-Length` announces.
    fn content_length(&self) -> Result<Option<u64>, HeadError> {
        let values = self.0.iter().filter(|field| field.is("content-length")).map(Field::text);
        let mut length = None;
        // Several are the same as one, if all say the same (RFC 9110, section 8.6).
        for value in values {
            for one in value.split(',').map(str::trim) {
                let is_number = !one.is_empty() && one.bytes().all(|byte| byte.is_ascii_digit());
                let number: u64 =
                    one.parse().ok().filter(|_| is_number).ok_or(HeadError::Length)?;
                if length.replace(number).is_some_and(|other| other != number) {
                    return Err(HeadError::Length);
                }
            }
        }
        Ok(length)
    }

    fn has_codings(&self) -> bool {
        self.0.iter().any(|field| field.is("transfer-encoding"))
    }
}

/// How the end of a body is known (RFC 9112, section 6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// This many bytes.
    Exact(u64),
    /// Chunks say it.
    Chunked,
    /// The end of the connection.
    UntilClose,
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) fields: Fields,
    pub(crate) bytes_count: usize,
    pub(crate) length: Length,
}

impl RequestHead {
    /// Parses a head; `None` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<RequestHead>, HeadError> {
        let mut parsed = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut request = httparse::Request::new(&mut parsed);
        let Some(bytes_count) = complete(request.parse(bytes), bytes.len())? else {
            return Ok(None);
        };
        if request.version != Some(1) {
            return Err(HeadError::Old);
        }
        let fields = Fields::of(request.headers);
        let length = match (fields.has_codings(), fields.content_length()?) {
            (false, length) => Length::Exact(length.unwrap_or(0)),
            // With both, servers may disagree where the next request begins.
            (true, Some(_)) => return Err(HeadError::Length),
            (true, None) if fields.lists("transfer-encoding", "chunked") => Length::Chunked,
            (true, None) => return Err(HeadError::Length),
        };
        Ok(Some(RequestHead {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            fields,
            bytes_count,
            length,
        }))
    }

    pub(crate) fn keeps_alive(&self) -> bool {
        !self.fields.lists("connection", "close") && !self.fields.lists("proxy-connection", "close")
    }

    /// Whether it may be sent twice: that has the same effect as once (RFC 9110, section 9.2.2).
    pub(crate) fn is_repeatable(&self) -> bool {
        let is_idempotent =
            matches!(self.method.as_str(), "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE");
        is_idempotent && self.length == Length::Exact(0)
    }
}

/// The head of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHead {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) fields: Fields,
    pub(crate) bytes_count: usize,
    pub(crate) length: Length,
    /// The server says that another request may follow.
    pub(crate) keeps_alive: bool,
}

impl ResponseHead {
    /// Parses the head of a response to a request of this method; `None` if it is incomplete.
    pub(crate) fn parse(bytes: &[u8], method: &str) -> Result<Option<ResponseHead>, HeadError> {
        let mut parsed = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut response = httparse::Response::new(&mut parsed);
        let Some(bytes_count) = complete(response.parse(bytes), bytes.len())? else {
            return Ok(None);
        };
        let fields = Fields::of(response.headers);
        let status = response.code.unwrap_or_default();
        let has_none = method == "HEAD" || status < 200 || matches!(status, 204 | 304);
        let length = if has_none {
            Length::Exact(0)
        } else if fields.has_codings() {
            match fields.lists("transfer-encoding", "chunked") {
                true => Length::Chunked,
                false => Length::UntilClose,
            }
        } else {
            fields.content_length()?.map_or(Length::UntilClose, Length::Exact)
        };
        let keeps_alive = response.version == Some(1)
            && length != Length::UntilClose
            && !fields.lists("connection", "close");
        Ok(Some(ResponseHead {
            status,
            reason: response.reason.unwrap_or_default().to_owned(),
            fields,
            bytes_count,
            length,
            keeps_alive,
        }))
    }
}

/// The length of a head that has been parsed; `None` if it is incomplete.
fn complete(parsed: httparse::Result<usize>, received: usize) -> Result<Option<usize>, HeadError> {
    match parsed {
        Ok(httparse::Status::Complete(bytes_count)) => Ok(Some(bytes_count)),
        Ok(httparse::Status::Partial) if received >= HEAD_BYTES_MAX => Err(HeadError::TooLarge),
        Ok(httparse::Status::Partial) => Ok(None),
        Err(httparse::Error::TooManyHeaders) => Err(HeadError::TooLarge),
        Err(_) => Err(HeadError::NotHttp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Option<RequestHead>, HeadError> {
        RequestHead::parse(text.as_bytes())
    }

    fn length(text: &str) -> Result<Length, HeadError> {
        request(&format!("POST / HTTP/1.1\r\n{text}\r\n")).map(|head| head.unwrap().length)
    }

    #[test]
    fn requests_have_a_body_only_if_they_say_so() {
        assert_eq!(length(""), Ok(Length::Exact(0)));
        assert_eq!(length("Content-Length: 5\r\n"), Ok(Length::Exact(5)));
        assert_eq!(length("Content-Length: 5\r\nContent-Length: 5, 5\r\n"), Ok(Length::Exact(5)));
        assert_eq!(length("Transfer-Encoding: gzip, Chunked\r\n"), Ok(Length::Chunked));
        for wrong in [
            "Content-Length: 5\r\nContent-Length: 6\r\n",
            "Content-Length: +5\r\n",
            "Content-Length: \r\n",
            "Content-Length: 99999999999999999999\r\n",
            "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
            "Transfer-Encoding: gzip\r\n",
        ] {
            assert_eq!(length(wrong), Err(HeadError::Length), "{wrong}");
        }
    }

    #[test]
    fn responses_end_as_method_and_status_say() {
        let length = |method: &str, text: &str| {
            ResponseHead::parse(text.as_bytes(), method).unwrap().unwrap().length
        };
        let of_five = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        assert_eq!(length("GET", of_five), Length::Exact(5));
        assert_eq!(length("HEAD", of_five), Length::Exact(0));
        assert_eq!(length("GET", "HTTP/1.1 304 A\r\nContent-Length: 5\r\n\r\n"), Length::Exact(0));
        assert_eq!(length("GET", "HTTP/1.1 200 OK\r\n\r\n"), Length::UntilClose);
        let both = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(length("GET", both), Length::Chunked);
    }

    #[test]
    fn incomplete_heads_wait_and_others_are_refused() {
        assert_eq!(request("GET / HTTP/1.1\r\nHost: a\r\n"), Ok(None));
        assert_eq!(request("GET / HTTP/1.0\r\n\r\n"), Err(HeadError::Old));
        assert_eq!(request("\0\0\r\n\r\n"), Err(HeadError::NotHttp));
        let long = format!("GET /{}", "a".repeat(HEAD_BYTES_MAX));
        assert_eq!(request(&long), Err(HeadError::TooLarge));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        assert_eq!(request(&many), Err(HeadError::TooLarge));
    }

    #[test]
    fn lists_have_members_of_any_case() {
        let text =
            "GET / HTTP/1.1\r\nConnection: keep-alive, Upgrade\r\nupgrade: WebSocket\r\n\r\n";
        let head = request(text).unwrap().unwrap();
        assert!(head.fields.wants_websocket());
        assert!(head.keeps_alive());
        assert!(!head.fields.lists("connection", "close"));
    }
}
