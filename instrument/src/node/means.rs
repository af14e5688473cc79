//! Opens the codecs and payloads that the endpoints of a node share.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::codec::Codec;
use crate::codec_library;
use crate::error::{Error, Result};
use crate::payload::Content;
use crate::permits::Permits;
use crate::roles::Triggers;
use crate::spec::{Endpoint, Flow, RoleKind, Spec};

use super::MakeCodec;

/// The codecs and payloads that the endpoints of a node share.
pub struct Means {
    /// The codecs of all flows with a codec, by flow number.
    pub codecs: BTreeMap<u32, Arc<dyn Codec>>,
    /// The content of the payloads, by flow number.
    pub contents: BTreeMap<u32, Arc<Content>>,
    pub triggers: Arc<Triggers>,
    pub permits: Arc<Permits>,
}

impl Means {
    pub fn of(spec: &Spec, make: Option<&MakeCodec>) -> Result<Self> {
        let (codecs, contents) = (codecs(spec, make)?, contents(spec)?);
        let (triggers, permits) = (Arc::new(Triggers::new(spec)), Arc::new(Permits::new(spec.threads)));
        Ok(Self { codecs, contents, triggers, permits })
    }
}

/// Opens the codecs of all flows with a codec.
fn codecs(spec: &Spec, make: Option<&MakeCodec>) -> Result<BTreeMap<u32, Arc<dyn Codec>>> {
    let mut codecs = BTreeMap::new();
    for flow in &spec.flows {
        if let Some(name) = &flow.codec {
            codecs.insert(flow.number, codec(flow, name, make)?);
        }
    }
    Ok(codecs)
}

/// Opens a flow's codec: a codec library if the spec names one, otherwise the codec objects of the node's language.
fn codec(flow: &Flow, name: &str, make: Option<&MakeCodec>) -> Result<Arc<dyn Codec>> {
    match (&flow.library, make) {
        (Some(library), _) => {
            let object = flow.object.as_ref().ok_or_else(|| Error::new("a codec library needs an object"))?;
            codec_library::open(library, Path::new(object))
        }
        (None, Some(make)) => make(flow),
        (None, None) => Err(Error::new(format!("the codec {name} needs Python objects"))
            .remedy("use Python at both ends: --language python")),
    }
}

/// Reads the content of the payloads that this node sends, by flow. Flows that name the same file share its content,
/// because a video can take a gigabyte.
fn contents(spec: &Spec) -> Result<BTreeMap<u32, Arc<Content>>> {
    let mut contents = BTreeMap::new();
    let mut read: Vec<(&Flow, Arc<Content>)> = Vec::new();
    for flow in spec.flows.iter().filter(|flow| sends(spec, flow)) {
        let same = read.iter().find(|(other, _)| flow.payload_file.is_some() && flow.has_payloads_of(other));
        let content = match same {
            Some((_, content)) => content.clone(),
            None => Arc::new(Content::of(flow)?),
        };
        read.push((flow, content.clone()));
        contents.insert(flow.number, content);
    }
    Ok(contents)
}

/// Returns whether this node sends the messages of a flow; a node may also only receive them.
fn sends(spec: &Spec, flow: &Flow) -> bool {
    let sends = |me: &&Endpoint| matches!(me.role, RoleKind::Source | RoleKind::Follower | RoleKind::Client);
    spec.endpoints.iter().filter(sends).any(|me| me.flow == flow.number)
}
