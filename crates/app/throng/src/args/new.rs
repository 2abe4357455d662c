//! Arguments of `new`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// What a new scenario shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TemplateArg {
    /// HTTP: a login, its token, a threshold
    Http,
    /// A WebSocket with replies and pushed messages
    Ws,
    /// Server-sent events and their writer
    Sse,
    /// Channels: Phoenix or ActionCable
    Chat,
    /// Socket.IO with acknowledgements
    Socketio,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct NewArgs {
    /// What the scenario shows
    #[arg(value_enum, default_value_t = TemplateArg::Http)]
    pub(crate) what: TemplateArg,
    /// The file to write; - prints it
    #[arg(short, long, value_name = "FILE", default_value = "scenario.yaml")]
    pub(crate) output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
