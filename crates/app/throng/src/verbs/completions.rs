//! `throng completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::exit::{Exit, Failure, written};

pub(crate) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "throng", &mut text);
    written(std::io::Write::write_all(&mut std::io::stdout(), &text))
}
