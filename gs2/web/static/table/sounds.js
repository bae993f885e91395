// Sounds of a table: tones made on the spot, so that nothing is loaded; they can be turned off.

import { keep, kept } from "gs2/store.js";

/** Tones of each sound: hertz and seconds. */
const TONES = {
  card: [[392, 0.05]],
  pass: [[196, 0.06]],
  bomb: [[110, 0.12], [82, 0.22]],
  turn: [[659, 0.08], [880, 0.12]],
  late: [[988, 0.06]],
  won: [[523, 0.1], [659, 0.1], [784, 0.2]],
  lost: [[392, 0.12], [330, 0.12], [262, 0.22]],
};
const LOUD = 0.12;

let context = null;

/** Whether sounds are wanted. */
export function soundsOn() {
  return kept("sounds", "on") === "on";
}

/** Turn sounds on or off. */
export function setSounds(on) {
  keep("sounds", on ? "on" : "off");
}

/** Play sounds one after the other; nothing before the person has touched the page, where browsers forbid it. */
export function sound(...names) {
  if (!soundsOn() || !globalThis.AudioContext || !navigator.userActivation?.hasBeenActive) return;
  context ??= new AudioContext();
  let at = context.currentTime;
  for (const [pitch, length] of names.flatMap((name) => TONES[name])) {
    const tone = context.createOscillator();
    const volume = context.createGain();
    tone.type = "triangle";
    tone.frequency.value = pitch;
    volume.gain.setValueAtTime(LOUD, at);
    volume.gain.linearRampToValueAtTime(0, at + length); // or it ends with a click
    tone.connect(volume).connect(context.destination);
    tone.start(at);
    tone.stop(at + length);
    at += length;
  }
}
