//! What a run needs before its loops: the target, addresses, certificates, a layout.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::Path;

use machine::loops::cores;
use plan::Plan;
use plan::{Endpoint, Target};

use crate::conduct::ConductError;
use crate::layout::Layout;
use crate::target::TargetProcess;
use crate::worker::protocol::Trust;

/// All that loops are told besides the plan, wherever they are.
#[derive(Debug)]
pub(crate) struct Preparation {
    /// Where the built-in target listens.
    pub(crate) target: Option<SocketAddr>,
    /// By endpoint.
    pub(crate) addresses: Vec<SocketAddr>,
    /// Local addresses to connect from; empty: the loops choose.
    pub(crate) sources: Vec<IpAddr>,
    /// Where an endpoint wants TLS.
    pub(crate) trust: Option<Trust>,
    pub(crate) layout: Layout,
    /// Cores that the generator may use.
    pub(crate) cores: u32,
}

/// Prepares a run of `plan`, whose target was started.
pub(crate) fn prepare(
    plan: &Plan,
    target: Option<SocketAddr>,
    layout: Layout,
) -> Result<Preparation, ConductError> {
    Ok(Preparation {
        target,
        addresses: resolve(&plan.endpoints)?,
        sources: plan.options.source_addresses.clone(),
        trust: trust(plan)?,
        layout,
        cores: cores(),
    })
}

/// Starts the target where it is a built-in one, and tells the plan where it listens. `folder`: the
/// scenario's, in which it runs, so that files of its settings are sought as all that a scenario names.
pub(crate) fn start_target(
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
pub(crate) fn resolve(endpoints: &[Endpoint]) -> Result<Vec<SocketAddr>, ConductError> {
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
