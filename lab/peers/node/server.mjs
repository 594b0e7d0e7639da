// node:http with one request listener, as its manual begins. With the argument `cluster`, the
// module of that name starts a process for each processor, which share the port.
import cluster from "node:cluster";
import { createServer } from "node:http";
import { availableParallelism } from "node:os";

function listen(onListening) {
  const server = createServer((request, response) => {
    if (request.url !== "/") {
      response.statusCode = 404;
      response.end();
      return;
    }
    response.setHeader("Content-Type", "application/json");
    response.setHeader("Token", request.headers.token ?? "");
    response.end('{"id": 1}');
  });
  server.listen(0, "127.0.0.1", () => onListening(server.address().port));
}

function ready(port) {
  console.log(`READY ${port}`);
}

// The server ends when the lab does, whose end closes this input.
function endWithTheLab(end) {
  process.on("SIGTERM", end);
  process.stdin.on("end", end).resume();
}

if (cluster.isWorker) {
  // The primary ends the workers.
  process.on("SIGTERM", () => {});
  listen(() => {});
} else if (process.argv[2] === "cluster") {
  const workers = availableParallelism();
  let listening = 0;
  let left = workers;
  let ending = false;
  cluster.on("listening", (_, { port }) => {
    listening += 1;
    if (listening === workers) ready(port);
  });
  cluster.on("exit", () => {
    left -= 1;
    if (left === 0) process.exit(ending ? 0 : 1);
  });
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
  endWithTheLab(() => {
    ending = true;
    for (const worker of Object.values(cluster.workers)) worker.process.kill("SIGKILL");
  });
} else {
  endWithTheLab(() => process.exit(0));
  listen(ready);
}
