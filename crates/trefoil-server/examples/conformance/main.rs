//! A server for the conformance suite of the Model Context Protocol: the tools, resources and
//! prompts that the suite asks for, behind the router, the layers and the limits of this crate.
//! `just conformance` runs the suite.
//!
//! With `--sessions` it keeps sessions, as clients of 2025-11-25 know them.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]
#![expect(deprecated, reason = "the suite asks for sampling and logging of 2025-11-25 too")]

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
        CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock,
        CreateMessageRequestParams, ElicitRequestParams, GetPromptRequestParams, GetPromptResponse,
        GetPromptResult, Implementation, InputRequests, InputRequiredResult, InputResponses,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams,
        ProgressNotificationParam, Prompt, PromptMessage, ReadResourceRequestParams,
        ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
        SamplingMessage, ServerCapabilities, ServerConfig, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    },
    service::{RequestContext, SubscriptionContext, SubscriptionSink},
};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use trefoil::{EngineConfig, Model, admin::SystemClock};
use trefoil_server::{IndexSettings, Limits, Reload, Server, ServerSettings, Stop};

/// What the suite asks for, as its own descriptions say.
#[derive(Debug, Deserialize)]
struct Fixtures {
    tools: Vec<Tool>,
    /// Tools that always answer the same.
    answers: HashMap<String, CallToolResult>,
    /// Tools that ask the client for a form while they run.
    elicitations: HashMap<String, ElicitRequestParams>,
    /// What asks for more before it answers.
    asks: HashMap<String, Asks>,
    prompts: Vec<Prompt>,
    said: HashMap<String, Value>,
    resources: Vec<Resource>,
    contents: HashMap<String, ResourceContents>,
    templates: Vec<ResourceTemplate>,
}

/// What a request asks for, round by round.
#[derive(Debug, Deserialize)]
struct Asks {
    rounds: Vec<BTreeMap<String, Value>>,
    /// Whether the client carries a state that it cannot change.
    #[serde(default)]
    sealed: bool,
    /// Whether a client is asked only for what it can.
    #[serde(default)]
    able: bool,
}

static FIXTURES: LazyLock<Fixtures> =
    LazyLock::new(|| serde_json::from_str(include_str!("fixtures.json")).unwrap());

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

#[derive(Clone, Debug, Default)]
struct Suite {
    listening: Arc<Mutex<HashMap<u64, SubscriptionSink>>>,
    next: Arc<AtomicU64>,
}

/// How long clients may keep lists and resources.
const KEPT: u64 = 60_000;

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text.into())])
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// A round, which the client hands back as it is.
fn sealed(round: usize) -> String {
    format!("{round}.{:?}", Sha256::digest(format!("{round} of the conformance suite")))
}

fn opened(state: &str) -> Result<usize, ErrorData> {
    let round = state.split('.').next().and_then(|round| round.parse().ok());
    round.filter(|round| sealed(*round) == state).ok_or_else(|| {
        ErrorData::invalid_params("`requestState` is not what this server gave", None)
    })
}

/// What is still to be asked for; nothing if all is there.
fn asked(
    asks: &Asks,
    responses: Option<&InputResponses>,
    state: Option<&str>,
    can: &ClientCapabilities,
) -> Result<Option<InputRequiredResult>, ErrorData> {
    let round = state.map(opened).transpose()?.unwrap_or_default();
    let is_there =
        |key: &String| responses.and_then(|all| all.get(key)).is_some_and(Value::is_object);
    // Of an unsealed request, the responses tell that it was asked before.
    let last = if asks.sealed { round.checked_sub(1) } else { Some(0) };
    let next = match last.and_then(|last| asks.rounds.get(last)) {
        Some(inputs) if asks.able && responses.is_some() => asks.rounds.len().max(inputs.len()),
        Some(inputs) if inputs.keys().all(is_there) => round.max(1),
        _ => last.unwrap_or_default(),
    };
    let Some(inputs) = asks.rounds.get(next) else { return Ok(None) };
    let can_answer = |request: &Value| match request["method"].as_str() {
        Some("elicitation/create") => can.elicitation.is_some(),
        Some("sampling/createMessage") => can.sampling.is_some(),
        _ => can.roots.is_some(),
    };
    let mut requests = InputRequests::new();
    for (key, request) in inputs.iter().filter(|(_, request)| !asks.able || can_answer(request)) {
        requests.insert(key.clone(), serde_json::from_value(request.clone()).map_err(internal)?);
    }
    if requests.is_empty() {
        return Ok(None);
    }
    Ok(Some(InputRequiredResult::new(Some(requests), asks.sealed.then(|| sealed(next + 1)))))
}

impl Suite {
    async fn work(
        &self,
        request: CallToolRequestParams,
        context: &Context,
    ) -> Result<CallToolResult, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let can = context.meta.client_capabilities().unwrap_or_default();
        let log = |level, what: &str| {
            let note = LoggingMessageNotificationParam::new(level, json!(what));
            context.peer.notify_logging_message(note)
        };
        match &*request.name {
            "test_tool_with_logging" => {
                for step in ["started", "processing data", "completed"] {
                    let told = log(LoggingLevel::Info, &format!("Tool execution {step}")).await;
                    told.map_err(internal)?;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            "test_logging_tool" => {
                if let Some(level) = context.meta.log_level() {
                    log(level, "This level was asked for").await.map_err(internal)?;
                }
            }
            "test_tool_with_progress" => {
                for progress in [0.0, 50.0, 100.0] {
                    if let Some(token) = context.meta.get_progress_token() {
                        let note =
                            ProgressNotificationParam::new(token, progress).with_total(100.0);
                        context.peer.notify_progress(note).await.map_err(internal)?;
                    }
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            }
            "test_custom_header" => return Ok(said(text("value"))),
            "test_sampling" => {
                let message = SamplingMessage::user_text(text("prompt"));
                let asked = CreateMessageRequestParams::new(vec![message], 100);
                let answer = context.peer.create_message(asked).await.map_err(internal)?;
                let content = answer.message.content.first().and_then(|part| part.as_text());
                let answer = content.map_or_else(String::new, |content| content.text.clone());
                return Ok(said(format!("LLM response: {answer}")));
            }
            "test_missing_capability" if can.sampling.is_none() => {
                let needed = ClientCapabilities::builder().enable_sampling().build();
                return Err(ErrorData::missing_required_client_capability(needed));
            }
            "test_trigger_tool_change" | "test_trigger_prompt_change" => {
                let all: Vec<_> = self.listening.lock().unwrap().values().cloned().collect();
                for one in all {
                    // One that has gone need not be told.
                    if request.name == "test_trigger_tool_change" {
                        drop(one.notify_tool_list_changed().await);
                    } else {
                        drop(one.notify_prompt_list_changed().await);
                    }
                }
            }
            "test_missing_capability" => {}
            name => {
                if let Some(form) = FIXTURES.elicitations.get(name) {
                    let answer = context.peer.create_elicitation(form.clone()).await;
                    let answer = serde_json::to_string(&answer.map_err(internal)?);
                    return Ok(said(format!("User response: {}", answer.map_err(internal)?)));
                }
                let found = FIXTURES.answers.get(name).cloned();
                return found
                    .ok_or_else(|| ErrorData::invalid_params("there is no such tool", None));
            }
        }
        Ok(said("Done."))
    }
}

impl ServerHandler for Suite {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_logging()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("trefoil-conformance", "1"))
    }

    // What headers say of arguments is checked against the schema.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        FIXTURES.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn ping(&self, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        wanted: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(wanted.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let key = self.next.fetch_add(1, Ordering::Relaxed);
        self.listening.lock().unwrap().insert(key, context.sink().clone());
        context.cancelled().await;
        self.listening.lock().unwrap().remove(&key);
        Ok(())
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        let all = ListToolsResult::with_all_items(FIXTURES.tools.clone());
        Ok(all.with_ttl_ms(KEPT).with_cache_scope(CacheScope::Public))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(asks) = FIXTURES.asks.get(&*request.name) else {
            return self.work(request, &context).await.map(Into::into);
        };
        let (responses, state) =
            (request.input_responses.as_ref(), request.request_state.as_deref());
        let can = context.meta.client_capabilities().unwrap_or_default();
        Ok(match asked(asks, responses, state, &can)? {
            Some(required) => required.into(),
            None => said("All that was asked for is there.").into(),
        })
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        let all = ListResourcesResult::with_all_items(FIXTURES.resources.clone());
        Ok(all.with_ttl_ms(KEPT).with_cache_scope(CacheScope::Public))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = ListResourceTemplatesResult::with_all_items(FIXTURES.templates.clone());
        Ok(all.with_ttl_ms(KEPT).with_cache_scope(CacheScope::Public))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.as_str();
        let of_template =
            uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match of_template {
            Some(id) => {
                let text =
                    json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
                let content =
                    json!({"uri": uri, "mimeType": "application/json", "text": text.to_string()});
                Some(serde_json::from_value(content).map_err(internal)?)
            }
            None => FIXTURES.contents.get(uri).cloned(),
        };
        let content = content.ok_or_else(|| {
            let told = Some(json!({"uri": uri}));
            ErrorData::resource_not_found(format!("Resource not found: {uri}"), told)
        })?;
        let found = ReadResourceResult::new(vec![content]);
        Ok(found.with_ttl_ms(KEPT).with_cache_scope(CacheScope::Public).into())
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        let all = ListPromptsResult::with_all_items(FIXTURES.prompts.clone());
        Ok(all.with_ttl_ms(KEPT).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let missing = || ErrorData::invalid_params("there is no such prompt", None);
        let messages = FIXTURES.said.get(&*request.name).ok_or_else(missing)?;
        if let Some(asks) = FIXTURES.asks.get(&*request.name) {
            let can = context.meta.client_capabilities().unwrap_or_default();
            let required = asked(asks, request.input_responses.as_ref(), None, &can)?;
            if let Some(required) = required {
                return Ok(required.into());
            }
        }
        let mut text = messages.to_string();
        for (name, value) in request.arguments.iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            text = text.replace(&format!("{{{name}}}"), value);
        }
        let messages: Vec<PromptMessage> = serde_json::from_str(&text).map_err(internal)?;
        Ok(GetPromptResult::new(messages).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let all = ["paris", "park", "party"];
        let begun = all.into_iter().filter(|value| value.starts_with(&request.argument.value));
        let values = begun.map(str::to_owned).collect();
        Ok(CompleteResult::new(CompletionInfo::new(values).map_err(internal)?))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}

#[expect(clippy::print_stdout, reason = "the suite is told the address")]
fn main() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::bind(ServerSettings {
        addr: ([127, 0, 0, 1], 0).into(),
        indexes: vec![IndexSettings {
            name: "main".to_owned(),
            dir: folder.path().join("main"),
            engine: EngineConfig { model: Model::None, ..EngineConfig::default() },
        }],
        read_only: false,
        // The suite sends no token.
        no_auth: true,
        no_mcp: false,
        tokens: folder.path().join("tokens.toml"),
        hosts: Vec::new(),
        roots: Vec::new(),
        // The suite asks faster than a person does.
        limits: Limits { burst: 10_000, requests_per_minute: 10_000, ..Limits::default() },
        clock: Arc::new(SystemClock),
        reload: Reload::default(),
    });
    let server = server.unwrap();
    println!("http://{}/mcp", server.address());
    let has_sessions = std::env::args().any(|argument| argument == "--sessions");
    server.run_with(&Stop::default(), Suite::default(), has_sessions).unwrap();
}
