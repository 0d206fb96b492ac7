//! The way of a request, from its head to its answer.

use std::{net::IpAddr, str::FromStr, sync::Arc, time::Duration, time::Instant};

use axum::{
    Extension, RequestExt, Router,
    body::{Body, Bytes, HttpBody},
    extract::{RawPathParams, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::{MethodFilter, on},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use trefoil::cluster::Place;

#[cfg(feature = "mcp")]
use crate::mcp::endpoint::Talks;
use crate::{
    app::App,
    auth::Caller,
    call::{Call, PLACE, Query, request_id},
    problem::Problem,
    route::{Route, Takes},
    routes::routes,
    settings::{Kind, Limits},
    turns::without_turn,
};

/// The address that a request comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// What the log and the metrics tell of a request.
#[derive(Clone, Debug)]
struct Seen {
    route: &'static str,
    token: String,
}

/// Everything in the table of routes, and what talks at `/mcp`.
pub(crate) fn router(app: Arc<App>, #[cfg(feature = "mcp")] talks: Talks) -> Router {
    let mut router = Router::new();
    for route in routes() {
        let method = match route.method {
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        };
        let answer = move |State(app): State<Arc<App>>,
                           Extension(peer): Extension<Peer>,
                           request: Request| async move {
            let mut seen = Seen { route: route.path, token: String::new() };
            let answer = handle(app, route, peer, request, &mut seen).await;
            let mut response = answer.unwrap_or_else(IntoResponse::into_response);
            response.extensions_mut().insert(seen);
            response
        };
        router = router.route(route.path, on(method, answer));
    }
    #[cfg(feature = "mcp")]
    let router = if app.now().settings.no_mcp {
        router
    } else {
        router
            .route(crate::mcp::endpoint::PATH, axum::routing::any(converse))
            .layer(Extension(talks))
    };
    router
        .fallback(async || Problem::not_found())
        .method_not_allowed_fallback(async || {
            Problem::own("method_not_allowed", "the path has other methods; `Allow` lists them")
        })
        .layer(from_fn_with_state(Arc::clone(&app), around))
        .with_state(app)
}

/// Answers a message of the Model Context Protocol, which names what it asks for itself.
#[cfg(feature = "mcp")]
async fn converse(
    State(app): State<Arc<App>>,
    Extension(Peer(peer)): Extension<Peer>,
    Extension(talks): Extension<Talks>,
    request: Request,
) -> Response {
    let mut seen = Seen { route: crate::mcp::endpoint::PATH, token: String::new() };
    let answer = async {
        let caller = app.authenticate(peer, request.headers())?;
        seen.token.clone_from(&caller.id);
        app.count(Kind::Short, &caller)?;
        let (head, body) = request.into_parts();
        let is_post = head.method == axum::http::Method::POST;
        let takes = if is_post { Takes::Json } else { Takes::Nothing };
        let body = read(&head.headers, body, takes, &app.limits()).await?;
        talks(Arc::clone(&app), caller, head, body).await
    };
    let mut response = answer.await.unwrap_or_else(IntoResponse::into_response);
    response.extensions_mut().insert(seen);
    response
}

/// What is done for every request, whatever answers it.
async fn around(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request_id();
    let path = request.uri().path().to_owned();
    let mut response = match app.check_host(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        *response.body_mut() = problem.as_value(&path).to_string().into();
        response.headers_mut().remove(header::CONTENT_LENGTH);
    }
    let seen = response.extensions_mut().remove::<Seen>();
    let seen = seen.unwrap_or(Seen { route: "none", token: String::new() });
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
    let policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let (status, took) = (response.status().as_u16(), began.elapsed());
    app.metrics.answered(seen.route, status, took);
    let milliseconds = took.as_secs_f64() * 1_000.0;
    tracing::info!(id, route = seen.route, status, milliseconds, token = seen.token, "request");
    response
}

async fn handle(
    app: Arc<App>,
    route: &'static Route,
    Peer(peer): Peer,
    mut request: Request,
    seen: &mut Seen,
) -> Result<Response, Problem> {
    let caller = match route.scope {
        None => Caller::nobody(),
        Some(scope) => {
            let caller = app.authenticate(peer, request.headers())?;
            seen.token.clone_from(&caller.id);
            app.count(route.kind, &caller)?;
            caller.needs(scope)?;
            caller
        }
    };
    let path = path_parameters(&mut request).await?;
    let query = Query::read(request.uri().query(), route.parameters())?;
    let (head, body) = request.into_parts();
    let now = app.now();
    let limits = &now.settings.limits;
    let body = read(&head.headers, body, route.takes, limits).await?;
    let text = |name| head.headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let accept = text(header::ACCEPT).unwrap_or_default().to_owned();
    let last_event = text(HeaderName::from_static("last-event-id")).and_then(|id| id.parse().ok());
    let place = text(PLACE).map(Place::from_str).transpose();
    let place = place.map_err(Problem::from)?;
    let deadline = limits.deadline(route.kind);
    let call = move |turn| Call { app, caller, path, query, body, accept, last_event, place, turn };
    // The call goes on when its time is up or nobody waits for it, and keeps its turn.
    let answer = match route.kind {
        Kind::Search => {
            let turns = &now.gates.searches;
            turns.run(deadline, move |turn| call(Some(turn)).answer(route)).await
        }
        Kind::Short | Kind::Memory | Kind::Write => {
            without_turn(deadline, move || call(None).answer(route)).await
        }
    };
    answer?.map(|mut response| {
        if response.status() == StatusCode::OK {
            *response.status_mut() = StatusCode::from_u16(route.status).unwrap_or_default();
        }
        response
    })
}

/// The parameters of a path, decoded. What is no text names nothing.
async fn path_parameters(request: &mut Request) -> Result<Vec<String>, Problem> {
    let parameters = request.extract_parts::<RawPathParams>().await;
    let parameters = parameters.map_err(|_| Problem::not_found())?;
    let values: Vec<String> = parameters.iter().map(|(_, value)| value.to_owned()).collect();
    if values.iter().any(|value| value.contains('\0')) {
        return Err(Problem::not_found());
    }
    Ok(values)
}

/// Reads a body of the media type that a route takes, within its bytes and time.
async fn read(
    headers: &HeaderMap,
    body: Body,
    takes: Takes,
    limits: &Limits,
) -> Result<Bytes, Problem> {
    let json: &[&str] = &["application/json"];
    let (media, most) = match takes {
        Takes::Nothing => return Ok(Bytes::new()),
        Takes::Json => (json, limits.body_bytes),
        Takes::Documents => (json, limits.document_bytes),
        Takes::Yaml => (&["application/yaml", "text/yaml"][..], limits.body_bytes),
    };
    let within = Duration::from_secs(limits.body_seconds);
    let too_large = || Problem::own("body_too_large", format!("the body may have {most} bytes"));
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let is_taken = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split(';').next())
        .is_some_and(|given| media.iter().any(|media| given.trim().eq_ignore_ascii_case(media)));
    if !is_taken || headers.contains_key(header::CONTENT_ENCODING) {
        let detail = format!("send the body uncompressed, as {}", media.join(" or "));
        return Err(Problem::own("unsupported_media_type", detail));
    }
    match tokio::time::timeout(within, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::own("malformed_request", "the body ended before its end")),
        Err(_) => {
            let seconds = within.as_secs();
            let detail = format!("the body did not arrive within {seconds} seconds");
            Err(Problem::own("request_timeout", detail))
        }
    }
}
