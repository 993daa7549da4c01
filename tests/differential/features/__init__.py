"""What a case can be about; every feature adds itself to a scene."""
