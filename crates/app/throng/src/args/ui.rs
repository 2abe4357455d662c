//! Arguments of `throng ui`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::settings::RUNS;

#[derive(Debug, ClapArgs)]
pub(crate) struct UiArgs {
    /// Directory that is searched for runs, experiments, duets, searches, models and reports, at any depth
    #[arg(value_name = "DIR", default_value = RUNS)]
    pub(crate) directory: PathBuf,
    /// Address to listen on; port 0 is any free port. Addresses other than loopback require the token
    /// that is printed with the URL, or that of THRONG_UI_TOKEN
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700")]
    pub(crate) listen: String,
}
