//! Which certificates are trusted, and the certificate of the users themselves.
//!
//! Trusted are the system's roots, further ones from PEM texts, or any.

mod listed;
pub mod pem;
mod urls;

use std::fmt;
use std::sync::Arc;

use listed::{MARKED_AS_AUTHORITY, SignedOrListed};
pub use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, DigitallySignedStruct, Error, InvalidMessage, RootCertStore, SignatureScheme,
};
use serde::{Deserialize, Serialize};
pub use urls::{MysqlUrl, PostgresUrl, SslMode, UrlError, decoded, decoded_strictly, redis_url};

/// The library's name for the fault of a certificate without extensions, as OpenSSL makes them unless some are wanted.
const OF_OLD_VERSION: &str = "UnsupportedCertVersion";

/// How much of a server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verify {
    /// Nothing: any certificate is accepted.
    Nothing,
    /// Dates and authority, not the name.
    Authority,
    /// Dates, authority and name.
    All,
}

impl Verify {
    /// All or nothing.
    #[must_use]
    pub fn all_if(verify: bool) -> Self {
        match verify {
            true => Self::All,
            false => Self::Nothing,
        }
    }
}

/// Why TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file of further roots holds none, or what it holds is none.
    #[error("{name}: {problem}")]
    Roots { name: String, problem: String },
    /// A file with the users' certificate or key holds none.
    #[error("{name}: {problem}")]
    Identity { name: String, problem: String },
    /// They do not belong together.
    #[error("the key in {key} does not belong to the certificate in {certificate}")]
    Mismatch { certificate: String, key: String },
    /// The TLS library rejected the settings.
    #[error("cannot configure TLS")]
    Config(#[from] Error),
}

/// The certificate and key by which users authenticate themselves, as names and contents of PEM files.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The certificate, and those between it and its authority.
    pub certificate: (String, Vec<u8>),
    /// A secret.
    pub key: (String, Vec<u8>),
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificate", &self.certificate.0)
            .field("key", &self.key.0)
            .finish()
    }
}

/// The client's TLS settings. `pems` are names and contents of PEM files with further roots and with certificates of
/// servers. `identity` is what servers get that request a certificate.
pub fn client_config(
    verify: Verify,
    pems: &[(String, Vec<u8>)],
    identity: Option<&Identity>,
) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let builder = match verify {
        Verify::Nothing => {
            let verifier = Arc::new(AnyCertificate { provider });
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
        Verify::All | Verify::Authority => {
            let (roots, listed) = roots(pems)?;
            let verifies_names = verify == Verify::All;
            if verifies_names && listed.is_empty() {
                builder.with_root_certificates(roots)
            } else {
                let verifier = SignedOrListed::new(roots, listed, verifies_names, provider)?;
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
        }
    };
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let built = builder.with_client_auth_cert(chain(identity)?, key(identity)?);
            built.map_err(|error| match error {
                Error::InconsistentKeys(_) => TrustError::Mismatch {
                    certificate: identity.certificate.0.clone(),
                    key: identity.key.0.clone(),
                },
                Error::InvalidCertificate(_) => {
                    refuse_identity(&identity.certificate.0)(describe(&error))
                }
                // Nothing else of it is general: no algorithm takes the key.
                Error::General(problem) => refuse_identity(&identity.key.0)(problem),
                error => TrustError::Config(error),
            })?
        }
    };
    Ok(Arc::new(config))
}

/// An error about one of the files of users.
fn refuse_identity(name: &str) -> impl Fn(String) -> TrustError + '_ {
    |problem| TrustError::Identity { name: name.to_owned(), problem }
}

fn chain(identity: &Identity) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let (name, pem) = &identity.certificate;
    pem::certificates(pem).map_err(refuse_identity(name))
}

fn key(identity: &Identity) -> Result<PrivateKeyDer<'static>, TrustError> {
    let (name, pem) = &identity.key;
    pem::key(pem).map_err(refuse_identity(name))
}

/// The certificates that may sign others, and those from files.
type Roots = (RootCertStore, Vec<CertificateDer<'static>>);

fn roots(pems: &[(String, Vec<u8>)]) -> Result<Roots, TrustError> {
    let mut roots = RootCertStore::empty();
    let mut listed = Vec::new();
    // A machine without roots still reaches servers that `ca` vouches for; for the others the
    // handshake says that the issuer is unknown.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for (name, pem) in pems {
        let refuse = |problem: String| TrustError::Roots { name: name.clone(), problem };
        for certificate in pem::certificates(pem).map_err(refuse)? {
            let added = roots.add(certificate.clone());
            added.map_err(|error| refuse(describe(&error)))?;
            listed.push(certificate);
        }
    }
    Ok((roots, listed))
}

/// An error of TLS in words: the library has many without a text, which it shows by their names in code.
pub fn describe(error: &Error) -> String {
    describe_for(error, "options.tls.ca")
}

/// The error of TLS that another error comes from, in words; `None` if none is among its causes. `setting` is what names
/// further authorities.
#[must_use]
pub fn describe_cause(error: &(dyn std::error::Error + 'static), setting: &str) -> Option<String> {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut of_tls = causes.filter_map(|cause| {
        // An error of input and output contains another one that is not its source.
        let contained = cause.downcast_ref::<std::io::Error>().and_then(|io| io.get_ref());
        match contained {
            Some(contained) => contained.downcast_ref::<Error>(),
            None => cause.downcast_ref::<Error>(),
        }
    });
    Some(describe_for(of_tls.next()?, setting))
}

/// As [`describe`]; `setting` is what names further authorities.
#[must_use]
pub fn describe_for(error: &Error, setting: &str) -> String {
    match error {
        Error::InvalidCertificate(reason) => {
            let reason = describe_certificate(reason, setting);
            format!("invalid certificate: {reason}")
        }
        Error::AlertReceived(alert) => {
            let alert = words(&format!("{alert:?}"));
            format!("the server refused, with the TLS alert \"{alert}\"")
        }
        Error::PeerIncompatible(why) => {
            let why = words(&format!("{why:?}"));
            format!("the server's TLS is incompatible: {why}")
        }
        Error::PeerMisbehaved(why) => {
            let why = words(&format!("{why:?}"));
            format!("the server breaks the rules of TLS: {why}")
        }
        // No record of TLS begins with this byte (RFC 8446, section 5.1): it is the answer of a plain port.
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server answered without TLS".to_owned()
        }
        other => other.to_string(),
    }
}

fn describe_certificate(reason: &CertificateError, setting: &str) -> String {
    let text = match reason {
        CertificateError::UnknownIssuer => {
            return format!(
                "not signed by a trusted authority; `{setting}` adds authorities, or the \
                 certificate itself"
            );
        }
        CertificateError::Other(other) => other.to_string(),
        other => other.to_string(),
    };
    match text.as_str() {
        MARKED_AS_AUTHORITY => {
            format!(
                "it is that of an authority, not of a server; `{setting}` accepts it if it names \
                 this certificate"
            )
        }
        OF_OLD_VERSION => {
            "it is of an older version of X.509 than 3, which TLS does not take; sign \
                           it with extensions (`openssl x509 -req -extfile FILE`)"
                .to_owned()
        }
        name => words(name),
    }
}

/// A name in code as words: `NotValidYet` becomes `not valid yet`. Other texts stay as they are.
fn words(name: &str) -> String {
    if !name.chars().all(|c| c.is_ascii_alphanumeric()) {
        return name.to_owned();
    }
    let mut text = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !text.is_empty() {
            text.push(' ');
        }
        text.push(c.to_ascii_lowercase());
    }
    text
}

/// Accepts every certificate but still wants the handshake's signatures to be right.
#[derive(Debug)]
struct AnyCertificate {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use rustls::{AlertDescription, OtherError};

    use super::*;

    fn identity() -> Identity {
        let made = generate_simple_self_signed(["user".to_owned()]).unwrap();
        let CertifiedKey { cert, signing_key } = made;
        Identity {
            certificate: ("user.pem".to_owned(), cert.pem().into_bytes()),
            key: ("user.key".to_owned(), signing_key.serialize_pem().into_bytes()),
        }
    }

    fn refused(identity: &Identity) -> String {
        client_config(Verify::All, &[], Some(identity)).unwrap_err().to_string()
    }

    #[test]
    fn an_answer_in_plain_text_is_described_as_one() {
        let error = Error::InvalidMessage(InvalidMessage::InvalidContentType);
        assert_eq!(describe(&error), "the server answered without TLS");
    }

    #[test]
    fn certificate_and_key_of_users_belong_together() {
        let own = identity();
        assert!(client_config(Verify::All, &[], Some(&own)).is_ok());
        assert!(client_config(Verify::Nothing, &[], Some(&own)).is_ok());
        let mixed = Identity { key: identity().key, ..own.clone() };
        let expected = "the key in user.key does not belong to the certificate in user.pem";
        assert_eq!(refused(&mixed), expected);
        let swapped = Identity { certificate: own.key.clone(), ..own.clone() };
        assert_eq!(refused(&swapped), "user.key: no certificate in it; expected PEM");
        let keyless = Identity { key: own.certificate.clone(), ..own.clone() };
        assert!(refused(&keyless).starts_with("user.pem: no private key in it"));
        let pem =
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n-----END ENCRYPTED PRIVATE KEY-----\n";
        let encrypted = Identity { key: ("user.key".to_owned(), pem.to_vec()), ..own.clone() };
        assert!(refused(&encrypted).contains("is encrypted"));
        // A key is never shown.
        let shown = format!("{own:?}");
        assert!(shown.contains("user.key") && !shown.contains("45"), "{shown}");
    }

    /// The library's own word for it is that of a peer's certificate.
    #[test]
    fn a_certificate_of_users_that_is_too_old_is_named() {
        let file = |name: &str| {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            std::fs::read(folder.join("../../../testdata/keys").join(name)).unwrap()
        };
        let certificate = ("user.pem".to_owned(), file("p256-version-1.pem"));
        let key = ("user.key".to_owned(), file("p256.pem"));
        let error = refused(&Identity { certificate, key });
        let expected = "user.pem: invalid certificate: it is of an older version of X.509 than 3";
        assert!(error.starts_with(expected), "{error}");
        assert!(!error.contains("peer"), "{error}");
    }

    /// RSA keys of 1,024 bits are refused (NIST SP 800-131A).
    #[test]
    fn a_key_that_no_algorithm_takes_is_named() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let small = std::fs::read(folder.join("../../../testdata/keys/rsa-small.pem")).unwrap();
        let weak = Identity { key: ("user.key".to_owned(), small), ..identity() };
        let error = refused(&weak);
        assert!(error.starts_with("user.key: "), "{error}");
    }

    #[test]
    fn errors_are_words() {
        let certificate = |reason| describe(&Error::InvalidCertificate(reason));
        let other = |text: &str| {
            let source: Box<dyn std::error::Error + Send + Sync> = text.into();
            CertificateError::Other(OtherError(Arc::from(source)))
        };
        for (found, expected) in [
            (
                certificate(other("CaUsedAsEndEntity")),
                "invalid certificate: it is that of an authority, not of a server; `options.tls.ca` accepts it if \
                 it names this certificate",
            ),
            (
                certificate(other("UnsupportedCertVersion")),
                "invalid certificate: it is of an older version of X.509 than 3, which TLS does not take; sign it \
                 with extensions (`openssl x509 -req -extfile FILE`)",
            ),
            (
                certificate(other("UnsupportedCriticalExtension")),
                "invalid certificate: unsupported critical extension",
            ),
            (certificate(CertificateError::NotValidYet), "invalid certificate: not valid yet"),
            (
                certificate(CertificateError::UnknownIssuer),
                "invalid certificate: not signed by a trusted authority; `options.tls.ca` adds authorities, or the \
                 certificate itself",
            ),
            (
                describe(&Error::AlertReceived(AlertDescription::HandshakeFailure)),
                "the server refused, with the TLS alert \"handshake failure\"",
            ),
        ] {
            assert_eq!(found, expected);
        }
    }
}
