"""What several packages use and no reader asks for."""
