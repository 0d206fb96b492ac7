//! Questions.

use axum::response::Response;
use futures_util::stream::unfold;
use serde::Serialize;
use tokio::sync::mpsc;
use trefoil::{
    SearchQuery,
    search::{Lost, Missed, SearchEvent},
};

use crate::{
    call::{Call, written},
    problem::Problem,
    route::EVENTS,
    settings::Kind,
    stream::{Told, stream},
};

/// Events that wait for a slow reader.
const WAITING: usize = 256;

pub(crate) fn search(call: Call, query: SearchQuery) -> Result<Response, Problem> {
    let query = query_in_time(&call, query);
    let engine = call.index()?.engine;
    if !call.wants(EVENTS) {
        let found = engine.search(&query)?;
        call.app.metrics.searched(&found);
        return written(found.to_json());
    }
    query.check()?;
    let (sender, receiver) = mpsc::channel(WAITING);
    let answer = stream(
        &call,
        unfold(receiver, |mut receiver| async { Some((receiver.recv().await?, receiver)) }),
    )?;
    let (app, turn) = (call.app.clone(), call.turn);
    tokio::task::spawn_blocking(move || {
        let mut events = Events { sender, number: 0 };
        let found = engine.search_observed(&query, |event| match event {
            SearchEvent::Stage(stage) => events.offer("stage", &stage),
            SearchEvent::Provisional(items) => events.send("provisional", &items),
            _ => {}
        });
        match found {
            Ok(found) => {
                app.metrics.searched(&found);
                events.tell("result", found.to_json());
            }
            Err(error) => events.send("problem", &Problem::from(error).as_value("/v1/search")),
        }
        // The turn of the search ends with it.
        drop(turn);
    });
    Ok(answer)
}

/// The query with the time that a search may take here, if it asks for no less.
fn query_in_time(call: &Call, mut query: SearchQuery) -> SearchQuery {
    let most = call.app.limits().deadline(Kind::Search).as_millis();
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let asked = query.options.timeout_ms;
    query.options.timeout_ms = Some(asked.map_or(most, |asked| asked.min(most)));
    query
}

/// Events of a search on their way to the reader.
struct Events {
    sender: mpsc::Sender<Told>,
    number: u64,
}

impl Events {
    /// Sends what a slow reader may miss: there is always room left for the rest.
    fn offer<T: Serialize>(&mut self, name: &'static str, value: &T) {
        if self.sender.capacity() > 2 {
            self.send(name, value);
        }
    }

    fn send<T: Serialize>(&mut self, name: &'static str, value: &T) {
        self.tell(name, serde_json::to_string(value));
    }

    fn tell(&mut self, name: &'static str, json: serde_json::Result<String>) {
        self.number += 1;
        if let Ok(data) = json {
            // A reader that has gone needs nothing.
            drop(self.sender.try_send(Told { id: self.number, name, data }));
        }
    }
}

pub(crate) fn why_not(call: &Call, mut missed: Missed) -> Result<Lost, Problem> {
    missed.query = query_in_time(call, missed.query);
    call.index()?.engine.why_missed(&missed)?.ok_or_else(Problem::not_found)
}
