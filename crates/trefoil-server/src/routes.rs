//! Everything there is to ask for, as data.

use std::sync::LazyLock;

use trefoil::{SearchResult, SearchResultItem, graph::Subgraph, search::StageMetric};
use trefoil_memory::{ClaimDraft, ObservationDraft};

use crate::{
    auth::Scope::{Admin, MemoryRead, MemoryWrite, Metrics, Read, Write},
    http::{documents, graph, jobs, memory, page, pages, search, status},
    job::{Done, JobView},
    markup::HTML,
    problem::ProblemView,
    route::{EVENTS, JSON, Route, Takes},
    settings::Kind,
};

/// The table of routes: the router, the `OpenAPI` description, the labels of the metrics, the
/// reference page and the tests of who may do what come from it.
pub fn routes() -> &'static [Route] {
    static ROUTES: LazyLock<Vec<Route>> = LazyLock::new(|| {
        let mut routes = about_the_server();
        routes.extend(about_documents());
        routes.extend(about_the_graph());
        routes.extend(about_memory());
        routes.extend(about_the_care_of_memory());
        routes.extend(about_jobs());
        routes
    });
    &ROUTES
}

fn about_the_server() -> Vec<Route> {
    vec![
        Route::page("/", None, "Shows the page to search from.", &[HTML], page::index)
            .answers("a page"),
        Route::page(
            "/page/{file}",
            None,
            "Gives what the page is made of.",
            &[page::CSS, page::SCRIPT],
            page::file,
        )
        .answers("styles and scripts"),
        Route::page(
            "/healthz",
            None,
            "Says that the server runs.",
            &[status::PLAIN],
            status::healthz,
        )
        .answers("`ok`"),
        Route::page(
            "/readyz",
            None,
            "Says that the server takes requests.",
            &[status::PLAIN],
            status::readyz,
        )
        .answers("`ready`"),
        Route::page("/openapi.json", None, "Describes all of this.", &[JSON], pages::openapi)
            .answers("OpenAPI 3.1"),
        Route::page("/docs", None, "Describes all of this, to read.", &[HTML], pages::docs)
            .answers("a page"),
        Route::page(
            "/problems/{code}",
            None,
            "Says what a problem means.",
            &[HTML],
            pages::problem,
        )
        .answers("a page"),
        Route::page(
            "/metrics",
            Metrics,
            "Counts and times of the server.",
            &[status::METRICS],
            status::metrics,
        )
        .answers("OpenMetrics"),
        Route::get(
            "/v1/indexes",
            Read,
            "Lists the indexes that the token may see.",
            status::indexes,
        )
        .answers("the indexes, and whether each is open"),
        Route::get("/v1/stats", Read, "Counts what an index holds.", status::stats)
            .of_index()
            .answers("`EngineStats`"),
        Route::act(
            "/v1/reload",
            Admin,
            "Reads the settings again; a bad file changes nothing.",
            status::reload,
        )
        .answers("what is other than before"),
    ]
}

fn about_documents() -> Vec<Route> {
    vec![
        Route::post_for("/v1/search", Read, "Answers a question.", search::search)
            .of_index()
            .kind(Kind::Search)
            .gives::<SearchResult>()
            .media(&[JSON, EVENTS])
            .tells::<StageMetric>("stage")
            .tells::<Vec<SearchResultItem>>("provisional")
            .tells::<SearchResult>("result")
            .tells::<ProblemView<'_>>("problem")
            .answers(
                "`SearchResult`; as events: `stage` each time one ends, `provisional`, then \
             `result` or `problem`",
            ),
        Route::post(
            "/v1/why-not",
            Read,
            "Names the stage at which a passage, or that of a document which came farthest, \
             was lost.",
            search::why_not,
        )
        .of_index()
        .kind(Kind::Search)
        .answers("the passage, the stage, and why"),
        Route::get("/v1/documents", Read, "Lists documents by path.", documents::list)
            .of_index()
            .query(documents::PAGE)
            .answers("the documents, and the `after` of the following page"),
        Route::post(
            "/v1/documents",
            Write,
            "Stores documents, each in the place of the one at its path.",
            documents::ingest,
        )
        .of_index()
        .takes(Takes::Documents)
        .answers("`Ingested`, and how many passages of the index wait for their vectors"),
        Route::post(
            "/v1/documents/remove",
            Write,
            "Removes documents: those at exactly these paths, or with metadata like a condition.",
            documents::remove,
        )
        .of_index()
        .answers("how many"),
        Route::get(
            "/v1/documents/{id}",
            Read,
            "Shows a document with its passages.",
            documents::document,
        )
        .of_index()
        .answers("what is known of the document, and its passages"),
        Route::delete("/v1/documents/{id}", Write, "Removes a document.", documents::delete)
            .of_index()
            .answers("how many"),
        Route::get(
            "/v1/chunks/{id}",
            Read,
            "Shows a passage with its neighbours.",
            documents::chunk,
        )
        .of_index()
        .answers("the passage, and those before and after it"),
    ]
}

fn about_the_graph() -> Vec<Route> {
    vec![
        Route::get(
            "/v1/graph/entities",
            Read,
            "Lists the most important entities.",
            graph::entities,
        )
        .of_index()
        .query(graph::MOST)
        .answers("the entities, the most important first"),
        Route::get(
            "/v1/graph/entity",
            Read,
            "Shows an entity and what it is related to.",
            graph::entity,
        )
        .of_index()
        .query(graph::NAMED)
        .answers("`EntityView`"),
        Route::get(
            "/v1/graph/communities",
            Read,
            "Lists the communities of the graph with their reports.",
            graph::communities,
        )
        .of_index()
        .answers("the communities"),
        Route::page(
            "/v1/graph/subgraph",
            Read,
            "Shows entities and the relations among them.",
            &[JSON, graph::SVG],
            graph::subgraph,
        )
        .of_index()
        .query(graph::AROUND)
        .gives::<Subgraph>()
        .answers("`Subgraph`, or a drawing of it"),
    ]
}

fn about_memory() -> Vec<Route> {
    let asks = |route: Route| route.of_index().kind(Kind::Memory);
    vec![
        Route::post("/v1/memory/observe", MemoryWrite, "Stores what happened.", memory::observe)
            .stores::<ObservationDraft>()
            .of_index()
            .answers("`Observation`, with the name of the token as its actor"),
        Route::post("/v1/memory/claims", MemoryWrite, "Stores a claim.", memory::claim)
            .stores::<ClaimDraft>()
            .of_index()
            .answers("`Claim`"),
        Route::post(
            "/v1/memory/feedback",
            MemoryWrite,
            "Corrects claims by what is said of them.",
            memory::feedback,
        )
        .of_index()
        .answers("what each did"),
        Route::post(
            "/v1/memory/sessions",
            MemoryWrite,
            "Begins a session of work.",
            memory::begin_session,
        )
        .of_index()
        .answers("`Session`, which this token alone knows"),
        Route::post(
            "/v1/memory/sessions/{id}/end",
            MemoryWrite,
            "Ends a session with what was done in it.",
            memory::end_session,
        )
        .of_index()
        .answers("`Session`"),
        asks(
            Route::post(
                "/v1/memory/recall",
                MemoryRead,
                "Finds what is remembered and answers.",
                memory::recall,
            )
            .answers("claims with what speaks for them, or episodes for the profile `episodes`"),
        ),
        asks(
            Route::post(
                "/v1/memory/context",
                MemoryRead,
                "Packs what to tell a model, within its window.",
                memory::context,
            )
            .answers("`PackedContext`"),
        ),
        asks(
            Route::post("/v1/memory/find", MemoryRead, "Finds units of every kind.", memory::find)
                .answers("views of the units"),
        ),
        asks(
            Route::post(
                "/v1/memory/validate",
                MemoryRead,
                "Says whether something may pass the boundary of the token.",
                memory::validate,
            )
            .answers("`Validation`"),
        ),
    ]
}

fn about_the_care_of_memory() -> Vec<Route> {
    vec![
        Route::post(
            "/v1/memory/forget",
            Admin,
            "Erases a subject, a unit or a document from every file.",
            memory::forget,
        )
        .of_index()
        .answers("`ForgetReceipt`: what was removed, and the proof"),
        Route::get(
            "/v1/memory/units/{id}",
            Admin,
            "Tells all that is known of a unit; no boundary is asked.",
            memory::unit,
        )
        .of_index()
        .answers("`UnitRecord`"),
        Route::page(
            "/v1/memory/policy",
            Admin,
            "Shows the policy of the memory.",
            &["application/yaml"],
            memory::policy,
        )
        .of_index()
        .query(memory::VERSION)
        .answers("the policy as it was written"),
        Route::put_text(
            "/v1/memory/policy",
            Admin,
            "Checks a policy, and lets it hold.",
            memory::apply_policy,
        )
        .of_index()
        .query(memory::DRY_RUN)
        .answers("its version, and whether it holds now"),
    ]
}

fn about_jobs() -> Vec<Route> {
    vec![
        Route::post_for(
            "/v1/jobs",
            Admin,
            "Begins long work, which runs after that begun before.",
            jobs::begin,
        )
        .of_index()
        .kind(Kind::Write)
        .status(202)
        .gives::<JobView>()
        .answers("the job; `Location` leads to it"),
        Route::get("/v1/jobs", Admin, "Lists jobs that run, wait or have ended.", jobs::list)
            .answers("the jobs, the last first"),
        Route::get("/v1/jobs/{id}", Admin, "Tells how far a job is.", jobs::job).answers("the job"),
        Route::delete(
            "/v1/jobs/{id}",
            Admin,
            "Cancels a job: it ends at its next safe point.",
            jobs::cancel,
        )
        .answers("the job"),
        Route::page("/v1/jobs/{id}/events", Admin, "Watches a job.", &[EVENTS], jobs::events)
            .tells::<Done>("progress")
            .tells::<JobView>("done")
            .tells::<JobView>("failed")
            .tells::<JobView>("cancelled")
            .answers(
                "as events: `progress`, then `done`, `failed` or `cancelled` with the job; \
             `Last-Event-ID` resumes",
            ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_route_is_there_once_and_whole() {
        let mut seen = BTreeSet::new();
        for route in routes() {
            assert!(seen.insert((route.method, route.path)), "{route:?}");
            assert!(["GET", "POST", "PUT", "DELETE"].contains(&route.method), "{route:?}");
            assert!(route.summary.ends_with('.') && !route.answers.is_empty(), "{route:?}");
            let is_below_v1 = route.path.starts_with("/v1/") || route.path == "/metrics";
            assert_eq!(route.scope.is_some(), is_below_v1, "{route:?}");
            assert!(route.scope.is_some() || !route.has_index, "{route:?}");
        }
    }
}
