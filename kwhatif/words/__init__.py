"""Words that findings of the policy share with tables: what rows of the report come to, as plain text."""
