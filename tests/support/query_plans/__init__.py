"""What people and programs do while the databases' plans are recorded, and what plans may read.

recorder.py: records plans, and says what is wrong with them
allowed.py: plans that read more than they need, each with the reason
filling.py, filling_orders.py, fiction.py, bulk.py: fills a database so that the planner prefers
    indexes; its orders; invented values; fast inserts
catalog_drive.py, after_sale_drive.py, people_drive.py: what members do in the console
admissions_drive.py, notifications_drive.py, pages_drive.py, agents_drive.py: what others do
vouchers_drive.py: makes vouchers and looks at them
messages_drive.py: what organizers copy, write and send again
questions_drive.py: asks, answers and erases
selling_drive.py: waits for what is sold out, comes, and sells at the door
papers_drive.py: uploads pictures, prints orders, and asks for lost links
"""
