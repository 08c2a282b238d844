"""What is asked of dead letters. Runs in a process of its own, which ends with the answer."""

from services.executor.contract import answers, questions
from services.executor.host.jobs.letters.again import read_again
from services.executor.host.jobs.letters.checking import check_letters
from services.executor.host.jobs.letters.packed import rows_changed, rows_read


def answer(
    order: questions.CheckLetters | questions.ReadAgain | questions.ReadRows | questions.ChangeRows,
) -> answers.LettersChecked | answers.MadeAgain | answers.RowsRead | answers.RowsChanged:
    """Answer it."""
    match order:
        case questions.CheckLetters():
            return check_letters(order)
        case questions.ReadAgain():
            return read_again(order)
        case questions.ReadRows():
            return rows_read(order)
        case questions.ChangeRows():
            return rows_changed(order)
