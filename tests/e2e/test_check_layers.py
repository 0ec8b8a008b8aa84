# SPDX-License-Identifier: Apache-2.0
"""scripts/check-layers finds what it must in small invented trees."""
import pathlib
import subprocess

import pytest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "check-layers"

DESIGN = """# Map

```ranks
0 common/base
3 common/plan
4 common/control
5 common/measure/usage
6 common/engine
7 common/measure
8 common/report
10 tcp_x
```

| file | job |
| --- | --- |
| `base/a` | one |
| `plan/b` | two |
"""

A_H = "/* Does a. */\nint a(void);\n"
B_C = '#include "common/base/a.h"\n\nint b(void)\n{\n\treturn a();\n}\n'


def check(root, files, extra_rows=()):
    """Write a tree, good but for files, and check it: (status, output)."""
    rows = "".join(f"| `{row}` | more |\n" for row in extra_rows)
    tree = {"common/DESIGN.md": DESIGN + rows, "common/base/a.h": A_H,
            "common/plan/b.c": B_C}
    tree.update(files)
    for name, text in tree.items():
        if text is None:
            continue
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run([SCRIPT, "--root", root], capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_good_tree(tmp_path):
    assert check(tmp_path, {}) == (0, "")


@pytest.mark.parametrize("files, rows, message", [
    ({"common/base/a.h": '#include "common/plan/c.h"\n' + A_H,
      "common/plan/c.h": ""}, ("plan/c",),
     "common/base/a.h:1: rank 0 includes common/plan/c.h of rank 3"),
    # The longest path gives the rank: usage is below the engine, series not.
    ({"common/engine/w.c": '#include "common/measure/series.h"\n',
      "common/measure/series.h": ""}, ("engine/w", "measure/series"),
     "rank 6 includes common/measure/series.h of rank 7"),
    ({"common/base/a.h": '#include "common/base/c.h"\n' + A_H,
      "common/base/c.c": '#include "common/base/a.h"\n',
      "common/base/c.h": ""}, ("base/c",), "modules include each other: "),
    ({"common/base/new.c": ""}, (), "base/new is not in the map"),
    ({}, ("base/gone",), "base/gone is in the map, not on disk"),
    ({"common/new/n.c": ""}, ("new/n",), "common/new/n.c:1: has no rank"),
    ({"tcp_y/y.c": ""}, (), "no rank for tcp_y"),
    ({"common/base/a.h": "#include <hwloc.h>\n" + A_H}, (),
     "includes hwloc.h, which only common/plan/ may"),
    ({"common/base/a.h": "#include <numa.h>\n" + A_H}, (), "includes numa.h"),
    ({"common/base/a.h": "#include <cjson/cJSON.h>\n" + A_H}, (),
     "includes cjson/cJSON.h"),
    ({"common/plan/b.c": 'int f(void) { return printf("x"); }\n'}, (),
     "common/plan/b.c:1: writes to standard output"),
    ({"common/plan/b.c": 'void f(void) { fputs("x", stdout); }\n'}, (),
     "writes to standard output"),
    ({"tcp_x/x.c": "void f(void) { setsockopt(1, 2, 3, 0, 0); }\n"}, (),
     "tcp_x/x.c:1: calls setsockopt"),
    ({"tcp_x/x.c": "#include <pthread.h>\n"}, (),
     "tcp_x/x.c:1: a workload includes pthread.h"),
    ({"tcp_x/x.c": '#include "common/engine/worker.h"\n',
      "common/engine/worker.h": ""}, ("engine/worker",),
     "a workload includes common/engine/worker.h"),
    ({"common/base/a.h": A_H + "\nint c(int x,\n      int y);\n"}, (),
     "common/base/a.h:4: no comment directly above: int c(int x, int y);"),
    ({"common/base/a.h": A_H + "\nstatic inline int d(void)\n{\n}\n"}, (),
     "common/base/a.h:4: no comment directly above: static inline int d(void)"),
    ({"common/base/a.h": A_H + "/* x */\nextern int x;\n"}, (),
     "common/base/a.h:4: extern variable in a header"),
    ({"common/base/a.h": '#include "common/base/none.h"\n' + A_H}, (),
     "includes common/base/none.h, which is not there"),
])
def test_findings(tmp_path, files, rows, message):
    status, output = check(tmp_path, files, rows)
    assert message in output
    assert status == 1
    assert output.count("\n") == 1


def test_what_is_allowed(tmp_path):
    header = A_H + """
#define TWICE(x) \\
	((x) + (x))

typedef int (*hook_t)(int);

struct s {
	int (*call)(int);
} __attribute__((aligned(64)));

_Static_assert(sizeof(int) == 4, "int");

/* Says it; printf("x") in a comment is no call. */
void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
"""
    files = {
        "common/base/a.h": header,
        "common/plan/b.c": '#include <hwloc.h>\nconst char s[] = "stdout";\n',
        "common/engine/sock_opt.c": "int f(void) { return setsockopt(1); }\n",
        "common/report/kv.c": '#include <cjson/cJSON.h>\n'
                              'int g(void) { return printf(""); }\n',
        "common/engine/w.c": '#include "common/measure/usage.h"\n',
        "common/measure/usage.h": "",
    }
    rows = ("engine/sock_opt", "report/kv", "engine/w", "measure/usage")
    assert check(tmp_path, files, rows) == (0, "")


def test_sizes_only_warn(tmp_path):
    body = "\tg();\n" * 57
    files = {"common/plan/b.c": f"void ok(void)\n{{\n{body}}}\n\n"
                                f"void long_one(void)\n{{\n{body}\tg();\n}}\n",
             "common/base/a.h": A_H + "\n" * 500}
    status, output = check(tmp_path, files)
    assert status == 0
    assert output == ("common/base/a.h:1: 502 lines (warning)\n"
                      "common/plan/b.c:62: long_one() has 61 lines (warning)\n")
