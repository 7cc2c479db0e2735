//! Codes of project files and the command line.

codes! { Project:
    BAD_PROJECT_FILE = "bad-project-file", Error, "A project file is not TOML.";
    UNKNOWN_PROJECT_KEY = "unknown-project-key", Error, "A project file has a key that means nothing.";
    BAD_PROJECT_VALUE = "bad-project-value", Error, "A project file has a value of the wrong kind.";
    BAD_POLICY = "bad-policy", Error, "A governance policy cannot be used.";
    SECRET_IN_PROJECT_FILE = "secret-in-project-file", Error, "A project file holds what looks like a secret.";
    // What flows of the project may use. The run refuses what `stave check` warns about.
    UNLISTED_SECRET = "unlisted-secret", Warning, "A flow uses a secret that the project does not list, or sends it to another host.";
    UNLISTED_VARIABLE = "unlisted-variable", Warning, "A flow takes context from a variable that the project does not list.";
    IGNORED_PROJECT_FILE = "ignored-project-file", Warning, "A project file inside another project is not used.";
}
