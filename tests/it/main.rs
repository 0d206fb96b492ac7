//! The one integration-test binary of the workspace.
