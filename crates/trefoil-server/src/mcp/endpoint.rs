//! `/mcp` of a server: who asks by the token, and of what by the parameters of the query.

use std::{collections::BTreeSet, convert::Infallible, sync::Arc};

use axum::{
    body::{Body, Bytes},
    extract::Request,
    http,
    response::Response,
};
use futures_util::future::BoxFuture;
use http_body_util::{Full, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::never::NeverSessionManager,
};
use trefoil::memory::BoundaryClass;

use super::{
    client::{Client, Host},
    handler::Handler,
    tool::ToolSet,
};
use crate::{
    app::App,
    auth::Caller,
    call::Query,
    problem::Problem,
    route::{Parameter, Values},
};

/// What answers a message whose sender was let in, and whose body was read.
pub(crate) type Talks = Arc<
    dyn Fn(Arc<App>, Caller, http::request::Parts, Bytes) -> BoxFuture<'static, Answered>
        + Send
        + Sync,
>;

type Answered = Result<Response, Problem>;

/// Talks of the indexes of a server.
pub(crate) fn talks() -> Talks {
    Arc::new(|app, caller, head, body| Box::pin(serve(app, caller, head, body)))
}

/// Talks as `handler` does, with sessions or without.
#[cfg(feature = "conformance")]
pub(crate) fn talks_as<H: rmcp::ServerHandler + Clone>(handler: H, has_sessions: bool) -> Talks {
    use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(has_sessions)
        .disable_allowed_hosts()
        .disable_allowed_origins();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(handler.clone()), sessions, config);
    Arc::new(move |_, _, head, body| {
        let service = service.clone();
        Box::pin(async move {
            let request: Request<Full<Bytes>> = Request::from_parts(head, Full::new(body));
            Ok(service.handle(request).await.map(Body::new))
        })
    })
}

/// The path at which a server answers.
pub(crate) const PATH: &str = "/mcp";

/// What may be asked for in the query of the path.
pub(crate) const PARAMETERS: [Parameter; 4] = [
    Parameter {
        name: "index",
        values: Values::Text,
        summary: "the index; optional where the token sees one",
    },
    Parameter {
        name: "tools",
        values: Values::Text,
        summary: "sets of tools, with commas; documents and memory without",
    },
    Parameter {
        name: "readOnly",
        values: Values::Flag,
        summary: "whether to leave out what writes",
    },
    Parameter {
        name: "classes",
        values: Values::Text,
        summary: "classes of memory, with commas; those of the token without",
    },
];

/// Answers one request by one client. It keeps nothing for the next.
pub(crate) async fn answer(
    client: Client,
    request: http::Request<Full<Bytes>>,
) -> http::Response<BoxBody<Bytes, Infallible>> {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        // Host and origin are checked for all of the server alike, before this.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(usize::MAX);
    let handler = Handler::new(client);
    let service = StreamableHttpService::new(
        move || Ok(handler.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    service.handle(request).await
}

/// Answers a request to a server, whose body has been read.
///
/// # Errors
/// `invalid_parameter`, `boundary_denied`, and `not_found` for an index that the caller does not
/// see.
pub(crate) async fn serve(
    app: Arc<App>,
    caller: Caller,
    head: http::request::Parts,
    body: Bytes,
) -> Answered {
    let query = Query::read(head.uri.query(), PARAMETERS.into_iter())?;
    let read = |name: &'static str| {
        let given = query.text(name).unwrap_or_default();
        given.split(',').map(str::trim).filter(|one| !one.is_empty())
    };
    let sets: BTreeSet<ToolSet> = read("tools").map(str::parse).collect::<Result<_, _>>()?;
    let classes: Vec<BoundaryClass> = read("classes").map(str::parse).collect::<Result<_, _>>()?;
    let sets = if sets.is_empty() { ToolSet::DEFAULT.into() } else { sets };
    let client = Client {
        host: Host::Server(app),
        caller,
        index: query.text("index").map(str::to_owned),
        sets,
        read_only: query.flag("readOnly"),
    };
    let client = client.narrowed(&classes)?;
    if client.names().is_empty() {
        return Err(Problem::not_found());
    }
    let request: Request<Full<Bytes>> = Request::from_parts(head, Full::new(body));
    Ok(answer(client, request).await.map(Body::new))
}
