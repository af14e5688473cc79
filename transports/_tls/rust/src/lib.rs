//! TLS with rustls: the configurations of clients and servers, with the certificates that hopmeter created for a trial.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// Returns the configuration of clients. Clients trust only servers with a certificate of this trial. Returns `None` if
/// connections are not encrypted.
///
/// # Errors
///
/// Fails if a certificate cannot be read.
pub fn client(setup: &Setup) -> Result<Option<ClientConfig>> {
    if !setup.uses_tls()? {
        return Ok(None);
    }
    let mut trusted = RootCertStore::empty();
    trusted.add(read_certificate(setup, "ca.pem")?).context("trusting ca.pem")?;
    trusting(trusted).map(Some)
}

/// Returns the configuration of clients that trust no server, for a library that requires a configuration even if
/// connections are not encrypted.
///
/// # Errors
///
/// Fails if rustls supports no version of TLS.
pub fn trusting_nobody() -> Result<ClientConfig> {
    trusting(RootCertStore::empty())
}

fn trusting(authorities: RootCertStore) -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    Ok(builder.context("setting up TLS")?.with_root_certificates(authorities).with_no_client_auth())
}

/// Returns the configuration of servers. Servers accept every client. Returns `None` if connections are not encrypted.
///
/// # Errors
///
/// Fails if the certificate or its key cannot be read.
pub fn server(setup: &Setup) -> Result<Option<ServerConfig>> {
    if !setup.uses_tls()? {
        return Ok(None);
    }
    let own = vec![read_certificate(setup, "server.pem")?];
    let key = PrivateKeyDer::from_pem_slice(&setup.read_credential("server.key")?).context("reading server.key")?;
    let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.context("setting up TLS")?.with_no_client_auth();
    Ok(Some(builder.with_single_cert(own, key).context("using the certificate server.pem")?))
}

fn read_certificate(setup: &Setup, name: &str) -> Result<CertificateDer<'static>> {
    CertificateDer::from_pem_slice(&setup.read_credential(name)?).context(format!("reading {name}"))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
