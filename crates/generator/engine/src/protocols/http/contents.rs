//! Bodies that their server encoded: decoded where a step, or whoever traces a user, reads them.

use plan::HttpOp;
use proto::http1::Head;
use record::Outcome;
use record::schema::WorkKind;

use crate::interpreter::Interpreter;
use crate::tables::slots::UserKey;

impl Interpreter<'_> {
    /// The body as it was before it was encoded; `Ok(None)`: it is not encoded, or nobody reads it. The error says why
    /// it cannot be decoded.
    pub(crate) fn decoded(
        &mut self,
        key: UserKey,
        http: &HttpOp,
        head: &Head<'_>,
        body: &[u8],
    ) -> Result<Option<Vec<u8>>, (Outcome, String)> {
        let is_read = http.keeps_body() || self.recorder.trace.is_some();
        if !http.decodes || !is_read || body.is_empty() {
            return Ok(None);
        }
        let lines = head.headers();
        let codings: Vec<String> = lines
            .filter(|(name, _)| name.eq_ignore_ascii_case("content-encoding"))
            .map(|(_, value)| String::from_utf8_lossy(&value).into_owned())
            .collect();
        if codings.is_empty() {
            return Ok(None);
        }
        let bytes_max = usize::try_from(self.conns.limits.body_bytes_max).unwrap_or(usize::MAX);
        let began_ns = self.begin_work(true);
        let decoded = crate::fetch::content::decode(&codings.join(","), body, bytes_max);
        self.end_work(key, WorkKind::Decoding, began_ns);
        match decoded {
            Ok(plain) => {
                self.recorder.counts.encoded_in += body.len() as u64;
                self.recorder.counts.decoded_in += plain.len() as u64;
                Ok(Some(plain))
            }
            Err(error) => {
                let outcome = match error {
                    crate::fetch::content::Undecodable::TooLarge(_) => Outcome::TooLarge,
                    _ => Outcome::Decoding,
                };
                Err((outcome, error.to_string()))
            }
        }
    }
}
