//! The JSON Schemas of what goes over the boundary, from which the types of Python are made.

use pyo3::{Bound, PyResult, Python, types::PyBytes};
use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde_json::json;
use trefoil::{
    Document, Ingested, SearchQuery, SearchResult,
    admin::{
        EngineStats, ForgetReceipt, HealthReport, JobCounts, RepairReport, Snapshot, Verification,
    },
    graph::{CommunityView, EntityView, Subgraph},
    index::{FileInfo, StoredChunk},
    search::{Lost, Plan},
};
use trefoil_memory::{
    Claim, ClaimDraft, ContextRequest, FeedbackInput, FeedbackOutcome, FindOptions, FoundUnits,
    MaintenanceReport, Observation, ObservationDraft, PackedContext, RecalledClaims,
    RecalledEpisodes, Session, UnitRecord, recall::RecallQuery,
};

use crate::{
    calls::{ChunkInContext, StoredDocument},
    failure::Failure,
    settings::ModelInfo,
};

macro_rules! name_all {
    ($generator:expr, $($type:ty),* $(,)?) => {
        $(name::<$type>(&mut $generator);)*
    };
}

fn name<T: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<T>();
}

/// Schemas of what is taken and of what is given, by the names of their types.
pub(crate) fn all(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let settings = SchemaSettings::draft2020_12();
    let mut given = settings.clone().for_serialize().into_generator();
    let mut taken = settings.into_generator();
    name_all!(
        taken,
        Document,
        SearchQuery,
        ObservationDraft,
        ClaimDraft,
        FeedbackInput,
        RecallQuery,
        ContextRequest,
        FindOptions,
    );
    name_all!(
        given,
        SearchResult,
        Plan,
        Ingested,
        JobCounts,
        EngineStats,
        ForgetReceipt,
        Verification,
        HealthReport,
        RepairReport,
        Snapshot,
        MaintenanceReport,
        EntityView,
        Subgraph,
        FileInfo,
        StoredChunk,
        StoredDocument,
        ChunkInContext,
        CommunityView,
        Lost,
        ModelInfo,
        Observation,
        Claim,
        FeedbackOutcome,
        RecalledClaims,
        RecalledEpisodes,
        PackedContext,
        FoundUnits,
        Session,
        UnitRecord,
    );
    let all = json!({
        "taken": taken.take_definitions(true),
        "given": given.take_definitions(true),
    });
    let json = serde_json::to_vec(&all).map_err(|error| Failure::from(error).into_exception(py))?;
    Ok(PyBytes::new(py, &json))
}
