"""What each serving kind adds to a release, one file each."""
