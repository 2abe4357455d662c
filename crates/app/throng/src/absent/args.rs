//! Arguments of verbs that this program was built without.

use std::ffi::OsString;

use clap::Args as ClapArgs;

pub(crate) type ImportArgs = AbsentArgs;
pub(crate) type ModelArgs = AbsentArgs;
pub(crate) type RecordArgs = AbsentArgs;
pub(crate) type ReproduceArgs = AbsentArgs;

/// Nothing is listed: the verb does nothing.
pub(crate) const RECORD_CODES: &str = "";

/// Any arguments, `--help` among them: the verb says what is missing instead.
#[derive(Debug, ClapArgs)]
#[command(disable_help_flag = true)]
pub(crate) struct AbsentArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _any: Vec<OsString>,
}

impl AbsentArgs {
    pub(crate) fn is_quiet(&self) -> bool {
        false
    }
}
