"""Tests of engines that the ordinary environment does not have: `make engines` installs them and runs these tests."""
