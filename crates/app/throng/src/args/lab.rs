//! Arguments of `throng lab`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args as ClapArgs, Subcommand};

use crate::settings::parse_duration;

#[derive(Debug, ClapArgs)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    pub(crate) verb: LabVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabVerb {
    /// Check a lab's file and show its regions, hosts and services, without starting anything
    Check(LabFileArgs),
    /// Bring a lab up: hosts, the network between them, and services
    Up(LabFileArgs),
    /// Bring a lab up, run its scenario or experiment in it, and end the lab
    Run(LabRunArgs),
    /// Show how a lab is
    Status(LabStatusArgs),
    /// Run a command on a host of a lab
    Exec(LabExecArgs),
    /// Show what a service printed
    Logs(LabLogsArgs),
    /// Measure round trips and losses between all regions beside what was requested
    Calibrate(LabCalibrateArgs),
    /// Let a fault happen: cut links, kill or freeze services
    Fault(LabFaultArgs),
    /// End a fault
    Repair(LabRepairArgs),
    /// Set by hand how many instances a scaling group has
    Scale(LabScaleArgs),
    /// End a lab and all that runs in it
    Down(LabDownArgs),
    /// Keep a lab up; `up` starts it
    #[command(hide = true)]
    Keep(LabKeepArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabFileArgs {
    /// The lab's file
    pub(crate) file: String,
    /// How many seconds of this machine one of the lab's lasts, instead of the file's `dilation`
    #[arg(long, value_name = "N")]
    pub(crate) dilation: Option<u32>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabRunArgs {
    #[command(flatten)]
    pub(crate) file: LabFileArgs,
    /// Leave the lab up when the run is over
    #[arg(long)]
    pub(crate) keep: bool,
    /// Further arguments of `throng run` or `throng experiment`, behind `--`
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<OsString>,
}

/// Which lab is meant.
#[derive(Debug, ClapArgs)]
pub(crate) struct LabName {
    /// The lab's name [default: the one that is up]
    #[arg(long = "lab", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabStatusArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// Print it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabExecArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// The host; `control` is the one from which nothing is far
    pub(crate) host: String,
    /// The command, behind `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabLogsArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// The service, or one of its instances as `status` names it
    pub(crate) service: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabCalibrateArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// Datagrams between each two regions, a hundred a second
    #[arg(long, value_name = "N", default_value = "300", value_parser = clap::value_parser!(u32).range(1..=6000))]
    pub(crate) packets: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabFaultArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// The fault as a lab's file has it, without its time: `kill: api`, `partition: [ireland, sydney]`
    pub(crate) fault: String,
    /// End it after this time [default: when `repair` does]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub(crate) duration: Option<Duration>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabRepairArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// The fault's number, as `fault` printed it
    pub(crate) number: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabScaleArgs {
    #[command(flatten)]
    pub(crate) lab: LabName,
    /// The service and its number of instances: `api=3`, in each of its regions, or `api@ireland=3` in one
    #[arg(value_name = "SERVICE=N")]
    pub(crate) scale: Scale,
}

/// A number of instances of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scale {
    pub(crate) service: String,
    /// `None`: in each of its regions.
    pub(crate) region: Option<String>,
    pub(crate) count: u32,
}

impl FromStr for Scale {
    type Err = String;

    fn from_str(text: &str) -> Result<Scale, String> {
        let written = "write it like api=3 or api@ireland=3";
        let (place, count) = text.split_once('=').ok_or(written)?;
        let (service, region) = match place.split_once('@') {
            Some((service, region)) => (service, Some(region.to_owned())),
            None => (place, None),
        };
        Ok(Scale {
            service: service.to_owned(),
            region,
            count: count.parse().map_err(|_| written)?,
        })
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabDownArgs {
    /// The lab's name [default: the one that is up]
    pub(crate) name: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LabKeepArgs {
    #[arg(long)]
    pub(crate) inner: bool,
    /// End when standard input does
    #[arg(long)]
    pub(crate) with_input: bool,
    pub(crate) folder: PathBuf,
}
