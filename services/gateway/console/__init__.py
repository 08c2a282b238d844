"""The console: pages that run in a browser and speak `/v1`. Its sources are in console/; what is built is here."""
