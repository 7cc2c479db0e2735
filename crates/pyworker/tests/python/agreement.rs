//! The checker and the interpreter agree on what exists.

use stave_diag::{Embedded, SourceId};
use stave_script::python::MODULES;
use stave_script::{JobLimits, PythonPool, ScriptError, check_transform};

use crate::support::{job, pool};

/// Every name that Python itself has without an import, but for `_`, `copyright` and their like.
const BUILTINS: &str = "ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup \
    BlockingIOError BrokenPipeError BufferError BytesWarning ChildProcessError ConnectionAbortedError \
    ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis \
    EncodingWarning EnvironmentError Exception ExceptionGroup False FileExistsError FileNotFoundError \
    FloatingPointError FutureWarning GeneratorExit IOError ImportError ImportWarning IndentationError \
    IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError MemoryError \
    ModuleNotFoundError NameError None NotADirectoryError NotImplemented NotImplementedError OSError \
    OverflowError PendingDeprecationWarning PermissionError ProcessLookupError RecursionError \
    ReferenceError ResourceWarning RuntimeError RuntimeWarning StopAsyncIteration StopIteration \
    SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True TypeError \
    UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError \
    UnicodeWarning UserWarning ValueError Warning ZeroDivisionError __import__ __name__ __file__ __doc__ __spec__ __builtins__ __package__ __loader__ __build_class__ __debug__ abs aiter all \
    anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr \
    dict dir divmod enumerate eval exec filter float format frozenset getattr globals hasattr hash help \
    hex id input int isinstance issubclass iter len list locals map max memoryview min next object oct \
    ord pow print property range repr reversed round set setattr slice sorted staticmethod str sum super \
    tuple type vars zip";

fn accepts(code: &str) -> bool {
    let code = Embedded::verbatim(code, SourceId(0), 0);
    check_transform(&code, code.whole()).diagnostics.is_empty()
}

async fn outcome(pool: &PythonPool, code: &str) -> Result<(), ScriptError> {
    pool.transform(job(code), None, &JobLimits::DEFAULT).await.map(drop)
}

#[tokio::test]
async fn a_builtin_is_known_to_the_checker_exactly_when_the_interpreter_has_it() {
    let pool = pool(1);
    let mut wrong = Vec::new();
    for name in BUILTINS.split_whitespace() {
        let code = format!("def transform(inputs, context, state):\n    x = {name}\n    return 1\n");
        let ran = outcome(&pool, &code).await;
        let absent = matches!(&ran, Err(error) if error.kind() == "NameError");
        if accepts(&code) == absent {
            wrong.push(format!("{name}: {ran:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_module_is_known_to_the_checker_exactly_when_the_interpreter_has_it() {
    let pool = pool(1);
    let absent = "random time uuid hashlib statistics string urllib decimal textwrap enum copy operator csv html \
        heapq bisect logging abc contextlib fractions inspect io numbers secrets socket subprocess threading \
        traceback types warnings zlib gc struct requests numpy pandas";
    for name in absent.split_whitespace().chain(MODULES.iter().map(|(name, _)| *name)) {
        let code = format!("import {name}\n\ndef transform(inputs, context, state):\n    return 1\n");
        let ran = outcome(&pool, &code).await;
        assert_eq!(accepts(&code), ran.is_ok(), "{name}: {ran:?}");
    }
}

#[tokio::test]
async fn what_a_module_is_said_to_have_can_be_imported() {
    let pool = pool(1);
    for (module, members) in MODULES {
        let code = format!(
            "from {module} import {}\n\ndef transform(inputs, context, state):\n    return 1\n",
            members.join(", ")
        );
        assert_eq!(outcome(&pool, &code).await, Ok(()), "{module}");
        assert!(accepts(&code), "{module}");
    }
    for (module, name) in [
        ("functools", "lru_cache"),
        ("itertools", "groupby"),
        ("collections", "OrderedDict"),
        ("dataclasses", "field"),
        ("os", "environ"),
        ("os", "path"),
        ("math", "fsum"),
        ("json", "load"),
        ("re", "VERBOSE"),
    ] {
        let code = format!("from {module} import {name}\n\ndef transform(a, b, c):\n    return 1\n");
        assert!(outcome(&pool, &code).await.is_err() && !accepts(&code), "{module}.{name}");
    }
}

#[tokio::test]
async fn syntax_is_refused_by_both_or_by_neither() {
    let pool = pool(1);
    let mut wrong = Vec::new();
    for body in [
        "x = [1, *[2, 3]]",
        "x = {**{'a': 1}, 'b': 2}",
        "f = lambda *a, **k: (a, k)",
        "x = f'{1!r:>5} {2:.2f}'",
        "a, (b, *c) = 1, (2, 3)",
        "x = 1 if True else 2",
        "try:\n        raise ValueError('x') from None\n    except (ValueError, KeyError) as e:\n        pass\n    else:\n        pass\n    finally:\n        pass",
        "x = {k: v for k, v in [(1, 2)] if k}",
        "while False:\n        break\n    else:\n        pass",
        "x = [i for j in [[1]] for i in j]",
        "if (n := 3) > 2: pass",
        "assert 1 == 1, 'fine'",
        "x = 'a' 'b'",
        "x = 1_000 + 0xff",
        "x: int = 3",
        "class A:\n        y = 1\n        def m(self): return self.y\n    A().m()",
        "def g(a, /, b, *, c=1): return a + b + c\n    g(1, 2)",
        "x = not (1 < 2 <= 3)",
        "x = [1, 2, 3][::-1]",
        "x = 5; x += 1; x //= 2",
        "global Z\n    Z = 1",
        "x = b'abc'",
        "x = ...",
        "x = {1, 2} | {3}",
        "x = [*range(3)]",
        "x = sum(i for i in range(3))",
        "def d(f): return f\n    @d\n    def h(): return 1\n    h()",
        "yield 1",
        "x = yield",
        "del inputs",
        "match 1:\n        case 1: pass",
        "class B(Exception): pass",
        "async for i in []: pass",
        "async with inputs: pass",
        "x = 2j",
        "x = 'a %s' % 'b'",
        "try:\n        pass\n    except* ValueError:\n        pass",
        "type X = int",
        "x = [i async for i in []]",
        "class C:\n        @staticmethod\n        def s(): return 1",
        "dict(**{}, **{})",
        "def g(**k): return k\n    g(**{}, **{})",
        "def g(a, *b): return b\n    g(*[1], *[2])",
        "'a'.format(**{}, **{})",
        "print(*[1], *[2])",
        "x = *[1], 2",
        "import json as j\n    j.dumps(1)",
        "nonlocal_ = 1",
        "x = [1, 2]; x[0], x[1] = x[1], x[0]",
        "x = {}; x['a'] = x['b'] = 1",
        "x = lambda: (yield)",
        "class P: pass\n    p = P()\n    p.a, b = 1, 2",
        "x = {}\n    for x['a'] in [1]: pass",
        "x = {}\n    y = [0 for x['a'] in [1]]",
        "[a, b] = [1, 2]",
        "for [a, b] in [[1, 2]]: pass",
        "x = [0]\n    x[0] += 1",
        "class Q: pass\n    q = Q()\n    q.n = 1\n    q.n += 1",
        "x = [[0]]\n    x[0][0] += 1",
        "x = [1, 2, 3]; x[0:2] = [9]",
        "x = 1 @ 2",
        "break",
        "continue",
        "for i in [1]:\n        def h(): break",
        "nonlocal q",
        "def h(a, a): return a",
        "def h(**k): return k\n    h(a=1, a=2)",
        "q = 1\n    global q",
        "def h():\n        nonlocal q\n        q = 1",
        "x = 1 = 2",
        "f() = 1",
        "def h(a=1, b): return a",
        "return 1",
        "x = [y := 1 for z in [1]]",
        "None = 1",
        "x = (yield)",
        "import json.decoder",
        "from os import path as p",
        "x = {'a': 1}['a']",
        "try:\n        pass\n    except:\n        pass\n    except ValueError:\n        pass",
        "a, *b, *c = 1, 2",
        "*a = 1",
        "x = lambda a=1, *b, c, **d: 0",
        "if True:\n        import json\n    json.dumps(1)",
        "x = '\\N{BULLET}'",
        "x = f'{1=}'",
        "x = f'{\"a\"}'",
        "assert True, (1, 2)",
        "x = [1,2,3]\n    print(x[-1], x[1:], x[::2])",
        "x = 1if 1else 2",
        "x = 0777",
        "x = u'a' r'b'",
        "a = b = 1",
        "a, b = c, d = 1, 2",
        "from __future__ import annotations",
        "x = '{:>{w}}'.format(1, w=3)",
        "with open('x') as f: pass",
    ] {
        let code = format!("def transform(inputs, context, state):\n    {body}\n    return 1\n");
        let ran = outcome(&pool, &code).await;
        let accepted = accepts(&code);
        if accepted != ran.is_ok() {
            wrong.push(format!("{body:?}: accepted {accepted}, ran {ran:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
