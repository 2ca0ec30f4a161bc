"""What columns of a table become: features."""
