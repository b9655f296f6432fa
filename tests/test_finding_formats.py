"""Findings for pull requests and scanners: no text of a finding can become a command, and the place is right."""

from __future__ import annotations

import json

from hubrelease.errors import Where, problem
from hubrelease.finding_formats import github_lines, sarif

HOSTILE = "a\n::error::b,c:d%\r\udcff"


def test_github_lines_are_one_line_each_and_name_file_and_line():
    (line,) = github_lines([problem("spec-invalid", Where("release.yaml", 14, "/base"), "is wrong", "write it right")])
    assert line == "::error file=release.yaml,line=14,title=HR103 spec-invalid::is wrong; mend: write it right"


def test_hostile_text_makes_no_second_command():
    (line,) = github_lines([problem("spec-invalid", Where(HOSTILE), HOSTILE, HOSTILE, severity="warning")], "dist/")
    assert "\n" not in line
    assert "\r" not in line
    assert line.startswith("::warning file=dist/a%0A%3A%3Aerror%3A%3Ab%2Cc%3Ad%25%0D\\xff,title=")
    line.encode("utf-8")


def test_sarif_is_valid_json_with_rules_places_and_levels():
    log = json.loads(
        sarif(
            [
                problem("spec-invalid", Where("a b.yaml", 3), "x", "y"),
                problem("lock-stale", Where(HOSTILE), HOSTILE, "y", severity="warning"),
            ]
        )
    )
    run = log["runs"][0]
    assert [r["ruleId"] for r in run["results"]] == ["HR103", "HR112"]
    assert [r["level"] for r in run["results"]] == ["error", "warning"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "a%20b.yaml"}, "region": {"startLine": 3}}
    assert {r["id"] for r in run["tool"]["driver"]["rules"]} == {"HR103", "HR112"}
