"""Groups of pods in questions: what has to be so for them to be judged, and what becomes of them."""
