// The number beside a slider, and the keys of the review. Everything works without this script.
"use strict";

for (const slider of document.querySelectorAll("input[type=range]")) {
  const output = document.querySelector(`output[for=${slider.id}]`);
  // Without this script the number would stay as the slider moves. A browser may have restored the slider.
  const show = () => { output.value = slider.value; };
  show();
  output.hidden = false;
  slider.addEventListener("input", show);
}

document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) {
    return;
  }
  const button = document.querySelector(`button[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (button && !button.disabled) {
    event.preventDefault();
    // A second press before the next pair is there would answer a pair that nobody has seen.
    for (const one of document.querySelectorAll("button[data-key]")) {
      one.dataset.key = "";
    }
    button.click();
  }
});
