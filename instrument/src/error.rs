//! Defines the crate's error type: what failed, why, and how to fix it.

use std::error::Error as StdError;
use std::fmt;

/// The result of every fallible function of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure with its cause and, if known, its remedy. The error's content is boxed, so that the results of successful
/// measured calls fit in registers.
#[derive(Debug)]
pub struct Error(Box<Failure>);

#[derive(Debug)]
struct Failure {
    what: String,
    remedy: Option<String>,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub fn new(what: impl Into<String>) -> Self {
        Self(Box::new(Failure { what: what.into(), remedy: None, cause: None }))
    }

    /// Creates the error for a failed system call, with `errno` as its cause.
    pub fn system(what: impl Into<String>) -> Self {
        Self::new(what).because(std::io::Error::last_os_error())
    }

    /// Creates the error for a link end (such as a server) that the plan needs but the adapter does not offer.
    pub fn unsupported(end: &str, link: &str) -> Self {
        Self::new(format!("the adapter does not implement {end} (needed for link {link})"))
            .remedy("in transport.toml, list only the patterns and waits that the adapter implements")
    }

    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    pub fn because(mut self, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Prefixes the error with the action that failed.
    pub fn within(mut self, doing: impl fmt::Display) -> Self {
        self.0.what = format!("{doing}: {}", self.0.what);
        self
    }

    /// Returns the remedy, if known.
    pub fn remedy_text(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// Returns the failure with all its causes, without the remedy.
    pub fn what_text(&self) -> String {
        let mut text = self.0.what.clone();
        let mut cause = self.source();
        while let Some(inner) = cause {
            text.push_str(": ");
            text.push_str(&inner.to_string());
            cause = inner.source();
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.what_text())?;
        match &self.0.remedy {
            Some(remedy) => write!(out, " ({remedy})"),
            None => Ok(()),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as _)
    }
}

/// Adds a description of the failed action to any library's error.
pub trait Context<T> {
    fn context(self, doing: impl fmt::Display) -> Result<T>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> Context<T> for std::result::Result<T, E> {
    fn context(self, doing: impl fmt::Display) -> Result<T> {
        self.map_err(|cause| Error::new(doing.to_string()).because(cause))
    }
}
