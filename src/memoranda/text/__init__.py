"""The words of a text: its terms and sentences, its language, and what certain words say."""
