// Radio buttons whose choice counts only once the host has taken it.

/** Shows `value` as the choice of the group `name`, whatever was clicked. */
export function settle(name: string, value: string): void {
  for (const radio of document.querySelectorAll<HTMLInputElement>(`input[name="${CSS.escape(name)}"]`)) {
    radio.checked = radio.value === value;
  }
}
