//! The keyword leg: the fixtures' questions in each language, one by one.

use benches::{Outcome, measure_leg};
use trefoil::SearchStrategy;

fn main() -> Outcome {
    measure_leg("keyword", SearchStrategy::Keyword)
}
