//! TLS to database servers, as their URLs want it. `trust` decides which certificates are trusted, for MySQL its client,
//! which takes no other rules: its own roots, and those of a file.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use mysql::{Opts, OptsBuilder};
use tokio_postgres::config::SslMode;
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;
use trust::{ClientConfig, MysqlUrl, PostgresUrl, Verify};

use super::address::{AddressError, DatabaseKind, ServerAddress};
use super::asynchronous::PostgresConnection;
use super::postgres;

/// The address with the TLS that it wants: its file is read once, and reported now if there is something wrong with it.
pub(super) fn load(address: ServerAddress) -> Result<ServerAddress, AddressError> {
    let (verify, ca) = match address.kind() {
        DatabaseKind::MySql => match mysql_url(&address)?.ca {
            // The client reads it again for each connection.
            Some(ca) => (Verify::All, Some(ca)),
            None => return Ok(address),
        },
        DatabaseKind::Postgres => {
            let url = postgres_url(&address)?;
            match url.mode {
                None | Some(trust::SslMode::Disable) => return Ok(address),
                Some(_) => (url.verify(), url.ca),
            }
        }
        DatabaseKind::Redis => return Ok(address),
    };
    let mut pems = Vec::new();
    if let Some(ca) = ca {
        pems.push((ca.display().to_string(), read(&address, &ca)?));
    }
    let tls = trust::client_config(verify, &pems, None)
        .map_err(|error| address.invalid(&error.to_string()))?;
    Ok(address.with_tls(Some(tls)))
}

fn read(address: &ServerAddress, file: &Path) -> Result<Vec<u8>, AddressError> {
    regular::read(file, trust::pem::FILE_BYTES_MAX)
        .map_err(|error| address.invalid(&format!("{}: {error}", file.display())))
}

fn postgres_url(address: &ServerAddress) -> Result<PostgresUrl, AddressError> {
    PostgresUrl::parse(address.reveal()).map_err(|error| address.invalid(&error.to_string()))
}

fn mysql_url(address: &ServerAddress) -> Result<MysqlUrl, AddressError> {
    MysqlUrl::parse(address.reveal()).map_err(|error| address.invalid(&error.to_string()))
}

pub(super) fn postgres_config(address: &ServerAddress) -> Result<Config, AddressError> {
    let url = postgres_url(address)?;
    let mut config: Config =
        url.url.parse().map_err(|error| address.invalid(&postgres::message(&error)))?;
    config.ssl_mode(match url.mode {
        None | Some(trust::SslMode::Disable) => SslMode::Disable,
        Some(trust::SslMode::Prefer) => SslMode::Prefer,
        Some(_) => SslMode::Require,
    });
    Ok(config)
}

/// A client, and what keeps its connection going.
pub(super) async fn connect_postgres(
    config: &Config,
    tls: Option<&Arc<ClientConfig>>,
) -> Result<(Client, PostgresConnection), tokio_postgres::Error> {
    match tls {
        None => {
            let (client, connection) = config.connect(NoTls).await?;
            Ok((client, PostgresConnection::new(connection)))
        }
        Some(tls) => {
            let connector = MakeRustlsConnect::new(ClientConfig::clone(tls));
            let (client, connection) = config.connect(connector).await?;
            Ok((client, PostgresConnection::new(connection)))
        }
    }
}

/// The problem with the server's TLS, if the error is about that.
pub(super) fn postgres_problem(error: &tokio_postgres::Error) -> Option<String> {
    trust::describe_cause(error, "sslrootcert")
}

pub(super) fn mysql_options(address: &ServerAddress) -> Result<Opts, AddressError> {
    let url = mysql_url(address)?;
    let options = Opts::from_url(&url.url).map_err(|error| address.invalid(&error.to_string()))?;
    if !url.is_required {
        return Ok(options);
    }
    let mut tls = options.get_ssl_opts().cloned().unwrap_or_default();
    if let Some(ca) = url.ca {
        tls = tls.with_root_cert_path(Some(ca));
    }
    Ok(OptsBuilder::from_opts(options).ssl_opts(tls).into())
}

/// As [`postgres_problem`].
pub(super) fn mysql_problem(error: &mysql::Error) -> Option<String> {
    // It does not name its sources.
    let source: &(dyn Error + 'static) = match error {
        mysql::Error::IoError(error) => error,
        mysql::Error::CodecError(error) => error,
        mysql::Error::TlsError(error) => error,
        _ => return None,
    };
    trust::describe_cause(source, "ssl_ca")
}

pub(super) fn redis_client(address: &ServerAddress) -> Result<redis::Client, AddressError> {
    let (url, ca) = trust::redis_url(address.reveal());
    let client = match ca {
        None => redis::Client::open(url),
        Some(ca) => {
            let root_cert = Some(read(address, &ca)?);
            let certificates = redis::TlsCertificates { client_tls: None, root_cert };
            redis::Client::build_with_tls(url, certificates)
        }
    };
    client.map_err(|error| address.invalid(&error.to_string()))
}

/// As [`postgres_problem`].
pub(super) fn redis_problem(error: &redis::RedisError) -> Option<String> {
    let shared: &Arc<dyn Error + Send + Sync> = error.source()?.downcast_ref()?;
    trust::describe_cause(&**shared, "ssl_ca_certs")
}
