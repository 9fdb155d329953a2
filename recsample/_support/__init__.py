"""What every room needs and no reader asks for."""
