"""Makes the pages of the site, and the man pages: those of docs/, and one for each command, of its own options.

What a command's page shows as its output is what docs/ show, which `generate.py` has made from fixtures/. `make site`
then lets MkDocs build the site.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from generate import BLOCK, ENVIRONMENT, ROOT, output_of
from sessions import sessions
from typer import Context

import kwhatif
from kwhatif.cli.app import commands
from kwhatif.cli.usage import all_commands

BUILD = ROOT / "build"
#: Pages outside of docs/, and where they stand in the site.
OUTSIDE = {"README.md": "index.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "SECURITY.md": "SECURITY.md"}
OUTSIDE |= {"CHANGELOG.md": "CHANGELOG.md"}
#: As the recipes in docs/ write it.
HOME = "https://github.com/OWNER/kwhatif"
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
#: What docs/ show nothing of, because it is neither about a cluster nor read by people.
ALSO_RUN = ("kwhatif version", "kwhatif completion fish")
#: So many examples stand on a command's page.
EXAMPLES = 2


def main() -> None:
    """Write build/pages, build/mkdocs.yml and build/man."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--home", default=HOME, help="the page of the repository, which files outside of the site are linked to"
    )
    home = parser.parse_args().home.rstrip("/")
    os.environ |= ENVIRONMENT
    os.chdir(ROOT)
    for folder in ("pages", "man"):
        shutil.rmtree(BUILD / folder, ignore_errors=True)
    for path, text in site(home).items():
        write(BUILD / "pages" / path, text)
    for file in (*(ROOT / "docs").rglob("*.png"), ROOT / "docs" / "site.css"):
        write(BUILD / "pages" / file.relative_to(ROOT / "docs"), file.read_bytes())
    for name, text in manuals().items():
        write(BUILD / "man" / "man1" / name, text)
    names = ", ".join(f"commands/{slug(name)}.md" for name in known())
    write(BUILD / "mkdocs.yml", (ROOT / "docs" / "site.yml").read_text().replace("COMMANDS", f"[{names}]"))


def write(path: Path, content: str | bytes) -> None:
    """Write it, with the folders that it needs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def known() -> dict[str, Any]:
    """Every command by its name, such as `snapshot save`."""
    return dict(all_commands(commands()))


def slug(name: str) -> str:
    """The name of a command as part of a file's name."""
    return name.replace(" ", "-")


def site(home: str) -> dict[str, str]:
    """All pages by where they stand in the site, with links that lead somewhere there."""
    texts = sources()
    places = {source: OUTSIDE.get(source, source.removeprefix("docs/")) for source in texts}
    pages = {places[source]: relinked(text, source, places, home) for source, text in texts.items()}
    return pages | {f"commands/{slug(name)}.md": command_page(name, texts) for name in known()}


def sources() -> dict[str, str]:
    """The texts of all pages that are written by hand, by their paths in the repository."""
    paths = [*OUTSIDE, *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")))]
    return {path: (ROOT / path).read_text() for path in paths}


def relinked(text: str, source: str, places: dict[str, str], home: str) -> str:
    """The page with its links as the site needs them: to other pages, or to the repository."""
    here = Path(places[source]).parent

    def link(match: re.Match[str]) -> str:
        target, hash_, anchor = match[1].partition("#")
        if not target or "://" in target:
            return match[0]
        path = os.path.normpath(Path(source).parent / target)
        if path in places:
            return f"]({os.path.relpath(places[path], here)}{hash_}{anchor})"
        if path.startswith("docs/") and path.endswith(".png"):
            return f"]({os.path.relpath(path.removeprefix('docs/'), here)})"
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({home}/{kind}/main/{path}{hash_}{anchor})"

    return outside_of_fences(text, lambda part: LINK.sub(link, part))


def outside_of_fences(text: str, change: Callable[[str], str]) -> str:
    """The text with everything changed but blocks of code."""
    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join((*parts, change(text[last:])))


def command_page(name: str, texts: dict[str, str]) -> str:
    """What a command is for, its options by group, and what it prints."""
    command = known()[name]
    first, *rest = described(command)
    lines = [f"# kwhatif {name}", "", f"*{first}*", ""]
    for paragraph in rest:
        lines += [paragraph, ""]
    lines += ["```console", usage(name, command), *(f"$ {example}" for example in examples(command)), "```", ""]
    for shown in outputs(name, texts):
        lines += [shown, ""]
    session = "watch" if name.startswith("watch ") else name
    if session in played():
        lines += [played()[session], ""]
    for title, rows in sections(name, command).items():
        lines += [f"## {title}", "", "| how it is written | what it means |", "|---|---|"]
        lines += [f"| `{cell(names)}` | {cell(escaped(text))} |" for names, text in rows]
        lines.append("")
    pages = guides(name, texts)
    if pages:
        lines += ["## More", "", *(f"* [{title}](../{path})" for path, title in pages)]
    return "\n".join(lines).rstrip() + "\n"


def described(command: Any) -> list[str]:
    """The paragraphs of a command's help, but for its examples."""
    paragraphs = (command.help or "").strip().split("\n\n")
    return [" ".join(text.split()) for text in paragraphs if not text.startswith("\b")]


def examples(command: Any) -> list[str]:
    """The command lines of its help."""
    found = re.search(r"\x08\nExamples:\n(.+)", command.help or "", re.DOTALL)
    return [line.strip() for line in found[1].splitlines() if line.strip()] if found else []


def context(name: str, command: Any) -> Any:
    """What a command needs to describe itself."""
    return Context(command, info_name=f"kwhatif {name}")


def usage(name: str, command: Any) -> str:
    """The line that says in which order its parts come."""
    return " ".join((f"kwhatif {name}", *command.collect_usage_pieces(context(name, command))))


def sections(name: str, command: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options by group, as `--help` has them."""
    found: dict[str, list[tuple[str, str]]] = command.sections(context(name, command))
    return found


def cell(text: str) -> str:
    """As a cell of a table."""
    return text.replace("|", "\\|")


def escaped(text: str) -> str:
    """As plain text in Markdown."""
    return re.sub(r"([\\*_<\[\]])", r"\\\1", " ".join(text.split()))


def outputs(name: str, texts: dict[str, str]) -> Iterator[str]:
    """What the command prints: the shortest examples of docs/, which are real."""
    lines = {match["command"]: match[0] for text in texts.values() for match in BLOCK.finditer(text)}
    own = [line for line in lines if is_of(name, line) and " | " not in line]
    for line in sorted(own, key=len)[:EXAMPLES]:
        yield lines[line]
    for line in ALSO_RUN:
        if is_of(name, line):
            yield f"```console\n$ {line}\n{output_of(line)}\n```"


@cache
def played() -> dict[str, str]:
    """What commands show that need a live cluster, or somebody who asks."""
    return sessions()


def is_of(name: str, line: str) -> bool:
    """Whether the line runs this command."""
    words = name.split()
    return shlex.split(line)[1 : 1 + len(words)] == words


def guides(name: str, texts: dict[str, str]) -> list[tuple[str, str]]:
    """The pages that say most about a command, with their titles."""
    mention = re.compile(rf"\bkwhatif {name}\b")
    counts = {path: len(mention.findall(text)) for path, text in texts.items() if path.startswith("docs/")}
    best = sorted((path for path, count in counts.items() if count), key=lambda path: (-counts[path], path))[:3]
    return [(path.removeprefix("docs/"), texts[path].partition("\n")[0].removeprefix("# ")) for path in best]


def manuals() -> dict[str, str]:
    """The man pages by their file names: kwhatif itself, and each command."""
    every = known()
    about = {name: described(command)[0] for name, command in every.items()}
    program: Any = commands()
    root = [
        *head("kwhatif", program.help),
        ".SH SYNOPSIS",
        ".B kwhatif",
        r"\fICOMMAND\fR [\fIOPTION\fR]...",
        ".SH COMMANDS",
    ]
    for name, text in about.items():
        root += [".TP", rf".BR kwhatif\-{roff(slug(name))} (1)", roff(text)]
    root += [".SH EXIT STATUS"]
    for code, text in exit_codes():
        root += [".TP", f".B {roff(code)}", roff(text)]
    pages = {"kwhatif.1": "\n".join(root) + "\n"}
    for name, command in every.items():
        pages[f"kwhatif-{slug(name)}.1"] = manual(name, command)
    return pages


def manual(name: str, command: Any) -> str:
    """The man page of a command."""
    first, *rest = described(command)
    lines = [*head(f"kwhatif-{slug(name)}", first), ".SH SYNOPSIS", roff(usage(name, command)), ".SH DESCRIPTION"]
    for paragraph in (first, *rest):
        lines += [roff(paragraph), ".PP"]
    lines.pop()
    for title, rows in sections(name, command).items():
        lines.append(f".SH {roff(title.upper())}")
        for names, text in rows:
            lines += [".TP", f".B {roff(names)}", roff(" ".join(text.split()))]
    if shown := examples(command):
        lines += [".SH EXAMPLES", ".nf", *map(roff, shown), ".fi"]
    return "\n".join((*lines, ".SH SEE ALSO", ".BR kwhatif (1)")) + "\n"


def head(name: str, about: str) -> list[str]:
    """How a man page begins; without a date, so that the same code gives the same bytes."""
    title = name.upper().replace("-", r"\-")
    return [f'.TH "{title}" 1 "" "kwhatif {kwhatif.__version__}"', ".SH NAME", rf"{roff(name)} \- {roff(about)}"]


def roff(text: str) -> str:
    """As plain text in a man page: nothing in it is a request or an escape."""
    plain = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "").replace("'", r"\(aq")
    return rf"\&{plain}" if plain.startswith((".", "\\(aq")) else plain


def exit_codes() -> list[tuple[str, str]]:
    """The exit codes, as the README explains them."""
    table = (ROOT / "README.md").read_text().partition("| exit code | meaning |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = (line.strip("| ").split(" | ", 1) for line in table.splitlines())
    return [(code, text) for code, text in rows]


if __name__ == "__main__":
    main()
