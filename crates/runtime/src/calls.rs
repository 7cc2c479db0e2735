//! The calls that a step makes on its way, answered from the journal when they were made before.
//!
//! A step that was interrupted begins again. Its model turns and tool calls that have an answer in the
//! journal are not made a second time, as long as the step asks the same questions in the same order.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use stave_canon::Value;
use stave_diag::codes::run as codes;

use crate::journal::{CallRecord, JournalError, Question};
use crate::run::{Call, Run};
use crate::state::Commit;
use crate::task;
use stave_engine::{Failure, FailureKind};

/// The answers that the journal has.
#[derive(Debug, Default)]
pub struct Calls(pub(crate) Mutex<HashMap<(String, u32), CallRecord>>);

impl Calls {
    pub(crate) fn new(records: Vec<CallRecord>) -> Calls {
        let by_place = records.into_iter().map(|record| ((record.node.clone(), record.number), record));
        Calls(Mutex::new(by_place.collect()))
    }

    pub(crate) fn records(&self) -> Vec<CallRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    fn get(&self, path: &str, number: u32, fingerprint: &str) -> Option<Value> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let record = records.get(&(path.to_owned(), number))?;
        (record.fingerprint == fingerprint).then(|| record.result.clone())
    }

    /// The question that an execution asked before.
    fn question(&self, path: &str) -> Option<Question> {
        let records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.get(&(path.to_owned(), 0)).and_then(Question::of_call)
    }

    fn keep(&self, record: CallRecord) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        records.insert((record.node.clone(), record.number), record);
    }
}

impl Call<'_> {
    /// The number of the next call of this execution.
    pub(crate) fn next_number(&self) -> u32 {
        self.counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// The answer that the journal has to a call.
    pub(crate) fn answered(&self, number: u32, fingerprint: &str) -> Option<Value> {
        self.run.calls.get(self.path, number, fingerprint)
    }

    /// Writes an answer down before anything follows from it.
    pub(crate) async fn write_answer(
        &self,
        number: u32,
        fingerprint: String,
        result: Value,
        state: Option<Commit>,
    ) -> Result<(), JournalError> {
        if !self.services.journal.is_durable() {
            return Ok(());
        }
        let record = CallRecord { node: self.path.to_owned(), number, fingerprint, result };
        self.services.journal.record_call(&self.run.id, &record, state).await?;
        self.run.calls.keep(record);
        Ok(())
    }
}

impl Call<'_> {
    /// Writes down what a person is asked, so that it can be decided, and gives the failure that says so.
    pub(crate) async fn ask(&self, mut question: Question) -> Failure {
        let earlier = self.run.calls.question(self.path);
        question.changed =
            earlier.as_ref().is_some_and(|asked| asked.changed || asked.digest != question.digest);
        if self.services.journal.is_durable() && earlier.as_ref() != Some(&question) {
            let record = question.to_call();
            match self.services.journal.record_call(&self.run.id, &record, None).await {
                Ok(()) => self.run.calls.keep(record),
                Err(error @ JournalError::TooLarge { .. }) => return task::too_large(&error),
                Err(error) => return self.run.stop_unwritten(error),
            }
        }
        let text = question.text.as_ref().map_or_else(String::new, |text| format!(": {text}"));
        let message = format!("`{}` waits for a decision{text}", question.address());
        self.run.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(question.path.clone(), question);
        Failure::new(codes::RUN_STOPPED, FailureKind::Waiting, message)
    }
}

impl Run<'_> {
    /// Whether an answer could not be written down, so that nothing more may follow.
    pub(crate) fn is_unwritten(&self) -> bool {
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A step whose answer cannot be written down fails, and its run stops.
    pub(crate) fn stop_unwritten(&self, error: JournalError) -> Failure {
        let failure = Failure::new(codes::STATE_FAILED, FailureKind::Configuration, error.to_string());
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        failure
    }
}
