// Replaces the part of the page about a running application every few seconds. Without this script, the page has a link
// that reloads it.
"use strict";

function refreshLater() {
  const part = document.getElementById("live");
  const seconds = Number(part.dataset.refreshSeconds);
  if (seconds > 0) {
    window.setTimeout(() => refresh(part), seconds * 1000);
  }
}

function refresh(part) {
  // A reader who uses a control or has opened the evidence must not lose the place.
  if (document.hidden || part.contains(document.activeElement) || part.querySelector("details[open]")) {
    refreshLater();
    return;
  }
  const request = new XMLHttpRequest();
  request.responseType = "document";
  request.timeout = 30000;
  request.onloadend = () => {
    const found = request.status === 200 && request.response && request.response.getElementById("live");
    if (found) {
      part.replaceWith(found);
    }
    refreshLater();
  };
  request.open("GET", window.location.href);
  request.send();
}

refreshLater();
