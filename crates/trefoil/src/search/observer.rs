use trefoil_core::{Deadline, Error, Result, SearchEvent};

use crate::search::{
    diagnostics::Diagnostics,
    graded::{Graded, GradedPassage},
    rerank::unread,
    retrieve::Retrieved,
    searcher::{ReadPassages, Request, Searcher},
};

/// Who watches a search, and whether anybody waits for it.
pub(crate) struct Observer<'e, 'd> {
    on_event: Option<&'e mut dyn FnMut(SearchEvent)>,
    deadline: &'d Deadline,
    /// How many stages it was told of.
    told: usize,
}

impl<'e, 'd> Observer<'e, 'd> {
    pub(crate) const fn new(
        on_event: Option<&'e mut dyn FnMut(SearchEvent)>,
        deadline: &'d Deadline,
    ) -> Self {
        Self { on_event, deadline, told: 0 }
    }

    /// Tells of the stages that have ended since the last call.
    ///
    /// # Errors
    /// [`Error::Cancelled`] if nobody waits for the search.
    pub(crate) fn stages(&mut self, diagnostics: &Diagnostics) -> Result<()> {
        if self.deadline.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if let Some(on_event) = &mut self.on_event {
            for stage in diagnostics.ended(self.told) {
                self.told += 1;
                on_event(SearchEvent::Stage(*stage));
            }
        }
        Ok(())
    }

    /// Tells what the results are before the passages are read together with the question, if
    /// they are going to be.
    ///
    /// # Errors
    /// Those of the stages after reading.
    pub(crate) fn provisional(
        &mut self,
        searcher: Searcher<'_>,
        request: Request<'_>,
        retrieved: &Retrieved,
        read: &ReadPassages,
    ) -> Result<()> {
        let plan = request.plan;
        let Some(on_event) = self.on_event.as_mut().filter(|_| plan.rerank.is_some()) else {
            return Ok(());
        };
        let ranked = unread(read.passages.clone(), &searcher.mention_strength(plan));
        let mut graded = Graded::ungraded(ranked, read.total);
        let passages: Vec<GradedPassage> = std::mem::take(&mut graded.passages);
        let selected = searcher.select(plan, passages)?;
        let diagnostics = Diagnostics::start();
        let result =
            searcher.present(request, retrieved.clone(), graded, &selected, diagnostics)?;
        on_event(SearchEvent::Provisional(result.results));
        Ok(())
    }
}
