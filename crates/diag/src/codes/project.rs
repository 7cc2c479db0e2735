//! Codes of project files and the command line.

codes! { Project:
    BAD_PROJECT_FILE = "bad-project-file", Error, "A project file is not TOML.";
    UNKNOWN_PROJECT_KEY = "unknown-project-key", Error, "A project file has a key that means nothing.";
    BAD_PROJECT_VALUE = "bad-project-value", Error, "A project file has a value of the wrong kind.";
    BAD_POLICY = "bad-policy", Error, "A governance policy can not be used.";
    SECRET_IN_PROJECT_FILE = "secret-in-project-file", Error, "A project file holds what looks like a secret.";
}
