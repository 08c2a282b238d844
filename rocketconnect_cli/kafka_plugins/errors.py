"""What can be wrong with a plugin of Kafka Connect that somebody wants here."""


class PluginRefused(Exception):
    """It can't be installed, or uninstalled; nothing was changed. The text is for the user."""
