"""The name of this release (https://semver.org). docs/upgrading.md says what each part means."""

VERSION = "1.1.0"
