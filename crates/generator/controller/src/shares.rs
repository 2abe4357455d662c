//! How much of the time of a run others had this machine.

use compare::disturbed::MachineShares;
use machine::contention::Contention;

/// The shares of the time since then.
pub(crate) fn machine_shares(begun: &Contention) -> MachineShares {
    let shares = Contention::now().since(begun);
    MachineShares { pressure: shares.pressure, steal: shares.steal }
}
