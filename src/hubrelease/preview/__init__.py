"""`card preview`: a page on this machine that shows a card as the Hub would, with its findings and where each figure comes from.

    folder -pages-> text, problems, figures -converter (markup, sanitise)-> safe HTML -shape-> the page's own -server-> browser

The card is hostile: whatever it holds, the browser runs nothing of it and asks nobody but this server. Nothing is written.
"""
