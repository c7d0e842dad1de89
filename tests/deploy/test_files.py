"""The files of deployments are what their programs expect: compose, units, platforms, rules."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from ticketing.version import VERSION
from tools import ToolMissing, installer
from tools.stack import ROOT

pytestmark = [pytest.mark.one_database, pytest.mark.usefixtures("starts_processes")]

DEPLOY = ROOT / "deploy"
MONITORING = DEPLOY / "monitoring"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SERVICES = [each for each in UNITS if each.suffix == ".service"]
MOST_EXPOSED = 15
"""Of 100. `systemd-analyze security` calls everything below 20 well protected."""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def program(package, name=""):
    try:
        return installer.from_debian(package, name)
    except ToolMissing as missing:
        pytest.skip(str(missing))


def procfile():
    lines = (ROOT / "Procfile").read_text().splitlines()
    return dict(line.split(": ", 1) for line in lines)


def plain(command):
    """Return a command without the quotes that only a shell needs."""
    return command.replace("'", "")


def test_compose_fits_its_schema_and_starts_what_the_procfile_says():
    script = Path(sys.executable).with_name("check-jsonschema")
    run(script, "--builtin-schema", "vendor.compose-spec", ROOT / "compose.yaml")
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    assert services["web"]["image"] == f"ticketing:{VERSION}"
    commands = procfile()
    assert " ".join(services["worker"]["command"]) == commands["worker"]
    assert " ".join(services["migrate"]["command"]) == commands["release"]
    for name in ("web", "worker", "migrate", "backup"):
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"]
    last = (ROOT / "Dockerfile").read_text().strip().splitlines()[-1]
    assert " ".join(json.loads(last.removeprefix("CMD "))) == plain(commands["web"])


def test_platforms_start_what_the_procfile_says():
    commands = procfile()
    web, worker = yaml.safe_load((ROOT / "render.yaml").read_text())["services"]
    assert web["startCommand"] == commands["web"]
    assert web["preDeployCommand"] == commands["release"]
    assert worker["startCommand"] == commands["worker"]
    fly = tomllib.loads((ROOT / "fly.toml").read_text())
    assert fly["processes"]["web"] == plain(commands["web"])
    assert fly["processes"]["worker"] == commands["worker"]
    assert fly["deploy"]["release_command"] == commands["release"]
    heroku = json.loads((ROOT / "app.json").read_text())
    assert set(heroku["formation"]) == set(commands) - {"release"}
    version = (ROOT / ".python-version").read_text().strip()
    assert re.fullmatch(r"3\.1[1-4]", version)


def test_platforms_and_containers_name_settings_that_exist():
    known = (ROOT / "README.md").read_text()
    named = set(json.loads((ROOT / "app.json").read_text())["env"])
    groups = yaml.safe_load((ROOT / "render.yaml").read_text())["envVarGroups"]
    named |= {each["key"] for each in groups[0]["envVars"]} - {"PYTHON_VERSION"}
    named |= set(tomllib.loads((ROOT / "fly.toml").read_text())["env"])
    named |= set(yaml.safe_load((ROOT / "compose.yaml").read_text())["x-ticketing"]["environment"])
    for name in named:
        assert f"`{re.sub('_8453$', '_<chain_id>', name)}`" in known, name


@pytest.fixture
def units(tmp_path):
    """The units, with programs that this machine has."""
    for each in UNITS:
        text = each.read_text().replace(
            "/srv/ticketing/.venv/bin/", f"{Path(sys.executable).parent}/"
        )
        (tmp_path / each.name).write_text(text)
    return tmp_path


def test_units_are_right(units):
    analyze = program("systemd", "systemd-analyze")
    said = run(analyze, "verify", *sorted(units.iterdir()))
    assert said == ""


@pytest.mark.parametrize("unit", SERVICES, ids=lambda each: each.stem)
def test_units_are_well_protected(units, unit):
    analyze = program("systemd", "systemd-analyze")
    options = ["--offline=true", f"--threshold={MOST_EXPOSED}"]
    run(analyze, "security", *options, units / unit.name)


def test_units_have_one_protection():
    blocks = {
        each.read_text().partition("# It needs its own")[2].partition("\n[")[0].strip()
        for each in SERVICES
    }
    assert len(blocks) == 1


def test_rules_are_right_and_fire():
    promtool = program("prometheus", "promtool")
    run(promtool, "check", "rules", MONITORING / "alerts.yml")
    run(promtool, "test", "rules", MONITORING / "alerts_test.yml")
    tested = (MONITORING / "alerts_test.yml").read_text()
    for rule in rules():
        assert f"alertname: {rule['alert']}\n" in tested, rule["alert"]


def test_each_rule_has_its_section_in_the_runbook():
    text = (ROOT / "docs" / "operations.md").read_text()
    for rule in rules():
        assert f"\n### {rule['alert']}\n" in text
        assert rule["annotations"]["runbook"] == f"docs/operations.md#{rule['alert'].lower()}"


def test_rules_and_the_dashboard_ask_for_metrics_that_exist(app):
    known = (ROOT / "docs" / "operations.md").read_text()
    asked = json.dumps(dashboard()) + json.dumps(rules())
    names = set(re.findall(r"ticketing_[a-z0-9_]+", asked))
    assert len(names) > 15
    for name in names:
        base = re.sub(r"_(bucket|sum|count)$", "", name)
        assert f"`{base}`" in known, name


def test_the_dashboard_has_a_query_in_each_panel():
    found = dashboard()
    assert found["uid"] == "ticketing" and found["schemaVersion"] >= 36
    panels = [each for each in found["panels"] if each["type"] != "row"]
    assert len({each["id"] for each in found["panels"]}) == len(found["panels"])
    for each in panels:
        assert each["title"] and each["targets"][0]["expr"]
        assert each["gridPos"]["x"] + each["gridPos"]["w"] <= 24


def rules():
    text = (MONITORING / "alerts.yml").read_text()
    return yaml.safe_load(text)["groups"][0]["rules"]


def dashboard():
    return json.loads((MONITORING / "dashboard.json").read_text())


def test_no_link_with_a_secret_is_logged_or_traced(app):
    """Of each rule of a page whose last part is a secret, by nginx and by OpenTelemetry."""
    nginx = (DEPLOY / "nginx" / "ticketing.conf").read_text()
    (unlogged,) = re.findall(r"map \$uri \$is_logged \{ ~(\S+) 0;", nginx)
    traced = (DEPLOY / "opentelemetry.env").read_text()
    (untraced,) = re.findall(r"EXCLUDED_URLS=(.*)", traced)
    secrets = {"link", "code", "offer", "invitation", "reset"}
    found = [
        rule.rule
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("pages_") and secrets & rule.arguments
    ]
    assert len(found) >= 8, sorted(found)
    for path in found:
        assert re.match(unlogged, path), path
        assert any(each in path for each in untraced.split(",")), path
    assert '$request"' not in nginx  # its query may have a voucher's code
