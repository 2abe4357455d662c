//! TLS settings in the URLs of databases.
//!
//! PostgreSQL's words are those of libpq, `sslmode` and `sslrootcert` (PostgreSQL 17, chapter 32.19). The client of
//! MySQL has words of its own; `require_ssl` and `ssl_ca`, which others know, are read here. Redis' is `ssl_ca_certs`.

use std::path::PathBuf;

use crate::Verify;

/// Why a URL's words about TLS were refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Another `sslmode`.
    #[error("sslmode is one of disable, prefer, require, verify-ca and verify-full")]
    Mode,
    /// An authority, and nothing that is to be verified by it.
    #[error("sslrootcert needs sslmode=verify-full, verify-ca or require")]
    RootWithoutMode,
    /// Another `require_ssl`.
    #[error("require_ssl is true or false")]
    Require,
    /// An authority, though there should be no TLS.
    #[error("ssl_ca needs require_ssl=true")]
    RootWithoutTls,
}

/// libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SslMode {
    /// No TLS.
    Disable,
    /// TLS if the server offers it, with any certificate.
    Prefer,
    /// TLS, with any certificate; one of the given authority if the URL names one.
    Require,
    /// TLS, with a certificate of a trusted authority, of whatever name.
    VerifyCa,
    /// TLS, with a certificate of a trusted authority, and of the server's name.
    VerifyFull,
}

/// A URL of PostgreSQL, split into TLS settings and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresUrl {
    /// The URL without these words.
    pub url: String,
    /// `sslmode`.
    pub mode: Option<SslMode>,
    /// `sslrootcert`: a file.
    pub ca: Option<PathBuf>,
}

/// A URL of MySQL, split into TLS settings and the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MysqlUrl {
    /// The URL without these words.
    pub url: String,
    /// Whether TLS is required.
    pub is_required: bool,
    /// `ssl_ca`: a file.
    pub ca: Option<PathBuf>,
}

impl PostgresUrl {
    /// Reads a URL; the rest of it is the client's business.
    ///
    /// # Errors
    /// On words that are none of libpq's, or contradict each other.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (url, [mode, ca]) = take(url, ["sslmode", "sslrootcert"]);
        let mode = match mode.as_deref() {
            None => None,
            Some("disable") => Some(SslMode::Disable),
            Some("prefer") => Some(SslMode::Prefer),
            Some("require") => Some(SslMode::Require),
            Some("verify-ca") => Some(SslMode::VerifyCa),
            Some("verify-full") => Some(SslMode::VerifyFull),
            Some(_) => return Err(UrlError::Mode),
        };
        let verifies = !matches!(mode, None | Some(SslMode::Disable | SslMode::Prefer));
        match ca {
            Some(_) if !verifies => Err(UrlError::RootWithoutMode),
            ca => Ok(Self { url, mode, ca: ca.map(PathBuf::from) }),
        }
    }

    /// How much of the server's certificate is verified.
    #[must_use]
    pub fn verify(&self) -> Verify {
        match self.mode {
            Some(SslMode::VerifyFull) => Verify::All,
            Some(SslMode::VerifyCa) => Verify::Authority,
            Some(SslMode::Require) if self.ca.is_some() => Verify::Authority,
            _ => Verify::Nothing,
        }
    }
}

impl MysqlUrl {
    /// Reads a URL; the rest of it is the client's business.
    ///
    /// # Errors
    /// On other values, and if they contradict each other.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (url, [required, ca]) = take(url, ["require_ssl", "ssl_ca"]);
        let required = match required.as_deref() {
            None => None,
            Some("true") => Some(true),
            Some("false") => Some(false),
            Some(_) => return Err(UrlError::Require),
        };
        if required == Some(false) && ca.is_some() {
            return Err(UrlError::RootWithoutTls);
        }
        Ok(Self { url, is_required: required.unwrap_or(ca.is_some()), ca: ca.map(PathBuf::from) })
    }
}

/// A URL of Redis without the file of authorities that it names as `ssl_ca_certs`, and that file.
#[must_use]
pub fn redis_url(url: &str) -> (String, Option<PathBuf>) {
    let (url, [ca]) = take(url, ["ssl_ca_certs"]);
    (url, ca.map(PathBuf::from))
}

/// The URL without these parameters, and their values; the last of several counts.
fn take<const N: usize>(url: &str, names: [&str; N]) -> (String, [Option<String>; N]) {
    let mut values = [const { None }; N];
    // A password may contain a question mark.
    let host = url.find('@').map_or(0, |at| at + 1);
    let Some(mark) = url[host..].find('?').map(|mark| host + mark) else {
        return (url.to_owned(), values);
    };
    let (query, fragment) = match url[mark + 1..].split_once('#') {
        Some((query, fragment)) => (query, Some(fragment)),
        None => (&url[mark + 1..], None),
    };
    let mut others = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match names.iter().position(|&known| known == name) {
            Some(place) => values[place] = Some(decoded(value)),
            None => others.push(pair),
        }
    }
    let mut rest = url[..mark].to_owned();
    if !others.is_empty() {
        rest.push('?');
        rest.push_str(&others.join("&"));
    }
    if let Some(fragment) = fragment {
        rest.push('#');
        rest.push_str(fragment);
    }
    (rest, values)
}

/// A part of a URL with `%2F` as `/`; what is no such escape stays.
#[must_use]
pub fn decoded(text: &str) -> String {
    String::from_utf8_lossy(&UrlBytes::parse(text).bytes).into_owned()
}

/// As [`decoded`], of a part in which each `%` begins an escape; `None`: one does not, or the result is no UTF-8.
#[must_use]
pub fn decoded_strictly(text: &str) -> Option<String> {
    let UrlBytes { bytes, is_valid } = UrlBytes::parse(text);
    String::from_utf8(bytes).ok().filter(|_| is_valid)
}

/// The bytes of a part of a URL (RFC 3986, section 2.1).
struct UrlBytes {
    bytes: Vec<u8>,
    /// Whether each `%` begins an escape.
    is_valid: bool,
}

impl UrlBytes {
    fn parse(text: &str) -> UrlBytes {
        let mut bytes = Vec::with_capacity(text.len());
        let mut is_valid = true;
        let mut rest = text.as_bytes();
        while let [first, behind @ ..] = rest {
            let digits = behind.get(..2).and_then(|two| std::str::from_utf8(two).ok());
            let digits = digits.filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()));
            match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
                Some(byte) if *first == b'%' => {
                    bytes.push(byte);
                    rest = &behind[2..];
                }
                _ => {
                    is_valid &= *first != b'%';
                    bytes.push(*first);
                    rest = behind;
                }
            }
        }
        UrlBytes { bytes, is_valid }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn postgres_urls_have_the_words_of_libpq() {
        let parse = |query: &str| PostgresUrl::parse(&format!("postgres://u:p?@h:1/db{query}"));
        for (query, rest, verify) in [
            ("", "", Verify::Nothing),
            ("?sslmode=disable", "", Verify::Nothing),
            ("?a=b&sslmode=prefer", "?a=b", Verify::Nothing),
            ("?sslmode=require&a=b&c=d", "?a=b&c=d", Verify::Nothing),
            ("?sslmode=require&sslrootcert=ca", "", Verify::Authority),
            ("?sslmode=verify-ca", "", Verify::Authority),
            ("?sslmode=disable&sslmode=verify-full", "", Verify::All),
        ] {
            let found = parse(query).unwrap();
            assert_eq!(found.url, format!("postgres://u:p?@h:1/db{rest}"), "{query}");
            assert_eq!(found.verify(), verify, "{query}");
        }
        let found = parse("?sslmode=verify-full&sslrootcert=/a%20b/c%2").unwrap();
        assert_eq!(found.ca, Some(PathBuf::from("/a b/c%2")));
        assert_eq!(parse("?sslmode=allow"), Err(UrlError::Mode));
        for query in ["?sslrootcert=ca", "?sslrootcert=ca&sslmode=prefer"] {
            assert_eq!(parse(query), Err(UrlError::RootWithoutMode), "{query}");
        }
    }

    #[test]
    fn bad_escapes_stay_or_are_refused() {
        for (text, plain, strict) in [
            ("a%2Fb%3a", "a/b:", true),
            ("100%", "100%", false),
            ("%zz", "%zz", false),
            ("%+f", "%+f", false),
            ("%c3%a4", "\u{e4}", true),
            ("%e4", "\u{fffd}", false),
        ] {
            assert_eq!(decoded(text), plain);
            assert_eq!(decoded_strictly(text), strict.then(|| plain.to_owned()), "{text}");
        }
    }

    #[test]
    fn mysql_urls_require_tls_and_name_an_authority() {
        let parse = |query: &str| MysqlUrl::parse(&format!("mysql://h/db{query}"));
        for (query, is_required, ca) in [
            ("", false, None),
            ("?require_ssl=false", false, None),
            ("?require_ssl=true", true, None),
            ("?ssl_ca=ca", true, Some("ca")),
            ("?ssl_ca=ca&require_ssl=true", true, Some("ca")),
        ] {
            let expected =
                MysqlUrl { url: "mysql://h/db".to_owned(), is_required, ca: ca.map(PathBuf::from) };
            assert_eq!(parse(query), Ok(expected), "{query}");
        }
        assert_eq!(parse("?x=y&require_ssl=true").unwrap().url, "mysql://h/db?x=y");
        assert_eq!(parse("?require_ssl=1"), Err(UrlError::Require));
        let refused = parse("?require_ssl=false&ssl_ca=ca");
        assert_eq!(refused, Err(UrlError::RootWithoutTls));
    }

    #[test]
    fn redis_urls_keep_their_other_parts() {
        for (url, rest, ca) in [
            ("rediss://:p@h:1/2", "rediss://:p@h:1/2", None),
            ("rediss://h/?ssl_ca_certs=ca", "rediss://h/", Some("ca")),
            (
                "rediss://h/?protocol=resp3&ssl_ca_certs=ca#insecure",
                "rediss://h/?protocol=resp3#insecure",
                Some("ca"),
            ),
        ] {
            assert_eq!(redis_url(url), (rest.to_owned(), ca.map(PathBuf::from)));
        }
    }
}
