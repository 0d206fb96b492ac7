//! Answers that come as events.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::response::{
    IntoResponse, Response,
    sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, StreamExt};

use crate::{call::Call, problem::Problem};

/// How often a comment keeps a connection alive on which nothing happens.
const ALIVE: Duration = Duration::from_secs(15);

/// An event, numbered.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) id: u64,
    pub(crate) name: &'static str,
    /// JSON, without line breaks.
    pub(crate) data: String,
}

/// Streams events until there are no more, the token of the call ends, or the server stops.
///
/// # Errors
/// `too_many_requests` if the token has too many streams.
pub(crate) fn stream(
    call: &Call,
    events: impl Stream<Item = Told> + Send + 'static,
) -> Result<Response, Problem> {
    let place = call.app.now().gates.streams.add(&call.caller.id).ok_or_else(|| {
        Problem::own("too_many_requests", "this token has too many streams; end one of them")
    })?;
    let ends = Arc::clone(&call.app).ends(call.caller.clone());
    let events = events.take_until(Box::pin(ends)).map(move |Told { id, name, data }| {
        // The place of the stream is free again when it is dropped.
        let _ = &place;
        Ok::<_, Infallible>(Event::default().id(id.to_string()).event(name).data(data))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE)).into_response())
}
