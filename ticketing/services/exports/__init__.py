"""What an organizer downloads as CSV files: attendees, orders, items, payments.

files.py: the files; one export at a time in each process
tables.py: columns and rows. A money column with the name of an API field is in micro-units
safe_cells.py: the text of a cell, which no spreadsheet runs as a formula
"""
