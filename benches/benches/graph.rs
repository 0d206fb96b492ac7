//! The graph asked alone: it walks from what a question names. The fixtures' questions in each
//! language, one by one.

use benches::{Outcome, measure_retriever};
use trefoil::SearchStrategy;

fn main() -> Outcome {
    measure_retriever("graph", &SearchStrategy::GRAPH)
}
