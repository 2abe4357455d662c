//! TLS for the clients that take a configuration: the system's roots, as for the target.

use std::sync::{Arc, OnceLock};

use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};

/// The configuration that all share.
pub(crate) fn config() -> ClientConfig {
    static CONFIG: OnceLock<ClientConfig> = OnceLock::new();
    CONFIG
        .get_or_init(|| {
            let mut roots = RootCertStore::empty();
            // What the system keeps beside its good roots does not matter.
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .expect("ring speaks TLS 1.2 and 1.3")
                .with_root_certificates(roots)
                .with_no_client_auth()
        })
        .clone()
}
