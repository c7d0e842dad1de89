"""Changes of one field each."""

from collections.abc import Mapping
from typing import Any

from tests.support.factories import Api


def change_each_alone(api: Api, path: str, changes: Mapping[str, Any], *, also: set[str]) -> None:
    """Change one field after the other. Only it and what depends on it (`also`) may change."""
    for name, value in changes.items():
        before = api.get(path).json
        changed = api.patch(path, {name: value})
        assert changed.status_code == 200 and changed.json[name] == value
        assert api.get(path).json == changed.json
        differing = {each for each in before if before[each] != changed.json[each]}
        assert differing - {"updated_at", *also} == {name}
        assert changed.json["updated_at"] > before["updated_at"]
