"""The page of Yang's and Wang's experiments shows what is on file."""

from reproduction_streams import PAGE, rendered


def test_the_page_is_what_the_results_say():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count("<!-- end -->") >= 6
    assert rendered(text) == text
