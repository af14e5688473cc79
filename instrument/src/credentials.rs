//! The keys and certificates that hopmeter created for a trial whose connections are encrypted.

use std::fs;
use std::path::PathBuf;

use crate::contract::Setup;
use crate::error::{Context, Result};

impl Setup {
    /// Returns whether the setting `security` requests TLS.
    ///
    /// # Errors
    ///
    /// Fails if the transport has no setting `security`.
    pub fn uses_tls(&self) -> Result<bool> {
        Ok(self.setting::<String>("security")? == "tls")
    }

    /// Returns the protocol of a connection over a network, `TCP` or `TLS`. The fact `path` names this protocol.
    ///
    /// # Errors
    ///
    /// Fails if the transport has no setting `security`.
    pub fn connection_kind(&self) -> Result<&'static str> {
        Ok(if self.uses_tls()? { "TLS" } else { "TCP" })
    }

    /// Returns the path of a file with a key or certificate, such as `server.secret` or `ca.pem`.
    pub fn credential(&self, name: &str) -> PathBuf {
        self.directory.join("credentials").join(name)
    }

    /// Returns the content of a file with a key or certificate.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, for example because the setting `security` is off.
    pub fn read_credential(&self, name: &str) -> Result<Vec<u8>> {
        let file = self.credential(name);
        fs::read(&file).context(format_args!("reading the key {}", file.display()))
    }
}
