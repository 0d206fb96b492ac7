//! JSON Schemas of reports.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{doctor, snapshot, verify};

/// Gives types the schema of what they are written as.
macro_rules! written_as {
    ($($report:ty => $view:ty,)*) => {$(
        impl JsonSchema for $report {
            fn schema_name() -> Cow<'static, str> {
                <$view>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$view>::json_schema(generator)
            }
        }
    )*};
}

written_as! {
    doctor::CheckResult => doctor::CheckView,
    snapshot::Snapshot => snapshot::SnapshotView,
    verify::Finding => verify::FindingView,
    verify::Verification => verify::VerificationView,
}
