"""Just enough understanding of C++ text for the checks in tidy.py."""

import re

_TOKEN = re.compile(
    r"""
      //[^\n]*
    | /\*.*?\*/
    | R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"
    | "(?:\\.|[^"\\\n])*"
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'
    """,
    re.VERBOSE | re.DOTALL,
)


def strip(text):
    """Blanks comments and literals; keeps every line where it is.

    A quote of digits (1'000) is no literal. Includes keep their paths.
    """

    def blank(match):
        token = match.group(0)
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text[line_start : match.start()].strip().startswith("#include"):
            return token
        if token.startswith("/"):
            return re.sub(r"[^\n]", " ", token)
        return token[0] + re.sub(r"[^\n]", " ", token[1:-1]) + token[-1]

    return _TOKEN.sub(blank, text)


_SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")
_CONTROL = re.compile(r"^\s*(if|for|while|switch|do|else|try|catch|return)\b")


def _kind(header, inside_function):
    if inside_function:
        return "inner"
    # A template's parameters say "class" too; an "enum class E f() {" does not occur.
    bare = re.sub(r"template\s*<[^{}]*?>\s*(?=[\w\[:])", "", header)
    before_parameters = bare.split("(")[0]
    if _SCOPE.search(before_parameters) and not _CONTROL.search(bare):
        return "scope"
    if "(" in bare and ")" in bare and not re.search(r"=\s*$", bare):
        return "function"
    # The body behind an initializer list that ends in braces: "A() : b_{1} {".
    if bare.strip() == "" or bare.lstrip().startswith(","):
        return "function"
    return "inner"


def functions(stripped):
    """Yields (first_line, last_line) of every outermost function body with its head.

    `stripped` is the result of strip(). Lines count from 1.
    """
    lines = stripped.split("\n")
    # Preprocessor lines (and their continuations) would confuse the braces.
    inside_directive = False
    for i, line in enumerate(lines):
        is_directive = inside_directive or line.lstrip().startswith("#")
        inside_directive = is_directive and line.endswith("\\")
        if is_directive:
            lines[i] = ""
    text = "\n".join(lines)
    stack = []
    boundary = 0
    for match in re.finditer(r"[{};]", text):
        at, char = match.start(), match.group(0)
        if char == "{":
            header = text[boundary:at]
            # Access labels are no part of a head.
            header = re.sub(r"\b(public|private|protected)\s*:", "", header)
            inside = any(kind == "function" for kind, _ in stack)
            start = boundary + len(text[boundary:at]) - len(text[boundary:at].lstrip())
            stack.append((_kind(header, inside), start))
        elif char == "}" and stack:
            kind, start = stack.pop()
            if kind == "function":
                first = text.count("\n", 0, start) + 1
                yield first, text.count("\n", 0, at) + 1
        boundary = at + 1
