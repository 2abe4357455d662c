//! Probes of databases in a program that was built without their clients: errors.

use plan::probes::ProbeKind;

use crate::source::{ProbeError, Source};

pub(crate) fn check(kind: &ProbeKind) -> Result<(), ProbeError> {
    open(kind).map(drop)
}

pub(crate) fn open(kind: &ProbeKind) -> Result<Option<Box<dyn Source>>, ProbeError> {
    match kind {
        ProbeKind::Redis(_) | ProbeKind::Mysql(_) | ProbeKind::Postgres(_) => {
            Err(ProbeError::NotBuilt { kind: kind.word() })
        }
        _ => Ok(None),
    }
}
