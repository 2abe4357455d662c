//! Which certificates are trusted: the system's roots, further ones from PEM texts, or any.

use std::sync::Arc;

pub use rustls::ClientConfig;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Why TLS cannot be configured.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// A file of further roots holds none, or what it holds is none.
    #[error("{name}: {problem}")]
    Roots { name: String, problem: String },
    /// The TLS library rejected the settings.
    #[error("cannot configure TLS")]
    Config(#[from] Error),
}

/// The client's TLS settings. `pems` are names and contents of PEM files with further roots;
/// if `verify` is false any certificate is accepted.
pub fn client_config(
    verify: bool,
    pems: &[(String, Vec<u8>)],
) -> Result<Arc<ClientConfig>, TrustError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()?;
    let config = if verify {
        builder
            .with_root_certificates(roots(pems)?)
            .with_no_client_auth()
    } else {
        let verifier = Arc::new(AnyCertificate { provider });
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth()
    };
    Ok(Arc::new(config))
}

fn roots(pems: &[(String, Vec<u8>)]) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    // A machine without roots still reaches servers that `ca` vouches for; for the others the
    // handshake says that the issuer is unknown.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    for (name, pem) in pems {
        let refuse = |problem: String| TrustError::Roots {
            name: name.clone(),
            problem,
        };
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let certificates = certificates.map_err(|e| refuse(format!("not PEM: {e}")))?;
        if certificates.is_empty() {
            return Err(refuse("no certificate in it; expected PEM".to_owned()));
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|e| refuse(e.to_string()))?;
        }
    }
    Ok(roots)
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
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
