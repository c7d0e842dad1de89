"""What an organizer downloads as CSV files: attendees, orders, items, payments.

files.py: the files; one export at a time in each process
tables.py: columns and rows. A money column with the name of an API field is in micro-units
spreadsheets.py: the same tables for people: words, local times, decimal amounts
answer_columns.py: a column for each question of the event
safe_cells.py: the text of a cell, which no spreadsheet runs as a formula
"""
