"""The steps from an empty database to the present one, applied in order by db.upgrade."""
