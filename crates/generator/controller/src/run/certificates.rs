//! The certificates that a scenario names: of further authorities, and the users' own.

use std::path::Path;

use plan::Plan;
use trust::{Identity, pem};
use workers::Trust;

use super::error::ConductError;

/// Reads the certificates that `options.tls` of `plan` names, relative to `folder`; `None`: no endpoint uses TLS.
pub(super) fn read_trust(plan: &Plan, folder: &Path) -> Result<Option<Trust>, ConductError> {
    if !plan.endpoints.iter().any(|endpoint| endpoint.tls) {
        return Ok(None);
    }
    let read = |name: &String| {
        let path = folder.join(name);
        let error =
            |source| ConductError::Certificates { path: path.display().to_string(), source };
        let bytes = regular::read(&path, pem::FILE_BYTES_MAX).map_err(error)?;
        Ok::<_, ConductError>((name.clone(), bytes))
    };
    let tls = &plan.options.tls;
    let identity = tls.identity_files.as_ref();
    let identity = identity.map(|(certificate, key)| {
        Ok::<_, ConductError>(Identity { certificate: read(certificate)?, key: read(key)? })
    });
    Ok(Some(Trust {
        verify: tls.verify,
        pems: tls.ca_files.iter().map(read).collect::<Result<_, _>>()?,
        identity: identity.transpose()?,
    }))
}
