//! Signs requests to AWS services.

use plan::Aws;
use plan::expr::{Context, Template};
use signing::aws::AwsSigner;

use crate::identity::{Identities, add_lines};

impl<K> Identities<K> {
    /// Signs the request that was appended since `start`, which has all its other headers. The error says why it cannot
    /// be signed.
    pub fn sign<C: Context>(
        &mut self,
        aws: &Aws,
        context: &mut C,
        bytes: &mut Vec<u8>,
        start: usize,
    ) -> Result<(), String> {
        let mut text = |template: &Template| {
            let mut out = Vec::new();
            template.render(context, &mut out).map_err(|error| error.to_string())?;
            Ok::<_, String>(String::from_utf8_lossy(&out).into_owned())
        };
        let region = text(&aws.region)?;
        let access_key = text(&aws.access_key)?;
        let secret_key = text(&aws.secret_key)?;
        let session_token = aws.session_token.as_ref().map(text).transpose()?;
        let signing = AwsSigner {
            service: &aws.service,
            region: &region,
            access_key: &access_key,
            secret_key: &secret_key,
            // Credentials that do not expire have an empty one.
            session_token: session_token.as_deref().filter(|token| !token.is_empty()),
            signs_body: aws.signs_body,
        };
        let unix_s = context.now_ms().div_euclid(1_000);
        let lines = self.keys.lines(&bytes[start..], &signing, unix_s);
        let lines = lines.map_err(|error| error.to_string())?;
        add_lines(bytes, start, lines.into_bytes());
        Ok(())
    }
}
