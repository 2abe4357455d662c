//! The TLS of clients of databases.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use trust::{PostgresUrl, Verify, client_config, pem};

/// The system's roots, as for the target; all share it.
pub(crate) fn config() -> Arc<ClientConfig> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let config = CONFIG.get_or_init(|| {
        client_config(Verify::All, &[], None).expect("ring speaks TLS 1.2 and 1.3")
    });
    Arc::clone(config)
}

/// The TLS configuration that a URL of PostgreSQL asks for. The error is for people.
pub(crate) fn postgres(parsed: &PostgresUrl) -> Result<ClientConfig, String> {
    let mut pems = Vec::new();
    if let Some(ca) = &parsed.ca {
        pems.push((ca.display().to_string(), read(ca)?));
    }
    let config = client_config(parsed.verify(), &pems, None).map_err(|error| error.to_string())?;
    Ok(Arc::unwrap_or_clone(config))
}

/// Checks a file of authorities that the client of MySQL reads itself. The error is for people.
pub(crate) fn check_mysql(ca: &Path) -> Result<(), String> {
    let pems = [(ca.display().to_string(), read(ca)?)];
    let config = client_config(Verify::All, &pems, None);
    config.map(drop).map_err(|error| error.to_string())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    regular::read(file, pem::FILE_BYTES_MAX).map_err(|error| format!("{}: {error}", file.display()))
}
