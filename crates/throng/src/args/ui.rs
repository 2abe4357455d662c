//! What was typed after `throng ui`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct UiArgs {
    /// Where runs, experiments, searches, models and pages stand, at any depth
    #[arg(value_name = "DIR", default_value = "runs")]
    pub(crate) directory: PathBuf,
    /// Where to listen; port 0 is any free one. Beyond this machine it takes a token, which is told with the
    /// address, or is that of THRONG_UI_TOKEN
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700")]
    pub(crate) listen: String,
}
