//! Codes of the Python, expressions and templates inside a flow.

codes! { Flow:
    INVALID_PYTHON = "invalid-python", Error, "a code transform that is not Python";
    MISSING_TRANSFORM_FUNCTION = "missing-transform-function", Error, "code that defines no function named `transform`";
    DUPLICATE_TRANSFORM_FUNCTION = "duplicate-transform-function", Error, "code that defines `transform` more than once";
    WRONG_TRANSFORM_PARAMETERS = "wrong-transform-parameters", Error, "a `transform` function without exactly three parameters";
    TOP_LEVEL_STATEMENT = "top-level-statement", Error, "code outside a function that would run when it is loaded";
    UNDEFINED_NAME = "undefined-name", Error, "a name in code that nothing defines";
    UNAVAILABLE_IMPORT = "unavailable-import", Error, "an import of a module that the sandbox does not have";
    UNSUPPORTED_PYTHON = "unsupported-python", Error, "Python syntax that the sandbox does not run";
    UNKNOWN_STATE_METHOD = "unknown-state-method", Error, "a use of `state` that is neither `get`, `set` nor `delete`";
    SUBSCRIPTED_CONTEXT = "subscripted-context", Error, "`context` read with a subscript, though it has attributes";
    UNAWAITED_STATE_CALL = "unawaited-state-call", Warning, "a call of `state` that nothing awaits";
    INVALID_EXPRESSION = "invalid-expression", Error, "an expression that is not one Python expression";
    UNKNOWN_EXPRESSION_NAME = "unknown-expression-name", Error, "a name in an expression that is not bound there";
    FORBIDDEN_CALL = "forbidden-call", Error, "a call in an expression of something outside the allowed functions";
    FORBIDDEN_EXPRESSION = "forbidden-expression", Error, "Python in an expression that is outside the allowed subset";
    UNKNOWN_ATTRIBUTE = "unknown-attribute", Error, "an attribute of a plain value in an expression";
    NON_BOOLEAN_CONDITION = "non-boolean-condition", Warning, "a condition whose value is not true or false";
    INVALID_TEMPLATE = "invalid-template", Error, "a template that is not Jinja";
    UNKNOWN_TEMPLATE_VARIABLE = "unknown-template-variable", Error, "a variable in a template that is not bound there";
    UNKNOWN_FILTER = "unknown-filter", Error, "a filter in a template that does not exist";
    UNKNOWN_TEST = "unknown-test", Error, "a test in a template that does not exist";
    TEMPLATE_INCLUDE = "template-include", Error, "a template that wants another template";
}
