"""Make the certificates that come with the library: of the miniature's user in every domain, under both named rules.

Under the paper's rules in every named manner of typing, too.

    python tools/certify_miniature.py

They are of this version of the miniature; a change of its world or rules makes them anew.
"""

from discover_lib.audit.certificate import SHIPPED, certify_miniature
from discover_lib.base.files import data_folder, rounded, write_json
from discover_lib.core.rules import Rules
from discover_lib.engines.manner import MANNERS
from discover_lib.engines.miniature.lexicon import ALL_DOMAINS


def main() -> None:
    """Write `data/audit/certificates.json`."""
    made = []
    plain = [(Rules.paper(), None), (Rules.authors(), None)]
    for rules, manner in [*plain, *((Rules.paper(), manner) for manner in MANNERS.values())]:
        for domain in ALL_DOMAINS:
            certificate = certify_miniature(domain, rules, manner)
            typed = f", {manner.name}" if manner else ""
            print(f"{domain}, {rules.name} rules{typed}: {certificate.result}; {certificate.line}", flush=True)
            made.append(rounded(certificate.to_dict()))
    write_json(data_folder() / SHIPPED, made)


if __name__ == "__main__":
    main()
