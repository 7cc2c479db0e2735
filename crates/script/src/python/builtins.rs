//! What the interpreter offers by name.

/// Builtin functions, types and singletons. `open` exists too, but every use of it is refused.
pub(crate) const BUILTINS: &[&str] = &[
    "abs", "all", "any", "bin", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter", "float",
    "frozenset", "getattr", "hasattr", "hash", "hex", "id", "int", "isinstance", "iter", "len", "list",
    "map", "max", "min", "next", "object", "oct", "ord", "pow", "print", "property", "range", "repr",
    "reversed", "round", "set", "setattr", "slice", "sorted", "str", "sum", "tuple", "type", "zip",
    "Ellipsis", "NotImplemented",
];

/// Exceptions that are known without an import.
pub(crate) const EXCEPTIONS: &[&str] = &[
    "ArithmeticError", "AssertionError", "AttributeError", "BaseException", "Exception", "FileExistsError",
    "FileNotFoundError", "ImportError", "IndexError", "IsADirectoryError", "KeyError", "KeyboardInterrupt",
    "LookupError", "MemoryError", "ModuleNotFoundError", "NameError", "NotADirectoryError",
    "NotImplementedError", "OSError", "OverflowError", "PermissionError", "RecursionError", "RuntimeError",
    "StopIteration", "SyntaxError", "SystemExit", "TimeoutError", "TypeError", "UnboundLocalError",
    "UnicodeDecodeError", "UnicodeEncodeError", "ValueError", "ZeroDivisionError",
];

/// Builtins of Python that the interpreter does not have, so that a message can say so.
pub(crate) const ABSENT_BUILTINS: &[&str] = &[
    "__import__", "aiter", "anext", "ascii", "breakpoint", "bytearray", "callable", "classmethod",
    "compile", "complex", "delattr", "dir", "eval", "exec", "format", "globals", "help", "input",
    "issubclass", "locals", "memoryview", "open", "staticmethod", "super", "vars",
];

/// Modules that can be imported.
pub(crate) const MODULES: &[&str] = &[
    "asyncio", "base64", "binascii", "collections", "dataclasses", "datetime", "functools", "itertools",
    "json", "math", "os", "pathlib", "re", "sys", "typing", "unicodedata",
];

pub(crate) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name) || EXCEPTIONS.contains(&name)
}
