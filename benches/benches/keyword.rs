//! The keyword retriever: the fixtures' questions in each language, one by one.

use benches::{Outcome, measure_retriever};
use trefoil::SearchStrategy;

fn main() -> Outcome {
    measure_retriever("keyword", &SearchStrategy::KEYWORD)
}
