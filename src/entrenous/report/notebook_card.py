"""A certificate as a small HTML card for notebooks; no template engine and no style sheet: the core can show it."""

from __future__ import annotations

from html import escape

from entrenous.privacy.certificate import PrivacyCertificate

_BOX = (
    "font-family:system-ui,sans-serif;font-size:13px;border:1px solid {edge};border-left:5px solid {edge};"
    "border-radius:4px;padding:8px 12px;margin:6px 0;max-width:44em;color:#1c2733;background:#fff"
)
_CELL = "font-size:13px;padding:1px 14px 1px 0;text-align:left;vertical-align:top;color:#1c2733;background:#fff"


def notebook_card(certificate: PrivacyCertificate) -> str:
    """What was spent and on what; amber where a warning stands, red where the noise can be repeated."""
    edge = "#b3261e" if certificate.seeded else "#b26a00" if certificate.warnings else "#2e7d5b"
    head = f"epsilon = {certificate.epsilon:.4g}, delta = {certificate.delta:.3g}"
    rows = [
        ("protects", f"any one of {certificate.n:,} records, features and label ({certificate.adjacency})"),
        ("algorithm", f"{certificate.algorithm}, {certificate.calibration} calibration ({certificate.citation})"),
        *(("released", str(m)) for m in certificate.mechanisms[:6]),
    ]
    if len(certificate.mechanisms) > 6:
        rows.append(("", f"and {len(certificate.mechanisms) - 6} more"))
    rows.append(("accountant", f"{certificate.accountant['name']}; {certificate.accountant['version']}"))
    rows.append(("noise", "seeded: repeatable by whoever knows the seed" if certificate.seeded else "secure"))
    rows += [("warning", warning) for warning in certificate.warnings]
    table = "".join(
        f'<tr><td style="{_CELL};color:#5b6b7a">{escape(name)}</td><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in rows
    )
    return (
        f'<div style="{_BOX.format(edge=edge)}"><b>Privacy certificate: {escape(head)}</b>'
        f'<table style="border-collapse:collapse;margin-top:4px">{table}</table></div>'
    )


def plain_card(reason: str) -> str:
    """The card of an estimator that has nothing to certify."""
    return f'<div style="{_BOX.format(edge="#8a97a5")}"><b>{escape(reason)}</b></div>'
