// One run, from its first event on. A reload shows it anew; a connection that breaks is resumed by EventSource itself.

const element = (id) => document.getElementById(id)
const address = element("follow").dataset.events
let claimed, owner, next, last

function begin() {
  claimed = new Set()
  owner = last = null
  next = 0
  element("answer").textContent = ""
  follow()
}

function follow() {
  const source = new EventSource(last ? `${address}?cursor=${last}` : address)
  source.onopen = () => say("")
  source.onmessage = (event) => {
    last = event.lastEventId
    apply(JSON.parse(event.data))
  }
  source.addEventListener("end", (event) => {
    source.close()
    const { kind, error } = JSON.parse(event.data)
    document.body.dataset.state = kind === "failed" ? "failed" : "done"
    say(error ?? "")
  })
  // Records are gone: the server has lost its disk, or they were kept for long enough. Show what there is.
  source.addEventListener("gap", () => {
    source.close()
    setTimeout(begin, 2000)
  })
  source.onerror = () => {
    say("The connection is lost. It comes back by itself.")
    // EventSource comes back by itself, after the event it saw last, unless it was told a status: a proxy's 502, say.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000)
  }
}

// The rule of attempts.py: a claim counts once; an event, if it is of the attempt that claimed last, with the next number.
function apply(record) {
  if (record.n === undefined) {
    if (!claimed.has(record.attempt)) owner = record.attempt
    claimed.add(record.attempt)
  } else if (record.attempt === owner && record.n === next && "event" in record) {
    next += 1
    show(record.event)
  }
}

function show(event) {
  if ("prompt" in event) element("question").textContent = event.prompt
  if ("token" in event) element("answer").append(event.token)
}

function say(text) {
  element("note").textContent = text
}

begin()
