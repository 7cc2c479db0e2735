//! Codes of the Python, expressions and templates inside a flow.

codes! { Flow:
    INVALID_PYTHON = "invalid-python", Error, "A code transform is not Python.";
    MISSING_TRANSFORM_FUNCTION = "missing-transform-function", Error, "Code defines no function named `transform`.";
    DUPLICATE_TRANSFORM_FUNCTION = "duplicate-transform-function", Error, "Code defines `transform` more than once.";
    WRONG_TRANSFORM_PARAMETERS = "wrong-transform-parameters", Error, "A `transform` function does not have exactly three parameters.";
    TOP_LEVEL_STATEMENT = "top-level-statement", Error, "Code outside a function would run when it is loaded.";
    UNDEFINED_NAME = "undefined-name", Error, "Code reads a name that nothing defines.";
    UNAVAILABLE_IMPORT = "unavailable-import", Error, "Code imports a module that the sandbox does not have.";
    UNSUPPORTED_PYTHON = "unsupported-python", Error, "Code uses Python syntax that the sandbox does not run.";
    UNKNOWN_STATE_METHOD = "unknown-state-method", Error, "Code uses `state` for something other than `get`, `set` and `delete`.";
    SUBSCRIPTED_CONTEXT = "subscripted-context", Error, "`context` is read with a subscript, though it has attributes.";
    UNAWAITED_STATE_CALL = "unawaited-state-call", Warning, "Nothing awaits a call of `state`.";
    INVALID_EXPRESSION = "invalid-expression", Error, "An expression is not one Python expression.";
    UNKNOWN_EXPRESSION_NAME = "unknown-expression-name", Error, "An expression uses a name that is not bound there.";
    FORBIDDEN_CALL = "forbidden-call", Error, "An expression calls something outside the allowed functions.";
    FORBIDDEN_EXPRESSION = "forbidden-expression", Error, "An expression uses Python outside the allowed subset.";
    UNKNOWN_ATTRIBUTE = "unknown-attribute", Error, "An expression reads an attribute of a plain value.";
    MISMATCHED_COMPARISON = "mismatched-comparison", Warning, "A comparison of two types fails or decides nothing.";
    NON_BOOLEAN_CONDITION = "non-boolean-condition", Warning, "A condition gives something other than true or false.";
    INVALID_TEMPLATE = "invalid-template", Error, "A template is not Jinja.";
    UNKNOWN_TEMPLATE_VARIABLE = "unknown-template-variable", Error, "A template reads a variable that is not bound there.";
    UNKNOWN_FILTER = "unknown-filter", Error, "A template uses a filter that does not exist.";
    UNKNOWN_TEST = "unknown-test", Error, "A template uses a test that does not exist.";
    TEMPLATE_INCLUDE = "template-include", Error, "A template wants another template.";
}
