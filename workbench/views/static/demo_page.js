// One file, one conversation: the stage without Python behind it.
const shown = document.getElementById("st-data").textContent;
const asked = /^#turn=(\d+)$/.exec(location.hash);
const values = { record: JSON.parse(shown), now: { strip: 0, turn: asked ? Number(asked[1]) : 0 } };
stage(document.getElementById("stage"), { get: (name) => values[name], on() {} });
