//! Why a lab is not up.

use std::io;

use crate::wan::WanError;

use crate::directory::FillError;
use crate::instance::InstanceError;

/// Why a lab is not up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SystemError {
    /// There is no network.
    #[error(transparent)]
    Wan(#[from] WanError),
    /// A service is not there.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A text cannot be filled in.
    #[error("{instance}: {source}")]
    Fill {
        /// The instance.
        instance: String,
        /// Why.
        source: FillError,
    },
    /// A fault while one of its kind is at work.
    #[error("the fault {0} does the same to an instance already")]
    Collides(u32),
    /// A file or a system call.
    #[error("cannot {what}")]
    Io {
        /// The attempted action.
        what: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
}

pub(crate) fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> SystemError {
    let what = what.into();
    move |source| SystemError::Io { what, source }
}
