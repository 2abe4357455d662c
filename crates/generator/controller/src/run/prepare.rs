//! What a run needs before its loops: the target, addresses, certificates, a layout.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use engine::addresses::NOWHERE;
use plan::Plan;
use plan::Target;
use trust::Identity;
use workers::{Layout, LoopsSetup, Place, Trust};

use super::error::ConductError;
use crate::target::TargetProcess;

/// Prepares a run of `plan`, whose target was started, at `places` by region, by a generator with that many
/// cores. Files are relative to `folder`.
pub(super) fn prepare(
    plan: &Plan,
    target: Option<SocketAddr>,
    (layout, places): (Layout, Vec<Place>),
    (folder, cores): (&Path, u32),
) -> Result<LoopsSetup, ConductError> {
    Ok(LoopsSetup {
        target,
        places,
        sources: plan.options.source_addresses.clone(),
        trust: trust(plan, folder)?,
        layout,
        cores,
        trace: None,
    })
}

/// Starts the target if it is built in, and puts its address into the plan. It runs in `folder`, the
/// scenario's, so that relative paths of its settings work like those of the scenario.
pub(super) fn start_target(
    plan: &mut Plan,
    program: &Path,
    folder: &Path,
) -> Result<Option<TargetProcess>, ConductError> {
    let Target::Builtin { name, args } = &plan.target else {
        return Ok(None);
    };
    let process = TargetProcess::start(program, name, args, folder)?;
    let address = process.address;
    plan.set_target(&address.ip().to_string(), address.port());
    Ok(Some(process))
}

/// The first address of each endpoint, or that it needs none.
pub(super) fn resolve(plan: &Plan) -> Result<Vec<SocketAddr>, ConductError> {
    let addresses = plan.endpoints.iter().map(|endpoint| {
        if !plan.has_address(endpoint) {
            return Ok(NOWHERE);
        }
        let fail = |problem: String| ConductError::Resolve {
            host: endpoint.host.clone(),
            problem,
        };
        let found = (endpoint.host.as_str(), endpoint.port).to_socket_addrs();
        let mut found = found.map_err(|e| fail(e.to_string()))?;
        found
            .next()
            .ok_or_else(|| fail("the name has no address".to_owned()))
    });
    addresses.collect()
}

fn trust(plan: &Plan, folder: &Path) -> Result<Option<Trust>, ConductError> {
    if !plan.endpoints.iter().any(|endpoint| endpoint.tls) {
        return Ok(None);
    }
    let read = |name: &String| {
        let path = folder.join(name);
        let error = |source| ConductError::Certificates {
            path: path.display().to_string(),
            source,
        };
        let bytes = std::fs::read(&path).map_err(error)?;
        Ok::<_, ConductError>((name.clone(), bytes))
    };
    let tls = &plan.options.tls;
    let identity = tls.identity_files.as_ref();
    let identity = identity.map(|(certificate, key)| {
        Ok::<_, ConductError>(Identity {
            certificate: read(certificate)?,
            key: read(key)?,
        })
    });
    Ok(Some(Trust {
        verify: tls.verify,
        pems: tls.ca_files.iter().map(read).collect::<Result<_, _>>()?,
        identity: identity.transpose()?,
    }))
}
