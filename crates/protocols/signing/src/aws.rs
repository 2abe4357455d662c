//! AWS Signature Version 4 of a request's head and body.
//!
//! "AWS Signature Version 4 for API requests" and "Signature Calculations for the Authorization Header" (Amazon S3 API
//! Reference), tested against the vectors of both.

mod canonical;

use ring::{digest, hmac};
use units::hex;

use canonical::Request;

/// The form of `x-amz-date`.
const DATE_BYTES: usize = "20150830T123600Z".len();
/// Most signing keys that are kept.
const KEPT_MAX: usize = 16;
/// The word in place of the hash of a body that is not signed.
const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// The signer's credentials, and the service.
#[derive(Debug, Clone, Copy)]
pub struct AwsSigner<'a> {
    /// As in the service's endpoint: `s3`, `execute-api`, `dynamodb`.
    pub service: &'a str,
    pub region: &'a str,
    pub access_key: &'a str,
    pub secret_key: &'a str,
    /// Token of temporary credentials.
    pub session_token: Option<&'a str>,
    /// The body is part of what is signed.
    pub signs_body: bool,
}

/// Why a request cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AwsError {
    /// The request's own date is malformed.
    #[error("sign: the header `x-amz-date` is not written like 20150830T123600Z")]
    Date,
    /// A part of the signature would end its header line.
    #[error("sign: {0} has characters that a header line cannot hold")]
    Characters(&'static str),
}

/// How services differ in what they sign.
#[derive(Debug, Clone, Copy)]
struct Rules {
    /// S3 names objects by paths: they stand as they are, `//` and `..` included, and are encoded once.
    path_is_name: bool,
    /// The hash of the body is a header, too.
    hash_is_header: bool,
}

impl Rules {
    fn for_service(service: &str, signs_body: bool) -> Rules {
        let is_s3 = service == "s3" || service == "s3express" || service.starts_with("s3-");
        Rules { path_is_name: is_s3, hash_is_header: is_s3 || !signs_body }
    }
}

/// Signing keys that were derived before: each serves a day.
#[derive(Debug, Default)]
pub struct Keys(Vec<CachedKey>);

#[derive(Debug)]
struct CachedKey {
    secret_key: String,
    /// Date, region and service.
    scope: String,
    key: hmac::Key,
}

impl Keys {
    /// The header lines that sign an encoded HTTP/1.1 request, which has none of them yet; `unix_s`: now. A request's
    /// own `x-amz-date` and `x-amz-content-sha256` are used as they are.
    ///
    /// # Errors
    /// If a part of the signature cannot be sent.
    pub fn lines(
        &mut self,
        request: &[u8],
        signing: &AwsSigner<'_>,
        unix_s: i64,
    ) -> Result<String, AwsError> {
        self.lines_by(
            Rules::for_service(signing.service, signing.signs_body),
            request,
            signing,
            unix_s,
        )
    }

    fn lines_by(
        &mut self,
        rules: Rules,
        request: &[u8],
        signing: &AwsSigner<'_>,
        unix_s: i64,
    ) -> Result<String, AwsError> {
        check(signing)?;
        let mut request = Request::parse(request);
        let mut lines = String::new();
        let mut add = |request: &mut Request, name: &str, value: &str| {
            lines.push_str(&format!("{name}: {value}\r\n"));
            request.add_header(name, value);
        };
        let date = match request.header("x-amz-date") {
            Some(own) => own.to_owned(),
            None => {
                let date = date_of(unix_s);
                add(&mut request, "x-amz-date", &date);
                date
            }
        };
        if date.len() != DATE_BYTES || !date.is_ascii() {
            return Err(AwsError::Date);
        }
        if let Some(token) = signing.session_token {
            add(&mut request, "x-amz-security-token", token);
        }
        let payload = match (request.header("x-amz-content-sha256"), signing.signs_body) {
            (Some(own), _) => own.to_owned(),
            (None, true) => sha256(request.body),
            (None, false) => UNSIGNED.to_owned(),
        };
        if rules.hash_is_header && request.header("x-amz-content-sha256").is_none() {
            add(&mut request, "x-amz-content-sha256", &payload);
        }
        let scope = format!("{}/{}/{}", &date[..8], signing.region, signing.service);
        let (canonical, names) = request.canonical(rules.path_is_name, &payload);
        let text = format!(
            "AWS4-HMAC-SHA256\n{date}\n{scope}/aws4_request\n{}",
            sha256(canonical.as_bytes())
        );
        let key = self.key(signing, &scope);
        let signature = hex(hmac::sign(key, text.as_bytes()).as_ref());
        lines.push_str(&format!(
            "authorization: AWS4-HMAC-SHA256 Credential={}/{scope}/aws4_request, SignedHeaders={names}, \
             Signature={signature}\r\n",
            signing.access_key
        ));
        Ok(lines)
    }

    /// A chain of four keyed hashes over date, region, service and a fixed word.
    fn key(&mut self, signing: &AwsSigner<'_>, scope: &str) -> &hmac::Key {
        let is_it =
            |known: &CachedKey| known.scope == scope && known.secret_key == signing.secret_key;
        let at = match self.0.iter().position(is_it) {
            Some(at) => at,
            None => {
                if self.0.len() >= KEPT_MAX {
                    self.0.clear();
                }
                let first = format!("AWS4{}", signing.secret_key);
                let key = hmac::Key::new(hmac::HMAC_SHA256, first.as_bytes());
                let parts = [&scope[..8], signing.region, signing.service, "aws4_request"];
                let key = parts.iter().fold(key, |key, part| {
                    let next = hmac::sign(&key, part.as_bytes());
                    hmac::Key::new(hmac::HMAC_SHA256, next.as_ref())
                });
                self.0.push(CachedKey {
                    secret_key: signing.secret_key.to_owned(),
                    scope: scope.to_owned(),
                    key,
                });
                self.0.len() - 1
            }
        };
        &self.0[at].key
    }
}

/// Checks that no part of a header line ends the line.
fn check(signing: &AwsSigner<'_>) -> Result<(), AwsError> {
    let parts = [
        ("the access key", signing.access_key),
        ("the region", signing.region),
        ("the service", signing.service),
        ("the session token", signing.session_token.unwrap_or("-")),
    ];
    let is_plain =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    match parts.iter().find(|(_, text)| !is_plain(text)) {
        Some((name, _)) => Err(AwsError::Characters(name)),
        None => Ok(()),
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// Seconds since the Unix epoch as `20150830T123600Z`. The date is Howard Hinnant's `civil_from_days` ("chrono-Compatible
/// Low-Level Date Algorithms", 2013): years begin in March, and 400 of them have 146,097 days.
fn date_of(unix_s: i64) -> String {
    let days = unix_s.div_euclid(86_400);
    let second = unix_s.rem_euclid(86_400);
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let hour = second / 3_600;
    let minute = second / 60 % 60;
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{:02}Z", second % 60)
}

#[cfg(test)]
mod tests;
