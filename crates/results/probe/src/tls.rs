//! Errors of TLS in words.

/// Plain words for errors that the TLS library calls by names of its code.
const WORDS: &[(&str, &str)] = &[
    ("Other(OtherError(CaUsedAsEndEntity))", "it is that of an authority, not of a server"),
    ("UnknownIssuer", "not signed by a trusted authority"),
    ("NotValidForName", "not valid for this name"),
    ("NotValidYet", "not valid yet"),
    ("BadSignature", "bad signature"),
    ("BadEncoding", "bad encoding"),
    ("InvalidPurpose", "not for servers"),
];

/// An error's text without names of code.
pub(crate) fn in_words(text: &str) -> String {
    let replace = |text: String, (name, words): &(&str, &str)| text.replace(name, words);
    WORDS.iter().fold(text.to_owned(), replace)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::{CertificateError, Error, OtherError};

    use crate::source::ReadError;

    /// As webpki's: its text is its name in code.
    #[derive(Debug, thiserror::Error)]
    #[error("{self:?}")]
    struct CaUsedAsEndEntity;

    #[test]
    fn certificates_are_refused_in_words() {
        let other = CertificateError::Other(OtherError(Arc::new(CaUsedAsEndEntity)));
        for (reason, expected) in [
            (other, "it is that of an authority, not of a server"),
            (CertificateError::UnknownIssuer, "not signed by a trusted authority"),
        ] {
            let error = Error::InvalidCertificate(reason).to_string();
            let shown = ReadError::Unreachable(error).to_string();
            assert!(shown.ends_with(expected), "{shown}");
        }
    }
}
