//! Parses the command line of a node.

use std::os::fd::RawFd;
use std::path::PathBuf;

use crate::error::{Error, Result};

/// The task that the command line requests.
pub enum Arguments {
    Describe,
    Measure { spec: PathBuf, control_fd: RawFd },
    ScriptedNode { control_fd: RawFd },
}

impl Arguments {
    /// Parses a node's arguments.
    ///
    /// # Errors
    ///
    /// Fails if the arguments do not request one of these tasks.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let usage = || {
            Error::new("usage: --describe | --spec FILE --control-fd N | --puppet --control-fd N")
                .remedy("use `hopmeter run`, which starts nodes")
        };
        let (mut spec, mut control_fd, mut scripted_node) = (None, None, false);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--describe" => return Ok(Self::Describe),
                "--puppet" => scripted_node = true,
                "--spec" => spec = arguments.next().map(PathBuf::from),
                "--control-fd" => control_fd = arguments.next().and_then(|fd| fd.parse().ok()),
                _ => return Err(usage()),
            }
        }
        match (spec, control_fd) {
            (None, Some(control_fd)) if scripted_node => Ok(Self::ScriptedNode { control_fd }),
            (Some(spec), Some(control_fd)) if !scripted_node => Ok(Self::Measure { spec, control_fd }),
            _ => Err(usage()),
        }
    }
}
