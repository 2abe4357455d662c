//! Certificates and keys in PEM files. Errors are for people, and do not name the file.

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Largest file: the certificates of all public authorities take a fraction of it.
pub const FILE_BYTES_MAX: u64 = 16 << 20;

/// The certificates of a PEM file, at least one.
///
/// # Errors
/// When there is none, or when it is not PEM.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|error| format!("not PEM: {error}"))?;
    match found.is_empty() {
        true => Err("no certificate in it; expected PEM".to_owned()),
        false => Ok(found),
    }
}

/// The private key of a PEM file.
///
/// # Errors
/// When there is none, or when it is encrypted.
pub fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    let encrypted = b"ENCRYPTED";
    let is_encrypted = pem.windows(encrypted.len()).any(|text| text == encrypted);
    PrivateKeyDer::from_pem_slice(pem).map_err(|_| match is_encrypted {
        true => "the key is encrypted; decrypt it with `openssl pkey`".to_owned(),
        false => "no private key in it; expected PEM (PKCS #8, PKCS #1 or SEC 1)".to_owned(),
    })
}
