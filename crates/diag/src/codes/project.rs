//! Codes of project files and the command line.

codes! { Project:
}
