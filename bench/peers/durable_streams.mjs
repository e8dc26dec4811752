// The Node reference server of the Durable Streams protocol: PORT, and a directory if it is to keep files.
import { DurableStreamTestServer } from "@durable-streams/server"

const [port, dataDir] = process.argv.slice(2)
const server = new DurableStreamTestServer({ port: Number(port), host: "127.0.0.1", ...(dataDir ? { dataDir } : {}) })
await server.start()
console.log("ready")
