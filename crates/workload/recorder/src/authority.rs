//! An authority of a recorder's own: browsers that trust it accept the certificates that it signs.

use std::collections::HashMap;
use std::fmt;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};

use crate::private::write_private;

/// Name of the file with the authority's certificate.
pub const PEM_FILE: &str = "ca.pem";
/// Name of the file with the authority's key.
pub const KEY_FILE: &str = "ca.key";

/// How long an authority may sign: who has its key can pretend to be any server to those who trust it.
const LIFE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Browsers whose clock is late accept a certificate nevertheless.
const EARLIER: Duration = Duration::from_secs(3600);
/// Most names of servers whose certificates are kept.
const NAMES_MAX: usize = 1000;
/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// Name of the authority. Browsers list it.
const COMMON_NAME: &str = "Throng recorder, of this machine alone";
/// The protocol that browsers are offered inside TLS.
const ALPN: &[u8] = b"http/1.1";

/// Why there is no authority, or no certificate of a server.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file or its folder cannot be read or written.
    #[error("cannot use {}", path.display())]
    File {
        /// The file or the folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file holds something else.
    #[error("{}: {problem}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem in words.
        problem: String,
    },
    /// No certificate can be made.
    #[error("cannot make a certificate")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library rejected a certificate that was made.
    #[error("cannot configure TLS")]
    Config(#[from] rustls::Error),
}

/// An authority, and the certificates of servers that it has signed.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    /// Base64 of the SHA-256 digest of its public key.
    fingerprint: String,
    not_before: Duration,
    not_after: Duration,
    /// The configurations with which servers of a name are pretended.
    configs: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority").field("fingerprint", &self.fingerprint).finish_non_exhaustive()
    }
}

impl Authority {
    /// A new authority that no file holds. `now` counts from the Unix epoch.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn new(now: Duration) -> Result<Authority, AuthorityError> {
        let key = KeyPair::generate()?;
        let certificate = certificate_of_authority(&key, now)?;
        Ok(Authority::of(key, certificate.der().clone(), now))
    }

    /// The authority that a folder holds, or a new one that is written there. An old one is replaced once it has expired,
    /// or would within a day. The key is readable by its owner alone.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, or holds something else.
    pub fn in_folder(folder: &Path, now: Duration) -> Result<Authority, AuthorityError> {
        let pem_path = folder.join(PEM_FILE);
        let key_path = folder.join(KEY_FILE);
        if let (Some(pem), Some(key)) = (read(&pem_path)?, read(&key_path)?) {
            let content = |path: &Path, problem: String| AuthorityError::Content {
                path: path.to_owned(),
                problem,
            };
            let mut certificates = trust::pem::certificates(&pem)
                .map_err(|problem| content(&pem_path, problem))?
                .into_iter();
            let certificate = certificates
                .next()
                .ok_or_else(|| content(&pem_path, "no certificate in it".to_owned()))?;
            let text = String::from_utf8_lossy(&key);
            let key = KeyPair::from_pem(&text)
                .map_err(|error| content(&key_path, format!("no key in it: {error}")))?;
            let end = expiry(&certificate).ok_or_else(|| {
                content(&pem_path, "it is not the certificate of a recorder".to_owned())
            })?;
            if !holds(&certificate, key.der_bytes()) {
                let problem = format!("its key is not that of {}", pem_path.display());
                return Err(content(&key_path, problem));
            }
            if end > now + Duration::from_secs(24 * 3600) {
                return Ok(Authority::of(key, certificate, end.saturating_sub(LIFE)));
            }
        }
        let refused = |path: &Path| {
            let path = path.to_owned();
            move |source| AuthorityError::File { path, source }
        };
        // Nobody else needs to look into it.
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700).create(folder).map_err(refused(folder))?;
        let key = KeyPair::generate()?;
        let certificate = certificate_of_authority(&key, now)?;
        write_private(&key_path, key.serialize_pem().as_bytes()).map_err(refused(&key_path))?;
        write_private(&pem_path, certificate.pem().as_bytes()).map_err(refused(&pem_path))?;
        Ok(Authority::of(key, certificate.der().clone(), now))
    }

    fn of(key: KeyPair, certificate: CertificateDer<'static>, since: Duration) -> Authority {
        let public = key.subject_public_key_info();
        Authority {
            fingerprint: STANDARD.encode(Sha256::digest(&public)),
            issuer: Issuer::new(params_of_authority(since), key),
            certificate,
            not_before: since.saturating_sub(EARLIER),
            not_after: since + LIFE,
            configs: Mutex::default(),
        }
    }

    /// Base64 of the SHA-256 digest of the authority's public key, as Chromium's option
    /// `--ignore-certificate-errors-spki-list` takes it.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The certificate, DER.
    #[must_use]
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// TLS for connections on which a browser believes to speak with the server of this name.
    pub(crate) fn config(&self, name: &str) -> Result<Arc<ServerConfig>, AuthorityError> {
        let known = self.configs.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        if let Some(config) = known {
            return Ok(config);
        }
        let config = Arc::new(self.new_config(name)?);
        let mut configs = self.configs.lock().unwrap_or_else(PoisonError::into_inner);
        if configs.len() >= NAMES_MAX {
            configs.clear();
        }
        configs.insert(name.to_owned(), Arc::clone(&config));
        Ok(config)
    }

    fn new_config(&self, name: &str) -> Result<ServerConfig, AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec![name.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, "recorded by Throng");
        params.not_before = date_time_ymd(1970, 1, 1) + self.not_before;
        params.not_after = date_time_ymd(1970, 1, 1) + self.not_after;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer)?;
        // The authority's own is among them, for browsers that know no more of it than its fingerprint.
        let chain = vec![certificate.der().clone(), self.certificate.clone()];
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        config.alpn_protocols = vec![ALPN.to_vec()];
        Ok(config)
    }
}

/// The content of a file, if there is one.
fn read(path: &Path) -> Result<Option<Vec<u8>>, AuthorityError> {
    match regular::read(path, FILE_BYTES_MAX) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(AuthorityError::File { path: path.to_owned(), source }),
    }
}

fn params_of_authority(now: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = date_time_ymd(1970, 1, 1) + now.saturating_sub(EARLIER);
    params.not_after = date_time_ymd(1970, 1, 1) + (now + LIFE);
    params
}

fn certificate_of_authority(key: &KeyPair, now: Duration) -> Result<Certificate, rcgen::Error> {
    params_of_authority(now).self_signed(key)
}

/// Whether the certificate has this public key.
fn holds(certificate: &[u8], public_key: &[u8]) -> bool {
    certificate.windows(public_key.len()).any(|window| window == public_key)
}

/// The end of a certificate's validity, since the Unix epoch, if both its times are written as those of a recorder are: as
/// `UTCTime` (RFC 5280, section 4.1.2.5.1), for years before 2050.
fn expiry(certificate: &[u8]) -> Option<Duration> {
    /// A sequence of two times of 13 characters.
    const VALIDITY: [u8; 4] = [0x30, 0x1e, 0x17, 0x0d];
    const TIME_CHARS: usize = 13;
    let at = certificate.windows(VALIDITY.len()).position(|window| window == VALIDITY)?;
    // Behind the first time and the two bytes in front of the second.
    let start = at + VALIDITY.len() + TIME_CHARS + 2;
    let text = std::str::from_utf8(certificate.get(start..start + TIME_CHARS)?).ok()?;
    let part = |from: usize| text.get(from..from + 2)?.parse::<i8>().ok();
    let date = jiff::civil::Date::new(2000 + i16::from(part(0)?), part(2)?, part(4)?).ok()?;
    let time = jiff::civil::Time::new(part(6)?, part(8)?, part(10)?, 0).ok()?;
    let zoned = date.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    u64::try_from(zoned.timestamp().as_second()).ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// 2026-01-31T09:30:00Z.
    const NOW: Duration = Duration::from_secs(1_769_851_800);

    #[test]
    fn the_expiry_is_that_of_the_certificate() {
        let authority = Authority::new(NOW).unwrap();
        assert_eq!(expiry(authority.certificate()), Some(NOW + LIFE));
        assert_eq!(expiry(b"rubbish"), None);
        assert_eq!(expiry(&[0x30, 0x1e, 0x17, 0x0d, b'2']), None);
    }

    #[test]
    fn a_folder_keeps_an_authority_until_it_expires() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("ca");
        let first = Authority::in_folder(&folder, NOW).unwrap();
        let mode = std::fs::metadata(folder.join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let later = NOW + LIFE - Duration::from_secs(2 * 24 * 3600);
        let again = Authority::in_folder(&folder, later).unwrap();
        assert_eq!(again.certificate(), first.certificate());
        assert_eq!(again.fingerprint(), first.fingerprint());
        assert_eq!(again.not_after, first.not_after);
        let next = Authority::in_folder(&folder, NOW + LIFE).unwrap();
        assert_ne!(next.fingerprint(), first.fingerprint());
    }

    #[test]
    fn files_that_hold_something_else_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        Authority::in_folder(folder, NOW).unwrap();
        let other = KeyPair::generate().unwrap();
        std::fs::write(folder.join(KEY_FILE), other.serialize_pem()).unwrap();
        let error = Authority::in_folder(folder, NOW).unwrap_err().to_string();
        assert!(error.contains("ca.key: its key is not that of"), "{error}");
        std::fs::write(folder.join(KEY_FILE), "rubbish").unwrap();
        let error = Authority::in_folder(folder, NOW).unwrap_err().to_string();
        assert!(error.contains("ca.key: no key in it"), "{error}");
    }

    #[test]
    fn a_name_has_one_certificate() {
        let authority = Authority::new(NOW).unwrap();
        let first = authority.config("shop.test").unwrap();
        assert!(Arc::ptr_eq(&first, &authority.config("shop.test").unwrap()));
        assert!(!Arc::ptr_eq(&first, &authority.config("127.0.0.1").unwrap()));
        assert_eq!(first.alpn_protocols, [b"http/1.1"]);
        assert!(authority.config("bücher.test").is_err());
    }
}
