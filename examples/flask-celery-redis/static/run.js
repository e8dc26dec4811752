// One run, from its first event on. A reload shows it anew; a connection that breaks is resumed by EventSource itself.

const address = document.getElementById("script").dataset.events
const answer = document.getElementById("answer")
let owner, next, place

function begin() {
  owner = place = null
  next = 0
  answer.replaceChildren()
  follow()
}

function follow() {
  const events = new EventSource(place ? `${address}?cursor=${encodeURIComponent(place)}` : address)
  events.onopen = () => say("running")
  events.onmessage = (event) => {
    apply(JSON.parse(event.data))
    place = event.lastEventId
  }
  events.addEventListener("end", (event) => {
    events.close()
    const { kind, error } = JSON.parse(event.data)
    say(kind === "failed" ? `failed: ${error}` : "done")
  })
  // Records are gone, because the server's disk was lost or they were kept for long enough: show what there is.
  events.addEventListener("gap", () => {
    events.close()
    setTimeout(begin, 2000)
  })
  events.onerror = () => {
    say("connecting")
    // It comes back by itself after a cut, and not after an answer such as a proxy's 502.
    if (events.readyState === EventSource.CLOSED) setTimeout(follow, 2000)
  }
}

// The rule of attempts.py: what counts is of the attempt that claimed last, and has the next number.
function apply(record) {
  if (record.n === undefined) {
    owner = record.attempt
  } else if (record.attempt === owner && record.n === next && "event" in record) {
    next += 1
    show(record.event)
  }
}

function show(event) {
  if ("prompt" in event) document.getElementById("prompt").textContent = event.prompt
  if ("token" in event) answer.append(event.token)
}

function say(what) {
  document.getElementById("state").textContent = what
}

begin()
