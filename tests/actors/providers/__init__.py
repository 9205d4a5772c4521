"""Tests of the providers of models."""
