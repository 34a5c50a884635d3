"""What several studies are made of."""
