//! The bodies of requests and replies: the bytes of a frame, or a JSON object.

use std::future::Future;

use axum::body::Bytes;
use axum::extract::{Json, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{MethodRouter, post};
use base64::prelude::{BASE64_STANDARD, Engine};
use hopmeter_instrument::prelude::*;
use hopmeter_instrument::typed::{header_of, label, sent_of, seq_of};
use hopmeter_tokio::calls::{Carried, PendingCall, ask};
use reqwest::{RequestBuilder, Response};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::UnboundedSender;

pub type Requests<B> = UnboundedSender<PendingCall<B>>;

const OCTETS: &str = "application/octet-stream";

/// A body that a request or a reply carries.
pub trait Body: Carried {
    /// Handles `POST` requests whose body has this type. If the server has no reply to a request, it returns the status
    /// 503.
    fn route() -> MethodRouter<Requests<Self>>
    where
        Self: Sized;

    fn put(self, request: RequestBuilder) -> RequestBuilder;

    /// Reads the body of a reply. Fails if the connection ends, or if the body is not of the expected type.
    fn read(reply: Response) -> impl Future<Output = reqwest::Result<Self>> + Send
    where
        Self: Sized;
}

/// The bytes of a frame: the header, then the payload.
impl Body for Bytes {
    fn route() -> MethodRouter<Requests<Self>> {
        post(|State(requests): State<Requests<Self>>, body: Bytes| async move {
            let reply = ask(&requests, body).await.ok_or(StatusCode::SERVICE_UNAVAILABLE)?;
            Ok::<_, StatusCode>(([(CONTENT_TYPE, OCTETS)], reply).into_response())
        })
    }

    fn put(self, request: RequestBuilder) -> RequestBuilder {
        request.header(CONTENT_TYPE, OCTETS).body(self)
    }

    async fn read(reply: Response) -> reqwest::Result<Self> {
        reply.bytes().await
    }
}

/// A JSON object; `padding` is the payload in base64.
#[derive(Serialize, Deserialize)]
pub struct Timing {
    id: u64,
    nanosec: i64,
    source: String,
    padding: String,
}

impl Carried for Timing {
    fn write(payload_bytes: usize, fill: Fill<'_>) -> Self {
        let (mut header, mut payload) = ([0; HEADER_BYTES], vec![0; payload_bytes]);
        fill.write(FrameMut { header: &mut header, payload: &mut payload });
        Self {
            id: seq_of(&header),
            nanosec: sent_of(&header),
            source: label(&header).map(char::from).iter().collect(),
            padding: BASE64_STANDARD.encode(&payload),
        }
    }

    /// Passes on text that is not valid as an empty payload, which the instrument counts as malformed.
    fn pass(&self, take: Take<'_>) {
        let payload = BASE64_STANDARD.decode(&self.padding).unwrap_or_default();
        take(Received::parts(&header_of(self.source.as_bytes(), self.nanosec, payload.len()), &payload));
    }
}

impl Body for Timing {
    fn route() -> MethodRouter<Requests<Self>> {
        post(|State(requests): State<Requests<Self>>, Json(request): Json<Timing>| async move {
            ask(&requests, request).await.map(Json).ok_or(StatusCode::SERVICE_UNAVAILABLE)
        })
    }

    fn put(self, request: RequestBuilder) -> RequestBuilder {
        request.json(&self)
    }

    async fn read(reply: Response) -> reqwest::Result<Self> {
        reply.json().await
    }
}
