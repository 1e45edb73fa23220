"""Tests that the console shows the pages of the folder docs, with the addresses that alerts link to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkfuse_console.documents import Documents, docs_folder, heading_id
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.runbooks import rule_runbook_url


def test_runbook_of_every_rule_is_shown(console):
    """The link of each finding leads to a page with the heading `runbook`."""
    rules = load_catalog().rules
    for rule in rules:
        path, _, fragment = rule_runbook_url("/docs", rule).partition("#")
        reply = console.get(path)

        assert reply.status_code == 200
        assert f'id="{fragment}"' in reply.text
        assert f"<title>{rule} - Sparkfuse</title>" in reply.text
    assert len(rules) > 20


@pytest.mark.parametrize("page", ["pipeline", "fuse"])
def test_runbook_of_every_alert_is_shown(console, repository, page):
    """The link of each alert about Sparkfuse itself leads to a heading of the page."""
    text = (repository / "alertmanager" / "prometheus_rules" / f"{page}.yml").read_text()
    alerts = re.findall(r"- alert: (\w+)", text)
    reply = console.get(f"/docs/runbooks/{page}.md")

    assert alerts
    assert [each for each in alerts if f'id="{each.lower()}"' not in reply.text] == []


def test_every_page_renders_and_its_links_resolve(console):
    """Each page renders; every link in a page of the documentation leads to an existing page and heading."""
    documents = Documents(docs_folder())
    paths = [path for folder in documents.folders() for path in documents.paths(folder)]
    broken = []
    for path in paths:
        body = str(documents.page(path).body)
        for target in re.findall(r'(?:href|src)="([^"]*)"', body):
            if target.startswith("http"):
                continue
            name, _, fragment = target.removeprefix("/docs/").partition("#")
            page = documents.page(name or path)
            if not documents.image(name) and (page is None or (fragment and f'id="{fragment}"' not in page.body)):
                broken.append(f"{path}: {target}")

    assert len(paths) > 60
    assert broken == []
    assert all(f'href="/docs/{path}"' in console.get("/docs").text for path in paths)
    assert console.get("/rules").url.endswith("/docs/rules/README.md")


@pytest.mark.parametrize(
    "path",
    [
        "/docs/../pyproject.toml",
        "/docs/..%2fpyproject.toml",
        "/docs/%2e%2e/README.md",
        "/docs/rules/../../README.md",
        "/docs//etc/passwd",
        "/docs/rules/%00.md",
        "/docs/model/Fuse.tla",
        "/docs/decisions",
        "/static/../templates/layout.html",
        "/static/..%2ftemplates/layout.html",
    ],
)
def test_files_outside_the_pages_are_not_served(console, path):
    """A path that leaves the folder, or names a file that is no page, has status 404."""
    from http.client import HTTPConnection
    from urllib.parse import urlsplit

    connection = HTTPConnection(urlsplit(console.url).netloc, timeout=30)
    connection.request("GET", path)  # unlike a browser, this client does not normalise the path

    assert connection.getresponse().status == 404


def test_symbolic_link_has_no_page(tmp_path: Path):
    """A symbolic link in the folder is not followed."""
    (tmp_path / "outside.md").write_text("# Secret\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").symlink_to(tmp_path / "outside.md")

    assert Documents(tmp_path / "docs").page("page.md") is None


def test_markup_in_a_page_is_text(tmp_path: Path):
    """Raw HTML is shown as text, comments are left out, and a link to a script has no address."""
    (tmp_path / "page.md").write_text(
        "<!-- generated -->\n# A\n\n<script>bad()</script>\n\nx <b onclick=bad()>y</b> [z](javascript:bad()) "
        "[file](../secret.txt)\n\n| a |\n| :-: |\n| 1 |\n"
    )
    body = str(Documents(tmp_path).page("page.md").body)

    assert "<script" not in body
    assert "<b " not in body
    assert "generated" not in body
    assert "href=" not in body
    assert "style=" not in body
    assert '<th scope="col">a</th>' in body


@pytest.mark.parametrize(
    ("text", "expected"),
    [("SparkfuseDown", "sparkfusedown"), ("Add a rule", "add-a-rule"), ("`sparkfuse up`: start", "sparkfuse-up-start")],
)
def test_heading_ids_match_the_links(text, expected):
    """Ids of headings are computed as GitHub computes them."""
    assert heading_id(text) == expected


def test_section_ends_at_the_next_heading(tmp_path: Path):
    """The steps of a runbook end where the next section begins."""
    (tmp_path / "rule.md").write_text("# R\n\n## Runbook\n\n1. first\n\n### more\n\nx\n\n## Columns\n\ny\n")
    documents = Documents(tmp_path)

    assert str(documents.section("rule.md", "runbook")) == (
        '<ol>\n<li>first</li>\n</ol>\n<h3 id="more">more</h3>\n<p>x</p>\n'
    )
    assert documents.section("rule.md", "nothing") is None
    assert documents.section("other.md", "runbook") is None
