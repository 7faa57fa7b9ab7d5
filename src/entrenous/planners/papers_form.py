"""In which form a paper writes its ranking loss."""

from __future__ import annotations

from entrenous.problem.problem import Form, Problem


def in_papers_form(problem: Problem, calibration: str, form: Form | None) -> Problem:
    """Ranking in the label-difference form of Xue, Kang and Huai in paper calibration, unless the user chose one."""
    if form is None:
        form = "label-difference" if calibration == "paper" and problem.score.label_difference else problem.form
    return problem.in_form(form)
