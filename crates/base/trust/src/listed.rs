//! Certificates of servers that are trusted because they are listed themselves.
//!
//! The rules of the Web's PKI want an authority that signed the server's certificate. Test servers often have one that
//! signed itself, and `openssl req -x509` marks it as an authority, which a server's may not be. A certificate that is
//! listed byte for byte needs nobody to vouch for it.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The text of webpki's error about a server's certificate that is marked as an authority's.
pub(super) const MARKED_AS_AUTHORITY: &str = "CaUsedAsEndEntity";

/// Accepts what is signed by a root, and listed certificates.
#[derive(Debug)]
pub(super) struct SignedOrListed {
    signed: Arc<WebPkiServerVerifier>,
    listed: Vec<CertificateDer<'static>>,
    /// Whether a certificate must be that of the server's name; without this it is what libpq calls `verify-ca`.
    verifies_names: bool,
}

impl SignedOrListed {
    pub(super) fn new(
        roots: RootCertStore,
        listed: Vec<CertificateDer<'static>>,
        verifies_names: bool,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, Error> {
        let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let signed = signed.build();
        let signed = signed.map_err(|error| Error::General(error.to_string()))?;
        Ok(Self { signed, listed, verifies_names })
    }

    /// Whether a listed certificate may pass in spite of this error. Its dates are checked before any of these is
    /// reported.
    fn passes(
        &self,
        error: &Error,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<bool, Error> {
        let Error::InvalidCertificate(reason) = error else {
            return Ok(false);
        };
        if !self.listed.iter().any(|listed| listed == certificate) {
            return Ok(false);
        }
        let without_issuer = match reason {
            CertificateError::UnknownIssuer => true,
            CertificateError::Other(other) => other.to_string() == MARKED_AS_AUTHORITY,
            _ => return Ok(is_nameless(reason)),
        };
        if !without_issuer {
            return Ok(false);
        }
        match verify_server_name(&ParsedCertificate::try_from(certificate)?, name) {
            Err(Error::InvalidCertificate(reason)) if is_nameless(&reason) => Ok(true),
            result => result.map(|()| true),
        }
    }
}

/// The certificate has no name that could be compared.
fn is_nameless(reason: &CertificateError) -> bool {
    matches!(reason, CertificateError::NotValidForNameContext { presented, .. } if presented.is_empty())
}

impl ServerCertVerifier for SignedOrListed {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let signed = &self.signed;
        let result =
            signed.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        let result = match result {
            Err(error) => match self.passes(&error, end_entity, server_name) {
                Ok(true) => Ok(ServerCertVerified::assertion()),
                Ok(false) => Err(error),
                Err(error) => Err(error),
            },
            verified => verified,
        };
        match result {
            // A wrong name is reported last, when all else is right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.verifies_names => Ok(ServerCertVerified::assertion()),
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd,
    };
    use rustls::pki_types::PrivateKeyDer;
    use rustls::{ClientConnection, ServerConfig, ServerConnection};

    use crate::{Verify, client_config, describe};

    /// A server's certificate and its key.
    struct Own {
        certificate: rcgen::Certificate,
        key: KeyPair,
    }

    fn authority(names: &[&str]) -> CertificateParams {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    }

    fn self_signed(params: &CertificateParams) -> Own {
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Own { certificate, key }
    }

    /// Connects to a server that has this certificate; only `listed` is trusted besides the system's roots.
    fn connect(server: &Own, listed: &Own, name: &'static str) -> Result<(), String> {
        connect_by(Verify::All, server, listed, name)
    }

    fn connect_by(
        verify: Verify,
        server: &Own,
        listed: &Own,
        name: &'static str,
    ) -> Result<(), String> {
        let pems = [("ca.pem".to_owned(), listed.certificate.pem().into_bytes())];
        let config = client_config(verify, &pems, None).unwrap();
        let mut client = ClientConnection::new(config, name.try_into().unwrap()).unwrap();
        let key = PrivateKeyDer::Pkcs8(server.key.serialize_der().into());
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![server.certificate.der().clone()], key);
        let mut server = ServerConnection::new(std::sync::Arc::new(config.unwrap())).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let mut wire = Vec::new();
            client.write_tls(&mut wire).unwrap();
            server.read_tls(&mut &*wire).unwrap();
            server.process_new_packets().unwrap();
            let mut wire = Vec::new();
            while server.wants_write() {
                server.write_tls(&mut wire).unwrap();
            }
            let mut rest = &*wire;
            while !rest.is_empty() {
                client.read_tls(&mut rest).unwrap();
                client.process_new_packets().map_err(|e| describe(&e))?;
            }
        }
        Ok(())
    }

    #[test]
    fn a_listed_certificate_is_accepted_though_it_is_marked_as_an_authority() {
        let own = self_signed(&authority(&["localhost"]));
        assert_eq!(connect(&own, &own, "localhost"), Ok(()));
    }

    #[test]
    fn its_name_counts_if_it_has_one() {
        let own = self_signed(&authority(&["localhost"]));
        let refused = connect(&own, &own, "other.test").unwrap_err();
        assert!(refused.contains("not valid for name"), "{refused}");
        let nameless = self_signed(&authority(&[]));
        assert_eq!(connect(&nameless, &nameless, "localhost"), Ok(()));
        let mut params = authority(&[]);
        params.is_ca = IsCa::NoCa;
        let nameless = self_signed(&params);
        assert_eq!(connect(&nameless, &nameless, "localhost"), Ok(()));
    }

    #[test]
    fn its_dates_count() {
        let mut params = authority(&["localhost"]);
        params.not_after = date_time_ymd(2020, 1, 1);
        let own = self_signed(&params);
        let refused = connect(&own, &own, "localhost").unwrap_err();
        assert!(refused.contains("expired"), "{refused}");
    }

    /// One that differs is not listed, whatever it says of itself.
    #[test]
    fn another_certificate_is_refused() {
        let params = authority(&["localhost"]);
        let own = self_signed(&params);
        let listed = self_signed(&params);
        let refused = connect(&own, &listed, "localhost").unwrap_err();
        assert!(refused.contains("`options.tls.ca`"), "{refused}");
        let again = Own {
            certificate: authority(&["localhost", "more.test"]).self_signed(&own.key).unwrap(),
            key: own.key,
        };
        assert!(connect(&again, &listed, "localhost").is_err());
    }

    #[test]
    fn a_listed_certificate_needs_no_authority() {
        let mut params = authority(&[]);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let issuer = Issuer::new(params, KeyPair::generate().unwrap());
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let own = Own { certificate, key };
        assert_eq!(connect(&own, &own, "localhost"), Ok(()));
        let other = self_signed(&authority(&["localhost"]));
        let refused = connect(&own, &other, "localhost").unwrap_err();
        assert!(refused.contains("not signed by a trusted authority"), "{refused}");
    }

    #[test]
    fn names_do_not_count_if_only_the_authority_is_verified() {
        let mut params = authority(&[]);
        params.distinguished_name.push(DnType::CommonName, "authority");
        let key = KeyPair::generate().unwrap();
        let root = Own { certificate: params.self_signed(&key).unwrap(), key };
        let issuer = Issuer::from_params(&params, &root.key);
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let own = Own { certificate, key };
        let connect = |verify, listed| connect_by(verify, &own, listed, "other.test");
        assert_eq!(connect(Verify::Authority, &root), Ok(()));
        assert!(connect(Verify::All, &root).is_err());
        let other = self_signed(&authority(&["other.test"]));
        assert!(connect(Verify::Authority, &other).is_err());
        assert_eq!(connect(Verify::Nothing, &other), Ok(()));
    }
}
