"""What the stores on SQL have in common: meanings of rows, never statements. No driver is imported from here."""
