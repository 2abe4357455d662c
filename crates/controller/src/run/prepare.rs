//! What a run needs before its loops: the target, addresses, certificates, a layout.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

use machine::loops::cores;
use plan::Plan;
use plan::{Endpoint, Target};

use super::error::ConductError;
use crate::target::TargetProcess;
use crate::workers::layout::Layout;
use crate::workers::protocol::Trust;
use crate::workers::setup::LoopsSetup;

/// Prepares a run of `plan`, whose target was started.
pub(super) fn prepare(
    plan: &Plan,
    target: Option<SocketAddr>,
    layout: Layout,
) -> Result<LoopsSetup, ConductError> {
    Ok(LoopsSetup {
        target,
        addresses: resolve(&plan.endpoints)?,
        sources: plan.options.source_addresses.clone(),
        trust: trust(plan)?,
        layout,
        cores: cores(),
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

/// The first address of each endpoint.
pub(super) fn resolve(endpoints: &[Endpoint]) -> Result<Vec<SocketAddr>, ConductError> {
    let addresses = endpoints.iter().map(|endpoint| {
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

fn trust(plan: &Plan) -> Result<Option<Trust>, ConductError> {
    if !plan.endpoints.iter().any(|endpoint| endpoint.tls) {
        return Ok(None);
    }
    let mut pems = Vec::new();
    for path in &plan.options.tls.ca_files {
        let error = |source| ConductError::Certificates {
            path: path.clone(),
            source,
        };
        pems.push((path.clone(), std::fs::read(path).map_err(error)?));
    }
    Ok(Some(Trust {
        verify: plan.options.tls.verify,
        pems,
    }))
}
