//! Codes of exec documents.

codes! { Exec:
}
