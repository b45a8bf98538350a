"""Make the certificates that come with the library: of the miniature's user in every domain, under both named rules.

    python tools/certify_miniature.py

They belong to this version of the miniature; repeat the command after a change of its world or rules.
"""

from discover_lib.base.files import data_folder, write_json
from discover_lib.core.rules import Rules
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS
from discover_lib.metrics.results import rounded
from discover_lib.tasks.certify import SHIPPED, certify_miniature


def main() -> None:
    """Write `data/audit/certificates.json`."""
    made = []
    for rules in (Rules.paper(), Rules.authors()):
        for domain in ALL_DOMAINS:
            certificate = certify_miniature(domain, rules)
            print(f"{domain}, {rules.name} rules: {certificate.result}; {certificate.line}", flush=True)
            made.append(rounded(certificate.to_dict()))
    write_json(data_folder() / SHIPPED, made)


if __name__ == "__main__":
    main()
