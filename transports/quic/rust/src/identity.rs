//! Creates the certificates of binding link ends. The peers of a link end accept only its certificate, instead of the
//! certificates of public authorities.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use hopmeter_instrument::prelude::*;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, ServerConfig};

/// The host name in every certificate. Clients accept only certificates with this name.
pub const NAME: &str = "localhost";

/// Creates a key and a self-signed certificate. Returns the configuration of a server that uses both, and the
/// certificate in base64, which is part of the server's address.
pub fn create() -> Result<(ServerConfig, String)> {
    let created = rcgen::generate_simple_self_signed([NAME.to_string()]).context("creating a certificate")?;
    let certificate = created.cert.der().clone();
    let text = BASE64_STANDARD.encode(&certificate);
    let key = PrivatePkcs8KeyDer::from(created.signing_key.serialize_der());
    let config = ServerConfig::with_single_cert(vec![certificate], key.into()).context("using a new certificate")?;
    Ok((config, text))
}

/// Returns the configuration of a client that accepts only the given certificate.
pub fn pin(certificate: &str) -> Result<ClientConfig> {
    let certificate = BASE64_STANDARD.decode(certificate).context("reading the certificate in an address")?;
    let mut accepted = RootCertStore::empty();
    accepted.add(certificate.into()).context("reading the certificate in an address")?;
    ClientConfig::with_root_certificates(Arc::new(accepted)).context("preparing to check certificates")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use hopmeter_tokio::Runtime;
    use quinn::Endpoint;

    use super::*;

    #[test]
    fn a_client_accepts_the_pinned_certificate_and_no_other() {
        let runtime = Runtime::start("test", 1).expect("threads");
        let _in_runtime = runtime.enter();
        let (config, certificate) = create().expect("a certificate");
        let (_, other) = create().expect("a certificate");
        let server = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let client = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let accepting = server.clone();
        runtime.spawn(async move {
            let mut accepted = Vec::new();
            while let Some(incoming) = accepting.accept().await {
                accepted.extend(incoming.await);
            }
        });
        let connects = |certificate: &str| {
            let config = pin(certificate).expect("a certificate");
            let peer = server.local_addr().expect("an address");
            runtime.block_on(client.connect_with(config, peer, NAME).expect("a configuration")).is_ok()
        };
        assert!(connects(&certificate));
        assert!(!connects(&other));
        assert!(pin("").is_err() && pin("no certificate").is_err());
    }
}
