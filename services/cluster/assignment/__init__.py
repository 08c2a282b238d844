"""Which worker takes which unit: pure functions.

One module for each strategy; `strategies` names them, `model` says what they are told and what they answer.
"""
