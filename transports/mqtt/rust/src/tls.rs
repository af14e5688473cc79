//! Encrypted connections to the broker.

use std::sync::Arc;

use hopmeter_instrument::prelude::*;
use rumqttc::TlsConfiguration;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Returns the TLS configuration of clients, which trust `ca.pem`, or `None` if connections are not encrypted.
pub fn read(setup: &Setup) -> Result<Option<TlsConfiguration>> {
    if setup.setting::<String>("security")? != "tls" {
        return Ok(None);
    }
    let mut trusted = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(&setup.read_credential("ca.pem")?).context("reading ca.pem")?;
    trusted.add(authority).context("trusting ca.pem")?;
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .context("setting up TLS")?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    Ok(Some(TlsConfiguration::from(config)))
}
